package scenarios

import (
	"runtime/debug"
	"testing"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// BenchmarkFlagship is a schedule of the flagship as a search runs it: textbook as it
// stands, 3 clients and 100 events, with all of its monitors on.
func BenchmarkFlagship(b *testing.B) { benchmark(b, textbook.Params, sim.Rates{}, nil) }

// BenchmarkFlagshipUnjudged is the same without any monitor: the difference is what
// judging costs.
func BenchmarkFlagshipUnjudged(b *testing.B) {
	benchmark(b, textbook.Params, sim.Rates{}, []string{})
}

// BenchmarkFaults is textbook with every fault on at medium weight.
func BenchmarkFaults(b *testing.B) { benchmark(b, textbook.Params, everyFault(), nil) }

// BenchmarkFaultsUnjudged is the same without any monitor.
func BenchmarkFaultsUnjudged(b *testing.B) {
	benchmark(b, textbook.Params, everyFault(), []string{})
}

// BenchmarkEmpty is textbook without any work: what a run costs before its first
// event.
func BenchmarkEmpty(b *testing.B) {
	p := textbook.Params
	p.Acquisitions = 0
	benchmark(b, p, sim.Rates{}, nil)
}

// BenchmarkPlan draws a plan from its seed, without rapid.
func BenchmarkPlan(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		PlanAt(&textbook, seed)
		seed++
	}
}

func everyFault() sim.Rates {
	return swarmRates(textbook.Faults.Rates, 1<<len(swarmSites)-1, 4)
}

// benchmark runs schedules of textbook. Without properties, as []string{}, nobody
// listens.
func benchmark(b *testing.B, p Params, rates sim.Rates, properties []string) {
	r, err := NewRunner(&textbook, Options{Properties: properties, NoDigest: true})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	if properties != nil {
		r.observe = model.SinkFunc(func(*history.Event) {})
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
	plan := Plan{Params: p, Rates: rates}
	events := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		events += r.Run(&plan).Result.Events
		plan.Seed++
	}
	b.ReportMetric(float64(events)/float64(b.N), "events/schedule")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
}
