package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"staleproof/scenarios"
)

// TestShrinkTable shrinks the first kill of every property that a defect must
// break: the run that remains is small, and none of its decisions can be left out.
// With -v it prints the table.
func TestShrinkTable(t *testing.T) {
	if raceDetector {
		t.Skip("one world and no goroutine: nothing to race, and a hundred times slower")
	}
	var left []int
	var table strings.Builder
	fmt.Fprintf(&table, "%-58s %5s  %5s  %4s  parameters\n", "defect and property", "found", "left", "runs")
	for _, sc := range scenarios.Scenarios() {
		for _, x := range sc.Defects {
			for _, p := range x.Breaks {
				left = append(left, shrinkRow(t, &table, sc, x, p))
			}
		}
	}
	t.Logf("\n%s", table.String())
	slices.Sort(left)
	if m := left[len(left)/2]; m > 5 {
		t.Errorf("expected a median of at most 5 decisions, found %d", m)
	}
}

// shrinkRow returns how many decisions are left.
func shrinkRow(t *testing.T, table *strings.Builder, sc *scenarios.Scenario, x scenarios.Exposure, property string) int {
	opt := scenarios.Options{Defects: x.Defect, Properties: []string{property}}
	row := sc.Name + " " + x.Defect.String() + " " + property
	c := mustFuzz(t, Fuzz{Scenario: sc, Options: opt, To: 20_000, Until: 1})
	k, ok := c.Kill(property)
	if !ok {
		t.Errorf("%s: expected a kill in %d schedules, found none", row, c.Schedules)
		return 0
	}
	small, err := Shrink(sc, opt, k, property)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(table, "%-58s %5d  %5d  %4d  clients %d, acquisitions %d, writes %d\n", row, len(k.Schedule), len(small.Schedule), small.Runs,
		small.Params.Clients, small.Params.Acquisitions, small.Params.Writes)
	if small.Runs > MaxShrinkRuns {
		t.Errorf("%s: expected at most %d runs, found %d", row, MaxShrinkRuns, small.Runs)
	}
	if sc.Name == "textbook" && property == "no-stale-write" && len(small.Schedule) > 3 {
		t.Errorf("%s: expected at most 3 decisions, found %d", row, len(small.Schedule))
	}
	r, err := scenarios.NewRunner(sc, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range small.Schedule {
		rest := slices.Delete(slices.Clone(small.Schedule), i, i+1)
		if o := r.Replay(&small.Params, rest); slices.Contains(o.Broken(), property) && small.Runs < MaxShrinkRuns {
			t.Errorf("%s: expected decision %d of %v to be needed", row, i, small.Schedule)
		}
	}
	again, err := Shrink(sc, opt, k, property)
	if err != nil || again.Digest != small.Digest || again.Runs != small.Runs {
		t.Errorf("%s: expected to shrink to the same run once more, found %v", row, again)
	}
	return len(small.Schedule)
}
