package checker_test

import (
	"fmt"
	"slices"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/scenarios"
	"staleproof/sim"
)

// specimen is a history with how it came to be.
type specimen struct {
	how string
	*history.History
}

// dice is a stream of pseudo-random numbers, the same on every machine.
type dice struct{ state uint64 }

func diceOf(seed, purpose uint64) *dice { return &dice{sim.Mix(sim.Scramble(seed+1), purpose)} }

func (d *dice) next() uint64 {
	d.state = sim.Mix(d.state, 0x6a09e667f3bcc909)
	return sim.Scramble(d.state)
}

// below draws from [0, n).
func (d *dice) below(n int) int { return int(d.next() >> 33 % uint64(n)) }

// trial is a scenario with a defect, under a timing.
type trial struct {
	scenario *scenarios.Scenario
	defect   model.Defects
	timing   sim.Timing
}

func (t trial) String() string {
	return fmt.Sprintf("%s with %s, %s", t.scenario.Name, t.defect, t.timing)
}

// trials lists every scenario with every defect of the model, those that the scenario
// is not about too, timed, untimed and, where time is counted in ticks, bounded.
func trials() []trial {
	var list []trial
	for _, sc := range scenarios.AllScenarios() {
		timings := []sim.Timing{sim.Timed, sim.Timed, sim.Untimed}
		if sc.Searched {
			timings = []sim.Timing{sc.Timing}
		}
		for _, timing := range timings {
			list = append(list, trial{sc, 0, timing})
			for _, x := range sc.Defects {
				list = append(list, trial{sc, x.Defect, timing})
			}
			for _, x := range model.AllDefects() {
				if _, own := sc.Exposes(x.Set); !own && !sc.Searched {
					list = append(list, trial{sc, x.Set, timing})
				}
			}
		}
	}
	return list
}

// strategies are the ways to choose the schedule of a run: those of a search. Each
// returns the parameters and the chooser of a seed.
var strategies = []struct {
	name  string
	begin func(sc *scenarios.Scenario, d *dice) (scenarios.Params, sim.Chooser)
}{
	{"swarm", func(sc *scenarios.Scenario, d *dice) (scenarios.Params, sim.Chooser) {
		p := scenarios.PlanAt(sc, d.next())
		return p.Params, &sim.Seeded{Seed: p.Seed, Rates: always(p.Rates)}
	}},
	{"uniform", func(sc *scenarios.Scenario, d *dice) (scenarios.Params, sim.Chooser) {
		return sc.Params, &sim.Seeded{Seed: d.next(), Rates: always(sc.Faults.Rates)}
	}},
	{"storm", func(sc *scenarios.Scenario, d *dice) (scenarios.Params, sim.Chooser) {
		p := sc.Params
		p.Acquisitions, p.Writes = p.Acquisitions+1, p.Writes+1
		rates := sc.Faults.Rates
		for site, rate := range rates {
			rates[site] = uint16(min(uint32(rate)*2, sim.Uniform-1))
		}
		return p, &sim.Hard{Seeded: sim.Seeded{Seed: d.next(), Rates: always(rates)}, Often: 128}
	}},
	{"pct", func(sc *scenarios.Scenario, d *dice) (scenarios.Params, sim.Chooser) {
		c := &sim.Priorities{Changes: sim.NewReplay(aimed(sc, d))}
		c.Reset(d.next(), 1+d.below(len(sc.Faults.Delays)+1))
		return sc.Params, c
	}},
	{"pos", func(sc *scenarios.Scenario, d *dice) (scenarios.Params, sim.Chooser) {
		return sc.Params, &sim.PartialOrder{Seed: d.next(), Under: sim.NewReplay(aimed(sc, d))}
	}},
	{"aimed", func(sc *scenarios.Scenario, d *dice) (scenarios.Params, sim.Chooser) {
		return sc.Params, sim.NewReplay(aimed(sc, d))
	}},
}

// always makes the order of what may happen next random, where there is no time.
func always(r sim.Rates) sim.Rates {
	r[sim.SiteNext] = sim.Uniform
	return r
}

// aimed draws a few faults of the scenario's menu at places that a run comes to.
func aimed(sc *scenarios.Scenario, d *dice) sim.Schedule {
	var sites []sim.Site
	for site, rate := range sc.Faults.Rates {
		if rate > 0 {
			sites = append(sites, sim.Site(site))
		}
	}
	sites = append(sites, sim.SiteNext, sim.SiteNext)
	var s sim.Schedule
	for range 1 << d.below(6) {
		key := sim.Key{Proc: int32(d.below(6)) - 1, Site: sites[d.below(len(sites))], Count: uint32(d.below(1 + d.below(60)))}
		s = append(s, sim.Decision{Key: key, Option: 1 + d.below(3)})
	}
	slices.SortStableFunc(s, func(a, b sim.Decision) int {
		if n := int(a.Proc) - int(b.Proc); n != 0 {
			return n
		}
		if n := int(a.Site) - int(b.Site); n != 0 {
			return n
		}
		return int(a.Count) - int(b.Count)
	})
	return slices.CompactFunc(s, func(a, b sim.Decision) bool { return a.Key == b.Key })
}

// record runs the trial at a seed and returns all that happened in it.
func (t trial) record(runner *scenarios.Runner, seed uint64) specimen {
	d := diceOf(seed, 1)
	s := strategies[d.below(len(strategies))]
	params, chooser := s.begin(t.scenario, d)
	if !t.scenario.Searched {
		params.FirstToken = []int64{1, 1, 1, 7, 1 << 32}[d.below(5)]
		params.Deletes, params.More = int64(d.below(4)/3), int64(d.below(4)/3)
		params.Modify = max(params.Modify, int64(d.below(3)/2))
		params.Reenter = max(params.Reenter, int64(d.below(5)/4))
		if t.timing != sim.Timed { // nothing ends a run without time but its work
			params.Acquisitions, params.Writes = 1, min(params.Writes, 2)
		}
	}
	o := runner.Steer(&params, seed, chooser)
	_, h := runner.Record(&params, slices.Clone(o.Result.Decisions))
	if d.below(8) > 0 {
		h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool {
			return e.F == history.Send || e.F == history.Deliver || e.F == history.Drop
		})
	}
	return specimen{fmt.Sprintf("%s, %s, seed %d", t, s.name, seed), h}
}
