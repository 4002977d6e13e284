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
	cfg            Config
	leases         []granted
	issued         int64 // identities given out in this incarnation
	busy           sim.Mutex
	keyOf, lastKey string // the resource last written, and its key
	e              *history.Event
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
	m.e = notes(m.e)
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
	if p.Disk().Torn() == 0 || from != currentKey || m.cfg.Defects.Has(CounterNotDurable) {
		return
	}
	for i := range m.leases { // one change at a time: the newest operation's
		if g := &m.leases[i]; g.DidOp == m.newest() {
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

func (m *LeaseManager) newest() int64 {
	var op int64
	for i := range m.leases {
		op = max(op, m.leases[i].DidOp)
	}
	return op
}

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
	if end, ok := msg.Body.(ending); ok {
		m.busy.Lock(ctx)
		m.end(p, m.lease(end.Resource))
		m.busy.Unlock(ctx)
		return
	}
	r, ok := msg.Body.(Request)
	if !ok {
		return
	}
	m.busy.Lock(ctx)
	reply := m.serve(p, r)
	m.busy.Unlock(ctx)
	p.Reply(msg, reply.box(p))
}

func (m *LeaseManager) serve(p *sim.Proc, r Request) Reply {
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
	return Reply{Status: StatusUnsupported}
}

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
		p.After(g.Expires-p.Now(), ending{g.Resource})
	}
}

func (m *LeaseManager) acquire(p *sim.Proc, g *granted, r Request) Reply {
	if g.LastOp == r.Op && g.Lease != "" { // a copy of the request that was granted
		return g.reply()
	}
	if r.Lease != "" && r.Lease == g.Lease {
		return m.reenter(p, g, r)
	}
	if g.Lease != "" && !m.cfg.Defects.Has(GrantWhileHeld) {
		return Reply{Status: StatusHeld, RetryAfter: g.Expires - p.Now()}
	}
	next := *g
	if !m.cfg.Defects.Has(TokenNotIncreased) || next.Generation == 0 {
		next.Token++
	}
	next.Generation++
	next.Lease, next.Owner, next.LastOp = m.identity(p), r.Client, r.Op
	next.Expires = p.Now() + r.TTL
	next.did(history.Grant, r.Op)
	return m.commit(p, next)
}

// identity returns a lease identity that was not used before. It stands for a
// random one, and so it does not go back when the counter of tokens does.
func (m *LeaseManager) identity(p *sim.Proc) string {
	const perIncarnation = 1 << 12
	m.issued++
	return leaseID(m.issued - 1 + int64(p.Incarnation())*perIncarnation)
}

// reenter answers a holder that acquires once more: it keeps its lease.
func (m *LeaseManager) reenter(p *sim.Proc, g *granted, r Request) Reply {
	next := *g
	next.LastOp = r.Op
	next.Expires = p.Now() + r.TTL
	if m.cfg.Defects.Has(ReentryRaisesToken) {
		next.Token++
	}
	next.did(history.Renewed, r.Op)
	return m.commit(p, next)
}

// holds reports whether r presents the lease in force.
func (m *LeaseManager) holds(g *granted, r Request) bool {
	return g.Lease != "" && (g.Lease == r.Lease || m.cfg.Defects.Has(ManagerIgnoresIdentity))
}

func (m *LeaseManager) renew(p *sim.Proc, g *granted, r Request) Reply {
	if !m.holds(g, r) {
		return Reply{Status: StatusNotHolder}
	}
	next := *g
	next.Expires = p.Now() + r.TTL
	if m.cfg.Defects.Has(RenewalRaisesToken) {
		next.Token++
	}
	next.did(history.Renewed, r.Op)
	return m.commit(p, next)
}

func (m *LeaseManager) release(p *sim.Proc, g *granted, r Request) Reply {
	if !m.holds(g, r) {
		return Reply{Status: StatusNotHolder}
	}
	next := *g
	next.did(history.Released, r.Op)
	next.Lease, next.Owner = "", ""
	if m.cfg.Defects.Has(ReleaseDeletesCounter) {
		defer m.forget(p, g.Resource)
	}
	return m.commit(p, next)
}

// forget deletes the record of a resource.
func (m *LeaseManager) forget(p *sim.Proc, resource string) {
	p.Remove(currentKey + resource)
	p.Sync()
	g := m.lease(resource)
	*g = granted{Resource: resource, Token: m.first()}
}

// commit makes next durable, then true, and reports it.
func (m *LeaseManager) commit(p *sim.Proc, next granted) Reply {
	switch d := m.cfg.Defects; {
	case d.Has(StandbyLags):
		was := *m.lease(next.Resource)
		was.armed = false
		p.Put(standbyKey+next.Resource, was)
	case d.Has(SnapshotRestored) && next.Did == history.Grant && next.Generation%2 == 1:
		saved := next
		saved.armed = false
		p.Put(snapshotKey+next.Resource, saved)
	}
	armed := next.armed
	next.armed = false
	p.Put(m.key(next.Resource), next)
	p.Sync()
	g := m.lease(next.Resource)
	*g = next
	g.armed = armed
	m.tell(p, g)
	m.arm(p, g)
	return g.reply()
}

// key is where the disk holds the state of a resource.
func (m *LeaseManager) key(resource string) string {
	if !same(m.keyOf, resource) {
		m.keyOf, m.lastKey = resource, currentKey+resource
	}
	return m.lastKey
}

// did says what changes g now.
func (g *granted) did(f history.F, op int64) {
	g.Did, g.DidOp, g.DidLease, g.DidOwner = f, op, g.Lease, g.Owner
}

func (g *granted) reply() Reply {
	if g.Lease == "" {
		return Reply{Status: StatusOK}
	}
	return Reply{Status: StatusOK, Token: g.Token, Lease: g.Lease, Generation: g.Generation}
}

// tell reports the last change.
func (m *LeaseManager) tell(p *sim.Proc, g *granted) {
	e := m.e
	e.F, e.Op = g.Did, g.DidOp
	e.Resource, e.Lease, e.Owner = g.Resource, g.DidLease, g.DidOwner
	e.Token, e.Generation, e.Expires = g.Token, g.Generation, 0
	if g.Did == history.Grant || g.Did == history.Renewed {
		e.Expires = int64(g.Expires)
	}
	p.Observe(e)
}
