package sim

import (
	"iter"
	"testing"
	"time"
)

// BenchmarkSwitch is the yardstick: a coroutine resumed and back, and one way.
func BenchmarkSwitch(b *testing.B) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	})
	defer stop()
	for b.Loop() {
		next()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/oneway")
}

type ball struct{ n, m int64 }

func (x ball) Fold(h uint64) uint64 { return mix(mix(h, uint64(x.n)), uint64(x.m)) }

// pinger sends a ball to and fro.
type pinger struct {
	peer  string
	first bool
	n     int64
	obs   *mark
}

type mark struct {
	index, time, n int64
}

func (m *mark) Stamp(index, time int64, process string) { m.index, m.time = index, time }
func (m *mark) Fold(h uint64) uint64                    { return mix(mix(h, uint64(m.time)), uint64(m.n)) }

func (x *pinger) Run(p *Proc) {
	peer := p.Peer(x.peer)
	if x.first {
		p.Send(peer, ball{n: 1})
	}
	for {
		m, ok := p.Wait(time.Minute)
		if !ok {
			return
		}
		b := m.Body.(ball)
		if b.n >= x.n {
			return
		}
		p.Yield("got it")
		x.obs.n = b.n
		p.Observe(x.obs)
		p.Send(peer, ball{n: b.n + 1})
	}
}

var benchConfig = Config{
	Latency: time.Millisecond,
	Delays:  []time.Duration{time.Millisecond, 5 * time.Millisecond},
	Holds:   []time.Duration{10 * time.Second},
	Pauses:  []time.Duration{time.Second, 20 * time.Second},
}

func pingPong(w *World, obs *mark, n int64) Result {
	w.Spawn("A", func() Runner { return &pinger{peer: "B", first: true, n: n, obs: obs} })
	w.Spawn("B", func() Runner { return &pinger{peer: "A", n: n, obs: obs} })
	return w.Run()
}

// BenchmarkEvent is one simulated event, all in: queue, switch, choices, digest,
// notes; a run has 100 of them and its processes are made anew.
func BenchmarkEvent(b *testing.B) {
	seeded := &Seeded{Seed: 1}
	seeded.Rates[SiteDelay] = 6000
	w := NewWorld(benchConfig, seeded, nil)
	defer w.Close()
	obs := &mark{}
	events := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		seeded.Seed++
		w.Reset(benchConfig, seeded, nil)
		events += pingPong(w, obs, 100).Events
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}
