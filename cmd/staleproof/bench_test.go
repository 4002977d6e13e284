package main

import (
	"runtime/debug"
	"testing"

	"staleproof/scenarios"
	"staleproof/scenarios/search"
)

// BenchmarkFlagship is a schedule of the flagship as a search runs it: textbook as
// it stands, 3 clients and 100 events, with all of its monitors on. A test of this
// package is built as the command is, with default.pgo.
func BenchmarkFlagship(b *testing.B) {
	r, err := scenarios.NewRunner(textbook(b), scenarios.Options{NoDigest: true})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	p := scenarios.Plan{Params: r.Scenario().Params}
	events := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		events += r.Run(&p).Result.Events
		p.Seed++
	}
	b.ReportMetric(float64(events)/float64(b.N), "events/schedule")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
}

// BenchmarkSweep is what "staleproof run textbook --defect none --seeds N" does, on
// one core: plans are drawn, most with faults, and one schedule in twenty is run
// twice.
func BenchmarkSweep(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	r, err := (&search.Sweep{Scenario: textbook(b), To: uint64(b.N), Workers: 1}).Run()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(r.Events)/float64(r.Schedules), "events/schedule")
	b.ReportMetric(float64(r.Schedules)/b.Elapsed().Seconds(), "schedules/s")
}

func textbook(b *testing.B) *scenarios.Scenario {
	sc, err := scenarios.Lookup("textbook")
	if err != nil {
		b.Fatal(err)
	}
	return sc
}
