package scenarios

import (
	"staleproof/checker"
	"staleproof/model"
	"staleproof/sim"
)

// checkApart is a fence that is looked at in one step and passed in another.
var checkApart = Scenario{
	Name:     "check-apart",
	Revision: 2,
	Doc: "The store finds A's token good and stalls; B writes with a greater one; then the store " +
		"goes on and applies A's write. Check and write have to be one step.",
	Params:     textbook.Params,
	Faults:     textbookFaults.withRates(map[sim.Site]uint16{sim.SiteStall: 6000}),
	Build:      buildTextbook,
	Properties: common,
	Sometimes:  []checker.Fact{checker.StaleWriteAttempted, checker.StaleWriteRejected},
	Defects: []Exposure{
		{Defect: model.StoreChecksApart, Breaks: []string{"no-stale-write"}},
		{Defect: model.StoreCachesCheck, Breaks: []string{"no-stale-write"}},
	},
	Scripts: []Script{
		{Name: "stall-between", Doc: "The store stalls with A's write in its hands.",
			Steps: `A acquire
A write 10, stalled in store at between check and write
expire A
B acquire
B write 20
go on store
B read`},
		{Name: "valid-once", Doc: "A wrote once, and was found valid; its second write is late.",
			Steps: `A acquire
A write 10
A write 11, held
expire A
B acquire
B write 20
deliver A write 11
B read`},
	},
}
