package scenarios

import (
	"testing"

	"staleproof/model"
	"staleproof/model/history"
)

// TestHistoriesAreValid: what a simulation writes down is a history that check
// accepts, whatever the faults and the defect.
func TestHistoriesAreValid(t *testing.T) {
	const seeds = uint64(300)
	for _, sc := range Scenarios() {
		defects := []model.Defects{0}
		for _, x := range sc.Defects {
			defects = append(defects, x.Defect)
		}
		for _, d := range defects {
			r, err := NewRunner(sc, Options{Defects: d})
			if err != nil {
				t.Fatal(err)
			}
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
				v, invalid = &history.Validator{}, nil
				p := PlanAt(sc, seed)
				r.Run(&p)
				if invalid != nil {
					t.Errorf("%s with %s, seed %d: %v", sc.Name, d, seed, invalid)
					break
				}
			}
			r.Close()
		}
	}
}
