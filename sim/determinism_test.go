package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test with -update to write it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// summary is all of a run that must not differ from one time to the next.
func summary(r Result, names []string) string {
	s := fmt.Sprintf("%016x %s %d events, %d notes, %d ns: %s", r.Digest, r.End, r.Events, r.Notes, r.Time, r.Decisions.Text(names))
	if r.Panic != nil {
		s += " " + r.Panic.Error()
	}
	return s
}

// richRun plays the rich world once more in w.
func richRun(w *World, c Chooser, heard *tape) string {
	*heard = tape{kinds: heard.kinds}
	w.Reset(richConfig, c, heard)
	richWorld(w)
	return summary(w.Run(), w.Names())
}

// TestGoldenDigests pins what a rich world does: the replay tokens of everybody
// depend on it. It says nothing of right or wrong: a change of the kernel that
// is meant to change runs rewrites it with -update.
func TestGoldenDigests(t *testing.T) {
	var b strings.Builder
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	heard := everything()
	fmt.Fprintf(&b, "calm %s\n", richRun(w, Calm{}, heard))
	for seed := range uint64(24) {
		fmt.Fprintf(&b, "%d %s\n", seed, richRun(w, rich(seed), heard))
		if heard.fault != "" {
			t.Errorf("seed %d: %s", seed, heard.fault)
		}
	}
	golden(t, "digests.txt", b.String())
}

// TestRichWorldIsRich: the seeds of the tests of determinism exercise every site
// that a timed world has.
func TestRichWorldIsRich(t *testing.T) {
	var seen [siteCount]int
	ends := map[End]int{}
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	for seed := range uint64(200) {
		richRunDecisions(w, seed, &seen, ends)
	}
	for site, n := range seen {
		if Site(site) != SiteNext && n < 20 {
			t.Errorf("%s was decided only %d times", Site(site), n)
		}
	}
	if ends[EndDone] < 100 || ends[EndPanic]+ends[EndLimit]+ends[EndIdle] > 0 {
		t.Errorf("ends: %v", ends)
	}
}

func richRunDecisions(w *World, seed uint64, seen *[siteCount]int, ends map[End]int) {
	w.Reset(richConfig, rich(seed), nil)
	richWorld(w)
	r := w.Run()
	ends[r.End]++
	for _, d := range r.Decisions {
		seen[d.Site]++
	}
}

// TestSameEverywhere: a run is the same whatever GOMAXPROCS, in a new world and
// in one that has run other things before, observed or not.
func TestSameEverywhere(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	used := NewWorld(Config{}, Calm{}, nil)
	defer used.Close()
	seeds := uint64(150)
	if underRace {
		seeds = 18
	}
	for seed := range seeds {
		fresh := NewWorld(Config{}, Calm{}, nil)
		heard, again := everything(), everything()
		runtime.GOMAXPROCS(1)
		want := richRun(fresh, rich(seed), heard)
		fresh.Close()
		runtime.GOMAXPROCS(2)
		muddle(used, seed)
		if got := richRun(used, rich(seed), again); got != want {
			t.Fatalf("seed %d:\nnew world, GOMAXPROCS 1:    %s\nreused world, GOMAXPROCS 2: %s", seed, want, got)
		}
		if diff := cmp.Diff(heard.lines, again.lines); diff != "" {
			t.Fatalf("seed %d, what was heard (-new +reused):\n%s", seed, diff)
		}
		used.Reset(richConfig, rich(seed), nil)
		richWorld(used)
		if got := summary(used.Run(), used.Names()); got != want {
			t.Fatalf("seed %d:\nobserved:   %s\nunobserved: %s", seed, want, got)
		}
	}
}

// muddle leaves w in a state of one of several kinds.
func muddle(w *World, seed uint64) {
	w.Reset(richConfig, rich(seed*31), nil)
	switch seed % 6 {
	case 0:
		richWorld(w)
		w.Run()
	case 1: // spawned, never run
		richWorld(w)
	case 2: // a panic
		richWorld(w)
		spawn(w, "bad", func(p *Proc) { p.Sleep(30 * milli); panic("bad") })
		w.Run()
	case 3: // a script that nobody ends
		s := w.Script()
		richWorld(w)
		s.Settle()
		s.Advance(40 * milli)
		s.Crash(1, milli)
		s.PauseAt(2, "called")
		s.Advance(100 * milli)
	case 4: // a run that a limit cuts short
		cfg := richConfig
		cfg.MaxEvents = 37
		w.Reset(cfg, rich(seed), nil)
		richWorld(w)
		w.Run()
	case 5: // nothing at all
	}
}

// TestReplay: the recorded decisions give the same run again, also through text,
// and under another chooser.
func TestReplay(t *testing.T) {
	seeds := uint64(3000)
	if testing.Short() || underRace {
		seeds = 100
	}
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	replay := NewReplay(nil)
	quiet := &tape{}
	for seed := range seeds {
		w.Reset(richConfig, rich(seed), nil)
		richWorld(w)
		r := w.Run()
		want := summary(r, w.Names())
		schedule := slices.Clone(r.Decisions)
		replay.Reset(schedule)
		if got := richRun(w, replay, quiet); got != want {
			t.Fatalf("seed %d:\nrun:    %s\nreplay: %s", seed, want, got)
		}
		if seed%10 > 0 {
			continue
		}
		text := schedule.Text(w.Names())
		back, err := ParseSchedule(text, w.Names())
		if err != nil {
			t.Fatal(err)
		}
		if got := richRun(w, &Override{Schedule: NewReplay(back), Under: Calm{}}, quiet); got != want {
			t.Fatalf("seed %d:\nrun:       %s\nfrom text: %s", seed, want, got)
		}
	}
}

// TestAnySchedule: no schedule, however wrong, breaks the world, and its own
// decisions replay it.
func TestAnySchedule(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	decision := rapid.Custom(func(t *rapid.T) Decision {
		return Decision{
			Key: Key{
				Proc:  rapid.Int32Range(-1, 7).Draw(t, "process"),
				Site:  Site(rapid.IntRange(0, SiteCount-1).Draw(t, "site")),
				Count: rapid.Uint32Range(0, 40).Draw(t, "count"),
			},
			Option: rapid.IntRange(-1, 9).Draw(t, "option"),
		}
	})
	heard, again := everything(), everything()
	rapid.Check(t, func(t *rapid.T) {
		s := Schedule(rapid.SliceOfN(decision, 0, 40).Draw(t, "schedule"))
		want := richRun(w, NewReplay(s), heard)
		if heard.fault != "" {
			t.Fatal(heard.fault)
		}
		got := richRun(w, NewReplay(slices.Clone(w.decisions)), again)
		if got != want {
			t.Fatalf("run:    %s\nreplay: %s", want, got)
		}
		for _, d := range w.decisions {
			if d.Option < 1 {
				t.Fatalf("recorded a decision that is none: %+v", d)
			}
			if w.Describe(d) == "" {
				t.Fatalf("no words for %+v", d)
			}
		}
	})
}

// TestDecisionChangesRun: one decision less is another run: the digest sees it.
func TestDecisionChangesRun(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	heard := everything()
	same := 0
	total := 0
	seeds := uint64(10)
	if underRace {
		seeds = 3
	}
	for seed := range seeds {
		want := richRun(w, rich(seed), heard)
		schedule := slices.Clone(w.decisions)
		for i, d := range schedule {
			if d.Site == SiteTie || d.Site == SiteTask || d.Site == SiteDisk || d.Site == SiteUser {
				continue // may come to the same
			}
			total++
			less := slices.Delete(slices.Clone(schedule), i, i+1)
			got := richRun(w, NewReplay(less), heard)
			if got[:16] == want[:16] {
				same++
				t.Errorf("seed %d: the same digest without %+v", seed, d)
			}
		}
	}
	if total < 100 && !underRace {
		t.Errorf("only %d decisions tried", total)
	}
}
