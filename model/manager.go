package model

import (
	"fmt"
	"strings"
	"time"

	"staleproof/model/history"
	"staleproof/sim"
)

// LeaseManager is the coordinator: it grants one lease a resource at a time, each
// with a token greater than all before and an identity of its own. Leases end on
// its own monotonic clock. What it promises is on its disk before it says so.
type LeaseManager struct {
	cfg    Config
	leases []granted
	issued int64 // identities given out in this incarnation
	busy   sim.Mutex
	named  named
	told   history.Event
}

// named is what is made of the name of a resource: of the one that was used last,
// which mostly is the next. After a crash it tells which change was on its way to the
// disk; an exhaustive search, in which there is one resource, forgets it.
type named struct {
	resource string
	key      string // on the disk
	ending   any    // the timer
}

// granted is the state of one resource: the counter outlives the lease.
type granted struct {
	Resource   string
	Token      Token // the last one granted
	Generation int64
	Lease      string // identity; "" if no lease is in force
	Owner      string
	Expires    time.Duration // on the manager's monotonic clock
	LastOp     int64         // the request that the last grant answered
	// Did is the last change, to be reported after a crash that came between
	// its becoming durable and its report.
	Did      history.F
	DidOp    int64
	DidLease string
	DidOwner string
	armed    bool // a timer will look at the lease's end; never true on the disk
}

// ending is the timer that looks whether a lease has come to its end.
type ending struct{ Resource string }

// String says what it is, for people.
func (e ending) String() string { return "end of the lease of " + e.Resource }

// State declares the manager's memory to an exhaustive search.
func (m *LeaseManager) State() any { return fmt.Sprint(m.issued, m.leases) }

// NewLeaseManager returns a lease manager that has granted nothing; on its first
// start it finds what its disk holds.
func NewLeaseManager(cfg Config) *LeaseManager {
	m := &LeaseManager{}
	m.Init(cfg)
	return m
}

// Init makes m what NewLeaseManager returns, in the memory that it has. Nobody may
// use m any more as what it was.
func (m *LeaseManager) Init(cfg Config) {
	m.cfg, m.leases, m.issued, m.busy = cfg, m.leases[:0], 0, sim.Mutex{}
}

// The disk holds the state of each resource under its name behind one of these:
// as it is; as it was one change ago, for StandbyLags; as it was at the last odd
// grant, for SnapshotRestored.
const (
	currentKey  = "current "
	standbyKey  = "standby "
	snapshotKey = "snapshot "
)

// Start reads the disk.
func (m *LeaseManager) Start(p *sim.Proc) {
	from := m.comesBackWith()
	p.Disk().Keys(func(key string) bool {
		if strings.HasPrefix(key, from) {
			v, _ := p.Get(key)
			g := v.(granted)
			if m.cfg.Defects.Has(CounterNotDurable) {
				g.Token, g.Generation = m.first(), 0
			}
			m.leases = append(m.leases, g)
		}
		return true
	})
	for i := range m.leases {
		m.arm(p, &m.leases[i])
	}
	before, _ := (*p.Ledger()).(*named)
	*p.Ledger() = &m.named
	if p.Disk().Torn() == 0 || from != currentKey || m.cfg.Defects.Has(CounterNotDurable) {
		return
	}
	for i := range m.leases { // one change at a time
		if g := &m.leases[i]; before == nil || g.Resource == before.resource {
			m.tell(p, g)
		}
	}
}

// comesBackWith returns the keys from which a restarted manager reads its state.
func (m *LeaseManager) comesBackWith() string {
	switch d := m.cfg.Defects; {
	case d.Has(SnapshotRestored):
		return snapshotKey
	case d.Has(StandbyLags):
		return standbyKey
	}
	return currentKey
}

// first is the token before the first grant.
func (m *LeaseManager) first() Token { return max(m.cfg.FirstToken, 1) - 1 }

// Yields is how many yields Handle comes to at most; see [sim.Brief].
func (m *LeaseManager) Yields() int {
	if m.cfg.Defects.Has(ReleaseDeletesCounter) {
		return 2
	}
	return 1
}

// Handle serves one request; requests are served one after another.
func (m *LeaseManager) Handle(p *sim.Proc, msg sim.Message) {
	ctx := p.Context()
	if r := sim.Peek[Request](msg.Body); r != nil {
		m.busy.Lock(ctx)
		reply := m.serve(p, r)
		m.busy.Unlock(ctx)
		p.Reply(msg, reply)
	} else if end, ok := msg.Body.(ending); ok {
		m.busy.Lock(ctx)
		m.end(p, m.lease(end.Resource))
		m.busy.Unlock(ctx)
	}
}

// serve returns the reply to r, ready to be sent.
func (m *LeaseManager) serve(p *sim.Proc, r *Request) any {
	g := m.lease(r.Resource)
	if g.Lease != "" && p.Now() >= g.Expires {
		m.expire(p, g)
	}
	switch r.F {
	case history.Acquire:
		return m.acquire(p, g, r)
	case history.Renew:
		return m.renew(p, g, r)
	case history.Release:
		return m.release(p, g, r)
	}
	return refusal(p, StatusUnsupported)
}

func refusal(p *sim.Proc, s Status) any { return (&Reply{Status: s}).box(p) }

func (m *LeaseManager) lease(resource string) *granted {
	for i := range m.leases {
		if same(m.leases[i].Resource, resource) {
			return &m.leases[i]
		}
	}
	m.leases = append(m.leases, granted{Resource: resource, Token: m.first()})
	return &m.leases[len(m.leases)-1]
}

// expire ends the lease, in memory: the clock would end it again after a crash.
func (m *LeaseManager) expire(p *sim.Proc, g *granted) {
	g.did(history.Expire, 0)
	m.tell(p, g)
	g.Lease, g.Owner = "", ""
}

// end ends a lease whose time has come; if it was renewed meanwhile, it looks
// again later.
func (m *LeaseManager) end(p *sim.Proc, g *granted) {
	g.armed = false
	switch {
	case g.Lease == "":
	case p.Now() >= g.Expires:
		m.expire(p, g)
	default:
		m.arm(p, g)
	}
}

// arm sets the timer of g's lease.
func (m *LeaseManager) arm(p *sim.Proc, g *granted) {
	if !g.armed && g.Lease != "" {
		g.armed = true
		p.After(g.Expires-p.Now(), m.made(g.Resource).ending)
	}
}

func (m *LeaseManager) acquire(p *sim.Proc, g *granted, r *Request) any {
	if g.LastOp == r.Op && g.Lease != "" { // a copy of the request that was granted
		return g.reply(p)
	}
	if r.Lease != "" && r.Lease == g.Lease {
		return m.reenter(p, g, r)
	}
	if g.Lease != "" && !m.cfg.Defects.Has(GrantWhileHeld) {
		return (&Reply{Status: StatusHeld, RetryAfter: g.Expires - p.Now()}).box(p)
	}
	next := *g
	if !m.cfg.Defects.Has(TokenNotIncreased) || next.Generation == 0 {
		next.Token++
	}
	next.Generation++
	next.Lease, next.Owner, next.LastOp = m.identity(p), r.Client, r.Op
	next.Expires = p.Now() + r.TTL
	next.did(history.Grant, r.Op)
	return m.commit(p, g, &next)
}

// identity returns a lease identity that was not used before. It stands for a
// random one, and so it does not go back when the counter of tokens does.
func (m *LeaseManager) identity(p *sim.Proc) string {
	const perIncarnation = 1 << 12
	m.issued++
	return leaseID(m.issued - 1 + int64(p.Incarnation())*perIncarnation)
}

// reenter answers a holder that acquires once more: it keeps its lease.
func (m *LeaseManager) reenter(p *sim.Proc, g *granted, r *Request) any {
	next := *g
	next.LastOp = r.Op
	next.Expires = p.Now() + r.TTL
	if m.cfg.Defects.Has(ReentryRaisesToken) {
		next.Token++
	}
	next.did(history.Renewed, r.Op)
	return m.commit(p, g, &next)
}

// holds reports whether r presents the lease in force.
func (m *LeaseManager) holds(g *granted, r *Request) bool {
	return g.Lease != "" && (g.Lease == r.Lease || m.cfg.Defects.Has(ManagerIgnoresIdentity))
}

func (m *LeaseManager) renew(p *sim.Proc, g *granted, r *Request) any {
	if !m.holds(g, r) {
		return refusal(p, StatusNotHolder)
	}
	next := *g
	next.Expires = p.Now() + r.TTL
	if m.cfg.Defects.Has(RenewalRaisesToken) {
		next.Token++
	}
	next.did(history.Renewed, r.Op)
	return m.commit(p, g, &next)
}

func (m *LeaseManager) release(p *sim.Proc, g *granted, r *Request) any {
	if !m.holds(g, r) {
		return refusal(p, StatusNotHolder)
	}
	next := *g
	next.did(history.Released, r.Op)
	next.Lease, next.Owner = "", ""
	reply := m.commit(p, g, &next)
	if m.cfg.Defects.Has(ReleaseDeletesCounter) {
		m.forget(p, g.Resource)
	}
	return reply
}

// forget deletes the record of a resource.
func (m *LeaseManager) forget(p *sim.Proc, resource string) {
	p.Remove(currentKey + resource)
	p.Sync()
	g := m.lease(resource)
	*g = granted{Resource: resource, Token: m.first()}
}

// commit makes next durable, then true of g, and reports it.
func (m *LeaseManager) commit(p *sim.Proc, g, next *granted) any {
	armed := next.armed
	next.armed = false
	switch d := m.cfg.Defects; {
	case d.Has(StandbyLags):
		was := *g
		was.armed = false
		p.Put(standbyKey+next.Resource, was)
	case d.Has(SnapshotRestored) && next.Did == history.Grant && next.Generation%2 == 1:
		p.Put(snapshotKey+next.Resource, *next)
	}
	p.Put(m.made(next.Resource).key, next.box(p))
	p.Sync()
	*g = *next
	g.armed = armed
	m.tell(p, g)
	m.arm(p, g)
	return g.reply(p)
}

// made returns what is made of the name of a resource.
func (m *LeaseManager) made(resource string) *named {
	if n := &m.named; !same(n.resource, resource) {
		*n = named{resource: resource, key: currentKey + resource, ending: ending{resource}}
	}
	return &m.named
}

// box returns g ready to be stored.
func (g *granted) box(p *sim.Proc) any {
	s := p.Slot(uint64(g.Token)<<48 ^ uint64(g.Expires) ^ uint64(g.DidOp)<<16 ^ uint64(g.Did)<<40)
	if old := sim.Kept[granted](s); old == nil || !g.twin(old) && *g != *old {
		s.Keep(p, *g)
	}
	return s.Box(p)
}

// twin is as [Request.twin].
func (g *granted) twin(o *granted) bool {
	return g.Expires == o.Expires && g.DidOp == o.DidOp && g.Did == o.Did && g.Token == o.Token &&
		g.Generation == o.Generation && g.LastOp == o.LastOp && g.armed == o.armed &&
		history.Identical(g.Lease, o.Lease) && history.Identical(g.Owner, o.Owner) &&
		history.Identical(g.DidLease, o.DidLease) && history.Identical(g.DidOwner, o.DidOwner) &&
		history.Identical(g.Resource, o.Resource)
}

// did says what changes g now.
func (g *granted) did(f history.F, op int64) {
	g.Did, g.DidOp, g.DidLease, g.DidOwner = f, op, g.Lease, g.Owner
}

// reply returns the reply that tells g's lease, ready to be sent.
func (g *granted) reply(p *sim.Proc) any {
	reply := Reply{Status: StatusOK}
	if g.Lease != "" {
		reply.Token, reply.Lease, reply.Generation = g.Token, g.Lease, g.Generation
	}
	return reply.box(p)
}

// tell reports the last change.
func (m *LeaseManager) tell(p *sim.Proc, g *granted) {
	e := note(&m.told, g.Did, g.DidOp)
	e.Resource, e.Lease, e.Owner = g.Resource, g.DidLease, g.DidOwner
	e.Token, e.Generation = g.Token, g.Generation
	if g.Did == history.Grant || g.Did == history.Renewed {
		e.Expires = int64(g.Expires)
	}
	p.Observe(e)
}
