package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"staleproof/model/history"
)

// Side is one of the two runs that [WriteDiff] lays beside each other.
type Side struct {
	Name   string // "the failing run"
	Status Status
	// Finding is what was found; of a run that passed it has only what is known:
	// the decisions, the command, the history, which must not be nil.
	Finding Finding
}

// WriteDiff writes diff.html into the folder dir, which it creates when it is
// missing: run a beside run b, usually a failing run and the nearest passing
// one. They are aligned on what they have in common: up to the first event that
// differs they are the same run, and that event is marked. A diff.html that is no
// such page is left alone: see [Replaceable].
func WriteDiff(dir string, a, b Side) error {
	body, err := renderDiff(a, b)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: expected a folder to write to: %w", err)
	}
	path := filepath.Join(dir, "diff.html")
	if err := Replaceable(path); err != nil {
		return err
	}
	return writeFile(path, body)
}

// Parting is where two runs stop being the same.
type Parting struct {
	Shared int  // events that both begin with
	Same   bool // neither has another
	// A and B tell the first event of each run that the other has not in its
	// place; empty where the run has ended.
	A, B string
}

// Part compares two runs as [WriteDiff] does.
func Part(a, b Side) (Parting, error) {
	if err := bothHistories(&a, &b); err != nil {
		return Parting{}, err
	}
	va, vb := sideView(&a), sideView(&b)
	p := Parting{Shared: shared(va.h.Events, vb.h.Events)}
	p.A, p.B = va.parting(p.Shared), vb.parting(p.Shared)
	p.Same = p.A == "" && p.B == ""
	return p, nil
}

func (v *view) parting(pos int) string {
	if pos >= len(v.h.Events) {
		return ""
	}
	return v.title(pos)
}

func bothHistories(a, b *Side) error {
	for _, s := range []*Side{a, b} {
		if s.Finding.History == nil {
			return fmt.Errorf("report: expected a history of %s, found none; replay it with --history", cmp.Or(s.Name, "a run"))
		}
	}
	return nil
}

func renderDiff(a, b Side) ([]byte, error) {
	if err := bothHistories(&a, &b); err != nil {
		return nil, err
	}
	d := newDiff(&a, &b)
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "diff", d); err != nil {
		return nil, fmt.Errorf("report: diff.html: %w", err)
	}
	return legible(out.Bytes()), nil
}

// Before the runs part the page shows maxShared events, after it maxParted of
// each.
const (
	maxShared = 12
	maxParted = 400
)

// diffPage is what the template of a diff shows.
type diffPage struct {
	Sides  [2]diffSide
	Shared int // events that both runs begin with
	Same   bool
	When   string // of the last event that is the same
	Ends   []diffEnd
	Before int // of the shared events that are not listed
	Rows   []diffRow
}

type diffSide struct {
	Side
	Heading     string
	Decisions   []diffDecision
	Total, More int // events, and those at the end that are not listed
	First       string
}

// diffDecision is a decision of one run; Own says that the other has it not.
type diffDecision struct {
	decision
	Own bool
}

// diffEnd is something that is known at the end of both runs.
type diffEnd struct {
	What        string
	Left, Right string
}

// diffRow is what happened in either run. Both says that it happened in both.
type diffRow struct {
	Left, Right *diffCell
	Shared      bool // in the same place of the run, to the letter
	Both        bool
	Part        bool // the first that is not shared
	LeftOut     int  // how many rows that are the same this one stands for
}

type diffCell struct {
	Index, When, Who, What string
	Violation              bool
}

func newDiff(a, b *Side) diffPage {
	va, vb := sideView(a), sideView(b)
	d := diffPage{Shared: shared(va.h.Events, vb.h.Events)}
	d.Same = d.Shared == len(va.h.Events) && d.Shared == len(vb.h.Events)
	if d.Shared > 0 {
		d.When = va.clock.instant(va.h.Events[d.Shared-1].Time)
	}
	d.Sides = [2]diffSide{newDiffSide(a, b, va, d.Shared), newDiffSide(b, a, vb, d.Shared)}
	d.Ends = ends(va, vb)
	d.Before = max(0, d.Shared-maxShared)
	for pos := d.Before; pos < d.Shared; pos++ {
		d.Rows = append(d.Rows, diffRow{Left: va.diffCell(pos), Shared: true, Both: true})
	}
	parted := align(va, vb, d.Shared)
	if len(parted) > 0 {
		parted[0].Part = true
	}
	d.Rows = append(d.Rows, shorten(d.until(parted))...)
	return d
}

// After the violation the page shows maxAfter rows. Of a stretch that is the
// same in both runs it shows maxLevel rows at either end.
const maxAfter, maxLevel = 20, 3

// until leaves out what comes long after the violation, and counts it.
func (d *diffPage) until(rows []diffRow) []diffRow {
	end := -1
	for i, r := range rows {
		if r.Left != nil && r.Left.Violation || r.Right != nil && r.Right.Violation {
			end = i + 1 + maxAfter
		}
	}
	if end < 0 || end >= len(rows) {
		return rows
	}
	for _, r := range rows[end:] {
		if r.Left != nil {
			d.Sides[0].More++
		}
		if r.Right != nil {
			d.Sides[1].More++
		}
	}
	return rows[:end]
}

// shorten leaves out the middle of long stretches that are the same.
func shorten(rows []diffRow) []diffRow {
	var out []diffRow
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && rows[j].Both {
			j++
		}
		switch level := rows[i:j]; {
		case j == i:
			out = append(out, rows[i])
			j++
		case len(level) <= 2*maxLevel+2:
			out = append(out, level...)
		default:
			out = append(out, level[:maxLevel]...)
			out = append(out, diffRow{LeftOut: len(level) - 2*maxLevel})
			out = append(out, level[len(level)-maxLevel:]...)
		}
		i = j
	}
	return out
}

func sideView(s *Side) *view {
	h := s.Finding.History
	v := viewExcerpt(&s.Finding, excerpt{history: h, total: int64(len(h.Events))})
	if len(s.Finding.Events)+len(s.Finding.Chain) == 0 {
		v.violation = -1
	}
	return v
}

// shared counts the events that both histories begin with.
func shared(a, b []history.Event) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func newDiffSide(s, other *Side, v *view, shared int) diffSide {
	d := diffSide{Side: *s, Heading: heading(&s.Finding), Total: len(v.h.Events), More: max(0, len(v.h.Events)-shared-maxParted)}
	for _, text := range s.Finding.Decisions {
		d.Decisions = append(d.Decisions, diffDecision{newDecision(text), !has(other.Finding.Decisions, text)})
	}
	d.First = v.parting(shared)
	return d
}

func (v *view) diffCell(pos int) *diffCell {
	e := &v.h.Events[pos]
	return &diffCell{Index: strconv.FormatInt(e.Index, 10), When: v.clock.instant(e.Time), Who: v.who(e), What: v.describe(e), Violation: pos == v.violation}
}

// align lays the events after the shared ones beside each other: the longest
// sequence that both have stays level, and what only one has stands alone.
func align(va, vb *view, from int) []diffRow {
	a, b := va.diffKeys(from), vb.diffKeys(from)
	longest := common(a, b)
	var rows []diffRow
	open := 0 // rows from here on have only one side so far
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			rows = append(rows, diffRow{Left: va.diffCell(from + i), Right: vb.diffCell(from + j), Both: true})
			i, j, open = i+1, j+1, len(rows)
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			rows = append(rows, diffRow{Left: va.diffCell(from + i)})
			i++
		default:
			// Beside what only the left run has, where that leaves room.
			if open < len(rows) {
				rows[open].Right = vb.diffCell(from + j)
			} else {
				rows = append(rows, diffRow{Right: vb.diffCell(from + j)})
			}
			j, open = j+1, open+1
		}
	}
	return rows
}

// diffKeys says of each event what makes it the same thing in another run:
// not its number, its time, nor those of its operation or message.
func (v *view) diffKeys(from int) []string {
	var keys []string
	for pos := from; pos < len(v.h.Events) && pos < from+maxParted; pos++ {
		e := &v.h.Events[pos]
		op := v.verb(e)
		keys = append(keys, fmt.Sprintf("%d %d %q %q %q %d %d %q %q %q", e.Type, e.F, v.who(e), e.To, e.Resource, e.Token, op.F, value(op.Value), value(e.Value), e.Text))
	}
	return keys
}

// common returns, for all ends of a and b, the length of the longest sequence
// that they have in common.
func common(a, b []string) [][]int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// ends says how the scopes that the runs are about stand at the end.
func ends(va, vb *view) []diffEnd {
	a, b := lastStates(va), lastStates(vb)
	var out []diffEnd
	for _, scope := range union(va.scopes, vb.scopes) {
		l, r := a[scope], b[scope]
		for _, row := range []diffEnd{
			{"highest accepted token", l.highest.String(), r.highest.String()},
			{"rejections", thousands(l.rejections), thousands(r.rejections)},
			{"acquisitions", thousands(l.generation), thousands(r.generation)},
			{"owner", cmp.Or(l.owner, "nobody"), cmp.Or(r.owner, "nobody")},
			{"last value", cmp.Or(a[scope].value, "none"), cmp.Or(b[scope].value, "none")},
		} {
			row.What += " of " + scope
			out = append(out, row)
		}
	}
	return out
}

type lastState struct {
	state
	value string // of the resource that has the scope's name, or any of it
}

func lastStates(v *view) map[string]lastState {
	f, out := newFold(v), map[string]lastState{}
	for pos := range v.h.Events {
		s, _ := f.next(pos)
		last := lastState{s, out[s.scope].value}
		if text := f.values[v.h.Events[pos].Resource]; text != "" {
			last.value = text
		}
		out[s.scope] = last
	}
	return out
}
