// Package watchdog notices a simulated process that blocks outside the
// simulator: on a channel, a real lock, a network call. Inside such a process
// nothing can help, so the run is left behind and its process reported by name,
// with its stack.
//
// Apart from sim/realtime this is the only place that reads the real clock. It
// decides nothing inside a world.
package watchdog

import (
	"bytes"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Beat is what a world tells the watchdog: which process it runs and how many
// events it has seen. The zero Beat is ready for use.
type Beat struct{ state atomic.Uint64 }

// Set says that process proc runs at the given event.
func (b *Beat) Set(proc int32, events int64) {
	b.state.Store(uint64(events)<<16 | uint64(uint16(proc)))
}

// Read returns what was last set: the process, and a number that changes with
// every event.
func (b *Beat) Read() (proc int, beat uint64) {
	s := b.state.Load()
	return int(uint16(s)), s
}

// Blocked is the error of a run that was left behind.
type Blocked struct {
	Process string
	Stack   string
}

func (b *Blocked) Error() string {
	return fmt.Sprintf("process %s blocks outside the simulator: goroutines, channels, locks and real time are not supported inside a simulated process; use sim.Go, sim.Mutex and sim.Sleep instead\n%s", b.Process, b.Stack)
}

// Run calls run, which drives the world whose beat it is given, and returns its
// error; if the beat stands still for limit of real time it returns a *[Blocked]
// and leaves run behind. name gives the name of a process.
func Run(beat *Beat, name func(proc int) string, limit time.Duration, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	step := max(limit/4, time.Millisecond)
	tick := time.NewTicker(step)
	defer tick.Stop()
	_, last := beat.Read()
	for quiet := time.Duration(0); ; {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			proc, now := beat.Read()
			if now != last {
				last, quiet = now, 0
				continue
			}
			if quiet += step; quiet >= limit {
				return &Blocked{Process: name(proc), Stack: blockedStack()}
			}
		}
	}
}

// blockedStack returns the stacks of the goroutines that run a task and do not
// wait as coroutines do: first those that block, then those that run, one of
// which may be in an endless loop. Tasks of other worlds may be among them.
func blockedStack() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var blocked, running bytes.Buffer
	for _, g := range bytes.Split(buf, []byte("\n\n")) {
		head, _, _ := bytes.Cut(g, []byte("\n"))
		if !bytes.Contains(g, []byte("sim.(*Proc).main")) || bytes.Contains(head, []byte("[coroutine")) {
			continue
		}
		out := &blocked
		if bytes.Contains(head, []byte("[run")) { // running, runnable
			out = &running
		}
		out.Write(g)
		out.WriteByte('\n')
	}
	return blocked.String() + running.String()
}
