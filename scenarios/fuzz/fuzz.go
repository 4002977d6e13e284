// Package fuzz draws plans with rapid: [Plans] is a generator for property tests,
// [At] gives the plan of a seed, as the command sweeps them.
//
// It is apart from package scenarios because importing rapid adds flags to a
// program: only tests and the command import it.
package fuzz

import (
	"pgregory.net/rapid"

	"staleproof/scenarios"
	"staleproof/sim"
)

// Plans generates plans of sc, for one goroutine: topology, workload, swarm, seed
// and a few overrides. rapid shrinks towards few clients, little work and no
// faults.
func Plans(sc *scenarios.Scenario) *rapid.Generator[scenarios.Plan] {
	d := &drawer{ints: map[[2]int]*rapid.Generator[int]{}}
	return plans(sc, d)
}

func plans(sc *scenarios.Scenario, d *drawer) *rapid.Generator[scenarios.Plan] {
	return rapid.Custom(func(t *rapid.T) scenarios.Plan {
		d.t, d.drawn = t, 0
		p := scenarios.DrawPlan(sc, d)
		p.Overrides = overrides(d, sc)
		return p
	})
}

// At returns a function that gives the plan of a seed, the same on every machine.
// It is for one goroutine. What is to be spread evenly, the swarm and the seed of
// the choices, comes from the seed itself: rapid prefers small numbers.
func At(sc *scenarios.Scenario) func(seed uint64) scenarios.Plan {
	d := &drawer{ints: map[[2]int]*rapid.Generator[int]{}, even: true}
	g := plans(sc, d)
	return func(seed uint64) scenarios.Plan {
		d.seed = seed
		return g.Example(int(seed & (1<<31 - 1)))
	}
}

// overrides draws sparse decisions on top of the seed's.
func overrides(d *drawer, sc *scenarios.Scenario) sim.Schedule {
	var s sim.Schedule
	for range d.Int("overrides", 0, 2) {
		s = append(s, sim.Decision{
			Key: sim.Key{
				Proc:  int32(d.Int("process", 0, int(sc.Params.Clients)+1)),
				Site:  sim.Site(d.Int("site", int(sim.SiteDelay), int(sim.SiteCrash))),
				Count: uint32(d.Int("count", 0, 15)),
			},
			Option: d.Int("option", 1, 3),
		})
	}
	return s
}

// drawer draws with rapid; generators are made once for each range.
type drawer struct {
	t     *rapid.T
	ints  map[[2]int]*rapid.Generator[int]
	even  bool // draw Uint64 from the seed
	seed  uint64
	drawn uint64
}

var anyUint64 = rapid.Uint64()

func (d *drawer) Int(label string, lo, hi int) int {
	if lo >= hi {
		return lo
	}
	g, ok := d.ints[[2]int{lo, hi}]
	if !ok {
		g = rapid.IntRange(lo, hi)
		d.ints[[2]int{lo, hi}] = g
	}
	return g.Draw(d.t, label)
}

func (d *drawer) Uint64(label string) uint64 {
	if d.even {
		d.drawn++
		return sim.Scramble(sim.Mix(d.seed, d.drawn))
	}
	return anyUint64.Draw(d.t, label)
}
