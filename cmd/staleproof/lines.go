package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"staleproof/checker"
	"staleproof/reports"
)

// The lines that --json prints, one object each. Only seconds may differ between
// two runs.

type runLine struct {
	Type      string   `json:"type"` // "run"
	Scenario  string   `json:"scenario"`
	Defect    string   `json:"defect"`
	Schedules int64    `json:"schedules"`
	Events    int64    `json:"events"`
	First     *int64   `json:"first,omitempty"` // the schedule, from 0, that first broke a property
	Status    string   `json:"status"`
	Expected  bool     `json:"expected"`
	Breaks    []string `json:"breaks"`
	Broken    []string `json:"broken"`
	Sometimes counts   `json:"sometimes"`
	Reason    string   `json:"reason,omitempty"`
	Seconds   elapsed  `json:"seconds"`
}

// killLine says how soon a defect broke a property.
type killLine struct {
	Type      string `json:"type"` // "kill"
	Scenario  string `json:"scenario"`
	Defect    string `json:"defect"`
	Property  string `json:"property"`
	Schedules int64  `json:"schedules"`
}

type findingLine struct {
	Type      string   `json:"type"` // "finding"
	File      string   `json:"file,omitempty"`
	Scenario  string   `json:"scenario,omitempty"`
	Defect    string   `json:"defect,omitempty"`
	Property  string   `json:"property"`
	Message   string   `json:"message"`
	Harm      string   `json:"harm,omitempty"`
	Cause     string   `json:"cause,omitempty"`
	Events    []int64  `json:"events"`
	Decisions []string `json:"decisions,omitzero"` // none of a recorded history
	Work      []string `json:"work,omitempty"`     // that is less than the scenario's
	Replay    string   `json:"replay,omitempty"`   // the token
}

type replayedLine struct {
	Type     string   `json:"type"` // "replayed"
	Scenario string   `json:"scenario"`
	Defect   string   `json:"defect"`
	Events   int64    `json:"events"`
	Digest   string   `json:"digest"`
	Status   string   `json:"status"`
	Broken   []string `json:"broken"`
	Unused   []string `json:"unused,omitempty"` // decisions that the run had no choice for
	Seconds  elapsed  `json:"seconds"`
}

type checkedLine struct {
	Type       string   `json:"type"` // "checked"
	File       string   `json:"file"`
	Model      string   `json:"model"`
	Operations int      `json:"operations"`
	Status     string   `json:"status"`
	Broken     []string `json:"broken"`
	Judged     []string `json:"judged"`
	NotJudged  []string `json:"notJudged"`
	Sometimes  counts   `json:"sometimes"`
	Warning    string   `json:"warning,omitempty"` // why a satisfied history is no plain pass
	Reason     string   `json:"reason,omitempty"`
	Notes      []string `json:"notes,omitempty"` // on how the history was read, and what was not judged
	Seconds    elapsed  `json:"seconds"`
}

type summaryLine struct {
	Type   string `json:"type"` // "summary"
	Status string `json:"status"`
	Exit   int    `json:"exit"`
}

// line prints a line for machines.
func (c *console) line(v any) {
	if !c.json {
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // no line has a field that cannot be encoded
	}
	c.status.clear()
	io.WriteString(c.stdout, printableJSON(b.String()))
}

// printableJSON escapes, as JSON does, the characters that a terminal interprets or does
// not show and that encoding/json leaves as they are, such as U+009B.
func printableJSON(line string) string {
	var b strings.Builder
	for _, r := range line {
		if r == '\n' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// summary prints the last line.
func (a *app) summary() {
	status := map[int]string{exitOK: "as-expected", exitViolation: "violated", exitUsage: "bad-input", exitInconclusive: "inconclusive"}[a.code]
	a.line(summaryLine{"summary", status, a.code})
}

// elapsed is a time in seconds, to the millisecond.
type elapsed time.Duration

func (s elapsed) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, math.Round(time.Duration(s).Seconds()*1000)/1000, 'f', -1, 64), nil
}

// counts is an object whose members keep their order.
type counts []reports.Count

func (c counts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, n := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", n.Name, n.Count)
	}
	return append(b, '}'), nil
}

// exercised lists the facts that occurred and those that had to, in the order of
// the catalogue.
func exercised(c checker.Counts, wanted []checker.Fact) counts {
	list := counts{}
	for f := checker.Fact(0); f < checker.FactCount; f++ {
		must := false
		for _, w := range wanted {
			must = must || w == f
		}
		if must || c[f] > 0 {
			list = append(list, reports.Count{Name: f.String(), Count: c[f]})
		}
	}
	return list
}

// orEmpty makes [] of nil, which would be null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
