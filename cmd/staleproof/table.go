package main

import (
	"fmt"
	"slices"
	"strconv"
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
	a.printf("%s\n", a.style(dim, defect+"  schedules  verdict       broke"))
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
	indent := strings.Repeat(" ", len(head)+14)
	cell := strings.TrimPrefix(wrap(indent, indent, broke), indent)
	a.printf("%s%s%s", head, a.padded(colour, verdict, 14), cell)
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

// cellWidth is that of a column of the matrix.
const cellWidth = 8

// matrixHeading numbers the properties, whose names are too long for columns.
func (a *app) matrixHeading(sc *scenarios.Scenario, defect string, o *runOptions) {
	a.printf("  After how many schedules of %s each defect broke each property; * where it must.\n\n", count(int64(o.seeds.to-o.seeds.from)))
	for i, p := range sc.Properties {
		a.printf("  %2d %s\n", i+1, p)
	}
	line := defect
	for i := range sc.Properties {
		line += fmt.Sprintf("%*s", cellWidth-1, strconv.Itoa(i+1)) + " "
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

// epilogue prints, below the tables, what they are made of: how each control was
// tried, and in words what was broken.
func (a *app) epilogue(results []*result, o *runOptions) {
	replays := false
	for _, r := range results {
		if a.quiet && r.Expected {
			continue
		}
		if r.control() && !o.matrix || r.Reason != "" {
			a.tried(r)
		}
		if len(r.findings) == 0 {
			continue
		}
		a.printf("\n%s\n", a.style(bold, name(r.scenario.Name, r.defect())))
		if !r.control() {
			a.printf("%s", wrap("  ", "  ", r.doc()))
		}
		a.printf("\n")
		for i := range r.findings {
			if i == 0 {
				a.finding(&r.findings[i])
			} else {
				a.also(&r.findings[i])
			}
			replays = replays || r.findings[i].Replay != ""
		}
	}
	if replays || !a.quiet {
		a.printf("\n")
	}
	if replays {
		a.printf("In a clone, write \"go run ./cmd/staleproof\" for \"staleproof\".\n")
	}
}

// tried says how a trial came to its verdict.
func (a *app) tried(r *result) {
	a.printf("\n%s\n", a.style(bold, name(r.scenario.Name, r.defect())))
	if r.Reason != "" {
		verdict, colour := r.verdict()
		a.printf("%s", wrap("  "+a.style(colour, verdict)+": ", "    ", r.Reason))
	}
	if !r.control() {
		return
	}
	var met, scripts []string
	for _, c := range exercised(r.Sometimes, r.scenario.Sometimes) {
		met = append(met, count(c.Count)+" "+c.Name)
	}
	for _, s := range r.scenario.Scripts {
		scripts = append(scripts, s.Name)
	}
	a.field("judged", strings.Join(r.scenario.Properties, ", "))
	a.field("met", strings.Join(met, ", "))
	a.field("scripts", strings.Join(scripts, ", "))
	if r.Expected && len(r.scenario.Scripts) > 0 {
		a.script(r.scenario, &r.scenario.Scripts[0])
	}
}

// script prints how a directed script went.
func (a *app) script(sc *scenarios.Scenario, s *scenarios.Script) {
	p, err := scenarios.RunScript(sc, s, scenarios.Options{})
	if err != nil {
		return // it was judged, and reported, before
	}
	a.printf("\n%s", wrap("  ", "  ", s.Name+": "+s.Doc))
	for line := range strings.Lines(p.Transcript()) {
		a.printf("    %s", line)
	}
}

// verdict sums the trials up in a line.
func (a *app) verdict(results []*result, took time.Duration) string {
	var defects, caught, schedules int64
	var bad, open []string
	for _, r := range results {
		schedules += r.Schedules
		if !r.control() {
			defects++
		}
		switch {
		case r.Outcome == checker.Inconclusive:
			open = append(open, name(r.scenario.Name, r.defect()))
		case !r.Expected:
			word, _ := r.verdict()
			bad = append(bad, name(r.scenario.Name, r.defect())+" "+strings.ToLower(word))
		case !r.control():
			caught++
		}
	}
	effort := fmt.Sprintf(" (%s, %.1f s)", number(schedules, "schedule"), took.Seconds())
	planted := len(results) > 0 && results[0].planted
	switch a.code {
	case exitViolation:
		return a.style(red, "not as expected: ") + strings.Join(bad, ", ") + effort
	case exitInconclusive:
		if len(open) == 0 {
			open = []string{"interrupted"}
		}
		return a.style(yellow, "inconclusive: ") + strings.Join(open, ", ") + effort
	}
	text := "nothing broke without a defect"
	if planted {
		text = "nothing broke"
	} else if defects > 0 {
		text += fmt.Sprintf(", and %d of %d defects were caught", caught, defects)
	}
	return a.style(green, "as expected: ") + text + effort
}
