package main

import (
	"context"
	"fmt"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/reports"
	"staleproof/scenarios"
	"staleproof/scenarios/fuzz"
	"staleproof/scenarios/search"
	"staleproof/sim"
)

// defaultSeeds is how many seeds a control runs; maxHunt is how many schedules may
// pass until a defect has broken what it must.
const (
	defaultSeeds = 10_000
	maxHunt      = 10_000
)

// runOptions are the flags of run.
type runOptions struct {
	seeds   seedRange
	verb    string // what the command does to a scenario
	defects []string
	matrix  bool
	hunt    uint64 // how many schedules a hunt for a defect has at most
	// regressions is the folder of schedules that are replayed first.
	regressions string
	schedules   []string // its files
}

func (a *app) runCommand() *cobra.Command {
	o := runOptions{verb: "run", seeds: seedRange{0, defaultSeeds}, hunt: maxHunt}
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "simulate scenarios and judge them",
		Long: `Run simulates the built-in scenarios, or those named. Of each it runs the
control, which must break nothing and must have met its dangers, and the
directed scripts; then each defect, which must break what it is listed to break.
What the defects break is told in words, each with the command that replays it.

With --defect a scenario is judged as a system of your own would be: a violation
is exit code 1. --defect none is the control, --defect all each defect in turn.`,
		Example: `  staleproof run
  staleproof run textbook --seeds 100000
  staleproof run textbook --defect store-ignores-token
  staleproof run --matrix`,
		DisableFlagsInUseLine: true,
		Args:                  func(_ *cobra.Command, args []string) error { return checkScenarios(args) },
		RunE: func(_ *cobra.Command, args []string) error {
			trials, err := o.trials(args)
			if err != nil {
				return err
			}
			if err := o.findRegressions(); err != nil {
				return err
			}
			if err := a.checkPlaces(o.schedules); err != nil {
				return err
			}
			return a.runSuite(trials, &o)
		},
	}
	f := cmd.Flags()
	f.Var(&o.seeds, "seeds", "`N` or A-B: seeds of the control; defects are hunted from the first on, at most 10000")
	f.StringArrayVar(&o.defects, "defect", nil, "judge with defect `D` planted; may be repeated")
	f.StringVar(&o.regressions, "regressions", "", "replay the schedule files of folder `DIR` first\n(default "+defaultRegressions+", if there is one)")
	f.BoolVar(&o.matrix, "matrix", false, "how soon each defect breaks each property")
	a.report.flags(cmd)
	return cmd
}

// checkScenarios refuses names of scenarios that do not run under a seed.
func checkScenarios(names []string) error {
	var all []string
	for _, sc := range scenarios.Scenarios() {
		all = append(all, sc.Name)
	}
	for _, name := range names {
		if sc, err := scenarios.Lookup(name); err == nil && sc.Searched {
			return usagef("scenario %s is searched exhaustively, not run under seeds: use staleproof explore %s", name, name)
		}
		if !slices.Contains(all, name) {
			return unknown("scenario", name, all, "staleproof list scenarios")
		}
	}
	return once("the command line", "scenario", names)
}

// trial is one row: a scenario under a defect.
type trial struct {
	scenario *scenarios.Scenario
	exposure scenarios.Exposure
	planted  bool // by --defect: judged as a user's system would be
}

func (t *trial) defect() string { return t.exposure.Defect.String() }

// control says whether nothing is planted.
func (t *trial) control() bool { return t.exposure.Defect == 0 }

// trials lists what is asked for, scenario by scenario.
func (o *runOptions) trials(names []string) ([]trial, error) {
	if o.matrix && len(o.defects) > 0 {
		return nil, usagef("run: expected --matrix or --defect, found both")
	}
	if err := o.distinct(); err != nil {
		return nil, err
	}
	var chosen []*scenarios.Scenario
	for _, sc := range scenarios.Scenarios() {
		if len(names) == 0 || slices.Contains(names, sc.Name) {
			chosen = append(chosen, sc)
		}
	}
	var list []trial
	for _, sc := range chosen {
		if len(o.defects) > 0 {
			list = append(list, o.planted(sc)...)
			continue
		}
		list = append(list, trial{scenario: sc})
		for _, x := range sc.Defects {
			list = append(list, trial{scenario: sc, exposure: x})
		}
	}
	return list, o.unused(chosen, list)
}

// distinct refuses a defect that is asked for twice, in itself or beside others.
func (o *runOptions) distinct() error {
	if len(o.defects) > 1 && slices.Contains(o.defects, "all") {
		return usagef("--defect: expected all alone, or names, found both")
	}
	for _, name := range o.defects {
		parts := strings.Split(name, "+")
		if len(parts) > 1 && slices.Contains(parts, "none") {
			return usagef("--defect: expected none alone, or defects joined by +, found %q", name)
		}
		if slices.Contains(parts, "") {
			return usagef("--defect: expected a defect, or several joined by +, found %q", name)
		}
		if err := once("--defect "+name, "defect", parts); err != nil {
			return err
		}
	}
	return once("--defect", "defect", o.defects)
}

// planted lists the scenario's trials that --defect asks for: those of its own
// defects.
func (o *runOptions) planted(sc *scenarios.Scenario) []trial {
	var list []trial
	for _, name := range o.defects {
		if name == "all" {
			for _, x := range sc.Defects {
				list = append(list, trial{sc, x, true})
			}
			continue
		}
		if x, ok := planted(sc, name); ok {
			list = append(list, trial{sc, x, true})
		}
	}
	return list
}

// planted looks up a defect of the scenario, or several joined by +.
func planted(sc *scenarios.Scenario, name string) (scenarios.Exposure, bool) {
	set, err := sc.Defect(name)
	if err != nil {
		for part := range strings.SplitSeq(name, "+") {
			d, err := sc.Defect(part)
			if err != nil || d == 0 { // none is no part of several
				return scenarios.Exposure{}, false
			}
			set |= d
		}
	}
	x, _ := sc.Exposes(set)
	return x, true
}

// defectNames lists what can be planted in a scenario.
func defectNames(sc *scenarios.Scenario) []string {
	names := []string{"none"}
	for _, x := range sc.Defects {
		names = append(names, x.Defect.String())
	}
	return names
}

// noDefect is the error of a defect that none of the chosen scenarios has: if there
// is such a defect, it tells where.
func noDefect(verb, name string, chosen []*scenarios.Scenario) error {
	names := []string{"none"}
	if verb != "explore" {
		names = append(names, "all")
	}
	for _, d := range model.AllDefects() {
		names = append(names, d.Name)
	}
	for part := range strings.SplitSeq(name, "+") {
		if d, err := model.ParseDefects(part); err != nil || d == 0 {
			return unknown("defect", part, names, "staleproof list defects")
		}
	}
	subject := "these scenarios expose"
	if len(chosen) == 1 {
		subject = chosen[0].Name + " exposes"
	}
	return usagef("defect %q is not one that %s: %s", name, subject, exposedBy(verb, name))
}

// exposedBy says in which scenarios a defect, or several, can be planted: any can
// be explored, and some can only be.
func exposedBy(verb, name string) string {
	var here, searched []string
	for _, sc := range scenarios.AllScenarios() {
		switch _, ok := planted(sc, name); {
		case ok && sc.Searched && verb != "explore":
			searched = append(searched, sc.Name)
		case ok:
			here = append(here, sc.Name)
		}
	}
	switch {
	case len(here) > 0:
		return verb + " it in " + strings.Join(here, " or ")
	case len(searched) > 0:
		return "explore it in " + strings.Join(searched, " or ")
	}
	return "no scenario does"
}

// unused refuses a defect that no chosen scenario has.
func (o *runOptions) unused(chosen []*scenarios.Scenario, list []trial) error {
	for _, name := range o.defects {
		ok := name == "all"
		for _, sc := range chosen {
			_, has := planted(sc, name)
			ok = ok || has
		}
		if !ok {
			return noDefect(o.verb, name, chosen)
		}
	}
	if len(list) == 0 {
		return usagef("run: expected a scenario with defects; see staleproof list scenarios --long")
	}
	return nil
}

// result is a trial that has been judged.
type result struct {
	trial
	*search.Verdict
	from     uint64 // the first seed
	findings []told
	took     time.Duration
}

// runSuite judges the trials and prints as it goes: the table, the findings, the
// summary.
func (a *app) runSuite(trials []trial, o *runOptions) error {
	ctx, stop := signal.NotifyContext(context.Background(), interrupts...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt ends the program
	began := time.Now()
	if err := a.replayRegressions(o, trials); err != nil {
		return err
	}
	var results, mine []*result
	for i := range trials {
		if ctx.Err() != nil {
			break
		}
		t := &trials[i]
		if i == 0 || trials[i-1].scenario != t.scenario {
			a.gap()
			a.heading(t.scenario, trials, o)
		}
		r, err := a.judge(ctx, t, o)
		if err != nil {
			return err
		}
		a.row(r, trials, o)
		a.lines(r, o)
		a.count(r)
		results, mine = append(results, r), append(mine, r)
		if i+1 == len(trials) || trials[i+1].scenario != t.scenario || ctx.Err() != nil {
			a.footing(mine, trials, o)
			mine = nil
		}
	}
	a.notBegun(trials[len(results):])
	a.epilogue(results)
	if err := a.writeOutputs(); err != nil {
		return err
	}
	if !a.quiet || a.code != exitOK {
		a.gap()
		a.printf("%s", a.verdict(results, time.Since(began)))
	}
	a.summary()
	return nil
}

// notBegun adds trials that an interrupt left out to the report, as inconclusive.
func (a *app) notBegun(left []trial) {
	for i := range left {
		t := &left[i]
		a.worse(exitInconclusive)
		a.report.runs = append(a.report.runs, reports.Run{Scenario: t.scenario.Name, Defect: t.defect(), Doc: docOf(t.scenario, t.exposure.Defect),
			Status: reports.Inconclusive, Breaks: t.exposure.Breaks, Reason: "interrupted before it began"})
	}
}

// judge runs one trial, explains what it broke and adds it to the report.
func (a *app) judge(ctx context.Context, t *trial, o *runOptions) (*result, error) {
	s := &search.Sweep{Scenario: t.scenario, Options: scenarios.Options{Defects: t.exposure.Defect}, Plans: fuzz.At,
		From: o.seeds.from, To: o.seeds.to, Progress: a.status.progress, Quit: ctx.Done()}
	a.status.begin(name(t.scenario.Name, t.defect()))
	r := &result{trial: *t, from: o.seeds.from}
	began := time.Now()
	var err error
	switch {
	case o.matrix && !t.control():
		r.Verdict, err = s.Survey(t.exposure)
	case t.control() || t.planted:
		r.Verdict, err = s.Judge()
	default:
		s.To = s.From + min(o.hunt, seedLimit-s.From)
		r.Verdict, err = s.Hunt(t.exposure)
	}
	if err != nil {
		return nil, err
	}
	r.took = time.Since(began)
	if t.control() {
		a.playScripts(r)
	}
	if !o.matrix || !r.Expected {
		if err := r.explain(s); err != nil {
			return nil, err
		}
	}
	a.report.runs = append(a.report.runs, r.report())
	return r, nil
}

// explain shrinks and explains what was broken: the properties that the defect
// must break, first; the others only where nothing should have broken.
func (r *result) explain(s *search.Sweep) error {
	broken := r.Broken()
	var list []string
	for _, p := range r.exposure.Breaks {
		if slices.Contains(broken, p) {
			list = append(list, p)
		}
	}
	for _, p := range broken {
		if !slices.Contains(list, p) && (!r.Expected || len(list) == 0) {
			list = append(list, p)
		}
	}
	for _, p := range list {
		f, err := s.Explain(&r.Result, p)
		if err != nil {
			return err
		}
		r.findings = append(r.findings, tellFound(f, r.Schedules))
	}
	return nil
}

// count raises the exit code by a trial's verdict.
func (a *app) count(r *result) {
	switch {
	case r.Outcome == checker.Inconclusive:
		a.worse(exitInconclusive)
	case !r.Expected:
		a.worse(exitViolation)
	}
}

// first is the schedule, from 0, that first broke a property.
func (r *result) first() *int64 {
	if len(r.Kills) == 0 {
		return nil
	}
	n := int64(r.Kills[0].Seed - r.from)
	return &n
}

// soonest is how many schedules it took to break a property, 0 if it was not.
func (r *result) soonest(property string) int64 {
	k, ok := r.Kill(property)
	if !ok {
		return 0
	}
	return int64(k.Seed-r.from) + 1
}

// lines prints the trial for machines.
func (a *app) lines(r *result, o *runOptions) {
	a.line(runLine{Type: "run", Scenario: r.scenario.Name, Defect: r.defect(), Schedules: r.Schedules, Events: r.Events,
		First: r.first(), Status: r.Outcome.String(), Expected: r.Expected, Breaks: orEmpty(r.exposure.Breaks), Broken: orEmpty(r.Broken()),
		Sometimes: exercised(r.Sometimes, r.scenario.Sometimes), Reason: r.Reason, Seconds: elapsed(r.took)})
	if o.matrix {
		for _, p := range r.Broken() {
			a.line(killLine{"kill", r.scenario.Name, r.defect(), p, r.soonest(p)})
		}
	}
	for i := range r.findings {
		a.line(r.findings[i].line(r.scenario.Name, r.defect(), ""))
	}
}

// report is the trial for the report and JUnit.
func (r *result) report() reports.Run {
	run := reports.Run{Scenario: r.scenario.Name, Defect: r.defect(), Doc: r.doc(), Status: reports.Status(r.Outcome.String()),
		Expected: r.Expected, Schedules: r.Schedules, Events: r.Events, Breaks: r.exposure.Breaks, Broken: r.Broken(),
		Reason: r.Reason, Sometimes: exercised(r.Sometimes, r.scenario.Sometimes)}
	run.Params, run.Properties = params(&r.scenario.Params, sim.Timed), promises(r.scenario.Properties)
	for _, p := range run.Broken {
		if n := r.soonest(p); n > 0 {
			run.Kills = append(run.Kills, reports.Count{Name: p, Count: n})
		}
	}
	for i := range r.findings {
		run.Findings = append(run.Findings, r.findings[i].Finding)
	}
	if first := r.first(); first != nil {
		run.First = *first
	}
	return run
}

// doc says what the scenario or the defect is.
func (r *result) doc() string { return docOf(r.scenario, r.exposure.Defect) }

// docOf says what is planted, or what the scenario is about where nothing is.
func docOf(sc *scenarios.Scenario, planted model.Defects) string {
	var docs []string
	for _, d := range model.AllDefects() {
		if d.Set == planted {
			return d.Doc
		}
		if planted.Has(d.Set) {
			docs = append(docs, d.Doc)
		}
	}
	if len(docs) == 0 {
		return sc.Doc
	}
	return strings.Join(docs, "; ")
}

// playScripts plays the directed scripts of a control, none of which may break
// anything.
func (a *app) playScripts(r *result) {
	for i := range r.scenario.Scripts {
		script := &r.scenario.Scripts[i]
		p, err := scenarios.RunScript(r.scenario, script, scenarios.Options{})
		switch {
		case err != nil:
			r.spoil(err.Error())
		case len(p.Outcome.Violations) > 0:
			for _, v := range p.Outcome.Violations {
				r.findings = append(r.findings, tellHistory(p.History, checker.Explain(p.History, v)))
			}
			r.spoil("script " + script.Name + " " + p.Outcome.Violations[0].Message)
		}
	}
}

// spoil makes a control violated for a reason other than a schedule.
func (r *result) spoil(reason string) {
	r.Outcome, r.Expected, r.Reason = checker.Violated, false, reason
}

// seedRange is --seeds: from (included) to (excluded).
type seedRange struct{ from, to uint64 }

// seedLimit is the number of plans that the generator tells apart.
const seedLimit = 1 << 31

func (s *seedRange) Type() string { return "seeds" }

func (s *seedRange) String() string {
	if s.from == 0 {
		return strconv.FormatUint(s.to, 10)
	}
	return fmt.Sprintf("%d-%d", s.from, s.to-1)
}

func (s *seedRange) Set(text string) error {
	first, last, isRange := strings.Cut(text, "-")
	a, err := strconv.ParseUint(first, 10, 31)
	if !isRange {
		if err != nil || a == 0 {
			return fmt.Errorf("expected a number of seeds from 1 to %d, or a range A-B", seedLimit-1)
		}
		*s = seedRange{0, a}
		return nil
	}
	b, err2 := strconv.ParseUint(last, 10, 31)
	if err != nil || err2 != nil || a > b {
		return fmt.Errorf("expected a range A-B of seeds from 0 to %d, A not above B", seedLimit-1)
	}
	*s = seedRange{a, b + 1}
	return nil
}
