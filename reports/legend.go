package reports

// legend lists what the drawing uses, in the order in which a lease lives.
func (d *drawing) legend() {
	used := map[string]bool{}
	for _, m := range d.fig.Marks {
		used[m.Symbol] = true
		used["violation"] = used["violation"] || m.Violation
	}
	for _, p := range d.fig.Panels {
		used["fence"] = true
		used["forgot"] = used["forgot"] || p.Forgotten != ""
		for _, pt := range p.Points {
			used[pt.Symbol] = true
			used["below"] = used["below"] || pt.Below
		}
	}
	for _, b := range d.fig.Bands {
		used[b.Class] = true
	}
	for _, s := range d.fig.Shades {
		used[s.Class] = true
	}
	for _, o := range d.fig.Ops {
		used["op-"+o.End] = true
	}
	for _, a := range d.fig.Arrows {
		used["arrow-"+a.Class] = true
	}
	for _, r := range d.fig.Rules {
		used["rule-"+r.Class] = true
	}
	used["gap"] = len(d.fig.Gaps) > 0
	used["badge"] = len(d.fig.Badges) > 0
	for _, item := range legendItems {
		if used[item.Symbol] {
			d.fig.Legend = append(d.fig.Legend, item)
		}
	}
}

var legendItems = []legendItem{
	{"violation", "the violation"},
	{"badge", "step of the list above"},
	{"knew", "lease in force, as the coordinator knew"},
	{"believed", "lease held, as the client believed"},
	{"tail", "still acted on it after its end"},
	{"clash", "held by two at once"},
	{"grant", "granted"},
	{"renewed", "renewed"},
	{"released", "released"},
	{"expire", "expired"},
	{"disbelieve", "belief given up"},
	{"op-ok", "operation that succeeded"},
	{"op-fail", "operation that failed"},
	{"op-info", "operation of unknown outcome"},
	{"op-open", "operation still open"},
	{"apply", "write accepted and applied"},
	{"raised", "fence raised"},
	{"served", "read served"},
	{"reject", "refused as stale"},
	{"stale", "client told that it is stale"},
	{"fence", "highest accepted token"},
	{"forgot", "the store's own fence, where it forgot"},
	{"below", "presented below it: stale"},
	{"arrow-message", "message"},
	{"arrow-served", "operation served"},
	{"arrow-late", "message in flight while the lease changed hands"},
	{"arrow-lost", "message lost"},
	{"arrow-flying", "message never delivered"},
	{"paused", "process paused"},
	{"down", "process down"},
	{"stall", "one task stalled"},
	{"crash", "crash"},
	{"restart", "restart"},
	{"clock", "clock changed"},
	{"rule-partition", "partition begins"},
	{"rule-heal", "partition heals"},
	{"rule-quiet", "no fault after this"},
	{"gap", "time jumps, or events left out"},
}
