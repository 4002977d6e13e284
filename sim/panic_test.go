package sim

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestPanicNamesTask: a panic in a process is the run's outcome, with the names of
// process and task and the stack, wherever it happened; the world can be reused.
func TestPanicNamesTask(t *testing.T) {
	bad := func() { panic(errors.New("bad luck")) }
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	for _, x := range []struct {
		name, process, task string
		build               func(w *World)
	}{
		{"main", "P", "main", func(w *World) { spawn(w, "P", func(p *Proc) { bad() }) }},
		{"after a wait", "P", "main", func(w *World) { spawn(w, "P", func(p *Proc) { p.Sleep(5 * milli); bad() }) }},
		{"task", "P", "renew", func(w *World) {
			spawn(w, "P", func(p *Proc) {
				p.Go("renew", func(p *Proc) { p.Sleep(milli); bad() })
				p.Sleep(time.Hour)
			})
		}},
		{"handler", "S", "handle", func(w *World) {
			serve(w, "S", func(p *Proc, m Message) { p.Yield("x"); bad() })
			spawn(w, "P", func(p *Proc) { p.Call(0, 1, 0) })
		}},
		{"starter", "S", "start", func(w *World) {
			w.Serve("S", func() Handler { return &booting{start: func(p *Proc) { p.Sleep(1); bad() }} })
			spawn(w, "P", func(p *Proc) { p.Sleep(5) })
		}},
		{"deferred", "P", "main", func(w *World) { spawn(w, "P", func(p *Proc) { defer bad(); p.Sleep(5) }) }},
		{"factory", "P", "factory", func(w *World) { w.Spawn("P", func() Runner { bad(); return nil }) }},
		{"factory at a restart", "S", "factory", func(w *World) {
			made := 0
			w.Serve("S", func() Handler {
				if made++; made == 2 {
					bad()
				}
				return server(func(p *Proc, m Message) { p.n.crash(5, p, ""); p.unwind() })
			})
			spawn(w, "P", func(p *Proc) { p.Send(0, 1); p.Sleep(time.Second) })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			heard := &tape{kinds: NoteSet(0).With(NotePanic)}
			w.Reset(Config{}, Calm{}, heard)
			x.build(w)
			spawn(w, "bystander", func(p *Proc) {
				defer p.Sleep(1)
				for {
					p.Sleep(milli)
				}
			})
			r := w.Run()
			if r.End != EndPanic || r.Panic == nil {
				t.Fatalf("ended with %s, %v", r.End, r.Panic)
			}
			if r.Panic.Process != x.process || r.Panic.Task != x.task || r.Panic.Value.(error).Error() != "bad luck" {
				t.Errorf("panic of %s, task %s: %v", r.Panic.Process, r.Panic.Task, r.Panic.Value)
			}
			if want := fmt.Sprintf("process %s (task %s) panicked: bad luck", x.process, x.task); r.Panic.Error() != want {
				t.Errorf("error %q, want %q", r.Panic, want)
			}
			if !strings.Contains(r.Panic.Stack, "panic_test.go") {
				t.Errorf("the stack does not show where:\n%s", r.Panic.Stack)
			}
			if len(heard.lines) != 1 || !strings.HasSuffix(heard.lines[0], "panic at bad luck") {
				t.Errorf("heard %q", heard)
			}
		})
		quiet := &tape{}
		fresh := NewWorld(Config{}, Calm{}, nil)
		if want, got := richRun(fresh, rich(9), quiet), richRun(w, rich(9), quiet); got != want {
			t.Errorf("%s: the next run in this world:\n%s\nin a new one:\n%s", x.name, got, want)
		}
		fresh.Close()
	}
}

type (
	hidden struct{ private *int } //lint:ignore U1000 its type is what matters
	nested struct{ Inner []hidden }
	plain  struct{ inner [2]flat } //lint:ignore U1000 its type is what matters
	flat   struct {
		A string
		B bool
		c uint8 //lint:ignore U1000 its type is what matters
	}
)

// TestPlainValues: what may be sent and stored, and the advice for what may not.
func TestPlainValues(t *testing.T) {
	send := func(v any) *Panic { _, r := one(t, func(p *Proc) { p.Send(0, v) }); return r.Panic }
	for _, v := range []any{nil, 1, int8(1), uint64(1), "text", true, [3]int{}, flat{}, plain{}, time.Second, ID(3), uintptr(1)} {
		if bad := send(v); bad != nil {
			t.Errorf("sending a %T: %v", v, bad)
		}
	}
	n := 1
	for _, x := range []struct {
		v    any
		want string
	}{
		{&n, "*int (a ptr)"},
		{[]int{1}, "[]int (a slice)"},
		{map[string]int{}, "map[string]int (a map)"},
		{make(chan int), "chan int (a chan)"},
		{func() {}, "func() (a func)"},
		{1.5, "float64 (a float64: floats round differently from one machine to another)"},
		{hidden{}, "sim.hidden.private (a ptr)"},
		{nested{}, "sim.nested.Inner (a slice)"},
		{[2]hidden{}, "[2]sim.hidden[].private (a ptr)"},
		{struct{ T time.Time }{}, ".T.loc (a ptr)"},
		{struct{ V any }{V: []int{1}}, "a []int cannot be sent or stored"},
	} {
		for range 2 { // it is not taken for plain the second time
			bad := send(x.v)
			if bad == nil || !strings.Contains(bad.Error(), x.want) {
				t.Errorf("sending a %T: %v, want advice about %q", x.v, bad, x.want)
				continue
			}
			if _, ok := bad.Value.(Misuse); !ok {
				t.Errorf("sending a %T: the panic is a %T, want a Misuse", x.v, bad.Value)
			}
		}
	}
	for name, f := range map[string]func(p *Proc){
		"Put":    func(p *Proc) { p.Put("k", []int{1}) },
		"Append": func(p *Proc) { p.Append([]int{1}) },
		"After":  func(p *Proc) { p.After(1, []int{1}) },
		"Call":   func(p *Proc) { p.Call(0, []int{1}, 0) },
		"Reply":  func(p *Proc) { p.Reply(Message{}, []int{1}) },
	} {
		if _, r := one(t, f); r.Panic == nil || !strings.Contains(r.Panic.Error(), "[]int (a slice)") {
			t.Errorf("%s of a slice: %v", name, r.Panic)
		}
	}
}

// TestMisuse: what process code must not do, and what it is told.
func TestMisuse(t *testing.T) {
	for _, x := range []struct {
		name, want string
		f          func(p *Proc)
	}{
		{"unknown peer", `no process is called "Z": spawn it before the others start`, func(p *Proc) { p.Peer("Z") }},
		{"number of no process", "a message to process number 7: expected one of the 1 processes of this world", func(p *Proc) { p.Send(7, 1) }},
		{"negative number", "a message to process number -1", func(p *Proc) { p.Call(-1, 1, 0) }},
		{"the Proc of the parent task", "task main was used by other code than its own", func(p *Proc) {
			p.Go("child", func(*Proc) { p.Sleep(milli) })
			p.Sleep(5 * milli)
		}},
		{"the Proc of a task that ended", "task short was used by other code than its own", func(p *Proc) {
			var kept *Proc
			p.Go("short", func(p *Proc) { kept = p })
			p.Sleep(milli)
			kept.Send(0, 1)
		}},
		{"the context of the parent task", "task main was used by other code than its own", func(p *Proc) {
			ctx := p.Context()
			p.Go("child", func(*Proc) { Sleep(ctx, milli) })
			p.Sleep(5 * milli)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, r := one(t, x.f)
			if r.Panic == nil || !strings.Contains(r.Panic.Error(), x.want) {
				t.Fatalf("%v, want %q", r.Panic, x.want)
			}
			if _, ok := r.Panic.Value.(Misuse); !ok {
				t.Errorf("the panic is a %T, want a Misuse", r.Panic.Value)
			}
		})
	}
	r := play(t, Config{}, Calm{}, remarks(), func(w *World) {
		serve(w, "S", func(p *Proc, m Message) { p.Wait(0) })
		spawn(w, "P", func(p *Proc) { p.Call(0, 1, 0) })
	})
	if r.Panic == nil || r.Panic.Process != "S" || !strings.Contains(r.Panic.Error(), "Wait in a Handler") {
		t.Errorf("Wait in a Handler: %v", r.Panic)
	}
}

// mustPanic returns the text of f's panic.
func mustPanic(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	f()
	t.Error("no panic")
	return ""
}

func TestBadNames(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	for _, name := range []string{"A", "store-1", "a.b_c", "9"} {
		spawn(w, name, func(p *Proc) {})
	}
	for name, want := range map[string]string{
		"": "expected letters, digits", "a b": "expected letters, digits", "a/b": "expected letters, digits",
		"*": "expected letters, digits", "é": "expected letters, digits", "a#1": "expected letters, digits",
		"A": `two processes are called "A"`,
	} {
		if got := mustPanic(t, func() { spawn(w, name, func(p *Proc) {}) }); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	if got := mustPanic(t, func() { w.Lookup("Z") }); !strings.Contains(got, `no process is called "Z"`) {
		t.Errorf("Lookup: %s", got)
	}
	// A name of an earlier run is free again, and unknown.
	w.Reset(Config{}, Calm{}, nil)
	mustPanic(t, func() { w.Lookup("A") })
	spawn(w, "A", func(p *Proc) {})
	if got := mustPanic(t, func() { spawn(w, "A", func(p *Proc) {}) }); got == "" {
		t.Error("two processes of one name")
	}
}

func TestValidate(t *testing.T) {
	if err := (&Config{}).Validate(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
	if err := richConfig.Validate(); err != nil {
		t.Errorf("a rich Config: %v", err)
	}
	for _, x := range []struct {
		c    Config
		want string
	}{
		{Config{Latency: -1}, "config: Latency is -1ns: expected 0 to 10 years"},
		{Config{Delays: []time.Duration{1, -1}}, "config: Delays[1] is -1ns"},
		{Config{Holds: []time.Duration{1 << 62}}, "config: Holds[0] is"},
		{Config{Pauses: []time.Duration{-5}}, "config: Pauses[0] is"},
		{Config{Suspends: []time.Duration{-5}}, "config: Suspends[0] is"},
		{Config{Stalls: []time.Duration{-5}}, "config: Stalls[0] is"},
		{Config{Restarts: []time.Duration{-5}}, "config: Restarts[0] is"},
		{Config{Partitions: []time.Duration{-5}}, "config: Partitions[0] is"},
		{Config{Jumps: []time.Duration{-time.Hour, 1 << 62}}, "config: Jumps[1] is"},
		{Config{Drifts: []int64{-500_001}}, "config: Drifts[0] is -500001 ppm: expected -500000 to 500000"},
		{Config{Drifts: []int64{500_001}}, "config: Drifts[0] is 500001 ppm"},
		{Config{Quiet: -1}, "config: Quiet is"},
		{Config{Horizon: -1}, "config: Horizon is"},
		{Config{MaxEvents: -1}, "config: MaxEvents is -1"},
		{Config{Budget: map[Site]int{SiteDrop: -1}}, "config: Budget[drop] is -1"},
	} {
		if err := x.c.Validate(); err == nil || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
	if got := mustPanic(t, func() { NewWorld(Config{Latency: -1}, Calm{}, nil) }); got != "sim: config: Latency is -1ns: expected 0 to 10 years" {
		t.Errorf("NewWorld: %s", got)
	}
}

// grumbler panics at the n-th note.
type grumbler struct{ n int }

func (g *grumbler) Notes() NoteSet { return AllNotes }
func (g *grumbler) Note(n Note) {
	if g.n--; g.n == 0 {
		panic("the observer is broken")
	}
}
func (g *grumbler) Observe(o Observation) {}

// TestBrokenObserver: a panic of an observer while a task waits is no panic of the
// process on whose stack the world happens to run: Run panics, even if the
// process recovers from everything. The world is usable again.
func TestBrokenObserver(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	for n := 1; n < 60; n++ {
		w.Reset(Config{Latency: milli}, Calm{}, &grumbler{n: n})
		serve(w, "S", func(p *Proc, m Message) {
			defer func() { recover() }()
			p.Sleep(milli)
			p.Reply(m, 1)
		})
		spawn(w, "P", func(p *Proc) {
			for range 30 {
				func() {
					defer func() { recover() }()
					p.Call(0, 1, 10*milli)
				}()
			}
		})
		// Notes 1, 3, 5... are sends, made by the process itself, which recovers:
		// that is its own affair. The even ones are deliveries.
		if n%2 == 1 {
			w.Run()
			continue
		}
		if got := mustPanic(t, func() { w.Run() }); !strings.Contains(got, "the observer is broken") && !strings.Contains(got, "observer or chooser was recovered from") {
			t.Fatalf("note %d: %s", n, got)
		}
	}
	quiet := &tape{}
	fresh := NewWorld(Config{}, Calm{}, nil)
	defer fresh.Close()
	if want, got := richRun(fresh, rich(3), quiet), richRun(w, rich(3), quiet); got != want {
		t.Errorf("the next run:\n%s\nin a new world:\n%s", got, want)
	}
}

// leaveIt ends the goroutine, as t.FailNow does.
func leaveIt() { runtime.Goexit() }

// TestGoexit: runtime.Goexit in a process, as by t.FailNow, is the run's outcome
// with the name of the process whose code it was, though it happens on a
// goroutine that others were resumed from; Close does not hang after it, and the
// world can be reused.
func TestGoexit(t *testing.T) {
	for _, x := range []struct {
		name, process, task string
		build               func(w *World)
	}{
		{"after a wait", "P", "main", func(w *World) { spawn(w, "P", func(p *Proc) { p.Sleep(5 * milli); leaveIt() }) }},
		{"at once", "P", "main", func(w *World) { spawn(w, "P", func(p *Proc) { leaveIt() }) }},
		{"in a task", "P", "renew", func(w *World) {
			spawn(w, "P", func(p *Proc) {
				p.Go("renew", func(p *Proc) { p.Sleep(milli); leaveIt() })
				p.Sleep(time.Hour)
			})
		}},
		{"in a handler", "S", "handle", func(w *World) {
			serve(w, "S", func(p *Proc, m Message) { p.Yield("x"); leaveIt() })
			spawn(w, "P", func(p *Proc) { p.Sleep(3 * milli); p.Call(0, 1, 0) })
		}},
		{"in a deferred call", "P", "main", func(w *World) { spawn(w, "P", func(p *Proc) { defer leaveIt(); p.Sleep(5) }) }},
		{"in the factory at a restart", "S", "factory", func(w *World) {
			made := 0
			w.Serve("S", func() Handler {
				if made++; made == 2 {
					leaveIt()
				}
				return server(func(p *Proc, m Message) { p.n.crash(5, p, ""); p.unwind() })
			})
			spawn(w, "P", func(p *Proc) { p.Send(0, 1); p.Sleep(time.Second) })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			type outcome struct {
				r     Result
				again string
			}
			done := make(chan outcome, 1)
			go func() {
				w := NewWorld(Config{Latency: milli}, Calm{}, nil)
				defer close(done)
				x.build(w)
				for i := range 3 {
					spawn(w, fmt.Sprint("Q", i), func(p *Proc) {
						for {
							p.Sleep(milli)
						}
					})
				}
				o := outcome{r: w.Run()}
				o.again = richRun(w, rich(9), &tape{})
				w.Close()
				done <- o
			}()
			select {
			case o, ok := <-done:
				if !ok {
					t.Fatal("the goroutine that ran the world has ended")
				}
				if o.r.End != EndPanic || o.r.Panic == nil || o.r.Panic.Value != nil || o.r.Panic.Process != x.process || o.r.Panic.Task != x.task {
					t.Fatalf("ended with %s, %+v", o.r.End, o.r.Panic)
				}
				if want := fmt.Sprintf("process %s (task %s) ended its goroutine (runtime.Goexit, as t.FailNow", x.process, x.task); !strings.HasPrefix(o.r.Panic.Error(), want) {
					t.Errorf("error %q, want %q...", o.r.Panic, want)
				}
				if !strings.Contains(o.r.Panic.Stack, "sim.leaveIt") {
					t.Errorf("the stack does not show where:\n%s", o.r.Panic.Stack)
				}
				fresh := NewWorld(Config{}, Calm{}, nil)
				defer fresh.Close()
				if want := richRun(fresh, rich(9), &tape{}); o.again != want {
					t.Errorf("the next run in this world:\n%s\nin a new one:\n%s", o.again, want)
				}
			case <-time.After(5 * time.Second):
				t.Fatal("hangs")
			}
		})
	}
}

// TestExitOfTheDead: what deferred calls of a crashed task do is no outcome, not
// even runtime.Goexit.
func TestExitOfTheDead(t *testing.T) {
	r := play(t, Config{}, Calm{}, remarks(), func(w *World) {
		w.Serve("S", func() Handler {
			return server(func(p *Proc, m Message) {
				defer leaveIt()
				p.n.crash(5, p, "")
				p.unwind()
			})
		})
		spawn(w, "P", func(p *Proc) { p.Send(0, 1); p.Sleep(time.Second); say(p, "done") })
	})
	if r.End != EndDone || r.Panic != nil {
		t.Errorf("ended with %s, %v", r.End, r.Panic)
	}
}

// TestOwnStack: of a panic's stack only the process's own code is shown.
func TestOwnStack(t *testing.T) {
	_, r := one(t, func(p *Proc) { p.Sleep(milli); panic("no") })
	stack := r.Panic.Stack
	if !strings.HasPrefix(stack, "goroutine ") || !strings.Contains(stack, "TestOwnStack") {
		t.Errorf("the process's code is missing:\n%s", stack)
	}
	for _, hidden := range []string{"debug.Stack", "sim.(*Proc).end", "sim.(*Proc).main", "iter.Pull"} {
		if strings.Contains(stack, hidden) {
			t.Errorf("%s is none of the process's code:\n%s", hidden, stack)
		}
	}
}

// TestLimitNamesWhoSpins: a run that does not end says who went on and on, and where.
func TestLimitNamesWhoSpins(t *testing.T) {
	bystander := func(w *World) {
		spawn(w, "bystander", func(p *Proc) {
			for range 50 {
				p.Sleep(milli)
			}
		})
	}
	for _, x := range []struct {
		name  string
		cfg   Config
		want  string // the beginning of the text
		where string // the function
		build func(w *World)
	}{
		{"yields", Config{}, "process P (task main) at panic_test.go:", "spinYield", func(w *World) {
			spawn(w, "P", func(p *Proc) { p.Sleep(5 * milli); spinYield(p) })
			bystander(w)
		}},
		{"yields of a request", Config{}, "process S (task handle) at panic_test.go:", "spinYield", func(w *World) {
			serve(w, "S", func(p *Proc, m Message) { spinYield(p) })
			spawn(w, "P", func(p *Proc) { p.Call(0, 1, 0) })
			bystander(w)
		}},
		{"waits that do not wait", Config{}, "process P (task main) at panic_test.go:", "spinWait", func(w *World) {
			spawn(w, "P", func(p *Proc) { p.Sleep(5 * milli); spinWait(p) })
			bystander(w)
		}},
		{"tasks that start tasks", Config{}, "process P (task next)", "", func(w *World) { spawn(w, "P", forever); bystander(w) }},
		{"short sleeps", Config{MaxEvents: 1000}, "1000 events did not end it; process P (task main) at panic_test.go:", "spinSleep", func(w *World) {
			bystander(w)
			spawn(w, "P", func(p *Proc) { p.Sleep(5 * milli); spinSleep(p) })
		}},
		{"messages to and fro", Config{MaxEvents: 1000}, "1000 events did not end it; the next is one of process ", "", func(w *World) {
			serve(w, "S", func(p *Proc, m Message) { p.Send(1, 1) })
			serve(w, "T", func(p *Proc, m Message) { p.Send(0, 1) })
			spawn(w, "P", func(p *Proc) { p.Send(0, 1) })
		}},
		{"untimed", Config{Timing: Untimed, MaxEvents: 1000}, "1000 events did not end it; process P (task main) at panic_test.go:", "spinSleep", func(w *World) {
			spawn(w, "P", func(p *Proc) { spinSleep(p) })
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := NewWorld(x.cfg, Calm{}, nil)
			defer w.Close()
			x.build(w)
			r := w.Run()
			if r.End != EndLimit || r.Limit == nil {
				t.Fatalf("ended with %s, %v", r.End, r.Limit)
			}
			if got := r.Limit.String(); !strings.HasPrefix(got, x.want) || !strings.Contains(got, x.where) {
				t.Errorf("got %q\nwant %q in %s", got, x.want, x.where)
			}
			if !strings.Contains(r.Limit.Stack, x.where) {
				t.Errorf("the stack does not show %s:\n%s", x.where, r.Limit.Stack)
			}
			w.Reset(Config{}, Calm{}, nil)
			if r := w.Run(); r.End != EndDone || r.Limit != nil {
				t.Errorf("the next run ended with %s, %v", r.End, r.Limit)
			}
		})
	}
}

func spinYield(p *Proc) {
	for {
		p.Yield("again")
	}
}

func spinWait(p *Proc) {
	for {
		p.Wait(-1)
	}
}

func spinSleep(p *Proc) {
	for {
		p.Sleep(1)
	}
}
