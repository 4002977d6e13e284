package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"staleproof/model"
	"staleproof/sim"
	"staleproof/sim/explore"
)

// searchOptions keep the tests of one machine alike.
var searchOptions = explore.Options{Workers: 2, MaxStates: 3_000_000}

// bounded is the scenario at the size at which its defects are searched; those
// of renewals need one.
func bounded(sc *Scenario, d model.Defects) Bounds {
	b := sc.Bounds()
	if sc.Searched {
		return b
	}
	b.Faults = map[sim.Site]int{sim.SiteDuplicate: 1, sim.SiteCrash: 1, sim.SiteStall: 1}
	switch {
	case d.Has(model.RenewalRaisesToken):
		b.Params.Renew, b.Params.Renewals, b.Faults = 1, 1, nil
	case d.Has(model.StoreReappliesCopies):
		b.Params.Clients, b.Params.Acquisitions, b.Params.Tries, b.Params.Writes = 1, 2, 2, 2
		b.Faults = map[sim.Site]int{sim.SiteDuplicate: 1}
	case d.Has(model.SnapshotDropsFence):
		b.Params.Writes, b.Faults = 2, map[sim.Site]int{sim.SiteCrash: 1}
	}
	return b
}

// TestCounterexamples: the search finds the shortest counterexample of every
// defect, and its token replays it in the ordinary world to the same digest.
func TestCounterexamples(t *testing.T) {
	var b strings.Builder
	for _, sc := range AllScenarios() {
		for _, x := range sc.Defects {
			found, err := sc.Explore(bounded(sc, x.Defect), x.Defect, searchOptions)
			if err != nil {
				t.Fatalf("%s with %s: %v", sc.Name, x.Defect, err)
			}
			if found.Run == nil {
				t.Errorf("%s with %s: expected a counterexample, found %s", sc.Name, x.Defect, found.Covered())
				continue
			}
			fmt.Fprintf(&b, "%s with %s: %s, %d faults, %d steps, %d states\n", sc.Name, x.Defect, found.Property,
				found.Violation.Faults, found.Violation.Steps, found.States)
			checkCounterexample(t, sc, found)
		}
	}
	golden(t, "counterexamples.golden", b.String())
}

func checkCounterexample(t *testing.T, sc *Scenario, x *Explored) {
	t.Helper()
	rec, err := ParseToken(x.Run.Token())
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRunner(sc, Options{Defects: rec.Defects, Timing: rec.Timing})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o, h := r.Record(&rec.Params, rec.Schedule)
	if o.Result.Digest != rec.Digest {
		t.Errorf("%s with %s: expected digest %016x, found %016x", sc.Name, rec.Defects, rec.Digest, o.Result.Digest)
	}
	if len(o.Broken()) == 0 || len(h.Events) == 0 {
		t.Errorf("%s with %s: expected the replay to break something", sc.Name, rec.Defects)
	}
	if !sc.Searched && !slices.Contains(o.Broken(), x.Property) {
		t.Errorf("%s with %s: expected %s to break, found %v", sc.Name, rec.Defects, x.Property, o.Broken())
	}
}

// TestCuresAreComplete: no schedule without faults breaks a cure at the smallest
// size, and the number of states is known.
func TestCuresAreComplete(t *testing.T) {
	var b strings.Builder
	for _, sc := range AllScenarios() {
		bounds := sc.Bounds()
		bounds.Faults = map[sim.Site]int{sim.SiteDrop: 1}
		if sc.Searched {
			bounds.Params.Acquisitions = 1
		}
		x, err := sc.Explore(bounds, 0, searchOptions)
		if err != nil {
			t.Fatalf("%s: %v", sc.Name, err)
		}
		if !x.Complete() {
			t.Errorf("%s: expected a complete search, found %s, %+v", sc.Name, x.Covered(), x.Violation)
		}
		fmt.Fprintf(&b, "%s: %s, %d states, %d generated\n", sc.Name, x.Covered(), x.States, x.Generated)
	}
	golden(t, "cures.golden", b.String())
}

// TestTextbookIsComplete: with a message lost, one duplicated and one process
// crashed in the same run.
func TestTextbookIsComplete(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("more than a million states")
	}
	x, err := textbook.Explore(textbook.Bounds(), 0, searchOptions)
	if err != nil {
		t.Fatal(err)
	}
	if !x.Complete() || x.MaxFaults != 3 {
		t.Errorf("expected a complete search with at most 3 faults, found %s, %+v", x.Covered(), x.Violation)
	}
	golden(t, "textbook-complete.golden", fmt.Sprintf("%s, %d states, %d generated\n", x.Covered(), x.States, x.Generated))
}
