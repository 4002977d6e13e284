package scenarios

import "staleproof/sim"

// Steer runs the scenario with a chooser and judges it. The decisions that were taken
// are in the outcome, so that [Runner.Replay] repeats the run. The seed that the
// chooser was drawn from says whether [Runner.Recheck] repeats a pass.
func (r *Runner) Steer(p *Params, seed uint64, c sim.Chooser) Outcome {
	return r.search(p, seed, c, 0)
}

// AppendStates appends a hash of the state in which the last run left each
// monitor: what new behaviour is to a search. key is scratch memory; it is
// returned to be used again.
func (r *Runner) AppendStates(states []uint64, key []byte) ([]uint64, []byte) {
	for i, m := range r.suite.Monitors() {
		key = m.AppendKey(key[:0])
		states = append(states, sim.MixString(uint64(i), string(key)))
	}
	return states, key
}
