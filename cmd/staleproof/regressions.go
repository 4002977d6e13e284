package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"staleproof/checker"
	"staleproof/scenarios"
)

// defaultRegressions is the folder whose schedules run replays first.
const defaultRegressions = "testdata/staleproof"

// regressionLine is a schedule that was replayed from the folder.
type regressionLine struct {
	Type     string   `json:"type"` // "regression"
	File     string   `json:"file"`
	Scenario string   `json:"scenario"`
	Defect   string   `json:"defect"`
	Status   string   `json:"status"`
	Expected bool     `json:"expected"`
	Broken   []string `json:"broken"`
	Diverged string   `json:"diverged,omitempty"` // in words
}

// findRegressions lists the schedule files of the folder, sorted. The default one
// need not be there.
func (o *runOptions) findRegressions() error {
	if o.regressions == "" {
		if info, err := os.Stat(defaultRegressions); err != nil || !info.IsDir() {
			return nil
		}
		o.regressions = defaultRegressions
	}
	if info, err := os.Stat(o.regressions); err != nil || !info.IsDir() {
		return usagef("--regressions: expected a folder of schedule files, found none at %s", o.regressions)
	}
	var err error
	o.schedules, err = filepath.Glob(filepath.Join(escaped(o.regressions), "*.schedule"))
	return err
}

// replayRegressions replays the schedule files of a folder that are of the
// scenarios to be run. A schedule without defects once broke something, which must
// not come back; one with a defect must still break. Code that was mended makes
// another run of the same schedule: that is told, and is no error.
func (a *app) replayRegressions(o *runOptions, trials []trial) error {
	if o.regressions != "" && len(o.schedules) == 0 && !a.quiet {
		a.printf("regressions: no file of %s ends in .schedule\n", onLine(o.regressions))
	}
	good, others := int64(0), int64(0)
	for _, file := range o.schedules {
		if err := mustBeFile(file, "a schedule file"); err != nil {
			return err
		}
		rec, err := readRecorded("run", file)
		if err != nil {
			return err
		}
		if !asked(rec.Scenario, trials) {
			others++
			continue
		}
		ok, err := a.regression(file, rec)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if ok {
			good++
		}
	}
	if good > 0 && !a.quiet {
		a.printf("regressions: %s of %s as expected\n", number(good, "schedule"), onLine(o.regressions))
	}
	if others > 0 && !a.quiet {
		a.printf("regressions: %s of %s not replayed, of scenarios that are not run\n", number(others, "schedule"), onLine(o.regressions))
	}
	return nil
}

// escaped makes dir stand for itself in a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// asked says whether the scenario is one of those to be run.
func asked(scenario string, trials []trial) bool {
	for i := range trials {
		if trials[i].scenario.Name == scenario {
			return true
		}
	}
	return false
}

// regression replays one schedule, and says whether it is as expected.
func (a *app) regression(file string, rec *scenarios.Recorded) (bool, error) {
	p, err := replay(rec)
	other := ""
	if diverged, ok := errors.AsType[*divergedError](err); ok {
		other = "another run than the one recorded: " + diverged.Error()
		if diverged.at != nil {
			other = "another run than the one recorded: " + diverged.at.Error()
		}
		again := *rec
		again.Digest, again.Trail, again.Marks = 0, "", scenarios.Marks{}
		p, err = replay(&again)
	}
	if err != nil {
		return false, err
	}
	want := checker.Satisfied
	if rec.Defects != 0 {
		want = checker.Violated
	}
	ok := p.verdict == want
	a.line(regressionLine{"regression", file, rec.Scenario, rec.Defects.String(), p.verdict.String(), ok, orEmpty(p.broken()), other})
	if !ok {
		run := p.report()
		run.Doc, run.Expected = "Regression "+file, false
		a.report.runs = append(a.report.runs, run)
		a.regressed = append(a.regressed, "regression "+file)
	}
	switch {
	case p.verdict == checker.Inconclusive:
		a.worse(exitInconclusive)
	case !ok:
		a.worse(exitViolation)
	}
	if ok && (a.quiet || other == "") {
		return ok, nil
	}
	a.printf("%s", wrap("regression ", "  ", fmt.Sprintf("%s: %s, expected %s", file, p.verdict, want)))
	if other != "" {
		a.printf("%s", wrap("  ", "  ", other))
	}
	if !ok {
		a.gap()
		a.findings(p.findings, true)
	}
	return ok, nil
}
