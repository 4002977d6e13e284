package checker_test

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"staleproof/checker"
	"staleproof/model/history"
	"staleproof/scenarios"
)

var agreement = flag.String("agreement", "", "`RUNS,MUTATED`: how many histories TestAgreement judges")

// TestAgreement holds the monitors against the reference judge, over histories of every
// scenario, defect and strategy, and over changed ones. For more of them:
//
//	go test ./checker -run Agreement -agreement 30000,10000
func TestAgreement(t *testing.T) {
	runs, mutated := 2000, 2000
	if testing.Short() {
		runs, mutated = 400, 400
	}
	if *agreement != "" {
		if _, err := fmt.Sscanf(*agreement, "%d,%d", &runs, &mutated); err != nil {
			t.Fatalf("-agreement: expected RUNS,MUTATED such as 30000,10000, found %q", *agreement)
		}
	}
	a := &comparison{t: t, counts: map[string]*tally{}}
	list := trials()
	for i, trial := range list {
		first := func(n int) int { return n * i / len(list) } // of this trial's part of n
		next := func(n int) int { return n * (i + 1) / len(list) }
		a.try(trial, first(runs), next(runs), next(mutated)-first(mutated))
	}
	a.report(runs)
}

// try compares over the trial's runs of the seeds first to next-1, and over changed
// histories of those runs.
func (a *comparison) try(t trial, first, next, changed int) {
	runner, err := scenarios.NewRunner(t.scenario, scenarios.Options{Defects: t.defect, Timing: t.timing, Properties: []string{}})
	if err != nil {
		a.t.Fatal(err)
	}
	defer runner.Close()
	for seed := first; seed < next || changed > 0; seed++ {
		s := t.record(runner, uint64(seed))
		if seed < next {
			a.compare(s)
		}
		d := diceOf(uint64(seed), 2)
		for range 1 + changed/max(1, next-seed) {
			switch m := s.mutate(d); {
			case changed == 0:
			case valid(m.History) == nil:
				a.compare(m)
				a.changed++
				changed--
			default:
				a.invalid++
			}
		}
	}
}

// tally counts what the monitor of a property said.
type tally struct{ satisfied, violated, inconclusive, unjudged int }

// comparison is what came of comparing.
type comparison struct {
	t      *testing.T
	counts map[string]*tally // by property
	// changed histories were compared, and invalid ones were none any more.
	changed, invalid int
	differences      map[string]int
}

// compare judges a history both ways.
func (a *comparison) compare(s specimen) {
	results, err := byMonitors(s.History)
	if err != nil {
		a.t.Fatalf("%s: %v", s.how, err)
	}
	p := pastOf(s.History, scenarios.InitialValue)
	for _, ref := range references {
		n := a.counts[ref.property]
		if n == nil {
			n = &tally{}
			a.counts[ref.property] = n
		}
		i := slices.IndexFunc(results, func(r checker.Result) bool { return r.Property == ref.property })
		if i < 0 {
			n.unjudged++
			continue
		}
		switch results[i].Outcome {
		case checker.Satisfied:
			n.satisfied++
		case checker.Violated:
			n.violated++
		case checker.Inconclusive:
			n.inconclusive++
		}
		if o := ref.judge(p); differ(results[i], o) {
			a.differ(s, ref.property, ref.judge)
		}
	}
}

// differ reports whether one says violated and the other satisfied. A monitor that says
// violated has to be told so even where the reference cannot tell.
func differ(r checker.Result, o opinion) bool {
	return r.Outcome == checker.Satisfied && o.outcome == violated ||
		r.Outcome == checker.Violated && o.outcome == satisfied
}

// byMonitors judges a history as the command does.
func byMonitors(h *history.History) ([]checker.Result, error) {
	r, err := checker.Check(h, checker.Options{Model: "fenced", Init: scenarios.InitialValue})
	return r.Results, err
}

// valid returns why a history cannot be judged.
func valid(h *history.History) error {
	var v history.Validator
	if err := v.Begin(&h.Header); err != nil {
		return err
	}
	for _, e := range h.Events {
		if err := v.Check(&e); err != nil {
			return err
		}
	}
	return nil
}

// shownDifferences is how many differences of a property are printed.
const shownDifferences = 3

// differ reports a difference with the smallest history that shows it.
func (a *comparison) differ(s specimen, property string, judge func(*past) opinion) {
	if a.differences == nil {
		a.differences = map[string]int{}
	}
	if a.differences[property]++; a.differences[property] > shownDifferences {
		a.t.Fail()
		return
	}
	both := func(h *history.History) (checker.Result, opinion, bool) {
		if valid(h) != nil {
			return checker.Result{}, opinion{}, false
		}
		results, err := byMonitors(h)
		i := slices.IndexFunc(results, func(r checker.Result) bool { return r.Property == property })
		if err != nil || i < 0 {
			return checker.Result{}, opinion{}, false
		}
		o := judge(pastOf(h, scenarios.InitialValue))
		return results[i], o, differ(results[i], o)
	}
	first, _, _ := both(s.History)
	small := shrink(s.History, func(h *history.History) bool {
		r, _, different := both(h)
		return different && r.Outcome == first.Outcome
	})
	r, o, _ := both(small)
	said := r.Outcome.String()
	if r.Violation != nil {
		said = r.Violation.Message
	}
	var text bytes.Buffer
	if err := history.WriteAll(&text, small); err != nil {
		a.t.Error(err)
	}
	a.t.Errorf("%s: the judges differ\n  monitor   %s\n  reference %s\n  %s\n%s", property, said, o, s.how, text.String())
}

// shrink leaves out operations, then events, as long as the history stays different.
func shrink(h *history.History, different func(*history.History) bool) *history.History {
	for again := true; again; {
		again = false
		var ops []int64
		for _, e := range h.Events {
			if e.Op != 0 && !slices.Contains(ops, e.Op) {
				ops = append(ops, e.Op)
			}
		}
		for _, op := range ops {
			less := dropped(h, func(_ int, e *history.Event) bool { return e.Op == op })
			if different(less) {
				h, again = less, true
			}
		}
		for i := len(h.Events) - 1; i >= 0; i-- {
			less := dropped(h, func(j int, _ *history.Event) bool { return j == i })
			if different(less) {
				h, again = less, true
			}
		}
	}
	return h
}

func dropped(h *history.History, gone func(int, *history.Event) bool) *history.History {
	less := &history.History{Header: h.Header}
	for i := range h.Events {
		if !gone(i, &h.Events[i]) {
			less.Events = append(less.Events, h.Events[i])
		}
	}
	return less
}

// report prints how often each property was judged how, and fails if one was never
// violated, or never satisfied.
func (a *comparison) report(runs int) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories of runs, %d changed ones (and %d that are no histories any more)\n", runs, a.changed, a.invalid)
	fmt.Fprintf(&b, "%-20s %10s %10s %13s %10s %12s\n", "", "satisfied", "violated", "inconclusive", "unjudged", "differences")
	for _, ref := range references {
		n := a.counts[ref.property]
		fmt.Fprintf(&b, "%-20s %10d %10d %13d %10d %12d\n", ref.property, n.satisfied, n.violated, n.inconclusive, n.unjudged, a.differences[ref.property])
		if n.satisfied == 0 || n.violated == 0 {
			a.t.Errorf("%s: expected it to be violated by some histories and satisfied by others", ref.property)
		}
		if n.inconclusive > n.satisfied+n.violated {
			a.t.Errorf("%s: inconclusive more often than not", ref.property)
		}
	}
	a.t.Log(b.String())
}
