package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"staleproof/checker"
	"staleproof/model/history"
	"staleproof/reports"
	"staleproof/scenarios"
)

// checkOptions are the flags of check.
type checkOptions struct {
	model, init string
	failedCAS   string
	reading     history.Reading
	maxMemory   int64
	explain     bool
	initNamed   bool // --init was given
	lists       []string
	required    []string // the names in lists
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check HISTORY-FILE...",
		Short: "judge a history recorded from a real system",
		Long: `Check judges histories that were recorded from real systems, or written by
replay --history. The format is recognised from the content and the model is
guessed from the operations, unless they are named. The file - is the standard
input. Bad input does not hide the verdict on other files, but then nothing is
written to files.

A history of one's own has a header, and a line for each event in the order in
which they happened: the beginning of an operation, and its end (ok, fail for
one that had no effect, info where that is not known).

  {"format":"staleproof.history/1"}
  {"index":1,"process":"A","type":"invoke","f":"write","token":7,"value":1}
  {"index":2,"process":"A","type":"ok","f":"write","token":7,"value":1}

Operations are acquire, renew and release of a lease or a lock, and read, write,
cas and delete; what each is about it names as its resource. Of Jepsen's
operations value, token, lease, key, lock and owner are read. Locks and the data
that they protect are judged together.

` + modelsText(),
		Example: `  staleproof check run.jsonl --explain
  staleproof check etcd_000.log --model cas-register
  zcat run.jsonl.gz | staleproof check -`,
		DisableFlagsInUseLine: true,
		Args:                  atLeastOne("a history file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.initNamed = cmd.Flags().Changed("init")
			opt, err := o.options()
			if err != nil {
				return err
			}
			if err := a.checkPlaces(args); err != nil {
				return err
			}
			if n := countOf(args, stdinName); n > 1 {
				return usagef("check: expected the standard input once, found - %d times", n)
			}
			for _, file := range args {
				a.gap()
				a.checkFile(file, &o, opt)
			}
			if a.code == exitUsage { // files without what could not be read would pass for the whole
				a.summary()
				return nil
			}
			baseNames(a.report.runs)
			return a.conclude()
		},
	}
	o.flags(cmd.Flags())
	a.report.flags(cmd)
	return cmd
}

func (o *checkOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "", "what must hold (`MODEL`): "+strings.Join(modelNames(), ", "))
	f.StringVar(&o.init, "init", "nil",
		"`VALUE` of every resource before the first event: nil by default, in a simulation's history 0")
	f.StringVar(&o.failedCAS, "failed-cas", "nothing",
		"what a cas that failed without a reason did (`WHAT`): nothing, or compares: it found another value than it expected")
	f.StringVar(&o.reading.Independent, "independent", "auto",
		"auto, or whether values are [key value], as those of jepsen.independent (`WHETHER`): yes, no")
	f.StringArrayVar(&o.reading.Ignore, "ignore-field", nil,
		"leave the field `NAME` of operations unread; may be repeated")
	f.StringVar(&o.reading.Format, "format", "auto", "auto, or how it is written (`FORMAT`): "+strings.Join(history.Formats(), ", "))
	f.Int64Var(&o.maxMemory, "max-memory", checker.DefaultMemory>>20,
		"use at most `N` MiB of memory for a search for a linear order; 0: no limit")
	f.StringArrayVar(&o.lists, "require", nil,
		"exit with 3 unless `PROPERTY` was judged, and no-stale-write exercised; a list, or repeated")
	f.BoolVar(&o.explain, "explain", false, "tell how it came to each violation")
	f.Lookup("init").DefValue, f.Lookup("format").DefValue = "", "" // said in their words
}

func modelNames() []string {
	var names []string
	for _, m := range checker.Models() {
		names = append(names, m.Name)
	}
	return names
}

func modelsText() string {
	text := "Models:\n"
	for _, m := range checker.Models() {
		text += wrap(fmt.Sprintf("  %-12s  ", m.Name), strings.Repeat(" ", 16), m.Guarantee)
	}
	return strings.TrimRight(text, "\n")
}

// options turns the flags into those of the checker.
func (o *checkOptions) options() (checker.Options, error) {
	opt := checker.Options{Model: o.model, Memory: o.maxMemory << 20}
	if o.model != "" && !contains(modelNames(), o.model) {
		return opt, unknown("model", o.model, modelNames(), "staleproof check --help")
	}
	if o.reading.Format != "auto" && !contains(history.Formats(), o.reading.Format) {
		return opt, unknown("format", o.reading.Format, append(history.Formats(), "auto"), "staleproof check --help")
	}
	if o.maxMemory < 0 || o.maxMemory > maxMiB {
		return opt, usagef("--max-memory: expected 0, for no limit, to %d MiB, found %d", maxMiB, o.maxMemory)
	}
	if o.maxMemory == 0 {
		opt.Memory = math.MaxInt64
	}
	if o.failedCAS != "nothing" && o.failedCAS != "compares" {
		return opt, usagef("--failed-cas: expected nothing or compares, found %q", o.failedCAS)
	}
	if !contains([]string{"auto", "yes", "no"}, o.reading.Independent) {
		return opt, usagef("--independent: expected auto, yes or no, found %q", o.reading.Independent)
	}
	var err error
	if o.required, err = parseRequired(o.lists); err != nil {
		return opt, err
	}
	opt.FailedCAS = o.failedCAS == "compares"
	if o.initNamed {
		opt.Init = parseValue(o.init)
	}
	return opt, nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// parseValue reads a value as a person would write it: nil, a number, any JSON,
// or else a text.
func parseValue(s string) history.Value {
	if s == "nil" || s == "null" {
		return history.NilValue
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return history.IntValue(n)
	}
	var text string
	if json.Unmarshal([]byte(s), &text) == nil {
		return history.TextValue(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) == nil && b.Len() > 0 {
		return history.Value{Kind: history.Raw, Str: b.String()}
	}
	return history.TextValue(s)
}

// checkFile judges one file. Bad input is printed, and the others are judged all
// the same.
func (a *app) checkFile(file string, o *checkOptions, opt checker.Options) {
	began := time.Now()
	j, err := judge(file, o, opt)
	if err != nil {
		a.fail(err)
		a.worse(exitUsage)
		return
	}
	j.require(o.required)
	a.tellJudged(j, o)
	a.judgedLines(j, time.Since(began))
	run := j.report()
	a.report.runs = append(a.report.runs, run)
	a.worse(exitOf(&run))
}

// maxInMemory is how many events of a file are held in memory to explain it; a
// test has less.
var maxInMemory int64 = 250_000

// judge reads and judges a file, which is held in memory only where a violation
// has to be explained, or where it cannot be read again.
func judge(file string, o *checkOptions, opt checker.Options) (*judged, error) {
	if file == "" {
		return nil, usagef("check: expected the name of a history file, found \"\"")
	}
	f := &historyFile{path: file, reading: o.reading}
	defer f.close()
	if file == stdinName {
		file = "standard input"
		var err error
		if f.whole, f.remarks, err = readWhole(os.Stdin, file, o.reading); err != nil {
			return nil, err
		}
	} else if err := mustBeFile(file, "a history"); err != nil {
		return nil, err
	}
	source, err := f.source()
	if err != nil {
		return nil, err
	}
	header := source.Header()
	if header.Scenario != "" && !o.initNamed {
		opt.Init = scenarios.InitialValue // the history is a simulation's
	}
	r, err := checker.CheckSource(f.source, opt)
	if _, bad := errors.AsType[*history.SyntaxError](err); bad {
		return nil, err
	}
	if f.events == 0 {
		return nil, &history.SyntaxError{File: file, Expected: "a history", Found: "no events", Hint: "record the history again"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	j := &judged{Report: &r, file: file, events: f.events, reason: undecided(&r)}
	j.options = o.again()
	j.Notes = append(f.remarks, j.Notes...)
	if len(r.Violations) == 0 {
		return j, nil
	}
	if err := j.explain(f); err != nil {
		return nil, err
	}
	return j, j.asLeases(f, opt)
}

// readWhole reads a history that cannot be read twice.
func readWhole(r io.Reader, file string, how history.Reading) (*history.History, []string, error) {
	source, err := history.NewSource(r, file, how)
	if err != nil {
		return nil, nil, err
	}
	h, err := history.Gather(source)
	return h, history.Remarks(source), err
}

func countOf(list []string, s string) int {
	n := 0
	for _, l := range list {
		if l == s {
			n++
		}
	}
	return n
}

// historyFile is a file that is read from its beginning at each call of source.
type historyFile struct {
	path    string
	reading history.Reading
	whole   *history.History // of what cannot be read twice; nil for a file
	file    *history.File
	events  int64    // read since the last call of source
	remarks []string // on how it was read
}

func (f *historyFile) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

func (f *historyFile) source() (history.Source, error) {
	f.close()
	f.events = 0
	if f.whole != nil {
		return &counted{f.whole.Header, func(e *history.Event) error {
			if f.events == int64(len(f.whole.Events)) {
				return io.EOF
			}
			*e = f.whole.Events[f.events]
			return nil
		}, &f.events}, nil
	}
	file, err := history.OpenFile(f.path, f.reading)
	if err != nil {
		return nil, err
	}
	f.file = file
	next := func(e *history.Event) error {
		err := file.Next(e)
		if err == io.EOF {
			f.remarks = history.Remarks(file)
			f.close()
		}
		return err
	}
	return &counted{file.Header(), next, &f.events}, nil
}

// counted is a source whose events are counted.
type counted struct {
	header history.Header
	next   func(*history.Event) error
	events *int64
}

func (c *counted) Header() history.Header { return c.header }

func (c *counted) Next(e *history.Event) error {
	err := c.next(e)
	if err == nil {
		*c.events++
	}
	return err
}

// judged is a file that has been judged.
type judged struct {
	*checker.Report
	file     string
	events   int64
	findings []told
	reason   string // why it is inconclusive
	advice   string // of a violated history, what another model says
	options  string // those that the verdict depends on, for the command line
}

// explain tells how the history came to each violation. Of a long file only what
// matters to a violation is held in memory, and its page reads the file again.
func (j *judged) explain(f *historyFile) error {
	whole := f.whole
	if whole == nil && j.events <= maxInMemory {
		var err error
		if whole, err = history.Open(f.path, f.reading); err != nil {
			return err
		}
	}
	for _, v := range j.Violations {
		h := whole
		if h == nil {
			var err error
			if h, err = reports.Excerpt(f.source, v.Events); err != nil {
				return err
			}
		}
		t := tellHistory(h, checker.Explain(h, v))
		if whole == nil {
			t.History, t.Open = nil, (&historyFile{path: f.path, reading: f.reading}).source
		}
		if token := h.Header.Replay; token != "" {
			t.token, t.Replay = token, replayCommand(token)
		}
		j.findings = append(j.findings, t)
	}
	return nil
}

// undecided says what could not be judged.
func undecided(r *checker.Report) string {
	var open []string
	for _, result := range r.Results {
		if result.Outcome == checker.Inconclusive && result.Violation != nil {
			open = append(open, strings.TrimPrefix(result.Violation.Message, "broke "))
		}
	}
	return strings.Join(open, "; ")
}

func (j *judged) broken() []string {
	var names []string
	for i := range j.findings {
		names = append(names, j.findings[i].Property)
	}
	return names
}

func (a *app) tellJudged(j *judged, o *checkOptions) {
	if a.quiet && j.Outcome == checker.Satisfied {
		return
	}
	guessed := ""
	if j.Guessed {
		guessed = ", guessed from its operations (--model names another)"
	}
	a.printf("%s: %s\n", a.style(bold, j.file), a.style(colourOf(j.Outcome), j.Outcome.String()))
	a.field("model", j.Model+guessed)
	if j.Outcome != checker.Violated {
		a.field("", j.Advice)
	}
	for _, note := range j.Notes {
		a.field("", note)
	}
	a.field("judged", number(int64(j.Operations), "operation")+" by "+strings.Join(j.properties(), ", "))
	if j.Model == "fenced" {
		a.tellFenced(j)
	}
	a.field("warning", j.warning())
	a.field("open", j.reason)
	a.field("", j.advice)
	for i := range j.findings {
		a.gap()
		if f := &j.findings[i]; o.explain {
			a.finding(f, true)
		} else {
			a.broke(f)
			a.replay(f)
		}
	}
	if len(j.findings) > 0 && !o.explain {
		a.gap()
		a.printf("  --explain tells how it came to that.\n")
	}
}

// tellFenced says what the fenced model could not judge, and what it saw.
func (a *app) tellFenced(j *judged) {
	if not := j.unjudged(); len(not) > 0 {
		a.field("not", strings.Join(not, ", ")+": it takes what the history does not tell")
	}
	a.printf("%s", wrapWords("  met        ", strings.Repeat(" ", 13), commas(j.met())))
}

// properties lists what was judged.
func (j *judged) properties() []string {
	var names []string
	for _, r := range j.Results {
		names = append(names, r.Property)
	}
	return names
}

func (a *app) judgedLines(j *judged, took time.Duration) {
	a.line(checkedLine{Type: "checked", File: j.file, Model: j.Model, Operations: j.Operations, Status: j.Outcome.String(),
		Broken: orEmpty(j.broken()), Judged: orEmpty(j.properties()), NotJudged: orEmpty(j.unjudged()), Sometimes: exercised(j.Sometimes, nil),
		Warning: j.warning(), Reason: j.reason, Notes: j.Notes, Seconds: elapsed(took)})
	for i := range j.findings {
		a.line(j.findings[i].line("", "", j.file))
	}
}

// promises are the properties that were judged: of a model that is one
// specification, the model's own guarantee.
func (j *judged) promises() []reports.Property {
	list := promises(j.properties())
	for i := range list {
		for _, m := range checker.Models() {
			if m.Name == list[i].Name {
				list[i].Guarantee = m.Guarantee
			}
		}
	}
	return list
}

// baseNames names the runs of files without their folders, which say something of
// a machine, unless that would make two of them one.
func baseNames(runs []reports.Run) {
	times := map[string]int{}
	for i := range runs {
		times[filepath.Base(runs[i].Scenario)]++
	}
	for i := range runs {
		if base := filepath.Base(runs[i].Scenario); times[base] == 1 {
			runs[i].Scenario = base
		}
	}
}

// doc says how the history was judged.
func (j *judged) doc() string {
	text := strings.Join(append([]string{"A recorded history, judged as " + j.Model}, j.Notes...), ". ") + ". "
	return strings.TrimSpace(text + j.warning())
}

// report is the file for the report and JUnit.
func (j *judged) report() reports.Run {
	run := reports.Run{Scenario: j.file, Doc: j.doc(), Status: reports.Status(j.Outcome.String()),
		Expected: j.Outcome == checker.Satisfied, Events: j.events, Properties: j.promises(),
		Params: []reports.KeyValue{{Key: "model", Value: j.Model}, {Key: "operations", Value: count(int64(j.Operations))}, {Key: "events", Value: count(j.events)}},
		Broken: j.broken(), Reason: cmp.Or(j.reason, j.advice),
		Sometimes: exercised(j.Sometimes, nil), Skipped: j.skipped()}
	for i := range j.findings {
		f := j.findings[i].Finding
		if f.Replay == "" {
			f.Replay = j.again()
		}
		run.Findings = append(run.Findings, f)
	}
	return run
}

// again is the command that judges the file as it was judged, where the reader of
// a page has it: the folder says something of a machine.
func (j *judged) again() string {
	return "staleproof check --model " + j.Model + j.options + " " + quoted(filepath.Base(j.file))
}

// again writes the options that a verdict depends on.
func (o *checkOptions) again() string {
	text := ""
	if o.initNamed {
		text += " --init " + quoted(o.init)
	}
	if o.failedCAS != "nothing" {
		text += " --failed-cas " + o.failedCAS
	}
	if o.reading.Independent != "auto" {
		text += " --independent " + o.reading.Independent
	}
	for _, name := range o.reading.Ignore {
		text += " --ignore-field " + quoted(name)
	}
	return text
}

// quoted quotes an argument for a shell, where it must be.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=+@%,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// asLeases judges a lock's history that is violated as a mutex once more, as
// leases: the answer tells a lock that ran out from one that was granted twice.
func (j *judged) asLeases(f *historyFile, opt checker.Options) error {
	if j.Model != "mutex" || j.Results[0].Outcome != checker.Violated {
		return nil
	}
	opt.Model = "lease"
	r, err := checker.CheckSource(f.source, opt)
	if err != nil {
		return err
	}
	switch r.Results[0].Outcome {
	case checker.Satisfied:
		j.advice = "judged as leases, which may end unnoticed (--model lease), the history is satisfied: nobody was granted a lease within a hold that its holder proved. As a lock alone it protects nothing; the resource has to compare fencing tokens"
	case checker.Violated:
		j.advice = "judged as leases, which may end unnoticed (--model lease), the history is violated too"
	}
	return nil
}
