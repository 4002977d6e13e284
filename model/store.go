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

// storeEntry is what the store's log holds for each operation that took effect: the
// cell after it, and the answer.
type storeEntry struct {
	Request Request
	Did     history.F
	Cell    cell
	Reply   Reply
}

// NewFencedStore returns a store in which every resource holds 0; on its first
// start it finds what its disk holds.
func NewFencedStore(cfg Config) *FencedStore {
	return &FencedStore{cfg: cfg, busy: sim.NewMutex()}
}

// Start replays the log.
func (s *FencedStore) Start(p *sim.Proc) {
	var last storeEntry
	p.Disk().Log(func(v any) bool {
		last = v.(storeEntry)
		*s.cell(last.Cell.Resource) = last.Cell
		s.keep(last.Request.Op, last.Reply)
		return true
	})
	if p.Disk().Torn() > 0 { // it took effect, and the crash came before the report
		s.tell(p, last.Did, &last.Cell, last.Request)
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
	next := *c
	if !r.Unfenced && (r.Token > next.Highest || r.Lease != next.Lease) {
		next.Highest, next.Lease, next.Owner = max(r.Token, next.Highest), r.Lease, r.Client
	}
	did := history.Raised
	switch r.F {
	case history.Write:
		next.Value, did = r.Value, history.Apply
	case history.Delete:
		next.Value, did = 0, history.Apply
	case history.Read:
		did = history.Served
	}
	reply := OK(next.Value)
	if next != *c {
		p.Append(storeEntry{Request: r, Did: did, Cell: next, Reply: reply})
		p.Sync()
		c = s.cell(r.Resource)
		*c = next
	}
	s.tell(p, did, c, r)
	return reply
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
	e := history.Event{Type: history.Note, F: f, Op: r.Op, Resource: r.Resource, Token: r.Token,
		Lease: r.Lease, Owner: r.Client, Highest: c.Highest, Rejections: c.Rejections}
	switch r.F {
	case history.Write:
		e.Value = history.IntValue(r.Value)
	case history.Read, history.Delete:
		e.Value = history.IntValue(c.Value)
	}
	s.rec.note(p, e)
}
