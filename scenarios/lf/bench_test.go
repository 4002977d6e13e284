package lf

import (
	"iter"
	"testing"
	"time"

	"staleproof/sim/explore"
)

// The time that a search of all states with two workers may take, where a
// coroutine switch costs 60 ns: ahead of Spin's compiled verifier.
func BenchmarkMid(b *testing.B) { benchmark(b, mid, 220*time.Millisecond) }
func BenchmarkN3(b *testing.B)  { benchmark(b, n3, 900*time.Millisecond) }

// benchmark reports the time of a search as a share of its bound, which is
// scaled by the cost of a switch measured in the same run.
func benchmark(b *testing.B, c Config, bound time.Duration) {
	var states int64
	var shares float64
	for b.Loop() {
		start := time.Now()
		r, err := explore.Run(c.System(), explore.Options{Workers: 2})
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(start)
		shares += float64(took) / float64(bound) * 60 / switchCost()
		states += r.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
	b.ReportMetric(shares/float64(b.N), "of-bound")
}

// switchCost measures one way of a coroutine's round trip, in nanoseconds.
func switchCost() float64 {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for yield(0) {
		}
	})
	defer stop()
	const n = 200_000
	start := time.Now()
	for range n {
		next()
	}
	return float64(time.Since(start).Nanoseconds()) / n / 2
}
