package sim

import (
	"slices"
	"time"
)

// Script drives a world by hand, for directed scenarios that read like the
// sequences people write down: it holds single messages, pauses processes at a
// yield and moves time, and otherwise lets the calm run go on. Between its calls
// every process is blocked.
type Script struct{ w *World }

// script is the state that a Script adds to a world.
type script struct {
	w       *World
	holds   []hold
	held    []Message
	pauses  []pauseAt
	stalled []*Proc
	limit   int64 // let timers ring up to this time
	advance bool  // run to limit, not only until no message is on its way
	cell    *Cell // a process alone instead, in the hands of a Cell
}

type hold struct {
	from, to ID
	match    func(body any) bool
}

// pauseAt is a yield at which a process is to freeze, or only the task that comes
// to it.
type pauseAt struct {
	proc  ID
	label string
	task  bool
}

// Script puts w, which has not run yet, in the hands of a script.
func (w *World) Script() *Script {
	w.script, w.unusual = &script{w: w}, true
	return &Script{w: w}
}

// still reports whether the script's current step has come to rest.
func (s *script) still() bool {
	w := s.w
	if len(w.runnable) > 0 {
		return false
	}
	if s.cell != nil {
		return true
	}
	first := w.first()
	if s.advance {
		return first == nil || first.at > s.limit
	}
	return w.flying == 0
}

// catches reports whether m is to be held back, once for each hold.
func (s *script) catches(m Message) bool {
	if s.cell != nil {
		s.cell.send(m)
		return true
	}
	for i, h := range s.holds {
		if h.from == m.From && h.to == m.To && h.match(m.Body) {
			s.holds = append(s.holds[:i], s.holds[i+1:]...)
			return true
		}
	}
	return false
}

// cell returns the Cell that w is in the hands of, or nil.
func (w *World) cell() *Cell {
	if w.script == nil {
		return nil
	}
	return w.script.cell
}

// scripted pauses p's process if the script says so.
func (p *Proc) scripted(label string) {
	s := p.w.script
	for i, at := range s.pauses {
		if at.proc != p.n.id || at.label != label {
			continue
		}
		s.pauses = append(s.pauses[:i], s.pauses[i+1:]...)
		n := p.n
		if at.task {
			p.w.note(Note{Kind: NoteStall, Proc: n.id, Label: label})
			s.stalled = append(s.stalled, p)
			p.waitFor(waitTime, 0)
			return
		}
		n.frozen = true
		n.thaw = 1<<63 - 1
		p.w.note(Note{Kind: NotePause, Proc: n.id, Label: label})
		n.ready = slices.Insert(n.ready, 0, p)
		p.block()
		return
	}
}

// Tell hands body to a process at once, as if from itself, and lets the world
// come to rest. A process that is down does not hear it, nor does any after the
// end of the run.
func (s *Script) Tell(to ID, body any) {
	if n := s.w.processes[to]; n.up && !s.w.over {
		s.w.checkBody(body)
		n.accept(&Message{From: to, To: to, Timer: true, Body: body})
	}
	s.Settle()
}

// Settle lets the world go on until no message is on its way and every process
// waits. Timers ring only if they come before a message that is on its way.
func (s *Script) Settle() {
	s.w.script.advance = false
	s.w.driveBase()
}

// Hold catches the next message from one process to another whose body matches.
func (s *Script) Hold(from, to ID, match func(body any) bool) {
	s.w.script.holds = append(s.w.script.holds, hold{from: from, to: to, match: match})
}

// Holding reports whether a message that matches is held back.
func (s *Script) Holding(from ID, match func(body any) bool) bool {
	for _, m := range s.w.script.held {
		if m.From == from && match(m.Body) {
			return true
		}
	}
	return false
}

// Deliver lets the first held message from a process whose body matches arrive,
// and reports whether there was one.
func (s *Script) Deliver(from ID, match func(body any) bool) bool {
	held := s.w.script.held
	for i, m := range held {
		if m.From != from || !match(m.Body) {
			continue
		}
		s.w.script.held = append(held[:i], held[i+1:]...)
		s.w.fly(&m, int64(s.w.cfg.Latency))
		s.Settle()
		return true
	}
	return false
}

// PauseAt freezes a process when it next comes to the yield with this label.
func (s *Script) PauseAt(proc ID, label string) {
	s.w.script.pauses = append(s.w.script.pauses, pauseAt{proc: proc, label: label})
}

// StallAt stalls the task that next comes to the yield with this label; the other
// tasks of its process go on.
func (s *Script) StallAt(proc ID, label string) {
	s.w.script.pauses = append(s.w.script.pauses, pauseAt{proc: proc, label: label, task: true})
}

// Stalled reports whether a task of the process stalls.
func (s *Script) Stalled(proc ID) bool {
	return slices.ContainsFunc(s.w.script.stalled, func(p *Proc) bool { return p.n != nil && p.n.id == proc })
}

// GoOn lets the stalled tasks of a process go on.
func (s *Script) GoOn(proc ID) {
	x := s.w.script
	for _, p := range x.stalled {
		if p.n != nil && p.n.id == proc && !s.w.over {
			p.wake(true)
		}
	}
	x.stalled = slices.DeleteFunc(x.stalled, func(p *Proc) bool { return p.n == nil || p.n.id == proc })
	s.Settle()
}

// Paused reports whether a process is frozen.
func (s *Script) Paused(proc ID) bool { return s.w.processes[proc].frozen }

// Resume lets a frozen process go on.
func (s *Script) Resume(proc ID) {
	if n := s.w.processes[proc]; n.frozen && !s.w.over {
		n.resume()
	}
	s.Settle()
}

// Crash crashes a process; it restarts after the given time. A process that is
// down already restarts when it was going to.
func (s *Script) Crash(proc ID, restart time.Duration) {
	if n := s.w.processes[proc]; n.up && !s.w.over {
		n.crash(int64(restart), nil, "")
	}
	s.Settle()
}

// Advance moves true time by d and rings the timers on the way.
func (s *Script) Advance(d time.Duration) {
	x := s.w.script
	x.advance, x.limit = true, s.w.now+int64(d)
	s.w.driveBase()
	x.advance = false
	if !s.w.over && s.w.now < x.limit {
		s.w.now = x.limit
	}
}

// End ends the run.
func (s *Script) End() Result {
	s.w.finish(EndDone, nil)
	return s.w.Run()
}
