package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/scenarios"
	"staleproof/scenarios/search"
)

func (a *app) mergeCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge RESULT-FILE...",
		Short: "put the results of shards together and judge them",
		Long: `Merge puts together what staleproof fuzz --shard K/N --out FILE found on many
machines, and judges it as if one had run all the seeds. Files may come in any
order and more than once. A shard that is missing, or not complete, makes the
verdict inconclusive: exit code 3. Results of different versions, scenarios or
searches are refused: exit code 2.`,
		Example: `  staleproof merge results/*.results
  staleproof merge a.results b.results --out both.results`,
		DisableFlagsInUseLine: true,
		Args:                  atLeastOne("result files"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.checkPlaces(args, place{"--out", out}); err != nil {
				return err
			}
			return a.merge(args, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the merged results to `FILE`")
	a.report.flags(cmd)
	return cmd
}

func (a *app) merge(files []string, out string) error {
	began := time.Now()
	all, err := readResults(files)
	if err != nil {
		return err
	}
	if out != "" {
		if err := writeFile(out, all.Write); err != nil {
			return err
		}
	}
	var results []*result
	for i := range all.Header.Trials {
		f, err := merged(all, i, began)
		if err != nil {
			return err
		}
		a.tellFuzzed(f)
		results = append(results, f.result)
	}
	return a.endFuzz(results, time.Since(began))
}

// readResults reads result files and merges them. Errors are about the input.
func readResults(files []string) (*search.Results, error) {
	var all *search.Results
	for _, name := range files {
		r, err := readResultFile(name)
		if err != nil {
			return nil, err
		}
		if all == nil {
			if err := known(name, r); err != nil {
				return nil, err
			}
			all = r
			continue
		}
		if err := all.Merge(r); err != nil {
			if _, conflict := errors.AsType[*search.ConflictError](err); conflict {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			return nil, usagef("%s: %w", name, err)
		}
	}
	return all, nil
}

func readResultFile(name string) (*search.Results, error) {
	text, err := readSmall(name)
	if err != nil {
		return nil, err
	}
	r, _, err := search.ReadResults(name, bytes.NewReader(text))
	return r, usage(err)
}

// known refuses results that this program cannot judge: of another version, or of
// scenarios that it does not have.
func known(name string, r *search.Results) error {
	if r.Header.Version != version {
		return usagef("%s: expected results of version %s, found %s; merge them with the staleproof that made them", name, version, r.Header.Version)
	}
	for _, t := range r.Header.Trials {
		sc, err := scenarios.Lookup(t.Scenario)
		if err != nil {
			return usagef("%s: %w", name, err)
		}
		if sc.Revision != t.Revision {
			return usagef("%s: expected revision %d of scenario %s, found %d; merge them with the staleproof that made them", name, sc.Revision, t.Scenario, t.Revision)
		}
		if sc.Searched {
			return usagef("%s: scenario %s is searched exhaustively, not run under seeds", name, sc.Name)
		}
		if _, ok := planted(sc, t.Defect); !ok {
			return usagef("%s: %w", name, unknown("defect", t.Defect, defectNames(sc), "staleproof list defects"))
		}
	}
	return nil
}

// merged judges a trial of merged results as fuzz would have.
func merged(all *search.Results, i int, began time.Time) (*fuzzed, error) {
	h := &all.Header
	sc, err := scenarios.Lookup(h.Trials[i].Scenario)
	if err != nil {
		return nil, err
	}
	defects, err := model.ParseDefects(h.Trials[i].Defect)
	if err != nil {
		return nil, err
	}
	f := &fuzzed{fuzz: &search.Fuzz{Scenario: sc, Options: scenarios.Options{Defects: defects}, Strategy: h.Strategy, From: h.From, To: h.To},
		campaign: all.Campaign(i), open: h.To == 0}
	x, _ := sc.Exposes(defects)
	if err := f.judge(&trial{sc, x, true}, time.Since(began)); err != nil {
		return nil, err
	}
	if missing := all.Missing(i); len(missing) > 0 {
		f.Reason = "missing: " + abridged(missing)
		if f.Outcome != checker.Violated {
			f.Outcome, f.Expected = checker.Inconclusive, false
		}
	}
	return f, nil
}

// abridged lists a few of many.
func abridged(list []string) string {
	const most = 8
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}
