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
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Beat is what a world tells the watchdog: which process it runs and how many
// events it has seen. The zero Beat is ready for use.
type Beat struct {
	state atomic.Uint64
	seed  atomic.Uint64
	stray atomic.Pointer[Stray]
	alarm atomic.Pointer[chan struct{}] // of the watchdog that watches; nil: none does
	own   sync.Map                      // the numbers of the goroutines on which the world runs
}

// Join says that the world runs on this goroutine too.
func (b *Beat) Join() {
	var buf [64]byte
	b.own.Store(numberOf(buf[:runtime.Stack(buf[:], false)]), true)
}

// numberOf returns the number of a goroutine, with which its stack begins.
func numberOf(stack []byte) string {
	number, _, _ := bytes.Cut(bytes.TrimPrefix(stack, []byte("goroutine ")), []byte(" "))
	return string(number)
}

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

// Begin says that the run of a seed begins, for [Beat.Seed].
func (b *Beat) Begin(seed uint64) { b.seed.Store(seed) }

// Seed returns the seed of the last run that was begun, 0 if none was.
func (b *Beat) Seed() uint64 { return b.seed.Load() }

// Accuse reports a stray; only the first is kept. It returns false if nobody
// watches, so that nobody would hear of it.
func (b *Beat) Accuse(s *Stray) bool {
	alarm := b.alarm.Load()
	if !b.stray.CompareAndSwap(nil, s) {
		return true // and that has been heard of
	}
	if alarm == nil {
		b.stray.Store(nil)
		return false
	}
	close(*alarm)
	return true
}

// Accused returns the stray that was reported, or nil: then the run is sound.
func (b *Beat) Accused() *Stray { return b.stray.Load() }

// Stray is the error of a run in which a goroutine that is none of the
// simulator's used the Proc, or the context, of a process. What the two did at
// once is not determined, so the run is left behind.
type Stray struct {
	Process string
	Task    string
	Unsure  bool   // it may also be of a task that ended before
	Stack   string // of the goroutine
}

func (s *Stray) Error() string {
	who := fmt.Sprintf("process %s (task %s)", s.Process, s.Task)
	if s.Unsure {
		who += ", or one that ended before it"
	}
	return fmt.Sprintf("%s: its Proc or its context was used by another goroutine, of which the simulator knows nothing: start tasks with p.Go or sim.Go(ctx, ...), not with go, and use neither after the run\n%s", who, s.Stack)
}

// Exited is the error of a run whose goroutine ended while the code of a process
// was set up.
type Exited struct{ Process string }

func (e *Exited) Error() string {
	return fmt.Sprintf("process %s ended the goroutine that runs the world, while it was made (runtime.Goexit, as t.FailNow, t.Fatal and t.Skip do): return or panic instead", e.Process)
}

// Blocked is the error of a run that was left behind.
type Blocked struct {
	Process string
	Stack   string
	Loops   bool // nothing of it blocks: it runs on and on
}

func (b *Blocked) Error() string {
	if b.Loops {
		return fmt.Sprintf("process %s runs on without a call of the simulator, as a loop without end does: let it sleep or wait, or return\n%s", b.Process, b.Stack)
	}
	return fmt.Sprintf("process %s blocks outside the simulator: goroutines, channels, locks and real time are not supported inside a simulated process; use sim.Go, sim.Mutex and sim.Sleep instead\n%s", b.Process, b.Stack)
}

// Run calls run, which drives the world whose beat it is given, and returns its
// error; if the beat stands still for limit of real time, in the code of a process, it
// returns a *[Blocked], if a stray is reported a *[Stray], and leaves run behind.
// name gives the name of a process.
func Run(beat *Beat, name func(proc int) string, limit time.Duration, run func() error) error {
	alarm := make(chan struct{})
	beat.alarm.Store(&alarm)
	defer beat.alarm.Store(nil)
	done := make(chan error, 1)
	go func() {
		var err error = &Exited{}
		defer func() { done <- err }()
		beat.Join()
		err = run()
	}()
	step := max(limit/4, time.Millisecond)
	tick := time.NewTicker(step)
	defer tick.Stop()
	_, last := beat.Read()
	for quiet := time.Duration(0); ; {
		select {
		case <-alarm:
			return beat.Accused()
		case err := <-done:
			if s := beat.Accused(); s != nil {
				return s
			}
			if exited, ok := errors.AsType[*Exited](err); ok && exited.Process == "" {
				proc, _ := beat.Read()
				exited.Process = name(proc)
			}
			return err
		case <-tick.C:
			proc, now := beat.Read()
			if now != last {
				last, quiet = now, 0
				continue
			}
			if quiet += step; quiet < limit {
				continue
			}
			if stack, loops := beat.blocked(); stack != "" {
				return &Blocked{Process: name(proc), Stack: stack, Loops: loops}
			}
			quiet = 0 // no process has the time: the code that judges the run takes long
		}
	}
}

// blocked returns the stacks of those goroutines of the world that are in the code of
// a process: first those that block, then those that run, one of which may be in an
// endless loop: it is if none blocks.
func (b *Beat) blocked() (stack string, loops bool) {
	var blocked, running bytes.Buffer
	for _, g := range bytes.Split(stacks(), []byte("\n\n")) {
		head, _, _ := bytes.Cut(g, []byte("\n"))
		if _, own := b.own.Load(numberOf(head)); !own || bytes.Contains(head, []byte("[coroutine")) || !inProcess(g) {
			continue
		}
		out := &blocked
		if bytes.Contains(head, []byte("[run")) { // running, runnable
			out = &running
		}
		out.Write(g)
		out.WriteByte('\n')
	}
	return blocked.String() + running.String(), blocked.Len() == 0 && running.Len() > 0
}

// stacks returns those of all goroutines.
func stacks() []byte {
	for size := 1 << 20; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 1<<26 {
			return buf[:n]
		}
	}
}

// outermost are the functions by which the simulator calls the code of a process, and
// outward those by which it calls what watches the run, or chooses: an observer, which
// may judge it, or a chooser.
var (
	outermost = [][]byte{[]byte("staleproof/sim.(*Proc).main("), []byte("staleproof/sim.(*Proc).serve("), []byte("staleproof/sim.(*process).start(")}
	outward   = [][]byte{[]byte("staleproof/sim.(*Proc).Observe("), []byte("staleproof/sim.(*World).")}
)

// inProcess reports whether a goroutine is in the code of a process, and not in what
// the simulator called from there.
func inProcess(stack []byte) bool {
	for line := range bytes.Lines(stack) {
		begins := func(prefix []byte) bool { return bytes.HasPrefix(line, prefix) }
		switch {
		case slices.ContainsFunc(outermost, begins):
			return true
		case slices.ContainsFunc(outward, begins):
			return false
		}
	}
	return false
}
