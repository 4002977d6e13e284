package lf

import (
	"testing"

	"staleproof/sim/explore"
)

func BenchmarkMid(b *testing.B) {
	benchmark(b, Config{Clients: 2, Acquisitions: 2, Writes: 1, Renewals: 1})
}
func BenchmarkN3(b *testing.B) {
	benchmark(b, Config{Clients: 3, Acquisitions: 1, Writes: 1, Renewals: 1})
}

func benchmark(b *testing.B, c Config) {
	var states int64
	for b.Loop() {
		r, err := explore.Run(c.System(), explore.Options{Workers: workers()})
		if err != nil {
			b.Fatal(err)
		}
		states += r.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}

func workers() int { return 1 }
