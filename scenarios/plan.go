package scenarios

import (
	"fmt"
	"slices"

	"staleproof/sim"
)

// Plan is what is decided before a run: topology, workload, which faults are on
// and how heavy, the seed of all choices and the few that are overridden.
type Plan struct {
	Params    Params
	Seed      uint64
	Rates     sim.Rates
	Overrides sim.Schedule
}

// GoString writes the plan in two lines, for those who print what rapid drew: the
// workload, then the seed, the faults that are on and what is overridden.
func (p Plan) GoString() string {
	text := fmt.Sprintf("clients=%d acquisitions=%d writes=%d\n  seed=%d faults=", p.Params.Clients, p.Params.Acquisitions, p.Params.Writes, p.Seed)
	on := "none"
	for site, rate := range p.Rates {
		switch {
		case rate == 0 || !slices.Contains(swarmSites, sim.Site(site)):
		case on == "none":
			on = sim.Site(site).String()
		default:
			on += "," + sim.Site(site).String()
		}
	}
	text += on
	if len(p.Overrides) > 0 {
		text += "\n  overrides=" + p.Overrides.Text(nil)
	}
	return text
}

// Drawer draws the numbers of a plan: from rapid's generators, or from a seed.
type Drawer interface {
	// Int draws from lo to hi, both possible; lo is the simplest.
	Int(label string, lo, hi int) int
	// Uint64 draws any number; 0 is the simplest.
	Uint64(label string) uint64
}

// swarmSites are the faults that a swarm turns on and off one by one (Groce et
// al.: Swarm Testing, 2012: a run without a fault reaches states that a run with
// all of them does not).
var swarmSites = []sim.Site{sim.SiteDelay, sim.SiteHold, sim.SiteDrop, sim.SiteDuplicate, sim.SitePartition,
	sim.SitePause, sim.SiteSuspend, sim.SiteStall, sim.SiteCrash, sim.SiteDrift, sim.SiteJump, sim.SiteTie, sim.SiteTask}

// weights scale the rates of the fault menu, in quarters; the first is none.
var weights = []uint64{0, 3, 6, 10, 16}

// DrawPlan draws a plan for sc. Around its default topology it varies the number
// of clients, acquisitions and writes, downwards; the swarm is one number.
func DrawPlan(sc *Scenario, d Drawer) Plan {
	p := Plan{Params: sc.Params}
	fewer := func(label string, n *int64, least int64) {
		if *n > least {
			*n -= int64(d.Int(label, 0, int(*n-least)))
		}
	}
	fewer("fewer clients", &p.Params.Clients, 2)
	fewer("fewer acquisitions", &p.Params.Acquisitions, 1)
	fewer("fewer writes", &p.Params.Writes, 1)
	swarm := swarmOf(d.Uint64("swarm"))
	weight := weights[d.Int("weight", 0, len(weights)-1)]
	p.Rates = swarmRates(sc.Faults.Rates, swarm, weight)
	p.Seed = d.Uint64("seed")
	return p
}

// swarmOf spreads a drawn number over all swarms: 0 is the calm one.
func swarmOf(n uint64) int {
	return int(sim.Scramble(n) & (1<<len(swarmSites) - 1))
}

// swarmRates keeps the sites whose bit is set in swarm, scaled by weight/4, and
// those that are no fault.
func swarmRates(menu sim.Rates, swarm int, weight uint64) sim.Rates {
	rates := sim.Rates{sim.SiteUser: menu[sim.SiteUser], sim.SiteDisk: menu[sim.SiteDisk]}
	for i, s := range swarmSites {
		if swarm>>i&1 != 0 {
			rates[s] = uint16(min(uint64(menu[s])*weight/4, sim.Uniform-1))
		}
	}
	return rates
}

// PlanAt returns the plan of a seed, drawn from a pseudo-random function of it.
func PlanAt(sc *Scenario, seed uint64) Plan {
	return DrawPlan(sc, &seedDrawer{seed: seed})
}

// seedDrawer draws by hashing the seed and the number of the draw.
type seedDrawer struct{ seed, n uint64 }

func (d *seedDrawer) next() uint64 {
	d.n++
	return sim.Mix(sim.Mix(d.n, d.seed), 0x5eed)
}

func (d *seedDrawer) Int(_ string, lo, hi int) int {
	return lo + int(d.next()>>33%uint64(hi-lo+1))
}

func (d *seedDrawer) Uint64(string) uint64 { return d.next() }
