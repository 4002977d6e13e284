package main

import (
	"cmp"
	"context"
	"fmt"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/reports"
	"staleproof/scenarios"
	"staleproof/sim"
	"staleproof/sim/explore"
)

// exploreOptions are the flags of explore.
type exploreOptions struct {
	defect    string
	faults    int
	size      map[string]*int64 // by the name of the parameter
	workers   int
	maxStates int
	maxMemory int64
	limit     durationFlag
}

// sizes are the parameters that have a flag of explore.
var sizes = []string{"clients", "acquisitions", "writes", "renewals", "horizon", "ttl"}

func (a *app) exploreCommand() *cobra.Command {
	o := exploreOptions{size: map[string]*int64{}}
	cmd := &cobra.Command{
		Use:   "explore SCENARIO",
		Short: "search every schedule of a small size exhaustively",
		Long: `Explore runs a scenario's processes under every schedule within bounds: each
message may arrive next, each timer may ring, and each fault strike within its
budget. The first counterexample has the fewest faults, then the fewest steps;
its token replays it. Without one the verdict is complete, or says what remains.`,
		Example: `  staleproof explore textbook
  staleproof explore textbook --defect store-ignores-token
  staleproof explore lf --clients 2 --acquisitions 2 --writes 1 --renewals 1`,
		DisableFlagsInUseLine: true,
		Args:                  exactlyOne("a scenario"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkPlaces(nil); err != nil {
				return err
			}
			return a.explore(cmd, args[0], &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.defect, "defect", "none", "plant defect `D`")
	f.IntVar(&o.faults, "faults", -1, "at most `N` faults in one run (default: one of each kind)")
	for _, d := range scenarios.ParamTable() {
		for _, name := range sizes {
			if d.Name == name {
				o.size[name] = f.Int64(name, -1, d.Doc+" (default: a small size)")
			}
		}
	}
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "`N` goroutines; the result is the same for any number")
	f.IntVar(&o.maxStates, "max-states", 0, "stop after `N` states")
	f.Int64Var(&o.maxMemory, "max-memory", 4096, "use at most `N` MiB of memory; 0: no limit")
	f.Var(&o.limit, "for", "stop after `TIME`, such as 60s")
	for _, name := range append([]string{"faults"}, sizes...) {
		f.Lookup(name).DefValue = "0" // the text says what the default is
	}
	a.report.flags(cmd)
	return cmd
}

// explore searches, and prints what was covered and what was found.
func (a *app) explore(cmd *cobra.Command, name string, o *exploreOptions) error {
	sc, b, defects, opt, err := o.parse(cmd, name)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), interrupts...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt ends the program
	opt.Interrupt = ctx.Done()
	defer limitMemory(opt.MaxBytes)()
	a.status.begin("explore " + sc.Name)
	opt.Progress = func(p explore.Progress) { a.status.progress(p.States, p.Generated) }
	x, err := sc.Explore(b, defects, opt)
	if err != nil {
		return err
	}
	e := &explored{Explored: x, scenario: sc, planted: defects, defect: defects.String(), bounds: b}
	if x.Run != nil {
		if e.replay, err = replay(x.Run); err != nil {
			return err
		}
		e.first()
	}
	return a.tellExplored(e)
}

// codeBytes is about what the system keeps of the program's own code in memory,
// which the limit of the runtime leaves out.
const codeBytes = 8 << 20

// limitMemory makes the runtime collect garbage so soon that the process keeps to
// a limit in bytes, unless its environment sets a lower one; 0 is none. It returns
// what ends that.
func limitMemory(limit int64) func() {
	before := debug.SetMemoryLimit(-1)
	if limit <= 0 || before <= limit-codeBytes {
		return func() {}
	}
	debug.SetMemoryLimit(max(0, limit-codeBytes))
	return func() { debug.SetMemoryLimit(before) }
}

// parse checks the flags.
func (o *exploreOptions) parse(cmd *cobra.Command, name string) (sc *scenarios.Scenario, b scenarios.Bounds, d model.Defects, opt explore.Options, err error) {
	var all []string
	for _, s := range scenarios.AllScenarios() {
		if all = append(all, s.Name); s.Name == name {
			sc = s
		}
	}
	if sc == nil {
		err = unknown("scenario", name, all, "staleproof list scenarios")
		return
	}
	if d, err = o.planted(sc); err != nil {
		return
	}
	b = sc.Bounds()
	for name, value := range o.size {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if err = b.Params.Set(name, *value); err != nil {
			err = usagef("--%s: %s", name, strings.TrimPrefix(err.Error(), "parameter "+name+": "))
			return
		}
	}
	if err = o.ticks(cmd, sc); err != nil {
		return
	}
	if d.Has(model.RenewalRaisesToken) && !cmd.Flags().Changed("renewals") {
		b.Params.Renewals, b.Params.Renew = 1, 1 // it takes one to show
	}
	if cmd.Flags().Changed("renewals") && !sc.Searched {
		b.Params.Renew = min(1, b.Params.Renewals)
	}
	if cmd.Flags().Changed("acquisitions") && !sc.Searched {
		b.Params.Tries = b.Params.Acquisitions
	}
	opt = explore.Options{Workers: o.workers, MaxStates: o.maxStates, MaxBytes: o.maxMemory << 20, MaxTime: time.Duration(o.limit)}
	switch {
	case cmd.Flags().Changed("faults") && (o.faults < 0 || o.faults > 15):
		err = usagef("--faults: expected 0 to 15, found %d", o.faults)
	case o.workers < 1 || o.workers > 1024:
		err = usagef("--workers: expected 1 to 1024, found %d", o.workers)
	case o.maxStates < 0:
		err = usagef("--max-states: expected a number of states, 0 for no limit, found %d", o.maxStates)
	case o.maxMemory < 0 || o.maxMemory > maxMiB:
		err = usagef("--max-memory: expected 0, for no limit, to %d MiB, found %d", maxMiB, o.maxMemory)
	case o.faults == 0:
		opt.Faults, b.Faults = -1, nil
	case o.faults > 0:
		opt.Faults = o.faults
		for s := range b.Faults {
			b.Faults[s] = max(b.Faults[s], o.faults)
		}
	}
	if err == nil {
		_, err = sc.System(b, d) // a size that the scenario does not have
	}
	err = usage(err)
	return
}

// planted is the scenario's defect that --defect names.
func (o *exploreOptions) planted(sc *scenarios.Scenario) (model.Defects, error) {
	d, err := sc.Defect(o.defect)
	switch {
	case err == nil:
		return d, nil
	case strings.Contains(o.defect, "+"):
		return 0, usagef("--defect: expected one defect, found %q; fuzz plants several", o.defect)
	}
	return 0, noDefect("explore", o.defect, []*scenarios.Scenario{sc})
}

// maxMiB bounds --max-memory: a petabyte.
const maxMiB = 1 << 30

// hasSize says whether a parameter is one of the sizes of the scenario's search:
// time is ticks in the bounded ones alone.
func hasSize(sc *scenarios.Scenario, name string) bool {
	inTicks := name == "horizon" || name == "ttl"
	return slices.Contains(sizes, name) && (!inTicks || sc.Timing == sim.Bounded)
}

// ticks refuses flags that mean something only where time is ticks.
func (o *exploreOptions) ticks(cmd *cobra.Command, sc *scenarios.Scenario) error {
	for _, name := range sizes {
		if cmd.Flags().Changed(name) && !hasSize(sc, name) {
			return usagef("--%s: expected a scenario in which time is ticks, such as lf-time; in a search of %s any timer may ring at any time", name, sc.Name)
		}
	}
	if hasSize(sc, "horizon") && cmd.Flags().Changed("horizon") && *o.size["horizon"] == 0 {
		return usagef("--horizon: expected a tick from 1, found 0")
	}
	return nil
}

// explored is a search that has ended.
type explored struct {
	*scenarios.Explored
	scenario *scenarios.Scenario
	planted  model.Defects
	defect   string // its name
	bounds   scenarios.Bounds
	replay   *replayed // of the counterexample
}

// first puts the finding that the search came to before those that its replay,
// which goes on to the end of the run, came to besides.
func (e *explored) first() {
	list := e.replay.findings
	slices.SortStableFunc(list, func(a, b told) int {
		return cmp.Compare(rank(a.Property == e.Property), rank(b.Property == e.Property))
	})
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func (e *explored) verdict() checker.Outcome {
	switch {
	case e.Violation != nil:
		return checker.Violated
	case e.Truncated != "":
		return checker.Inconclusive
	}
	return checker.Satisfied
}

// exploredLine is what --json prints of a search.
type exploredLine struct {
	Type      string   `json:"type"` // "explored"
	Scenario  string   `json:"scenario"`
	Defect    string   `json:"defect"`
	States    int64    `json:"states"`
	Generated int64    `json:"generated"`
	Depth     int      `json:"depth"`
	Faults    int      `json:"faults"` // that every schedule searched may have
	Complete  bool     `json:"complete"`
	Status    string   `json:"status"`
	Broken    []string `json:"broken"`
	Steps     *int     `json:"steps,omitempty"` // of the counterexample
	Covered   string   `json:"covered"`
	Seconds   elapsed  `json:"seconds"`
}

func (a *app) tellExplored(e *explored) error {
	line := exploredLine{Type: "explored", Scenario: e.scenario.Name, Defect: e.defect, States: e.States, Generated: e.Generated,
		Depth: e.Depth, Faults: e.MaxFaults, Complete: e.Complete(), Status: e.verdict().String(), Broken: []string{},
		Covered: e.Covered(), Seconds: elapsed(time.Duration(e.Seconds * float64(time.Second)))}
	if e.Violation != nil {
		line.Broken, line.Steps, line.Faults = []string{e.Property}, &e.Violation.Steps, e.Violation.Faults
	}
	a.line(line)
	a.printExplored(e)
	run := reports.Run{Scenario: e.scenario.Name, Defect: e.defect, Doc: docOf(e.scenario, e.planted), Status: reports.Status(e.verdict().String()),
		Expected: e.verdict() == checker.Satisfied, States: e.States, Covered: e.Covered() + "; " + e.size(), Reason: e.Truncated, Broken: line.Broken,
		Params: params(&e.bounds.Params, e.timing()), Properties: promises(e.scenario.Judged(e.timing()))}
	if e.replay != nil {
		for i := range e.replay.findings {
			f := &e.replay.findings[i]
			a.line(f.line(e.scenario.Name, e.defect, ""))
			f.Finding.Replay = replayCommand(e.Run.Token())
			run.Findings = append(run.Findings, f.Finding)
		}
	}
	a.report.runs = append(a.report.runs, run)
	a.worse(exitOf(&run))
	return a.conclude()
}

// printExplored says what was covered, and what was not.
func (a *app) printExplored(e *explored) {
	if a.quiet && e.verdict() == checker.Satisfied {
		return
	}
	a.printf("%s: %s\n\n", a.style(bold, name(e.scenario.Name, e.defect)), a.style(colourOf(e.verdict()), e.verdict().String()))
	a.field("covered", grouped(e.Covered()))
	a.field("bounds", e.size())
	a.field("not", e.left())
	a.field("states", fmt.Sprintf("%s, %s transitions, depth %d, in %.1f s", count(e.States), count(e.Generated-1), e.Depth, e.Seconds))
	a.field("ran", fmt.Sprintf("process code %s times, for %s local states", count(e.Runs), count(int64(e.Locals))))
	a.field("checked", grouped(e.Checked()))
	if e.Violation == nil {
		return
	}
	a.gap()
	a.printf("%s", wrap("  ", "    ", fmt.Sprintf("The shortest counterexample breaks %s with %s in %s.", e.Property,
		number(int64(e.Violation.Faults), "fault"), number(int64(e.Violation.Steps), "step"))))
	for i, step := range e.Violation.Trace {
		a.printf("%s", wrap(fmt.Sprintf("  %3d. ", i+1), "       ", step))
	}
	a.gap()
	a.findings(e.replay.findings, true)
	if len(e.replay.findings) == 0 {
		a.field("replay", replayCommand(e.Run.Token()))
	}
}

// timing is the semantics of time under which the scenario was searched.
func (e *explored) timing() sim.Timing {
	if e.scenario.Searched {
		return e.scenario.Timing
	}
	return sim.Untimed
}

// size says within which bounds was searched.
func (e *explored) size() string {
	p := &e.bounds.Params
	words := []string{number(p.Clients, "client"), number(p.Acquisitions, "acquisition") + " each", number(p.Writes, "write"), number(p.Renewals, "renewal")}
	if p.Horizon > 0 && e.scenario.Searched {
		words = append(words, fmt.Sprintf("a term of %d ticks, up to tick %d", p.TTL, p.Horizon))
	}
	for _, s := range []sim.Site{sim.SiteDrop, sim.SiteDuplicate, sim.SiteCrash, sim.SiteStall, sim.SitePause} {
		if n := e.bounds.Faults[s]; n > 0 {
			words = append(words, fmt.Sprintf("%s at most %d", s, n))
		}
	}
	return strings.Join(words, ", ")
}

// left says what the search says nothing of.
func (e *explored) left() string {
	left := "larger sizes, other faults"
	if e.scenario.Timing != sim.Bounded {
		left += ", and what depends on time: any timer may ring at any time"
	}
	return left
}
