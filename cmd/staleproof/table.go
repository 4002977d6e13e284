package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"staleproof/checker"
	"staleproof/scenarios"
)

// heading begins the table of a scenario.
func (a *app) heading(sc *scenarios.Scenario, trials []trial, o *runOptions) {
	if a.quiet {
		return
	}
	a.printf("%s\n%s\n", a.style(bold, sc.Name), wrap("  ", "  ", sc.Doc))
	defect := fmt.Sprintf("  %-*s", defectWidth(sc, trials), "defect")
	if o.matrix {
		a.matrixHeading(sc, defect, o)
		return
	}
	a.printf("%s\n", a.style(dim, defect+"  schedules  verdict      broke"))
}

// defectWidth is that of the first column of a scenario's table.
func defectWidth(sc *scenarios.Scenario, trials []trial) int {
	n := len("defect")
	for _, t := range trials {
		if t.scenario == sc {
			n = max(n, len(t.defect()))
		}
	}
	return n
}

// verdictWidth leaves room beside the longest name of a defect for two properties.
const verdictWidth = 13

// row prints a trial in the table, as soon as it has been judged.
func (a *app) row(r *result, trials []trial, o *runOptions) {
	if a.quiet {
		return
	}
	defect := fmt.Sprintf("  %-*s", defectWidth(r.scenario, trials), r.defect())
	if o.matrix {
		a.matrixRow(r, defect)
		return
	}
	verdict, colour := r.verdict()
	broke := strings.Join(r.Broken(), ", ")
	if broke == "" {
		broke = "nothing"
	}
	head := fmt.Sprintf("%s  %9s  ", defect, count(r.Schedules))
	indent := strings.Repeat(" ", len(head)+verdictWidth)
	cell := strings.TrimPrefix(wrap(indent, indent, broke), indent)
	a.printf("%s%s%s", head, a.padded(colour, verdict, verdictWidth), cell)
}

// verdict is a trial's in a word, and its colour.
func (r *result) verdict() (string, string) {
	switch {
	case r.Outcome == checker.Inconclusive:
		return "inconclusive", yellow
	case r.control() || r.planted:
		if r.Expected {
			return "satisfied", green
		}
		return "violated", red
	case r.Expected:
		return "caught", green
	}
	return "SURVIVED", red
}

// complaint says what is not as expected.
func (r *result) complaint() string {
	who := name(r.scenario.Name, r.defect())
	if broken := r.Broken(); r.control() || r.planted {
		if len(broken) == 0 {
			return who + ": " + r.Reason // a script
		}
		return who + " broke " + strings.Join(broken, ", ")
	}
	return who + " was not caught"
}

// cellWidth is that of a column of the matrix.
const cellWidth = 7

// matrixHeading numbers the properties, whose names are too long for columns.
func (a *app) matrixHeading(sc *scenarios.Scenario, defect string, o *runOptions) {
	a.printf("%s\n", wrap("  ", "  ", fmt.Sprintf("How many schedules, of %s, each defect took to break each property; * where it must.", count(int64(o.seeds.to-o.seeds.from)))))
	for i, p := range sc.Properties {
		a.printf("  %2d %s\n", i+1, p)
	}
	line := defect
	for i := range sc.Properties {
		line += fmt.Sprintf("%*d ", cellWidth-1, i+1)
	}
	a.printf("\n%s\n", a.style(dim, strings.TrimRight(line, " ")))
}

func (a *app) matrixRow(r *result, defect string) {
	line := defect
	for _, p := range r.scenario.Properties {
		cell, mark := "-", " "
		if n := r.soonest(p); n > 0 {
			cell = count(n)
		}
		if slices.Contains(r.exposure.Breaks, p) {
			mark = "*"
		}
		line += fmt.Sprintf("%*s%s", cellWidth-1, cell, mark)
	}
	a.printf("%s\n", strings.TrimRight(line, " "))
}

// footing ends the table of a scenario: how its control was tried, and why a
// verdict is not the expected one.
func (a *app) footing(results []*result, o *runOptions) {
	sc := results[0].scenario
	a.gap()
	for _, r := range results {
		if r.Reason != "" {
			verdict, colour := r.verdict()
			a.printf("%s", wrap("  "+a.style(colour, verdict)+" ", "    ", name(sc.Name, r.defect())+": "+r.Reason))
		}
	}
	control := results[0]
	if a.quiet || o.matrix || !control.control() {
		return
	}
	var met []string
	for _, c := range exercised(control.Sometimes, sc.Sometimes) {
		met = append(met, c.Name+" "+count(c.Count))
	}
	a.printf("%s", wrapWords("  control  met ", strings.Repeat(" ", 11), commas(met)))
	if control.Expected && len(sc.Scripts) > 0 {
		a.scripts(sc)
	}
}

// scripts tells which directed scripts went well, and shows the first.
func (a *app) scripts(sc *scenarios.Scenario) {
	var names []string
	for _, s := range sc.Scripts {
		names = append(names, s.Name)
	}
	a.printf("%s", wrapWords("  scripts  broke nothing: ", strings.Repeat(" ", 11), commas(names)))
	a.script(sc, &sc.Scripts[0])
}

// commas puts a comma behind all texts but the last.
func commas(list []string) []string {
	for i := range len(list) - 1 {
		list[i] += ","
	}
	return list
}

// epilogue tells in words what was broken.
func (a *app) epilogue(results []*result) {
	replays := false
	for _, r := range results {
		if len(r.findings) == 0 || a.quiet && r.Expected {
			continue
		}
		a.gap()
		a.printf("%s\n", a.style(bold, name(r.scenario.Name, r.defect())))
		if !r.control() {
			a.printf("%s", wrap("  ", "  ", r.doc()))
		}
		a.gap()
		a.findings(r.findings, !r.Expected)
		replays = replays || r.findings[0].Replay != ""
	}
	if replays {
		a.gap()
		a.printf("In a clone, write \"go run ./cmd/staleproof\" for \"staleproof\".\n")
	}
}

// script prints how a directed script went.
func (a *app) script(sc *scenarios.Scenario, s *scenarios.Script) {
	p, err := scenarios.RunScript(sc, s, scenarios.Options{})
	if err != nil {
		return // it was judged, and reported, before
	}
	a.gap()
	a.printf("%s", wrap("  ", "  ", s.Name+": "+s.Doc))
	for line := range strings.Lines(p.Transcript()) {
		a.printf("    %s", line)
	}
}

// verdict sums the trials up in a line.
func (a *app) verdict(results []*result, took time.Duration) string {
	var defects, caught int64
	var bad, open []string
	for _, r := range results {
		if !r.control() {
			defects++
		}
		switch {
		case r.Outcome == checker.Inconclusive:
			open = append(open, name(r.scenario.Name, r.defect()))
		case !r.Expected:
			bad = append(bad, r.complaint())
		case !r.control():
			caught++
		}
	}
	effort := fmt.Sprintf(" (%.1f s)", took.Seconds())
	switch a.code {
	case exitViolation:
		head := "not as expected:"
		if results[0].planted {
			head = "violated:"
		}
		return wrap(a.style(red, head)+" ", "  ", strings.Join(bad, ", ")+effort)
	case exitInconclusive:
		if len(open) == 0 {
			open = []string{"interrupted"}
		}
		return wrap(a.style(yellow, "inconclusive:")+" ", "  ", strings.Join(open, ", ")+effort)
	}
	text := "the control broke nothing"
	switch {
	case results[0].planted:
		text = "nothing broke"
	case defects > 0:
		text += fmt.Sprintf(", %d of %d defects were caught", caught, defects)
	}
	return wrap(a.style(green, "as expected:")+" ", "  ", text+effort)
}
