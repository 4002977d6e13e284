package scenarios

import (
	"staleproof/checker"
	"staleproof/model"
	"staleproof/sim"
)

// storeForgets is a fence that was lifted and is down again.
var storeForgets = Scenario{
	Name:     "store-forgets",
	Revision: 2,
	Doc: "The store has accepted a greater token and loses it: in a crash before its disk was synced, " +
		"in a failover, in a snapshot, to garbage collection. The old holder's write is accepted again.",
	Params:       textbook.Params,
	Faults:       textbookFaults.withRates(map[sim.Site]uint16{sim.SiteCrash: 5000, sim.SiteHold: 7000}),
	StoreCrashes: true,
	Build: func(w *sim.World, s Setup) {
		buildTextbook(w, s)
		spareClients(w, s)
		w.Spare(w.Lookup("manager"), sim.SiteCrash)
	},
	Properties: append([]string{"fence-survives"}, common...),
	Sometimes:  []checker.Fact{checker.FenceCrossedRestart, checker.StaleWriteRejected},
	Defects: []Exposure{
		{Defect: model.StoreAcksBeforeSync, Breaks: []string{"fence-survives", "linearizable"}},
		{Defect: model.FenceNotPersisted, Breaks: []string{"fence-survives", "no-stale-write"}},
		{Defect: model.SnapshotDropsFence, Breaks: []string{"fence-survives", "no-stale-write"}},
		{Defect: model.ReplicaLags, Breaks: []string{"fence-survives", "linearizable"}},
		{Defect: model.FenceCollected, Breaks: []string{"no-stale-write"}},
	},
	Scripts: []Script{
		{Name: "crash-before-the-late-write", Doc: "The store restarts between B's write and A's late one.",
			Steps: `A acquire
A write 10, held
expire A
B acquire
B write 20
crash store
deliver A write 10
B read`},
		{Name: "idle-before-the-late-write", Doc: "Nothing is written for longer than a lease lasts.",
			Steps: `A acquire
A write 10, held
expire A
B acquire
B write 20
expire B
expire B
deliver A write 10
C acquire
C read`},
	},
}
