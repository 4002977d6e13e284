package sim

import (
	"slices"
	"time"
)

// Timing is the semantics of time in a run; it is part of every replay token.
type Timing uint8

const (
	// Timed runs events in the order of time, latencies chosen; time is in
	// nanoseconds. It is the zero Timing.
	Timed Timing = iota
	// Untimed lets any message in flight arrive next, or any armed timer ring.
	// Time is the number of the event. A process's clock stands still but where a
	// timer of its own rings: then it reads at least the deadline.
	Untimed
	// Bounded lets any message arrive next, any timer ring whose deadline has
	// come, any step be taken inside its window, or time pass by one tick. A
	// process's clock counts ticks; two clocks are at most Config.Epsilon apart,
	// and true time is the most advanced of them.
	Bounded
)

var timingNames = [...]string{"timed", "untimed", "bounded"}

func (t Timing) String() string {
	if int(t) < len(timingNames) {
		return timingNames[t]
	}
	return "timing(?)"
}

// ParseTiming reads what [Timing.String] writes.
func ParseTiming(text string) (Timing, bool) {
	i := slices.Index(timingNames[:], text)
	return Timing(max(i, 0)), i >= 0
}

// never is a time that does not come.
const never = int64(1<<63 - 1)

// EventKind says what an [Event] is.
type EventKind uint8

const (
	EventDeliver EventKind = iota // a message arrives
	EventRing                     // the wait of a task times out
	EventStep                     // a task takes a step of its Await
	EventAfter                    // what the process sent itself with Proc.After comes
	EventResume                   // a frozen process goes on
	EventRestart                  // a crashed process starts again
	EventHeal                     // a cut link works again
	EventTick                     // time passes
	EventStart                    // a process starts: in a Cell only
)

var eventNames = [...]string{"deliver", "ring", "step", "after", "resume", "restart", "heal", "tick", "start"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "event(?)"
}

// Event is what can happen next in an untimed or bounded world. It is
// comparable, and names no more than tells it from the others at the same place.
type Event struct {
	Kind EventKind
	Proc ID    // whose it is; the receiver of a message; -1 for a tick of all clocks
	Task int16 // the waiting task: its place among the tasks of the process
	Step int16 // the step's place in its Await
	// Message arrives; for EventHeal only From and To are set.
	Message Message
	// From and Until are, on the process's clock, when it can happen under
	// Bounded. Until 0 is never.
	From, Until int64
}

// NextChooser is a [Chooser] that is shown what it chooses from, under Untimed
// and Bounded.
type NextChooser interface {
	Chooser
	// Next answers a choice of [SiteNext]; events is valid during the call.
	Next(events []Event) int
}

// happenAny lets any of the events that are possible happen next; the choice is
// SiteNext: messages first, then the others, both in the order in which they
// became known, a tick last. So no timeout strikes in the calm run while a
// message is on its way.
func (w *World) happenAny() {
	w.listEvents(nil)
	w.messagesFirst()
	w.listTicks()
	switch n := len(w.enabled); {
	case n == 0:
		w.finish(EndIdle, nil)
	case w.events >= w.maxEvents:
		w.tooManyEvents(nil)
	default:
		k := w.chooseNext(n)
		w.events++
		w.steps = 0
		if w.cfg.Timing == Untimed {
			w.now = w.events
		}
		if w.ids[k] < 0 {
			w.pass(w.enabled[k].Proc)
			return
		}
		e := w.queue[w.ids[k]]
		w.queue = slices.Delete(w.queue, w.ids[k], w.ids[k]+1)
		w.occur(e)
	}
}

func (w *World) chooseNext(n int) int {
	if c, ok := w.chooser.(NextChooser); ok {
		w.worldNexts++
		return w.took(Choice{Key: Key{Proc: -1, Site: SiteNext, Count: w.worldNexts - 1}, Options: n}, c.Next(w.enabled), "")
	}
	k := w.choose(nil, SiteNext, w.worldNexts, n, "")
	w.worldNexts++
	return k
}

// listEvents lists the events of the queue, which is in the order of scheduling
// because all its times are 0, and takes those off it that will not happen any
// more. only is the process whose events are wanted, whatever its clock reads;
// nil wants those of all that can happen now.
func (w *World) listEvents(only *process) {
	w.enabled, w.ids = w.enabled[:0], w.ids[:0]
	kept := w.queue[:0]
	for i := range w.queue {
		e := w.queue[i]
		if only != nil && e.proc != only.id { // of a Cell that was turned
			kept = append(kept, e)
			continue
		}
		if w.obsolete(&e) {
			if e.kind == atTimer {
				w.freeFlight(e.ref)
			}
			continue
		}
		kept = append(kept, e)
		ev := w.describe(&e)
		if only == nil && !w.possible(&ev) {
			continue
		}
		w.enabled = append(w.enabled, ev)
		w.ids = append(w.ids, len(kept)-1)
	}
	w.queue = kept
}

// messagesFirst moves the messages among the listed events to the front.
func (w *World) messagesFirst() {
	first := 0
	for i := range w.enabled {
		if w.enabled[i].Kind != EventDeliver {
			continue
		}
		ev, id := w.enabled[i], w.ids[i]
		copy(w.enabled[first+1:i+1], w.enabled[first:i])
		copy(w.ids[first+1:i+1], w.ids[first:i])
		w.enabled[first], w.ids[first] = ev, id
		first++
	}
}

// obsolete reports whether nobody waits for e any more.
func (w *World) obsolete(e *entry) bool {
	n := w.processes[e.proc]
	switch e.kind {
	case atWake:
		p := w.slots[e.ref]
		return p.alarm != e.seq || p.waiting == waitNothing || p.deadline == 0
	case atStep:
		p := w.slots[e.ref]
		return p.alarm != e.seq-uint64(e.step) || p.waiting != waitMail || len(p.steps) == 0
	case atTimer:
		return w.flights[e.ref].incarnation != n.incarnation
	case atResume:
		return !n.frozen
	case atRestart:
		return n.up
	}
	return false
}

func (w *World) describe(e *entry) Event {
	ev := Event{Proc: e.proc}
	switch e.kind {
	case atDelivery:
		ev.Kind, ev.Message = EventDeliver, w.flights[e.ref].msg
	case atTimer:
		ev.Kind, ev.Message, ev.From = EventAfter, w.flights[e.ref].msg, w.flights[e.ref].deadline
	case atWake:
		p := w.slots[e.ref]
		ev.Kind, ev.Task, ev.From = EventRing, w.place(p), p.deadline
	case atStep:
		p := w.slots[e.ref]
		s := p.steps[e.step]
		ev.Kind, ev.Task, ev.Step = EventStep, w.place(p), e.step
		ev.From, ev.Until = int64(s.From), int64(s.Until)
	case atResume:
		ev.Kind = EventResume
	case atRestart:
		ev.Kind = EventRestart
	case atHeal:
		ev.Kind = EventHeal
		ev.Message = Message{From: w.cuts[e.ref].from, To: w.cuts[e.ref].to}
	}
	return ev
}

// place returns where p is among the tasks of its process.
func (w *World) place(p *Proc) int16 {
	for i, q := range p.n.tasks {
		if q == p {
			return int16(i)
		}
	}
	return -1
}

// possible reports whether e is inside its window.
func (w *World) possible(e *Event) bool {
	if w.cfg.Timing == Untimed || e.Kind == EventHeal {
		return true
	}
	now := w.processes[e.Proc].clock.mono
	return e.From <= now && (e.Until == 0 || now < e.Until)
}

// listTicks lists the ticks that are possible under Bounded.
func (w *World) listTicks() {
	if w.cfg.Timing != Bounded {
		return
	}
	tick := func(proc ID) {
		w.enabled = append(w.enabled, Event{Kind: EventTick, Proc: proc})
		w.ids = append(w.ids, -1)
	}
	if w.cfg.Epsilon == 0 {
		if w.cfg.Horizon == 0 || w.now < int64(w.cfg.Horizon) {
			tick(-1)
		}
		return
	}
	slowest := never
	for _, n := range w.processes[:w.count] {
		slowest = min(slowest, n.clock.mono)
	}
	for _, n := range w.processes[:w.count] {
		if n.clock.mono-slowest < w.cfg.Epsilon && (w.cfg.Horizon == 0 || n.clock.mono < int64(w.cfg.Horizon)) {
			tick(n.id)
		}
	}
}

// pass moves the clock of a process by one tick, of all if proc is -1. True time
// is the most advanced clock.
func (w *World) pass(proc ID) {
	for _, n := range w.processes[:w.count] {
		if proc < 0 || n.id == proc {
			n.clock.mono++
			w.now = max(w.now, n.clock.mono)
		}
	}
	w.digest = mix(w.digest, uint64(uint32(proc))<<32^uint64(w.now))
}

// occur lets e happen.
func (w *World) occur(e entry) {
	n := w.processes[e.proc]
	switch e.kind {
	case atDelivery:
		w.land(n, e.ref)
	case atWake:
		p := w.slots[e.ref]
		w.late(n, p.deadline)
		w.tick(n)
		p.wake(false)
	case atStep:
		p := w.slots[e.ref]
		w.late(n, int64(p.steps[e.step].From))
		p.took = int(e.step)
		w.digest = mix(w.digest, uint64(e.step))
		w.tick(n)
		p.wake(false)
	case atTimer:
		f := &w.flights[e.ref]
		w.late(n, f.deadline)
		w.tick(n)
		n.accept(&f.msg)
		w.freeFlight(e.ref)
	case atResume:
		n.resume()
	case atRestart:
		w.note(Note{Kind: NoteRestart, Proc: n.id})
		n.start()
	case atHeal:
		w.cuts[e.ref].until = 0
		w.heal(e.ref)
	}
}

// late moves the clock of n to deadline in an untimed world, where it has no
// other way to come there.
func (w *World) late(n *process, deadline int64) {
	if w.cfg.Timing == Untimed {
		n.clock.mono = max(n.clock.mono, deadline)
	}
}

// awaitAny is Await where the step is a choice of SiteNext.
func (p *Proc) awaitAny(steps []Step) (Message, int) {
	w, n := p.w, p.n
	p.steps = append(p.steps[:0], steps...)
	p.alarm, p.took = w.seq+1, -1
	for i := range steps {
		w.schedule(entry{kind: atStep, proc: n.id, ref: p.slot, step: int16(i)})
	}
	came := p.waitFor(waitMail, 0)
	p.steps = p.steps[:0]
	k := p.took
	p.took = -1
	if !came {
		return Message{}, k
	}
	return p.got, -1
}

// durations is how many faulty options a site has whose options are durations.
func (w *World) durations(list []time.Duration) int {
	if w.cfg.Timing != Timed {
		return 1
	}
	return len(list)
}

// duration is option k of a site whose options are durations, counted from 1.
func (w *World) duration(list []time.Duration, k int) int64 {
	if w.cfg.Timing != Timed {
		return 0
	}
	return int64(list[k-1])
}

// doubled asks whether m arrives twice where latency does not matter, and then
// sends both on their way.
func (w *World) doubled(n *process, m *Message, count uint32) bool {
	if w.choose(n, SiteDuplicate, count, 2, "") == 0 {
		return false
	}
	w.fly(m, 0)
	m.Copy = true
	w.fly(m, 0)
	return true
}
