package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/reports"
	"staleproof/scenarios"
	"staleproof/sim"
)

// outputs are the files that --junit, --result and --report ask for, and what
// they tell.
type outputs struct {
	junit, result, dir string
	runs               []reports.Run
}

func (o *outputs) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.junit, "junit", "", "write the verdicts as JUnit XML to `FILE`")
	cmd.Flags().StringVar(&o.result, "result", "", "write what staleproof report reads to `FILE`")
	cmd.Flags().StringVar(&o.dir, "report", "", "write pages for people to the folder `DIR`")
}

// write writes the files, and says where they are.
func (a *app) writeOutputs() error {
	o := &a.report
	doc := &reports.Document{Format: reports.Format, Version: version, Runs: o.runs}
	if o.junit != "" {
		if err := writeFile(o.junit, func(w io.Writer) error { return reports.JUnit(w, doc) }); err != nil {
			return err
		}
	}
	if o.result != "" {
		if err := writeFile(o.result, func(w io.Writer) error { return reports.Encode(w, doc) }); err != nil {
			return err
		}
	}
	if o.dir != "" {
		if err := reports.Write(o.dir, doc); err != nil {
			return usage(err)
		}
		a.wrote(filepath.Join(o.dir, "index.html"))
	}
	return a.tellGitHub(doc)
}

// conclude writes what was asked for, and sums up.
func (a *app) conclude() error {
	if err := a.writeOutputs(); err != nil {
		return err
	}
	a.summary()
	return nil
}

// wrote says where the page is that somebody asked for.
func (a *app) wrote(page string) {
	if !a.quiet {
		a.gap()
		a.printf("report: %s\n", onLine(page))
	}
}

// stepSummary names the file of GitHub Actions to which a job's summary is added.
const stepSummary = "GITHUB_STEP_SUMMARY"

// tellGitHub annotates the job and adds to its summary where the command runs in
// one of GitHub Actions, which reads annotations from either stream.
func (a *app) tellGitHub(doc *reports.Document) error {
	if os.Getenv("GITHUB_ACTIONS") != "" {
		a.status.clear()
		if err := reports.Annotations(a.text(), doc); err != nil {
			return err
		}
	}
	path := os.Getenv(stepSummary)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o644)
	if err == nil {
		err = finish(f, func(w io.Writer) error { return reports.Summary(w, doc) })
	}
	if err != nil {
		return usagef("%s: expected a file that can be added to: %w", stepSummary, err)
	}
	return nil
}

// params are the parameters of a scenario's runs, in words. A bound on ticks is
// told only where there is one.
func params(p *scenarios.Params, t sim.Timing) []reports.KeyValue {
	var list []reports.KeyValue
	for _, d := range scenarios.ParamTable() {
		if d.Name != "horizon" || d.Get(p) > 0 {
			list = append(list, reports.KeyValue{Key: d.Name, Value: d.Text(p, t)})
		}
	}
	return list
}

// promises are the properties of the given names and what they promise.
func promises(names []string) []reports.Property {
	var list []reports.Property
	for _, name := range names {
		p := reports.Property{Name: name}
		if known, err := checker.Lookup(name); err == nil {
			p.Guarantee = known.Guarantee
		}
		list = append(list, p)
	}
	return list
}

// writeFile puts what fill writes at path, as a whole or not at all. What is no
// regular file, such as /dev/stdout, is written to directly.
func writeFile(path string, fill func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return unwritten(path, writeDirectly(path, fill))
	}
	path = target(path)
	f, err := os.CreateTemp(filepath.Dir(path), beside(path))
	if err != nil {
		return unwritten(path, err)
	}
	if err = finish(f, fill); err == nil {
		// CreateTemp makes files that only their owner can read.
		if err = os.Chmod(f.Name(), 0o644); err == nil {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return unwritten(path, err)
}

// writeDirectly does not wait for a reader of a pipe: there may never be one.
func writeDirectly(path string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("it is a pipe that nobody reads")}
	}
	if err != nil {
		return err
	}
	return finish(f, fill)
}

// unwritten says that a file could not be written, if there is an error.
func unwritten(path string, err error) error {
	if err == nil {
		return nil
	}
	if _, system := errors.AsType[*os.PathError](err); system {
		return usagef("expected to write %s: %w; make room, or name another place", path, cause(err))
	}
	return fmt.Errorf("expected to write %s: %w", path, err)
}

// finish fills and closes f.
func finish(f *os.File, fill func(io.Writer) error) error {
	w := bufio.NewWriter(f)
	err := fill(w)
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
