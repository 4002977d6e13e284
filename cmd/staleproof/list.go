package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/scenarios"
)

func (a *app) listCommand() *cobra.Command {
	long := false
	lists := []string{"scenarios", "properties", "defects"}
	cmd := &cobra.Command{
		Use:   "list [scenarios|properties|defects]",
		Short: "list scenarios, properties and defects",
		Example: `  staleproof list
  staleproof list scenarios --long`,
		ValidArgs:             lists,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if !slices.Contains(lists, arg) {
					return unknown("list", arg, lists, "staleproof list --help")
				}
			}
			return once("list", "list", args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = lists
			}
			for _, arg := range args {
				a.gap()
				a.printf("%s\n", a.style(bold, strings.ToUpper(arg)))
				map[string]func(bool){"scenarios": a.listScenarios, "properties": a.listProperties, "defects": a.listDefects}[arg](long)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&long, "long", false, "tell all of each")
	return cmd
}

// item prints a name and what it is.
func (a *app) item(name, text string, nameWidth int) {
	a.printf("%s", wrap(fmt.Sprintf("  %-*s  ", nameWidth, name), strings.Repeat(" ", nameWidth+4), text))
}

// detail prints one more thing about an item.
func (a *app) detail(label, text string) {
	if text != "" {
		a.printf("%s", wrap(fmt.Sprintf("    %-10s  ", label), strings.Repeat(" ", 16), text))
	}
}

type scenarioLine struct {
	Type       string   `json:"type"` // "scenario"
	Name       string   `json:"name"`
	Doc        string   `json:"doc"`
	Properties []string `json:"properties"`
	Sometimes  []string `json:"sometimes"`
	Defects    []string `json:"defects"`
	Searched   bool     `json:"searched,omitempty"` // by explore alone
}

// listScenarios lists those that run under a seed, and then those that are only
// searched.
func (a *app) listScenarios(long bool) {
	var searched []*scenarios.Scenario
	for _, sc := range scenarios.AllScenarios() {
		if sc.Searched {
			searched = append(searched, sc)
		}
	}
	a.listOf(scenarios.Scenarios(), long)
	a.gap()
	a.printf("%s\n", a.style(bold, "SCENARIOS OF EXPLORE"))
	a.printf("%s", wrap("  ", "  ", "Reference protocols, whose numbers of states other model checkers have found too. "+
		"They are searched exhaustively, by staleproof explore; run and fuzz do not take them."))
	a.gap()
	a.listOf(searched, long)
}

func (a *app) listOf(list []*scenarios.Scenario, long bool) {
	nameWidth := 0
	for _, sc := range scenarios.AllScenarios() {
		nameWidth = max(nameWidth, len(sc.Name))
	}
	for i, sc := range list {
		l := scenarioLine{Type: "scenario", Name: sc.Name, Doc: sc.Doc, Properties: orEmpty(sc.Properties), Sometimes: []string{}, Defects: []string{}, Searched: sc.Searched}
		for _, f := range sc.Sometimes {
			l.Sometimes = append(l.Sometimes, f.String())
		}
		for _, x := range sc.Defects {
			l.Defects = append(l.Defects, x.Defect.String())
		}
		a.line(l)
		if i > 0 && long {
			a.gap()
		}
		a.item(sc.Name, sc.Doc, nameWidth)
		if long {
			a.scenarioDetails(sc, &l)
		}
	}
}

func (a *app) scenarioDetails(sc *scenarios.Scenario, l *scenarioLine) {
	a.printf("\n")
	a.detail("properties", strings.Join(l.Properties, ", "))
	a.detail("sometimes", strings.Join(l.Sometimes, ", "))
	label := "defects"
	for _, x := range sc.Defects {
		text := fmt.Sprintf("%s breaks %s", x.Defect, strings.Join(x.Breaks, ", "))
		if len(x.Holds) > 0 {
			text += "; " + strings.Join(x.Holds, ", ") + " must hold"
		}
		a.detail(label, text)
		label = ""
	}
	label = "parameters"
	for _, d := range scenarios.ParamTable() {
		doc := d.Doc
		if sc.Searched {
			if !hasSize(sc, d.Name) {
				continue
			}
			doc = strings.Replace(doc, ", ns", ", ticks", 1)
		}
		a.detail(label, fmt.Sprintf("%s=%d: %s", d.Name, d.Get(&sc.Params), doc))
		label = ""
	}
	for i := range sc.Scripts {
		a.script(sc, &sc.Scripts[i])
	}
}

type propertyLine struct {
	Type      string `json:"type"` // "property"
	Name      string `json:"name"`
	Guarantee string `json:"guarantee"`
	Timed     bool   `json:"timed"`
	Untimed   bool   `json:"untimed"`
	Bounded   bool   `json:"bounded"`
}

func (a *app) listProperties(long bool) {
	nameWidth := 0
	for _, p := range checker.Properties() {
		nameWidth = max(nameWidth, len(p.Name))
	}
	for i, p := range checker.Properties() {
		a.line(propertyLine{"property", p.Name, p.Guarantee, p.Timed, p.Untimed, p.Bounded})
		if i > 0 && long {
			a.gap()
		}
		a.item(p.Name, p.Guarantee, nameWidth)
		if long {
			a.detail("how", p.Doc)
			a.detail("judged", "in "+judgedIn(&p))
			a.detail("unaided", p.Unaided+" (from the clients' view alone)")
		}
	}
}

func judgedIn(p *checker.Property) string {
	var in []string
	for _, t := range []struct {
		name string
		is   bool
	}{{"timed runs and recorded histories", p.Timed}, {"untimed", p.Untimed}, {"bounded search", p.Bounded}} {
		if t.is {
			in = append(in, t.name)
		}
	}
	return strings.Join(in, ", ")
}

type defectLine struct {
	Type      string   `json:"type"` // "defect"
	Name      string   `json:"name"`
	Doc       string   `json:"doc"`
	Case      string   `json:"case"`
	Scenarios []string `json:"scenarios"` // that expose it
}

func (a *app) listDefects(long bool) {
	nameWidth := 0
	for _, d := range model.AllDefects() {
		nameWidth = max(nameWidth, len(d.Name))
	}
	for i, d := range model.AllDefects() {
		l := defectLine{Type: "defect", Name: d.Name, Doc: d.Doc, Case: d.Case, Scenarios: []string{}}
		var breaks []string
		for _, sc := range scenarios.Scenarios() {
			if x, ok := sc.Exposes(d.Set); ok {
				l.Scenarios = append(l.Scenarios, sc.Name)
				breaks = append(breaks, fmt.Sprintf("%s in %s", strings.Join(x.Breaks, ", "), sc.Name))
			}
		}
		a.line(l)
		if i > 0 && long {
			a.gap()
		}
		a.item(d.Name, d.Doc, nameWidth)
		if long {
			a.detail("breaks", strings.Join(breaks, "; "))
			a.detail("case", d.Case)
		}
	}
}
