package search

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/scenarios"
	"staleproof/sim"
)

// update rewrites the table of what shrinking comes to: go test -update.
var update = flag.Bool("update", false, "rewrite SHRINKS.md")

// TestShrinkTable shrinks the first kill of every property that a defect must
// break: the run that remains is small, and none of its decisions can be left out.
// The table of it is in SHRINKS.md.
func TestShrinkTable(t *testing.T) {
	if raceDetector {
		t.Skip("one world and no goroutine: nothing to race, and a hundred times slower")
	}
	var left []int
	var table strings.Builder
	for _, sc := range scenarios.Scenarios() {
		for _, x := range sc.Defects {
			for _, p := range x.Breaks {
				left = append(left, shrinkRow(t, &table, sc, x, p))
			}
		}
	}
	slices.Sort(left)
	m := left[len(left)/2]
	if m > 5 {
		t.Errorf("expected a median of at most 5 decisions, found %d", m)
	}
	fmt.Fprintf(&table, "\nThe median is %s, the most are %d.\n", number(m), left[len(left)-1])
	keepTable(t, "SHRINKS.md", table.String())
}

func number(decisions int) string {
	if decisions == 1 {
		return "1 decision"
	}
	return fmt.Sprintf("%d decisions", decisions)
}

// keepTable compares what stands behind the last heading of a file, or rewrites it.
func keepTable(t *testing.T, file, table string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(string(text), "|---") // the table's rule
	at += strings.IndexByte(string(text[at:]), '\n') + 1
	if *update {
		if err := os.WriteFile(file, append(text[:at:at], table...), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text[at:]), table); diff != "" {
		t.Errorf("%s (-want +got), go test ./scenarios/search -update rewrites it:\n%s", file, diff)
	}
}

// shrinkRow returns how many decisions are left.
func shrinkRow(t *testing.T, table *strings.Builder, sc *scenarios.Scenario, x scenarios.Exposure, property string) int {
	row := sc.Name + " " + x.Defect.String() + " " + property
	f := Fuzz{Scenario: sc, Options: scenarios.Options{Defects: x.Defect, Properties: []string{property}}, To: 20_000, Until: 1}
	c := mustFuzz(t, f)
	if len(c.Kills) == 0 {
		t.Errorf("%s: expected a kill in %d schedules, found none", row, c.Schedules)
		return 0
	}
	found, err := f.Explain(c, property)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(table, "| %s %s | %s | %d | %d | %d | %s |\n", sc.Name, strings.ReplaceAll(x.Defect.String(), "+", " + "), property,
		found.Decisions, found.Left, found.Runs, decisionsText(found))
	if found.Runs >= MaxShrinkRuns {
		t.Errorf("%s: expected fewer than %d runs, found %d", row, MaxShrinkRuns, found.Runs)
	}
	if n := found.Left; sc.Name == "textbook" && property == "no-stale-write" && (n < 1 || n > 3) {
		t.Errorf("%s: expected 1 to 3 decisions, found %d", row, n)
	}
	checkMinimal(t, row, &f, found)
	again, err := f.Explain(c, property)
	if err != nil || again.Run.Token() != found.Run.Token() || again.Runs != found.Runs {
		t.Errorf("%s: expected to shrink to the same run once more, found %+v, %v", row, again, err)
	}
	return found.Left
}

// decisionsText says what is left.
func decisionsText(f *Finding) string {
	var words []string
	for _, d := range f.Finding.Decisions {
		if _, after, ok := strings.Cut(d, ": "); ok {
			d = after
		}
		words = append(words, d)
	}
	if len(words) == 0 {
		words = []string{"none: the calm run breaks it"}
	}
	if len(f.Work) > 0 {
		words = append(words, "less work: "+strings.Join(f.Work, ", "))
	}
	return strings.Join(words, "; ")
}

// checkMinimal leaves out each decision by itself: the failure has to vanish.
func checkMinimal(t *testing.T, row string, f *Fuzz, found *Finding) {
	t.Helper()
	r, err := scenarios.NewRunner(f.Scenario, f.Options)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, s, left := found.Run.Params, found.Run.Schedule, 0
	try := func(p scenarios.Params, s sim.Schedule, without string) {
		left++
		if o := r.Replay(&p, s); slices.Contains(o.Broken(), found.Property) {
			t.Errorf("%s: expected decision %q to be needed", row, without)
		}
	}
	for i := range s {
		try(p, slices.Delete(slices.Clone(s), i, i+1), s[i:i+1].Text(nil))
	}
	for _, d := range scenarios.ParamTable() {
		own := p
		if err := own.Set(d.Name, d.Get(&f.Scenario.Params)); err != nil {
			t.Fatal(err)
		}
		if r.CountDecisions(&own, s) < r.CountDecisions(&p, s) {
			try(own, s, d.Name)
		}
	}
	if left != found.Left {
		t.Errorf("%s: expected to leave out each of %d decisions, found %d", row, found.Left, left)
	}
}
