package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"staleproof/model/history"
)

// JUnit writes doc as JUnit XML, in the dialect that Jenkins, GitLab and the
// GitHub reporters share: a suite for each scenario; in it a case for each
// property that a run's defect must break or that the run broke, or one case
// for all properties where there is none.
//
// What a recorded history was not judged by is a case that is skipped.
//
// A case passes when its run is as expected: a planted defect that is caught
// passes, one that survives fails. An inconclusive run is an error, never a
// pass. Durations are zero, so that the same document gives the same bytes.
func JUnit(w io.Writer, doc *Document) error {
	if err := doc.validate(); err != nil {
		return err
	}
	out := junitSuites{Name: "staleproof", Time: "0"}
	suite := map[string]int{}
	for i := range doc.Runs {
		run := &doc.Runs[i]
		at, ok := suite[run.Scenario]
		if !ok {
			at = len(out.Suites)
			suite[run.Scenario] = at
			out.Suites = append(out.Suites, junitSuite{Name: run.Scenario, Time: "0"})
		}
		out.Suites[at].add(run)
	}
	for i := range out.Suites {
		s := &out.Suites[i]
		s.nameApart()
		s.print()
		out.Tests, out.Failures, out.Errors = out.Tests+s.Tests, out.Failures+s.Failures, out.Errors+s.Errors
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("junit: %w", err)
	}
	if _, err := io.WriteString(w, xml.Header+string(text)+"\n"); err != nil {
		return fmt.Errorf("junit: %w", err)
	}
	return nil
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitProblem `xml:"failure"`
	Error   *junitProblem `xml:"error"`
	Skipped *junitSkipped `xml:"skipped"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitProblem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// add appends the cases of a run.
func (s *junitSuite) add(run *Run) {
	properties := union(run.Breaks, run.Broken)
	if len(properties) == 0 {
		properties = []string{""}
	}
	for _, p := range properties {
		c := junitCase{Name: caseName(run, p), Class: "staleproof." + run.Scenario, Time: "0"}
		switch {
		case run.Status == Inconclusive:
			c.Error = inconclusive(run)
			s.Errors++
		case !run.Expected && !caughtBesideAMiss(run, p):
			c.Failure = failure(run, p)
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
		s.Tests++
	}
	for _, p := range run.Skipped {
		s.Cases = append(s.Cases, junitCase{Name: caseName(run, p.Key), Class: "staleproof." + run.Scenario, Time: "0", Skipped: &junitSkipped{p.Value}})
		s.Tests++
		s.Skipped++
	}
}

// nameApart numbers cases of one name, because GitLab shows only one of them.
func (s *junitSuite) nameApart() {
	seen := map[string]int{}
	for i := range s.Cases {
		c := &s.Cases[i]
		seen[c.Name]++
		if n := seen[c.Name]; n > 1 {
			c.Name += " (" + strconv.Itoa(n) + ")"
		}
	}
}

// print makes the texts printable, as CI systems show them on terminals.
func (s *junitSuite) print() {
	texts := []*string{&s.Name}
	for i := range s.Cases {
		c := &s.Cases[i]
		texts = append(texts, &c.Name, &c.Class)
		if c.Skipped != nil {
			texts = append(texts, &c.Skipped.Message)
		}
		for _, p := range []*junitProblem{c.Failure, c.Error} {
			if p != nil {
				texts = append(texts, &p.Message, &p.Type, &p.Text)
			}
		}
	}
	for _, text := range texts {
		*text = history.Printable(*text)
	}
}

func caseName(run *Run, property string) string {
	who := "control"
	switch {
	case run.recorded():
		who = "history"
	case !run.control():
		who = run.Defect
	}
	switch {
	case property == "":
		return who + ": all properties"
	case has(run.Breaks, property):
		return who + ": breaks " + property
	}
	return who + ": " + property
}

// caughtBesideAMiss says whether property was broken as the defect demands, in
// a run that is unexpected because another one was not: only that one fails.
func caughtBesideAMiss(run *Run, property string) bool {
	if !has(run.Breaks, property) || !has(run.Broken, property) {
		return false
	}
	for _, b := range run.Breaks {
		if !has(run.Broken, b) {
			return true
		}
	}
	return false
}

func inconclusive(run *Run) *junitProblem {
	message := "inconclusive" + run.after()
	if run.Reason != "" {
		message += ": " + run.Reason
	}
	return &junitProblem{Message: message, Type: string(Inconclusive), Text: message + "\n"}
}

// after says after how much a run came to its verdict.
func (r *Run) after() string {
	if r.recorded() {
		return ""
	}
	return " after " + r.effort()
}

func failure(run *Run, property string) *junitProblem {
	for i := range run.Findings {
		if f := &run.Findings[i]; property == "" || f.Property == property {
			return &junitProblem{Message: f.Message, Type: f.Property, Text: words(f)}
		}
	}
	message := fmt.Sprintf("not as expected: %s%s", run.Status, run.after())
	switch {
	case has(run.Breaks, property) && !has(run.Broken, property):
		message = fmt.Sprintf("the defect %s survived: it must break %s, and %s did not", run.defect(), property, run.effort())
	case property != "" && run.Schedules == 0:
		message = "broke " + property
	case property != "":
		message = fmt.Sprintf("broke %s in schedule %d", property, run.First+1)
	}
	if run.Reason != "" {
		message += ": " + run.Reason
	}
	return &junitProblem{Message: message, Type: string(run.Status), Text: message + "\n"}
}

// words tells a finding as plain text.
func words(f *Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Message)
	if f.Guarantee != "" {
		fmt.Fprintf(&b, "\nGuarantee: %s\n", f.Guarantee)
	}
	if short := f.Short(); short != "" {
		fmt.Fprintf(&b, "\nIn short: %s\n", short)
	}
	if len(f.Chain) > 0 {
		b.WriteString("\nWhat happened:\n")
	}
	for i, l := range f.Chain {
		fmt.Fprintf(&b, "%3d. #%d %s\n", i+1, l.Index, l.Text)
	}
	if len(f.Decisions) > 0 {
		b.WriteString("\nDecisions of the schedule:\n")
	}
	for _, d := range f.Decisions {
		fmt.Fprintf(&b, "  - %s\n", d)
	}
	if len(f.Work) > 0 {
		fmt.Fprintf(&b, "With less work: %s\n", strings.Join(f.Work, ", "))
	}
	if f.Replay != "" {
		fmt.Fprintf(&b, "\nReplay:\n  %s\n", f.Replay)
	}
	return b.String()
}

func has(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// union lists the strings of a and then those only in b, each once.
func union(a, b []string) []string {
	var out []string
	for _, list := range [][]string{a, b} {
		for _, s := range list {
			if !has(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}
