package scenarios

import (
	"staleproof/checker"
	"staleproof/model"
	"staleproof/sim"
)

// readBeforeRaise is the case that tests of tokens alone pass: the old holder's
// late write is accepted, rightly, because the store has not seen the new token
// yet; and the new holder has read already.
var readBeforeRaise = Scenario{
	Name:     "read-before-raise",
	Revision: 2,
	Doc: "A new holder reads and writes back what it made of it. The old holder's late write " +
		"arrives in between: no token is stale, and an update is lost. The cure raises the fence before it reads.",
	Params:     textbook.Params.with(func(p *Params) { p.Modify = 1 }),
	Faults:     textbookFaults,
	Build:      buildTextbook,
	Properties: append([]string{"no-lost-update"}, common...),
	Sometimes:  []checker.Fact{checker.StaleWriteAttempted, checker.StaleWriteRejected},
	Defects: []Exposure{
		{Defect: model.HolderSkipsRaise, Breaks: []string{"no-lost-update"}, Holds: []string{"no-stale-write"},
			Lesson: "no-stale-write holds all the while: each token was in order when it was applied. " +
				"A test that looks at tokens alone passes this."},
	},
	Scripts: []Script{
		{Name: "late-write-behind-a-read", Doc: "A's write arrives between B's read and B's write.",
			Steps: `A acquire
A write 10, held
expire A
B acquire
B read
deliver A write 10
B write 1
B read`},
	},
}

// with returns p changed.
func (p Params) with(change func(*Params)) Params {
	change(&p)
	return p
}

// spareClients spares the clients of a world crashes.
func spareClients(w *sim.World, s Setup) {
	for i := range s.Params.Clients {
		w.Spare(w.Lookup(clientName(i)), sim.SiteCrash)
	}
}

// withRates returns the faults with some rates changed.
func (f Faults) withRates(rates map[sim.Site]uint16) Faults {
	for s := range sim.Site(sim.SiteCount) {
		if r, ok := rates[s]; ok {
			f.Rates[s] = r
		}
	}
	return f
}
