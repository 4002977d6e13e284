package search

import "staleproof/scenarios"

// Shrunk is a failure made small.
type Shrunk struct {
	Kill
	Runs int // that it took
}

// MaxShrinkRuns bounds the shrinking of one failure.
const MaxShrinkRuns = 500

// Shrink makes the schedule of k as small as it can while it breaks property;
// see [scenarios.Runner.Shrink].
func Shrink(sc *scenarios.Scenario, opt scenarios.Options, k Kill, property string) (*Shrunk, error) {
	r, err := scenarios.NewRunner(sc, opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := r.Shrink(&k.Params, k.Schedule, property, MaxShrinkRuns)
	return &Shrunk{Kill: Kill{Seed: k.Seed, Params: s.Params, Schedule: s.Schedule, Digest: s.Digest,
		Broken: s.Broken, Messages: s.Messages}, Runs: s.Runs}, nil
}
