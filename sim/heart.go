package sim

import "staleproof/sim/watchdog"

// Heart is the world's beat for package watchdog: the process that runs, and the
// event. It may be read from another goroutine while the world runs. Call Heart
// before the run: without it the world does not beat.
func (w *World) Heart() *watchdog.Beat {
	w.watched = true
	return &w.beat
}

// pulse says that n runs now, at the price of a memory barrier.
func (w *World) pulse(n *process) {
	if w.watched {
		w.beat.Set(int32(n.id), w.events)
	}
}
