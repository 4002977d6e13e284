package sim

import (
	"runtime"
	"testing"
	"time"
)

// TestMemoryIsFlat: a world that is used again and again keeps its memory and its
// coroutines: nothing grows after the first runs.
func TestMemoryIsFlat(t *testing.T) {
	runs := uint64(10_000)
	if testing.Short() || underRace {
		runs = 300
	}
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	chooser := rich(0)
	cfg := richConfig
	cfg.MaxEvents = 60
	run := func(seed uint64) {
		chooser.Seed = seed
		w.Reset(cfg, chooser, nil)
		richWorld(w)
		if seed%4 == 3 {
			s := w.Script()
			s.Settle()
			s.Advance(30 * milli)
			s.PauseAt(ID(seed%5), "called")
			s.Crash(ID(seed/5%5), milli)
			s.Advance(30 * milli)
			if seed%8 == 7 {
				return // given up by the next Reset
			}
			s.End()
		}
		w.Run()
	}
	sizes := func() map[string]int {
		return map[string]int{
			"slots": len(w.slots), "free tasks": len(w.freeTasks), "coroutines": len(w.coros), "processes": len(w.processes),
			"plain types": len(w.plain), "queue": cap(w.queue), "flights": cap(w.flights), "free flights": cap(w.freeSlot),
			"decisions": cap(w.decisions), "cuts": cap(w.cuts), "ties": cap(w.ties), "runnable": cap(w.runnable), "doomed": cap(w.doomed),
			"goroutines": runtime.NumGoroutine(),
		}
	}
	// The same seeds over and over: the first rounds bring every slice to its size.
	const round = 300
	for seed := range uint64(2 * round) {
		run(seed % round)
	}
	w.Reset(cfg, chooser, nil)
	before := sizes()
	for seed := range runs {
		run(seed % round)
	}
	w.Reset(cfg, chooser, nil)
	for name, size := range sizes() {
		if size > before[name] {
			t.Errorf("%s: %d after the first runs, %d after %d more", name, before[name], size, runs)
		}
	}
	if len(w.freeTasks) != len(w.slots) || len(w.idle) != len(w.coros) {
		t.Errorf("between runs %d of %d task records are free, and %d of %d coroutines", len(w.freeTasks), len(w.slots), len(w.idle), len(w.coros))
	}
}

// TestFlightsAreRecycled: within a long run too.
func TestFlightsAreRecycled(t *testing.T) {
	w := NewWorld(Config{Latency: milli, MaxEvents: 1 << 20}, Calm{}, nil)
	defer w.Close()
	spawn(w, "P", func(p *Proc) {
		for range 20_000 {
			p.After(milli, "alarm")
			p.Send(0, "message")
			p.Wait(0)
			p.Wait(0)
			p.Wait(milli / 2) // in vain
		}
	})
	if r := w.Run(); r.End != EndDone {
		t.Fatalf("ended with %s", r.End)
	}
	if len(w.flights) > 4 || len(w.slots) != 1 || cap(w.queue) > 16 {
		t.Errorf("%d message records, %d tasks, room for %d entries: for one task and two messages at a time", len(w.flights), len(w.slots), cap(w.queue))
	}
}

// TestTimeoutsCostNothing: waits that end in time leave nothing in the queue.
func TestTimeoutsCostNothing(t *testing.T) {
	w := NewWorld(Config{Latency: milli, MaxEvents: 1 << 20}, Calm{}, nil)
	defer w.Close()
	most := 0
	spawn(w, "P", func(p *Proc) {
		for i := range 5000 {
			p.Call(1, i, time.Hour+time.Duration(i))
			most = max(most, len(w.queue))
		}
	})
	serve(w, "S", func(p *Proc, m Message) { p.Reply(m, 1) })
	if r := w.Run(); r.End != EndDone || most > 3 {
		t.Errorf("%d entries in the queue, ended with %s", most, r.End)
	}
}

// TestCloseFreesGoroutines: whatever the state in which a world is closed.
func TestCloseFreesGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for seed := range uint64(60) {
		w := NewWorld(Config{}, Calm{}, nil)
		muddle(w, seed)
		w.Close()
		w.Close() // harmless
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(milli)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}
