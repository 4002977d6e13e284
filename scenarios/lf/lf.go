// Package lf is one small lease-and-fence protocol, as the processes that one
// would write and as its specification in TLA+ states it, in two versions:
//
//	LF-U  untimed: the manager may expire a lease, and a client give up its
//	      own, at any time; the fence alone protects the data
//	LF-T  bounded: leases end at a time, and a client counts its deadline
//	      from the sending of its request; no two clients believe at once
//
// It is the reference of exhaustive search: the number of its states is known
// from other model checkers, so each process blocks exactly where the
// specification has a state. A client's own steps are the steps of one Await.
package lf

import (
	"fmt"
	"time"

	"staleproof/model/history"
	"staleproof/sim"
	"staleproof/sim/explore"
)

// Defect is a way to get the protocol wrong.
type Defect uint8

// The defects. The zero Defect is none.
const (
	None         Defect = iota
	NoFenceCheck        // the store takes every write
	TokenRegress        // the manager grants without a new token
	FromReceipt         // LF-T: the client counts its deadline from the receipt of the grant
)

var defectNames = [...]string{"none", "no-fence-check", "token-regress", "deadline-from-receipt"}

func (d Defect) String() string {
	if int(d) < len(defectNames) {
		return defectNames[d]
	}
	return fmt.Sprintf("defect(%d)", d)
}

// Config is a size of the protocol. The zero Config has no client.
type Config struct {
	Timed        bool // LF-T
	Clients      int
	Acquisitions int // of each client
	Writes       int // of each client, over all its leases
	Renewals     int // the same
	Horizon      int // LF-T: the last tick
	TTL          int // LF-T: how long a lease lasts, in ticks
	Defect       Defect
	// Bare leaves the checkpoints out: for tests of what they save.
	Bare bool
}

// Check refuses sizes that the protocol does not have.
func (c Config) Check() error {
	for _, x := range []struct {
		name             string
		value, low, high int
	}{
		{"clients", c.Clients, 1, 8}, {"acquisitions", c.Acquisitions, 1, 100},
		{"writes", c.Writes, 0, 100}, {"renewals", c.Renewals, 0, 100},
	} {
		if x.value < x.low || x.value > x.high {
			return fmt.Errorf("lf: expected %d to %d %s, found %d", x.low, x.high, x.name, x.value)
		}
	}
	if c.Timed && (c.Horizon < 1 || c.TTL < 1) {
		return fmt.Errorf("lf: expected a horizon and a ttl of at least one tick, found %d and %d", c.Horizon, c.TTL)
	}
	return nil
}

// Default returns the size that the command explores when it is told nothing.
func Default(timed bool) Config {
	if timed {
		return Config{Timed: true, Clients: 2, Acquisitions: 1, Writes: 1, Renewals: 1, Horizon: 4, TTL: 2}
	}
	return Config{Clients: 2, Acquisitions: 2, Writes: 1, Renewals: 1}
}

// The processes, in the order of spawning, before the clients.
const (
	managerID = sim.ID(iota)
	storeID
	firstClient
)

// Build spawns the processes.
func (c Config) Build(w *sim.World) {
	w.Spawn("manager", func() sim.Runner { return &manager{cfg: c} })
	w.Spawn("store", func() sim.Runner { return &store{cfg: c} })
	for i := range c.Clients {
		w.Spawn(clientName(firstClient+sim.ID(i)), func() sim.Runner { return &client{cfg: c} })
	}
}

// clientName names a client by its number.
func clientName(id sim.ID) string { return string(rune('A' + int(id-firstClient))) }

// System is what an exhaustive search needs, with the specification's own
// invariants.
func (c Config) System() explore.System {
	s := explore.System{Build: c.Build, Config: sim.Config{Timing: sim.Untimed}}
	s.Invariants = []explore.Invariant{{Name: "fence", Holds: fence}, {Name: "token-unique", Holds: c.tokenUnique}}
	if c.Timed {
		s.Config.Timing = sim.Bounded
		s.Config.Horizon = time.Duration(c.Horizon)
		s.Invariants = append(s.Invariants, explore.Invariant{Name: "exclusive-belief", Holds: c.exclusiveBelief})
	}
	return s
}

// verb says what a message is about.
type verb uint8

const (
	acquire verb = iota + 1
	grant
	deny
	renew
	renewOK
	renewNo
	put
	putOK
	putNo
)

var verbNames = [...]string{"", "acquire", "grant", "deny", "renew", "renew-ok", "renew-no", "put", "put-ok", "put-no"}

func (v verb) String() string { return verbNames[v] }

// body is a message. sent is LF-T's: when the client sent what this answers.
type body struct {
	verb  verb
	token int64
	sent  time.Duration
}

// String says what the message says, for people.
func (b body) String() string {
	if b.token == 0 {
		return b.verb.String()
	}
	return fmt.Sprintf("%s with token %d", b.verb, b.token)
}

// holding is a client's view of its lease.
type holding uint8

const (
	idle holding = iota
	waiting
	holds
	done
)

// clientState is all that a client's future depends on.
type clientState struct {
	holding              holding
	tried, written, kept int
	token                int64
	deadline             time.Duration // LF-T
}

// client acquires, writes, renews and gives up, in any order that it may.
type client struct {
	cfg Config
	s   clientState
}

// Run is the client's life: it goes on to receive what is still on its way when
// it is done.
func (c *client) Run(p *sim.Proc) {
	for {
		if !c.cfg.Bare {
			p.Checkpoint(c.s)
		}
		m, step := c.await(p)
		if step == nil {
			c.receive(p, m.Body.(body))
			continue
		}
		step(p)
	}
}

// await waits for a message or one of the steps that are possible now.
func (c *client) await(p *sim.Proc) (sim.Message, func(*sim.Proc)) {
	var buf [3]sim.Step
	var does [3]func(*sim.Proc)
	steps := buf[:0]
	may := func(name string, from, until time.Duration, do func(*sim.Proc)) {
		does[len(steps)] = do
		steps = append(steps, sim.Step{Name: name, From: from, Until: until})
	}
	switch c.s.holding {
	case idle:
		may("acquire", 0, 0, c.acquire)
	case holds:
		if c.s.written < c.cfg.Writes {
			may("write", 0, c.s.deadline, c.write)
		}
		if c.s.kept < c.cfg.Renewals {
			may("renew", 0, c.s.deadline, c.renew)
		}
		may("give up", c.s.deadline, 0, c.giveUp)
	}
	m, k := p.Await(steps...)
	if k < 0 {
		return m, nil
	}
	return m, does[k]
}

// now is the time of sending: LF-U has none.
func (c *client) now(p *sim.Proc) time.Duration {
	if !c.cfg.Timed {
		return 0
	}
	return p.Now()
}

func (c *client) acquire(p *sim.Proc) {
	c.s.holding = waiting
	c.s.tried++
	p.Send(managerID, body{verb: acquire, sent: c.now(p)})
}

func (c *client) write(p *sim.Proc) {
	c.s.written++
	p.Send(storeID, body{verb: put, token: c.s.token})
}

func (c *client) renew(p *sim.Proc) {
	c.s.kept++
	p.Send(managerID, body{verb: renew, token: c.s.token, sent: c.now(p)})
}

func (c *client) giveUp(p *sim.Proc) {
	c.s.holding, c.s.token, c.s.deadline = idle, 0, 0
	if c.s.tried >= c.cfg.Acquisitions {
		c.s.holding = done
	}
	p.Observe(&history.Event{Type: history.Note, F: history.Disbelieve, Resource: resource})
}

func (c *client) receive(p *sim.Proc, b body) {
	current := c.s.holding == holds && c.s.token == b.token
	switch {
	case b.verb == grant && c.s.holding == waiting:
		c.s.holding, c.s.token = holds, b.token
		if c.cfg.Timed {
			if c.cfg.Defect == FromReceipt {
				b.sent = p.Now()
			}
			c.s.deadline = b.sent + time.Duration(c.cfg.TTL)
		}
		p.Observe(&history.Event{Type: history.Note, F: history.Believe, Resource: resource,
			Token: history.Token(b.token), Until: int64(c.s.deadline)})
	case b.verb == deny && c.s.holding == waiting:
		c.giveUp(p)
	case (b.verb == renewNo || b.verb == putNo) && current:
		c.giveUp(p)
	case b.verb == renewOK && current && c.cfg.Timed:
		c.s.deadline = max(c.s.deadline, b.sent+time.Duration(c.cfg.TTL))
	}
}

// resource is the one thing that is protected.
const resource = "orders/7"

// managerState is all that the manager's future depends on.
type managerState struct {
	holder  sim.ID // 0: nobody; no client has number 0
	token   int64
	expires time.Duration // LF-T
}

// manager grants the lease to one client at a time.
type manager struct {
	cfg Config
	s   managerState
}

func (m *manager) Run(p *sim.Proc) {
	for {
		if !m.cfg.Bare {
			p.Checkpoint(m.s)
		}
		var msg sim.Message
		step := -1
		if m.s.holder != 0 && !m.cfg.Timed {
			msg, step = p.Await(sim.Step{Name: "expire"})
		} else {
			msg, _ = p.Wait(0)
		}
		if step >= 0 {
			p.Observe(&history.Event{Type: history.Note, F: history.Expire, Resource: resource,
				Token: history.Token(m.s.token), Owner: clientName(m.s.holder)})
			m.s.holder = 0
			continue
		}
		switch b := msg.Body.(body); b.verb {
		case acquire:
			m.acquire(p, msg.From, b)
		case renew:
			m.renew(p, msg.From, b)
		}
	}
}

func (m *manager) acquire(p *sim.Proc, from sim.ID, b body) {
	if m.s.holder != 0 && !(m.cfg.Timed && p.Now() >= m.s.expires) {
		p.Send(from, body{verb: deny})
		return
	}
	if m.cfg.Defect != TokenRegress || m.s.token == 0 {
		m.s.token++
	}
	m.s.holder = from
	if m.cfg.Timed {
		m.s.expires = p.Now() + time.Duration(m.cfg.TTL)
	}
	p.Observe(&history.Event{Type: history.Note, F: history.Grant, Resource: resource,
		Token: history.Token(m.s.token), Owner: clientName(from), Expires: int64(m.s.expires)})
	p.Send(from, body{verb: grant, token: m.s.token, sent: b.sent})
}

func (m *manager) renew(p *sim.Proc, from sim.ID, b body) {
	if m.s.holder != from || m.s.token != b.token || m.cfg.Timed && p.Now() >= m.s.expires {
		p.Send(from, body{verb: renewNo, token: b.token})
		return
	}
	if m.cfg.Timed {
		m.s.expires = p.Now() + time.Duration(m.cfg.TTL)
	}
	p.Send(from, body{verb: renewOK, token: b.token, sent: b.sent})
}

// storeState is all that the store's future depends on. bad records that it took
// a write of an older token than it had seen: the specification's "bad".
type storeState struct {
	highest int64
	bad     bool
}

// store takes a write if its token is not older than any that it has seen.
type store struct {
	cfg Config
	s   storeState
}

func (s *store) Run(p *sim.Proc) {
	for {
		if !s.cfg.Bare {
			p.Checkpoint(s.s)
		}
		m, _ := p.Wait(0)
		s.put(p, m.From, m.Body.(body).token)
	}
}

func (s *store) put(p *sim.Proc, from sim.ID, token int64) {
	e := history.Event{Type: history.Note, F: history.Apply, Resource: resource,
		Token: history.Token(token), Owner: clientName(from), Highest: history.Token(s.s.highest)}
	if token < s.s.highest && s.cfg.Defect != NoFenceCheck {
		e.F = history.Reject
		p.Observe(&e)
		p.Send(from, body{verb: putNo, token: token})
		return
	}
	s.s.bad = s.s.bad || token < s.s.highest
	s.s.highest = max(s.s.highest, token)
	e.Highest = history.Token(s.s.highest)
	p.Observe(&e)
	p.Send(from, body{verb: putOK, token: token})
}
