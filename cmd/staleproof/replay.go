package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/model/history"
	"staleproof/reports"
	"staleproof/scenarios"
	"staleproof/sim"
	"staleproof/sim/watchdog"
)

// replayOptions are the flags of replay.
type replayOptions struct{ history, schedule string }

func (a *app) replayCommand() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay TOKEN|SCHEDULE-FILE",
		Short: "run a schedule again, event for event",
		Long: `Replay runs a schedule again: that of a replay token, as every finding has one,
or that of a schedule file, which is the same in readable text and may be edited
(delete its digest then). The run is the same on every machine; its verdict is
the exit code. If the code has changed so that it is another run, replay says
from which event on, and --schedule writes the decisions without the digest.`,
		Example: `  staleproof replay sp1:... --history run.jsonl
  staleproof replay sp1:... --schedule run.schedule
  staleproof replay run.schedule`,
		DisableFlagsInUseLine: true,
		Args:                  exactlyOne("a replay token or a schedule file"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkPlaces(filesOf(args), place{"--history", o.history}, place{"--schedule", o.schedule}); err != nil {
				return err
			}
			rec, err := readRecorded("replay", args[0])
			if err != nil {
				return err
			}
			return a.replayRun(rec, &o)
		},
	}
	cmd.Flags().StringVar(&o.history, "history", "", "write the history as JSON Lines to `FILE`")
	cmd.Flags().StringVar(&o.schedule, "schedule", "", "write the schedule as readable text to `FILE`")
	a.report.flags(cmd)
	return cmd
}

// tokenLike matches replay tokens, also those that a newer or older version made.
var tokenLike = regexp.MustCompile(`^\s*sp[0-9]+:`)

// filesOf are the arguments that are no tokens.
func filesOf(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), tokenLike.MatchString)
}

// maxSchedule bounds the size of a schedule file.
const maxSchedule = 1 << 20

// readRecorded reads a token or a schedule file for a command. Its errors are
// about the input.
func readRecorded(command, arg string) (*scenarios.Recorded, error) {
	if tokenLike.MatchString(arg) {
		rec, err := scenarios.ParseToken(arg)
		return rec, usage(err)
	}
	if _, err := os.Stat(arg); errors.Is(err, os.ErrNotExist) || err != nil && strings.Contains(arg, "\x00") {
		return nil, usagef("%s: expected a token that begins with sp1: or a schedule file, found neither: %q; copy the whole token, or check the path", command, short(arg))
	}
	f, err := openInput(arg, "a replay token or a schedule file")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSchedule+1))
	if err != nil {
		return nil, usage(err)
	}
	if len(text) > maxSchedule {
		return nil, usagef("%s: expected a schedule file of at most 1 MiB, found more; is it a history? staleproof check judges those", arg)
	}
	if bytes.HasPrefix(text, []byte(`{"format":"`)) {
		return nil, usagef("%s: expected a replay token or a schedule file, found a history; staleproof check judges it, and its first line holds the token of a simulated one", arg)
	}
	rec, err := scenarios.ParseScheduleFile(arg, string(text))
	return rec, usage(err)
}

func short(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// divergedError says that a replay went another way.
type divergedError struct {
	want, got uint64
	events    int64
	at        *scenarios.Divergence // nil if it cannot be told
}

func (e *divergedError) Error() string {
	where := fmt.Sprintf("diverged: expected digest %016x, found %016x after %d events", e.want, e.got, e.events)
	if e.at != nil {
		where = e.at.Error()
	}
	return where + ": the code or the schedule is not the one that was recorded; replay with --schedule FILE writes the decisions without the digest, and that file runs whatever the code is now; the token of a test is replayed by that test, with STALEPROOF_REPLAY"
}

// replayed is a run that has been had again.
type replayed struct {
	*scenarios.Recorded
	scenario *scenarios.Scenario
	outcome  scenarios.Outcome
	verdict  checker.Outcome
	words    []string // decisions
	work     []string // that is less than the scenario's
	unused   []string // decisions of the schedule that the run had no choice for
	schedule string   // as text
	history  *history.History
	findings []told
}

// replay runs rec again and explains what it breaks.
func replay(rec *scenarios.Recorded) (*replayed, error) {
	sc, err := scenarios.Lookup(rec.Scenario)
	if err != nil {
		return nil, usage(err)
	}
	r, err := scenarios.NewRunner(sc, scenarios.Options{Defects: rec.Defects, Timing: rec.Timing})
	if err != nil {
		return nil, err
	}
	p := &replayed{Recorded: rec, scenario: sc}
	w := r.World()
	err = watchdog.Run(w.Heart(), func(id int) string { return w.Name(sim.ID(id)) }, 10*time.Second, func() error { return p.run(r) })
	if _, blocked := errors.AsType[*watchdog.Blocked](err); !blocked {
		r.Close() // a world that blocks is left behind
	}
	return p, err
}

func (p *replayed) run(r *scenarios.Runner) error {
	o, h := r.Record(&p.Params, p.Schedule)
	if p.Digest != 0 && p.Digest != o.Result.Digest {
		return p.diverged(r, &o, h)
	}
	p.outcome, p.history, p.verdict = o, h, verdictOf(&o)
	p.unused = unused(p.Schedule, o.Result.Decisions, r.World().Names())
	// Only what was really decided belongs to the schedule, in the order in which
	// it was: a token and an edited file of one run become the same.
	p.Schedule = slices.Clone(o.Result.Decisions)
	p.Digest, p.Trail, p.Marks = o.Result.Digest, scenarios.Trail(h), scenarios.MarksOf(h)
	p.history.Header.Replay = p.Token()
	p.words, p.work = r.Decisions(&p.Params, p.Schedule), r.Work(&p.Params)
	var err error
	if p.schedule, err = scenarios.FormatSchedule(p.Recorded, r.World().Describe); err != nil {
		return err
	}
	for _, property := range o.Broken() {
		f, err := r.Explain(&p.Params, p.Seed, p.Schedule, p.Digest, property)
		if err != nil {
			return err
		}
		p.findings = append(p.findings, tell(f))
	}
	return nil
}

// unused lists the decisions that were asked for and not made: there was no such
// choice, or it had no such option. A schedule that a person wrote may have any.
func unused(asked, made sim.Schedule, names []string) []string {
	had := map[sim.Key]bool{}
	for _, d := range made {
		had[d.Key] = true
	}
	var list []string
	for _, d := range asked {
		if d.Option != 0 && !had[d.Key] {
			list = append(list, sim.Schedule{d}.Text(names))
		}
	}
	return list
}

// diverged says that the run is another one, and from which event on as far as the
// schedule's trail or the token's marks tell. It keeps the schedule without its
// digest.
func (p *replayed) diverged(r *scenarios.Runner, o *scenarios.Outcome, h *history.History) error {
	err := &divergedError{want: p.Digest, got: o.Result.Digest, events: int64(len(h.Events))}
	switch {
	case p.Trail != "":
		err.at = scenarios.Diverged(p.Trail, h)
	default:
		err.at = p.Marks.Diverged(h)
	}
	bare := *p.Recorded
	bare.Digest, bare.Trail = 0, ""
	var failed error
	if p.schedule, failed = scenarios.FormatSchedule(&bare, r.World().Describe); failed != nil {
		return failed
	}
	return err
}

func verdictOf(o *scenarios.Outcome) checker.Outcome {
	switch {
	case len(o.Violations) > 0:
		return checker.Violated
	case len(o.Inconclusive) > 0:
		return checker.Inconclusive
	}
	return checker.Satisfied
}

// replayRun replays, writes what was asked for, and prints.
func (a *app) replayRun(rec *scenarios.Recorded, o *replayOptions) error {
	began := time.Now()
	p, err := replay(rec)
	if _, other := errors.AsType[*divergedError](err); other && o.schedule != "" {
		if failed := writeText(o.schedule, p.schedule); failed != nil {
			return failed
		}
	}
	if err != nil {
		return err
	}
	took := time.Since(began)
	if o.history != "" {
		if err := writeFile(o.history, func(w io.Writer) error { return history.WriteAll(w, p.history) }); err != nil {
			return err
		}
	}
	if o.schedule != "" {
		if err := writeText(o.schedule, p.schedule); err != nil {
			return err
		}
	}
	a.tellReplay(p, o)
	a.replayLines(p, took)
	run := p.report()
	a.report.runs = []reports.Run{run}
	a.worse(exitOf(&run))
	return a.conclude()
}

func writeText(path, text string) error {
	return writeFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

func (a *app) tellReplay(p *replayed, o *replayOptions) {
	if a.quiet && p.verdict == checker.Satisfied {
		return
	}
	a.printf("%s: %s (%s, %s)\n\n", a.style(bold, name(p.Scenario, p.Defects.String())), a.style(colourOf(p.verdict), p.verdict.String()),
		number(p.events(), "event"), scenarios.TimeText(p.outcome.Result.Time, ""))
	for i := range p.findings {
		p.findings[i].Replay = "" // it has just been typed
	}
	a.findings(p.findings, true)
	if len(p.findings) == 0 {
		a.decisions(p.words, false)
		a.field("less work", strings.Join(p.work, ", "))
	} else if len(p.findings) > 1 {
		a.gap()
	}
	if len(p.unused) > 0 {
		a.field("unused", abridged(p.unused)+": the run had no such choice")
	}
	for _, why := range p.outcome.Inconclusive {
		a.field("not judged", why)
	}
	a.field("digest", fmt.Sprintf("%016x", p.Digest))
	if o.history != "" {
		a.field("history", fmt.Sprintf("%s (%s)", o.history, number(int64(len(p.history.Events)), "event")))
	}
	a.field("schedule", o.schedule)
}

func (a *app) replayLines(p *replayed, took time.Duration) {
	defect := p.Defects.String()
	a.line(replayedLine{"replayed", p.Scenario, defect, p.events(), fmt.Sprintf("%016x", p.Digest),
		p.verdict.String(), orEmpty(p.broken()), p.unused, elapsed(took)})
	for i := range p.findings {
		a.line(p.findings[i].line(p.Scenario, defect, ""))
	}
}

// events counts those of the history, which is what findings number; the kernel has
// fewer, as one of its own may bring about several.
func (p *replayed) events() int64 { return int64(len(p.history.Events)) }

func (p *replayed) broken() []string {
	var names []string
	for i := range p.findings {
		names = append(names, p.findings[i].Property)
	}
	return names
}

// report is the replay for the report and JUnit: judged as it stands, nothing is
// expected to break.
func (p *replayed) report() reports.Run {
	run := reports.Run{Scenario: p.Scenario, Defect: p.Defects.String(), Doc: docOf(p.scenario, p.Defects), Status: reports.Status(p.verdict.String()),
		Expected: p.verdict == checker.Satisfied, Schedules: 1, Events: p.events(), Broken: p.broken(),
		Reason: strings.Join(p.outcome.Inconclusive, "; "), Sometimes: exercised(p.outcome.Sometimes, nil),
		Params: params(&p.Params, p.Timing), Properties: promises(p.scenario.Judged(p.Timing))}
	for i := range p.findings {
		f := p.findings[i].Finding
		f.Replay = replayCommand(p.Token())
		run.Findings = append(run.Findings, f)
	}
	return run
}
