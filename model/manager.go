package model

import (
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
	busy   *sim.Mutex
	rec    reporter
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
}

// NewLeaseManager returns a lease manager that has granted nothing; on its first
// start it finds what its disk holds.
func NewLeaseManager(cfg Config) *LeaseManager {
	return &LeaseManager{cfg: cfg, busy: sim.NewMutex()}
}

// Start reads the disk.
func (m *LeaseManager) Start(p *sim.Proc) {
	p.Disk().Keys(func(key string) bool {
		v, _ := p.Get(key)
		m.leases = append(m.leases, v.(granted))
		return true
	})
}

// Handle serves one request; requests are served one after another.
func (m *LeaseManager) Handle(p *sim.Proc, msg sim.Message) {
	r, ok := msg.Body.(Request)
	if !ok {
		return
	}
	ctx := p.Context()
	m.busy.Lock(ctx)
	reply := m.serve(p, r)
	m.busy.Unlock(ctx)
	p.Reply(msg, reply)
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
	return Reply{Status: StatusFailed}
}

func (m *LeaseManager) lease(resource string) *granted {
	for i := range m.leases {
		if m.leases[i].Resource == resource {
			return &m.leases[i]
		}
	}
	m.leases = append(m.leases, granted{Resource: resource, Token: max(m.cfg.FirstToken, 1) - 1})
	return &m.leases[len(m.leases)-1]
}

func (m *LeaseManager) expire(p *sim.Proc, g *granted) {
	m.tell(p, history.Expire, 0, g)
	g.Lease, g.Owner = "", ""
}

func (m *LeaseManager) acquire(p *sim.Proc, g *granted, r Request) Reply {
	if g.LastOp == r.Op && g.Lease != "" { // a copy of the request that was granted
		return Reply{Status: StatusOK, Token: g.Token, Lease: g.Lease, Generation: g.Generation}
	}
	if g.Lease != "" && !m.cfg.Defects.Has(GrantWhileHeld) {
		return Reply{Status: StatusHeld, RetryAfter: g.Expires - p.Now()}
	}
	next := *g
	if !m.cfg.Defects.Has(TokenNotIncreased) || next.Token == 0 {
		next.Token++
	}
	next.Generation++
	next.Lease, next.Owner, next.LastOp = leaseID(g.Generation), r.Client, r.Op
	next.Expires = p.Now() + r.TTL
	m.commit(p, g, next)
	m.tell(p, history.Grant, r.Op, g)
	return Reply{Status: StatusOK, Token: g.Token, Lease: g.Lease, Generation: g.Generation}
}

func (m *LeaseManager) renew(p *sim.Proc, g *granted, r Request) Reply {
	if g.Lease == "" || g.Lease != r.Lease {
		return Reply{Status: StatusNotHolder}
	}
	next := *g
	next.Expires = p.Now() + r.TTL
	if m.cfg.Defects.Has(RenewalRaisesToken) {
		next.Token++
	}
	m.commit(p, g, next)
	m.tell(p, history.Renewed, r.Op, g)
	return Reply{Status: StatusOK, Token: g.Token, Lease: g.Lease, Generation: g.Generation}
}

func (m *LeaseManager) release(p *sim.Proc, g *granted, r Request) Reply {
	if g.Lease == "" || g.Lease != r.Lease {
		return Reply{Status: StatusNotHolder}
	}
	next := *g
	next.Lease, next.Owner = "", ""
	was := *g
	m.commit(p, g, next)
	m.tell(p, history.Released, r.Op, &was)
	return Reply{Status: StatusOK}
}

// commit makes next durable, then true.
func (m *LeaseManager) commit(p *sim.Proc, g *granted, next granted) {
	p.Put(g.Resource, next)
	p.Sync()
	*m.lease(next.Resource) = next
}

func (m *LeaseManager) tell(p *sim.Proc, f history.F, op int64, g *granted) {
	e := history.Event{Type: history.Note, F: f, Op: op, Resource: g.Resource, Token: g.Token,
		Lease: g.Lease, Owner: g.Owner, Generation: g.Generation}
	if f == history.Grant || f == history.Renewed {
		e.Expires = int64(g.Expires)
	}
	m.rec.note(p, e)
}
