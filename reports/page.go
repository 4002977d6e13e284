package reports

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"staleproof/model/history"
)

//go:embed templates
var files embed.FS

// templates are the pages. html/template escapes every value for the place
// where it stands: text, attribute, URL, inside the drawing as well.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"css":       css,
	"unstopped": unstopped,
	"sentence":  sentence,
	"danger":    Danger,
	"js":        js,
	"policy":    policy,
	"thousands": thousands,
	"plural":    func(n int64, noun string) string { return plural(int(n), noun) },
	"int64":     func(n int) int64 { return int64(n) },
	"add":       func(a, b int) int { return a + b },
	"sub":       func(a, b int) int { return a - b },
	"half":      func(a int) int { return a / 2 },
}).ParseFS(files, "templates/*.html"))

// css returns the style sheet, which is part of the program.
func css() (template.CSS, error) {
	b, err := files.ReadFile("templates/page.css")
	return template.CSS(b), err
}

// js returns the script, which is part of the program.
func js() (template.JS, error) {
	b, err := files.ReadFile("templates/page.js")
	return template.JS(b), err
}

// policy is the content policy of a page: it may run its own script, by digest,
// and ask nobody for anything, even if something from a history got into it as
// more than text.
func policy() (string, error) {
	b, err := files.ReadFile("templates/page.js")
	sum := sha256.Sum256(b)
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'", err
}

// findingPage is what the template of a finding shows.
type findingPage struct {
	Doc      *Document
	Run      *Run
	Finding  *Finding
	Control  bool // nothing is planted
	Recorded bool // and nothing was simulated
	Good     bool
	Chain    []chainItem
	// The first decisions, and those that unfold on demand.
	Decisions, More []decision
	Heading         string
	ScenarioPage    string
	Quoted          string // the message, where the heading says something else
	When            string // of the violation
	Also            []siblingFinding
	Unlisted        int64 // numbers of a recorded history that are no events
	Tokens          bool  // the history has tokens
	Simulated       bool  // it was recorded in a simulation, which its command replays
	Tenures         tenures
	Partial         []linearization
	Figure          *figure
	Table           table
	Facts           []KeyValue
	Packed          string // the history for the script; see payload
	Total, Held     int64  // events of the run, and those that the page has
	Windows         []window
	MoreWindows     int
	Loose           int64 // events of the page that lie in no window
}

// window is a stretch of the history that the page has.
type window struct{ From, To int64 }

const maxWindowsListed = 8

// maxDecisions is how many stand beside the chain; a finding that was shrunk
// has three.
const maxDecisions = 10

// decision is a choice in words, and the key under which a schedule has it.
type decision struct{ Words, Key string }

// newDecision parts "A/pause#2=3: A was paused for 35s" at its colon.
func newDecision(text string) decision {
	key, words, ok := strings.Cut(text, ": ")
	if ok && strings.Contains(key, "=") && !strings.Contains(key, " ") {
		return decision{words, key}
	}
	return decision{Words: text}
}

type chainItem struct {
	Link
	When      string
	Href      string // empty when the event is not in the table
	Violation bool
}

// maxRows bounds the table of events of a page whose script is off.
const maxRows = 300

type table struct {
	Heading string // of the column of times; empty when there are none
	Rows    []row
	Total   int
	From    int64 // index of the first event of the run of rows round the violation
	To      int64
	Whole   bool
}

type row struct {
	Index     int64
	Time      string
	Process   string
	What      string
	Token     string
	Highest   string
	Steps     string
	Violation bool
	Skipped   string // events left out before this one
}

func renderFinding(w io.Writer, doc *Document, run, finding int, names []string) error {
	v, err := newView(&doc.Runs[run].Findings[finding])
	if err != nil {
		return err
	}
	r := &doc.Runs[run]
	return renderView(w, doc, r, v, siblings(r, finding, names))
}

func renderView(w io.Writer, doc *Document, r *Run, v *view, also []siblingFinding) error {
	f := v.finding
	p := findingPage{Doc: doc, Run: r, Finding: f, Control: r.control(), Recorded: r.recorded(), Good: r.passed(), Heading: heading(f), ScenarioPage: scenarioNames(doc)[r.Scenario],
		Figure: v.layout(), Tenures: v.tenures(), Partial: v.partial(), Table: v.table(), Facts: facts(r, f), Also: also, Tokens: v.tokens()}
	p.Simulated = v.h.Header.Replay != ""
	if f.Harm != "" {
		p.Quoted = f.Message
	}
	if v.violation >= 0 {
		p.When = v.clock.instant(v.h.Events[v.violation].Time)
		p.Unlisted = v.unlisted()
	}
	for _, l := range f.Chain {
		item := chainItem{Link: l, When: v.clock.instant(l.Time)}
		if pos, ok := v.at[l.Index]; ok {
			item.Href = v.href(pos)
			item.Violation = pos == v.violation
		}
		p.Chain = append(p.Chain, item)
	}
	for i, d := range f.Decisions {
		if i < maxDecisions || len(f.Decisions) == maxDecisions+1 {
			p.Decisions = append(p.Decisions, newDecision(d))
		} else {
			p.More = append(p.More, newDecision(d))
		}
	}
	if err := p.embed(v); err != nil {
		return err
	}
	return templates.ExecuteTemplate(w, "finding", p)
}

// sentence begins a text with a capital and ends it with a full stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + unstopped(s[1:]) + "."
}

// unstopped is a sentence without its full stop.
func unstopped(s string) string { return strings.TrimSuffix(s, ".") }

// siblingFinding is another property that the same run broke.
type siblingFinding struct{ Property, Page string }

// siblings lists what else the run of a finding broke, with the pages of those that
// have one. Where that is not told it lists what all runs broke together.
func siblings(r *Run, finding int, names []string) []siblingFinding {
	var list []siblingFinding
	if f := &r.Findings[finding]; len(f.Broken) > 0 {
		for _, name := range f.Broken {
			if name != f.Property {
				list = append(list, siblingFinding{name, pageOf(r, name, names)})
			}
		}
		return list
	}
	pages := map[string]bool{r.Findings[finding].Property: true}
	for i := range r.Findings {
		if i != finding {
			list = append(list, siblingFinding{r.Findings[i].Property, names[i]})
			pages[r.Findings[i].Property] = true
		}
	}
	for _, name := range r.Broken {
		if !pages[name] {
			list = append(list, siblingFinding{Property: name})
		}
	}
	return list
}

// pageOf names the page of a property that was broken, empty when it has none.
func pageOf(r *Run, property string, names []string) string {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Property == property })
	if i < 0 {
		return ""
	}
	return names[i]
}

// tokens says whether the history has any.
func (v *view) tokens() bool {
	return slices.ContainsFunc(v.h.Events, func(e history.Event) bool { return e.Token != 0 || e.Highest != 0 })
}

// unlisted is how many numbers of a history's entries are no events of it: the
// reader left them out, because they say nothing that it knows.
func (v *view) unlisted() int64 {
	n := len(v.h.Events)
	if v.total != int64(n) {
		return 0
	}
	return v.h.Events[n-1].Index - v.h.Events[0].Index + 1 - int64(n)
}

// heading is what the finding came to or else its message, without the name of
// the property in front of it, which stands right below.
func heading(f *Finding) string {
	if f.Harm != "" {
		return f.Harm
	}
	if rest, ok := strings.CutPrefix(f.Message, "broke "+f.Property+": "); ok {
		return rest
	}
	return f.Message
}

// embed puts the history into the page.
func (p *findingPage) embed(v *view) error {
	if len(v.h.Events) == 0 {
		return nil
	}
	text, err := v.pack()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	p.Packed = base64.RawURLEncoding.EncodeToString(b.Bytes())
	p.Total, p.Held = v.total, int64(len(v.h.Events))
	p.Windows, p.Loose = v.windows()
	if more := len(p.Windows) - maxWindowsListed; more > 0 {
		p.MoreWindows, p.Windows = more, p.Windows[more:]
	}
	return nil
}

// leastWindow is how many events in a row are a window.
const leastWindow = 8

// windows lists the stretches that the page has, when it has not everything, and
// counts the events outside of them, which are there because later ones rest on
// them.
func (v *view) windows() (list []window, loose int64) {
	from := 0
	add := func(to int) {
		switch n := to - from; {
		case n >= leastWindow:
			list = append(list, window{v.h.Events[from].Index, v.h.Events[to-1].Index})
		default:
			loose += int64(n)
		}
		from = to
	}
	for _, h := range v.holes {
		add(h.Before)
	}
	if len(v.holes) > 0 {
		add(len(v.h.Events))
	}
	return list, loose
}

// table lists the events: all of them, or those cited and the nearest to the
// violation.
func (v *view) table() table {
	from, to := v.window(maxRows)
	t := table{Heading: v.clock.heading(), Total: int(v.total), Whole: to-from == int(v.total)}
	if to > from {
		t.From, t.To = v.h.Events[from].Index, v.h.Events[to-1].Index
	}
	var shown []int
	for _, pos := range sortedKeys(v.cited) {
		if pos < from {
			shown = append(shown, pos)
		}
	}
	for pos := from; pos < to; pos++ {
		shown = append(shown, pos)
	}
	for _, pos := range sortedKeys(v.cited) {
		if pos >= to {
			shown = append(shown, pos)
		}
	}
	prev := -1
	for _, pos := range shown {
		t.Rows = append(t.Rows, v.row(pos, v.between(prev, pos)))
		prev = pos
	}
	return t
}

func (v *view) row(pos, skipped int) row {
	e := &v.h.Events[pos]
	r := row{Index: e.Index, Time: v.clock.column(e.Time), Process: v.who(e), What: v.describe(e), Violation: pos == v.violation}
	if e.Token != 0 {
		r.Token = e.Token.String()
	}
	if e.Highest != 0 {
		r.Highest = e.Highest.String()
	}
	var steps []string
	for _, n := range v.links[pos] {
		steps = append(steps, strconv.Itoa(n))
	}
	r.Steps = strings.Join(steps, ", ")
	if skipped > 0 {
		r.Skipped = plural(skipped, "event")
	}
	return r
}

// facts are the parameters of the run that the page shows, and how much was
// searched until it was found.
func facts(r *Run, f *Finding) []KeyValue {
	if r.recorded() {
		return append([]KeyValue{{"history", r.Scenario}}, r.Params...)
	}
	out := []KeyValue{{"scenario", r.Scenario}, {"defect", r.defect()}}
	for _, p := range r.Params {
		out = append(out, KeyValue{p.Key, f.param(p)})
	}
	if r.States > 0 {
		out = append(out, KeyValue{"states searched", thousands(r.States)})
		if r.Covered != "" {
			out = append(out, KeyValue{"covered", r.Covered})
		}
		return out
	}
	if r.Status == Violated && r.Schedules > 1 {
		out = append(out, KeyValue{"first broken by", "schedule " + thousands(r.First+1)})
	}
	out = append(out, KeyValue{"schedules searched", thousands(r.Schedules)})
	if r.Events > 0 {
		out = append(out, KeyValue{"events in all of them", thousands(r.Events)})
	}
	return out
}

// param is the value of a parameter in the run of the finding, beside that of the
// scenario where it is another.
func (f *Finding) param(p KeyValue) string {
	for _, w := range f.Work {
		if value, ok := strings.CutSuffix(w, " of "+p.Value+" "+p.Key); ok {
			return value + ", not " + p.Value
		}
	}
	for _, d := range f.Decisions {
		if value, ok := strings.CutPrefix(d, p.Key+" is "); ok {
			value, _, _ = strings.Cut(value, ", not ")
			return value + ", not " + p.Value
		}
	}
	return p.Value
}

// suitePage is what the template of the index shows.
type suitePage struct {
	Doc     *Document
	Title   string
	Verdict Status // of the suite: violated means not as expected
	Words   string
	Summary string
	Wrong   []suiteRun // not as expected, or inconclusive
	Runs    []suiteRun // all, the wrong ones first
	Matrix  matrix
	Groups  []failureGroup
	// Histories says that all runs are recorded histories, Dangers that some run
	// counts what happened.
	Histories, Dangers bool
}

type suiteRun struct {
	*Run
	Control bool
	// Recorded runs are histories: neither a control nor a defect.
	Recorded bool
	Effort   string // how much was run or searched
	Good     bool
	Word     string // the verdict in a word
	// ScenarioPage is the page of its scenario.
	ScenarioPage string
	Items        []suiteFinding
	Missed       []string // properties that had to break and did not
	Dangers      []Count
}

type suiteFinding struct {
	*Finding
	Page    string
	Heading string
	Again   string // the command, unless the finding before has the same
	Same    bool   // it came to the same as the finding before
}

func renderSuite(w io.Writer, doc *Document, names [][]string) error {
	p := suitePage{Doc: doc, Title: doc.Title, Verdict: Satisfied}
	if p.Title == "" {
		p.Title = "Staleproof"
	}
	var wrong, open, caught, held []suiteRun
	var controls, defects, histories, own int
	var schedules int64
	for i := range doc.Runs {
		r := newSuiteRun(&doc.Runs[i], names[i])
		schedules += r.Schedules
		if r.Recorded {
			histories++
		} else if r.Control {
			controls++
		} else if r.own() {
			own++
		} else {
			defects++
		}
		switch {
		case r.Status == Inconclusive:
			open = append(open, r)
		case !r.Good:
			wrong = append(wrong, r)
		case r.Status == Violated:
			caught = append(caught, r)
		default:
			held = append(held, r)
		}
	}
	p.Wrong = append(append(p.Wrong, wrong...), open...)
	p.Runs = append(append(append(p.Runs, p.Wrong...), caught...), held...)
	pages := scenarioNames(doc)
	for _, list := range [][]suiteRun{p.Wrong, p.Runs} {
		for i := range list {
			list[i].ScenarioPage = pages[list[i].Scenario]
		}
	}
	p.Histories = histories == len(doc.Runs) && histories > 0
	p.Dangers = slices.ContainsFunc(doc.Runs, func(r Run) bool { return len(r.Sometimes) > 0 })
	p.Matrix, p.Groups = newMatrix(doc, names), groups(doc, names)
	p.Summary = summary(controls, defects, histories, own, schedules)
	p.Verdict, p.Words = verdict(len(doc.Runs), len(wrong), len(open))
	return templates.ExecuteTemplate(w, "suite", p)
}

func newSuiteRun(r *Run, names []string) suiteRun {
	s := suiteRun{Run: r, Control: r.control() && !r.recorded(), Recorded: r.recorded(), Effort: r.effort(), Good: r.passed(), Dangers: r.Sometimes}
	for i := range r.Findings {
		item := suiteFinding{&r.Findings[i], names[i], heading(&r.Findings[i]), r.Findings[i].Replay, false}
		if i > 0 && item.Again == r.Findings[i-1].Replay {
			item.Again, item.Same = "", item.Heading == heading(&r.Findings[i-1])
		}
		s.Items = append(s.Items, item)
	}
	s.Missed = missed(r)
	switch {
	case r.Status == Inconclusive:
		s.Word = "inconclusive"
	case r.Status == Violated && s.Good && !r.control():
		s.Word = "caught"
	case r.Status == Violated:
		s.Word = "violated"
	case !s.Good:
		s.Word = "survived"
	default:
		s.Word = "holds"
	}
	return s
}

// summary says what was run, and what was asked of it.
func summary(controls, defects, histories, own int, schedules int64) string {
	var what, rule []string
	if controls > 0 {
		what = append(what, plural(controls, "control"))
		rule = append(rule, "A control must hold every property.")
	}
	if defects > 0 {
		what = append(what, plural(defects, "planted defect"))
		rule = append(rule, "A planted defect must be caught.")
	}
	if own > 0 {
		what = append(what, plural(own, "run")+" with a defect that was asked for")
		rule = append(rule, "It is judged as a system of your own would be: a violation is a failure.")
	}
	if histories > 0 {
		what = append(what, plural(histories, "recorded history"))
	}
	if len(what) == 0 {
		return "The results hold no run."
	}
	out := strings.Join(what, " and ")
	if schedules > 0 {
		out += ", " + plural(int(schedules), "schedule") + " in all"
	}
	return strings.TrimSpace(out + ". " + strings.Join(rule, " "))
}

// verdict says in a sentence what the suite as a whole came to.
func verdict(runs, wrong, open int) (Status, string) {
	of := " of " + plural(runs, "run")
	switch {
	case runs == 0:
		return Inconclusive, "Nothing was run"
	case wrong == 1:
		return Violated, "1" + of + " is not as expected"
	case wrong > 1:
		return Violated, strconv.Itoa(wrong) + of + " are not as expected"
	case open == 1:
		return Inconclusive, "1" + of + " is inconclusive"
	case open > 1:
		return Inconclusive, strconv.Itoa(open) + of + " are inconclusive"
	case runs == 1:
		return Satisfied, "The run is as expected"
	}
	return Satisfied, "All " + plural(runs, "run") + " are as expected"
}
