package watchdog_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"staleproof/sim"
	"staleproof/sim/watchdog"
)

type line func(p *sim.Proc)

func (f line) Run(p *sim.Proc) { f(p) }

type server func(p *sim.Proc, m sim.Message)

func (f server) Handle(p *sim.Proc, m sim.Message) { f(p, m) }

var never = make(chan int)

// Each test has its own: what earlier ones left behind is still there.
func blockOnChannel() { <-never }
func blockInTask()    { <-never }
func blockDeferred()  { <-never }

var locked sync.Mutex

func blockOnLock() { locked.Lock() }

const limit = 150 * time.Millisecond

// watch runs a world of three processes under the watchdog: an idle one before
// and one behind P, which calls f after 10 ms.
func watch(limit time.Duration, cfg sim.Config, f func(p *sim.Proc)) (sim.Result, error) {
	w := sim.NewWorld(cfg, sim.Calm{}, nil)
	w.Serve("before", func() sim.Handler { return server(func(p *sim.Proc, m sim.Message) {}) })
	w.Spawn("P", func() sim.Runner {
		return line(func(p *sim.Proc) {
			p.Sleep(10 * time.Millisecond)
			f(p)
		})
	})
	w.Spawn("behind", func() sim.Runner {
		return line(func(p *sim.Proc) {
			for range 50 {
				p.Sleep(20 * time.Millisecond)
			}
		})
	})
	var r sim.Result
	names := w.Names()
	err := watchdog.Run(w.Heart(), func(i int) string { return names[i] }, limit, func() error {
		r = w.Run()
		return nil
	})
	if err == nil { // otherwise the run is left behind
		w.Close()
	}
	return r, err
}

// TestBlocked: a process that blocks outside the simulator is named, with a stack
// that shows where.
func TestBlocked(t *testing.T) {
	locked.TryLock() // for good
	for _, x := range []struct {
		name, function string
		cfg            sim.Config
		f              func(p *sim.Proc)
	}{
		{"channel", "blockOnChannel", sim.Config{}, func(p *sim.Proc) { blockOnChannel() }},
		{"lock", "blockOnLock", sim.Config{}, func(p *sim.Proc) { blockOnLock() }},
		{"in a task", "blockInTask", sim.Config{}, func(p *sim.Proc) {
			p.Go("task", func(p *sim.Proc) { p.Sleep(5); blockInTask() })
			p.Sleep(time.Hour)
		}},
		{"after the end of the run, in a deferred call", "blockDeferred", sim.Config{Horizon: time.Millisecond * 100}, func(p *sim.Proc) {
			defer blockDeferred()
			p.Sleep(time.Hour)
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, err := watch(limit, x.cfg, x.f)
			var blocked *watchdog.Blocked
			if !errors.As(err, &blocked) {
				t.Fatalf("got %v, want a *Blocked", err)
			}
			if blocked.Process != "P" {
				t.Errorf("process %q, want P", blocked.Process)
			}
			if !strings.Contains(blocked.Stack, "watchdog_test."+x.function) {
				t.Errorf("the stack does not show %s:\n%s", x.function, blocked.Stack)
			}
			for _, part := range []string{"process P blocks outside the simulator", "use sim.Go, sim.Mutex and sim.Sleep instead", x.function} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q:\n%s", part, err)
				}
			}
			if took := time.Since(begin); took < limit || took > 20*limit {
				t.Errorf("took %s, the limit is %s", took, limit)
			}
		})
	}
}

// TestLoop: a process that computes for ever is told from one that blocks. It is in
// a program of its own, whose other worlds block.
func TestLoop(t *testing.T) {
	if os.Getenv("LOOP") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLoop$", "-test.v")
		cmd.Env = append(os.Environ(), "LOOP=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestLoop") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	_, err := watch(limit, sim.Config{}, func(p *sim.Proc) { spin() })
	for _, part := range []string{"process P runs on without a call of the simulator", "let it sleep or wait", "watchdog_test.spin"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

var spun atomic.Int64

func spin() {
	for {
		spun.Add(1)
	}
}

// TestBusy: a run that takes longer than the limit, but goes on, is left alone.
func TestBusy(t *testing.T) {
	t.Parallel()
	const patient = 800 * time.Millisecond // a machine that is busy otherwise has a run stand still too
	begin := time.Now()
	events := 0
	r, err := watch(patient, sim.Config{MaxEvents: 1 << 40}, func(p *sim.Proc) {
		for time.Since(begin) < 2*patient {
			p.Sleep(time.Microsecond)
			events++
		}
	})
	if err != nil || r.End != sim.EndDone || events < 1000 {
		t.Errorf("%v, ended with %s after %d events", err, r.End, events)
	}
}

// TestSlow: events that each take a good part of the limit add up to nothing.
func TestSlow(t *testing.T) {
	t.Parallel()
	const patient = 400 * time.Millisecond
	r, err := watch(patient, sim.Config{}, func(p *sim.Proc) {
		for range 10 {
			time.Sleep(patient * 4 / 10) // real work
			p.Sleep(time.Microsecond)
		}
	})
	if err != nil || r.End != sim.EndDone {
		t.Errorf("%v, ended with %s", err, r.End)
	}
}

// pensive is an observer that takes its time.
type pensive struct{ takes time.Duration }

func (pensive) Notes() sim.NoteSet        { return 0 }
func (pensive) Note(sim.Note)             {}
func (o pensive) Observe(sim.Observation) { time.Sleep(o.takes) }

// said is an observation.
type said struct{}

func (said) Stamp(int64, int64, string) {}
func (said) Fold(digest uint64) uint64  { return digest }

// TestOutside: time that is not spent in the code of a process is nobody's: neither
// that of whoever judges the run, in it or behind it, nor that of another world whose
// process blocks.
func TestOutside(t *testing.T) {
	t.Parallel()
	go watch(time.Hour, sim.Config{}, func(p *sim.Proc) { <-never })
	for _, x := range []struct {
		name   string
		during time.Duration
		after  time.Duration
	}{{"an observer", 6 * limit, 0}, {"what follows the run", 0, 6 * limit}} {
		w := sim.NewWorld(sim.Config{}, sim.Calm{}, pensive{x.during})
		w.Spawn("P", func() sim.Runner { return line(func(p *sim.Proc) { p.Sleep(1); p.Observe(said{}); p.Sleep(1) }) })
		err := watchdog.Run(w.Heart(), func(i int) string { return w.Name(sim.ID(i)) }, limit, func() error {
			w.Run()
			time.Sleep(x.after)
			return nil
		})
		if err != nil {
			t.Errorf("%s: got %v", x.name, err)
		}
	}
}

// TestOwnStack: the stacks of a report are those of its own world.
func TestOwnStack(t *testing.T) {
	t.Parallel()
	others := make(chan error)
	for range 3 {
		go func() {
			_, err := watch(limit, sim.Config{}, func(p *sim.Proc) { blockElsewhere() })
			others <- err
		}()
	}
	_, err := watch(2*limit, sim.Config{}, func(p *sim.Proc) { blockHere() })
	blocked, ok := errors.AsType[*watchdog.Blocked](err)
	if !ok || !strings.Contains(blocked.Stack, "blockHere") || strings.Contains(blocked.Stack, "blockElsewhere") || strings.Count(blocked.Stack, "[chan receive") != 1 {
		t.Errorf("got %v", err)
	}
	for range 3 {
		<-others
	}
}

func blockHere()      { <-never }
func blockElsewhere() { <-never }

func loop(stop *atomic.Bool) {
	for !stop.Load() {
	}
}

// TestEndlessLoop: code that loops without coming back to the simulator is named too.
func TestEndlessLoop(t *testing.T) {
	t.Parallel()
	var stop atomic.Bool
	defer stop.Store(true)
	_, err := watch(limit, sim.Config{}, func(p *sim.Proc) { loop(&stop) })
	var blocked *watchdog.Blocked
	if !errors.As(err, &blocked) || blocked.Process != "P" || !strings.Contains(blocked.Stack, "watchdog_test.loop") {
		t.Errorf("got %v", err)
	}
}

// TestSpin: a loop that never sleeps is no case for the watchdog.
func TestSpin(t *testing.T) {
	t.Parallel()
	r, err := watch(limit, sim.Config{}, func(p *sim.Proc) {
		for {
			p.Yield("spin")
		}
	})
	if err != nil || r.End != sim.EndLimit {
		t.Errorf("%v, ended with %s", err, r.End)
	}
}

// TestExited: code that ends the goroutine while a process is made is named, and
// the caller does not hang.
func TestExited(t *testing.T) {
	t.Parallel()
	w := sim.NewWorld(sim.Config{}, sim.Calm{}, nil)
	err := watchdog.Run(w.Heart(), func(i int) string { return w.Name(sim.ID(i)) }, time.Hour, func() error {
		w.Serve("first", func() sim.Handler { return server(func(*sim.Proc, sim.Message) {}) })
		w.Serve("second", func() sim.Handler { runtime.Goexit(); return nil })
		return nil
	})
	if exited, ok := errors.AsType[*watchdog.Exited](err); !ok || exited.Process != "second" || !strings.Contains(err.Error(), "process second ended the goroutine") {
		t.Errorf("got %v", err)
	}
}

// The goroutines of TestStray: each uses a Proc as its process's own code does.
func strayNow(p *sim.Proc)   { p.Now() }
func strayYield(p *sim.Proc) { p.Yield("stray") }
func straySleep(p *sim.Proc) { p.Sleep(time.Millisecond) }
func strayCall(p *sim.Proc)  { p.Call(0, 1, 0) }
func strayLock(p *sim.Proc)  { sim.NewMutex().Lock(p.Context()) }
func strayAfter(p *sim.Proc) { sim.Sleep(p.Context(), time.Millisecond) }
func strayDefer(p *sim.Proc) { defer p.Now(); p.Send(0, 1) }

// TestStray: a goroutine that a process started and that uses the process's Proc
// does not end the program; process, task and goroutine are named.
func TestStray(t *testing.T) {
	for _, x := range []struct {
		name string
		use  func(p *sim.Proc)
	}{
		{"strayNow", strayNow}, {"strayYield", strayYield}, {"straySleep", straySleep}, {"strayCall", strayCall},
		{"strayLock", strayLock}, {"strayAfter", strayAfter}, {"strayDefer", strayDefer},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			// The goroutine runs while the process behind does, which waits for it.
			use, used := make(chan bool), make(chan bool)
			err := stray(func(p *sim.Proc) {
				go func() {
					defer close(used)
					<-use
					x.use(p)
				}()
				p.Sleep(time.Hour)
			}, func() { close(use); <-used })
			accused(t, err, x.name)
		})
	}
	t.Run("one that the process waits for", func(t *testing.T) {
		t.Parallel()
		err := stray(func(p *sim.Proc) {
			used := make(chan bool)
			go func() {
				defer close(used)
				straySleep(p)
				p.Sleep(time.Hour)
			}()
			<-used
		}, func() {})
		accused(t, err, "TestStray")
	})
	t.Run("one that outlives the run", func(t *testing.T) {
		t.Parallel()
		over := make(chan bool)
		err := stray(func(p *sim.Proc) {
			go func() { <-over; strayNow(p) }()
		}, func() { close(over); time.Sleep(time.Second) })
		accused(t, err, "strayNow")
	})
}

// stray runs P beside another process, which calls then after 10 ms.
func stray(f func(p *sim.Proc), then func()) error {
	w := sim.NewWorld(sim.Config{}, sim.Calm{}, nil)
	w.Serve("before", func() sim.Handler { return server(func(p *sim.Proc, m sim.Message) {}) })
	w.Spawn("P", func() sim.Runner {
		return line(func(p *sim.Proc) { p.Go("task", f); p.Sleep(20 * time.Millisecond) })
	})
	w.Spawn("behind", func() sim.Runner {
		return line(func(p *sim.Proc) { p.Sleep(10 * time.Millisecond); then() })
	})
	return watchdog.Run(w.Heart(), func(i int) string { return w.Name(sim.ID(i)) }, time.Hour, func() error {
		w.Run()
		return nil
	})
}

// accused expects that the task of P is, with a stack that shows a function.
func accused(t *testing.T, err error, function string) {
	t.Helper()
	s, ok := errors.AsType[*watchdog.Stray](err)
	if !ok {
		t.Fatalf("got %v, want a *Stray", err)
	}
	if s.Process != "P" || s.Task != "task" || !strings.Contains(s.Stack, function) {
		t.Errorf("process %s, task %s; expected P, task, and a stack that shows %s:\n%s", s.Process, s.Task, function, s.Stack)
	}
	if !strings.HasPrefix(err.Error(), "process P (task task): its Proc or its context was used by another goroutine") {
		t.Errorf("got %v", err)
	}
}

// TestStrayUnwatched: where nobody would hear of it, the panic itself is the
// sentence.
func TestStrayUnwatched(t *testing.T) {
	var kept *sim.Proc
	if _, err := watch(limit, sim.Config{}, func(p *sim.Proc) { kept = p }); err != nil {
		t.Fatal(err)
	}
	defer func() {
		err, ok := recover().(error)
		if _, stray := errors.AsType[*watchdog.Stray](err); !ok || !stray || !strings.HasPrefix(err.Error(), "sim: at seed 0, or later: process P (task main): its Proc") {
			t.Errorf("got %v, want a *Stray", err)
		}
	}()
	kept.Now()
}

// TestAccuse: the first stray is kept, and one that nobody hears of is not.
func TestAccuse(t *testing.T) {
	var b watchdog.Beat
	first, second := &watchdog.Stray{Process: "first"}, &watchdog.Stray{Process: "second"}
	if b.Accuse(first) || b.Accused() != nil {
		t.Error("heard of, though nobody watches")
	}
	err := watchdog.Run(&b, nil, time.Hour, func() error {
		if !b.Accuse(first) || !b.Accuse(second) {
			t.Error("not heard of")
		}
		return nil
	})
	if err != error(first) || b.Accused() != first {
		t.Errorf("got %v", err)
	}
	if !b.Accuse(second) {
		t.Error("a stray of a run that was left behind ends the program")
	}
}

// TestError: the error of the run is passed on.
func TestError(t *testing.T) {
	t.Parallel()
	sentinel := errors.New("sentinel")
	var beat watchdog.Beat
	if err := watchdog.Run(&beat, nil, time.Hour, func() error { return sentinel }); err != sentinel {
		t.Errorf("got %v", err)
	}
}

// TestBeat: what is set is read, and the beat changes with process and event.
func TestBeat(t *testing.T) {
	t.Parallel()
	var b watchdog.Beat
	seen := map[uint64]bool{}
	for proc := range int32(5) {
		for _, event := range []int64{0, 1, 1 << 20, 1 << 40} {
			b.Set(proc, event)
			got, beat := b.Read()
			if got != int(proc) || seen[beat] {
				t.Errorf("set %d at %d, read %d, beat %d seen before: %v", proc, event, got, beat, seen[beat])
			}
			seen[beat] = true
		}
	}
}
