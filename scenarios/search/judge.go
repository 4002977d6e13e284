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
	// Reason says why the outcome is inconclusive or not as expected, where the
	// broken properties do not; may be empty.
	Reason string
}

// maxSweep is how many seeds are swept in one piece: it bounds the memory, which
// grows with the seeds of a sweep.
const maxSweep = 1 << 18

// Judge sweeps as a system under test is judged: up to the first schedule that
// breaks a property. Nothing broken is satisfied only if every property could be
// judged and every danger that the scenario must reach has occurred. Stop is not
// used. Errors are those of [Sweep.Run].
func (s *Sweep) Judge() (*Verdict, error) {
	v, err := s.hunt(nil)
	if err != nil {
		return nil, err
	}
	v.Outcome, v.Reason = s.outcome(&v.Result)
	v.Expected = v.Outcome == checker.Satisfied
	return v, nil
}

// Hunt sweeps until each of the properties has been broken by some schedule, or
// the seeds are spent: the question to a planted defect. Stop is not used.
// Errors are those of [Sweep.Run].
func (s *Sweep) Hunt(properties []string) (*Verdict, error) {
	v, err := s.hunt(properties)
	if err != nil {
		return nil, err
	}
	v.caught(properties)
	return v, nil
}

// Survey sweeps all seeds and judges like [Sweep.Hunt]: its kills tell how soon
// each property was broken. A property is not judged any more once it was. Stop is
// not used.
func (s *Sweep) Survey(properties []string) (*Verdict, error) {
	part := *s
	v := &Verdict{Result: Result{Inconclusive: map[string]int64{}}}
	part.Progress = s.after(&v.Result)
	judged := s.Options.Properties
	if judged == nil {
		judged = s.Scenario.Properties
	}
	for part.From < s.To && !v.Interrupted {
		part.Options.Properties = append([]string{}, missing(judged, &v.Result)...)
		part.Stop = append(missing([]string{scenarios.PanicProperty}, &v.Result), part.Options.Properties...)
		if err := v.extend(&part, s.To); err != nil {
			return nil, err
		}
	}
	v.caught(properties)
	return v, nil
}

// caught judges a defect that must break the properties.
func (v *Verdict) caught(properties []string) {
	alive := missing(properties, &v.Result)
	if v.Expected = len(alive) == 0; !v.Expected {
		v.Reason = fmt.Sprintf("%d schedules did not break %s", v.Schedules, strings.Join(alive, ", "))
	}
	switch {
	case !v.Expected && v.Interrupted:
		v.Outcome, v.Reason = checker.Inconclusive, "interrupted: "+v.Reason
	case len(v.Kills) > 0:
		v.Outcome = checker.Violated
	}
}

// hunt sweeps from one kill to the next until none of the properties is missing;
// without properties it ends at the first kill of any.
func (s *Sweep) hunt(properties []string) (*Verdict, error) {
	v := &Verdict{Result: Result{Inconclusive: map[string]int64{}}}
	part := *s
	part.Progress = s.after(&v.Result)
	for part.From < s.To && !v.Interrupted {
		if part.Stop = missing(properties, &v.Result); part.Stop == nil && len(v.Kills) > 0 {
			break
		}
		if err := v.extend(&part, s.To); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// extend sweeps the next piece of the seeds and adds it.
func (v *Verdict) extend(part *Sweep, to uint64) error {
	part.To = min(to, part.From+maxSweep)
	r, err := part.Run()
	if err != nil {
		return err
	}
	v.add(r)
	v.Interrupted = r.Interrupted
	part.From += uint64(r.Schedules)
	return nil
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
	var never []string
	for _, f := range s.Scenario.Sometimes {
		if r.Sometimes[f] == 0 {
			never = append(never, f.String())
		}
	}
	if len(never) > 0 {
		return checker.Inconclusive, "the danger was not tried: no schedule reached " + strings.Join(never, ", ")
	}
	return checker.Satisfied, ""
}

// Finding is a violation that a sweep found, made small and explained.
type Finding struct {
	*scenarios.Finding
	Schedule  int64 // which of the sweep's schedules found it, from 0
	Decisions int   // that it had then
	Runs      int   // that it took to shrink it
}

// Explain shrinks the first kill of a property and says in words what happened
// in it. The property must be one of r.Broken().
func (s *Sweep) Explain(r *Result, property string) (*Finding, error) {
	k, ok := r.Kill(property)
	if !ok {
		return nil, fmt.Errorf("explain: expected a property that was broken, found %s", property)
	}
	small, err := Shrink(s.Scenario, s.Options, k, property)
	if err != nil {
		return nil, err
	}
	run, err := scenarios.NewRunner(s.Scenario, s.Options)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	f, err := run.Explain(&small.Params, k.Seed, small.Schedule, small.Digest, property)
	if err != nil {
		return nil, err
	}
	return &Finding{Finding: f, Schedule: int64(k.Seed - s.From), Decisions: len(k.Schedule), Runs: small.Runs}, nil
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
