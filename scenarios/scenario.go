// Package scenarios runs protocols of leases and fencing tokens in simulated
// worlds and judges what happens.
//
//	Plan -> Runner (world, recorder, suite of monitors) -> Outcome
//	 ^                                                       |
//	 generator, seed, replay token      history, finding <---+
//
// A [Scenario] is data: who takes part, which faults may strike, what must hold,
// which dangers must have occurred for a pass to mean anything, and for each
// defect that it exposes the properties that must break. [Scenarios] lists them.
package scenarios

import (
	"fmt"
	"slices"
	"time"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/sim"
	"staleproof/sim/explore"
)

// Scenario describes one situation in which leases go wrong.
type Scenario struct {
	Name string
	// Revision is part of every replay token: it changes when the same choices
	// would make another run.
	Revision int
	Doc      string
	// Params are the defaults.
	Params Params
	// Faults are what may strike, and how hard.
	Faults Faults
	// Build spawns the processes of a run.
	Build func(w *sim.World, s Setup)
	// StoreCrashes lets a user's store crash without an option that says so.
	StoreCrashes bool
	// Searched scenarios are for exhaustive search alone, under Timing; runs of them
	// are replays of what it found. Search, if not nil, makes the system.
	Searched bool
	Timing   sim.Timing
	Search   func(b Bounds, d model.Defects) (explore.System, error)
	// Properties are judged on every run.
	Properties []string
	// Sometimes are the dangers that must have occurred over all runs of the
	// control, or else it is inconclusive.
	Sometimes []checker.Fact
	// Defects are those that the scenario exposes.
	Defects []Exposure
	// Scripts are directed runs that read like the sequences people write down.
	Scripts []Script
}

// Exposure says what a defect must break.
type Exposure struct {
	Defect model.Defects
	Breaks []string // properties: each in some schedule
	// Holds are properties that must hold all the while, and Lesson says what that
	// teaches. Both may be empty.
	Holds  []string
	Lesson string
}

// Setup is what Build is told.
type Setup struct {
	Params Params
	Config model.Config
	// NewStore makes the store; nil means the model's own. It crashes only if
	// StoreCrashes is set; the model's own always may.
	NewStore     func() sim.Handler
	StoreCrashes bool
	cast         *cast // of the runs before; nil: none
}

// Params are the numbers of a scenario.
type Params struct {
	Clients      int64
	Acquisitions int64 // by each client
	Writes       int64 // under each lease
	Renew        int64 // 1: a task beside the work renews the lease
	Renewals     int64 // of one lease at most; 0: no limit
	Modify       int64 // 1: writes are read-modify-writes
	Reenter      int64 // 1: the lease is taken once more inside the work
	TTL          int64 // ns
	Work         int64 // ns, before each write
	Latency      int64 // ns, one way
	Timeout      int64 // ns, of a call
	Rho          int64 // ppm
	FirstToken   int64
	Horizon      int64 // ticks of a bounded search
	Tries        int64 // 0: four times as often as Acquisitions
	Deletes      int64 // 1: one write of three is a delete
	ReadsBack    int64 // 1: each write is read back
	More         int64 // resources beside the first
}

// Param describes one number of [Params].
type Param struct {
	Name     string
	Doc      string
	Min, Max int64
	of       func(*Params) *int64
}

// paramTable is in the order in which parameters are printed.
var paramTable = []Param{
	{"clients", "how many clients compete for the lease", 1, 16, func(p *Params) *int64 { return &p.Clients }},
	{"acquisitions", "leases that each client takes", 0, 1000, func(p *Params) *int64 { return &p.Acquisitions }},
	{"writes", "writes under each lease", 0, 1000, func(p *Params) *int64 { return &p.Writes }},
	{"renew", "1: a task beside the work renews the lease at each third of its term", 0, 1, func(p *Params) *int64 { return &p.Renew }},
	{"renewals", "how often a lease is renewed at most; 0: no limit", 0, 1000, func(p *Params) *int64 { return &p.Renewals }},
	{"modify", "1: each write is one more than the value read or written last", 0, 1, func(p *Params) *int64 { return &p.Modify }},
	{"reenter", "1: the holder acquires its lease once more in the middle of its work", 0, 1, func(p *Params) *int64 { return &p.Reenter }},
	{"ttl", "term of a lease, ns", 1, int64(1000 * time.Hour), func(p *Params) *int64 { return &p.TTL }},
	{"work", "work before each write, ns", 0, int64(1000 * time.Hour), func(p *Params) *int64 { return &p.Work }},
	{"latency", "one-way latency of a message, ns", 0, int64(time.Hour), func(p *Params) *int64 { return &p.Latency }},
	{"timeout", "how long a client waits for a reply, ns; 0: for ever", 0, int64(1000 * time.Hour), func(p *Params) *int64 { return &p.Timeout }},
	{"rho", "declared bound on the drift of clocks, ppm", 0, 999_999, func(p *Params) *int64 { return &p.Rho }},
	{"tries", "how often a client asks for a lease at most; 0: four times as often as acquisitions", 0, 1000, func(p *Params) *int64 { return &p.Tries }},
	{"horizon", "ticks of a bounded search", 0, 1000, func(p *Params) *int64 { return &p.Horizon }},
	{"first-token", "token of the first acquisition", 1, 1 << 60, func(p *Params) *int64 { return &p.FirstToken }},
	{"reads-back", "1: what was written is read behind each write", 0, 1, func(p *Params) *int64 { return &p.ReadsBack }},
	{"deletes", "1: one write of three is a delete", 0, 1, func(p *Params) *int64 { return &p.Deletes }},
	{"more-resources", "resources beside the first that leases are taken of", 0, 8, func(p *Params) *int64 { return &p.More }},
}

// ParamTable lists the parameters.
func ParamTable() []Param { return paramTable }

// Get returns the parameter's value in p.
func (d Param) Get(p *Params) int64 { return *d.of(p) }

// durations are the parameters that are lengths of time: ticks under bounded
// timing, else nanoseconds.
var durations = []string{"ttl", "work", "latency", "timeout"}

// Text returns the parameter's value in p as people write it: "10s", "200 ppm",
// "yes".
func (d Param) Text(p *Params, t sim.Timing) string {
	v := d.Get(p)
	switch {
	case slices.Contains(durations, d.Name) && t == sim.Bounded:
		return fmt.Sprintf("%d ticks", v)
	case slices.Contains(durations, d.Name):
		return time.Duration(v).String()
	case d.Name == "rho":
		return fmt.Sprintf("%d ppm", v)
	case d.Min == 0 && d.Max == 1 && v == 1:
		return "yes"
	case d.Min == 0 && d.Max == 1:
		return "no"
	}
	return fmt.Sprint(v)
}

// Set sets the parameter called name, or says what was expected.
func (p *Params) Set(name string, value int64) error {
	for _, d := range paramTable {
		if d.Name != name {
			continue
		}
		if value < d.Min || value > d.Max {
			return fmt.Errorf("parameter %s: expected %d to %d, found %d", name, d.Min, d.Max, value)
		}
		*d.of(p) = value
		return nil
	}
	return fmt.Errorf("unknown parameter %q%s", name, suggest(name, paramNames()))
}

func paramNames() []string {
	var names []string
	for _, d := range paramTable {
		names = append(names, d.Name)
	}
	return names
}

// diff lists the parameters that differ from base.
func (p Params) diff(base Params) []Param {
	return slices.DeleteFunc(slices.Clone(paramTable), func(d Param) bool { return d.Get(&p) == d.Get(&base) })
}

// Faults is the fault menu of a scenario. Durations and numbers are options from
// the mildest on; a site without a rate never strikes.
type Faults struct {
	Delays, Holds, Pauses, Suspends, Stalls, Restarts, Partitions, Jumps []time.Duration
	Drifts                                                               []int64
	// Rates are those of a run of medium weight, in units of 1/65536.
	Rates sim.Rates
	// Budget bounds the decisions of a site in one run.
	Budget map[sim.Site]int
}

// config returns the world's config.
func (sc *Scenario) config(p *Params) sim.Config {
	f := &sc.Faults
	return sim.Config{
		Latency: time.Duration(p.Latency), Delays: f.Delays, Holds: f.Holds, Pauses: f.Pauses,
		Suspends: f.Suspends, Stalls: f.Stalls, Restarts: f.Restarts, Partitions: f.Partitions,
		Drifts: f.Drifts, Jumps: f.Jumps, Budget: f.Budget, MaxEvents: 20_000,
	}
}

// configFor returns the world's config under a timing. How long a fault lasts
// takes part in timed runs alone, so that one option is enough otherwise.
func (sc *Scenario) configFor(p *Params, t sim.Timing) sim.Config {
	cfg := sc.config(p)
	if t == sim.Timed {
		return cfg
	}
	cfg.Timing, cfg.Budget, cfg.Horizon = t, nil, time.Duration(p.Horizon)
	for _, options := range []*[]time.Duration{&cfg.Delays, &cfg.Holds, &cfg.Pauses, &cfg.Suspends, &cfg.Stalls, &cfg.Restarts, &cfg.Partitions} {
		*options = (*options)[:min(1, len(*options))]
	}
	cfg.Drifts, cfg.Jumps = nil, nil
	return cfg
}

// setup returns what Build is told.
func (p *Params) setup(d model.Defects) Setup {
	return Setup{Params: *p, Config: model.Config{Defects: d, TTL: time.Duration(p.TTL), RhoPPM: p.Rho,
		FirstToken: model.Token(p.FirstToken), Timeout: time.Duration(p.Timeout)}}
}

// registry is every scenario, in the order in which they are listed. A new
// scenario is one file that declares it and one line here.
var registry = []*Scenario{
	&textbook,
	&readBeforeRaise,
	&checkApart,
	&tokenRegress,
	&storeForgets,
	&selfFencing,
	&lfUntimed,
	&lfBounded,
}

// Scenarios lists the built-in scenarios that run under a seed.
func Scenarios() []*Scenario {
	return slices.DeleteFunc(slices.Clone(registry), func(sc *Scenario) bool { return sc.Searched })
}

// AllScenarios lists those too that are for exhaustive search alone.
func AllScenarios() []*Scenario { return registry }

// Lookup returns the scenario called name; an unknown name is an error that
// suggests the nearest one.
func Lookup(name string) (*Scenario, error) {
	var names []string
	for _, sc := range registry {
		if sc.Name == name {
			return sc, nil
		}
		names = append(names, sc.Name)
	}
	return nil, fmt.Errorf("unknown scenario %q%s", name, suggest(name, names))
}

// Exposes returns what the scenario expects of d, and whether it is one of its
// defects.
func (sc *Scenario) Exposes(d model.Defects) (Exposure, bool) {
	for _, x := range sc.Defects {
		if x.Defect == d {
			return x, true
		}
	}
	return Exposure{Defect: d}, d == 0
}

// Defect returns the scenario's defect called name; an unknown name is an error
// that suggests the nearest one. "none" is the empty set.
func (sc *Scenario) Defect(name string) (model.Defects, error) {
	if name == "none" {
		return 0, nil
	}
	var names []string
	for _, x := range sc.Defects {
		if x.Defect.String() == name {
			return x.Defect, nil
		}
		names = append(names, x.Defect.String())
	}
	return 0, fmt.Errorf("unknown defect %q of scenario %s%s", name, sc.Name, suggest(name, names))
}
