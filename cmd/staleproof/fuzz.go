package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/scenarios"
	"staleproof/scenarios/fuzz"
	"staleproof/scenarios/search"
)

// defaultFuzz is how many seeds of a scenario are fuzzed unless something else
// ends it.
const defaultFuzz = 100_000

// fuzzOptions are the flags of fuzz.
type fuzzOptions struct {
	seeds    seedRange
	limit    time.Duration
	until    int
	defects  []string
	strategy strategyFlag
	shard    shardFlag
	out      string
	open     bool // time is the only end
}

func (a *app) fuzzCommand() *cobra.Command {
	o := fuzzOptions{seeds: seedRange{0, defaultFuzz}, until: 1}
	cmd := &cobra.Command{
		Use:   "fuzz [SCENARIO...]",
		Short: "search for schedules that break a scenario",
		Long: `Fuzz searches for schedules that break the built-in scenarios, or those named,
on all cores. A violation is exit code 1. Seeds make the search reproducible:
the same seeds, strategy and version find the same, with any number of cores.

With --out the results are also written to a file, as the search goes on; the
same command goes on where the file ends. With --shard K/N many machines share
the seeds, each for itself; staleproof merge puts their files together. Their
strategy is mix unless another is named: portfolio is not possible there,
because what it does with a seed depends on what all seeds before it showed.

Strategies:
` + strategyHelp(),
		Example: `  staleproof fuzz --for 60s
  staleproof fuzz textbook --seeds 1000000 --until 3
  staleproof fuzz check-apart --defect store-checks-apart --strategy pct
  staleproof fuzz --seeds 1000000 --shard 3/64 --out 3.results`,
		DisableFlagsInUseLine: true,
		Args:                  func(_ *cobra.Command, args []string) error { return checkScenarios(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("for") && !cmd.Flags().Changed("seeds") {
				o.seeds, o.open = seedRange{0, seedLimit}, true
			}
			if err := o.forFarm(cmd.Flags().Changed("until")); err != nil {
				return err
			}
			return a.fuzz(args, &o)
		},
	}
	f := cmd.Flags()
	f.Var(&o.seeds, "seeds", "`N` or A-B: seeds of each scenario")
	f.Var((*durationFlag)(&o.limit), "for", "end after `TIME`, such as 60s, shared by the scenarios; without --seeds it is the only end")
	f.IntVar(&o.until, "until", o.until, "end a scenario when `N` properties are broken; 0: never")
	f.StringArrayVar(&o.defects, "defect", nil, "plant defect `D`; may be repeated")
	f.Var(&o.strategy, "strategy", "how schedules are chosen (default portfolio)")
	f.Var(&o.shard, "shard", "run the seeds that are K modulo N, as `K/N`")
	f.StringVar(&o.out, "out", "", "write results to `FILE`, and go on where it ends")
	a.report.flags(cmd)
	return cmd
}

// forFarm settles what a search needs whose results are put together with those
// of others: nothing may depend on what other seeds showed.
func (o *fuzzOptions) forFarm(until bool) error {
	if o.out == "" && o.shard.n < 2 {
		return nil
	}
	switch {
	case o.strategy == search.Portfolio:
		return usagef("--strategy: portfolio learns from all seeds, so its results cannot be shared out or put together; expected mix, which has fixed shares, or a single strategy")
	case until && o.until != 0:
		return usagef("--until: expected 0 with --shard or --out, because every seed is run, found %d", o.until)
	}
	o.until = 0
	if o.strategy == "" {
		o.strategy = search.Mix
	}
	return nil
}

// shardFlag is --shard.
type shardFlag struct{ k, n uint64 }

// maxShards bounds --shard.
const maxShards = 1 << 16

func (s *shardFlag) Type() string { return "K/N" }
func (s *shardFlag) String() string {
	if s.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.k, s.n)
}

func (s *shardFlag) Set(text string) error {
	first, last, _ := strings.Cut(text, "/")
	k, err := strconv.ParseUint(first, 10, 32)
	n, err2 := strconv.ParseUint(last, 10, 32)
	if err != nil || err2 != nil || n == 0 || n > maxShards || k >= n {
		return fmt.Errorf("expected K/N, such as 3/64, K from 0 to N-1 and N at most %d", maxShards)
	}
	*s = shardFlag{k, n}
	return nil
}

// strategyHelp lists the strategies.
func strategyHelp() string {
	var b strings.Builder
	item := func(name, doc string) {
		head := fmt.Sprintf("  %-10s ", name)
		b.WriteString(wrap(head, strings.Repeat(" ", len(head)), doc))
	}
	item(search.Portfolio, "all but uniform; time goes to what shows new behaviour")
	item(search.Mix, "all but uniform, in fixed shares")
	for _, s := range search.Strategies() {
		item(s.Name, s.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}

// strategyFlag is --strategy.
type strategyFlag string

func (s *strategyFlag) String() string { return string(*s) }
func (s *strategyFlag) Type() string   { return "S" }

func (s *strategyFlag) Set(text string) error {
	if names := search.StrategyNames(); !slices.Contains(names, text) {
		return fmt.Errorf("expected one of %s", strings.Join(names, ", "))
	}
	*s = strategyFlag(text)
	return nil
}

// durationFlag is a time above 0.
type durationFlag time.Duration

func (d *durationFlag) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}
func (d *durationFlag) Type() string { return "TIME" }

func (d *durationFlag) Set(text string) error {
	v, err := time.ParseDuration(text)
	if err != nil || v <= 0 {
		return errors.New("expected a time above 0, such as 60s or 10m")
	}
	*d = durationFlag(v)
	return nil
}

// fuzzed is a scenario that has been searched.
type fuzzed struct {
	*result
	fuzz     *search.Fuzz
	campaign *search.Campaign
	open     bool // the seeds have no end
}

// trials lists what to fuzz.
func (o *fuzzOptions) trials(names []string) ([]trial, error) {
	r := runOptions{verb: "fuzz", defects: o.defects}
	if len(r.defects) == 0 {
		r.defects = []string{"none"}
	}
	return r.trials(names)
}

// fuzz searches scenario after scenario and prints as it goes.
func (a *app) fuzz(names []string, o *fuzzOptions) error {
	trials, err := o.trials(names)
	if err != nil {
		return err
	}
	if o.until < 0 {
		return usagef("--until: expected a number of broken properties, 0 for no end, found %d", o.until)
	}
	if err := a.checkPlaces(nil, place{"--out", o.out}); err != nil {
		return err
	}
	out, err := openResults(o, trials)
	if err != nil {
		return err
	}
	defer out.close()
	ctx, stop := signal.NotifyContext(context.Background(), interrupts...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt ends the program
	began := time.Now()
	var results []*result
	for i := range trials {
		if ctx.Err() != nil {
			a.notBegun(trials[i:])
			break
		}
		limit := time.Duration(0)
		if o.limit > 0 {
			limit = max(0, o.limit-time.Since(began)) / time.Duration(len(trials)-i)
		}
		f, err := a.search(ctx, &trials[i], o, limit, out.of(i))
		if err != nil {
			return err
		}
		a.tellFuzzed(f)
		results = append(results, f.result)
	}
	if err := out.close(); err != nil {
		return err
	}
	return a.endFuzz(results, time.Since(began))
}

// search fuzzes one scenario and judges it.
func (a *app) search(ctx context.Context, t *trial, o *fuzzOptions, limit time.Duration, keep keeper) (*fuzzed, error) {
	timed := ctx
	if o.limit > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	f := &fuzzed{fuzz: &search.Fuzz{Scenario: t.scenario, Options: scenarios.Options{Defects: t.exposure.Defect}, Plans: fuzz.At,
		Strategy: string(o.strategy), From: o.seeds.from, To: o.seeds.to, Until: o.until,
		Shard: o.shard.k, Shards: o.shard.n, Quit: timed.Done()}, open: o.open}
	keep(f.fuzz)
	began := time.Now()
	a.status.begin(name(t.scenario.Name, t.defect()))
	f.fuzz.Progress = func(p search.Progress) {
		a.status.tell(func(count func(int64) string) []string { return fuzzStatus(f.fuzz, p, began, limit, count) })
	}
	var err error
	if f.campaign, err = f.fuzz.Run(); err != nil {
		return nil, err
	}
	if o.out != "" { // what was known before is not in it
		f.campaign.Coverage = 0
	}
	if ctx.Err() == nil { // the time that was given is spent: that is no interruption
		f.campaign.Interrupted = false
	}
	return f, f.judge(t, time.Since(began))
}

// judge makes the verdict and explains what was broken.
func (f *fuzzed) judge(t *trial, took time.Duration) error {
	f.result = &result{trial: *t, from: f.fuzz.From, took: took, Verdict: f.fuzz.Verdict(f.campaign)}
	for _, p := range f.Broken() {
		found, err := f.fuzz.Explain(f.campaign, p)
		if err != nil {
			return err
		}
		k, _ := f.Kill(p)
		told := tell(found.Finding)
		told.Found = fmt.Sprintf("by %s at seed %d; %s", k.Strategy, k.Seed, shrunk(found))
		f.findings = append(f.findings, told)
	}
	return nil
}

// fuzzStatus is the status line: what matters most comes first.
func fuzzStatus(f *search.Fuzz, p search.Progress, began time.Time, limit time.Duration, count func(int64) string) []string {
	took := time.Since(began)
	rate := float64(p.Schedules) / max(took.Seconds(), 1e-3)
	left := limit - took
	if total := float64(f.To-f.From)/float64(max(1, f.Shards)) - float64(p.Schedules); f.To < seedLimit && rate > 0 {
		bySeeds := time.Duration(total / rate * float64(time.Second))
		if limit == 0 || bySeeds < left {
			left = bySeeds
		}
	}
	live, peak := memory()
	return []string{plural(p.Schedules, count, "schedule"), count(int64(rate)) + "/s", max(0, left).Round(time.Second).String() + " left",
		count(int64(p.Findings)) + " found", plural(p.Events, count, "event"), "cover " + count(int64(p.Coverage)), fmt.Sprintf("%d MB of which %.1f live", peak, live)}
}

// memory is, in MB, what was in use when garbage was last collected, and all that
// the program has asked the system for: the runtime keeps what it gives back in that
// count. On a machine with too much to do the collector comes late, and the second
// is more.
func memory() (live float64, peak int64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	return float64(samples[0].Value.Uint64()) / (1 << 20), int64(samples[1].Value.Uint64() >> 20)
}

// fuzzedLine is a searched scenario for machines.
type fuzzedLine struct {
	Type       string         `json:"type"` // "fuzzed"
	Scenario   string         `json:"scenario"`
	Defect     string         `json:"defect"`
	Strategy   string         `json:"strategy"`
	Seeds      string         `json:"seeds"`
	Shard      string         `json:"shard,omitempty"`
	Schedules  int64          `json:"schedules"`
	Events     int64          `json:"events"`
	Status     string         `json:"status"`
	Expected   bool           `json:"expected"`
	Broken     []string       `json:"broken"`
	Sometimes  counts         `json:"sometimes"`
	Coverage   int            `json:"coverage,omitempty"`
	Strategies []strategyLine `json:"strategies"`
	Reason     string         `json:"reason,omitempty"`
	Seconds    elapsed        `json:"seconds"`
}

type strategyLine struct {
	Name      string `json:"name"`
	Schedules int64  `json:"schedules"`
	Findings  int    `json:"findings"`
	New       int64  `json:"new,omitempty"`
}

// tellFuzzed prints a scenario, for people and for machines, and adds it to the
// report.
func (a *app) tellFuzzed(f *fuzzed) {
	a.report.runs = append(a.report.runs, f.report())
	a.count(f.result)
	line := fuzzedLine{Type: "fuzzed", Scenario: f.scenario.Name, Defect: f.defect(), Strategy: f.strategy(),
		Seeds: f.seeds(), Shard: f.shard(), Schedules: f.Schedules, Events: f.Events, Status: f.Outcome.String(), Expected: f.Expected,
		Broken: orEmpty(f.Broken()), Sometimes: exercised(f.Sometimes, f.scenario.Sometimes), Coverage: f.campaign.Coverage,
		Strategies: []strategyLine{}, Reason: f.Reason, Seconds: elapsed(f.took)}
	for _, s := range f.campaign.Strategies {
		if f.campaign.Coverage == 0 {
			s.New = 0
		}
		line.Strategies = append(line.Strategies, strategyLine(s))
	}
	a.line(line)
	for i := range f.findings {
		a.line(f.findings[i].line(f.scenario.Name, f.defect(), ""))
	}
	if a.quiet && f.Expected {
		return
	}
	a.tableOfFuzzed(f)
	if len(f.findings) > 0 {
		a.gap()
		a.findings(f.findings, true)
	}
}

func (f *fuzzed) strategy() string {
	if f.fuzz.Strategy == "" {
		return search.Portfolio
	}
	return f.fuzz.Strategy
}

// seeds writes the seeds; their end is missing if time was it.
func (f *fuzzed) seeds() string {
	h := search.ResultHeader{From: f.fuzz.From, To: f.fuzz.To}
	if f.open {
		h.To = 0
	}
	return h.Seeds()
}

// shard is K/N, empty if there is one shard.
func (f *fuzzed) shard() string {
	if f.fuzz.Shards < 2 {
		return ""
	}
	return (&shardFlag{f.fuzz.Shard, f.fuzz.Shards}).String()
}

// tableOfFuzzed prints the verdict of a scenario and what each strategy did.
func (a *app) tableOfFuzzed(f *fuzzed) {
	a.gap()
	verdict, colour := f.verdict()
	shard := ""
	if f.shard() != "" {
		shard = " in shard " + f.shard()
	}
	a.printf("%s: %s%s (%s, %s, %s)\n", a.style(bold, name(f.scenario.Name, f.defect())), a.style(colour, verdict), shard, f.strategy(),
		number(f.Schedules, "schedule"), number(f.Events, "event"))
	if f.Reason != "" {
		a.printf("%s", wrap("  ", "  ", f.Reason))
	}
	withNew := f.campaign.Coverage > 0
	head := fmt.Sprintf("  %-9s  %11s  %8s", "strategy", "schedules", "findings")
	if withNew {
		head += fmt.Sprintf("  %12s", "new behaviour")
	}
	a.printf("%s\n", a.style(dim, head))
	for _, s := range f.campaign.Strategies {
		line := fmt.Sprintf("  %-9s  %11s  %8d", s.Name, count(s.Schedules), s.Findings)
		if withNew {
			line += fmt.Sprintf("  %13s", count(s.New))
		}
		a.printf("%s\n", line)
	}
	var met []string
	for _, c := range exercised(f.Sometimes, f.scenario.Sometimes) {
		met = append(met, c.Name+" "+count(c.Count))
	}
	a.printf("%s", wrapWords("  met ", "      ", commas(met)))
}

// endFuzz writes the files and the last lines.
func (a *app) endFuzz(results []*result, took time.Duration) error {
	if err := a.writeOutputs(); err != nil {
		return err
	}
	if !a.quiet || a.code != exitOK {
		a.gap()
		a.printf("%s", a.fuzzVerdict(results, took))
	}
	a.summary()
	return nil
}

// fuzzVerdict sums up in a line.
func (a *app) fuzzVerdict(results []*result, took time.Duration) string {
	var bad, open []string
	var schedules int64
	for _, r := range results {
		schedules += r.Schedules
		switch {
		case r.Outcome == checker.Inconclusive:
			open = append(open, name(r.scenario.Name, r.defect()))
		case !r.Expected:
			bad = append(bad, r.complaint())
		}
	}
	_, peak := memory()
	effort := fmt.Sprintf(" (%.1f s, %d MB)", took.Seconds(), peak)
	switch {
	case len(bad) > 0:
		return wrap(a.style(red, "violated:")+" ", "  ", strings.Join(bad, ", ")+effort)
	case len(open) > 0:
		return wrap(a.style(yellow, "inconclusive:")+" ", "  ", strings.Join(open, ", ")+effort)
	case a.code == exitInconclusive:
		return wrap(a.style(yellow, "inconclusive:")+" ", "  ", "interrupted"+effort)
	}
	return wrap(a.style(green, "satisfied:")+" ", "  ", "nothing broke in "+number(schedules, "schedule")+effort)
}
