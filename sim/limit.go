package sim

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Limit says who ran when a run reached a limit: mostly the one that does not
// come to an end.
type Limit struct {
	Process, Task string // Task is empty if it has ended; both, if nobody is known
	// Steps says that the task went on and on without an event; otherwise it was the
	// last to run of a run that had too many of them.
	Steps bool
	Count int64
	// Where is the line of the process's own code at which it stood, and its
	// function; empty if not known.
	Where string
	Stack string // differs from one run to the next
}

func (l *Limit) String() string {
	switch {
	case l.Process == "":
		return fmt.Sprintf("%d events did not end it", l.Count)
	case l.Task == "":
		return fmt.Sprintf("%d events did not end it; the next is one of process %s", l.Count, l.Process)
	}
	who := fmt.Sprintf("process %s (task %s)", l.Process, l.Task)
	if l.Where != "" {
		who += " at " + l.Where
	}
	if l.Steps {
		return fmt.Sprintf("%s went on for %d steps without sleeping or waiting", who, l.Count)
	}
	return fmt.Sprintf("%d events did not end it; %s ran last", l.Count, who)
}

// tooManyEvents ends the run; whoever ran last drives the world, so that its stack
// is the one at hand. next is the next event, if it is known.
func (w *World) tooManyEvents(next *entry) {
	l := &Limit{Count: w.events}
	if w.live != nil && w.live.task != nil {
		l.of(w.live.task)
	} else if next != nil && next.kind <= atTimer {
		l.Process = w.processes[next.proc].name
	}
	w.limits = l
	w.finish(EndLimit, nil)
}

// tooManySteps ends the run at a task that goes on and on; self is it if it runs.
func (w *World) tooManySteps(p, self *Proc) {
	l := &Limit{Steps: true, Count: maxSteps, Process: p.n.name, Task: p.name}
	if self != nil {
		l.of(self)
	}
	w.limits = l
	w.finish(EndLimit, self)
}

// of says where p stands, on whose stack it is called.
func (l *Limit) of(p *Proc) {
	l.Process, l.Task = p.n.name, p.name
	l.Where, l.Stack = where(), ownStack(string(debug.Stack()))
}

// where returns the innermost line of the caller's stack that is a process's own
// code.
func where() string {
	if lines := ownLines(1); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

// ownLines returns at most the n innermost lines of the stack that are a process's
// own code.
func ownLines(n int) (lines []string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more && len(lines) < n; {
		var f runtime.Frame
		if f, more = frames.Next(); slices.Contains(outermost[:], f.Function) {
			break
		}
		if f.File != "" && (!strings.HasPrefix(f.Function, "staleproof/sim.") || strings.HasSuffix(f.File, "_test.go")) {
			lines = append(lines, lineText(&f))
		}
	}
	return lines
}

func lineText(f *runtime.Frame) string {
	name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
	return fmt.Sprintf("%s:%d (%s)", filepath.Base(f.File), f.Line, name)
}
