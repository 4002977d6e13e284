package scenarios

import (
	"runtime/debug"
	"testing"

	"staleproof/model"
	"staleproof/model/history"
)

// flagship is the plan of the benchmarks: textbook at its default size, which is
// 3 clients and about 100 events, with every fault on at medium weight.
func flagship(seed uint64) Plan {
	return Plan{Params: textbook.Params, Seed: seed,
		Rates: swarmRates(textbook.Faults.Rates, 1<<len(swarmSites)-1, 4)}
}

func benchmarkFlagship(b *testing.B, properties []string, sink func(*history.Event)) {
	r, err := NewRunner(&textbook, Options{Properties: properties, NoDigest: true}) // as a search does
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	if sink != nil {
		r.observe = model.SinkFunc(sink)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
	events := int64(0)
	seed := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		p := flagship(seed)
		events += r.Run(&p).Result.Events
		seed++
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(events)/float64(b.N), "events/schedule")
	b.ReportMetric(float64(b.N)/seconds, "schedules/s")
	b.ReportMetric(seconds*1e9/float64(events), "ns/event")
}

// BenchmarkFlagship is the flagship with all of its monitors on.
func BenchmarkFlagship(b *testing.B) { benchmarkFlagship(b, nil, nil) }

// BenchmarkSimulationOnly is the same without any monitor: the difference is what
// judging costs.
func BenchmarkSimulationOnly(b *testing.B) {
	benchmarkFlagship(b, []string{}, func(*history.Event) {})
}

// BenchmarkPlan draws a plan from its seed, without rapid.
func BenchmarkPlan(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		PlanAt(&textbook, seed)
		seed++
	}
}

// BenchmarkCalm is the flagship without faults; BenchmarkEmpty has no work at
// all: what a run costs before its first event.
func BenchmarkCalm(b *testing.B) { benchmarkParams(b, textbook.Params) }
func BenchmarkEmpty(b *testing.B) {
	p := textbook.Params
	p.Acquisitions = 0
	benchmarkParams(b, p)
}

func benchmarkParams(b *testing.B, p Params) {
	r, err := NewRunner(&textbook, Options{NoDigest: true})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does
	events := int64(0)
	plan := Plan{Params: p}
	b.ReportAllocs()
	for b.Loop() {
		events += r.Run(&plan).Result.Events
		plan.Seed++
	}
	b.ReportMetric(float64(events)/float64(b.N), "events/schedule")
}
