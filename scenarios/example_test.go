package scenarios_test

import (
	"fmt"
	"testing"

	"staleproof/model"
	"staleproof/scenarios"
	"staleproof/sim"
)

// plain is a store that compares the token and writes in one step.
type plain struct {
	highest model.Token
	value   int64
}

func (s *plain) Write(p *sim.Proc, r model.Request) model.Reply {
	if r.Token < s.highest {
		return model.Stale(s.highest)
	}
	s.highest, s.value = r.Token, r.Value
	return model.OK(r.Value)
}

// A test of a store of one's own: 20,000 schedules, each with faults of its own.
func ExampleTest() {
	_ = func(t *testing.T) { // TestStore in a file of yours
		scenarios.Test(t, "textbook", scenarios.WithStore(func() model.StoreServer { return &plain{} }))
	}
}

// A Runner runs schedules one after another; what breaks is made small, explained,
// and has a token that replays it.
func ExampleRunner() {
	textbook, err := scenarios.Lookup("textbook")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := scenarios.NewRunner(textbook, scenarios.Options{Defects: model.StoreIgnoresToken})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for seed := uint64(0); ; seed++ {
		p := scenarios.PlanAt(textbook, seed)
		o := r.Run(&p)
		if len(o.Violations) == 0 {
			continue
		}
		property := o.Violations[0].Property
		small := r.Shrink(&p.Params, o.Result.Decisions, property, 500)
		f, err := r.Explain(&small.Params, seed, small.Schedule, small.Digest, property)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(f.Message)
		for _, d := range f.Decisions {
			fmt.Println(" ", d)
		}
		break
	}
	// Output:
	// broke no-stale-write: token 2 applied at #128 after token 3 was accepted at #98 (orders/7)
	//   manager/drift#0=2: the clocks of manager drifted by -200 ppm
	//   A/delay#0=1: message 1 of A was 500us late
	//   C/suspend#2=2: C was suspended, its clock too, for 12s at "checked"
}
