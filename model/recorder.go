package model

import (
	"fmt"
	"strings"
	"time"

	"staleproof/model/history"
	"staleproof/sim"
)

// Sink gets events: a suite of monitors is one, and so is a function by [SinkFunc].
// Whoever tells an event uses its memory again: a sink copies what it keeps, and
// changes nothing.
type Sink interface{ Observe(e *history.Event) }

// SinkFunc is a function as a [Sink].
type SinkFunc func(e *history.Event)

// Observe calls f.
func (f SinkFunc) Observe(e *history.Event) { f(e) }

// Recorder is the [sim.Observer] that turns what a world tells into a history
// and hands it on, event by event.
type Recorder struct {
	World *sim.World
	// Sink gets every event. It must be set.
	Sink Sink
	// Full asks the world for everything, messages included; otherwise only for
	// what a judgement needs: crashes, restarts, and copies of messages.
	Full bool
	// Timing is the world's. Only in timed runs are a process's times translated:
	// under the others they are numbers of steps, or ticks already.
	Timing sim.Timing
	e      history.Event
}

// Notes says what the recorder wants to hear.
func (r *Recorder) Notes() sim.NoteSet {
	if r.Full {
		return sim.AllNotes
	}
	return sim.NoteSet(0).With(sim.NoteCrash, sim.NoteRestart)
}

// Observe hands an event of the protocol on. Times on a process's clock become
// true times here, for the checker alone.
func (r *Recorder) Observe(o sim.Observation) {
	if e, ok := o.(*history.Event); ok {
		if e.Until|e.Expires != 0 {
			r.translate(e)
		}
		r.Sink.Observe(e)
	}
}

// translate makes the times of a note true.
func (r *Recorder) translate(e *history.Event) {
	if r.Timing != sim.Timed || e.Type != history.Note {
		return
	}
	id := r.World.Lookup(e.Process)
	if e.Until != 0 {
		e.Until = r.World.TrueTime(id, time.Duration(e.Until))
	}
	if e.Expires != 0 {
		e.Expires = r.World.TrueTime(id, time.Duration(e.Expires))
	}
}

// noteVerbs are the verbs of the world's notes in a history.
var noteVerbs = map[sim.NoteKind]history.F{
	sim.NoteSend: history.Send, sim.NoteDeliver: history.Deliver, sim.NoteDrop: history.Drop,
	sim.NotePause: history.Pause, sim.NoteSuspend: history.Pause, sim.NoteStall: history.Pause,
	sim.NoteResume: history.Resume, sim.NoteCrash: history.Crash, sim.NoteRestart: history.Restart,
	sim.NotePartition: history.Partition, sim.NoteHeal: history.Heal,
	sim.NoteDrift: history.Clock, sim.NoteJump: history.Clock,
	sim.NoteQuiet: history.Quiet, sim.NotePanic: history.Crash,
}

// Note hands a note of the world on.
func (r *Recorder) Note(n sim.Note) {
	r.e = history.Event{Index: n.Index, Time: n.Time, Type: history.Note, F: noteVerbs[n.Kind],
		Message: n.Message, Text: r.text(n)}
	e := &r.e
	if n.Kind != sim.NoteQuiet {
		e.Process = r.World.Name(n.Proc)
	} else {
		e.Process = "world"
	}
	switch n.Kind {
	case sim.NoteSend, sim.NoteDrop, sim.NotePartition, sim.NoteHeal:
		e.To = r.World.Name(n.Peer)
	case sim.NoteDeliver:
		e.To = e.Process
	}
	if n.Copy {
		e.Copy = 1
	}
	if req, ok := n.Body.(Request); ok {
		e.Op, e.Resource = req.Op, req.Resource
		if !req.Unfenced { // what is on the wire
			e.Token = req.Token
		}
	}
	r.Sink.Observe(e)
}

// text says what the event's other fields do not.
func (r *Recorder) text(n sim.Note) string {
	if !r.Full {
		return ""
	}
	at := ""
	if n.Label != "" {
		at = " at " + n.Label
	}
	lasts := sim.Nanoseconds(n.For)
	switch n.Kind {
	case sim.NoteSend, sim.NoteDeliver:
		return fmt.Sprint(n.Body)
	case sim.NoteDrop:
		switch {
		case n.For == 1:
			return fmt.Sprint(n.Body) + ", the link is cut"
		case n.Label == "down":
			return fmt.Sprint(n.Body) + ", the receiver is down"
		}
		return fmt.Sprint(n.Body)
	case sim.NotePause:
		if n.For == 0 {
			return strings.TrimPrefix(at, " ")
		}
		return "for " + lasts + at
	case sim.NoteSuspend:
		return "for " + lasts + at + ", its clock too"
	case sim.NoteStall:
		return "one task for " + lasts + at
	case sim.NoteCrash:
		return "restarts after " + lasts + at
	case sim.NotePartition:
		if n.Both {
			return "both ways for " + lasts
		}
		return "one way for " + lasts
	case sim.NoteDrift:
		return fmt.Sprintf("drifts by %d ppm", n.For)
	case sim.NoteJump:
		return "jumps by " + lasts
	case sim.NotePanic:
		return "panic: " + n.Label
	}
	return ""
}
