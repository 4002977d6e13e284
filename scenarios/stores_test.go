package scenarios

import (
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
				failure, err := testedIn(t, sc, WithStore(x.store), WithSeeds(2000))
				if err != nil {
					t.Fatal(err)
				}
				if got, _, _ := strings.Cut(strings.TrimPrefix(failure, "broke "), ":"); got != x.breaks {
					t.Errorf("expected it to break %q, found %s", x.breaks, failure)
				}
			})
		}
	}
}
