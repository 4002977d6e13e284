package sim

import "staleproof/sim/watchdog"

// Heart is the world's beat for package watchdog: the process that runs, and the
// event. It may be read from another goroutine while the world runs.
func (w *World) Heart() *watchdog.Beat { return &w.beat }
