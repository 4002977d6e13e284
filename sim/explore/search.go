package explore

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"staleproof/sim"
)

const (
	chunkSize = 256
	batchSize = 64 * chunkSize
)

// Run searches sys. The error is a system that cannot be searched, a
// [CheckpointError], or a counterexample that the ordinary world did not
// reproduce.
func Run(sys System, opt Options) (Result, error) {
	if err := sys.check(); err != nil {
		return Result{}, err
	}
	opt.Workers = max(1, opt.Workers)
	start := time.Now()
	var clocked []bool
	for {
		s := newSearch(&sys, opt, clocked, start)
		err := s.run()
		for _, w := range s.workers {
			w.close()
		}
		if errors.As(err, new(clockRead)) {
			clocked = s.clocked // begin again, with that clock in the keys
			continue
		}
		if err != nil {
			s.result.Truncated = "nothing: the search ended with an error"
		}
		s.result.Seconds = time.Since(start).Seconds()
		return s.result, err
	}
}

// search is a search under way.
type search struct {
	*engine
	workers []*worker
	visited set
	links   []uint64 // how each state was reached, in the order of their numbers
	starts  []start  // the initial states
	pending []layer
	chunks  []*chunk
	result  Result
	begun   time.Time
	told    time.Time

	layer, depth int
	full         bool  // MaxStates is reached
	collected    int64 // bytes of objects after the last collection that this search made
	violated     int   // the number of the first state that violates something, or -1
}

// start is an initial state: the outcome of each process's start.
type start struct {
	outcomes []uint32
	state    []uint32
}

// root marks the link of an initial state; its ordinal is the place in starts.
const root = 1<<32 - 1

// layer is what waits for a layer of fault cost: the successors by faults from
// the layers before, by depth.
type layer struct {
	seeds  []states
	seeded set
}

func newSearch(sys *System, opt Options, clocked []bool, begun time.Time) *search {
	s := &search{engine: newEngine(sys, opt, clocked), begun: begun, told: begun, violated: -1}
	s.visited.wide = opt.Wide
	for range opt.Workers {
		s.workers = append(s.workers, &worker{runner: runner{e: s.engine}, filter: make([]uint64, filterSize), unfiltered: opt.Wide})
	}
	s.pending = make([]layer, s.maxFaults+1)
	for i := range s.pending {
		s.pending[i].seeded.wide = opt.Wide
	}
	s.result.MaxFaults = s.maxFaults
	return s
}

// parallel calls f on each worker, or on one if there is little to do.
func (s *search) parallel(little bool, f func(w *worker, i, n int)) {
	if little || len(s.workers) == 1 {
		f(s.workers[0], 0, 1)
		return
	}
	var all sync.WaitGroup
	for i := 1; i < len(s.workers); i++ {
		all.Go(func() { f(s.workers[i], i, len(s.workers)) })
	}
	f(s.workers[0], 0, len(s.workers))
	all.Wait()
}

// run searches layer after layer.
func (s *search) run() error {
	err := s.begin()
	for s.layer = 0; err == nil && s.layer < len(s.pending) && !s.ended(); s.layer++ {
		err = s.search()
	}
	for _, w := range s.workers {
		s.result.Runs += w.runs
		s.result.Replayed += w.replayed
	}
	if err == nil {
		err = s.check()
	}
	if err == nil && s.violated >= 0 {
		err = s.explain()
	}
	s.result.States = int64(len(s.links))
	s.result.Locals = len(s.locals)
	for fact := range s.sometimes {
		s.result.Sometimes = append(s.result.Sometimes, fact)
	}
	slices.Sort(s.result.Sometimes)
	return err
}

func (s *search) ended() bool { return s.violated >= 0 || s.result.Truncated != "" }

// search searches one layer breadth-first: the states that cost its number of
// faults to reach.
func (s *search) search() error {
	var front, next states
	seeds := s.pending[s.layer].seeds
	for s.depth = 0; s.depth < len(seeds) || front.len() > 0; s.depth++ {
		base := len(s.links) - front.len()
		if s.depth < len(seeds) {
			c := &chunk{next: seeds[s.depth], plain: seeds[s.depth].len()}
			s.accept([]*chunk{c}, &front)
			seeds[s.depth] = states{}
		}
		if front.len() > 0 {
			s.result.Depth = max(s.result.Depth, s.depth)
		}
		next.reset()
		for lo := 0; lo < front.len(); lo += batchSize {
			if s.ended() {
				return nil
			}
			if s.stop(front.len()-lo, &next) {
				return nil
			}
			if err := s.batch(&front, &next, lo, base); err != nil {
				return err
			}
		}
		if s.ended() {
			return nil
		}
		front, next = next, front
	}
	if s.full && s.stop(0, &states{}) { // what was beyond the bound is not among those to expand
		return nil
	}
	s.pending[s.layer] = layer{}
	s.result.Layers = s.layer + 1
	return nil
}

// batch expands the states of front from lo on, at most batchSize of them, and
// appends the new ones among their successors to next.
func (s *search) batch(front, next *states, lo, base int) error {
	hi := min(lo+batchSize, front.len())
	n := (hi - lo + chunkSize - 1) / chunkSize
	for len(s.chunks) < n {
		s.chunks = append(s.chunks, &chunk{})
	}
	chunks := s.chunks[:n]
	for i, c := range chunks {
		c.lo, c.hi = lo+i*chunkSize, min(lo+(i+1)*chunkSize, hi)
	}
	little := len(chunks) == 1
	s.each(little, chunks, func(w *worker, c *chunk) { w.expandChunk(c, front, uint32(base)) })
	if err := s.fill(chunks, front, base); err != nil {
		return err
	}
	for _, c := range chunks {
		s.result.Generated += c.generated
		s.result.Terminal += c.terminal
		s.plant(c)
	}
	s.accept(chunks, next)
	return nil
}

// each hands the chunks out to the workers, in order.
func (s *search) each(little bool, chunks []*chunk, f func(w *worker, c *chunk)) {
	s.deal(little, len(chunks), func(w *worker, i int) { f(w, chunks[i]) })
}

// share hands n runs of process code out to the workers.
func (s *search) share(n int, f func(w *worker, i int)) { s.deal(n < 4, n, f) }

// deal calls f for each i below n, in order but at the same time.
func (s *search) deal(little bool, n int, f func(w *worker, i int)) {
	var dealt atomic.Int64
	s.parallel(little, func(w *worker, _, _ int) {
		for {
			i := int(dealt.Add(1)) - 1
			if i >= n {
				return
			}
			f(w, i)
		}
	})
}

// fill computes what the chunks missed, until nothing is missing.
func (s *search) fill(chunks []*chunk, front *states, base int) error {
	for {
		var open []*chunk
		for _, c := range chunks {
			if slices.ContainsFunc(c.holes, func(h hole) bool { return !h.filled }) {
				open = append(open, c)
			}
		}
		if len(open) == 0 {
			return nil
		}
		if err := s.resolve(open); err != nil {
			return err
		}
		s.each(len(open) == 1, open, func(w *worker, c *chunk) { w.fillHoles(c, front, uint32(base)) })
	}
}

// resolve computes the misses of the chunks: process code in parallel, and then
// numbers what came of it in the order of the states.
func (s *search) resolve(chunks []*chunk) error {
	var todo []miss
	known := map[uint64]bool{}
	for _, c := range chunks {
		for _, m := range c.misses {
			if !known[m.key()] {
				known[m.key()] = true
				todo = append(todo, m)
			}
		}
	}
	raws := make([][]raw, len(todo))
	errs := make([]error, len(todo))
	s.share(len(todo), func(w *worker, i int) { raws[i], errs[i] = w.runMiss(todo[i]) })
	for i, m := range todo {
		if errs[i] != nil {
			return errs[i]
		}
		if err := s.record(m, raws[i]); err != nil {
			return err
		}
	}
	judged := map[monitorMiss]bool{}
	for _, c := range chunks {
		for _, m := range c.judging {
			if !judged[m] {
				judged[m] = true
				s.recordMonitor(m)
			}
		}
	}
	return nil
}

// plant keeps the successors by faults of a chunk for their layers.
func (s *search) plant(c *chunk) {
	if c.faulty.len() == 0 {
		return
	}
	order := make([]int, c.faulty.len())
	for i := range order {
		order[i] = i
	}
	if len(c.holes) > 0 {
		slices.SortFunc(order, func(a, b int) int {
			if c.faulty.from[a] < c.faulty.from[b] {
				return -1
			}
			return 1
		})
	}
	for _, i := range order {
		s.seed(s.layer+int(c.faults[i]), s.depth+1, c.faulty.at(i), c.faulty.print(i), c.faulty.from[i])
	}
}

// seed keeps a state for a later layer, once a depth.
func (s *search) seed(at, depth int, state []uint32, f fingerprint, from uint64) {
	l := &s.pending[at]
	mark := f
	mark.plus(hash(kindSeed, uint64(depth)))
	if !l.seeded.add(mark) {
		return
	}
	if depth == 0 {
		s.result.Generated++ // initial states count once
	}
	for len(l.seeds) <= depth {
		l.seeds = append(l.seeds, states{})
	}
	l.seeds[depth].add(state, f, s.opt.Wide, from)
}

// accept numbers the states of chunks that are new, in order, appends them to
// dst and judges them.
func (s *search) accept(chunks []*chunk, dst *states) {
	total := 0
	for _, c := range chunks {
		c.keep = slices.Grow(c.keep[:0], c.next.len())[:c.next.len()]
		total += c.next.len()
	}
	little := total < chunkSize
	s.parallel(little, func(_ *worker, i, n int) {
		for _, c := range chunks {
			s.mark(c, uint64(i), uint64(n))
		}
	})
	s.each(little, chunks, func(_ *worker, c *chunk) { c.count() })
	s.limit(chunks)
	kept, words := 0, 0
	for _, c := range chunks {
		c.state, c.word = dst.len()+kept, len(dst.words)+words
		kept += c.kept
		words += c.keptWords
	}
	base := len(s.links) - dst.len()
	dst.extend(kept, words, s.opt.Wide)
	s.links = slices.Grow(s.links, kept)[:len(s.links)+kept]
	s.each(little, chunks, func(w *worker, c *chunk) { w.take(c, dst, s.links[base:]) })
	for _, c := range chunks {
		if c.bad >= 0 {
			s.violated = base + c.bad
			return
		}
	}
}

// mark enters the fingerprints of c that belong to shards i modulo n, and marks
// those that are new. Every worker meets the states in the same order.
func (s *search) mark(c *chunk, i, n uint64) {
	c.spans(func(lo, hi int) {
		for j := lo; j < hi; j++ {
			if n == 1 || shardOf(c.next.low[j])%n == i {
				c.keep[j] = s.visited.add(c.next.print(j))
			}
		}
	})
}

// count counts what is kept.
func (c *chunk) count() {
	c.kept, c.keptWords = 0, 0
	for i, keep := range c.keep {
		if keep {
			c.kept++
			c.keptWords += len(c.next.at(i))
		}
	}
}

// limit keeps no more states than MaxStates allows.
func (s *search) limit(chunks []*chunk) {
	if s.opt.MaxStates <= 0 {
		return
	}
	room := s.opt.MaxStates - len(s.links)
	for _, c := range chunks {
		if c.kept > room {
			c.spans(func(lo, hi int) {
				for j := lo; j < hi; j++ {
					if c.keep[j] && room <= 0 {
						c.keep[j] = false
					} else if c.keep[j] {
						room--
					}
				}
			})
			c.count()
			s.full = true
			continue
		}
		room -= c.kept
	}
}

// extend makes room for more states.
func (b *states) extend(n, words int, wide bool) {
	k := len(b.low) + n
	b.low = slices.Grow(b.low, n)[:k]
	b.end = slices.Grow(b.end, n)[:k]
	if wide {
		b.high = slices.Grow(b.high, n)[:k]
	}
	b.words = slices.Grow(b.words, words)[:len(b.words)+words]
}

// take copies the kept states of c to their places in dst, with their links, and
// judges them.
func (w *worker) take(c *chunk, dst *states, links []uint64) {
	i, word := c.state, c.word
	c.bad = -1
	c.spans(func(lo, hi int) {
		for j := lo; j < hi; j++ {
			if !c.keep[j] {
				continue
			}
			state := c.next.at(j)
			dst.low[i] = c.next.low[j]
			if w.e.opt.Wide {
				dst.high[i] = c.next.high[j]
			}
			word += copy(dst.words[word:], state)
			dst.end[i] = uint32(word)
			links[i] = c.next.from[j]
			if c.bad < 0 && w.bad(state) {
				c.bad = i
			}
			i++
		}
	})
}

// bad reports whether a state violates something. Invariants are functions of
// the values of the processes and the time: each combination is judged once.
func (w *worker) bad(state []uint32) bool {
	e := w.e
	if e.anyBroken || e.anyPanic {
		if property, _ := e.judgement(state); property != "" {
			return true
		}
	}
	if len(e.sys.Invariants) == 0 {
		return false
	}
	var f fingerprint
	for _, ls := range state[:e.procs] {
		f.low += e.locals[ls].value
	}
	if e.clockAt >= 0 {
		f.low += clockHash(0, uint32(e.now(state)))
	}
	if w.judged.has(f.low) {
		return false
	}
	if property, _ := e.judgement(state); property != "" {
		return true
	}
	w.judged.add(f, false)
	return false
}

// judgement returns the property that a state violates, and how.
func (e *engine) judgement(state []uint32) (property, message string) {
	if e.anyPanic {
		for _, ls := range state[:e.procs] {
			if p := e.info[ls].panic; p != nil {
				return "no-panic", p.Error()
			}
		}
	}
	if e.anyBroken {
		for k := range e.mons {
			if text := e.broken[k][state[e.procs+k]]; text != "" {
				return fmt.Sprintf("monitor %d", k), text
			}
		}
	}
	v := View{e: e, s: state}
	for i := range e.sys.Invariants {
		if text := e.sys.Invariants[i].Holds(&v); text != "" {
			return e.sys.Invariants[i].Name, text
		}
	}
	return "", ""
}

// stop reports whether a bound is reached, and then says what remains: waiting
// is how many states of this level wait, next has those of the next level.
func (s *search) stop(waiting int, next *states) bool {
	ahead := next.len()
	s.tell(waiting + ahead)
	why := ""
	switch {
	case s.full:
		why = fmt.Sprintf("the bound of %d states", s.opt.MaxStates)
	case s.outOfMemory(next):
		why = fmt.Sprintf("the bound of %s of memory", bytesText(s.opt.MaxBytes))
	case s.opt.MaxTime > 0 && time.Since(s.begun) > s.opt.MaxTime:
		why = fmt.Sprintf("the bound of %v", s.opt.MaxTime)
	default:
		select {
		case <-s.opt.Interrupt:
			why = "an interrupt"
		default:
			return false
		}
	}
	seeds := 0
	for i := range s.pending {
		for j := range s.pending[i].seeds {
			seeds += s.pending[i].seeds[j].len()
		}
	}
	s.result.Truncated = fmt.Sprintf("truncated by %s at depth %d with %s: %d states not expanded, of those found",
		why, s.depth, faultsText(s.layer), waiting+ahead+seeds)
	if rest := s.maxFaults - s.layer; rest > 0 {
		s.result.Truncated += fmt.Sprintf(", and no schedule with %d to %d faults completed", s.layer+1, s.maxFaults)
	}
	return true
}

// bytesText writes a bound on memory as it is mostly given.
func bytesText(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

func faultsText(n int) string {
	if n == 1 {
		return "1 fault"
	}
	return fmt.Sprintf("%d faults", n)
}

// tell reports progress now and then.
func (s *search) tell(queue int) {
	if s.opt.Progress == nil || time.Since(s.told) < 200*time.Millisecond {
		return
	}
	s.told = time.Now()
	s.opt.Progress(Progress{States: int64(len(s.links)), Generated: s.result.Generated, Depth: s.depth, Layer: s.layer, Queue: queue})
}

// begin starts every process, in each way in which it may start, and seeds the
// layers with the initial states.
func (s *search) begin() error {
	var all [][]uint32 // the outcomes of each process
	for proc := range s.procs {
		raws, err := s.workers[0].run(proc, nil, sim.Event{Kind: sim.EventStart, Proc: sim.ID(proc)}, 0, 0)
		if err != nil {
			return err
		}
		s.sample(&sample{proc: proc, from: -1, event: sim.Event{Kind: sim.EventStart, Proc: sim.ID(proc)}, raws: raws})
		var mine []uint32
		for i := range raws {
			x := &raws[i]
			if err := s.checkClock(proc, &x.flags); err != nil {
				return err
			}
			past := history{from: -1, event: sim.Event{Kind: sim.EventStart, Proc: sim.ID(proc)}, answers: x.answers}
			next, _ := s.internLocal(proc, &x.local, x.panic, past)
			first := len(s.outcomes)
			s.variants(proc, next, fingerprint{}, x)
			for o := first; o < len(s.outcomes); o++ {
				mine = append(mine, uint32(o))
			}
		}
		all = append(all, mine)
	}
	s.combine(all, nil, 0)
	return nil
}

// startEffects returns what happens when all processes start, in order: each goes on
// until it blocks, then those that have further tasks have another turn. A panic ends
// it all.
func (e *engine) startEffects(outcomes []uint32) (all []sim.Effect) {
	for turn, more := 0, true; more; turn++ {
		more = false
		for _, o := range outcomes {
			x := &e.outInfo[o]
			lo, hi := 0, len(x.effects)
			if turn > len(x.turns) {
				continue
			}
			if turn > 0 {
				lo = x.turns[turn-1]
			}
			if turn < len(x.turns) {
				hi, more = x.turns[turn], true
			}
			for _, ef := range x.effects[lo:hi] {
				if all = append(all, ef); ef.Observation == nil && ef.Note.Kind == sim.NotePanic {
					return all
				}
			}
		}
	}
	return all
}

// combine seeds the initial states that go on from the chosen outcomes.
func (s *search) combine(all [][]uint32, chosen []uint32, cost uint32) {
	if len(chosen) < len(all) {
		for _, o := range all[len(chosen)] {
			total := cost + s.outcomes[o].cost
			if affords(s.budget, total) && faultsOf(total) <= s.maxFaults {
				s.combine(all, append(slices.Clone(chosen), o), total)
			}
		}
		return
	}
	state := make([]uint32, s.head)
	for p, o := range chosen {
		x := &s.outcomes[o]
		state[p] = x.next
		state = append(state, s.sends[x.sends:x.sends+uint32(x.sent)]...)
	}
	slices.Sort(state[s.head:])
	if s.budgetAt >= 0 {
		state[s.budgetAt] = s.budget - cost
	}
	if list := s.internList(s.startEffects(chosen)); list != 0 {
		for k := range s.mons {
			m := monitorMiss{k, state[s.procs+k], list, 0}
			k1, k2 := m.keys()
			if s.judge.get(k1, k2) == nil {
				s.recordMonitor(m)
			}
			state[s.procs+k] = s.judge.get(k1, k2).first
		}
	}
	f := s.fingerprint(state)
	s.starts = append(s.starts, start{chosen, state})
	s.seed(faultsOf(cost), 0, state, f, link(root, uint32(len(s.starts)-1)))
}
