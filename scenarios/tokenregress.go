package scenarios

import (
	"staleproof/checker"
	"staleproof/model"
	"staleproof/sim"
)

// tokenRegress is a coordinator that comes back with less than it had.
var tokenRegress = Scenario{
	Name:     "token-regress",
	Revision: 2,
	Doc: "The lease manager restarts from a snapshot, loses its counter or fails over to a lagging " +
		"standby: it grants a token once more, or a lower one, and the new holder is refused for ever or " +
		"shares its token with a zombie. The counter has to be durable, and the store keeps the owner beside the number.",
	Params: textbook.Params.with(func(p *Params) { p.Acquisitions, p.Writes = 3, 1 }),
	Faults: textbookFaults.withRates(map[sim.Site]uint16{sim.SiteCrash: 5000}),
	Build: func(w *sim.World, s Setup) {
		buildTextbook(w, s)
		spareClients(w, s)
		if !s.StoreCrashes {
			w.Spare(w.Lookup("store"), sim.SiteCrash)
		}
	},
	Properties: common,
	Sometimes:  []checker.Fact{checker.TokenCrossedRestart, checker.StaleWriteRejected},
	Defects: []Exposure{
		{Defect: model.CounterNotDurable, Breaks: []string{"token-order", "no-false-fencing"}},
		{Defect: model.SnapshotRestored, Breaks: []string{"token-order", "no-false-fencing"}},
		{Defect: model.StandbyLags, Breaks: []string{"token-order"}},
		{Defect: model.ReleaseDeletesCounter, Breaks: []string{"token-order", "no-false-fencing"}},
		{Defect: model.CounterNotDurable | model.StoreIgnoresOwner, Breaks: []string{"token-order", "linearizable"}},
	},
	Scripts: []Script{
		{Name: "counter-lost", Doc: "The lease manager restarts between two grants.", FirstToken: 41,
			Steps: `A acquire
A write 10
A write 11, held
expire A
B acquire
B write 20
crash manager
expire B
C acquire
C write 30
deliver A write 11
C read`},
	},
}
