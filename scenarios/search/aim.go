package search

import (
	"staleproof/scenarios"
	"staleproof/sim"
)

// faultSites are those at which a fault may be aimed.
var faultSites = sim.SiteSet(0).With(sim.SiteDelay, sim.SiteHold, sim.SiteDrop, sim.SiteDuplicate, sim.SitePartition,
	sim.SitePause, sim.SiteSuspend, sim.SiteStall, sim.SiteCrash, sim.SiteDrift, sim.SiteJump, sim.SiteTie, sim.SiteTask)

// yieldSites are those of a yield.
var yieldSites = sim.SiteSet(0).With(sim.SitePause, sim.SiteSuspend, sim.SiteStall, sim.SiteCrash)

// target aims faults at places that a calm run of the same parameters comes to.
type target struct {
	sc       *scenarios.Scenario
	charts   map[scenarios.Params]*chart
	workload scenarios.Params
	faults   sim.Schedule
}

// chart is where faults can strike.
type chart struct {
	spots  []sim.Spot
	sites  []sim.Site // that have a spot and a rate
	yields []sim.Site // those of sites that strike at a yield
	total  [sim.SiteCount]uint32
	rated  uint64 // sum over the sites of rate times total
}

// params draws the workload: more than the scenario's half of the time, or as
// much, or less.
func (t *target) params(d *draws) *scenarios.Params {
	p := &t.workload
	switch d.below(4) {
	case 0:
		*p = t.sc.Params
		return p
	case 1, 2:
		*p = moreWork(t.sc)
		return p
	}
	*p = t.sc.Params
	for _, x := range []struct {
		n     *int64
		least int64
	}{{&p.Clients, 2}, {&p.Acquisitions, 1}, {&p.Writes, 1}} {
		if *x.n > x.least {
			*x.n -= int64(d.below(int(*x.n-x.least) + 1))
		}
	}
	return p
}

// chart returns where faults can strike a run of p. It makes a calm run the first
// time.
func (t *target) chart(r *scenarios.Runner, p *scenarios.Params) *chart {
	if c, ok := t.charts[*p]; ok {
		return c
	}
	var census sim.Census
	r.Steer(p, 0, &census)
	c := &chart{}
	for _, s := range census.Spots {
		if s.Options < 2 || !faultSites.Has(s.Site) || t.sc.Faults.Rates[s.Site] == 0 {
			continue
		}
		if c.total[s.Site] == 0 {
			c.sites = append(c.sites, s.Site)
			if yieldSites.Has(s.Site) {
				c.yields = append(c.yields, s.Site)
			}
		}
		c.spots = append(c.spots, s)
		c.total[s.Site] += s.Count
		c.rated += uint64(s.Count) * uint64(t.sc.Faults.Rates[s.Site])
	}
	if t.charts == nil {
		t.charts = map[scenarios.Params]*chart{}
	}
	t.charts[*p] = c
	return c
}

// aim draws n faults. Half of them strike at yields, a quarter at a site drawn
// evenly, a quarter at one drawn as often as a run at the medium rates would meet it.
// (Messages are so many that few faults are left for yields otherwise, and those
// find most.)
func (t *target) aim(r *scenarios.Runner, p *scenarios.Params, d *draws, n int) sim.Schedule {
	c := t.chart(r, p)
	t.faults = t.faults[:0]
	if len(c.sites) == 0 {
		return nil
	}
	for range n {
		var site sim.Site
		switch k := d.below(4); {
		case k < 2 && len(c.yields) > 0:
			site = c.yields[d.below(len(c.yields))]
		case k == 2:
			site = c.often(t.sc, d)
		default:
			site = c.sites[d.below(len(c.sites))]
		}
		t.faults = append(t.faults, c.place(site, d))
	}
	return t.faults
}

// often draws a site by rate.
func (c *chart) often(sc *scenarios.Scenario, d *draws) sim.Site {
	left := d.next() % c.rated
	for _, s := range c.sites {
		w := uint64(c.total[s]) * uint64(sc.Faults.Rates[s])
		if left < w {
			return s
		}
		left -= w
	}
	return c.sites[0]
}

// place draws where a fault of a site strikes, and how hard: half of the time as
// hard as it can.
func (c *chart) place(site sim.Site, d *draws) sim.Decision {
	at := uint32(d.below(int(c.total[site])))
	for _, s := range c.spots {
		if s.Site != site {
			continue
		}
		if at >= s.Count {
			at -= s.Count
			continue
		}
		f := sim.Decision{Key: sim.Key{Proc: s.Proc, Site: site, Count: at}, Option: 1 + d.below(s.Options-1)}
		if d.below(2) == 0 {
			f.Option = s.Options - 1
		}
		if d.below(4) == 0 {
			f.Count += uint32(d.below(int(s.Count) + 1)) // what an earlier fault adds comes behind
		}
		return f
	}
	return sim.Decision{}
}
