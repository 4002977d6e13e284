package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// under plays a small world under a timing: P calls S and awaits, with timeouts.
func under(t *testing.T, cfg Config, chooser Chooser, heard *tape) Result {
	t.Helper()
	return play(t, cfg, chooser, heard, func(w *World) {
		spawn(w, "P", func(p *Proc) {
			reply, err := p.Call(1, "a", 10)
			say(p, "%v %v, clock %d", reply, err == nil, p.Now())
			p.Send(1, "b")
			m, step := p.Await(Step{Name: "early", From: 2, Until: 4}, Step{Name: "late", From: 12})
			say(p, "%v %d, clock %d", m.Body, step, p.Now())
			p.Sleep(5)
			say(p, "end, clock %d", p.Now())
		})
		serve(w, "S", func(p *Proc, m Message) {
			if m.Call != 0 {
				p.Reply(m, m.Body)
			} else {
				p.Send(m.From, m.Body)
			}
		})
	})
}

// TestTimings: the calm run, and single choices of the next event.
func TestTimings(t *testing.T) {
	for _, x := range []struct {
		name, schedule, want string
		cfg                  Config
	}{
		{"timed: a message before the step's time", "", `
			0.000004 P: a true, clock 4
			0.000008 P: b -1, clock 8
			0.000013 P: end, clock 13`, Config{Latency: 2}},
		{"timed: the early step is past, the message comes with the late one", "", `
			0.000006 P: a true, clock 6
			0.000012 P: b -1, clock 12
			0.000017 P: end, clock 17`, Config{Latency: 3}},
		{"timed: the step comes first", "", `
			0.000008 P: a true, clock 8
			0.000012 P: <nil> 1, clock 12
			0.000017 P: end, clock 17`, Config{Latency: 4}},
		{"untimed: the calm run delivers messages first", "", `
			0.000002 P: a true, clock 0
			0.000004 P: b -1, clock 0
			0.000005 P: end, clock 5`, Config{Timing: Untimed}},
		{"untimed: the timeout first: the clock is moved to it", "*/next#0=1", `
			0.000001 P: <nil> false, clock 10
			0.000005 P: b -1, clock 10
			0.000006 P: end, clock 15`, Config{Timing: Untimed}},
		{"untimed: the first step, though its time is over", "*/next#0=1 */next#1=2", `
			0.000001 P: <nil> false, clock 10
			0.000002 P: <nil> 0, clock 10
			0.000007 P: end, clock 15`, Config{Timing: Untimed}},
		{"untimed: the second step", "*/next#2=2", `
			0.000002 P: a true, clock 0
			0.000003 P: <nil> 1, clock 12
			0.000006 P: end, clock 17`, Config{Timing: Untimed}},
		{"bounded: ticks only when nothing else is left", "", `
			0 P: a true, clock 0
			0 P: b -1, clock 0
			0.000005 P: end, clock 5`, Config{Timing: Bounded}},
		{"bounded: the step inside its window", "*/next#2=1 */next#3=1 */next#4=1", `
			0 P: a true, clock 0
			0.000002 P: <nil> 0, clock 2
			0.000007 P: end, clock 7`, Config{Timing: Bounded}},
		{"bounded: clocks apart by up to epsilon", "*/next#2=1 */next#3=1 */next#4=1", `
			0 P: a true, clock 0
			0.000002 P: <nil> 0, clock 2
			0.000007 P: end, clock 7`, Config{Timing: Bounded, Epsilon: 2}},
		{"bounded: no clock passes the horizon", "", `
			0 P: a true, clock 0
			0 P: b -1, clock 0`, Config{Timing: Bounded, Horizon: 4}},
	} {
		t.Run(x.name, func(t *testing.T) {
			heard := remarks()
			r := under(t, x.cfg, replaying(t, x.schedule, "P", "S"), heard)
			diffTape(t, heard, x.want)
			want := EndDone
			if x.cfg.Horizon > 0 {
				want = EndIdle
			}
			if r.End != want {
				t.Errorf("ended with %s, want %s", r.End, want)
			}
		})
	}
}

// TestAwaitWindows: under Bounded a step is taken only inside its window, on the
// process's own clock, and clocks are never more than epsilon apart.
func TestAwaitWindows(t *testing.T) {
	for _, epsilon := range []int64{0, 1, 3} {
		outside, taken, apart := 0, 0, int64(0)
		for seed := range uint64(300) {
			c := &Seeded{Seed: seed}
			c.Rates[SiteNext] = Uniform
			w := NewWorld(Config{Timing: Bounded, Epsilon: epsilon, Horizon: 40, MaxEvents: 400}, c, nil)
			for range 2 {
				spawn(w, fmt.Sprint("P", w.count), func(p *Proc) {
					for range 4 {
						from := p.Now() + 2
						_, step := p.Await(Step{Name: "a", From: from, Until: from + 3}, Step{Name: "b", From: from + 1})
						now := p.Now()
						taken++
						if step == 0 && (now < from || now >= from+3) || step == 1 && now < from+1 || step < 0 {
							outside++
						}
						for _, n := range w.processes[:w.count] {
							apart = max(apart, n.clock.mono-int64(now), int64(now)-n.clock.mono)
						}
					}
				})
			}
			w.Run()
			w.Close()
		}
		if outside > 0 || taken < 500 {
			t.Errorf("epsilon %d: %d of %d steps outside their window", epsilon, outside, taken)
		}
		if apart != epsilon {
			t.Errorf("epsilon %d: clocks were up to %d apart", epsilon, apart)
		}
	}
}

// TestTimingsReplay: under every timing a run is reproduced by its decisions, in a
// reused world too, and is pinned by a golden file.
func TestTimingsReplay(t *testing.T) {
	seeds := uint64(400)
	if underRace {
		seeds = 20
	}
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	var b strings.Builder
	for _, timing := range []Timing{Untimed, Bounded} {
		ends := map[End]int{}
		for seed := range seeds {
			cfg := richConfig
			cfg.Timing, cfg.Epsilon, cfg.MaxEvents = timing, int64(seed%3), 600
			cfg.Horizon = 0
			c := rich(seed)
			c.Rates[SiteNext] = Uniform
			run := func(w *World, c Chooser) (string, []string) {
				heard := everything()
				w.Reset(cfg, c, heard)
				richWorld(w)
				s := summary(w.Run(), w.Names())
				if heard.fault != "" {
					t.Fatalf("%s, seed %d: %s", timing, seed, heard.fault)
				}
				return s, heard.lines
			}
			want, wantHeard := run(w, c)
			ends[w.end]++
			schedule := slices.Clone(w.decisions)
			muddle(w, seed)
			got, gotHeard := run(w, NewReplay(schedule))
			if got != want {
				t.Fatalf("%s, seed %d:\nrun:    %s\nreplay: %s", timing, seed, want, got)
			}
			if diff := cmp.Diff(wantHeard, gotHeard); diff != "" {
				t.Fatalf("%s, seed %d (-run +replay):\n%s", timing, seed, diff)
			}
			if seed < 6 {
				fmt.Fprintf(&b, "%s %d %s\n", timing, seed, want)
			}
		}
		if ends[EndPanic] > 0 || ends[EndIdle] > 0 || ends[EndLimit]+ends[EndDone] != int(seeds) {
			t.Errorf("%s: ends %v", timing, ends)
		}
	}
	golden(t, "timings.txt", b.String())
}

// TestFaultsUntimed: without durations each site has one option, and what it began
// ends by an event of its own.
func TestFaultsUntimed(t *testing.T) {
	notes := NoteSet(0).With(NotePause, NoteSuspend, NoteResume, NoteCrash, NoteRestart, NotePartition, NoteHeal, NoteDrop)
	for _, x := range []struct{ schedule, want string }{
		{"P/pause#0=1", `
			0 0 pause at here
			0.000001 0 resume
			0.000001 P: on
			0.000002 S: x`},
		{"P/suspend#0=1", `
			0 0 suspend at here
			0.000001 0 resume
			0.000001 P: on
			0.000002 S: x`},
		{"P/crash#0=1", `
			0 0 crash at here
			0.000001 0 restart
			0.000001 P: on
			0.000002 S: x`},
		{"P/pause#0=2", `
			0 P: on
			0.000001 S: x`},
		{"P/drop#0=1", `
			0 P: on
			0 0 drop 1 x`},
		{"P/partition#0=2 */next#0=1", `
			0 P: on
			0 0 partition 1 both
			0 0 drop 1 x for 1`},
		{"P/duplicate#0=1", `
			0 P: on
			0.000001 S: x
			0.000002 1 deliver 0 x copy
			0.000002 S: x`},
		{"P/delay#0=1 P/hold#0=1 P/drift#0=1", `
			0 P: on
			0.000001 S: x`},
	} {
		heard := &tape{kinds: notes}
		play(t, Config{Timing: Untimed}, replaying(t, x.schedule, "P", "S"), heard, func(w *World) {
			spawn(w, "P", func(p *Proc) {
				p.Yield("here")
				say(p, "on")
				p.Send(1, "x")
			})
			serve(w, "S", func(p *Proc, m Message) { say(p, "%v", m.Body) })
		})
		diffTape(t, heard, x.want)
	}
}

func TestTimingNames(t *testing.T) {
	for timing, want := range map[Timing]string{Timed: "timed", Untimed: "untimed", Bounded: "bounded", 9: "timing(?)"} {
		if got := timing.String(); got != want {
			t.Errorf("%d is %q, want %q", timing, got, want)
		}
	}
	for k := EventDeliver; k <= EventStart; k++ {
		if k.String() == "event(?)" {
			t.Errorf("event kind %d has no name", k)
		}
	}
}

// TestSpare: a process that is spared a site is never struck by it, others are.
func TestSpare(t *testing.T) {
	r := play(t, Config{Restarts: []time.Duration{milli}}, replaying(t, "A/drop#3=1 B/drop#3=1 B/crash#0=1", "A", "B"), remarks(), func(w *World) {
		for _, name := range []string{"A", "B"} {
			spawn(w, name, func(p *Proc) {
				for range 5 {
					p.Send(0, 1)
				}
				p.Yield("here")
			})
		}
		w.Spare(1, SiteDrop, SiteDelay)
	})
	if got, want := r.Decisions.Text([]string{"A", "B"}), "A/drop#3=1 B/crash#0=1"; got != want {
		t.Errorf("decisions %s, want %s", got, want)
	}
}
