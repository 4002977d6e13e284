package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"staleproof/checker"
	"staleproof/model/history"
	"staleproof/reports"
	"staleproof/scenarios"
	"staleproof/scenarios/search"
)

// told is a finding with what only the text says of it.
type told struct {
	reports.Finding
	token string // of the replay; empty for a history that nothing simulated
	clock string // the timing of the history, which says what its times are
	stack string // of a panic
}

// told turns an explained run into what is printed and reported.
func tell(f *scenarios.Finding) told {
	t := tellHistory(f.History, f.Finding)
	t.Decisions, t.Work = orEmpty(f.Decisions), f.Work
	t.token = f.Run.Token()
	t.Replay = replayCommand(t.token)
	t.Broken, t.Digest = f.Broken, fmt.Sprintf("%016x", f.Run.Digest)
	t.stack = f.Stack
	return t
}

// tellFound adds how it was found: in one of so many schedules.
func tellFound(f *search.Finding, schedules int64) told {
	t := tell(f.Finding)
	by := "schedule " + count(f.Schedule+1)
	if schedules > f.Schedule+1 { // the search went on
		by += " of " + count(schedules)
	}
	t.Found = "by " + by + "; " + shrunk(f)
	return t
}

// shrunk says how small a finding was made.
func shrunk(f *search.Finding) string {
	return fmt.Sprintf("shrunk from %s to %s in %s", number(int64(f.Decisions), "decision"), count(int64(f.Left)), number(int64(f.Runs), "run"))
}

// tellHistory is for a history that nothing is known of but its events: not even
// that there were no decisions.
func tellHistory(h *history.History, f checker.Finding) told {
	t := told{Finding: reports.Finding{Property: f.Property, Guarantee: f.Guarantee, Message: f.Message, Harm: f.Harm, Cause: f.Cause, Events: f.Events, At: f.At, Partial: f.Partial, NoPartial: f.NoPartial, History: h}, clock: h.Header.Timing}
	for _, l := range f.Chain {
		t.Chain = append(t.Chain, reports.Link(l))
	}
	return t
}

func replayCommand(token string) string { return "staleproof replay " + token }

// name says which scenario and which defect.
func name(scenario, defect string) string {
	if defect == "none" {
		return scenario
	}
	return scenario + " with " + defect
}

func colourOf(o checker.Outcome) string {
	switch o {
	case checker.Satisfied:
		return green
	case checker.Violated:
		return red
	}
	return yellow
}

// findings prints the first of a run's findings in full and the others in short;
// promised says to quote the guarantee that was broken.
func (c *console) findings(list []told, promised bool) {
	for i := range list {
		t := &list[i]
		if i == 0 {
			c.finding(t, promised)
			continue
		}
		c.gap()
		c.printf("%s", wrap("  also ", "    ", t.Message))
		if t.Replay != list[0].Replay {
			c.replay(t)
		}
	}
}

// finding prints a finding in full.
func (c *console) finding(t *told, promised bool) {
	c.broke(t)
	if t.Guarantee != "" && promised {
		c.printf("%s", wrap("    The guarantee: ", "    ", t.Guarantee))
	}
	if short := t.Short(); short != "" {
		c.printf("%s", wrap("    In short: ", "    ", short))
	}
	c.gap()
	c.chain(t)
	if t.token != "" || t.Replay != "" {
		c.gap()
	}
	c.decisions(t.Decisions, t.Decisions != nil)
	c.field("less work", strings.Join(t.Work, ", "))
	c.field("found", t.Found)
	c.field("also", t.others())
	c.replay(t)
	if t.stack != "" {
		c.gap()
		c.printf("%s\n", history.Printable(strings.TrimSpace(t.stack)))
	}
}

// others says what else the run of a finding broke, unless that is told next, as
// of a run that was replayed.
func (t *told) others() string {
	others := slices.DeleteFunc(slices.Clone(t.Broken), func(p string) bool { return p == t.Property })
	if t.Replay == "" || len(others) == 0 {
		return ""
	}
	return "the same run broke " + strings.Join(others, ", ")
}

// broke prints what was broken.
func (c *console) broke(t *told) {
	lines := wrap("  ", "    ", t.Message)
	first, rest, _ := strings.Cut(lines, "\n")
	head := "broke " + t.Property + ":"
	first = strings.Replace(first, head, c.style(red, head), 1)
	c.printf("%s\n%s", first, rest)
}

// chain prints the causal chain: number, time, event, words.
func (c *console) chain(t *told) {
	if len(t.Chain) == 0 {
		return
	}
	times := make([]string, len(t.Chain))
	timeWidth, indexWidth := 0, 0
	timed := slices.ContainsFunc(t.Chain, func(l reports.Link) bool { return l.Time != 0 })
	for i, l := range t.Chain {
		if timed { // some recorders note no time
			times[i] = scenarios.TimeText(l.Time, t.clock) + "  "
		}
		timeWidth = max(timeWidth, len(times[i]))
		indexWidth = max(indexWidth, len(strconv.FormatInt(l.Index, 10))+1)
	}
	numberWidth := len(strconv.Itoa(len(t.Chain))) + 2
	for i, l := range t.Chain {
		head := fmt.Sprintf("  %*d.  %*s%-*s  ", numberWidth-1, i+1, timeWidth, times[i], indexWidth, fmt.Sprintf("#%d", l.Index))
		c.printf("%s", wrap(head, strings.Repeat(" ", len(head)), l.Text))
	}
}

// decisions prints what differs from the calm run; simulated says that there is
// such a thing.
func (c *console) decisions(list []string, simulated bool) {
	if len(list) == 0 && simulated {
		c.field("decisions", "none: the calm run breaks it")
	}
	label := "decisions"
	if len(list) == 1 {
		label = "decision"
	}
	for _, d := range list {
		c.field(label, d)
		label = ""
	}
}

// field prints a labelled text, if there is one.
func (c *console) field(label, text string) {
	if text == "" {
		return
	}
	c.printf("%s", wrap(fmt.Sprintf("  %-9s  ", label), strings.Repeat(" ", 13), text))
}

// replay prints the command that reproduces a finding, on one line however long.
func (c *console) replay(t *told) {
	if t.Replay != "" {
		c.printf("  %-9s  %s\n", "replay", c.style(bold, t.Replay))
	}
}

// findingLine is the finding for machines.
func (t *told) line(scenario, defect, file string) findingLine {
	return findingLine{Type: "finding", File: file, Scenario: scenario, Defect: defect, Property: t.Property,
		Message: t.Message, Harm: t.Harm, Cause: t.Cause, Events: orEmpty(t.Events), Decisions: t.Decisions, Work: t.Work, Replay: t.token}
}
