package scenarios

import (
	"testing"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// TestHistoriesAreValid: what a simulation writes down is a history that check
// accepts, whatever the faults, the defect and the timing.
func TestHistoriesAreValid(t *testing.T) {
	for _, sc := range Scenarios() {
		defects := []model.Defects{0}
		for _, x := range sc.Defects {
			defects = append(defects, x.Defect)
		}
		for _, d := range defects {
			historiesAreValid(t, sc, Options{Defects: d}, 300)
			historiesAreValid(t, sc, Options{Defects: d, Timing: sim.Untimed}, 30)
			historiesAreValid(t, sc, Options{Defects: d, Timing: sim.Bounded}, 30)
		}
	}
}

func historiesAreValid(t *testing.T, sc *Scenario, o Options, seeds uint64) {
	r, err := NewRunner(sc, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var v *history.Validator
	var invalid error
	judge := r.observe
	r.observe = model.SinkFunc(func(e *history.Event) {
		if invalid == nil {
			invalid = v.Check(e)
		}
		judge.Observe(e)
	})
	for seed := range seeds {
		p := PlanAt(sc, seed)
		h := r.header(&p.Params)
		v = &history.Validator{}
		invalid = v.Begin(&h)
		r.Run(&p)
		if invalid != nil {
			t.Errorf("%s with %s, %s, seed %d: %v", sc.Name, o.Defects, o.Timing, seed, invalid)
			return
		}
	}
}
