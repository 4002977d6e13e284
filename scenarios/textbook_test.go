package scenarios

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"staleproof/checker"
	"staleproof/sim"
)

// seedsOf runs seeds of a scenario and calls each with every outcome, until it
// returns false.
func seedsOf(t *testing.T, sc *Scenario, opt Options, n uint64, each func(seed uint64, p *Plan, o *Outcome) bool) {
	t.Helper()
	r, err := NewRunner(sc, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for seed := range n {
		p := PlanAt(sc, seed)
		o := r.Run(&p)
		if !each(seed, &p, &o) {
			return
		}
	}
}

// controlSeeds is how many seeds the tests run of each control; the command runs
// more.
const controlSeeds = 2000

// TestControls: without a defect nothing is broken, and the danger occurs.
func TestControls(t *testing.T) {
	for _, sc := range Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			var facts checker.Counts
			seedsOf(t, sc, Options{}, controlSeeds, func(seed uint64, _ *Plan, o *Outcome) bool {
				if len(o.Violations) > 0 || len(o.Inconclusive) > 0 {
					t.Errorf("seed %d: %v, inconclusive: %v", seed, o.Violations, o.Inconclusive)
				}
				for i, n := range o.Sometimes {
					facts[i] += n
				}
				return !t.Failed()
			})
			if missing := sc.Missing(facts); len(missing) > 0 {
				t.Errorf("the danger never occurred: %v", missing)
			}
			if facts[checker.StaleWriteAttempted] != facts[checker.StaleWriteRejected] {
				t.Errorf("expected every stale write to be rejected, found %d attempted and %d rejected",
					facts[checker.StaleWriteAttempted], facts[checker.StaleWriteRejected])
			}
		})
	}
}

// killBudget is within how many seeds a defect must break each property it is
// named for.
const killBudget = 10_000

// TestKillMatrix: every defect breaks its named properties in some schedule.
func TestKillMatrix(t *testing.T) {
	for _, sc := range Scenarios() {
		for _, x := range sc.Defects {
			t.Run(sc.Name+"/"+x.Defect.String(), func(t *testing.T) {
				missing := slices.Clone(x.Breaks)
				least := uint64(0)
				if len(x.Holds) > 0 {
					least = 1000
				}
				seedsOf(t, sc, Options{Defects: x.Defect}, killBudget, func(seed uint64, _ *Plan, o *Outcome) bool {
					for _, p := range o.Broken() {
						if slices.Contains(x.Holds, p) {
							t.Errorf("seed %d: expected %s to hold", seed, p)
						}
						missing = slices.DeleteFunc(missing, func(m string) bool { return m == p })
					}
					return len(missing) > 0 || seed < least
				})
				if len(missing) > 0 {
					t.Errorf("expected %v to break within %d seeds", missing, killBudget)
				}
			})
		}
	}
}

// TestEveryPropertyIsBroken: a property that no defect of any scenario breaks
// might not be watched.
func TestEveryPropertyIsBroken(t *testing.T) {
	broken := map[string]bool{}
	for _, sc := range Scenarios() {
		for _, x := range sc.Defects {
			for _, property := range x.Breaks {
				broken[property] = true
				if !slices.Contains(sc.Properties, property) {
					t.Errorf("scenario %s: %s should break %s, which is not judged", sc.Name, x.Defect, property)
				}
			}
		}
	}
	for _, sc := range Scenarios() {
		for _, property := range sc.Properties {
			if !broken[property] {
				t.Errorf("scenario %s: no defect breaks %s", sc.Name, property)
			}
		}
	}
}

// TestDigests: the same plan gives the same digest on every machine,
// architecture and GOMAXPROCS, with and without -race.
func TestDigests(t *testing.T) {
	for _, procs := range []int{1, 2} {
		old := runtime.GOMAXPROCS(procs)
		var b strings.Builder
		for _, sc := range Scenarios() {
			for _, x := range append([]Exposure{{}}, sc.Defects...) {
				seedsOf(t, sc, Options{Defects: x.Defect}, 8, func(seed uint64, _ *Plan, o *Outcome) bool {
					fmt.Fprintf(&b, "%s %s seed %d: %016x, %d events\n", sc.Name, x.Defect, seed, o.Result.Digest, o.Result.Events)
					return true
				})
			}
		}
		runtime.GOMAXPROCS(old)
		golden(t, "digests.golden", b.String())
	}
}

// TestReusedMemory: a run whose processes are made in the memory of earlier runs is
// the run that it is in a world of its own.
func TestReusedMemory(t *testing.T) {
	crashes := 0
	for _, sc := range Scenarios() {
		for _, x := range append([]Exposure{{}}, sc.Defects...) {
			seedsOf(t, sc, Options{Defects: x.Defect}, 25, func(seed uint64, p *Plan, o *Outcome) bool {
				fresh, err := NewRunner(sc, Options{Defects: x.Defect})
				if err != nil {
					t.Fatal(err)
				}
				defer fresh.Close()
				want := fresh.Run(p)
				if o.Result.Digest != want.Result.Digest || !slices.Equal(o.Broken(), want.Broken()) {
					t.Errorf("%s %s, seed %d: expected digest %016x, %v broken; after other runs found %016x, %v",
						sc.Name, x.Defect, seed, want.Result.Digest, want.Broken(), o.Result.Digest, o.Broken())
				}
				for _, d := range o.Result.Decisions {
					if d.Site == sim.SiteCrash {
						crashes++
					}
				}
				return true
			})
		}
	}
	if crashes < 50 {
		t.Errorf("expected crashes in these runs, found %d", crashes)
	}
}

// TestReplayOfDecisions: the decisions of a run, replayed, give the same run.
func TestReplayOfDecisions(t *testing.T) {
	r, err := NewRunner(&textbook, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for seed := range uint64(1000) {
		p := PlanAt(&textbook, seed)
		o := r.Run(&p)
		want := o.Result
		schedule := slices.Clone(want.Decisions)
		got := r.Replay(&p.Params, schedule).Result
		if got.Digest != want.Digest || got.Events != want.Events || got.Notes != want.Notes {
			t.Fatalf("seed %d: expected digest %016x, %d events; the replay has %016x, %d", seed, want.Digest, want.Events, got.Digest, got.Events)
		}
		full, h := r.Record(&p.Params, schedule)
		if full.Result.Digest != want.Digest {
			t.Fatalf("seed %d: recording changed the run", seed)
		}
		if last := h.Events[len(h.Events)-1]; last.Index > full.Result.Notes {
			t.Fatalf("seed %d: expected indexes up to %d, found %d", seed, full.Result.Notes, last.Index)
		}
	}
}

// TestShrinkIsLocallyMinimal: leaving any one decision out makes the failure
// vanish.
func TestShrinkIsLocallyMinimal(t *testing.T) {
	for _, x := range textbook.Defects {
		r, err := NewRunner(&textbook, Options{Defects: x.Defect})
		if err != nil {
			t.Fatal(err)
		}
		property := x.Breaks[0]
		seedsOf(t, &textbook, Options{Defects: x.Defect}, killBudget, func(seed uint64, p *Plan, o *Outcome) bool {
			if !slices.Contains(o.Broken(), property) {
				return true
			}
			small := r.Shrink(&p.Params, slices.Clone(o.Result.Decisions), property, 500)
			most := 5
			if property == "no-stale-write" {
				most = 3
			}
			if len(small.Schedule) > most || small.Runs >= 500 {
				t.Errorf("%s: expected at most %d decisions in less than 500 runs, found %d in %d", x.Defect, most, len(small.Schedule), small.Runs)
			}
			for i := range small.Schedule {
				rest := slices.Delete(slices.Clone(small.Schedule), i, i+1)
				o := r.Replay(&small.Params, rest)
				if slices.Contains(o.Broken(), property) {
					t.Errorf("%s: decision %d of %d is not needed", x.Defect, i, len(small.Schedule))
				}
			}
			return false
		})
		r.Close()
	}
}
