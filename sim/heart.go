package sim

import "staleproof/sim/watchdog"

// Heart is the world's beat for package watchdog: the process that runs, and the
// event. It may be read from another goroutine while the world runs. Call Heart
// before the run: without it the world does not beat.
func (w *World) Heart() *watchdog.Beat {
	if !w.watched {
		w.watched, w.wary = true, 64
	}
	return &w.beat
}

// trust counts a run in which no stray was found.
func (w *World) trust() {
	if w.wary == 0 {
		return
	}
	if w.wary--; w.wary == 0 {
		w.freeTasks = append(w.freeTasks, w.resting...)
		w.resting = nil
	}
}

// pulse says that n runs now, at the price of a memory barrier.
func (w *World) pulse(n *process) {
	if w.watched {
		w.beat.Set(int32(n.id), w.events)
	}
}
