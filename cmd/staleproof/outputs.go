package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"staleproof/reports"
)

// outputs are the files that --junit and --report ask for, and what they tell.
type outputs struct {
	junit, dir string
	runs       []reports.Run
}

func (o *outputs) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.junit, "junit", "", "write the verdicts as JUnit XML to `FILE`")
	cmd.Flags().StringVar(&o.dir, "report", "", "write pages for people to the folder `DIR`")
}

// check refuses places that cannot be written to before any work is done.
func (o *outputs) check() error {
	if err := checkPlace("--junit", o.junit); err != nil {
		return err
	}
	if info, err := os.Stat(o.dir); o.dir != "" && err == nil && !info.IsDir() {
		return usagef("--report: expected a folder, found the file %s", o.dir)
	}
	return nil
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
	if o.dir == "" {
		return nil
	}
	if err := reports.Write(o.dir, doc); err != nil {
		return usage(err)
	}
	if !a.quiet {
		a.printf("report: %s\n", filepath.Join(o.dir, "index.html"))
	}
	return nil
}

// checkPlace says whether a file can be written at path; an empty path is none.
func checkPlace(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usagef("%s: expected the name of a file, found the folder %s", flag, path)
	}
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return usagef("%s: expected a file in a folder that exists, found no folder %s; make it first", flag, folder)
	}
	return nil
}

// writeFile puts what fill writes at path, as a whole or not at all. What is no
// regular file, such as /dev/stdout, is written to directly.
func writeFile(path string, fill func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return usage(err)
		}
		return finish(f, fill)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return usagef("expected to write %s: %w", path, err)
	}
	if err = finish(f, fill); err == nil {
		// CreateTemp makes files that only their owner can read.
		if err = os.Chmod(f.Name(), 0o644); err == nil {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("expected to write %s: %w", path, err)
	}
	return nil
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
