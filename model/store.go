package model

import (
	"slices"

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
	ops     []int64 // operations served
	replies []Reply // their answers
	busy    *sim.Mutex
	rec     reporter
}

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
	return &FencedStore{cfg: cfg, busy: sim.NewMutex()}
}

// Start replays the log: the requests that were accepted and changed something.
func (s *FencedStore) Start(p *sim.Proc) {
	var last Request
	p.Disk().Log(func(v any) bool {
		last = v.(Request)
		c := s.cell(last.Resource)
		*c = c.after(last)
		s.keep(last.Op, OK(c.Value))
		return true
	})
	if p.Disk().Torn() > 0 { // it took effect, and the crash came before the report
		s.tell(p, effect(last.F), s.cell(last.Resource), last)
	}
}

// Handle serves one request; requests are served one after another.
func (s *FencedStore) Handle(p *sim.Proc, msg sim.Message) {
	r, ok := msg.Body.(Request)
	if !ok {
		return
	}
	ctx := p.Context()
	s.busy.Lock(ctx)
	i := slices.Index(s.ops, r.Op)
	if i < 0 || s.cfg.Defects.Has(StoreReappliesCopies) {
		i = s.keep(r.Op, s.serve(p, r))
	}
	s.busy.Unlock(ctx)
	p.Reply(msg, s.replies[i])
}

// keep remembers the answer to an operation.
func (s *FencedStore) keep(op int64, reply Reply) int {
	s.ops, s.replies = append(s.ops, op), append(s.replies, reply)
	return len(s.ops) - 1
}

func (s *FencedStore) cell(resource string) *cell {
	for i := range s.cells {
		if s.cells[i].Resource == resource {
			return &s.cells[i]
		}
	}
	s.cells = append(s.cells, cell{Resource: resource})
	return &s.cells[len(s.cells)-1]
}

func (s *FencedStore) serve(p *sim.Proc, r Request) Reply {
	c := s.cell(r.Resource)
	if s.refuses(c, r) {
		c.Rejections++
		s.tell(p, history.Reject, c, r)
		return Reply{Status: StatusStale, Highest: c.Highest, Owner: c.Owner}
	}
	next := c.after(r)
	if next != *c {
		p.Append(r)
		p.Sync()
		c = s.cell(r.Resource)
		*c = next
	}
	s.tell(p, effect(r.F), c, r)
	return OK(next.Value)
}

// after returns the cell once r is accepted.
func (c *cell) after(r Request) cell {
	next := *c
	if !r.Unfenced && (r.Token > next.Highest || r.Lease != next.Lease) {
		next.Highest, next.Lease, next.Owner = max(r.Token, next.Highest), r.Lease, r.Client
	}
	switch r.F {
	case history.Write:
		next.Value = r.Value
	case history.Delete:
		next.Value = 0
	}
	return next
}

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
func (s *FencedStore) refuses(c *cell, r Request) bool {
	d := s.cfg.Defects
	switch {
	case d.Has(StoreIgnoresToken):
		return false
	case r.Unfenced:
		return false // nothing was sent that could be checked
	case d.Has(StoreComparesIdentity):
		return false // the same: the holder; another: the next holder, it believes
	case d.Has(StoreRefusesEqual) && r.F.IsMutation():
		return r.Token <= c.Highest
	}
	return r.Token < c.Highest || r.Token == c.Highest && r.Lease != c.Lease && c.Highest > 0
}

func (s *FencedStore) tell(p *sim.Proc, f history.F, c *cell, r Request) {
	e := s.rec.begin(history.Note, f, r.Op, r.Resource)
	e.Token, e.Lease, e.Owner = r.Token, r.Lease, r.Client
	e.Highest, e.Rejections = c.Highest, c.Rejections
	switch r.F {
	case history.Write:
		e.Value = history.IntValue(r.Value)
	case history.Read, history.Delete:
		e.Value = history.IntValue(c.Value)
	}
	p.Observe(e)
}
