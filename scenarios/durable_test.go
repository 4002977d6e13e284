package scenarios

import (
	"strings"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/sim"
)

// row is what a durable store keeps of a resource.
type row struct {
	Token model.Token
	Value int64
}

// durable is a user's store that keeps its state on the disk. Each field but the
// first is a mistake, or an oddity that is none.
type durable struct {
	mu           *sim.Mutex // held from the check to the answer, if not nil
	yields       bool       // between the check and the write
	acksUnsynced bool
	memory       *row // what it decides by, if not nil, in place of the disk
	early, late  bool // it says Applied, before or after the sync
	audits       bool // it keeps refusals on the disk
	unmarked     bool // and does not say that these are no effect
	drafts       bool // it puts and syncs the row under another key first
}

func (s *durable) row(p *sim.Proc) row {
	if s.memory != nil {
		return *s.memory
	}
	v, _ := p.Get("row")
	r, _ := v.(row)
	return r
}

func (s *durable) Write(p *sim.Proc, r model.Request) model.Reply {
	if s.mu != nil {
		s.mu.Lock(p.Context())
		defer s.mu.Unlock(p.Context())
	}
	if now := s.row(p); r.Token < now.Token {
		return s.refuse(p, now.Token)
	}
	if s.yields {
		p.Yield("between check and write")
	}
	if s.memory != nil {
		*s.memory = row{r.Token, r.Value}
	}
	if s.drafts {
		p.Put("draft", row{r.Token, r.Value})
		p.Sync()
	}
	p.Put("row", row{r.Token, r.Value})
	if s.early {
		model.Applied(p, r)
	}
	if s.acksUnsynced {
		p.Yield("unsynced")
		return model.OK(r.Value)
	}
	p.Sync()
	if s.late {
		model.Applied(p, r)
	}
	return model.OK(r.Value)
}

func (s *durable) refuse(p *sim.Proc, highest model.Token) model.Reply {
	if s.audits {
		old := p.Mark(nil)
		if s.unmarked {
			p.Mark(old)
		}
		p.Append(int64(highest))
		p.Sync()
		p.Mark(old)
		p.Sleep(20 * time.Second)
	}
	return model.Stale(highest)
}

func (s *durable) Read(p *sim.Proc, r model.Request) model.Reply {
	if s.mu != nil {
		s.mu.Lock(p.Context())
		defer s.mu.Unlock(p.Context())
	}
	return model.OK(s.row(p).Value)
}

// starting is a store in memory that reads its disk at its start, under a lock.
type starting struct {
	mu  sim.Mutex
	now row
}

func (s *starting) Start(p *sim.Proc) {
	v, _ := p.Get("row")
	s.now, _ = v.(row)
}

func (s *starting) Write(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	if r.Token < s.now.Token {
		return model.Stale(s.now.Token)
	}
	p.Put("row", row{r.Token, r.Value})
	p.Sync()
	s.now = row{r.Token, r.Value}
	return model.OK(r.Value)
}

func (s *starting) Read(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	return model.OK(s.now.Value)
}

// raiseless is a right store, but that it cannot raise its fence.
type raiseless struct{ now row }

func (s *raiseless) Write(p *sim.Proc, r model.Request) model.Reply {
	if r.Token < s.now.Token {
		return model.Stale(s.now.Token)
	}
	s.now = row{r.Token, r.Value}
	return model.OK(r.Value)
}

func (s *raiseless) Read(*sim.Proc, model.Request) model.Reply { return model.OK(s.now.Value) }

// TestStoreWithoutRaise: a store whose fence cannot be raised before a read loses
// updates, which read-before-raise is about.
func TestStoreWithoutRaise(t *testing.T) {
	failure, err := testedIn(t, "read-before-raise", WithStore(func() model.StoreServer { return &raiseless{} }), WithSeeds(2000))
	if err != nil || !strings.HasPrefix(failure, "broke no-lost-update:") {
		t.Errorf("expected a lost update, found %v\n%s", err, failure)
	}
}

// TestDurableStores: a store that keeps its state on the disk is judged by when its
// writes took effect there, wherever its tasks stall and crash afterwards: what is
// right passes, and what is wrong is found.
func TestDurableStores(t *testing.T) {
	locked := func() *sim.Mutex { return sim.NewMutex() }
	for _, x := range []struct {
		name  string
		store func() model.StoreServer
		// What breaks in textbook, in textbook if the store may crash, and in
		// store-forgets, where it does; "" is for nothing.
		textbook, crashes, forgets string
	}{
		{"under a lock", func() model.StoreServer { return &durable{mu: locked()} }, "", "", ""},
		{"two steps and a lock", func() model.StoreServer { return &durable{mu: locked(), yields: true} }, "", "", ""},
		{"drafts", func() model.StoreServer { return &durable{mu: locked(), drafts: true} }, "", "", ""},
		{"replays at its start", func() model.StoreServer { return &starting{} }, "", "", ""},
		{"reads what a crash takes back", func() model.StoreServer { return &durable{} }, "", "", "linearizable"},
		{"says Applied before the sync", func() model.StoreServer { return &durable{early: true} }, "", "", "linearizable"},
		{"says Applied after the sync", func() model.StoreServer { return &durable{late: true} }, "", "", "linearizable"},
		{"keeps refusals", func() model.StoreServer { return &durable{mu: locked(), audits: true} }, "", "", ""},
		{"keeps refusals as it keeps writes", func() model.StoreServer { return &durable{mu: locked(), audits: true, unmarked: true} }, "", "", ""},
		{"two steps", func() model.StoreServer { return &durable{yields: true} }, "no-stale-write", "no-stale-write", "no-stale-write"},
		{"answers before the sync", func() model.StoreServer { return &durable{acksUnsynced: true} }, "", "fence-survives", "fence-survives"},
		{"decides by memory that a crash takes", func() model.StoreServer { return &durable{memory: &row{}} }, "", "fence-survives", "fence-survives"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			for _, y := range []struct {
				scenario, breaks string
				options          []Option
			}{
				{"textbook", x.textbook, nil},
				{"textbook", x.crashes, []Option{WithStoreCrashes()}},
				{"store-forgets", x.forgets, nil},
			} {
				seeds := uint64(800)
				if y.breaks != "" { // it ends at the first that does
					seeds = 2000
				}
				failure, err := testedIn(t, y.scenario, append(y.options, WithStore(x.store), WithSeeds(seeds))...)
				if err != nil {
					t.Fatalf("%s: %v", y.scenario, err)
				}
				if got, _, _ := strings.Cut(strings.TrimPrefix(failure, "broke "), ":"); got != y.breaks {
					t.Errorf("%s, %d options: expected it to break %q, found %s", y.scenario, len(y.options), y.breaks, failure)
				}
			}
		})
	}
}

// testedIn is what Test says of options in a scenario.
func testedIn(t *testing.T, scenario string, options ...Option) (string, error) {
	t.Helper()
	v, err := outcomeIn(t, scenario, options...)
	return v.failure, err
}
