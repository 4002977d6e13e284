package explore

import (
	"fmt"
	"runtime/metrics"
	"slices"
	"time"

	"staleproof/sim"
)

// A search trusts process code to do the same whenever it finds the same, so that a
// transition needs to be run only once. When it has ended it looks whether that is so.
//
//	again      transitions are run again, alone: outside state, chance and real time show
//	audit      histories that were merged are run on, side by side
//	together   all processes run in one world: what they share in memory shows

// How much is run again: the first alwaysAgain transitions and one in againEvery are
// kept for it, and of these as many are run, for at most mostRounds times each, as
// take so many events of processes: effort, or one in effortShare of those that the
// search took.
const (
	alwaysAgain = 4096
	againEvery  = 64
	mostRounds  = 256
	effortShare = 8
	mostWalks   = 256
)

// effort is a variable for tests that search thousands of systems.
var effort = 4096

// sample is a transition that may be run again.
type sample struct {
	proc  int
	from  int32 // the local state; -1: the start
	event sim.Event
	clock int64
	calls uint32
	raws  []raw
}

// sample keeps x for later, or not.
func (e *engine) sample(x *sample) {
	e.sampled++
	if e.sampled <= alwaysAgain || hash(kindSeed, uint64(e.sampled))%againEvery == 0 {
		e.samples = append(e.samples, *x)
	}
}

// check tests whether the code of processes does the same whenever it finds the same.
func (s *search) check() error {
	s.result.Transitions = s.sampled
	if err := s.again(); err != nil {
		return err
	}
	if err := s.audit(); err != nil {
		return err
	}
	return s.together()
}

// effort is how many events of processes a check may take.
func (s *search) effort() int { return max(effort, int(s.result.Replayed)/effortShare) }

// again runs transitions again, in another order each time, because what they leave
// behind outside of a process may be found by the next.
func (s *search) again() error {
	cost := 0
	for i := range s.samples {
		cost += s.cost(&s.samples[i])
	}
	every := uint64(1 + cost/s.effort())
	var order []int
	for i := range s.samples {
		if hash(kindSeed, uint64(i))%every == 0 {
			order = append(order, i)
		}
	}
	s.result.Again = len(order)
	created := goroutines() + len(s.workers) - 1
	for round := range max(1, min(s.effort()/max(1, cost), mostRounds)) {
		slices.SortFunc(order, func(a, b int) int {
			return compare(hash(uint64(round), uint64(a)), hash(uint64(round), uint64(b)))
		})
		errs := make([]error, len(order))
		s.share(len(order), func(w *worker, i int) { errs[i] = w.again(&s.samples[order[i]]) })
		if err := first(errs); err != nil {
			return err
		}
		if round == 0 && goroutines() > created {
			if err := s.workers[0].spawners(s.samples, order); err != nil {
				return err
			}
		}
	}
	return nil
}

func compare(a, b uint64) int {
	if a < b {
		return -1
	}
	return b2i(a > b)
}

// cost is how many events it takes to run x.
func (e *engine) cost(x *sample) int {
	n := 1
	if x.from >= 0 {
		n += e.info[x.from].depth
	}
	return n * len(x.raws)
}

// rerun runs x, and says how it differs from the first time, and where in the code.
func (r *runner) rerun(x *sample, numbered, traced bool) (what, line string, err error) {
	r.numbered = numbered
	c := r.cell(&r.cells, x.proc)
	c.Traced = traced
	defer func() { r.numbered, c.Traced = false, false }()
	var past *history
	if x.from >= 0 {
		past = &r.e.info[x.from].past
	}
	all, err := r.run(x.proc, past, x.event, x.clock, x.calls)
	if err != nil {
		return "", "", err
	}
	for i := range min(len(all), len(x.raws)) {
		line = all[i].line
		if what, at := difference(&x.raws[i], &all[i]); what != "" {
			if traced && at >= 0 && all[i].lines[at] != "" {
				line = all[i].lines[at]
			}
			return what, line, nil
		}
	}
	return "", line, nil
}

// again runs x once more. Messages have numbers this time, as they have in a world.
func (r *runner) again(x *sample) error {
	what, _, err := r.rerun(x, true, false)
	if what == "" || err != nil {
		return err
	}
	const often = 256 // a random choice may be the same as the first time
	why := "by something that is no input of it: a variable outside, memory shared with another process, the order of a map, the real clock, math/rand or a goroutine"
	for i := range 2 * often {
		diff, line, err := r.rerun(x, i >= often, true)
		switch {
		case err != nil:
			return err
		case diff != "" && i >= often:
			why = "by Message.ID or Message.Copy, which only name a message"
			fallthrough
		case diff != "":
			return r.hidden(x, line, diff, why)
		}
	}
	return r.hidden(x, "a line that it did not come to again", what, why)
}

// hidden is the error about x.
func (r *runner) hidden(x *sample, line, what, why string) error {
	return fmt.Errorf("explore: process %s decides, at %s, %s; run again from the same inputs, it does not do the same (%s): keep what it decides by in its own memory, and make it anew in its factory\n  inputs: %v",
		r.e.names[x.proc], line, why, what, r.e.tell(r.chain(x)))
}

// chain returns all events of x.
func (r *runner) chain(x *sample) []history {
	last := history{from: x.from, event: x.event, clock: x.clock, calls: x.calls}
	return r.e.chain(&last)
}

// goroutines counts those ever created, coroutines included.
func goroutines() int {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// spawners finds a transition that starts goroutines.
func (r *runner) spawners(samples []sample, order []int) error {
	for _, k := range order {
		x := &samples[k]
		line, spawns, err := r.spawns(x)
		if err != nil {
			return err
		}
		if spawns {
			return fmt.Errorf("explore: process %s starts a goroutine, before %s: use Proc.Go or sim.Go; what a goroutine does, and when, is no choice of the world\n  inputs: %v",
				r.e.names[x.proc], line, r.e.tell(r.chain(x)))
		}
	}
	return nil
}

// spawns reports whether x starts a goroutine each time, while mostly none starts in
// as long a time beside it: the rest of the program may start some too.
func (r *runner) spawns(x *sample) (line string, spawns bool, err error) {
	const runs = 64
	quiet := 0
	for i := range runs + 1 {
		before, begun := goroutines(), time.Now()
		if _, line, err = r.rerun(x, false, true); err != nil {
			return "", false, err
		}
		after, took := goroutines(), time.Since(begun)
		if i == 0 {
			continue // it may have made coroutines for the world
		}
		if after == before {
			return "", false, nil
		}
		for begun = time.Now(); time.Since(begun) < took; {
		}
		if goroutines() == after {
			quiet++
		}
	}
	return line, quiet > runs/2, nil
}

// lineOf runs a chain again and says where its last event did effect at, or what
// it did last.
func (r *runner) lineOf(c *sim.Cell, chain []history, at int) string {
	c.Traced = true
	defer func() { c.Traced = false }()
	c.Reset()
	for i := range chain {
		r.feed(c, &chain[i])
	}
	if at >= 0 && at < len(c.Lines) && c.Lines[at] != "" {
		return c.Lines[at]
	}
	return c.Line
}

// together walks through the graph of states with all processes in one world.
func (s *search) together() error {
	depth := s.result.Depth + 1
	errs := make([]error, max(1, min(s.effort()/4/depth, mostWalks)))
	s.share(len(errs), func(w *worker, i int) { errs[i] = w.together(s, uint64(i), depth) })
	return first(errs)
}

// together takes one walk, of at most so many steps.
func (r *runner) together(s *search, seed uint64, steps int) (err error) {
	proc := 0
	defer func() { r.refuse(proc, &err) }()
	if r.world == nil {
		r.world = sim.NewCell(s.sys.Build, s.sys.Config, 0, s.sites)
	}
	r.world.Reset()
	chains := make([][]history, s.procs)
	start := &s.starts[hash(kindSeed, seed)%uint64(len(s.starts))]
	for p, o := range start.outcomes {
		proc = p
		h := history{from: -1, event: sim.Event{Kind: sim.EventStart, Proc: sim.ID(p)}}
		if err := r.follow(&chains[p], p, h, int(o)); err != nil || r.world.Panic != nil {
			return err
		}
	}
	x, state := newScout(s.engine), start.state
	for step := range uint64(steps) {
		all := x.expand(state)
		if len(all) == 0 {
			return nil
		}
		k := hash(kindSeed, seed<<32|step) % uint64(len(all))
		t := all[k]
		if state = x.next(uint32(k)); t.outcome < 0 {
			continue
		}
		proc = s.info[t.local].proc
		h := history{from: int32(t.local), event: s.eventOf(t.miss), clock: t.clock, calls: t.calls}
		if err := r.follow(&chains[proc], proc, h, t.outcome); err != nil || r.world.Panic != nil {
			return err
		}
	}
	return nil
}

// follow feeds h to a process beside the others, whose way there is chain, and
// compares what it does with an outcome that is known.
func (r *runner) follow(chain *[]history, proc int, h history, outcome int) error {
	e, c := r.e, r.world
	for _, a := range e.outInfo[outcome].chose {
		h.answers = append(h.answers, a.Option)
	}
	*chain = append(*chain, h)
	c.Turn(sim.ID(proc))
	c.Clocked = e.clocked[proc]
	r.feed(c, &h)
	r.replayed++
	got, want := r.outcome(c, h.answers), e.known(outcome)
	what, at := difference(&want, &got)
	if what == "" {
		return nil
	}
	lone := r.cell(&r.twins, proc)
	line := r.lineOf(lone, *chain, at)
	alone := r.outcome(lone, h.answers)
	if diff, _ := difference(&alone, &got); diff != "" {
		return fmt.Errorf("explore: process %s goes on differently, at %s, when other processes run in the same world (%s): they share memory, such as a pointer made in Build; let it send messages, and make what it keeps in its factory\n  inputs: %v",
			e.names[proc], line, diff, e.tell(*chain))
	}
	return &CheckpointError{
		Process:    e.names[proc],
		Line:       line,
		Difference: "in the last event of each, " + what,
		Histories:  [2][]string{e.tell(e.chain(&h)), e.tell(*chain)},
	}
}

// known is an outcome that was computed.
func (e *engine) known(outcome int) raw {
	o, info := &e.outcomes[outcome], &e.outInfo[outcome]
	next := &e.info[o.next]
	return raw{effects: info.did, choices: info.chose, panic: next.panic, local: sim.Local{Key: next.key}}
}
