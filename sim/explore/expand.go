package explore

import (
	"slices"

	"staleproof/sim"
)

// states is a sequence of states, one array for each part of them.
type states struct {
	low, high []uint64 // fingerprints; high is empty unless they are wide
	from      []uint64 // the state before, and the ordinal of the transition there
	end       []uint32 // where the words of each end
	words     []uint32
}

func (b *states) len() int { return len(b.low) }

func (b *states) reset() {
	b.low, b.high, b.from = b.low[:0], b.high[:0], b.from[:0]
	b.end, b.words = b.end[:0], b.words[:0]
}

// cut forgets all but the first n.
func (b *states) cut(n int) {
	if n == 0 {
		b.reset()
		return
	}
	b.low, b.from, b.end = b.low[:n], b.from[:n], b.end[:n]
	if len(b.high) > 0 {
		b.high = b.high[:n]
	}
	b.words = b.words[:b.end[n-1]]
}

// at returns the words of state i.
func (b *states) at(i int) []uint32 {
	start := uint32(0)
	if i > 0 {
		start = b.end[i-1]
	}
	return b.words[start:b.end[i]]
}

func (b *states) print(i int) fingerprint {
	f := fingerprint{low: b.low[i]}
	if len(b.high) > 0 {
		f.high = b.high[i]
	}
	return f
}

// add appends a copy of a state.
func (b *states) add(s []uint32, f fingerprint, wide bool, from uint64) {
	b.low = append(b.low, f.low)
	if wide {
		b.high = append(b.high, f.high)
	}
	b.from = append(b.from, from)
	b.words = append(b.words, s...)
	b.end = append(b.end, uint32(len(b.words)))
}

// link packs the number of a state and the ordinal of a transition from it.
func link(state, ordinal uint32) uint64 { return uint64(state)<<32 | uint64(ordinal) }

// chunk is what comes of a run of states that one worker expands.
type chunk struct {
	lo, hi  int // the states of the frontier
	next    states
	faulty  states  // successors in a later layer
	faults  []uint8 // how many layers later each is
	holes   []hole
	plain   int // how many of next came before any hole was filled
	misses  []miss
	judging []monitorMiss

	generated, terminal int64
	keep                []bool // which of next are new
	kept, keptWords     int
	state, word         int // where they go in the next frontier
	bad                 int // the first of them that violates something, or -1
}

// hole is a state of a chunk that met something unknown: where its successors
// belong in next, and where they are once they are known.
type hole struct {
	state      int
	before     int
	start, end int
	filled     bool
}

// spans calls yield for the runs of next in the order of the states.
func (c *chunk) spans(yield func(lo, hi int)) {
	lo := 0
	for _, h := range c.holes {
		yield(lo, h.before)
		yield(h.start, h.end)
		lo = h.before
	}
	yield(lo, c.plain)
}

// worker expands states.
type worker struct {
	runner
	filter []uint64 // fingerprints seen lately: most duplicates are near
	judged shard    // combinations of values that keep the invariants
	// unfiltered turns the filter off.
	unfiltered bool

	c       *chunk
	from    uint32 // the number of the state being expanded
	ordinal uint32
	missed  bool
	mons    []uint32
	trace   *[]taken // if not nil: what each transition is
}

// taken is a transition: what happened, and which of its outcomes.
type taken struct {
	miss
	outcome int // -1: a tick
	tick    int // of which clock
}

const filterSize = 1 << 12

// expandChunk expands the states of c, which begin at number base.
func (w *worker) expandChunk(c *chunk, front *states, base uint32) {
	w.c = c
	c.next.reset()
	c.faulty.reset()
	c.faults, c.holes = c.faults[:0], c.holes[:0]
	c.generated, c.terminal = 0, 0
	c.misses, c.judging = c.misses[:0], c.judging[:0]
	for i := c.lo; i < c.hi; i++ {
		n := c.next.len()
		if !w.expand(front, i, base) {
			c.holes = append(c.holes, hole{state: i, before: n})
		}
	}
	c.plain = c.next.len()
}

// fillHoles expands the states of c again that met something unknown.
func (w *worker) fillHoles(c *chunk, front *states, base uint32) {
	w.c = c
	c.misses, c.judging = c.misses[:0], c.judging[:0]
	w.unfiltered = true // holes are out of order: nothing may be left out for what came later
	defer func() { w.unfiltered = w.e.opt.Wide }()
	for i := range c.holes {
		h := &c.holes[i]
		if h.filled {
			continue
		}
		h.start = c.next.len()
		h.filled = w.expand(front, h.state, base)
		h.end = c.next.len()
	}
}

// expand appends the successors of a state to the chunk. It returns false, and
// appends none, if it needs something that the tables do not have.
func (w *worker) expand(front *states, i int, base uint32) bool {
	e, c := w.e, w.c
	s, f := front.at(i), front.print(i)
	n, nf, generated := c.next.len(), c.faulty.len(), c.generated
	w.from, w.ordinal, w.missed = base+uint32(i), 0, false
	if !e.over(s) {
		w.successors(s, f)
	}
	if w.missed {
		c.next.cut(n)
		c.faulty.cut(nf)
		c.faults = c.faults[:nf]
		c.generated = generated
		return false
	}
	if w.ordinal == 0 {
		c.terminal++
	}
	return true
}

// successors takes every transition of s.
func (w *worker) successors(s []uint32, f fingerprint) {
	e := w.e
	for p := range e.procs {
		ls := s[p]
		l := &e.locals[ls]
		for i := range uint32(l.count) {
			if e.bounded && !e.possible(&e.events[l.events+i], e.clockOf(s, p)) {
				continue
			}
			w.step(s, f, p, own|i, -1)
		}
	}
	for j := e.head; j < len(s); j++ {
		if m := s[j]; j == e.head || m != s[j-1] {
			w.step(s, f, int(e.messages[m].to), m, j)
		}
	}
	if e.bounded {
		w.ticks(s, f)
	}
}

// possible reports whether an event is inside its window.
func (e *engine) possible(ev *sim.Event, clock int64) bool {
	return ev.From <= clock && (ev.Until == 0 || clock < ev.Until)
}

// step takes the transitions of process p with the event of code; at is where
// the message stands in s, -1 if it is none.
func (w *worker) step(s []uint32, f fingerprint, p int, code uint32, at int) {
	e := w.e
	k1 := uint64(s[p])<<32 | uint64(code)
	x := e.memo.get(k1, 0)
	if x != nil && x.flags != present {
		x = e.memo.get(k1, e.contextOf(s, p, at, x.flags))
	}
	if x == nil {
		w.missed = true
		w.c.misses = append(w.c.misses, miss{local: s[p], code: code, clock: e.clockOf(s, p), calls: e.callsOf(s, p, at)})
		return
	}
	for i := x.first; i < x.first+uint32(x.count); i++ {
		o := &e.outcomes[i]
		if o.cost != 0 && !w.affordable(s, o) {
			continue
		}
		w.apply(s, f, p, at, o)
		if w.trace != nil {
			*w.trace = append(*w.trace, taken{miss{s[p], code, e.clockOf(s, p), e.callsOf(s, p, at)}, int(i), 0})
		}
	}
}

func (e *engine) contextOf(s []uint32, p, at int, flags uint16) uint64 {
	calls := uint32(0)
	if flags&needsNames != 0 {
		calls = e.callsOf(s, p, at)
	}
	return context(flags, e.clockOf(s, p), calls)
}

// affordable reports whether s has the faults of o left.
func (w *worker) affordable(s []uint32, o *outcome) bool {
	left := s[w.e.budgetAt]
	return affords(left, o.cost) && faultsOf(w.e.budget-left)+int(o.faults) <= w.e.maxFaults
}

// apply appends the successor of s by outcome o of process p.
func (w *worker) apply(s []uint32, f fingerprint, p, at int, o *outcome) {
	e := w.e
	f.low += o.delta.low
	f.high += o.delta.high
	if e.mons > 0 {
		w.mons = append(w.mons[:0], s[e.procs:e.procs+e.mons]...)
		if o.notes != 0 {
			w.judgeNotes(s, &f, o)
		}
	}
	if o.cost != 0 {
		f.minus(budgetHash(s[e.budgetAt]))
		f.plus(budgetHash(s[e.budgetAt] - o.cost))
	}
	w.c.generated++
	w.ordinal++
	if o.cost != 0 {
		w.emit(&w.c.faulty, s, f, p, at, o)
		w.c.faults = append(w.c.faults, o.faults)
		return
	}
	if w.seen(f.low) {
		return
	}
	w.emit(&w.c.next, s, f, p, at, o)
}

// seen reports whether the fingerprint went by lately, so that its state is
// known or among the candidates before this one.
func (w *worker) seen(low uint64) bool {
	if w.unfiltered {
		return false
	}
	x := &w.filter[low&(filterSize-1)]
	if *x == low {
		return true
	}
	*x = low
	return false
}

// judgeNotes steps the monitors with the notes of o.
func (w *worker) judgeNotes(s []uint32, f *fingerprint, o *outcome) {
	e := w.e
	time := e.now(s)
	for k := range w.mons {
		m := monitorMiss{k, w.mons[k], o.notes, time}
		k1, k2 := m.keys()
		x := e.judge.get(k1, k2)
		if x == nil {
			w.missed = true
			w.c.judging = append(w.c.judging, m)
			continue
		}
		if x.first != w.mons[k] {
			f.minus(e.monitorHash(k, w.mons[k]))
			f.plus(e.monitorHash(k, x.first))
			w.mons[k] = x.first
		}
	}
}

// emit appends s with process p in the next local state of o, the message at
// position at taken off, and what o sends put in.
func (w *worker) emit(b *states, s []uint32, f fingerprint, p, at int, o *outcome) {
	e := w.e
	start := len(b.words)
	most := len(s) + int(o.sent)
	words := slices.Grow(b.words, most)[:start+most]
	t := words[start:]
	copy(t, s[:e.head])
	t[p] = o.next
	if e.mons > 0 {
		copy(t[e.procs:], w.mons)
	}
	if o.cost != 0 {
		t[e.budgetAt] -= o.cost
	}
	sends := e.sends[o.sends : o.sends+uint32(o.sent)]
	n := e.head
	for i := e.head; i < len(s); i++ {
		if i == at {
			continue
		}
		m := s[i]
		for len(sends) > 0 && sends[0] <= m {
			t[n] = sends[0]
			sends = sends[1:]
			n++
		}
		t[n] = m
		n++
	}
	n += copy(t[n:], sends)
	b.words = words[:start+n]
	b.end = append(b.end, uint32(start+n))
	b.low = append(b.low, f.low)
	if e.opt.Wide {
		b.high = append(b.high, f.high)
	}
	b.from = append(b.from, link(w.from, w.ordinal-1))
}

// ticks lets time pass.
func (w *worker) ticks(s []uint32, f fingerprint) {
	e := w.e
	clocks := s[e.clockAt:e.head]
	slowest := slices.Min(clocks)
	for i, t := range clocks {
		if int64(t) >= e.horizon || e.epsilon > 0 && int64(t-slowest) >= e.epsilon {
			continue
		}
		g := f
		g.minus(clockHash(i, t))
		g.plus(clockHash(i, t+1))
		w.c.generated++
		w.ordinal++
		if w.trace != nil {
			*w.trace = append(*w.trace, taken{outcome: -1, tick: i})
		}
		if w.seen(g.low) {
			continue
		}
		w.c.next.add(s, g, e.opt.Wide, link(w.from, w.ordinal-1))
		b := &w.c.next
		b.words[len(b.words)-len(s)+e.clockAt+i]++
	}
}
