package checker

import (
	"slices"

	"staleproof/model/history"
)

// Fact is something that must happen sometimes for a run to have tried the
// danger at all. A suite whose danger never occurred proves nothing.
type Fact uint8

const (
	// StaleWriteAttempted: a mutation reached the store below its accepted maximum.
	StaleWriteAttempted Fact = iota
	// StaleWriteRejected: the store refused one.
	StaleWriteRejected
	// TwoBelievers: two clients believed in leases of one scope at one time.
	TwoBelievers
	// UnknownApplied: a mutation took effect whose client never learnt of it.
	UnknownApplied
	// UnknownLost: a mutation of unknown outcome had no effect to the end.
	UnknownLost
	// TokenCrossedRestart: a lease manager granted anew after a restart.
	TokenCrossedRestart
	// FenceCrossedRestart: a store judged a token after a restart.
	FenceCrossedRestart
	// LateButUnfenced: a mutation of a superseded holder was accepted, the newer
	// token not having arrived. Allowed, and worth counting.
	LateButUnfenced
	// DuplicateArrived: a second copy of a message was delivered.
	DuplicateArrived
	// LeaseRenewed and LeaseReleased: the lease manager did so.
	LeaseRenewed
	LeaseReleased

	// FactCount is the number of facts.
	FactCount
)

var factNames = [FactCount]string{
	"stale-write-attempted", "stale-write-rejected", "two-believers", "unknown-applied", "unknown-lost",
	"token-crossed-restart", "fence-crossed-restart", "late-but-unfenced", "duplicate-arrived", "renewed", "released",
}

// String returns the fact's key in reports.
func (f Fact) String() string {
	if f < FactCount {
		return factNames[f]
	}
	return "unknown fact"
}

// LookupFact returns the fact of that name.
func LookupFact(name string) (Fact, bool) {
	i := slices.Index(factNames[:], name)
	return Fact(max(i, 0)), i >= 0
}

// Counts says how often each fact occurred.
type Counts [FactCount]int64

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	for i := range c {
		c[i] += o[i]
	}
}

// facts observes what happened sometimes.
type facts struct {
	view View
	seen Counts
}

// factKinds marks the events that facts observes.
var factKinds = kinds(notes(history.Renewed, history.Released))

func kinds(list []interest) (set [256]bool) {
	for _, w := range list {
		set[kind(w.t, w.f)] = true
	}
	return set
}

func (f *facts) observe(in *Input) {
	switch in.F {
	case history.Renewed:
		f.seen[LeaseRenewed]++
	case history.Released:
		f.seen[LeaseReleased]++
	}
}

func (f *facts) counts() Counts { return f.seen }

func (f *facts) clone() facts { return *f }

func (f *facts) reset() { f.seen = Counts{} }
