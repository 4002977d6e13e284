package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// diffTape compares what was heard with the wanted lines; indentation does not count.
func diffTape(t *testing.T, heard *tape, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if diff := cmp.Diff(lines, heard.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNetworkFaults: A sends a, b and c ten milliseconds apart; B answers each.
func TestNetworkFaults(t *testing.T) {
	cfg := Config{
		Latency:    milli,
		Delays:     []time.Duration{2 * milli, 15 * milli},
		Holds:      []time.Duration{100 * milli},
		Partitions: []time.Duration{5 * milli, 15 * milli},
	}
	for _, x := range []struct{ name, schedule, want string }{
		{"calm", "", `
			1 B: a
			11 B: b
			21 B: c
			230 A: heard re a, re b, re c`},
		{"drop loses one message", "A/drop#1=1", `
			1 B: a
			10 0 drop 1 b
			21 B: c
			230 A: heard re a, re c`},
		{"drop of a reply", "B/drop#0=1", `
			1 B: a
			1 1 drop 0 re a
			11 B: b
			21 B: c
			230 A: heard re b, re c`},
		{"delay comes on top of the latency", "A/delay#0=1", `
			3 B: a
			11 B: b
			21 B: c
			230 A: heard re a, re b, re c`},
		{"a longer delay reorders", "A/delay#0=2", `
			11 B: b
			16 B: a
			21 B: c
			230 A: heard re b, re a, re c`},
		{"hold is longer than everything else", "A/hold#1=1", `
			1 B: a
			21 B: c
			111 B: b
			230 A: heard re a, re c, re b`},
		{"delay and hold add up", "A/delay#1=1 A/hold#1=1", `
			1 B: a
			21 B: c
			113 B: b
			230 A: heard re a, re c, re b`},
		{"duplicate arrives twice, the copy later and flagged", "A/duplicate#0=1", `
			1 B: a
			3 B: a (copy)
			11 B: b
			21 B: c
			230 A: heard re a, re a, re b, re c`},
		{"the copy of a delayed message follows it", "A/duplicate#0=2 A/delay#0=1", `
			3 B: a
			11 B: b
			18 B: a (copy)
			21 B: c
			230 A: heard re a, re b, re a, re c`},
		{"one way: the message that met it is lost, replies pass", "A/partition#1=1", `
			1 B: a
			10 0 partition 1 for 5000000
			10 0 drop 1 b for 1
			15 0 heal 1
			21 B: c
			230 A: heard re a, re c`},
		{"one way, longer: the next message is lost too", "A/partition#1=3", `
			1 B: a
			10 0 partition 1 for 15000000
			10 0 drop 1 b for 1
			20 0 drop 1 c for 1
			25 0 heal 1
			230 A: heard re a`},
		{"one way from B: its replies are lost, A's messages pass", "B/partition#0=3", `
			1 B: a
			1 1 partition 0 for 15000000
			1 1 drop 0 re a for 1
			11 B: b
			11 1 drop 0 re b for 1
			16 1 heal 0
			21 B: c
			230 A: heard re c`},
		{"both ways", "B/partition#0=4", `
			1 B: a
			1 1 partition 0 for 15000000 both
			1 1 drop 0 re a for 1
			10 0 drop 1 b for 1
			16 1 heal 0
			16 0 heal 1
			21 B: c
			230 A: heard re c`},
		{"a partition does not stop what is on its way", "A/delay#0=2 A/partition#1=3", `
			10 0 partition 1 for 15000000
			10 0 drop 1 b for 1
			16 B: a
			20 0 drop 1 c for 1
			25 0 heal 1
			230 A: heard re a`},
	} {
		t.Run(x.name, func(t *testing.T) {
			heard := &tape{kinds: NoteSet(0).With(NoteDrop, NotePartition, NoteHeal)}
			r := play(t, cfg, replaying(t, x.schedule, "A", "B"), heard, func(w *World) {
				spawn(w, "A", func(p *Proc) {
					for _, body := range []string{"a", "b", "c"} {
						p.Send(p.Peer("B"), body)
						p.Sleep(10 * milli)
					}
					p.Sleep(200 * milli)
					var all []string
					for m, ok := p.Wait(-1); ok; m, ok = p.Wait(-1) {
						all = append(all, m.Body.(string))
					}
					say(p, "heard %s", strings.Join(all, ", "))
				})
				serve(w, "B", func(p *Proc, m Message) {
					if m.Copy {
						say(p, "%v (copy)", m.Body)
					} else {
						say(p, "%v", m.Body)
					}
					p.Send(m.From, "re "+m.Body.(string))
				})
			})
			// Copies are told to every observer that wants any note: not looked at here.
			heard.lines = without(heard.lines, " deliver ")
			diffTape(t, heard, x.want)
			if r.End != EndDone {
				t.Errorf("ended with %s", r.End)
			}
		})
	}
}

func without(lines []string, part string) (rest []string) {
	for _, l := range lines {
		if !strings.Contains(l, part) {
			rest = append(rest, l)
		}
	}
	return rest
}

// TestOverlappingCuts: a link that is cut twice works again when both are over.
func TestOverlappingCuts(t *testing.T) {
	heard := &tape{kinds: NoteSet(0).With(NoteHeal)}
	w := NewWorld(Config{Latency: milli}, Calm{}, heard)
	defer w.Close()
	spawn(w, "A", func(p *Proc) {
		for range 10 {
			p.Send(p.Peer("B"), p.Now().String())
			p.Sleep(10 * milli)
		}
	})
	serve(w, "B", func(p *Proc, m Message) { say(p, "sent at %v", m.Body) })
	w.partition(0, 1, int64(35*milli), true)
	w.partition(0, 1, int64(65*milli), false)
	w.Run()
	diffTape(t, heard, `
		35 1 heal 0
		65 0 heal 1
		71 B: sent at 70ms
		81 B: sent at 80ms
		91 B: sent at 90ms`)
}

// TestProcessFaults: P yields, works, sleeps; its task T sleeps beside it.
func TestProcessFaults(t *testing.T) {
	cfg := Config{
		Latency:  milli,
		Pauses:   []time.Duration{20 * milli, 40 * milli},
		Suspends: []time.Duration{20 * milli, 40 * milli},
		Stalls:   []time.Duration{20 * milli, 40 * milli},
		Restarts: []time.Duration{30 * milli, 50 * milli},
		Drifts:   []int64{100_000, -100_000},
		Jumps:    []time.Duration{time.Hour, -time.Minute},
	}
	notes := NoteSet(0).With(NotePause, NoteSuspend, NoteResume, NoteStall, NoteCrash, NoteRestart, NoteDrift, NoteJump)
	for _, x := range []struct{ name, schedule, want string }{
		{"calm", "", `
			5 P: before 5ms
			5 P: after 5ms
			10 P: T 10ms
			15 P: end 15ms, wall 15ms`},
		{"pause: the monotonic clock runs on, timers wait", "P/pause#0=1", `
			5 P: before 5ms
			5 0 pause for 20000000 at here
			25 0 resume
			25 P: after 25ms
			25 P: T 25ms
			35 P: end 35ms, wall 35ms`},
		{"a longer pause at the second yield", "P/pause#1=2", `
			5 P: before 5ms
			5 P: after 5ms
			10 P: T 10ms
			15 0 pause for 40000000 at there
			55 0 resume
			55 P: end 55ms, wall 55ms`},
		{"suspend: the monotonic clock stands still, timers too", "P/suspend#0=1", `
			5 P: before 5ms
			5 0 suspend for 20000000 at here
			25 0 resume
			25 P: after 5ms
			30 P: T 10ms
			35 P: end 15ms, wall 15ms`},
		{"pause and suspend at one yield, one after the other", "P/pause#0=1 P/suspend#0=2", `
			5 P: before 5ms
			5 0 pause for 20000000 at here
			25 0 resume
			25 0 suspend for 40000000 at here
			65 0 resume
			65 P: after 25ms
			65 P: T 25ms
			75 P: end 35ms, wall 35ms`},
		{"stall: one task stops, the other goes on", "P/stall#0=1", `
			5 P: before 5ms
			5 0 stall for 20000000 at here
			10 P: T 10ms
			25 P: after 25ms
			35 P: end 35ms, wall 35ms`},
		{"stalling the only task is no choice", "P/stall#1=1", `
			5 P: before 5ms
			5 P: after 5ms
			10 P: T 10ms
			15 P: end 15ms, wall 15ms`},
		{"crash: it starts again, its tasks are gone, its clock goes on", "P/crash#0=1", `
			5 P: before 5ms
			5 0 crash for 30000000 at here
			35 0 restart
			40 P: before 40ms
			40 P: after 40ms
			45 P: T 45ms
			50 P: end 50ms, wall 50ms`},
		{"crash again: the counts of choices go on", "P/crash#0=1 P/crash#1=2", `
			5 P: before 5ms
			5 0 crash for 30000000 at here
			35 0 restart
			40 P: before 40ms
			40 0 crash for 50000000 at here
			90 0 restart
			95 P: before 95ms
			95 P: after 95ms
			100 P: T 100ms
			105 P: end 105ms, wall 105ms`},
		{"a fast clock", "P/drift#0=1", `
			0 0 drift for 100000
			4.545455 P: before 5ms
			4.545455 P: after 5ms
			9.090910 P: T 10.000001ms
			13.636364 P: end 15ms, wall 15ms`},
		{"a slow clock", "P/drift#0=2", `
			0 0 drift for -100000
			5.555556 P: before 5ms
			5.555556 P: after 5ms
			11.111112 P: T 10ms
			16.666667 P: end 15ms, wall 15ms`},
		{"a wall clock jumps forward, the monotonic one does not", "P/jump#0=1", `
			5 P: before 5ms
			5 P: after 5ms
			10 P: T 10ms
			15 0 jump for 3600000000000
			15 P: end 15ms, wall 1h0m0.015s`},
		{"a wall clock jumps back", "P/jump#0=2", `
			5 P: before 5ms
			5 P: after 5ms
			10 P: T 10ms
			15 0 jump for -60000000000
			15 P: end 15ms, wall -59.985s`},
	} {
		t.Run(x.name, func(t *testing.T) {
			heard := &tape{kinds: notes}
			play(t, cfg, replaying(t, x.schedule, "P"), heard, func(w *World) {
				spawn(w, "P", func(p *Proc) {
					p.Go("T", func(p *Proc) {
						p.Sleep(10 * milli)
						say(p, "T %v", p.Now())
					})
					p.Sleep(5 * milli)
					say(p, "before %v", p.Now())
					p.Yield("here")
					say(p, "after %v", p.Now())
					p.Sleep(10 * milli)
					p.Yield("there")
					wall := p.Wall().Sub(time.Unix(0, 0))
					say(p, "end %v, wall %v", p.Now(), wall)
				})
			})
			diffTape(t, heard, x.want)
		})
	}
}

// TestAfterDuringFreeze: what a process sent itself comes when its clock is there.
func TestAfterDuringFreeze(t *testing.T) {
	for _, x := range []struct{ schedule, want string }{
		{"", "10 S: alarm at 10ms"},
		{"S/pause#0=1", "25 S: alarm at 25ms"},
		{"S/suspend#0=1", "30 S: alarm at 10ms"},
		{"S/drift#0=1 S/suspend#0=1", "31.111112 S: alarm at 10ms"},
	} {
		heard := remarks()
		cfg := Config{Pauses: []time.Duration{20 * milli}, Suspends: []time.Duration{20 * milli}, Drifts: []int64{-100_000}}
		play(t, cfg, replaying(t, x.schedule, "S", "P"), heard, func(w *World) {
			w.Serve("S", func() Handler {
				return &booting{
					start:  func(p *Proc) { p.After(10*milli, "alarm"); p.Sleep(5 * milli); p.Yield("here") },
					handle: func(p *Proc, m Message) { say(p, "%v at %v", m.Body, p.Now()) },
				}
			})
			spawn(w, "P", func(p *Proc) { p.Sleep(time.Second) })
		})
		if got := heard.String(); got != x.want {
			t.Errorf("%s: %s, want %s", x.schedule, got, x.want)
		}
	}
}

// TestMessagesDuringFreeze: what arrives meanwhile waits; a process that is down
// hears nothing.
func TestMessagesDuringFreeze(t *testing.T) {
	cfg := Config{Latency: milli, Pauses: []time.Duration{25 * milli}, Suspends: []time.Duration{25 * milli}, Restarts: []time.Duration{25 * milli}}
	for _, x := range []struct{ schedule, want string }{
		{"B/pause#1=1", `
			1 B: 0
			11 1 pause for 25000000 at serve
			36 1 resume
			36 B: 1
			36 B: 2
			36 B: 3
			41 B: 4`},
		{"B/suspend#1=1", `
			1 B: 0
			11 1 suspend for 25000000 at serve
			36 1 resume
			36 B: 1
			36 B: 2
			36 B: 3
			41 B: 4`},
		{"B/crash#1=1", `
			1 B: 0
			11 1 crash for 25000000 at serve
			21 0 drop 1 2 at down
			31 0 drop 1 3 at down
			36 1 restart
			41 B: 4`},
	} {
		heard := &tape{kinds: NoteSet(0).With(NotePause, NoteSuspend, NoteResume, NoteCrash, NoteRestart, NoteDrop)}
		play(t, cfg, replaying(t, x.schedule, "A", "B"), heard, func(w *World) {
			spawn(w, "A", func(p *Proc) {
				for i := range 5 {
					p.Send(p.Peer("B"), i)
					p.Sleep(10 * milli)
				}
			})
			serve(w, "B", func(p *Proc, m Message) {
				p.Yield("serve")
				say(p, "%v", m.Body)
			})
		})
		diffTape(t, heard, x.want)
	}
}

// TestDiskFaults: what a crash leaves of one synced and three unsynced writes.
func TestDiskFaults(t *testing.T) {
	for _, x := range []struct{ schedule, want string }{
		{"P/crash#1=1", "a=1 log[x]"},
		{"P/crash#1=1 P/disk#0=1", "a=2 log[x]"},
		{"P/crash#1=1 P/disk#0=2", "a=2 log[x y]"},
		{"P/crash#1=1 P/disk#0=3", "a=2 b=3 log[x y]"},
		{"P/crash#1=1 P/disk#0=4", "b=3 log[x y]"},
		{"P/crash#1=1 P/disk#0=5", "a=1 log[x]"}, // out of range: 0
		{"P/crash#0=1", "log[]"},
		{"P/crash#0=1 P/disk#0=1", "a=1 log[]"},
		{"P/crash#0=1 P/disk#0=2", "a=1 log[x]"},
	} {
		heard := remarks()
		play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, x.schedule, "P"), heard, func(w *World) {
			spawn(w, "P", func(p *Proc) {
				if p.Incarnation() > 0 {
					say(p, "%s", content(p.Disk()))
					return
				}
				p.Put("a", 1)
				p.Append("x")
				p.Sync()
				p.Put("a", 2)
				p.Append("y")
				p.Put("b", 3)
				p.Remove("a")
				p.Yield("unsynced")
			})
		})
		if got, want := heard.String(), "1 P: "+x.want; got != want {
			t.Errorf("%s: %s, want %s", x.schedule, got, want)
		}
	}
}

// content writes a disk in words.
func content(d *Disk) string {
	var b strings.Builder
	for k := range d.Keys {
		v, _ := d.Get(k)
		fmt.Fprintf(&b, "%s=%v ", k, v)
	}
	var log []any
	for v := range d.Log {
		log = append(log, v)
	}
	fmt.Fprintf(&b, "log%v", log)
	return b.String()
}

// TestTie: of several events at one time, the choice says which is first.
func TestTie(t *testing.T) {
	for _, x := range []struct{ schedule, want string }{
		{"", "a c d"},
		{"*/tie#0=1", "c a d"},
		{"*/tie#0=2", "d a c"},
		{"*/tie#0=2 */tie#1=1", "d c a"},
		{"*/tie#1=1", "a d c"},
		{"*/tie#0=3", "a c d"}, // there are but three
	} {
		var order []string
		play(t, Config{Latency: milli}, replaying(t, x.schedule), remarks(), func(w *World) {
			for _, name := range []string{"a", "c", "d"} {
				spawn(w, name, func(p *Proc) { p.Send(p.Peer("B"), name) })
			}
			serve(w, "B", func(p *Proc, m Message) { order = append(order, m.Body.(string)) })
		})
		if got := strings.Join(order, " "); got != x.want {
			t.Errorf("%q: %s, want %s", x.schedule, got, x.want)
		}
	}
}

// TestTaskOrder: which ready task runs next, when a task blocks and at a yield.
func TestTaskOrder(t *testing.T) {
	run := func(schedule string) string {
		var order []string
		play(t, Config{}, replaying(t, schedule, "P"), remarks(), func(w *World) {
			spawn(w, "P", func(p *Proc) {
				for _, name := range []string{"a", "b", "c"} {
					p.Go(name, func(p *Proc) {
						order = append(order, name+"1")
						p.Yield("middle")
						order = append(order, name+"2")
					})
				}
				order = append(order, "m1")
				p.Yield("middle")
				order = append(order, "m2")
			})
		})
		return strings.Join(order, " ")
	}
	for _, x := range []struct{ schedule, want, reason string }{
		{"", "m1 m2 a1 a2 b1 b2 c1 c2", "in the order of starting; nobody is preempted"},
		{"P/task#0=1", "m1 a1 a2 b1 b2 c1 c2 m2", "main is preempted by the first, and queues up behind the others"},
		{"P/task#0=3", "m1 c1 c2 a1 a2 b1 b2 m2", "preempted by the last"},
		{"P/task#1=2", "m1 m2 c1 c2 a1 a2 b1 b2", "main has ended, the last goes first"},
		{"P/task#0=2 P/task#1=1", "m1 b1 a1 a2 c1 c2 m2 b2", "a preempted task's successor is preempted too"},
		{"P/task#0=1 P/task#2=1", "m1 a1 a2 c1 c2 b1 b2 m2", "after a preemption the next pick is a choice again"},
		{"P/task#0=4", "m1 m2 a1 a2 b1 b2 c1 c2", "there are but three others"},
	} {
		if got := run(x.schedule); got != x.want {
			t.Errorf("%q (%s): %s, want %s", x.schedule, x.reason, got, x.want)
		}
	}
}

// TestBudget: a site takes as many decisions as its budget says, and no more.
func TestBudget(t *testing.T) {
	for _, x := range []struct {
		budget map[Site]int
		drops  int
	}{
		{nil, 20},
		{map[Site]int{SiteDelay: 0}, 20},
		{map[Site]int{SiteDrop: 0}, 0},
		{map[Site]int{SiteDrop: 1}, 1},
		{map[Site]int{SiteDrop: 7}, 7},
		{map[Site]int{SiteDrop: 100}, 20},
	} {
		var s Schedule
		for i := range uint32(20) {
			s = append(s, Decision{Key: Key{Site: SiteDrop, Count: i}, Option: 1})
		}
		heard := &tape{kinds: NoteSet(0).With(NoteDrop)}
		r := play(t, Config{Budget: x.budget}, NewReplay(s), heard, func(w *World) { twenty(w) })
		if len(r.Decisions) != x.drops || len(heard.lines) != x.drops {
			t.Errorf("budget %v: %d decisions, %d drops, want %d", x.budget, len(r.Decisions), len(heard.lines), x.drops)
		}
	}
}

// twenty sends 20 messages, a millisecond apart.
func twenty(w *World) {
	spawn(w, "A", func(p *Proc) {
		for i := range 20 {
			p.Send(p.Peer("B"), i)
			p.Yield("sent")
			p.Wall()
			p.Choose("any", 2)
			p.Sleep(milli)
		}
	})
	serve(w, "B", func(p *Proc, m Message) {})
}

// TestQuiet: from then on there are no faults, but the other choices go on.
func TestQuiet(t *testing.T) {
	cfg := Config{
		Latency: milli, Delays: []time.Duration{1}, Holds: []time.Duration{1}, Pauses: []time.Duration{1}, Suspends: []time.Duration{1},
		Stalls: []time.Duration{1}, Restarts: []time.Duration{1}, Partitions: []time.Duration{1}, Jumps: []time.Duration{1},
		Quiet: 10 * milli,
	}
	for site := range siteCount {
		c := &Seeded{Seed: 5}
		c.Rates[site] = Uniform - 1
		heard := &tape{kinds: NoteSet(0).With(NoteQuiet)}
		r := play(t, cfg, c, heard, twenty)
		last := int64(-1)
		for _, d := range r.Decisions {
			last = max(last, d.Time)
		}
		switch site {
		case SiteDelay, SiteUser:
			if last < int64(cfg.Quiet) {
				t.Errorf("%s is no fault, and was last decided at %d", site, last)
			}
		case SiteHold, SiteDrop, SiteDuplicate, SitePartition, SitePause, SiteSuspend, SiteCrash, SiteJump:
			if last < 0 || last >= int64(cfg.Quiet) {
				t.Errorf("%s is a fault, and was last decided at %d", site, last)
			}
		}
		if site == SiteTie && heard.String() != "10 -1 quiet" && heard.String() != "10 0 quiet" {
			t.Errorf("heard %q", heard)
		}
	}
}

// TestEnds: why a run ends, and when.
func TestEnds(t *testing.T) {
	sleeps := func(w *World) { spawn(w, "A", func(p *Proc) { p.Sleep(10 * milli) }) }
	for _, x := range []struct {
		name  string
		cfg   Config
		build func(w *World)
		want  End
		time  time.Duration
	}{
		{"no process", Config{}, func(w *World) {}, EndDone, 0},
		{"the Runner returned", Config{}, sleeps, EndDone, 10 * milli},
		{"a message is still on its way", Config{Latency: 50 * milli}, twenty, EndDone, 69 * milli},
		{"nothing can happen any more", Config{}, func(w *World) { spawn(w, "A", func(p *Proc) { p.Wait(0) }) }, EndIdle, 0},
		{"the horizon comes first", Config{Horizon: 9 * milli}, sleeps, EndHorizon, 0},
		{"at the horizon itself things happen", Config{Horizon: 10 * milli}, sleeps, EndDone, 10 * milli},
		{"handlers alone do not keep a run going", Config{}, func(w *World) {
			serve(w, "B", func(p *Proc, m Message) {})
		}, EndDone, 0},
		{"a loop of events", Config{MaxEvents: 77}, func(w *World) {
			spawn(w, "A", func(p *Proc) {
				for {
					p.Sleep(1)
				}
			})
		}, EndLimit, 77},
		{"a loop of events, by default", Config{}, func(w *World) {
			spawn(w, "A", func(p *Proc) {
				for {
					p.Sleep(1)
				}
			})
		}, EndLimit, defaultMaxEvents},
		{"a loop of yields", Config{}, func(w *World) {
			spawn(w, "A", func(p *Proc) {
				p.Sleep(5)
				for {
					p.Yield("again")
				}
			})
		}, EndLimit, 5},
		{"a loop of waits that do not wait", Config{}, func(w *World) {
			spawn(w, "A", func(p *Proc) {
				for {
					p.Wait(-1)
				}
			})
		}, EndLimit, 0},
		{"tasks that start tasks", Config{}, func(w *World) { spawn(w, "A", forever) }, EndLimit, 0},
		{"a panic", Config{}, func(w *World) { spawn(w, "A", func(p *Proc) { panic("no") }) }, EndPanic, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := play(t, x.cfg, Calm{}, remarks(), x.build)
			if r.End != x.want || r.Time != int64(x.time) {
				t.Errorf("%s at %d, want %s at %d", r.End, r.Time, x.want, x.time)
			}
			if x.cfg.MaxEvents > 0 && r.Events != x.cfg.MaxEvents {
				t.Errorf("%d events, want %d", r.Events, x.cfg.MaxEvents)
			}
			if (r.Panic != nil) != (r.End == EndPanic) {
				t.Errorf("Panic is %v", r.Panic)
			}
		})
	}
}

func forever(p *Proc) { p.Go("next", forever) }

func TestEndNames(t *testing.T) {
	want := []string{"", "done", "idle", "horizon", "limit", "panic"}
	for e, name := range want {
		if got := End(e).String(); got != name {
			t.Errorf("End %d is %q, want %q", e, got, name)
		}
	}
}
