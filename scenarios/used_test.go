package scenarios

import (
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// told is all that a run came to.
type told struct {
	Result       sim.Result
	Broken, Open []string
	Sometimes    checker.Counts
	Events       []history.Event
}

func tell(r *Runner, p *Plan) told {
	o := r.start(p, digest|record)
	o.Result.Decisions = append(sim.Schedule{}, o.Result.Decisions...)
	return told{o.Result, o.Broken(), o.Inconclusive, o.Sometimes, r.recorded(&p.Params).Events}
}

// fails lets a run go on until it panics.
func fails(run func()) {
	defer func() { recover() }()
	run()
}

// faulty panics at a choice.
type faulty struct {
	sim.Chooser
	left int
}

func (f *faulty) Choose(c sim.Choice) int {
	if f.left--; f.left < 0 {
		panic("the chooser fails")
	}
	return f.Chooser.Choose(c)
}

// TestUsedRunner: whatever a Runner did before, and however that ended, its next run
// is the one that it is in a new Runner.
func TestUsedRunner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := rapid.SampledFrom(Scenarios()).Draw(t, "scenario")
		opt := Options{NoDigest: rapid.Bool().Draw(t, "no digest")}
		if x := rapid.IntRange(-1, len(sc.Defects)-1).Draw(t, "defect"); x >= 0 {
			opt.Defects = sc.Defects[x].Defect
		}
		runner := func() *Runner {
			r, err := NewRunner(sc, opt)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		used := runner()
		defer used.Close()
		plan := func() *Plan {
			p := PlanAt(sc, rapid.Uint64Range(0, 10_000).Draw(t, "seed"))
			p.Params.Clients = rapid.Int64Range(1, 5).Draw(t, "clients")
			p.Params.Renew = rapid.Int64Range(0, 1).Draw(t, "renew")
			p.Params.Reenter = rapid.Int64Range(0, 1).Draw(t, "reenter")
			p.Params.Modify = rapid.Int64Range(0, 1).Draw(t, "modify")
			return &p
		}
		t.Repeat(map[string]func(*rapid.T){
			"run": func(t *rapid.T) {
				p := plan()
				fresh := runner()
				defer fresh.Close()
				if want, got := tell(fresh, p), tell(used, p); !reflect.DeepEqual(got, want) {
					t.Fatalf("in a new Runner, and in this one (-want +got):\n%s", cmp.Diff(want, got))
				}
			},
			"search": func(t *rapid.T) {
				p := plan()
				o := used.Run(p)
				if err := used.Recheck(p.Seed, &p.Params, &o); err != nil {
					t.Fatal(err)
				}
			},
			"sink fails": func(t *rapid.T) {
				left := rapid.IntRange(1, 80).Draw(t, "after")
				judge := used.observe
				used.observe = model.SinkFunc(func(e *history.Event) {
					if left--; left == 0 {
						panic("the sink fails")
					}
					judge.Observe(e)
				})
				defer func() { used.observe = judge }()
				fails(func() { used.Run(plan()) })
			},
			"chooser fails": func(t *rapid.T) {
				p := plan()
				c := &faulty{&sim.Seeded{Seed: p.Seed, Rates: p.Rates}, rapid.IntRange(0, 80).Draw(t, "after")}
				fails(func() { used.Steer(&p.Params, p.Seed, c) })
			},
			"give up": func(t *rapid.T) {
				p := plan()
				used.prepare(&p.Params, &sim.Seeded{Seed: p.Seed, Rates: p.Rates}, record)
				s := used.world.Script()
				s.Settle()
				s.Advance(rapid.SampledFrom([]time.Duration{0, time.Second, 8 * time.Second}).Draw(t, "advance"))
				if rapid.Bool().Draw(t, "crash") {
					s.Crash(0, time.Second)
					s.Crash(sim.ID(p.Params.Clients), time.Second)
				}
			},
		})
	})
}

// TestUsedByBadStores: a Runner whose user's store panics, ends its goroutine, goes on
// without end or keeps what it is given is, when it behaves again, as a new one.
func TestUsedByBadStores(t *testing.T) {
	var bad func(p *sim.Proc)
	store := func() sim.Handler {
		return model.Serve(&hooked{before: func(p *sim.Proc) {
			if bad != nil {
				bad(p)
			}
		}})
	}
	runner := func() *Runner {
		r, err := NewRunner(&textbook, Options{NewStore: store, StoreCrashes: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		return r
	}
	used := runner()
	late := make(chan *sim.Proc, 1000)
	for _, c := range []struct {
		reason string
		bad    func(p *sim.Proc)
	}{
		{"it behaves", nil},
		{"it panics", func(*sim.Proc) { panic("a bug") }},
		{"it ends its goroutine", func(*sim.Proc) { runtime.Goexit() }},
		{"it goes on without end", func(p *sim.Proc) {
			for {
				p.Yield("on")
			}
		}},
		{"it waits for nobody", func(p *sim.Proc) { p.Wait(0) }},
		{"it keeps its Proc", func(p *sim.Proc) {
			select {
			case late <- p:
			default:
			}
		}},
		{"it recovers from its end", func(p *sim.Proc) {
			for range 5 {
				func() {
					defer func() { recover() }()
					p.Sleep(time.Hour)
				}()
			}
		}},
	} {
		for seed := range uint64(30) {
			p := PlanAt(&textbook, seed)
			bad = c.bad
			used.Run(&p)
			bad = nil
			for len(late) > 0 {
				stray := <-late
				fails(func() { stray.Sleep(time.Hour) })
				fails(func() { stray.Send(0, 1) })
			}
			if want, got := tell(runner(), &p), tell(used, &p); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, seed %d: in a new Runner, and in this one (-want +got):\n%s", c.reason, seed, cmp.Diff(want, got))
			}
		}
	}
}
