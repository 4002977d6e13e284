package fuzz

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"staleproof/scenarios"
	"staleproof/sim"
)

// Property returns a property for rapid.Check and rapid.MakeFuzz: no plan of sc
// breaks anything. A failure logs the finding in words, with the smallest
// schedule that shows it, and a replay token. The property uses one world and is
// for one goroutine; close ends it.
func Property(sc *scenarios.Scenario, opt scenarios.Options) (property func(*rapid.T), close func(), err error) {
	r, err := scenarios.NewRunner(sc, opt)
	if err != nil {
		return nil, nil, err
	}
	plans := Plans(sc)
	return func(t *rapid.T) {
		p := plans.Draw(t, "plan")
		o := r.Run(&p)
		if len(o.Inconclusive) > 0 {
			t.Fatalf("inconclusive: %s", strings.Join(o.Inconclusive, ", "))
		}
		if len(o.Violations) == 0 {
			return
		}
		t.Log(&words{r: r, params: p.Params, seed: p.Seed, schedule: slices.Clone(o.Result.Decisions), property: o.Violations[0].Property})
		// The message names the property alone: rapid shrinks while it stays the same.
		t.Fatalf("broke %s", o.Violations[0].Property)
	}, r.Close, nil
}

// words explains a violation when it is printed: rapid prints only what it kept.
type words struct {
	r        *scenarios.Runner
	params   scenarios.Params
	seed     uint64
	schedule sim.Schedule
	property string
}

func (w *words) String() string {
	small := w.r.Shrink(&w.params, w.schedule, w.property, 500)
	f, err := w.r.Explain(&small.Params, w.seed, small.Schedule, small.Digest, w.property)
	if err != nil {
		return err.Error()
	}
	return f.Text() + "to see it again:\n  staleproof replay '" + f.Run.Token() + "'"
}
