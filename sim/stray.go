package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"staleproof/sim/watchdog"
)

// outermost are the functions by which a process's code is called: whatever runs
// below one of them runs on a stack of the simulator.
var outermost = [...]string{"staleproof/sim.(*Proc).main", "staleproof/sim.(*Proc).serve", "staleproof/sim.(*process).start"}

// inside reports whether the caller runs on a stack of the simulator, and not on
// a goroutine that a process started.
func inside() bool {
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if slices.Contains(outermost[:], f.Function) {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// mustBeInside ends a goroutine that is none of the simulator's. A panic there
// could not be recovered from and would end the whole program, so it is raised
// only where no watchdog could report the mistake.
func (p *Proc) mustBeInside() {
	if inside() {
		return
	}
	if s := p.straying(); !p.w.beat.Accuse(s) {
		panic(p.lastWords(s))
	}
	runtime.Goexit()
}

// lastWords are those of a program that a stray ends.
func (p *Proc) lastWords(s *watchdog.Stray) error {
	if !p.w.watched {
		return fmt.Errorf("sim: %w", s)
	}
	return fmt.Errorf("sim: at seed %d, or later: %w", p.w.beat.Seed(), s)
}

// straying is p as it was found in the hands of another goroutine.
func (p *Proc) straying() *watchdog.Stray {
	return &watchdog.Stray{Process: p.n.name, Task: p.name, Unsure: p.reused, Stack: ownStack(string(debug.Stack()))}
}

// ownStack cuts off a stack what belongs to the simulator: the frames above the
// panic, or runtime.Goexit, or else above the call by which the process's code
// came in, and those from the process's outermost on.
func ownStack(stack string) string {
	head, rest, _ := strings.Cut(stack, "\n")
	lines := strings.SplitAfter(rest, "\n")
	from, to := 0, len(lines)
	own := false // a frame of the process's code was seen
	for i := 0; i+1 < len(lines) && to == len(lines); i += 2 {
		call := lines[i]
		switch {
		case strings.HasPrefix(call, "panic("), strings.HasPrefix(call, "runtime.Goexit("):
			if !own {
				from, own = i+2, true
			}
		case slices.ContainsFunc(outermost[:], func(f string) bool { return strings.HasPrefix(call, f+"(") }):
			to = i
		case strings.HasPrefix(call, "staleproof/sim.") && !strings.Contains(lines[i+1], "_test.go:"):
			if !own {
				from = i
			}
		default:
			own = own || from > 0
		}
	}
	return head + "\n" + strings.Join(lines[from:to], "")
}
