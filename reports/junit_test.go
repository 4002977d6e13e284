package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

// suite has a run of every kind of verdict.
func suite() *Document {
	doc := textbook()
	survivor := Run{Scenario: "read-before-raise", Defect: "no-raise", Status: Satisfied, Schedules: 10000, Breaks: []string{"no-lost-update"},
		Sometimes: []Count{{"late-but-unfenced", 0}}}
	broken := Run{Scenario: "clocks", Status: Violated, Schedules: 12, First: 11, Broken: []string{"deadline"},
		Findings: []Finding{{Property: "deadline", Message: "A's deadline is 4ms later than the coordinator's expiry", Replay: "staleproof replay sp1:BBBB", Decisions: []string{"A's clock drifts by 900 ppm"}}}}
	open := Run{Scenario: "lf", Status: Inconclusive, Expected: true, Schedules: 3, Reason: "the search stopped at 1000 states"}
	doc.Runs = append(doc.Runs, survivor, broken, open)
	return doc
}

func TestSuiteGolden(t *testing.T) {
	var b bytes.Buffer
	doc := suite()
	if err := renderSuite(&b, doc, pageNames(doc)); err != nil {
		t.Fatal(err)
	}
	golden(t, "suite.html", scrub(t, b.Bytes()))
	b.Reset()
	if err := JUnit(&b, doc); err != nil {
		t.Fatal(err)
	}
	golden(t, "junit.xml", b.Bytes())
}

func TestJUnitVerdicts(t *testing.T) {
	finding := []Finding{{Property: "p", Message: "it broke", Replay: "staleproof replay sp1:CCCC"}}
	for _, test := range []struct {
		reason string
		run    Run
		want   []string // each case as "name = verdict"
	}{
		{"a control that holds passes", Run{Defect: "none", Status: Satisfied, Expected: true}, []string{"control: all properties = pass"}},
		{"a control that breaks fails", Run{Defect: "none", Status: Violated, Broken: []string{"p"}, Findings: finding}, []string{"control: p = failure"}},
		{"a control that breaks fails without a finding too", Run{Defect: "none", Status: Violated, Broken: []string{"p"}}, []string{"control: p = failure"}},
		{"not as expected fails whatever is listed", Run{Defect: "none", Status: Violated}, []string{"control: all properties = failure"}},
		{"a caught defect passes", Run{Defect: "d", Status: Violated, Expected: true, Breaks: []string{"p"}, Broken: []string{"p", "q"}}, []string{"d: breaks p = pass", "d: q = pass"}},
		{"a defect that survives fails", Run{Defect: "d", Status: Satisfied, Breaks: []string{"p"}}, []string{"d: breaks p = failure"}},
		{"of two, only the one that survives fails", Run{Defect: "d", Status: Violated, Breaks: []string{"p", "q"}, Broken: []string{"p"}}, []string{"d: breaks p = pass", "d: breaks q = failure"}},
		{"judged as a user's system, a violation fails", Run{Defect: "d", Status: Violated, Breaks: []string{"p"}, Broken: []string{"p"}, Findings: finding}, []string{"d: breaks p = failure"}},
		{"inconclusive is an error, even where it is expected", Run{Defect: "none", Status: Inconclusive, Expected: true}, []string{"control: all properties = error"}},
		{"a recorded history is no control", Run{Status: Violated, Broken: []string{"p"}}, []string{"history: p = failure"}},
		{"an exhaustive search has states for schedules", Run{Status: Satisfied, Expected: true, States: 7}, []string{"control: all properties = pass"}},
		{"inconclusive is an error for a defect", Run{Defect: "d", Status: Inconclusive, Breaks: []string{"p"}}, []string{"d: breaks p = error"}},
	} {
		test.run.Scenario = "s"
		var b bytes.Buffer
		if err := JUnit(&b, &Document{Format: Format, Runs: []Run{test.run}}); err != nil {
			t.Errorf("%s: %v", test.reason, err)
			continue
		}
		if diff := cmp.Diff(test.want, verdicts(t, b.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// verdicts reads a JUnit file back and holds its counts against its cases.
func verdicts(t *testing.T, text []byte) []string {
	t.Helper()
	var all junitSuites
	if err := xml.Unmarshal(text, &all); err != nil {
		t.Fatalf("the file is not well-formed: %v\n%s", err, text)
	}
	var out []string
	var sum junitSuites
	for _, s := range all.Suites {
		var n junitSuite
		for _, c := range s.Cases {
			verdict := "pass"
			n.Tests++
			switch {
			case c.Failure != nil:
				verdict = "failure"
				n.Failures++
			case c.Error != nil:
				verdict = "error"
				n.Errors++
			}
			out = append(out, c.Name+" = "+verdict)
		}
		if s.Tests != n.Tests || s.Failures != n.Failures || s.Errors != n.Errors {
			t.Errorf("suite %s says %d tests, %d failures, %d errors; its cases are %d, %d, %d", s.Name, s.Tests, s.Failures, s.Errors, n.Tests, n.Failures, n.Errors)
		}
		sum.Tests, sum.Failures, sum.Errors = sum.Tests+s.Tests, sum.Failures+s.Failures, sum.Errors+s.Errors
	}
	if all.Tests != sum.Tests || all.Failures != sum.Failures || all.Errors != sum.Errors {
		t.Errorf("the sums do not add up: %+v", all)
	}
	return out
}

func TestJUnitGroupsAndNamesApart(t *testing.T) {
	doc := &Document{Format: Format, Runs: []Run{
		{Scenario: "a", Defect: "none", Status: Satisfied, Expected: true},
		{Scenario: "b", Defect: "none", Status: Satisfied, Expected: true},
		{Scenario: "a", Defect: "none", Status: Satisfied, Expected: true},
	}}
	var b bytes.Buffer
	if err := JUnit(&b, doc); err != nil {
		t.Fatal(err)
	}
	want := []string{"control: all properties = pass", "control: all properties (2) = pass", "control: all properties = pass"}
	if diff := cmp.Diff(want, verdicts(t, b.Bytes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJUnitTellsTheFailure(t *testing.T) {
	doc := textbook()
	doc.Runs[1].Expected = false
	doc.Runs[1].Findings[0].Harm, doc.Runs[1].Findings[0].Cause = "A's write overwrote B's", "A was paused."
	var b bytes.Buffer
	if err := JUnit(&b, doc); err != nil {
		t.Fatal(err)
	}
	var all junitSuites
	if err := xml.Unmarshal(b.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	f := doc.Runs[1].Findings[0]
	got := all.Suites[0].Cases[1].Failure
	if got == nil || got.Message != f.Message || got.Type != f.Property {
		t.Fatalf("want a failure with the message of the finding, found %+v", got)
	}
	for _, want := range []string{f.Guarantee, f.Chain[5].Text, f.Decisions[0], f.Replay, "In short: A's write overwrote B's. A was paused."} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the failure does not say %q", want)
		}
	}
}

func TestJUnitSurvivesAnyText(t *testing.T) {
	for shift := range breakers {
		doc := disguised(textbook(), func(n int) string { return breakers[(n+shift)%len(breakers)] })
		for i := range doc.Runs {
			doc.Runs[i].Expected = false
			doc.Runs[i].Skipped = []KeyValue{{breakers[shift], breakers[shift]}}
		}
		var b bytes.Buffer
		if err := JUnit(&b, doc); err != nil {
			t.Fatal(err)
		}
		if n := len(verdicts(t, b.Bytes())); n != 4+len(doc.Runs) {
			t.Errorf("want 4 cases and those that are skipped, found %d", n)
		}
		if text := b.String(); history.Printable(text) != text || strings.Contains(text, "\ufffd") {
			t.Errorf("want printable text, found %q", text)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestJUnitReportsAFailedWrite(t *testing.T) {
	if err := JUnit(brokenPipe{}, textbook()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("want %v, found %v", os.ErrClosed, err)
	}
	if err := JUnit(brokenPipe{}, nil); err == nil {
		t.Error("want an error for a nil document")
	}
}
