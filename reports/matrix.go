package reports

import (
	"slices"
	"strconv"
	"strings"

	"staleproof/model/history"
)

// matrix says which planted defect broke which property: the evidence that the
// checks can fail.
type matrix struct {
	Properties []string
	Rows       []matrixRow
}

type matrixRow struct {
	Scenario, Defect string
	Cells            []matrixCell
}

// matrixCell is a defect and a property. Must says that the one has to break
// the other.
type matrixCell struct {
	Must, Broken bool
	After        string // schedules until it was first broken; empty when unknown
	Page         string // of the finding; empty when there is none
	Title        string
}

func newMatrix(doc *Document, names [][]string) matrix {
	var m matrix
	for i := range doc.Runs {
		if r := &doc.Runs[i]; !r.control() && !r.own() {
			m.Properties = union(m.Properties, union(r.Breaks, r.Broken))
		}
	}
	for i := range doc.Runs {
		r := &doc.Runs[i]
		if r.control() || r.own() {
			continue
		}
		row := matrixRow{Scenario: r.Scenario, Defect: r.defect()}
		for _, p := range m.Properties {
			row.Cells = append(row.Cells, r.cell(p, names[i]))
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

func (r *Run) cell(property string, names []string) matrixCell {
	c := matrixCell{Must: has(r.Breaks, property), Broken: has(r.Broken, property)}
	for i := range r.Findings {
		if r.Findings[i].Property == property {
			c.Page = names[i]
			break
		}
	}
	for _, k := range r.Kills {
		if k.Name == property {
			c.After = thousands(k.Count)
		}
	}
	what := map[[2]bool]string{{true, true}: "broken, as it must be", {true, false}: "not broken, although it must be", {false, true}: "broken as well", {}: "not broken"}
	c.Title = r.defect() + ", " + property + ": " + what[[2]bool{c.Must, c.Broken}]
	if c.After != "" {
		c.Title += ", after " + c.After + " schedules"
	}
	return c
}

// failureGroup are findings that came about in the same way.
type failureGroup struct {
	Property string
	Way      string
	Items    []groupItem
}

type groupItem struct{ Label, Page string }

// groups puts findings of one fingerprint together, the largest group first.
func groups(doc *Document, names [][]string) []failureGroup {
	at := map[string]int{}
	var out []failureGroup
	for i := range doc.Runs {
		r := &doc.Runs[i]
		for j := range r.Findings {
			f := &r.Findings[j]
			print := f.fingerprint()
			n, ok := at[print]
			if !ok {
				n = len(out)
				at[print] = n
				out = append(out, failureGroup{Property: f.Property, Way: f.way()})
			}
			label := r.Scenario
			switch {
			case r.recorded():
			case r.control():
				label += ", the control"
			default:
				label = r.Scenario + " with " + r.defect()
			}
			out[n].Items = append(out[n].Items, groupItem{label, names[i][j]})
		}
	}
	slices.SortStableFunc(out, func(a, b failureGroup) int { return len(b.Items) - len(a.Items) })
	return out
}

// fingerprint is what two findings of one cause share.
func (f *Finding) fingerprint() string {
	if f.Fingerprint != "" {
		return f.Fingerprint
	}
	return f.Property + ": " + f.way()
}

// way tells how it came to the violation, without names and numbers: the kinds
// of the events of the chain, or the shape of the message where there is none.
func (f *Finding) way() string {
	if f.History == nil || len(f.Chain) == 0 {
		shape, _ := parts(f.Message)
		return strings.ReplaceAll(shape, string(rune(blank)), "n")
	}
	var steps []string
	for _, l := range f.Chain {
		pos, ok := slices.BinarySearchFunc(f.History.Events, l.Index, func(e history.Event, index int64) int {
			return int(min(1, max(-1, e.Index-index)))
		})
		if !ok {
			continue
		}
		e := &f.History.Events[pos]
		step := e.F.String()
		if kind := kindOf(e); kind.Group == "operations" {
			step = verbs[e.F] + map[string]string{"invoke": " begun", "ok": " succeeded", "fail": " failed", "info": " unknown", "stale": " told stale"}[kind.Name]
		}
		if len(steps) == 0 || steps[len(steps)-1] != step {
			steps = append(steps, step)
		}
	}
	return strings.Join(steps, ", ")
}

// smallest is a property's counterexample with the fewest decisions, and of
// those the one of fewest events.
func smallest(doc *Document, scenario, property string) (run, finding int, ok bool) {
	size := func(f *Finding) [2]int {
		n := 0
		if f.History != nil {
			n = len(f.History.Events)
		}
		return [2]int{len(f.Decisions), n}
	}
	for i := range doc.Runs {
		if doc.Runs[i].Scenario != scenario {
			continue
		}
		for j := range doc.Runs[i].Findings {
			f := &doc.Runs[i].Findings[j]
			if f.Property != property {
				continue
			}
			if ok {
				a, b := size(f), size(&doc.Runs[run].Findings[finding])
				if slices.Compare(a[:], b[:]) >= 0 {
					continue
				}
			}
			run, finding, ok = i, j, true
		}
	}
	return run, finding, ok
}

// sizeOf says how small a counterexample is.
func sizeOf(f *Finding) string {
	s := plural(len(f.Decisions), "decision")
	if f.History != nil {
		s += ", " + plural(len(f.History.Events), "event")
	}
	return s
}

// scenarioNames names the page of each scenario, by scenario.
func scenarioNames(doc *Document) map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	for i := range doc.Runs {
		s := doc.Runs[i].Scenario
		if names[s] != "" {
			continue
		}
		stem := "scenario-" + safe(s)
		name := stem + ".html"
		for n := 2; taken[name]; n++ {
			name = stem + "-" + strconv.Itoa(n) + ".html"
		}
		taken[name] = true
		names[s] = name
	}
	return names
}
