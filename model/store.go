package model

import (
	"fmt"
	"slices"
	"time"

	"staleproof/model/history"
	"staleproof/sim"
)

// FencedStore is the resource: for each resource a value, the greatest token
// accepted and the identity of the lease that brought it. It accepts a mutation
// iff its token is greater, or equal and from the same lease; the check, the
// change and the disk are one step. A reply is kept for each operation, so that
// a copy of a message takes effect once.
type FencedStore struct {
	cfg     Config
	cells   []cell
	valid   []string                // leases that StoreCachesCheck has found valid
	ops     []int64                 // operations served
	replies []any                   // their answers, each a Reply
	filter  [filterBits / 64]uint64 // bit op % filterBits is set for each of ops
	busy    sim.Mutex
	told    history.Event
}

// filterBits is a few times as many as the operations of a short run.
const filterBits = 256

// cell is the state of one resource.
type cell struct {
	Resource   string
	Value      int64
	Highest    Token
	Lease      string // that brought Highest
	Owner      string
	Rejections int64
}

// NewFencedStore returns a store in which every resource holds 0; on its first
// start it finds what its disk holds.
func NewFencedStore(cfg Config) *FencedStore {
	s := &FencedStore{}
	s.Init(cfg)
	return s
}

// manyOps is how many operations a store of a short run serves.
const manyOps = 32

// Init makes s what NewFencedStore returns, in the memory that it has. Nobody may
// use s any more as what it was.
func (s *FencedStore) Init(cfg Config) {
	if s.ops == nil {
		s.ops, s.replies = make([]int64, 0, manyOps), make([]any, 0, manyOps)
	}
	s.cfg, s.cells, s.valid = cfg, s.cells[:0], s.valid[:0]
	s.ops, s.replies = s.ops[:0], s.replies[:0]
	s.filter, s.busy = [filterBits / 64]uint64{}, sim.Mutex{}
}

// State declares the store's memory to an exhaustive search.
func (s *FencedStore) State() any { return fmt.Sprint(s.cells, s.valid, s.ops, s.replies) }

// Start replays the log: the requests that were accepted and changed something.
func (s *FencedStore) Start(p *sim.Proc) {
	last := s.replay(p)
	torn := p.Disk().Torn() > 0 && !s.cfg.Defects.hasAny(StoreAcksBeforeSync|ReplicaLags)
	if torn { // it took effect, and the crash came before the report
		s.tell(p, effect(last.F), s.cell(last.Resource), last)
	}
}

// replay returns the last request of the log that it knows.
func (s *FencedStore) replay(p *sim.Proc) (last *Request) {
	missing := 0 // entries that have not reached the replica
	if s.cfg.Defects.Has(ReplicaLags) && p.Incarnation() > 0 {
		missing = 2
	}
	n := 0
	p.Disk().Log(func(any) bool { n++; return true })
	done := 0
	p.Disk().Log(func(v any) bool {
		if done == n-missing {
			return false
		}
		last = sim.Peek[Request](v)
		c := s.cell(last.Resource)
		c.accept(last)
		s.keep(last.Op, okay(p, c.Value))
		if done++; done%snapshotEvery == 0 && s.cfg.Defects.Has(SnapshotDropsFence) {
			s.dropFences()
		}
		return true
	})
	if s.cfg.Defects.Has(FenceNotPersisted) {
		s.dropFences()
	}
	return last
}

// snapshotEvery is how many entries of the log SnapshotDropsFence folds into a
// snapshot.
const snapshotEvery = 4

// dropFences forgets the greatest tokens and keeps the values.
func (s *FencedStore) dropFences() {
	for i := range s.cells {
		s.cells[i].forget()
	}
}

func (c *cell) forget() { c.Highest, c.Lease, c.Owner = 0, "", "" }

// collect is the timer of FenceCollected: the fence goes if it is still this one.
type collect struct {
	Resource string
	Highest  Token
}

// Yields is how many yields Handle comes to at most; see [sim.Brief].
func (s *FencedStore) Yields() int {
	if s.cfg.Defects.hasAny(StoreChecksApart | StoreAcksBeforeSync) {
		return 3
	}
	return 1
}

// Handle serves one request; requests are served one after another.
func (s *FencedStore) Handle(p *sim.Proc, msg sim.Message) {
	r := sim.Peek[Request](msg.Body)
	if r == nil {
		s.collect(msg.Body)
		return
	}
	ctx := p.Context()
	s.busy.Lock(ctx)
	var reply any
	if i := s.find(r.Op); i >= 0 && !s.cfg.Defects.Has(StoreReappliesCopies) {
		reply = s.replies[i]
	} else {
		reply = s.serve(p, r, msg.Body)
		s.keep(r.Op, reply)
	}
	s.busy.Unlock(ctx)
	p.Reply(msg, reply)
	if s.cfg.Defects.Has(StoreAcksBeforeSync) {
		p.Yield("answered")
		p.Sync()
	}
}

// collect takes the fence away that a timer of FenceCollected is about.
func (s *FencedStore) collect(timer any) {
	if idle, ok := timer.(collect); ok {
		if c := s.cell(idle.Resource); c.Highest == idle.Highest {
			c.forget()
		}
	}
}

// find returns where the answer to an operation is, or -1: mostly there is none, and
// the filter knows.
func (s *FencedStore) find(op int64) int {
	if n := uint64(op) % filterBits; s.filter[n/64]>>(n%64)&1 == 0 {
		return -1
	}
	return slices.Index(s.ops, op)
}

// keep remembers the answer to an operation.
func (s *FencedStore) keep(op int64, reply any) {
	s.ops, s.replies = append(s.ops, op), append(s.replies, reply)
	n := uint64(op) % filterBits
	s.filter[n/64] |= 1 << (n % 64)
}

func (s *FencedStore) cell(resource string) *cell {
	for i := range s.cells {
		if same(s.cells[i].Resource, resource) {
			return &s.cells[i]
		}
	}
	s.cells = append(s.cells, cell{Resource: resource})
	return &s.cells[len(s.cells)-1]
}

// serve answers r; body is r as it came.
func (s *FencedStore) serve(p *sim.Proc, r *Request, body any) any {
	c := s.cell(r.Resource)
	if s.refuses(c, r) {
		c.Rejections++
		s.tell(p, history.Reject, c, r)
		return (&Reply{Status: StatusStale, Highest: c.Highest, Owner: c.Owner}).box(p)
	}
	if s.cfg.Defects.Has(StoreChecksApart) && r.F.IsMutation() {
		ctx := p.Context()
		s.busy.Unlock(ctx)
		p.Yield("between check and write")
		s.busy.Lock(ctx)
		c = s.cell(r.Resource)
	}
	if r.F.IsMutation() || c.lifts(r) {
		next := *c
		next.accept(r)
		s.persist(p, r, body)
		*c = next // whatever a timer did meanwhile
	}
	s.tell(p, effect(r.F), c, r)
	return okay(p, c.Value)
}

// persist makes r durable: with it, the log says what the cell is.
func (s *FencedStore) persist(p *sim.Proc, r *Request, body any) {
	p.Append(body)
	if !s.cfg.Defects.Has(StoreAcksBeforeSync) {
		p.Sync()
	}
	switch d := s.cfg.Defects; {
	case d.Has(StoreCachesCheck):
		s.valid = append(s.valid, r.Lease)
	case d.Has(FenceCollected):
		p.After(s.cfg.TTL+time.Second, collect{Resource: r.Resource, Highest: max(r.Token, s.cell(r.Resource).Highest)})
	}
}

// lifts reports whether r, once it is accepted, changes the fence.
func (c *cell) lifts(r *Request) bool {
	return !r.Unfenced && r.F != history.Read && (r.Token > c.Highest || !same(r.Lease, c.Lease))
}

// accept changes c as r says.
func (c *cell) accept(r *Request) {
	if c.lifts(r) {
		c.Highest, c.Lease, c.Owner = max(r.Token, c.Highest), r.Lease, r.Client
	}
	switch r.F {
	case history.Write:
		c.Value = r.Value
	case history.Delete:
		c.Value = 0
	}
}

// okay returns the reply OK of a value, ready to be sent.
func okay(p *sim.Proc, value int64) any { return (&Reply{Status: StatusOK, Value: value}).box(p) }

// effect is the note that an accepted request makes.
func effect(f history.F) history.F {
	switch f {
	case history.Raise:
		return history.Raised
	case history.Read:
		return history.Served
	}
	return history.Apply
}

// refuses is the fence.
func (s *FencedStore) refuses(c *cell, r *Request) bool {
	d := s.cfg.Defects
	switch {
	case d.Has(StoreIgnoresToken):
		return false
	case r.Unfenced:
		return false // nothing was sent that could be checked
	case d.Has(StoreComparesIdentity):
		return false // the same: the holder; another: the next holder, it believes
	case d.Has(StoreIgnoresOwner):
		return r.Token < c.Highest
	case d.Has(StoreCachesCheck) && slices.Contains(s.valid, r.Lease):
		return false // it was found valid once
	case d.Has(StoreRefusesEqual) && r.F.IsMutation():
		return r.Token <= c.Highest
	}
	return r.Token < c.Highest || r.Token == c.Highest && !same(r.Lease, c.Lease) && c.Highest > 0
}

func (s *FencedStore) tell(p *sim.Proc, f history.F, c *cell, r *Request) {
	e := note(&s.told, f, r.Op)
	e.Resource, e.Token, e.Lease, e.Owner = r.Resource, r.Token, r.Lease, r.Client
	e.Highest, e.Rejections = c.Highest, c.Rejections
	switch r.F {
	case history.Write:
		e.Value, e.Basis = history.IntValue(r.Value), r.Basis
	case history.Read, history.Delete:
		e.Value = history.IntValue(c.Value)
	}
	p.Observe(e)
}
