package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// lastWill defers everything by which a dead task might reach the world. ran
// counts the deferred functions that began.
func lastWill(p *Proc, mu *Mutex, m Message, ran *int) (execute func()) {
	ctx := p.Context()
	acts := []func(){
		func() { p.Send(0, "from the grave") },
		func() { p.Reply(m, "from the grave") },
		func() { say(p, "from the grave") },
		func() { p.Put("grave", 1); p.Remove("a"); p.Append("grave") },
		func() { p.Go("ghost", func(p *Proc) { say(p, "boo") }) },
		func() { Go(ctx, "ghost", func(ctx context.Context) { say(FromContext(ctx), "boo") }) },
		func() { p.After(milli, "grave") },
		func() { p.Choose("grave", 9); p.Wall(); p.Now(); p.Serial() },
		func() { p.Get("a"); ctx.Err(); Remaining(ctx); Now(ctx) },
		func() { mu.Unlock(ctx) },
		func() { mu.Lock(ctx); say(p, "locked") },
		func() { p.Sleep(time.Hour); say(p, "slept") },
		func() { p.Wait(0); say(p, "waited") },
		func() { p.Wait(-1); say(p, "waited") },
		func() { p.Call(0, "from the grave", time.Second); say(p, "called") },
		func() { p.Yield("grave"); say(p, "yielded") },
		func() { p.Sync(); say(p, "synced") },
		func() { Sleep(ctx, time.Second); say(p, "slept") },
		func() { panic("from the grave") },
	}
	return func() {
		for _, act := range acts {
			defer func() { *ran++; act() }()
		}
	}
}

// TestDeferredCallsOfTheDead: nothing that deferred calls do after a crash, or
// after the end of the run, reaches the world.
func TestDeferredCallsOfTheDead(t *testing.T) {
	ran := 0
	build := func(w *World, wills bool) {
		mourn := func(p *Proc, mu *Mutex, m Message) {
			if wills && (p.killed || p.w.over) {
				lastWill(p, mu, m, &ran)()
			}
		}
		serve(w, "S", func(p *Proc, m Message) {
			mu := NewMutex()
			mu.Lock(p.Context())
			defer mourn(p, mu, m)
			p.Put("a", fmt.Sprint(m.Body))
			p.Yield("served")
			p.Sleep(2 * milli)
			p.Reply(m, m.Body)
		})
		for _, name := range []string{"A", "B"} {
			spawn(w, name, func(p *Proc) {
				mu := NewMutex()
				p.Go("lock", func(p *Proc) {
					mu.Lock(p.Context())
					defer mourn(p, mu, Message{})
					p.Sleep(20 * milli)
					mu.Unlock(p.Context())
				})
				p.Go("wait", func(p *Proc) {
					defer mourn(p, mu, Message{})
					p.Wait(0)
				})
				p.Go("queue", func(p *Proc) {
					p.Sleep(milli)
					defer mourn(p, mu, Message{})
					mu.Lock(p.Context())
					mu.Unlock(p.Context())
				})
				defer mourn(p, mu, Message{})
				for i := range 5 {
					p.Call(0, i, 30*milli)
					p.Yield("called")
					say(p, "called %d", i)
				}
			})
		}
	}
	seeds := uint64(60)
	for seed := range seeds {
		run := func(wills bool) (string, string) {
			heard := everything()
			w := NewWorld(richConfig, rich(seed), heard)
			defer w.Close()
			build(w, wills)
			return summary(w.Run(), w.Names()), heard.String()
		}
		without, heardWithout := run(false)
		with, heardWith := run(true)
		if without != with {
			t.Fatalf("seed %d:\nwithout deferred calls: %s\nwith:                   %s", seed, without, with)
		}
		if diff := cmp.Diff(heardWithout, heardWith); diff != "" {
			t.Fatalf("seed %d (-without +with):\n%s", seed, diff)
		}
	}
	if ran < 1000 {
		t.Errorf("only %d deferred calls ran", ran)
	}
}

// TestCrashUnwindsInnermostFirst: deferred functions run, in their order, once.
func TestCrashUnwindsInnermostFirst(t *testing.T) {
	var order []string
	play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, "P/crash#0=1", "P"), remarks(), func(w *World) {
		spawn(w, "P", func(p *Proc) {
			if p.Incarnation() > 0 {
				return
			}
			p.Go("task", func(p *Proc) {
				defer func() { order = append(order, "task") }()
				p.Sleep(time.Hour)
			})
			p.Go("unstarted", func(p *Proc) {
				order = append(order, "an unstarted task ran")
			})
			defer func() { order = append(order, "outer") }()
			func() {
				defer func() { order = append(order, "inner") }()
				p.Yield("here")
			}()
			order = append(order, "went on")
		})
	})
	if diff := cmp.Diff([]string{"inner", "outer"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRecoveringOnce: code that recovers from its unwinding and returns has ended;
// code that goes on is unwound at its next call.
func TestRecoveringOnce(t *testing.T) {
	heard := remarks()
	r := play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, "P/crash#0=1", "P"), heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			say(p, "starts")
			func() {
				defer func() { recover() }()
				p.Yield("here")
			}()
			say(p, "goes on")
			p.Sleep(milli)
			say(p, "slept")
		})
	})
	want(t, heard.String(), `
		0 P: starts
		1 P: starts
		1 P: goes on
		2 P: slept`)
	if r.End != EndDone {
		t.Errorf("ended with %s %v", r.End, r.Panic)
	}
}

// TestRecoveringForEver: code that recovers from every unwinding is left behind
// and named, in a crash and at the end of a run, and the world goes on.
func TestRecoveringForEver(t *testing.T) {
	stubborn := func(p *Proc) {
		for {
			func() {
				defer func() { recover() }()
				p.Sleep(milli)
				p.Yield("again")
			}()
		}
	}
	for name, x := range map[string]struct {
		schedule string
		build    func(w *World)
	}{
		"crashed": {"P/crash#3=1", func(w *World) { spawn(w, "P", stubborn) }},
		"end of run": {"", func(w *World) {
			serve(w, "P", func(p *Proc, m Message) { stubborn(p) })
			spawn(w, "Q", func(p *Proc) { p.Send(0, 1); p.Sleep(5 * milli) })
		}},
	} {
		w := NewWorld(Config{}, Calm{}, nil)
		for range 2 {
			w.Reset(Config{Restarts: []time.Duration{milli}}, replaying(t, x.schedule, "P", "Q"), nil)
			x.build(w)
			r := w.Run()
			if r.End != EndPanic || r.Panic == nil || r.Panic.Process != "P" || !strings.Contains(r.Panic.Error(), "let panics through that your code did not raise") {
				t.Errorf("%s: ended with %s, %v", name, r.End, r.Panic)
			}
			if !strings.Contains(r.Panic.Stack, "crash_test.go") {
				t.Errorf("%s: the stack does not show the loop:\n%s", name, r.Panic.Stack)
			}
			quiet := &tape{}
			if got := richRun(w, Calm{}, quiet); !strings.Contains(got, " done ") {
				t.Errorf("%s: after it a run gives %s", name, got)
			}
		}
		w.Close()
	}
}

// TestCrashOfBlockedTasks: one task of a Handler crashes while the others wait for
// a lock, a reply, a time and their first turn; none goes on.
func TestCrashOfBlockedTasks(t *testing.T) {
	cfg := Config{Latency: milli, Restarts: []time.Duration{5 * milli}}
	heard := remarks()
	r := play(t, cfg, replaying(t, "S/crash#0=1", "S", "C"), heard, func(w *World) {
		w.Serve("S", func() Handler {
			mu := NewMutex()
			return server(func(p *Proc, m Message) {
				what := m.Body.(string)
				if p.Incarnation() > 0 {
					say(p, "%s", what)
					p.Reply(m, "ok")
					return
				}
				switch what {
				case "lock":
					mu.Lock(p.Context())
					p.Sleep(time.Hour)
				case "queue":
					mu.Lock(p.Context())
				case "call":
					p.Call(1, "echo", 0)
				case "sleep":
					p.Sleep(3 * milli)
				case "after":
					p.After(2*milli, "alarm")
					return
				case "crash":
					p.Go("unstarted", func(p *Proc) { say(p, "ran") })
					p.Yield("fatal")
				}
				say(p, "%s went on", what)
			})
		})
		spawn(w, "C", func(p *Proc) {
			for _, what := range []string{"lock", "queue", "call", "sleep", "after", "crash"} {
				p.Send(0, what)
			}
			m, _ := p.Wait(0)
			say(p, "asked to %v", m.Body)
			p.Sleep(10 * milli)
			p.Reply(m, "late") // to a call of the last incarnation
			reply, err := p.Call(0, "alive", 10*milli)
			say(p, "%v %v", reply, err)
		})
	})
	want(t, heard.String(), `
		2 C: asked to echo
		13 S: alive
		14 C: ok <nil>`)
	if r.End != EndDone {
		t.Errorf("ended with %s", r.End)
	}
}

// TestManyCrashes: a process that crashes again and again; its records are reused.
func TestManyCrashes(t *testing.T) {
	var s Schedule
	for i := range uint32(50) {
		s = append(s, Decision{Key: Key{Site: SiteCrash, Count: 2 * i}, Option: 1})
	}
	lives := 0
	w := NewWorld(Config{Restarts: []time.Duration{milli}}, NewReplay(s), nil)
	defer w.Close()
	spawn(w, "P", func(p *Proc) {
		if lives != p.Incarnation() {
			t.Errorf("incarnation %d in life %d", p.Incarnation(), lives)
		}
		lives++
		n, _ := p.Get("n")
		k, _ := n.(int)
		if k != p.Incarnation() {
			t.Errorf("the disk says %v in incarnation %d", n, p.Incarnation())
		}
		for range 3 {
			p.Go("task", func(p *Proc) { p.After(3*milli, 1); p.Wait(0) })
		}
		p.Sleep(milli)
		p.Put("n", k+1)
		p.n.disk.sync(1) // Sync is a yield
		p.Yield("crash")
		p.Yield("not here")
	})
	r := w.Run()
	if lives != 51 || r.End != EndDone || len(r.Decisions) != 50 {
		t.Errorf("%d lives, %d crashes, %s", lives, len(r.Decisions), r.End)
	}
	if len(w.slots) > 8 || len(w.flights) > 16 {
		t.Errorf("%d task records and %d message records for 4 tasks at a time, and 9 timers", len(w.slots), len(w.flights))
	}
}

// TestCrashOfStarter: a crash before a Handler serves: the messages that waited
// are gone, and the next incarnation starts again.
func TestCrashOfStarter(t *testing.T) {
	heard := remarks()
	play(t, Config{Latency: milli, Restarts: []time.Duration{5 * milli}}, replaying(t, "S/crash#0=1", "S", "C"), heard, func(w *World) {
		w.Serve("S", func() Handler {
			return &booting{
				start: func(p *Proc) {
					p.Sleep(3 * milli)
					p.Yield("starting")
					say(p, "started")
				},
				handle: func(p *Proc, m Message) { say(p, "%v", m.Body) },
			}
		})
		spawn(w, "C", func(p *Proc) {
			for i := range 5 {
				p.Send(0, i)
				p.Sleep(3 * milli)
			}
			p.Sleep(10 * milli)
		})
	})
	want(t, heard.String(), `
		11 S: started
		11 S: 3
		13 S: 4`)
}

// TestFinishedRunnerCrashes: a process whose Runner has returned, but whose task
// crashes it, runs again, and the run waits for it.
func TestFinishedRunnerCrashes(t *testing.T) {
	heard := remarks()
	r := play(t, Config{Restarts: []time.Duration{50 * milli}}, replaying(t, "P/crash#0=1", "P", "Q"), heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			p.Go("task", func(p *Proc) {
				p.Sleep(milli)
				p.Yield("task")
			})
			say(p, "returns")
		})
		spawn(w, "Q", func(p *Proc) { p.Sleep(10 * milli) })
	})
	want(t, heard.String(), `
		0 P: returns
		51 P: returns`)
	if r.End != EndDone || r.Time != int64(51*milli) {
		t.Errorf("ended with %s at %d", r.End, r.Time)
	}
}

// TestFactoryIsFresh: every incarnation runs what the factory returns afresh.
func TestFactoryIsFresh(t *testing.T) {
	var made []string
	play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, "P/crash#0=1 S/crash#0=1", "P", "S"), remarks(), func(w *World) {
		w.Spawn("P", func() Runner {
			made = append(made, "P")
			n := 0
			return line(func(p *Proc) {
				if n++; n != 1 {
					t.Errorf("state of another incarnation: %d", n)
				}
				p.Send(1, "go")
				p.Sleep(5 * milli)
				p.Yield("P")
			})
		})
		w.Serve("S", func() Handler {
			made = append(made, "S")
			return server(func(p *Proc, m Message) { p.Yield("S") })
		})
	})
	if want := []string{"P", "S", "S", "P"}; !slices.Equal(made, want) {
		t.Errorf("made %v, want %v", made, want)
	}
}
