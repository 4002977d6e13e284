package search

import (
	"fmt"
	"slices"
	"strings"

	"staleproof/scenarios"
	"staleproof/sim"
)

// Strategy is a way of choosing the schedule of a seed.
type Strategy struct {
	Name, Doc string
	// share is how much of an even mix is its, in parts of the sum of all.
	share int
	begin func(*Fuzz) steerer
}

// steerer runs the schedule of a seed. It is for one worker; what it does depends
// on the scenario and the seed alone.
type steerer interface {
	steer(r *scenarios.Runner, seed uint64) (scenarios.Params, scenarios.Outcome)
}

// strategies are the ways that there are, in the order of the report.
var strategies = []Strategy{
	{"storm", "random faults of every kind, often and mostly long; more work", 12, newStorm},
	{"swarm", "random faults, some kinds of them off; the workload varies", 1, newSwarm},
	{"aimed", "1 to 32 faults, half of them at yields of the calm run", 1, newAimed},
	{"pct", "random priorities of processes, that drop at some faults", 1, newPriorities},
	{"pos", "random orders of what each process receives, and some faults", 1, newPartialOrder},
	{"uniform", "random faults of every kind at the medium rate", 0, newUniform},
}

// The names of a search that uses several strategies.
const (
	// Portfolio begins with the fixed shares and gives time to those that find
	// new behaviour.
	Portfolio = "portfolio"
	// Mix keeps the fixed shares: which strategy a seed is for does not depend on
	// what others found, so that shards need not know of each other.
	Mix = "mix"
)

// Strategies lists the strategies.
func Strategies() []Strategy { return slices.Clone(strategies) }

// StrategyNames lists what [Fuzz.Strategy] may be.
func StrategyNames() []string {
	names := []string{Portfolio, Mix}
	for _, s := range strategies {
		names = append(names, s.Name)
	}
	return names
}

// chosen returns the strategies that a name stands for, as indices.
func chosen(name string) ([]int, error) {
	var list []int
	for i, s := range strategies {
		if s.Name == name || (name == Portfolio || name == Mix || name == "") && s.share > 0 {
			list = append(list, i)
		}
	}
	if list == nil {
		return nil, fmt.Errorf("strategy: expected one of %s, found %q", strings.Join(StrategyNames(), ", "), name)
	}
	return list, nil
}

// draws is a stream of pseudo-random numbers.
type draws struct{ seed, n uint64 }

func drawsOf(seed, purpose uint64) *draws {
	return &draws{seed: sim.Mix(sim.Scramble(seed+1), purpose)}
}

func (d *draws) next() uint64 {
	d.n++
	return sim.Scramble(sim.Mix(d.n, d.seed))
}

// below draws from [0, n).
func (d *draws) below(n int) int { return int(d.next() >> 33 % uint64(n)) }

// uniform runs every fault at the medium rate.
type uniform struct{ sc *scenarios.Scenario }

func newUniform(f *Fuzz) steerer { return &uniform{f.Scenario} }

func (s *uniform) steer(r *scenarios.Runner, seed uint64) (scenarios.Params, scenarios.Outcome) {
	p := scenarios.Plan{Params: s.sc.Params, Seed: seed, Rates: s.sc.Faults.Rates}
	return p.Params, r.Run(&p)
}

// swarm runs the plans that [Sweep] runs.
type swarm struct{ plan func(uint64) scenarios.Plan }

func newSwarm(f *Fuzz) steerer { return &swarm{f.planner()} }

func (s *swarm) steer(r *scenarios.Runner, seed uint64) (scenarios.Params, scenarios.Outcome) {
	p := s.plan(seed)
	return p.Params, r.Run(&p)
}

// storm is uniform with more of everything: chances to go wrong come with leases,
// and a long fault spans more of them.
type storm struct {
	sc      *scenarios.Scenario
	params  scenarios.Params
	chooser sim.Hard
}

func newStorm(f *Fuzz) steerer {
	s := &storm{sc: f.Scenario, params: moreWork(f.Scenario), chooser: sim.Hard{Often: 128}}
	s.params.Acquisitions++
	return s
}

func (s *storm) steer(r *scenarios.Runner, seed uint64) (scenarios.Params, scenarios.Outcome) {
	d := drawsOf(seed, 4)
	half := uint64(3 + d.below(2)) // of the medium rates: half as much more, or twice as much
	s.chooser.Seed = d.next()
	for site, rate := range s.sc.Faults.Rates {
		s.chooser.Rates[site] = uint16(min(uint64(rate)*half/2, sim.Uniform-1))
	}
	return s.params, r.Steer(&s.params, seed, &s.chooser)
}

// moreWork is the workload of a scenario with one lease more for each client, and
// one write more under each.
func moreWork(sc *scenarios.Scenario) scenarios.Params {
	p := sc.Params
	p.Acquisitions++
	p.Writes++
	return p
}

// aimed places few faults where a calm run has a yield or a message.
type aimed struct {
	target
	replay *sim.Replay
}

func newAimed(f *Fuzz) steerer {
	return &aimed{target: target{sc: f.Scenario}, replay: sim.NewReplay(nil)}
}

func (s *aimed) steer(r *scenarios.Runner, seed uint64) (scenarios.Params, scenarios.Outcome) {
	d := drawsOf(seed, 1)
	p := s.params(d)
	s.replay.Reset(s.aim(r, p, d, 1<<d.below(6)))
	return *p, r.Steer(p, seed, s.replay)
}

// priorities is probabilistic concurrency testing.
type priorities struct {
	target
	chooser sim.Priorities
}

func newPriorities(f *Fuzz) steerer {
	return &priorities{target: target{sc: f.Scenario}, chooser: sim.Priorities{Changes: sim.NewReplay(nil)}}
}

func (s *priorities) steer(r *scenarios.Runner, seed uint64) (scenarios.Params, scenarios.Outcome) {
	d := drawsOf(seed, 2)
	p := s.params(d)
	s.chooser.Changes.Reset(s.aim(r, p, d, 1<<d.below(6)))
	s.chooser.Reset(d.next(), 1+d.below(len(s.sc.Faults.Delays)+1))
	return *p, r.Steer(p, seed, &s.chooser)
}

// partialOrder is partial-order sampling.
type partialOrder struct {
	target
	faults  *sim.Replay
	chooser sim.PartialOrder
}

func newPartialOrder(f *Fuzz) steerer {
	return &partialOrder{target: target{sc: f.Scenario}, faults: sim.NewReplay(nil)}
}

func (s *partialOrder) steer(r *scenarios.Runner, seed uint64) (scenarios.Params, scenarios.Outcome) {
	d := drawsOf(seed, 3)
	p := s.params(d)
	s.faults.Reset(s.aim(r, p, d, 1<<d.below(6)))
	s.chooser = sim.PartialOrder{Seed: d.next(), Under: s.faults}
	return *p, r.Steer(p, seed, &s.chooser)
}
