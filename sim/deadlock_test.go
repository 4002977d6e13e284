package sim

import (
	"context"
	"regexp"
	"testing"
	"time"
)

// both locks one mutex and then another.
func both(ctx context.Context, first, second *Mutex) {
	first.Lock(ctx)
	Sleep(ctx, time.Millisecond)
	second.Lock(ctx)
	second.Unlock(ctx)
	first.Unlock(ctx)
}

// recording is an observer that wants to hear everything.
type recording struct{ observer }

func (recording) Notes() NoteSet { return AllNotes }

// observer hears nothing.
type observer struct{}

func (observer) Notes() NoteSet      { return 0 }
func (observer) Note(Note)           {}
func (observer) Observe(Observation) {}

// TestDeadlock: tasks that wait for locks which nobody will unlock end the run; who
// waits for whom, and where, is said.
func TestDeadlock(t *testing.T) {
	task := func(p *Proc, name string, f func(ctx context.Context)) {
		p.Go(name, func(p *Proc) { f(p.Context()) })
	}
	for _, x := range []struct {
		name string
		f    func(p *Proc)
		// What is said of a run, and of one that is recorded; "" is no deadlock. N
		// stands for the number of a line.
		says, recorded string
	}{
		{"a lock that is never released", func(p *Proc) {
			mu := NewMutex()
			task(p, "first", func(ctx context.Context) { mu.Lock(ctx) })
			p.Sleep(milli)
			mu.Lock(p.Context())
		}, "task main waits at deadlock_test.go:N (sim.TestDeadlock.func2) for a lock that a task locked and did not unlock before it ended",
			"task main waits at deadlock_test.go:N (sim.TestDeadlock.func2) for a lock that task first locked at deadlock_test.go:N (sim.TestDeadlock.func2.1) and did not unlock before it ended"},
		{"one whose holder ends when others wait already", func(p *Proc) {
			mu := NewMutex()
			task(p, "first", func(ctx context.Context) { mu.Lock(ctx); Sleep(ctx, 2*milli) })
			p.Sleep(milli)
			mu.Lock(p.Context())
		}, "task main waits at deadlock_test.go:N (sim.TestDeadlock.func3) for a lock that a task locked and did not unlock before it ended", ""},
		{"two in opposite order", func(p *Proc) {
			a, b := NewMutex(), NewMutex()
			task(p, "first", func(ctx context.Context) { both(ctx, a, b) })
			task(p, "second", func(ctx context.Context) { both(ctx, b, a) })
			p.Sleep(time.Second)
		}, "task second waits at deadlock_test.go:N (sim.both) for a lock that task first has; task first waits at deadlock_test.go:N (sim.both) for a lock that task second has",
			"task second waits at deadlock_test.go:N (sim.both) for a lock that task first has since deadlock_test.go:N (sim.both); task first waits at deadlock_test.go:N (sim.both) for a lock that task second has since deadlock_test.go:N (sim.both)"},
		{"three in a circle", func(p *Proc) {
			a, b, c := NewMutex(), NewMutex(), NewMutex()
			task(p, "first", func(ctx context.Context) { both(ctx, a, b) })
			task(p, "second", func(ctx context.Context) { both(ctx, b, c) })
			task(p, "third", func(ctx context.Context) { both(ctx, c, a) })
			p.Sleep(time.Second)
		}, "task third waits at deadlock_test.go:N (sim.both) for a lock that task first has; task first waits at deadlock_test.go:N (sim.both) for a lock that task second has; task second waits at deadlock_test.go:N (sim.both) for a lock that task third has", ""},
		{"one that is locked twice", func(p *Proc) {
			mu := NewMutex()
			mu.Lock(p.Context())
			mu.Lock(p.Context())
		}, "task main waits at deadlock_test.go:N (sim.TestDeadlock.func6) for a lock that it has itself",
			"task main waits at deadlock_test.go:N (sim.TestDeadlock.func6) for a lock that it has itself since deadlock_test.go:N (sim.TestDeadlock.func6)"},
		{"who recovers from everything does not get away", func(p *Proc) {
			mu := NewMutex()
			defer func() { recover(); mu.Unlock(p.Context()) }()
			mu.Lock(p.Context())
			mu.Lock(p.Context())
		}, "task main waits at deadlock_test.go:N (sim.TestDeadlock.func7) for a lock that it has itself", ""},
		{"a wait with a limit ends", func(p *Proc) {
			mu := NewMutex()
			mu.Lock(p.Context())
			ctx, _ := WithTimeout(p.Context(), milli)
			mu.Lock(ctx)
			mu.Unlock(p.Context())
		}, "", ""},
		{"the holder gives up its own wait", func(p *Proc) {
			a, b := NewMutex(), NewMutex()
			task(p, "first", func(ctx context.Context) { both(ctx, a, b) })
			b.Lock(p.Context())
			p.Sleep(milli / 2)
			ctx, _ := WithTimeout(p.Context(), 5*milli)
			a.Lock(ctx)
			b.Unlock(p.Context())
			a.Lock(p.Context())
		}, "", ""},
		{"the holder ends, and who waits gives up", func(p *Proc) {
			mu := NewMutex()
			task(p, "first", func(ctx context.Context) { mu.Lock(ctx); Sleep(ctx, 2*milli) })
			p.Sleep(milli)
			ctx, _ := WithTimeout(p.Context(), 5*milli)
			mu.Lock(ctx)
		}, "", ""},
		{"the holder sleeps", func(p *Proc) {
			mu := NewMutex()
			task(p, "first", func(ctx context.Context) { mu.Lock(ctx); Sleep(ctx, time.Hour); mu.Unlock(ctx) })
			p.Sleep(milli)
			mu.Lock(p.Context())
		}, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, o := range []Observer{observer{}, recording{}} {
				says := x.says
				if _, ok := o.(recording); ok && x.recorded != "" {
					says = x.recorded
				} else if ok && says != "" {
					continue
				}
				w := NewWorld(Config{}, Calm{}, o)
				defer w.Close()
				w.Spawn("P", func() Runner { return line(x.f) })
				r := w.Run()
				switch {
				case says == "" && (r.End != EndDone || r.Panic != nil):
					t.Errorf("expected no deadlock, found the end %s, %v", r.End, r.Panic)
				case says != "" && (r.End != EndPanic || r.Panic == nil):
					t.Errorf("expected a deadlock, found the end %s", r.End)
				case says != "":
					got := regexp.MustCompile(`go:\d+`).ReplaceAllString(r.Panic.Error(), "go:N")
					if want := "deadlock in process P: " + says; got != want {
						t.Errorf("expected\n%s, found\n%s", want, got)
					}
					if !regexp.MustCompile(`deadlock_test\.go:\d+`).MatchString(r.Panic.Stack) {
						t.Errorf("expected the stack of who waits, found\n%s", r.Panic.Stack)
					}
				}
			}
		})
	}
}

// twiceLocked is a server that locks twice, and runs where it stands.
type twiceLocked struct{ mu Mutex }

func (*twiceLocked) Yields() int { return 0 }
func (s *twiceLocked) Handle(p *Proc, m Message) {
	s.mu.Lock(p.Context())
	s.mu.Lock(p.Context())
}

// TestDeadlockOfBrief: a task without a stack of its own is told as any other.
func TestDeadlockOfBrief(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	w.Serve("S", func() Handler { return &twiceLocked{} })
	w.Spawn("P", func() Runner { return line(func(p *Proc) { p.Send(0, 1); p.Sleep(milli) }) })
	r := w.Run()
	if r.Panic == nil || !regexp.MustCompile(`^deadlock in process S: task \w+ waits at deadlock_test.go:\d+ \(sim.\(\*twiceLocked\).Handle\) for a lock that it has itself$`).MatchString(r.Panic.Error()) {
		t.Errorf("ended with %s, %v", r.End, r.Panic)
	}
}

// TestDeadlockEndsWithCrash: a crash frees the locks of a process.
func TestDeadlockEndsWithCrash(t *testing.T) {
	mu := NewMutex()
	w := NewWorld(Config{Restarts: []time.Duration{milli}}, NewReplay(Schedule{{Key: Key{Proc: 0, Site: SiteCrash}, Option: 1}}), nil)
	defer w.Close()
	w.Spawn("P", func() Runner {
		return line(func(p *Proc) {
			mu.Lock(p.Context())
			p.Yield("locked")
			mu.Unlock(p.Context())
		})
	})
	if r := w.Run(); r.End != EndDone || len(r.Decisions) != 1 {
		t.Errorf("ended with %s, %v after %d decisions", r.End, r.Panic, len(r.Decisions))
	}
}
