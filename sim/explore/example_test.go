package explore_test

import (
	"fmt"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// Two clients of a counter read it and write it back, apart: an update is lost.
func ExampleRun() {
	counter := func(p *sim.Proc) {
		x := 0
		for {
			p.Checkpoint(x)
			m, _ := p.Wait(0)
			if v := m.Body.(int); v < 0 {
				p.Send(m.From, x)
			} else {
				x = v
			}
		}
	}
	client := func(p *sim.Proc) {
		p.Checkpoint("asks")
		p.Send(0, -1)
		m, _ := p.Wait(0)
		p.Send(0, m.Body.(int)+1)
		p.Checkpoint(m.Body)
		p.Wait(0)
	}
	sys := explore.System{
		Build:  spawn(counter, client, client),
		Config: sim.Config{Timing: sim.Untimed},
		Invariants: []explore.Invariant{{Name: "no lost update", Holds: func(v *explore.View) string {
			if read, ok := v.Value(1).(int); ok && read == v.Value(2) {
				return fmt.Sprintf("both clients read %d", read)
			}
			return ""
		}}},
	}
	r, err := explore.Run(sys, explore.Options{})
	fmt.Println(err)
	fmt.Println(r.Violation.Message)
	for _, line := range r.Violation.Trace {
		fmt.Println(" ", line)
	}
	// Output:
	// <nil>
	// both clients read 0
	//   a receives -1 from b
	//   a receives -1 from c
	//   b receives 0 from a
	//   c receives 0 from a
}
