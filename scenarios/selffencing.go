package scenarios

import (
	"staleproof/checker"
	"staleproof/model"
)

// selfFencing is a fence that stops the one whom it should let through.
var selfFencing = Scenario{
	Name:     "self-fencing",
	Revision: 2,
	Doc: "A renewal, a lock taken inside the lock, or a rule that refuses equal tokens fences the " +
		"rightful holder. A token belongs to an ownership: it changes with the owner and not before.",
	Params:     textbook.Params.with(func(p *Params) { p.Reenter = 1 }),
	Faults:     textbookFaults,
	Build:      buildTextbook,
	Properties: append([]string{"scope-isolation"}, common...),
	Sometimes:  []checker.Fact{checker.LeaseRenewed, checker.StaleWriteRejected},
	Defects: []Exposure{
		{Defect: model.RenewalRaisesToken, Breaks: []string{"renewal-keeps-token"}},
		{Defect: model.ReentryRaisesToken, Breaks: []string{"renewal-keeps-token"}},
		{Defect: model.StoreRefusesEqual, Breaks: []string{"no-false-fencing", "scope-isolation"}},
	},
	Scripts: []Script{
		{Name: "renewal", Doc: "A renews between two writes.",
			Steps: `A acquire
A write 10
A renew
A write 11
A read`},
		{Name: "lock-inside-a-lock", Doc: "A acquires again inside its work; its outer write follows.",
			Steps: `A acquire
A write 10
A reenter 11
A write 12
A read`},
		{Name: "second-write", Doc: "A writes twice under one token.",
			Steps: `A acquire
A write 10
A write 11
B acquire`},
	},
}
