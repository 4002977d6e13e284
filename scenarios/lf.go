package scenarios

import (
	"staleproof/model"
	"staleproof/scenarios/lf"
	"staleproof/sim"
	"staleproof/sim/explore"
)

// lfUntimed and lfBounded are the reference protocols of package lf, whose number
// of states is known from other model checkers.
var (
	lfUntimed = Scenario{
		Name: "lf", Revision: 2, Searched: true, Timing: sim.Untimed,
		Doc: "The untimed reference protocol: the manager may end a lease, and a client give up its own, " +
			"at any time; the fence alone protects the data.",
		Params:     lfParams(lf.Default(false)),
		Build:      buildLF,
		Search:     searchLF,
		Properties: []string{"no-stale-write", "token-order"},
		Defects: []Exposure{
			{Defect: model.StoreIgnoresToken, Breaks: []string{"no-stale-write"}},
			{Defect: model.TokenNotIncreased, Breaks: []string{"token-order"}},
		},
	}
	lfBounded = Scenario{
		Name: "lf-time", Revision: 2, Searched: true, Timing: sim.Bounded,
		Doc: "The bounded reference protocol: leases end at a tick, and a client counts its deadline from the " +
			"sending of its request; no two clients believe at once.",
		Params:     lfParams(lf.Default(true)),
		Build:      buildLF,
		Search:     searchLF,
		Properties: []string{"no-stale-write", "token-order", "exclusive-belief"},
		Defects: []Exposure{
			{Defect: model.DeadlineFromReceipt, Breaks: []string{"exclusive-belief"}},
		},
	}
)

func lfParams(c lf.Config) Params {
	return Params{Clients: int64(c.Clients), Acquisitions: int64(c.Acquisitions), Writes: int64(c.Writes),
		Renewals: int64(c.Renewals), Horizon: int64(c.Horizon), TTL: max(int64(c.TTL), 1), Timeout: 1, FirstToken: 1}
}

func lfConfig(p *Params, d model.Defects) lf.Config {
	c := lf.Config{Timed: p.Horizon > 0, Clients: int(p.Clients), Acquisitions: int(p.Acquisitions),
		Writes: int(p.Writes), Renewals: int(p.Renewals), Horizon: int(p.Horizon), TTL: int(p.TTL)}
	switch {
	case d.Has(model.StoreIgnoresToken):
		c.Defect = lf.NoFenceCheck
	case d.Has(model.TokenNotIncreased):
		c.Defect = lf.TokenRegress
	case d.Has(model.DeadlineFromReceipt):
		c.Defect = lf.FromReceipt
	}
	return c
}

func buildLF(w *sim.World, s Setup) { lfConfig(&s.Params, s.Config.Defects).Build(w) }

func searchLF(b Bounds, d model.Defects) (explore.System, error) {
	c := lfConfig(&b.Params, d)
	if err := c.Check(); err != nil {
		return explore.System{}, err
	}
	return c.System(), nil
}
