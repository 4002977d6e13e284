package search

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"staleproof/checker"
	"staleproof/scenarios"
)

// Verdict is what a scenario came to over many schedules, and whether that is
// what was asked of it.
type Verdict struct {
	Result
	Outcome checker.Outcome
	// Expected says whether the outcome is what was asked: nothing broken of
	// [Sweep.Judge], everything broken of [Sweep.Hunt].
	Expected bool
	// Lost are properties that had to hold and were broken.
	Lost []string
	// Reason says why the outcome is inconclusive or not as expected, where the
	// broken properties do not; may be empty.
	Reason string
}

// maxSweep is how many seeds are swept in one piece: it bounds the memory, which
// grows with the seeds of a sweep. At its end the workers wait for each other, some
// ten schedules long.
const maxSweep = 1 << 14

// Judge sweeps as a system under test is judged: up to the first schedule that
// breaks a property. Nothing broken is satisfied only if every property could be
// judged and every danger that the scenario must reach has occurred. Stop is not
// used. Errors are those of [Sweep.Run].
func (s *Sweep) Judge() (*Verdict, error) {
	v, err := s.pieces(func(part *Sweep, v *Verdict) bool {
		part.Stop = nil
		return len(v.Kills) == 0
	})
	if err != nil {
		return nil, err
	}
	v.Outcome, v.Reason = s.outcome(&v.Result)
	v.Expected = v.Outcome == checker.Satisfied
	return v, nil
}

// leastHold is how many schedules must pass before properties count as holding.
const leastHold = 1000

// Hunt asks a planted defect whether it breaks what it must and leaves alone what
// must hold: it sweeps until each property of breaks has been broken by some
// schedule, or the seeds are spent, and where something must hold at least 1,000
// schedules. Stop is not used. Errors are those of [Sweep.Run].
func (s *Sweep) Hunt(x scenarios.Exposure) (*Verdict, error) {
	least := s.From
	if len(x.Holds) > 0 {
		least = min(s.To, s.From+leastHold)
	}
	v, err := s.pieces(func(part *Sweep, v *Verdict) bool {
		alive := missing(x.Breaks, &v.Result)
		part.Stop = append(missing(x.Holds, &v.Result), alive...)
		if part.Stop == nil {
			part.Stop = []string{}
		}
		if len(alive) == 0 {
			part.To = min(part.To, least)
		}
		return part.From < part.To
	})
	if err != nil {
		return nil, err
	}
	v.caught(x)
	return v, nil
}

// pieces sweeps the seeds piece by piece. next adjusts each piece by what has been
// found so far, and reports whether to sweep it.
func (s *Sweep) pieces(next func(part *Sweep, v *Verdict) bool) (*Verdict, error) {
	v := &Verdict{Result: Result{Inconclusive: map[string]int64{}}}
	part := *s
	part.Progress = s.after(&v.Result)
	for part.From < s.To && !v.Interrupted {
		part.To = min(s.To, part.From+maxSweep)
		if !next(&part, v) {
			break
		}
		if err := v.extend(&part); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// extend sweeps a piece, adds it, and moves on to the seed behind it.
func (v *Verdict) extend(part *Sweep) error {
	r, err := part.Run()
	if err != nil {
		return err
	}
	v.add(r)
	v.Interrupted = r.Interrupted
	part.From += uint64(r.Schedules)
	return nil
}

// Survey sweeps all seeds and judges like [Sweep.Hunt]: its kills tell how soon
// each property was broken. A property is not judged any more once it was. Stop is
// not used.
func (s *Sweep) Survey(x scenarios.Exposure) (*Verdict, error) {
	judged := s.Options.Properties
	if judged == nil {
		judged = s.Scenario.Properties
	}
	v, err := s.pieces(func(part *Sweep, v *Verdict) bool {
		part.Options.Properties = append([]string{}, missing(judged, &v.Result)...)
		part.Stop = append(missing([]string{scenarios.PanicProperty}, &v.Result), part.Options.Properties...)
		return true
	})
	if err != nil {
		return nil, err
	}
	v.caught(x)
	return v, nil
}

// caught judges a defect by what it must break and what must hold.
func (v *Verdict) caught(x scenarios.Exposure) {
	alive := missing(x.Breaks, &v.Result)
	v.Lost = slices.DeleteFunc(v.Broken(), func(p string) bool { return !slices.Contains(x.Holds, p) })
	v.Expected = len(alive) == 0 && len(v.Lost) == 0
	switch {
	case len(v.Lost) > 0:
		v.Reason = "broke " + strings.Join(v.Lost, ", ") + ", which must hold"
	case len(alive) > 0:
		v.Reason = fmt.Sprintf("%d schedules did not break %s", v.Schedules, strings.Join(alive, ", "))
	}
	switch {
	case len(alive) > 0 && v.Interrupted:
		v.Outcome, v.Reason = checker.Inconclusive, "interrupted: "+v.Reason
	case len(v.Kills) > 0:
		v.Outcome = checker.Violated
	}
}

// after returns a Progress that counts on from what is done already.
func (s *Sweep) after(done *Result) func(schedules, events int64) {
	if s.Progress == nil {
		return nil
	}
	return func(schedules, events int64) { s.Progress(done.Schedules+schedules, done.Events+events) }
}

// missing lists the properties that have not been broken; nil if there are none.
func missing(properties []string, r *Result) []string {
	broken := r.Broken()
	var alive []string
	for _, p := range properties {
		if !slices.Contains(broken, p) {
			alive = append(alive, p)
		}
	}
	return alive
}

// outcome judges a sweep in which nothing should break.
func (s *Sweep) outcome(r *Result) (checker.Outcome, string) {
	if len(r.Kills) > 0 {
		return checker.Violated, ""
	}
	if r.Interrupted {
		return checker.Inconclusive, fmt.Sprintf("interrupted after %d schedules", r.Schedules)
	}
	for _, p := range append(slices.Clone(s.Scenario.Properties), s.Options.Properties...) {
		if n := r.Inconclusive[p]; n > 0 {
			return checker.Inconclusive, fmt.Sprintf("%s could not be judged in %d schedules", p, n)
		}
	}
	var other []string
	for p := range r.Inconclusive {
		other = append(other, p)
	}
	if slices.Sort(other); len(other) > 0 {
		return checker.Inconclusive, fmt.Sprintf("%s (%d schedules)", other[0], r.Inconclusive[other[0]])
	}
	if never := s.Scenario.Missing(r.Sometimes); len(never) > 0 {
		return checker.Inconclusive, "the danger was not tried: no schedule reached " + strings.Join(never, ", ")
	}
	return checker.Satisfied, ""
}

// Finding is a violation that a sweep found, made small and explained.
type Finding struct {
	*scenarios.Finding
	Schedule  int64 // which of the sweep's schedules found it, from 0
	Decisions int   // that it had then
	Left      int   // decisions that it has now
	Runs      int   // that it took to shrink it
}

// Explain shrinks the first kill of a property and says in words what happened
// in it. The property must be one of r.Broken(). Errors are those of [Sweep.Run].
func (s *Sweep) Explain(r *Result, property string) (*Finding, error) {
	k, ok := r.Kill(property)
	if !ok {
		return nil, fmt.Errorf("explain: expected a property that was broken, found %s", property)
	}
	var found *Finding
	err := s.with(k.Seed, func(run *scenarios.Runner) error {
		small := shrink(run, k, property)
		if !slices.Contains(small.Broken, property) {
			return fmt.Errorf("seed %d: expected its schedule to break %s again, found that it does not: it was found by another build of the program, or the run is not deterministic", k.Seed, property)
		}
		f, err := run.Explain(&small.Params, k.Seed, small.Schedule, small.Digest, property)
		if err != nil {
			return err
		}
		found = &Finding{Finding: f, Schedule: int64(k.Seed - s.From),
			Decisions: run.CountDecisions(&k.Params, k.Schedule), Left: len(f.Decisions), Runs: small.Runs}
		return nil
	})
	return found, err
}

// PanicError is a panic of the judge, the chooser or the code around them: a
// mistake in this module, while a process that panics is a finding.
type PanicError struct {
	Seed  uint64 // near it: the first of those that were run together
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("near seed %d: %v", e.Seed, e.Value) }

// guarded turns a panic of f into an error, because nothing could recover it in
// the goroutine of a worker.
func guarded(seed uint64, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Seed: seed, Value: v, Stack: string(debug.Stack())}
		}
	}()
	return f()
}
