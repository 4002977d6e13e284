package explore

import (
	"fmt"
	"slices"

	"staleproof/sim"
)

// miss is a transition that is not in the tables: a local state and an event,
// with what the event would find.
type miss struct {
	local uint32
	code  uint32 // a message, or own|i for the local state's own event i
	clock int64
	calls uint32
}

// own marks the code of an event that is no message.
const own = 1 << 31

func (m miss) key() uint64 { return uint64(m.local)<<32 | uint64(m.code) }

// context is the second word of the key of a transition that depends on flags.
func context(flags uint16, clock int64, calls uint32) uint64 {
	k := uint64(1) << 63
	if flags&needsClock != 0 {
		k |= uint64(clock) << 32
	}
	if flags&needsNames != 0 {
		k |= uint64(calls)
	}
	return k
}

// monitorMiss is a monitor's step that is not in the tables.
type monitorMiss struct {
	k    int
	id   uint32
	list uint32
	time int64
}

func (m monitorMiss) keys() (uint64, uint64) {
	return uint64(m.id)<<32 | uint64(m.list), uint64(m.time)<<8 | uint64(m.k)
}

// raw is one outcome as process code gave it, before anything is numbered.
type raw struct {
	local   sim.Local
	panic   *sim.Panic
	effects []sim.Effect
	choices []sim.Answer
	answers []int
	cost    uint32
	flags   uint16
	turns   []int    // where its turns but the first begin in effects
	lines   []string // of effects, if the cell is traced
	line    string
}

// runner runs processes alone, one cell each.
type runner struct {
	e              *engine
	cells, twins   []*sim.Cell
	world          *sim.Cell // of all processes
	runs, replayed int64
	past           []*history
	numbered       bool  // messages have numbers
	fed            int64 // the last of them
}

// cell returns the cell of a process among cells.
func (r *runner) cell(cells *[]*sim.Cell, proc int) *sim.Cell {
	if *cells == nil {
		*cells = make([]*sim.Cell, r.e.procs)
	}
	c := &(*cells)[proc]
	if *c == nil {
		*c = sim.NewCell(r.e.sys.Build, r.e.sys.Config, sim.ID(proc), r.e.sites)
		(*c).Clocked = r.e.clocked[proc]
	}
	return *c
}

func (r *runner) close() {
	for _, c := range append(slices.Concat(r.cells, r.twins), r.world) {
		if c != nil {
			c.Close()
		}
	}
}

// bring takes a cell to where past leads.
func (r *runner) bring(c *sim.Cell, past *history) {
	r.past = r.past[:0]
	for h := past; h != nil; {
		r.past = append(r.past, h)
		if h.from < 0 {
			break
		}
		h = &r.e.info[h.from].past
	}
	c.Reset()
	for i := len(r.past) - 1; i >= 0; i-- {
		r.feed(c, r.past[i])
		r.replayed++
	}
}

// feed runs one event of a history. What only names a message is something else
// when r is numbered.
func (r *runner) feed(c *sim.Cell, h *history) {
	ev := h.event
	if r.numbered {
		r.fed++
		ev.Message.ID, ev.Message.Copy = r.fed, r.fed%2 == 0
	}
	c.Feed(ev, sim.Input{Clock: h.clock, Calls: h.calls, Answers: h.answers})
}

// run returns all outcomes of an event after past; past is nil for a start. The
// error is a State that panicked, or returned no plain value.
func (r *runner) run(proc int, past *history, ev sim.Event, clock int64, calls uint32) (all []raw, err error) {
	defer r.refuse(proc, &err)
	c := r.cell(&r.cells, proc)
	var vary func(answers []int)
	vary = func(answers []int) {
		r.bring(c, past)
		next := history{event: ev, clock: clock, calls: calls, answers: answers}
		r.feed(c, &next)
		r.runs++
		x := r.outcome(c, answers)
		all = append(all, x)
		for i := len(answers); i < len(x.choices); i++ {
			for k := 1; k < x.choices[i].Options; k++ {
				more := make([]int, i+1)
				copy(more, answers)
				more[i] = k
				if cost, ok := r.e.costOf(x.choices[:i], x.choices[i].Site); ok && affords(r.e.budget, cost) && faultsOf(cost) <= r.e.maxFaults {
					vary(more)
				}
			}
		}
	}
	vary(nil)
	return all, nil
}

// refuse makes a panic outside of the process's own code an error.
func (r *runner) refuse(proc int, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("explore: process %s cannot be searched: %v", r.e.names[proc], p)
	}
}

// costOf adds up the faults among choices, with one more at site. It reports
// false when that overflows a budget.
func (e *engine) costOf(choices []sim.Answer, site sim.Site) (uint32, bool) {
	cost := nibble(site)
	for _, c := range choices {
		if c.Option == 0 {
			continue
		}
		cost += nibble(c.Site)
		if !affords(e.budget, cost) {
			return 0, false
		}
	}
	return cost, true
}

// outcome copies what a cell's last event brought.
func (r *runner) outcome(c *sim.Cell, answers []int) raw {
	x := raw{panic: c.Panic, effects: slices.Clone(c.Effects), choices: slices.Clone(c.Choices), turns: slices.Clone(c.Turns), answers: answers}
	for _, a := range c.Choices {
		if a.Option > 0 {
			x.cost += nibble(a.Site)
		}
	}
	if c.ReadClock {
		x.flags |= needsClock
	}
	if c.NamedCall {
		x.flags |= needsNames
	}
	if c.Panic == nil {
		x.local = c.Local()
	}
	if c.Traced {
		x.lines, x.line = slices.Clone(c.Lines), c.Line
	}
	return x
}

// eventOf returns the event that a miss is about.
func (e *engine) eventOf(m miss) sim.Event {
	if m.code&own != 0 {
		return e.events[e.locals[m.local].events+m.code&^own]
	}
	return sim.Event{Kind: sim.EventDeliver, Proc: e.bodies[m.code].To, Message: e.bodies[m.code]}
}

// runMiss computes a transition.
func (r *runner) runMiss(m miss) ([]raw, error) {
	info := &r.e.info[m.local]
	return r.run(info.proc, &info.past, r.e.eventOf(m), m.clock, m.calls)
}

// clockRead is the error of a search that found that an untimed process reads
// its clock, so that its keys need it.
type clockRead struct{ proc int }

func (c clockRead) Error() string { return fmt.Sprintf("process %d reads its clock", c.proc) }

// record numbers the outcomes of a transition and puts it into the tables.
func (e *engine) record(m miss, raws []raw) error {
	var flags uint16
	for i := range raws {
		flags |= raws[i].flags
	}
	proc := e.info[m.local].proc
	if err := e.checkClock(proc, &flags); err != nil {
		return err
	}
	before := e.locals[m.local].hash
	if m.code&own == 0 {
		before += e.messages[m.code].hash
	}
	s := slot{k1: m.key(), first: uint32(len(e.outcomes)), flags: present}
	for i := range raws {
		e.addOutcomes(m, &raws[i])
	}
	s.count = uint16(len(e.outcomes) - int(s.first))
	if flags != 0 {
		x := e.memo.get(s.k1, 0)
		if x == nil {
			e.memo.put(slot{k1: s.k1, flags: present})
			x = e.memo.get(s.k1, 0)
		}
		x.flags |= flags // at another time it may depend on more
		s.k2 = context(x.flags, m.clock, m.calls)
	}
	e.memo.put(s)
	e.sample(&sample{proc: proc, from: int32(m.local), event: e.eventOf(m), clock: m.clock, calls: m.calls, raws: raws})
	info := &e.info[m.local]
	if len(info.known) < maxKnown {
		info.known = append(info.known, m)
	}
	return nil
}

// checkClock refuses an untimed process that reads its clock without having it in its key.
func (e *engine) checkClock(proc int, flags *uint16) error {
	if e.bounded || *flags&needsClock == 0 {
		return nil
	}
	*flags &^= needsClock
	if e.clocked[proc] {
		return nil
	}
	e.clocked[proc] = true
	return clockRead{proc}
}

// addOutcomes numbers one raw outcome, once for each thing that the network may
// do to what it sends.
func (e *engine) addOutcomes(m miss, x *raw) {
	past := history{from: int32(m.local), event: e.eventOf(m), clock: m.clock, calls: m.calls, answers: x.answers}
	next, fresh := e.internLocal(e.info[m.local].proc, &x.local, x.panic, past)
	if !fresh && x.panic == nil {
		e.suspects(next, past)
	}
	var delta fingerprint
	delta.plus(e.locals[next].hash)
	delta.minus(e.locals[m.local].hash)
	if m.code&own == 0 {
		delta.minus(e.messages[m.code].hash)
	}
	e.variants(e.info[m.local].proc, next, delta, x)
}

// fates of a message that is sent.
const (
	arrives = iota
	dropped
	doubled
)

// unaffordable is more than every budget.
const unaffordable = 1 << 31

// fate is the cost of a fate that a site decides, of the messages of a process.
func fate(w *sim.World, id int, site sim.Site) uint32 {
	if w.Spares(sim.ID(id), site) {
		return unaffordable
	}
	return nibble(site)
}

// variants adds an outcome for each combination of fates of the messages sent.
func (e *engine) variants(proc int, next uint32, delta fingerprint, x *raw) {
	sent := 0
	for i := range x.effects {
		if isSend(&x.effects[i]) {
			sent++
		}
	}
	fates := make([]uint8, sent)
	var vary func(i int, cost uint32)
	vary = func(i int, cost uint32) {
		if i == sent {
			e.addVariant(next, delta, x, fates, cost)
			return
		}
		for fate, unit := range e.fates[proc] {
			total := cost + unit
			if fate != arrives && (!affords(e.budget, total) || faultsOf(total) > e.maxFaults) {
				continue
			}
			fates[i] = uint8(fate)
			vary(i+1, total)
		}
	}
	vary(0, x.cost)
}

func (e *engine) addVariant(next uint32, delta fingerprint, x *raw, fates []uint8, cost uint32) {
	o := outcome{delta: delta, next: next, cost: cost, faults: uint8(faultsOf(cost)), sends: uint32(len(e.sends))}
	info := outcomeInfo{did: x.effects, chose: x.choices}
	for _, c := range x.choices {
		info.answers = append(info.answers, answer{c.Site, c.Option})
	}
	turns := x.turns
	for i := range x.effects {
		for ; len(turns) > 0 && turns[0] == i; turns = turns[1:] {
			info.turns = append(info.turns, len(info.effects))
		}
		ef := x.effects[i]
		info.effects = append(info.effects, ef)
		if !isSend(&ef) {
			continue
		}
		fate := fates[0]
		fates = fates[1:]
		info.answers = append(info.answers, answer{sim.SiteDrop, b2i(fate == dropped)})
		if fate == dropped {
			n := ef.Note
			n.Kind = sim.NoteDrop
			info.effects = append(info.effects, sim.Effect{Note: n})
			continue
		}
		info.answers = append(info.answers, answer{sim.SiteDuplicate, b2i(fate == doubled)})
		id := e.internMessage(ef.Message)
		for range 1 + b2i(fate == doubled) {
			e.sends = append(e.sends, id)
			o.delta.plus(e.messages[id].hash)
		}
	}
	o.sent = uint16(len(e.sends) - int(o.sends))
	slices.Sort(e.sends[o.sends:])
	o.notes = e.internList(info.effects)
	e.outcomes = append(e.outcomes, o)
	e.outInfo = append(e.outInfo, info)
}

// isSend reports whether an effect is a message that is sent.
func isSend(x *sim.Effect) bool { return x.Observation == nil && x.Note.Kind == sim.NoteSend }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recordMonitor computes a step of a monitor.
func (e *engine) recordMonitor(m monitorMiss) {
	mon := e.monitors[m.k][m.id].Clone()
	wants := mon.Notes()
	for _, x := range e.lists[m.list] {
		if x.Observation != nil {
			o := sim.CopyObservation(x.Observation)
			o.Stamp(0, m.time, e.names[x.Note.Proc])
			mon.Observe(o)
		} else if wants.Has(x.Note.Kind) {
			n := x.Note
			n.Time = m.time
			mon.Note(n)
		}
	}
	if s, ok := mon.(Sometimer); ok {
		for _, fact := range s.Sometimes() {
			e.sometimes[fact] = true
		}
	}
	k1, k2 := m.keys()
	e.judge.put(slot{k1: k1, k2: k2, first: e.monitor(m.k, mon), flags: present})
}
