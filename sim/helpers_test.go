package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// line is a process given as a function.
type line func(p *Proc)

func (f line) Run(p *Proc) { f(p) }

// server is a Handler given as a function.
type server func(p *Proc, m Message)

func (f server) Handle(p *Proc, m Message) { f(p, m) }

// booting is a Handler and a Starter given as functions.
type booting struct {
	start  func(p *Proc)
	handle func(p *Proc, m Message)
}

func (b *booting) Start(p *Proc)             { b.start(p) }
func (b *booting) Handle(p *Proc, m Message) { b.handle(p, m) }

// spawn adds a process that is a stateless function.
func spawn(w *World, name string, f func(p *Proc)) ID {
	return w.Spawn(name, func() Runner { return line(f) })
}

func serve(w *World, name string, f func(p *Proc, m Message)) ID {
	return w.Serve(name, func() Handler { return server(f) })
}

// remark is an observation in words.
type remark struct {
	text, process string
	index, time   int64
}

func (r *remark) Stamp(index, time int64, process string) {
	r.index, r.time, r.process = index, time, process
}
func (r *remark) Fold(h uint64) uint64 { return mixString(mix(h, uint64(r.time)), r.text) }

// say observes a remark.
func say(p *Proc, format string, args ...any) {
	p.Observe(&remark{text: fmt.Sprintf(format, args...)})
}

var noteNames = [noteCount]string{"send", "deliver", "drop", "pause", "suspend", "resume", "stall",
	"crash", "restart", "partition", "heal", "drift", "jump", "quiet", "panic"}

// tape records what it is told, one line each: the time in milliseconds, who, what.
type tape struct {
	kinds NoteSet
	lines []string
	last  int64
	fault string
}

func (t *tape) Notes() NoteSet { return t.kinds }

func (t *tape) Note(n Note) {
	t.place(n.Index, n.Time)
	s := fmt.Sprintf("%s %d %s", ms(n.Time), n.Proc, noteNames[n.Kind])
	switch n.Kind {
	case NoteSend, NoteDeliver, NoteDrop, NotePartition, NoteHeal:
		s += fmt.Sprintf(" %d", n.Peer)
	}
	if n.Body != nil {
		s += fmt.Sprintf(" %v", n.Body)
	}
	if n.For != 0 {
		s += fmt.Sprintf(" for %d", n.For)
	}
	if n.Both {
		s += " both"
	}
	if n.Copy {
		s += " copy"
	}
	if n.Label != "" {
		s += " at " + n.Label
	}
	t.lines = append(t.lines, s)
}

func (t *tape) Observe(o Observation) {
	r := o.(*remark)
	t.place(r.index, r.time)
	t.lines = append(t.lines, fmt.Sprintf("%s %s: %s", ms(r.time), r.process, r.text))
}

// place notes whether the indexes rise, without a gap if every kind is wanted.
func (t *tape) place(index, time int64) {
	if t.fault == "" && (index <= t.last || t.kinds == AllNotes && index != t.last+1) {
		t.fault = fmt.Sprintf("index %d after %d", index, t.last)
	}
	t.last = index
}

func (t *tape) String() string { return strings.Join(t.lines, "\n") }

func ms(ns int64) string {
	if ns%1e6 == 0 {
		return fmt.Sprint(ns / 1e6)
	}
	return fmt.Sprintf("%d.%06d", ns/1e6, ns%1e6)
}

// remarks hears observations only.
func remarks() *tape { return &tape{} }

// everything hears every note too.
func everything() *tape { return &tape{kinds: AllNotes} }

const milli = time.Millisecond

// play runs a world of its own.
func play(t testing.TB, cfg Config, chooser Chooser, heard *tape, build func(w *World)) Result {
	t.Helper()
	w := NewWorld(cfg, chooser, heard)
	defer w.Close()
	build(w)
	r := w.Run()
	if heard.fault != "" {
		t.Errorf("places of notes and observations: %s", heard.fault)
	}
	r.Decisions = append(Schedule(nil), r.Decisions...)
	return r
}

// replaying answers from a schedule's text.
func replaying(t testing.TB, text string, names ...string) *Replay {
	t.Helper()
	s, err := ParseSchedule(text, names)
	if err != nil {
		t.Fatal(err)
	}
	return NewReplay(s)
}
