package main

import (
	"bytes"
	"io"
	"time"

	"github.com/spf13/cobra"

	"staleproof/model/history"
	"staleproof/reports"
	"staleproof/scenarios/search"
)

func (a *app) reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report RESULT-FILE...",
		Short: "make the pages of results that were kept",
		Long: `Report makes pages for people from result files: those that run, fuzz, explore,
replay and check write with --result, and those of fuzz --out, which are merged.
The exit code is the verdict of the results.`,
		Example: `  staleproof report run.json check.json
  staleproof report shards/*.results --report pages --junit report.xml`,
		DisableFlagsInUseLine: true,
		Args:                  atLeastOne("a result file"),
		RunE: func(_ *cobra.Command, args []string) error {
			if a.report.dir == "" {
				a.report.dir = "report"
			}
			if err := a.checkPlaces(args); err != nil {
				return err
			}
			return a.reportFiles(args)
		},
	}
	a.report.flags(cmd)
	cmd.Flags().Lookup("report").Usage = "write pages for people to the folder `DIR` (default report)"
	return cmd
}

// reportFiles reads all files before it writes anything.
func (a *app) reportFiles(files []string) error {
	began := time.Now()
	var shards []string
	for _, name := range files {
		text, err := readSmall(name)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(text, []byte(`{"format":"`+search.ResultFormat)) {
			shards = append(shards, name)
			continue
		}
		doc, err := reports.Decode(bytes.NewReader(text), name)
		if err != nil {
			return usage(err)
		}
		if len(doc.Runs) == 0 {
			return usagef("%s: expected the results of a run, found none; run the command again that wrote it", name)
		}
		a.report.runs = append(a.report.runs, doc.Runs...)
	}
	if len(shards) > 0 {
		all, err := readResults(shards)
		if err != nil {
			return err
		}
		for i := range all.Header.Trials {
			f, err := merged(all, i, began)
			if err != nil {
				return err
			}
			a.report.runs = append(a.report.runs, f.report())
		}
	}
	for i := range a.report.runs {
		a.worse(exitOf(&a.report.runs[i]))
	}
	return a.conclude()
}

// exitOf is the exit code that a run's verdict asks for.
func exitOf(r *reports.Run) int {
	switch {
	case r.Status == reports.Inconclusive:
		return exitInconclusive
	case !r.Expected:
		return exitViolation
	}
	return exitOK
}

// readSmall reads a file as a whole. Its errors are about the input.
func readSmall(name string) ([]byte, error) {
	f, err := openInput(name, "a result file")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	switch {
	case err != nil:
		return nil, usage(err)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, usagef("%s: expected a result file, found an empty one; run the command again that writes it", name)
	case history.InUTF16(text):
		return nil, usagef("%s: expected a result file, found text in UTF-16; save the file as UTF-8", name)
	}
	return text, nil
}
