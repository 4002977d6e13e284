package explore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// TestStatesApart pins the number of states of systems that say little, so that
// states are told apart where the future differs, and meet where it does not.
func TestStatesApart(t *testing.T) {
	for _, x := range []struct {
		reason string
		run    func(p *sim.Proc)
		states int64
	}{
		{"one checkpoint in a helper, called from two places: where the caller stands counts", func(p *sim.Proc) {
			helper(p)
			helper(p)
		}, 3},
		{"called from one place in an endless loop: all rounds meet", func(p *sim.Proc) {
			for {
				helper(p)
			}
		}, 1},
		{"called from a second place after an endless choice of two", func(p *sim.Proc) {
			for {
				if helper(p); p.Choose("", 2) == 0 {
					helper(p)
				}
			}
		}, 2},
		{"the loop variable is in the value", func(p *sim.Proc) {
			for i := range 4 {
				p.Checkpoint(i)
				p.Await(sim.Step{})
			}
		}, 5},
		{"without a checkpoint every history counts", func(p *sim.Proc) {
			for range 3 {
				p.Await(sim.Step{}, sim.Step{})
			}
		}, 1 + 2 + 4 + 8},
		{"with one all that took as many steps meet", func(p *sim.Proc) {
			for i := range 3 {
				p.Checkpoint(i)
				p.Await(sim.Step{}, sim.Step{})
			}
			p.Checkpoint(3)
			p.Wait(0)
		}, 4},
		{"two tasks of one step each: without a State their order counts", func(p *sim.Proc) { (&pair{}).Run(p) }, 5},
		{"the same value on the disk: told apart only by it", func(p *sim.Proc) {
			for {
				p.Checkpoint(0)
				_, k := p.Await(sim.Step{}, sim.Step{})
				p.Put("x", k)
				p.Sync()
			}
		}, 3},
		{"unsynced writes count, for a crash may lose them", func(p *sim.Proc) {
			p.Checkpoint(0)
			if _, k := p.Await(sim.Step{}, sim.Step{}); k == 0 {
				p.Put("x", 1)
			}
			p.Checkpoint(1)
			p.Wait(0)
		}, 3},
		{"a clock that nobody reads: timers that say the same are alike", func(p *sim.Proc) {
			p.After(1, "x")
			p.After(5, "x")
			for i := range 2 {
				p.Checkpoint(i)
				p.Wait(0)
			}
		}, 3},
		{"a clock that is read in the end: which timer rang counts", func(p *sim.Proc) {
			p.After(1, "x")
			p.After(5, "x")
			for i := range 2 {
				p.Checkpoint(i)
				p.Wait(0)
			}
			p.Checkpoint(p.Now())
		}, 4},
	} {
		t.Run(x.reason, func(t *testing.T) {
			r, err := explore.Run(explore.System{Build: spawn(x.run, func(p *sim.Proc) { p.Wait(0) }), Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.States != x.states || !r.Complete() {
				t.Errorf("%d states, complete %v; want %d, true", r.States, r.Complete(), x.states)
			}
		})
	}
}

// helper waits behind a checkpoint of its own.
func helper(p *sim.Proc) {
	p.Checkpoint(0)
	p.Await(sim.Step{})
}

// pair has two tasks and declares what they share.
type pair struct{ done [2]bool }

func (x *pair) State() any { return x.done }
func (x *pair) Run(p *sim.Proc) {
	p.Go("other", func(p *sim.Proc) {
		p.Sleep(1)
		x.done[1] = true
	})
	p.Sleep(1)
	x.done[0] = true
}

// TestTasksMeet has the same two tasks and a State: their order does not count.
func TestTasksMeet(t *testing.T) {
	build := func(w *sim.World) { w.Spawn("a", func() sim.Runner { return &pair{} }) }
	r, err := explore.Run(explore.System{Build: build, Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
	if err != nil || r.States != 4 {
		t.Errorf("%d states, %v; want 4", r.States, err)
	}
}

// TestCallsMeet has a client that calls for ever: its states are few, because
// the numbers of calls are reused and no part of a state's identity.
func TestCallsMeet(t *testing.T) {
	build := func(w *sim.World) {
		w.Spawn("a", func() sim.Runner {
			return runner(func(p *sim.Proc) {
				for {
					p.Checkpoint(0)
					p.Call(1, 0, 0)
				}
			})
		})
		w.Serve("b", func() sim.Handler { return steady{} })
	}
	r, err := explore.Run(explore.System{Build: build, Config: sim.Config{Timing: sim.Untimed}}, explore.Options{MaxStates: 1000})
	if err != nil || r.States != 2 || !r.Complete() {
		t.Errorf("%+v, %v; want 2 states: the request on its way, and the reply", r, err)
	}
}

type steady struct{}

func (steady) Handle(p *sim.Proc, m sim.Message) { p.Reply(m, m.Body) }
func (steady) State() any                        { return 0 }

// forgetful leaves count out of its checkpoint.
func forgetful(p *sim.Proc) {
	count := 0
	for range 4 {
		p.Checkpoint(0)
		if _, k := p.Await(sim.Step{}, sim.Step{}); k == 1 {
			count++
		}
		if count == 3 {
			say(p, "three")
		}
	}
}

// tally forgets a field in its State.
type absent struct{ count int }

func (a *absent) State() any { return a.count > 9 }
func (a *absent) Handle(p *sim.Proc, m sim.Message) {
	if a.count++; a.count == 2 {
		say(p, "two")
	}
}

// TestAudit has processes whose checkpoints, or State, forget something. The audit
// runs two histories on, side by side, until they go apart.
func TestAudit(t *testing.T) {
	sender := func(p *sim.Proc) {
		for i := range 3 {
			p.Checkpoint(i)
			p.Send(0, 0)
			p.Await(sim.Step{})
		}
	}
	// forgetting forgets which of two steps it took, and uses it n events later.
	forgetting := func(n int, use func(p *sim.Proc, k int)) func(*sim.World) {
		return spawn(func(p *sim.Proc) {
			_, k := p.Await(sim.Step{}, sim.Step{})
			for i := range n {
				p.Checkpoint(i)
				p.Await(sim.Step{})
			}
			use(p, k)
			p.Wait(0)
		})
	}
	sayIf := func(which int) func(p *sim.Proc, k int) {
		return func(p *sim.Proc, k int) {
			if k == which {
				say(p, "it")
			}
		}
	}
	for _, x := range []struct {
		reason string
		build  func(*sim.World)
		says   string // "" is no error
	}{
		{"a checkpoint that forgets the loop and the count", spawn(forgetful), "different states"},
		{"a State that forgets the count", func(w *sim.World) {
			w.Serve("a", func() sim.Handler { return &absent{} })
			w.Spawn("b", func() sim.Runner { return runner(sender) })
		}, "does observe"},
		{"what one does and the other does not", forgetting(1, sayIf(0)), "the one also does observe"},
		{"what the other does and one does not", forgetting(1, sayIf(1)), "the other also does observe"},
		{"what each does", forgetting(1, func(p *sim.Proc, k int) { say(p, "%d", k) }), "one does observe"},
		{"what each may choose", forgetting(1, func(p *sim.Proc, k int) { p.Choose("", 2+k) }), "different choices"},
		{"where each comes to", forgetting(1, func(p *sim.Proc, k int) { p.Checkpoint(10 + k) }), "different states"},
		{"a panic", forgetting(1, func(p *sim.Proc, k int) {
			if k == 1 {
				panic("one")
			}
		}), "one panics"},
		{"what is used much later", forgetting(40, sayIf(1)), "also does observe"},
		{"an honest one", spawn(func(p *sim.Proc) {
			for i := range 3 {
				p.Checkpoint(i)
				p.Await(sim.Step{}, sim.Step{})
			}
		}), ""},
	} {
		t.Run(x.reason, func(t *testing.T) {
			r, err := explore.Run(explore.System{Build: x.build, Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
			if x.says == "" {
				if err != nil || !r.Complete() {
					t.Errorf("%s, %v", r.Covered(), err)
				}
				return
			}
			var bad *explore.CheckpointError
			if !errors.As(err, &bad) {
				t.Fatalf("%s, %v", r.Covered(), err)
			}
			if bad.Process != "a" || len(bad.Histories[0]) == 0 || len(bad.Histories[1]) == 0 || !strings.Contains(err.Error(), "incomplete checkpoint") {
				t.Errorf("error %v", err)
			}
			if !strings.HasPrefix(bad.Difference, "after the last event of each, ") || !strings.Contains(bad.Difference, x.says) {
				t.Errorf("difference %q, want one that says %q", bad.Difference, x.says)
			}
		})
	}
}

// TestChecked says how much was run again, and how far histories were compared.
func TestChecked(t *testing.T) {
	for _, x := range []struct {
		reason string
		run    func(p *sim.Proc)
		want   string
	}{
		{"no checkpoint", func(p *sim.Proc) { p.Await(sim.Step{}, sim.Step{}) }, "3 of 3 transitions run again"},
		{"one that ends", func(p *sim.Proc) {
			p.Await(sim.Step{}, sim.Step{})
			p.Checkpoint(0)
			p.Await(sim.Step{})
		}, "4 of 4 transitions run again; 1 of 1 histories that a checkpoint merged with others compared, to their end"},
		{"one that goes on for ever", func(p *sim.Proc) {
			for {
				p.Checkpoint(0)
				p.Await(sim.Step{}, sim.Step{})
			}
		}, "3 of 3 transitions run again; 2 of 2 histories that a checkpoint merged with others compared, for 8 events at least"},
		{"one that is deep", func(p *sim.Proc) {
			for i := 0; ; i = min(i+1, 20) {
				p.Checkpoint(i)
				p.Await(sim.Step{}, sim.Step{})
			}
		}, "43 of 43 transitions run again; 22 of 22 histories that a checkpoint merged with others compared, for 20 events at least"},
	} {
		r, err := explore.Run(explore.System{Build: spawn(x.run), Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
		if err != nil || r.Checked() != x.want {
			t.Errorf("%s: %q, %v; want %q", x.reason, r.Checked(), err, x.want)
		}
	}
}

// endless grows for ever.
func endless(p *sim.Proc) {
	for i := 0; ; i++ {
		p.Checkpoint(i)
		p.Await(sim.Step{}, sim.Step{})
		p.Send(p.ID(), i)
	}
}

func TestTruncated(t *testing.T) {
	stopped := make(chan struct{})
	close(stopped)
	for _, x := range []struct {
		reason string
		opt    explore.Options
		why    string
		states int64
	}{
		{"states", explore.Options{MaxStates: 1000}, "1000 states", 1000},
		{"states, two workers", explore.Options{MaxStates: 1000, Workers: 2}, "1000 states", 1000},
		{"bytes", explore.Options{MaxBytes: 1 << 20}, "the bound of 1 MiB of memory at depth", 0},
		{"bytes that are no MiB", explore.Options{MaxBytes: 1<<20 - 1}, "1048575 bytes", 0},
		{"time", explore.Options{MaxTime: time.Nanosecond}, "1ns", 0},
		{"an interrupt", explore.Options{Interrupt: stopped}, "an interrupt", 0},
	} {
		t.Run(x.reason, func(t *testing.T) {
			cfg := sim.Config{Timing: sim.Untimed, Budget: map[sim.Site]int{sim.SiteDrop: 2}}
			r, err := explore.Run(explore.System{Build: spawn(endless), Config: cfg}, x.opt)
			if err != nil {
				t.Fatal(err)
			}
			if r.Complete() || !strings.Contains(r.Truncated, x.why) || !strings.Contains(r.Truncated, "not expanded") ||
				!strings.Contains(r.Truncated, "1 to 2 faults") || r.Layers != 0 {
				t.Errorf("%q after %d layers", r.Truncated, r.Layers)
			}
			if x.states != 0 && r.States != x.states {
				t.Errorf("%d states, want %d", r.States, x.states)
			}
		})
	}
}

func TestPanicIsAViolation(t *testing.T) {
	r, err := explore.Run(explore.System{Build: spawn(func(p *sim.Proc) {
		p.Await(sim.Step{})
		if _, k := p.Await(sim.Step{}, sim.Step{}); k == 1 {
			panic("two")
		}
	}), Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation; v == nil || v.Property != "no-panic" || v.Steps != 2 || !strings.Contains(v.Message, "two") {
		t.Errorf("%+v", v)
	}
}

// TestDeadlockIsAViolation: tasks that wait for each other for ever are found.
func TestDeadlockIsAViolation(t *testing.T) {
	r, err := explore.Run(explore.System{Build: spawn(func(p *sim.Proc) {
		a, b := sim.NewMutex(), sim.NewMutex()
		p.Go("other", func(p *sim.Proc) { lockBoth(p, b, a) })
		lockBoth(p, a, b)
	}), Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation; v == nil || v.Property != "no-panic" || !strings.Contains(v.Message, "deadlock in process a: task ") || !strings.Contains(v.Message, " for a lock that task main has") {
		t.Errorf("%+v", v)
	}
}

func lockBoth(p *sim.Proc, first, second *sim.Mutex) {
	first.Lock(p.Context())
	p.Await(sim.Step{})
	second.Lock(p.Context())
	second.Unlock(p.Context())
	first.Unlock(p.Context())
}

// TestFewestFaultsFirst has a violation that costs no fault and ten steps, and
// one of a single fault and one step: the search prefers the first.
func TestFewestFaultsFirst(t *testing.T) {
	build := spawn(func(p *sim.Proc) {
		p.Send(1, 0)
		for range 9 {
			p.Await(sim.Step{})
		}
		say(p, "bad")
	}, func(p *sim.Proc) {
		p.Wait(0)
		if _, ok := p.Wait(0); ok {
			say(p, "bad")
		}
	})
	sys := explore.System{Build: build, Config: sim.Config{Timing: sim.Untimed, Budget: map[sim.Site]int{sim.SiteDuplicate: 1}}}
	sys.Monitors = []func() explore.Monitor{func() explore.Monitor { return &hush{} }}
	r, err := explore.Run(sys, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation; v == nil || v.Faults != 0 || v.Steps != 9 || r.Layers != 0 {
		t.Errorf("%+v, %d layers", v, r.Layers)
	}
}

// drops breaks when X was said after two messages were lost, or Y after one.
type drops struct {
	lost   int
	broken string
}

func (d *drops) Notes() sim.NoteSet     { return sim.NoteSet(0).With(sim.NoteDrop) }
func (d *drops) Note(sim.Note)          { d.lost++ }
func (d *drops) Clone() explore.Monitor { twin := *d; return &twin }
func (d *drops) Key() any               { return d.lost }
func (d *drops) Broken() string         { return d.broken }
func (d *drops) Observe(o sim.Observation) {
	if text := o.(*said).Text; text == "X" && d.lost == 2 || text == "Y" && d.lost == 1 {
		d.broken = text
	}
}

// TestTwoFaultsInOneStep has ways to a violation by two faults, in one step and
// in two, and by one fault much later.
func TestTwoFaultsInOneStep(t *testing.T) {
	silent := func(p *sim.Proc) { p.Wait(0) }
	wait := func(p *sim.Proc, n int) {
		for i := range n {
			p.Checkpoint(i)
			p.Await(sim.Step{})
		}
	}
	for _, x := range []struct {
		reason        string
		run           func(p *sim.Proc)
		faults, steps int
	}{
		{"two faults in one step count as two: the one fault comes first", func(p *sim.Proc) {
			if _, k := p.Await(sim.Step{}, sim.Step{}); k == 0 {
				p.Send(1, 0)
				p.Send(1, 0)
				say(p, "X")
				return
			}
			wait(p, 5)
			p.Send(1, 0)
			say(p, "Y")
		}, 1, 6},
		{"a state that two faults in one late step reach, and two faults in two early ones", func(p *sim.Proc) {
			if _, k := p.Await(sim.Step{}, sim.Step{}); k == 0 {
				wait(p, 5)
				p.Send(1, 0)
				p.Send(1, 0)
			} else {
				p.Send(1, 0)
				wait(p, 1)
				p.Send(1, 0)
			}
			p.Checkpoint("X")
			p.Await(sim.Step{})
			say(p, "X")
		}, 2, 3},
	} {
		t.Run(x.reason, func(t *testing.T) {
			sys := explore.System{Build: spawn(x.run, silent), Config: sim.Config{Timing: sim.Untimed, Budget: map[sim.Site]int{sim.SiteDrop: 2}}}
			sys.Monitors = []func() explore.Monitor{func() explore.Monitor { return &drops{} }}
			r, err := explore.Run(sys, explore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if v := r.Violation; v == nil || v.Faults != x.faults || v.Steps != x.steps {
				t.Errorf("%+v; want %d faults and %d steps", v, x.faults, x.steps)
			}
		})
	}
}

// hush breaks when anything is said.
type hush struct{ listener }

func (h *hush) Clone() explore.Monitor { twin := *h; return &twin }
func (h *hush) Broken() string         { return h.heard }

func TestRefuses(t *testing.T) {
	good := explore.System{Build: spawn(endless), Config: sim.Config{Timing: sim.Untimed}}
	for _, x := range []struct {
		reason string
		change func(s *explore.System)
		want   string
	}{
		{"no system", func(s *explore.System) { s.Build = nil }, "Build"},
		{"timed", func(s *explore.System) { s.Config.Timing = sim.Timed }, "timing"},
		{"ticks without an end", func(s *explore.System) { s.Config.Timing = sim.Bounded }, "horizon"},
		{"too large a budget", func(s *explore.System) { s.Config.Budget = map[sim.Site]int{sim.SiteDrop: 16} }, "at most 15"},
		{"a budget of torn writes", func(s *explore.System) { s.Config.Budget = map[sim.Site]int{sim.SiteDisk: 1} }, "disk"},
		{"a fault that it does not know", func(s *explore.System) { s.Config.Budget = map[sim.Site]int{sim.SitePartition: 1} }, "partition"},
	} {
		s := good
		x.change(&s)
		if _, err := explore.Run(s, explore.Options{}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: error %v", x.reason, err)
		}
	}
}

// late breaks when anything is said at tick 2 or later.
type late struct{ broken string }

func (l *late) Notes() sim.NoteSet      { return sim.NoteSet(0).With(sim.NoteSend) }
func (l *late) Observe(sim.Observation) {}
func (l *late) Clone() explore.Monitor  { twin := *l; return &twin }
func (l *late) Key() any                { return l.broken }
func (l *late) Broken() string          { return l.broken }
func (l *late) Note(n sim.Note) {
	if n.Time >= 2 {
		l.broken = "late"
	}
}

// TestMonitorsSeeTicks has code that never reads a clock: what it does is one
// transition, and is judged at each time.
func TestMonitorsSeeTicks(t *testing.T) {
	sys := explore.System{Build: spawn(func(p *sim.Proc) {
		p.Await(sim.Step{})
		p.Send(p.ID(), 0)
		p.Wait(0)
	}), Config: sim.Config{Timing: sim.Bounded, Horizon: 3}}
	sys.Monitors = []func() explore.Monitor{func() explore.Monitor { return &late{} }}
	r, err := explore.Run(sys, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation; v == nil || v.Steps != 3 {
		t.Errorf("%+v; want a violation after two ticks and a step", v)
	}
}

// TestInvariantsSeeTicks has an invariant that time alone breaks.
func TestInvariantsSeeTicks(t *testing.T) {
	sys := explore.System{Build: spawn(func(p *sim.Proc) { p.Wait(0) }), Config: sim.Config{Timing: sim.Bounded, Horizon: 3}}
	sys.Invariants = []explore.Invariant{{Name: "early", Holds: func(v *explore.View) string {
		if v.Now() == 2 {
			return "it is two"
		}
		return ""
	}}}
	r, err := explore.Run(sys, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Violation; v == nil || v.Property != "early" || v.Steps != 2 {
		t.Errorf("%+v; want a violation after two ticks", v)
	}
}

// opaque declares something that is no plain value, or cannot say it at all.
type opaque struct{ panics bool }

func (o opaque) State() any {
	if o.panics {
		panic("no state")
	}
	return []int{1}
}
func (o opaque) Handle(*sim.Proc, sim.Message) {}

func TestStateMustBePlain(t *testing.T) {
	for _, x := range []struct {
		state opaque
		want  string
	}{{opaque{}, "slice"}, {opaque{panics: true}, "no state"}} {
		build := func(w *sim.World) {
			w.Serve("a", func() sim.Handler { return x.state })
			w.Spawn("b", func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, 0) }) })
		}
		_, err := explore.Run(explore.System{Build: build, Config: sim.Config{Timing: sim.Untimed}}, explore.Options{})
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "process a") {
			t.Errorf("error %v, want one about process a and %q", err, x.want)
		}
	}
}

// TestFaults bounds the faults below what the budgets allow.
func TestFaults(t *testing.T) {
	for _, x := range []struct {
		faults, layers int
		covered        string
	}{
		{0, 4, "complete: every schedule with at most 3 faults"},
		{2, 3, "complete: every schedule with at most 2 faults"},
		{9, 4, "complete: every schedule with at most 3 faults"},
		{-1, 1, "complete: every schedule without faults"},
	} {
		sys := explore.System{Build: spawn(func(p *sim.Proc) {
			for range 3 {
				p.Send(1, 0)
			}
		}, func(p *sim.Proc) { p.Wait(0) }), Config: sim.Config{Timing: sim.Untimed, Budget: map[sim.Site]int{sim.SiteDrop: 2, sim.SiteDuplicate: 1}}}
		r, err := explore.Run(sys, explore.Options{Faults: x.faults})
		if err != nil || r.Layers != x.layers || r.Covered() != x.covered {
			t.Errorf("%d faults: %d layers, %q, %v; want %d, %q", x.faults, r.Layers, r.Covered(), err, x.layers, x.covered)
		}
	}
}
