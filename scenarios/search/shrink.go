package search

import (
	"errors"

	"staleproof/scenarios"
	"staleproof/sim/watchdog"
)

// Shrunk is a failure made small.
type Shrunk struct {
	Kill
	Runs int // that it took
}

// MaxShrinkRuns bounds the shrinking of one failure.
const MaxShrinkRuns = 500

// Shrink makes the schedule of k as small as it can while it breaks property;
// see [scenarios.Runner.Shrink]. Errors are those of [Sweep.Run].
func Shrink(sc *scenarios.Scenario, opt scenarios.Options, k Kill, property string) (*Shrunk, error) {
	var small *Shrunk
	err := (&Sweep{Scenario: sc, Options: opt}).with(k.Seed, func(r *scenarios.Runner) error {
		small = shrink(r, k, property)
		return nil
	})
	return small, err
}

func shrink(r *scenarios.Runner, k Kill, property string) *Shrunk {
	s := r.Shrink(&k.Params, k.Schedule, property, MaxShrinkRuns)
	return &Shrunk{Kill: Kill{Seed: k.Seed, Params: s.Params, Schedule: s.Schedule, Digest: s.Digest,
		Broken: s.Broken, Messages: s.Messages}, Runs: s.Runs}
}

// with calls f with a runner, under the watchdog.
func (s *Sweep) with(seed uint64, f func(*scenarios.Runner) error) error {
	r, err := scenarios.NewRunner(s.Scenario, s.Options)
	if err != nil {
		return err
	}
	err = watched(r, s.Limit, seed, func() error { return f(r) })
	if _, blocked := errors.AsType[*watchdog.Blocked](err); !blocked {
		r.Close()
	}
	return err
}
