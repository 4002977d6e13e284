package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"staleproof/checker"
	"staleproof/model/history"
	"staleproof/scenarios"
)

// heading begins the table of a scenario.
func (a *app) heading(sc *scenarios.Scenario, trials []trial, o *runOptions) {
	if a.quiet {
		return
	}
	a.printf("%s\n%s\n", a.style(bold, sc.Name), wrap("  ", "  ", sc.Doc))
	if !o.matrix {
		a.printf("%s\n", a.style(dim, fmt.Sprintf("  %-*s  schedules  verdict      broke", defectWidth(sc, trials), "defect")))
	}
}

// widestDefect is how wide the first column is at most: a longer name stands on a
// line of its own.
const widestDefect = 25

// defectWidth is that of the first column of a scenario's table.
func defectWidth(sc *scenarios.Scenario, trials []trial) int {
	n := len("defect")
	for _, t := range trials {
		if w := len(t.defect()); t.scenario == sc && w <= widestDefect {
			n = max(n, w)
		}
	}
	return n
}

// firstCell is the defect's name, filled up to the width of the column.
func firstCell(defect string, columnWidth int) string {
	if len(defect) > columnWidth {
		return fmt.Sprintf("  %s\n  %*s", defect, columnWidth, "")
	}
	return fmt.Sprintf("  %-*s", columnWidth, defect)
}

// verdictWidth leaves room beside the longest name of a defect for two properties.
const verdictWidth = 13

// row prints a trial in the table, as soon as it has been judged.
func (a *app) row(r *result, trials []trial, o *runOptions) {
	if a.quiet || o.matrix {
		return
	}
	verdict, colour := r.verdict()
	broke := strings.Join(r.Broken(), ", ")
	if broke == "" {
		broke = "nothing"
	}
	column := defectWidth(r.scenario, trials)
	indent := strings.Repeat(" ", 2+column+2+9+2+verdictWidth)
	cell := strings.TrimPrefix(wrap(indent, indent, broke), indent)
	a.printf("%s  %9s  %s%s", firstCell(r.defect(), column), count(r.Schedules), a.padded(colour, verdict, verdictWidth), cell)
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
	case len(r.Lost) > 0:
		return "unexpected", red
	}
	return "SURVIVED", red
}

// The matrix has cells of cellWidth, and blockSize properties side by side.
const (
	cellWidth = 7
	blockSize = 7
)

// matrix prints how soon each defect of a scenario broke each property. The
// properties are numbered: their names are too long for columns.
func (a *app) matrix(results []*result, trials []trial, o *runOptions) {
	sc := results[0].scenario
	a.printf("%s", wrap("  ", "  ", fmt.Sprintf("How many schedules, of %s, each defect took to break each property; * where it must.", count(int64(o.seeds.to-o.seeds.from)))))
	a.gap()
	for i, p := range sc.Properties {
		a.printf("  %2d %s\n", i+1, p)
	}
	column := defectWidth(sc, trials)
	for from := 0; from < len(sc.Properties); from += blockSize {
		block := sc.Properties[from:min(from+blockSize, len(sc.Properties))]
		line := firstCell("defect", column)
		for i := range block {
			line += fmt.Sprintf("%*d ", cellWidth-1, from+i+1)
		}
		a.gap()
		a.printf("%s\n", a.style(dim, strings.TrimRight(line, " ")))
		for _, r := range results {
			a.printf("%s\n", strings.TrimRight(firstCell(r.defect(), column)+r.cells(block), " "))
		}
	}
}

// cells says how soon the properties were broken.
func (r *result) cells(properties []string) string {
	line := ""
	for _, p := range properties {
		cell, mark := "-", " "
		if n := r.soonest(p); n > 0 {
			cell = count(n)
		}
		if slices.Contains(r.exposure.Breaks, p) {
			mark = "*"
		}
		line += fmt.Sprintf("%*s%s", cellWidth-1, cell, mark)
	}
	return line
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
	if len(r.Lost) > 0 {
		return who + " " + r.Reason
	}
	return who + " was not caught"
}

// footing ends the table of a scenario: how its control was tried, and why a
// verdict is not the expected one.
func (a *app) footing(results []*result, trials []trial, o *runOptions) {
	sc := results[0].scenario
	a.gap()
	if o.matrix && !a.quiet {
		a.matrix(results, trials, o)
		a.gap()
	}
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
		if r.Expected && r.exposure.Lesson != "" {
			a.gap()
			a.field("lesson", r.exposure.Lesson)
		}
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
		a.printf("    %s", history.Printable(line))
	}
}

// scenariosOf counts the scenarios of consecutive results.
func scenariosOf(results []*result) int {
	n := 0
	for i, r := range results {
		if i == 0 || results[i-1].scenario != r.scenario {
			n++
		}
	}
	return n
}

// verdict sums the trials up in a line.
func (a *app) verdict(results []*result, took time.Duration) string {
	var defects, caught int64
	bad, open := slices.Clone(a.regressed), []string(nil)
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
	text := "no control broke anything"
	if len(results) == 1 || results[len(results)-1].scenario == results[0].scenario {
		text = "the control broke nothing"
	}
	switch {
	case results[0].planted:
		text = "nothing broke"
	case defects > 0:
		text += fmt.Sprintf(", %d of %d defects were caught", caught, defects)
		if n := scenariosOf(results); n > 1 { // some are planted in several
			text += fmt.Sprintf(" in %d scenarios", n)
		}
	}
	return wrap(a.style(green, "as expected:")+" ", "  ", text+effort)
}
