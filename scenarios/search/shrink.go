package search

import (
	"slices"

	"staleproof/scenarios"
	"staleproof/sim"
)

// Shrunk is a failure made small.
type Shrunk struct {
	Kill
	Runs int // that it took
}

// maxShrinkRuns bounds the shrinking of one failure.
const maxShrinkRuns = 500

// Shrink makes the schedule of k smaller as long as it breaks property: it drops
// blocks of decisions, then single ones, then lowers their options. What remains
// cannot lose a single decision, unless the bound on runs was reached.
func Shrink(sc *scenarios.Scenario, opt scenarios.Options, k Kill, property string) (*Shrunk, error) {
	r, err := scenarios.NewRunner(sc, opt)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := &shrinker{r: r, property: property, best: Shrunk{Kill: k}}
	s.restore()
	for changed := true; changed && s.runsLeft(); {
		changed = s.drop() || s.lower()
	}
	return &s.best, nil
}

type shrinker struct {
	r        *scenarios.Runner
	property string
	best     Shrunk
}

func (s *shrinker) runsLeft() bool { return s.best.Runs < maxShrinkRuns }

// try keeps the run of a schedule if it still breaks the property. What is kept
// are the decisions that were really taken.
func (s *shrinker) try(p scenarios.Params, schedule sim.Schedule) bool {
	if !s.runsLeft() {
		return false
	}
	s.best.Runs++
	o := s.r.Replay(&p, schedule)
	if !slices.Contains(o.Broken(), s.property) {
		return false
	}
	runs := s.best.Runs
	s.best = Shrunk{Kill: Kill{Seed: s.best.Seed, Params: p, Schedule: slices.Clone(o.Result.Decisions),
		Digest: o.Result.Digest, Broken: o.Broken()}, Runs: runs}
	for _, v := range o.Violations {
		s.best.Messages = append(s.best.Messages, v.Message)
	}
	return true
}

// restore sets the parameters back to the scenario's own, if it still fails.
func (s *shrinker) restore() {
	if p := s.r.Scenario().Params; s.best.Params != p {
		s.try(p, s.best.Schedule)
	}
}

// drop leaves decisions out: halves, quarters, ..., single ones.
func (s *shrinker) drop() bool {
	changed := false
	for size := len(s.best.Schedule); size > 0; size /= 2 {
		for at := len(s.best.Schedule) - size; at >= 0; at -= size {
			if at+size > len(s.best.Schedule) {
				continue
			}
			rest := slices.Delete(slices.Clone(s.best.Schedule), at, at+size)
			changed = s.try(s.best.Params, rest) || changed
		}
	}
	return changed
}

// lower tries smaller options of each decision.
func (s *shrinker) lower() bool {
	changed := false
	for i := 0; i < len(s.best.Schedule); i++ {
		for option := 1; i < len(s.best.Schedule) && option < s.best.Schedule[i].Option; option++ {
			less := slices.Clone(s.best.Schedule)
			less[i].Option = option
			if s.try(s.best.Params, less) {
				changed = true
				break
			}
		}
	}
	return changed
}
