// Package sim runs blocking Go code in a world where every bit of chance is one
// call to a [Chooser].
//
//	Chooser -> World -> processes (coroutines, tasks, disks, clocks)
//	             |            |
//	             +--- notes --+--> Observer, digest
//
// A [World] is single-threaded. It holds processes, a network, and true time in
// int64 nanoseconds that no process ever sees: a process has a monotonic and a
// wall clock of its own. A process is written as blocking code against [Proc]:
// it sends, waits, sleeps and calls, and marks with [Proc.Yield] the places
// where a pause may strike. Whenever several things could happen the world asks
// its Chooser; option 0 is always the boring one, so that the empty schedule is
// the calm run, and a run is reproduced by the few choices that differ from 0.
//
// The same schedule gives the same [Result.Digest] on every machine,
// architecture and GOMAXPROCS. Process code must keep its side: no goroutines,
// channels, select, sync, time or math/rand inside a process, no ranging over a
// map where the order shows. Use [Proc.Go] or [Go] for a second line of
// execution, [Mutex] for a lock, [Proc.Sleep] or [Sleep] and [Now] for time.
//
// sim knows nothing of leases: see package model.
package sim
