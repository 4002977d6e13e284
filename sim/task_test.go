package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// one runs a single process P in a calm world and returns what it remarked.
func one(t *testing.T, f func(p *Proc)) (string, Result) {
	t.Helper()
	heard := remarks()
	r := play(t, Config{Latency: milli}, Calm{}, heard, func(w *World) { spawn(w, "P", f) })
	return heard.String(), r
}

func want(t *testing.T, got, lines string) {
	t.Helper()
	diffTape(t, &tape{lines: strings.Split(got, "\n")}, lines)
}

// TestGo: tasks share memory and clock, run in the order of starting, and the
// run is over when the Runner returns, whatever other tasks wait for.
func TestGo(t *testing.T) {
	got, r := one(t, func(p *Proc) {
		shared := 0
		p.Go("first", func(p *Proc) {
			shared++
			say(p, "first %d %s", shared, p.Name())
			p.Sleep(5 * milli)
			shared++
			say(p, "first again %d", shared)
		})
		p.Go("second", func(p *Proc) {
			shared++
			say(p, "second %d", shared)
			p.Go("third", func(p *Proc) { say(p, "third, started by a task") })
			p.Sleep(time.Hour)
			say(p, "never")
		})
		say(p, "main %d", shared)
		p.Sleep(10 * milli)
		say(p, "main again %d", shared)
	})
	want(t, got, `
		0 P: main 0
		0 P: first 1 P
		0 P: second 2
		0 P: third, started by a task
		5 P: first again 3
		10 P: main again 3`)
	if r.End != EndDone {
		t.Errorf("ended with %s", r.End)
	}
}

// TestMailbox: messages come in the order of their arrival, whether they were
// waited for or not, and the waits end as they say.
func TestMailbox(t *testing.T) {
	heard := remarks()
	play(t, Config{Latency: milli}, Calm{}, heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			_, ok := p.Wait(-1)
			say(p, "at once %v", ok)
			m, ok := p.Wait(0)
			say(p, "%v %v from %d to %d", m.Body, ok, m.From, m.To)
			_, ok = p.Wait(3 * milli)
			say(p, "waited %v", ok)
			p.Sleep(10 * milli)
			for {
				m, ok := p.Wait(-1)
				if !ok {
					break
				}
				say(p, "%v %v", m.Body, m.Timer)
			}
			p.After(2*milli, "alarm")
			m, ok = p.Wait(5 * milli)
			say(p, "%v %v %v", m.Body, m.Timer, ok)
			m, ok = p.Wait(5 * milli)
			say(p, "%v %v", m.Body, ok)
		})
		spawn(w, "Q", func(p *Proc) {
			p.Send(0, "a")
			p.Sleep(6 * milli)
			for i := range 4 {
				p.Send(0, i)
			}
		})
	})
	want(t, heard.String(), `
		0 P: at once false
		1 P: a true from 1 to 0
		4 P: waited false
		14 P: 0 false
		14 P: 1 false
		14 P: 2 false
		14 P: 3 false
		16 P: alarm true true
		21 P: <nil> false`)
}

// TestCall: replies, timeouts, and replies that come too late or twice.
func TestCall(t *testing.T) {
	heard := remarks()
	r := play(t, Config{Latency: milli}, Calm{}, heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			call := func(body string, timeout time.Duration) {
				reply, err := p.Call(1, body, timeout)
				if err != nil && (reply != nil || !errors.Is(err, ErrTimeout)) {
					say(p, "reply %v with error %v", reply, err)
				}
				say(p, "%s: %v %v", body, reply, err == nil)
			}
			call("now", 0)
			call("slow", 5*milli)   // answered at 12
			call("twice", 20*milli) // its own reply, not that of slow
			call("never", 3*milli)  // a second reply to twice is no reply to it
			call("now", 2*milli)    // the reply comes at the very deadline: it was scheduled later
			call("now", 2*milli+1)  // in time
			call("now", -1)         // does not wait
			p.Send(1, "plain")
			m, ok := p.Wait(20 * milli)
			say(p, "mailbox: %v %v %v", m.Body, m.Call, ok)
			_, ok = p.Wait(20 * milli) // late replies never reach the mailbox
			say(p, "mailbox: %v", ok)
			call("nobody", 0)
		})
		serve(w, "S", func(p *Proc, m Message) {
			switch m.Body {
			case "slow":
				p.Sleep(8 * milli)
				p.Reply(m, "slow done")
			case "twice":
				p.Reply(m, "once")
				p.Sleep(milli)
				p.Reply(m, "twice")
			case "never", "nobody":
			default:
				p.Reply(m, fmt.Sprint("re ", m.Body))
			}
		})
	})
	want(t, heard.String(), `
		2 P: now: re now true
		7 P: slow: <nil> false
		9 P: twice: once true
		12 P: never: <nil> false
		14 P: now: <nil> false
		16 P: now: re now true
		16 P: now: <nil> false
		18 P: mailbox: re plain 0 true
		38 P: mailbox: false`)
	if r.End != EndIdle {
		t.Errorf("a call that nobody answers ended with %s", r.End)
	}
}

// TestCallsOfTasks: replies find the task that called, in whatever order.
func TestCallsOfTasks(t *testing.T) {
	heard := remarks()
	play(t, Config{Latency: milli}, Calm{}, heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			for i := range 3 {
				p.Go("call", func(p *Proc) {
					reply, _ := p.Call(1, i, 0)
					say(p, "%d gets %v", i, reply)
				})
			}
			p.Sleep(50 * milli)
		})
		serve(w, "S", func(p *Proc, m Message) {
			p.Sleep(time.Duration(9-3*m.Body.(int)) * milli)
			p.Reply(m, m.Body.(int)*10)
		})
	})
	want(t, heard.String(), `
		5 P: 2 gets 20
		8 P: 1 gets 10
		11 P: 0 gets 0`)
}

// TestHandler: each message in a task of its own; a Starter goes first; After
// comes back to the Handler as a message of its own.
func TestHandler(t *testing.T) {
	heard := remarks()
	play(t, Config{Latency: milli}, Calm{}, heard, func(w *World) {
		w.Serve("S", func() Handler {
			return &booting{
				start: func(p *Proc) {
					p.After(3*milli, "early")
					p.Sleep(5 * milli)
					say(p, "started")
					p.After(10*milli, "alarm")
				},
				handle: func(p *Proc, m Message) {
					say(p, "%v begins, timer %v", m.Body, m.Timer)
					if m.Body == "long" {
						p.Sleep(4 * milli)
					}
					say(p, "%v ends", m.Body)
				},
			}
		})
		spawn(w, "P", func(p *Proc) {
			p.Send(0, "long")
			p.Send(0, "short")
			p.Sleep(30 * milli)
		})
	})
	want(t, heard.String(), `
		5 S: started
		5 S: long begins, timer false
		5 S: short begins, timer false
		5 S: short ends
		5 S: early begins, timer true
		5 S: early ends
		9 S: long ends
		15 S: alarm begins, timer true
		15 S: alarm ends`)
}

// TestTimersUnderDrift: a sleep, a wait and an After end at the first true time at
// which the clock shows their end, whatever the drift.
func TestTimersUnderDrift(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	rapid.Check(t, func(t *rapid.T) {
		ppm := rapid.Int64Range(-100_000, 100_000).Draw(t, "ppm")
		durations := rapid.SliceOfN(rapid.Int64Range(1, int64(200*24*time.Hour)), 1, 6).Draw(t, "durations")
		kinds := rapid.SliceOfN(rapid.IntRange(0, 2), len(durations), len(durations)).Draw(t, "kinds")
		drift := NewReplay(Schedule{{Key: Key{Site: SiteDrift}, Option: 1}})
		w.Reset(Config{Drifts: []int64{ppm}}, drift, nil)
		spawn(w, "P", func(p *Proc) {
			clock := clock{ppm: ppm}
			for i, d := range durations {
				start := int64(p.Now())
				switch kinds[i] {
				case 0:
					p.Sleep(time.Duration(d))
				case 1:
					p.Wait(time.Duration(d))
				case 2:
					p.After(time.Duration(d), "alarm")
					p.Wait(0)
				}
				now := p.w.now
				if int64(p.Now()) < start+d || clock.read(now-1) >= start+d {
					t.Fatalf("%d ns from %d at %d ppm ended at true time %d, clock %d", d, start, ppm, now, p.Now())
				}
			}
		})
		if r := w.Run(); r.End != EndDone {
			t.Fatalf("ended with %s %v", r.End, r.Panic)
		}
	})
}

// TestHugeTimeouts: the longest duration is no deadline that has passed.
func TestHugeTimeouts(t *testing.T) {
	const longest = time.Duration(1<<63 - 1)
	heard := remarks()
	play(t, Config{Latency: milli}, Calm{}, heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			p.Sleep(10 * milli)
			m, ok := p.Wait(longest)
			say(p, "%v %v", m.Body, ok)
			ctx, _ := WithTimeout(p.Context(), longest)
			say(p, "%v %v", ctx.Err(), Remaining(ctx) > 50*365*24*time.Hour)
			p.After(longest, "in vain")
			p.Sleep(milli)
		})
		spawn(w, "Q", func(p *Proc) { p.Sleep(15 * milli); p.Send(0, "hello") })
	})
	want(t, heard.String(), `
		16 P: hello true
		16 P: <nil> true`)
}

// TestMutex: one owner at a time, waiters in the order of their arrival, whatever
// the order in which the tasks run.
func TestMutex(t *testing.T) {
	for seed := range uint64(40) {
		c := &Seeded{Seed: seed}
		c.Rates[SiteTask], c.Rates[SiteTie] = Uniform, Uniform
		var arrived, served []int
		inside, most := 0, 0
		play(t, Config{}, c, remarks(), func(w *World) {
			spawn(w, "P", func(p *Proc) {
				mu := NewMutex()
				left := 6
				for i := range left {
					p.Go(fmt.Sprint("t", i), func(p *Proc) {
						p.Sleep(time.Duration(i/2) * milli)
						ctx := p.Context()
						arrived = append(arrived, i)
						if err := mu.Lock(ctx); err != nil {
							t.Errorf("lock: %v", err)
						}
						inside++
						most = max(most, inside)
						served = append(served, i)
						p.Yield("inside")
						p.Sleep(3 * milli)
						inside--
						mu.Unlock(ctx)
						left--
					})
				}
				for left > 0 {
					p.Sleep(milli)
				}
			})
		})
		if most != 1 || len(served) != 6 {
			t.Fatalf("seed %d: %d tasks inside at once, %d served", seed, most, len(served))
		}
		if diff := cmp.Diff(arrived, served); diff != "" {
			t.Fatalf("seed %d: arrived, served (-/+):\n%s", seed, diff)
		}
	}
}

// TestMutexDeadline: a wait ends with its context, and the lock passes over it,
// even if both happen while the process is frozen.
func TestMutexDeadline(t *testing.T) {
	contenders := func(p *Proc) {
		mu := NewMutex()
		for i, d := range []time.Duration{0, 5 * milli, 11 * milli, 0} {
			p.Go("t", func(p *Proc) {
				ctx := p.Context()
				if d > 0 {
					ctx, _ = WithTimeout(ctx, d)
				}
				if err := mu.Lock(ctx); err != nil {
					say(p, "%d: %v", i, err)
					return
				}
				say(p, "%d locks", i)
				p.Sleep(10 * milli)
				mu.Unlock(p.Context())
				say(p, "%d unlocks", i)
			})
		}
		p.Sleep(milli)
		gone, _ := WithTimeout(p.Context(), 0)
		say(p, "main: %v", mu.Lock(gone))
		p.Sleep(7 * milli)
		p.Yield("here")
		p.Sleep(100 * milli)
	}
	for schedule, lines := range map[string]string{
		"": `
			0 P: 0 locks
			1 P: main: context deadline exceeded
			5 P: 1: context deadline exceeded
			10 P: 0 unlocks
			10 P: 2 locks
			20 P: 2 unlocks
			20 P: 3 locks
			30 P: 3 unlocks`,
		"P/pause#0=1": `
			0 P: 0 locks
			1 P: main: context deadline exceeded
			5 P: 1: context deadline exceeded
			20 P: 0 unlocks
			20 P: 2: context deadline exceeded
			20 P: 3 locks
			30 P: 3 unlocks`,
	} {
		heard := remarks()
		r := play(t, Config{Pauses: []time.Duration{12 * milli}}, replaying(t, schedule, "P"), heard, func(w *World) { spawn(w, "P", contenders) })
		want(t, heard.String(), lines)
		if r.End != EndDone {
			t.Errorf("%s: ended with %s", schedule, r.End)
		}
	}
}

// TestMutexOutlives: a lock is free after the crash of its owner, even if a
// factory lets it outlive the process; it is not free because its owner ended.
func TestMutexOutlives(t *testing.T) {
	mu := NewMutex()
	heard := remarks()
	play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, "P/crash#0=1", "P"), heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			ctx := p.Context()
			for range 3 { // the records of these tasks are reused
				p.Go("t", func(p *Proc) {
					mu.Lock(p.Context())
					defer mu.Unlock(p.Context())
					say(p, "task locks")
					p.Sleep(milli)
				})
			}
			mu.Lock(ctx)
			defer mu.Unlock(ctx)
			say(p, "main locks")
			p.Sleep(milli)
			p.Yield("inside")
		})
	})
	want(t, heard.String(), `
		0 P: main locks
		2 P: main locks
		3 P: task locks`)

	got, r := one(t, func(p *Proc) {
		mu := NewMutex()
		p.Go("owner", func(p *Proc) { mu.Lock(p.Context()) })
		p.Sleep(milli)
		p.Go("other", func(p *Proc) { p.Sleep(2 * milli) }) // takes over the owner's record
		ctx, _ := WithTimeout(p.Context(), 5*milli)
		say(p, "%v", mu.Lock(ctx))
		mu.Lock(p.Context())
	})
	want(t, got, `6 P: context deadline exceeded`)
	if r.End != EndPanic || !strings.HasPrefix(r.Panic.Error(), "deadlock in process P: task main waits at task_test.go:") {
		t.Errorf("ended with %s, %v, want a deadlock: the owner left it locked", r.End, r.Panic)
	}
}

// TestMutexMisuse: Unlock by another task than the owner.
func TestMutexMisuse(t *testing.T) {
	_, r := one(t, func(p *Proc) {
		mu := NewMutex()
		mu.Lock(p.Context())
		p.Go("thief", func(p *Proc) { mu.Unlock(p.Context()) })
		p.Sleep(milli)
	})
	if r.Panic == nil || r.Panic.Task != "thief" || !strings.Contains(r.Panic.Error(), "Unlock by task thief of a Mutex that it does not hold") {
		t.Errorf("panic: %v", r.Panic)
	}
}

// TestContext: deadlines on the monotonic clock, nested ones, and what is asked
// of a context.
func TestContext(t *testing.T) {
	got, _ := one(t, func(p *Proc) {
		base := p.Context()
		if FromContext(base) != p || FromContext(context.WithValue(base, remark{}, 1)) != p || FromContext(context.Background()) != nil {
			say(p, "FromContext does not find the task")
		}
		_, limited := base.Deadline()
		say(p, "%v %v %v", base.Err(), Remaining(base), limited)

		zero, cancel := WithTimeout(base, 0)
		cancel()
		say(p, "%v %v", zero.Err(), Remaining(zero))

		ctx, _ := WithTimeout(base, 10*milli)
		inner, _ := WithTimeout(context.WithValue(ctx, remark{}, "value"), time.Hour)
		short, _ := WithTimeout(ctx, 4*milli)
		at, limited := ctx.Deadline()
		say(p, "%v %v %v %v %v", at.UnixNano(), limited, Remaining(ctx), Remaining(inner), Remaining(short))
		say(p, "%v", Sleep(ctx, 4*milli))
		say(p, "%v %v %v", ctx.Err(), inner.Err(), short.Err())
		say(p, "%v %v", Sleep(short, time.Hour), Sleep(ctx, 0))
		say(p, "%v %v", Sleep(inner, time.Hour), Now(inner).UnixNano())
		say(p, "%v %v %v", ctx.Err(), inner.Err(), Remaining(ctx))
		nested, _ := WithTimeout(ctx, time.Hour)
		say(p, "%v %v", nested.Err(), context.WithValue(nested, remark{}, 1).Err())
		say(p, "%v", Sleep(base, milli))
	})
	want(t, got, `
		0 P: <nil> 0s false
		0 P: context deadline exceeded -1ns
		0 P: 10000000 true 10ms 10ms 4ms
		4 P: <nil>
		4 P: <nil> <nil> context deadline exceeded
		4 P: context deadline exceeded <nil>
		10 P: context deadline exceeded 10000000
		10 P: context deadline exceeded context deadline exceeded -1ns
		10 P: context deadline exceeded context deadline exceeded
		11 P: <nil>`)
}

// TestContextOfCrashed: Err tells deferred code that its process is gone.
func TestContextOfCrashed(t *testing.T) {
	var errs []error
	play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, "P/crash#0=1", "P"), remarks(), func(w *World) {
		spawn(w, "P", func(p *Proc) {
			ctx := p.Context()
			limited, _ := WithTimeout(ctx, time.Hour)
			defer func() { errs = append(errs, ctx.Err(), limited.Err()) }()
			p.Yield("here")
		})
	})
	if diff := cmp.Diff([]error{context.Canceled, context.Canceled, nil, nil}, errs, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
		t.Errorf("errors in deferred code of the crashed and of the live process (-want +got):\n%s", diff)
	}
}

// TestDoneGivesAdvice: what would hang says what to do instead.
func TestDoneGivesAdvice(t *testing.T) {
	for name, f := range map[string]func(ctx context.Context){
		"Done":               func(ctx context.Context) { <-ctx.Done() },
		"WithCancel":         func(ctx context.Context) { _, stop := context.WithCancel(ctx); stop() },
		"WithTimeout":        func(ctx context.Context) { _, stop := context.WithTimeout(ctx, time.Second); stop() },
		"AfterFunc":          func(ctx context.Context) { context.AfterFunc(ctx, func() {}) },
		"Done of WithValue":  func(ctx context.Context) { <-context.WithValue(ctx, remark{}, 1).Done() },
		"Done of sim's own":  func(ctx context.Context) { c, _ := WithTimeout(ctx, 1); <-c.Done() },
		"WithCancel of ours": func(ctx context.Context) { c, _ := WithTimeout(ctx, 1); _, stop := context.WithCancel(c); stop() },
	} {
		_, r := one(t, func(p *Proc) { f(p.Context()) })
		if r.End != EndPanic || !strings.Contains(r.Panic.Error(), "use ctx.Err() to ask, sim.WithTimeout for a deadline, sim.Sleep(ctx, d) to wait") {
			t.Errorf("%s: ended with %s, %v", name, r.End, r.Panic)
		}
	}
}

// TestSerial: numbers that no other call gets.
func TestSerial(t *testing.T) {
	seen := map[int64]string{}
	play(t, Config{}, Calm{}, remarks(), func(w *World) {
		for _, name := range []string{"A", "B"} {
			spawn(w, name, func(p *Proc) {
				for range 5 {
					n := p.Serial()
					if other, ok := seen[n]; ok || n < 1 {
						t.Errorf("%s got %d, as %s", name, n, other)
					}
					seen[n] = name
					p.Sleep(milli)
				}
			})
		}
	})
}

// TestIdentity: the names and numbers that a process sees.
func TestIdentity(t *testing.T) {
	heard := remarks()
	r := play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, "B/crash#0=1", "A", "B"), heard, func(w *World) {
		spawn(w, "A", func(p *Proc) { say(p, "%d %s %d", p.ID(), p.Name(), p.Peer("B")) })
		id := spawn(w, "B", func(p *Proc) {
			say(p, "%d %s %d incarnation %d", p.ID(), p.Name(), p.Peer("A"), p.Incarnation())
			p.Yield("here")
		})
		if id != 1 || w.Name(id) != "B" || w.Lookup("B") != id || w.Now() != 0 {
			t.Errorf("B is %d, called %s", id, w.Name(id))
		}
		if diff := cmp.Diff([]string{"A", "B"}, w.Names()); diff != "" {
			t.Error(diff)
		}
	})
	want(t, heard.String(), `
		0 A: 0 A 1
		0 B: 1 B 0 incarnation 0
		1 B: 1 B 0 incarnation 1`)
	if len(r.Decisions) != 1 || r.Decisions[0].Label != "here" || r.Decisions[0].Time != 0 {
		t.Errorf("decisions %+v", r.Decisions)
	}
}

// TestChoose: a process's own choices are decisions with their label.
func TestChoose(t *testing.T) {
	var got []int
	r := play(t, Config{}, replaying(t, "P/user#1=2 P/user#3=4", "P"), remarks(), func(w *World) {
		spawn(w, "P", func(p *Proc) {
			for i, n := range []int{3, 3, 1, 4, 5, 0, -1} {
				got = append(got, p.Choose(fmt.Sprint("c", i), n))
			}
		})
	})
	if diff := cmp.Diff([]int{0, 2, 0, 0, 0, 0, 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(r.Decisions) != 1 || r.Decisions[0].Label != "c1" {
		t.Errorf("decisions %+v", r.Decisions)
	}
}
