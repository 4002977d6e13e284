package reports

import "io"

// scenarioPage is what the template of a scenario shows.
type scenarioPage struct {
	Doc        *Document
	Scenario   string
	Recorded   bool
	About      string // of the control, one sentence; empty without one
	Params     []KeyValue
	Properties []scenarioProperty
	Dangers    []danger
	Runs       []suiteRun
}

// scenarioProperty is a property, who breaks it, and the smallest way to.
type scenarioProperty struct {
	Property
	Verdict   string // of the control
	Defects   []string
	Message   string
	Size      string
	Page      string
	Decisions []decision
}

// danger is how often something dangerous came about: in the control, where
// never means that what it endangers was not tested, and in the runs with a
// defect, which end when they have broken something.
type danger struct {
	Name             string
	Control, Defects int64
	Counted          bool // in the control
}

func renderScenario(w io.Writer, doc *Document, scenario string, names [][]string) error {
	p := scenarioPage{Doc: doc, Scenario: scenario}
	for i := range doc.Runs {
		r := &doc.Runs[i]
		if r.Scenario != scenario {
			continue
		}
		if r.control() {
			p.About = r.Doc
		}
		if len(p.Params) == 0 || r.control() {
			p.Params = r.Params
		}
		p.Recorded = p.Recorded || r.recorded()
		p.Runs = append(p.Runs, newSuiteRun(r, names[i]))
	}
	p.properties(names)
	p.dangers()
	return templates.ExecuteTemplate(w, "scenario", p)
}

// properties lists those that the runs say they judged, then those that were
// broken without being announced.
func (p *scenarioPage) properties(names [][]string) {
	var list []string
	about := map[string]Property{}
	for _, r := range p.Runs {
		for _, j := range r.Properties {
			list = union(list, []string{j.Name})
			about[j.Name] = j
		}
	}
	for _, r := range p.Runs {
		list = union(list, union(r.Breaks, r.Broken))
	}
	for _, name := range list {
		p.Properties = append(p.Properties, p.property(name, about[name], names))
	}
}

func (p *scenarioPage) property(name string, about Property, names [][]string) scenarioProperty {
	out := scenarioProperty{Property: about}
	out.Name = name
	for _, r := range p.Runs {
		switch broken := has(r.Broken, name); {
		case broken && !r.Control && !r.Recorded:
			out.Defects = append(out.Defects, r.Defect)
		case broken:
			out.Verdict = "violated"
		case r.Control || r.Recorded:
			out.Verdict = map[Status]string{Satisfied: "holds", Violated: "holds", Inconclusive: "inconclusive"}[r.Status]
		}
	}
	if out.Verdict != "" && !p.Recorded {
		out.Verdict += " in the control"
	}
	if i, j, ok := smallest(p.Doc, p.Scenario, name); ok {
		f := &p.Doc.Runs[i].Findings[j]
		out.Message, out.Size, out.Page = heading(f), sizeOf(f), names[i][j]
		for _, d := range f.Decisions[:min(len(f.Decisions), maxDecisions)] {
			out.Decisions = append(out.Decisions, newDecision(d))
		}
		if out.Guarantee == "" {
			out.Guarantee = f.Guarantee
		}
	}
	return out
}

func (p *scenarioPage) dangers() {
	at := map[string]int{}
	for _, r := range p.Runs {
		for _, c := range r.Sometimes {
			n, ok := at[c.Name]
			if !ok {
				n = len(p.Dangers)
				at[c.Name] = n
				p.Dangers = append(p.Dangers, danger{Name: c.Name})
			}
			if d := &p.Dangers[n]; r.Control || r.Recorded {
				d.Control, d.Counted = d.Control+c.Count, true
			} else {
				d.Defects += c.Count
			}
		}
	}
}
