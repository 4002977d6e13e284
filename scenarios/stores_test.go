package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/sim"
)

// housekeeping is right: the write takes effect in one step; housekeeping follows, and
// the answer comes later.
type housekeeping struct {
	fence model.Token
	value int64
}

func (s *housekeeping) Write(p *sim.Proc, r model.Request) model.Reply {
	if r.Token < s.fence {
		return model.Stale(s.fence)
	}
	s.fence, s.value = r.Token, r.Value
	p.Yield("compaction")
	return model.OK(r.Value)
}

// replicas is right: three replicas, each with a fence; a write counts when two took it,
// a raise when it reached all that answer.
type replicas struct{ r [3]housekeeping }

func (s *replicas) Raise(p *sim.Proc, r model.Request) model.Reply {
	n := 0
	for i := range s.r {
		p.Yield("fence a replica")
		if r.Token >= s.r[i].fence {
			s.r[i].fence = r.Token
			n++
		}
	}
	return s.answer(n, 0)
}

func (s *replicas) Write(p *sim.Proc, r model.Request) model.Reply {
	n := 0
	for i := range s.r {
		p.Yield("append to a replica")
		if r.Token >= s.r[i].fence {
			s.r[i] = housekeeping{r.Token, r.Value}
			n++
		}
	}
	return s.answer(n, r.Value)
}

func (s *replicas) answer(n int, value int64) model.Reply {
	if n >= 2 {
		return model.OK(value)
	}
	highest := model.Token(0)
	for i := range s.r {
		highest = max(highest, s.r[i].fence)
	}
	return model.Stale(highest)
}

// fenced is a store in memory with every method; what it does between the check and the
// change of a write, and after the change, is for a test to say.
type fenced struct {
	housekeeping
	arrives, checked, changed func(p *sim.Proc, r model.Request)
}

func call(f func(p *sim.Proc, r model.Request), p *sim.Proc, r model.Request) {
	if f != nil {
		f(p, r)
	}
}

func (s *fenced) Raise(p *sim.Proc, r model.Request) model.Reply {
	if r.Token < s.fence {
		return model.Stale(s.fence)
	}
	s.fence = r.Token
	return model.OK(0)
}

func (s *fenced) Read(p *sim.Proc, r model.Request) model.Reply { return model.OK(s.value) }

func (s *fenced) Write(p *sim.Proc, r model.Request) model.Reply {
	call(s.arrives, p, r)
	if r.Token < s.fence {
		return model.Stale(s.fence)
	}
	call(s.checked, p, r)
	s.fence, s.value = max(s.fence, r.Token), r.Value
	call(s.changed, p, r)
	return model.OK(r.Value)
}

// TestStoresSeen: where a write takes effect is seen, not assumed.
func TestStoresSeen(t *testing.T) {
	sleep := func(p *sim.Proc, _ model.Request) { p.Sleep(time.Millisecond) }
	yield := func(p *sim.Proc, _ model.Request) { p.Yield("goes on") }
	for _, x := range []struct {
		name   string
		store  func() model.StoreServer
		breaks string
	}{
		{"housekeeping", func() model.StoreServer { return &housekeeping{} }, ""},
		{"replicas", func() model.StoreServer { return &replicas{} }, ""},
		{"goes on", func() model.StoreServer { return &fenced{changed: yield} }, ""},
		{"goes on for long", func() model.StoreServer {
			return &fenced{changed: func(p *sim.Proc, _ model.Request) { p.Sleep(3 * time.Second) }}
		}, ""},
		{"keeps an audit afterwards", func() model.StoreServer {
			s := &struct {
				fenced
				audit []model.Request
			}{}
			s.changed = func(p *sim.Proc, r model.Request) { p.Yield("audit"); s.audit = append(s.audit, r) }
			return s
		}, ""},
		{"checks a millisecond earlier", func() model.StoreServer { return &fenced{checked: sleep} }, "no-stale-write"},
		{"checks before it locks", func() model.StoreServer {
			mu := sim.NewMutex()
			return &fenced{
				checked: func(p *sim.Proc, _ model.Request) { mu.Lock(p.Context()) },
				changed: func(p *sim.Proc, _ model.Request) { mu.Unlock(p.Context()) }}
		}, "no-stale-write"},
		{"checks earlier and counts", func() model.StoreServer {
			s := &struct {
				fenced
				requests, accepted int
				last               model.Request
			}{}
			s.arrives = func(p *sim.Proc, r model.Request) { s.requests++; s.last = r }
			s.checked = func(p *sim.Proc, r model.Request) { s.accepted++; p.Sleep(2 * time.Millisecond) }
			return s
		}, "no-stale-write"},
		{"checks earlier and logs", func() model.StoreServer {
			s := &struct {
				fenced
				log []model.Request
			}{}
			s.checked = func(p *sim.Proc, r model.Request) { s.log = append(s.log, r); p.Sleep(2 * time.Millisecond) }
			return s
		}, "no-stale-write"},
		{"checks earlier by chance", func() model.StoreServer {
			return &fenced{checked: func(p *sim.Proc, r model.Request) {
				if p.Choose("slow path", 2) == 1 {
					p.Sleep(time.Millisecond)
				}
			}}
		}, "no-stale-write"},
	} {
		for _, sc := range []string{"textbook", "check-apart", "self-fencing", "read-before-raise"} {
			if _, ok := x.store().(model.StoreRaiser); !ok && sc == "read-before-raise" {
				continue
			}
			t.Run(x.name+"/"+sc, func(t *testing.T) {
				t.Parallel()
				v, err := outcomeIn(t, sc, WithStore(x.store), WithSeeds(2000))
				if err != nil {
					t.Fatal(err)
				}
				if got := brokenIn(v.failure); got != x.breaks {
					t.Errorf("expected it to break %q, found %s", x.breaks, v.failure)
				}
			})
		}
	}
}

// synced is a store whose fence and data are two keys of the disk. It is served under a
// lock, and cannot raise its fence.
type synced struct {
	mu         sim.Mutex
	fenceFirst bool
}

func (s *synced) get(p *sim.Proc, key string) int64 {
	v, _ := p.Get(key)
	n, _ := v.(int64)
	return n
}

func (s *synced) Write(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	if fence := model.Token(s.get(p, "fence")); r.Token < fence {
		return model.Stale(fence)
	}
	if s.fenceFirst {
		p.Put("fence", int64(r.Token))
		p.Sync()
	}
	p.Put("data", r.Value)
	p.Sync()
	if !s.fenceFirst {
		p.Put("fence", int64(r.Token))
		p.Sync()
	}
	return model.OK(r.Value)
}

func (s *synced) Read(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	return model.OK(s.get(p, "data"))
}

// says is a store in memory that answers in a way of its own.
type says struct {
	fenced
	refuses func(s *says, r model.Request) model.Reply
	commits func(p *sim.Proc, r model.Request) model.Reply
	lowers  bool
}

func (s *says) Raise(p *sim.Proc, r model.Request) model.Reply {
	if s.lowers {
		s.fence = r.Token
		return model.OK(0)
	}
	return s.fenced.Raise(p, r)
}

func (s *says) Write(p *sim.Proc, r model.Request) model.Reply {
	if r.Token < s.fence {
		if s.refuses != nil {
			return s.refuses(s, r)
		}
		return model.Stale(s.fence)
	}
	s.fence, s.value = r.Token, r.Value
	if s.commits != nil {
		return s.commits(p, r)
	}
	return model.OK(r.Value)
}

// TestStoresSay: what a store does is told as the history shows it, and what it says
// beside its verdict is not held against it.
func TestStoresSay(t *testing.T) {
	answers := func(s says) func() model.StoreServer {
		return func() model.StoreServer { c := s; return &c }
	}
	names := func(t model.Token) func(*says, model.Request) model.Reply {
		return func(*says, model.Request) model.Reply { return model.Stale(t) }
	}
	for _, x := range []struct {
		name, scenario string
		store          func() model.StoreServer
		breaks         []string // one of them; none: it passes
		says           []string
		never          string
	}{
		{"data, then fence", "store-forgets", func() model.StoreServer { return &synced{} },
			[]string{"fence-survives", "no-stale-write"}, []string{"The store no longer knew of token 2", "since its crash"}, ""},
		{"fence, then data", "store-forgets", func() model.StoreServer { return &synced{fenceFirst: true} }, nil, nil, ""},
		{"names the token presented", "textbook", answers(says{refuses: func(_ *says, r model.Request) model.Reply { return model.Stale(r.Token) }}), nil, nil, ""},
		{"names none", "textbook", answers(says{refuses: names(0)}), nil, nil, ""},
		{"names another", "textbook", answers(says{refuses: names(99)}), nil, nil, ""},
		{"answers OK and changes nothing", "textbook", answers(says{refuses: func(_ *says, r model.Request) model.Reply { return model.OK(r.Value) }}),
			[]string{"no-stale-write"}, []string{"nothing in the store changed", "as done, and changed nothing"}, "overwrote"},
		{"refuses what it said was applied", "textbook", answers(says{commits: func(p *sim.Proc, r model.Request) model.Reply {
			model.Applied(p, r)
			return model.Stale(0)
		}}), []string{"linearizable"}, []string{"the store accepted A's write 301", "A was told that its write 301 with token 1 was stale"}, "expected model.OK"},
		{"answers nothing", "textbook", answers(says{commits: func(*sim.Proc, model.Request) model.Reply { return model.Reply{} }}),
			[]string{PanicProperty}, []string{"expected model.OK(value), model.Stale(highest) or model.Unknown()"}, ""},
		{"lets a raise set the fence back", "textbook", answers(says{lowers: true}),
			[]string{"fence-survives"}, []string{"the store set its fence back to token 1", "A store that refuses a raise with a lower token keeps its fence"}, ""},
		{"cannot raise its fence", "read-before-raise", func() model.StoreServer { return &raiseless{} },
			[]string{"no-lost-update"}, []string{"to raise the fence to its token 2 before it read, and the store does not do that", "a store whose fence can be raised"}, "A holder that raises"},
		{"accepts everything", "textbook", func() model.StoreServer { return &accepting{} },
			[]string{"no-stale-write"}, []string{"A store that compares the token"}, "knew of token"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			v, err := outcomeIn(t, x.scenario, WithStore(x.store), WithSeeds(2000))
			if err != nil {
				t.Fatal(err)
			}
			if got := brokenIn(v.failure); len(x.breaks) == 0 && got != "" || len(x.breaks) > 0 && !slices.Contains(x.breaks, got) {
				t.Fatalf("expected it to break one of %q, found %s", x.breaks, v.failure)
			}
			for _, part := range x.says {
				if text := unwrapped(v.failure); !strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
					t.Errorf("expected %q in\n%s", part, v.failure)
				}
			}
			if x.never != "" && strings.Contains(unwrapped(v.failure), x.never) {
				t.Errorf("expected no %q in\n%s", x.never, v.failure)
			}
		})
	}
}

// quorum is right: three replicas, of which some are not reached. Where too few took a
// write, nobody knows what becomes of it.
type quorum struct {
	r    [3]row
	lies bool // it calls stale what one replica took
}

func (s *quorum) each(p *sim.Proc, r model.Request, take func(x *row)) model.Reply {
	took, stale := 0, 0
	for i := range s.r {
		p.Yield("ask a replica")
		switch {
		case p.Choose("a replica is not reached", 8) == 1:
		case r.Token < s.r[i].Token:
			stale++
		default:
			s.r[i].Token = r.Token
			take(&s.r[i])
			took++
		}
	}
	switch {
	case took >= 2:
		return model.OK(r.Value)
	case took == 0 && stale > 0 || s.lies:
		return model.Stale(0)
	}
	return model.Unknown()
}

func (s *quorum) Raise(p *sim.Proc, r model.Request) model.Reply {
	return s.each(p, r, func(*row) {})
}

func (s *quorum) Write(p *sim.Proc, r model.Request) model.Reply {
	return s.each(p, r, func(x *row) { x.Value = r.Value })
}

// TestUnknown: a store that does not know says so, and is not held to an outcome.
func TestUnknown(t *testing.T) {
	for _, sc := range []string{"textbook", "check-apart", "self-fencing", "token-regress"} {
		for _, lies := range []bool{false, true} {
			v, err := outcomeIn(t, sc, WithStore(func() model.StoreServer { return &quorum{lies: lies} }), WithSeeds(1000))
			if got := brokenIn(v.failure); err != nil || (got == "") == lies {
				t.Errorf("%s, lies %v: %v, %s", sc, lies, err, v.failure)
			}
		}
	}
}

// accepting is a store without a fence.
type accepting struct{ value int64 }

func (s *accepting) Write(p *sim.Proc, r model.Request) model.Reply {
	s.value = r.Value
	return model.OK(r.Value)
}
