package fuzz

import (
	"testing"

	"staleproof/scenarios"
)

func mustLookup(tb testing.TB, name string) *scenarios.Scenario {
	sc, err := scenarios.Lookup(name)
	if err != nil {
		tb.Fatal(err)
	}
	return sc
}

// BenchmarkPlan draws a plan from its seed with rapid; compare with
// BenchmarkFlagship of package scenarios.
func BenchmarkPlan(b *testing.B) {
	at := At(mustLookup(b, "textbook"))
	seed := uint64(0)
	for b.Loop() {
		at(seed)
		seed++
	}
}
