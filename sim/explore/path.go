package explore

import (
	"fmt"
	"reflect"
	"slices"

	"staleproof/sim"
)

// path is a schedule of the search: how it starts, and the transitions.
type path struct {
	start start
	steps []taken
	last  []uint32
}

// pathTo finds the way to a state by its number.
func (s *search) pathTo(state int) path {
	var back []uint32
	l := s.links[state]
	for ; l>>32 != root; l = s.links[l>>32] {
		back = append(back, uint32(l))
	}
	slices.Reverse(back)
	p := path{start: s.starts[uint32(l)]}
	p.last = p.start.state
	x := newScout(s.engine)
	for _, ordinal := range back {
		p.steps = append(p.steps, x.expand(p.last)[ordinal])
		p.last = x.next(ordinal)
	}
	return p
}

// scout expands one state at a time, and tells what each transition is.
type scout struct {
	w     *worker
	front states
	trace []taken
}

func newScout(e *engine) *scout {
	x := &scout{}
	x.w = &worker{runner: runner{e: e}, c: &chunk{}, trace: &x.trace, unfiltered: true}
	return x
}

// expand returns the transitions from a state, valid until the next call; none if
// they are not known.
func (x *scout) expand(state []uint32) []taken {
	c := x.w.c
	x.front.reset()
	x.front.add(state, x.w.e.fingerprint(state), x.w.e.opt.Wide, 0)
	x.trace = x.trace[:0]
	c.next.reset()
	c.faulty.reset()
	if !x.w.expand(&x.front, 0, 0) {
		return nil
	}
	return x.trace
}

// next returns the state behind the transition with an ordinal.
func (x *scout) next(ordinal uint32) []uint32 {
	for _, b := range []*states{&x.w.c.next, &x.w.c.faulty} {
		if i := slices.Index(b.from, link(0, ordinal)); i >= 0 {
			return slices.Clone(b.at(i))
		}
	}
	return nil
}

// explain makes a violation of the first state that is one, as a schedule that
// was replayed.
func (s *search) explain() error {
	p := s.pathTo(s.violated)
	v := &Violation{Steps: len(p.steps)}
	v.Property, v.Message = s.judgement(p.last)
	if s.budgetAt >= 0 {
		v.Faults = faultsOf(s.budget - p.last[s.budgetAt])
	}
	for _, t := range p.steps {
		v.Trace = append(v.Trace, s.line(t))
	}
	s.result.Violation = v
	g := newGuide(s.engine, p)
	r := s.play(g, g)
	v.Schedule, v.Digest = slices.Clone(r.Decisions), r.Digest
	if g.lost != "" {
		return fmt.Errorf("explore: the ordinary world does not follow the counterexample: %s", g.lost)
	}
	if diff := unlike(s.expected(p), g.upTo(len(p.steps))); diff != "" {
		return fmt.Errorf("explore: the ordinary world does something else than the counterexample: %s", diff)
	}
	again := newGuide(s.engine, path{})
	replayed := s.play(sim.NewReplay(v.Schedule), again)
	if diff := unlike(g.seen, again.seen); diff != "" || replayed.Digest != r.Digest {
		return fmt.Errorf("explore: the replay of the counterexample diverged: %s, digest %x instead of %x", diff, replayed.Digest, r.Digest)
	}
	return nil
}

func (s *search) line(t taken) string {
	if t.outcome < 0 {
		ev := sim.Event{Kind: sim.EventTick, Proc: -1}
		if s.epsilon > 0 {
			ev.Proc = sim.ID(t.tick)
		}
		return s.describe(ev)
	}
	text := s.describe(s.eventOf(t.miss))
	for _, a := range s.outInfo[t.outcome].answers {
		if a.option > 0 {
			text += fmt.Sprintf(", %s=%d", a.site, a.option)
		}
	}
	return text
}

// play runs the ordinary world.
func (s *search) play(chooser sim.Chooser, observer sim.Observer) sim.Result {
	w := sim.NewWorld(s.sys.Config, chooser, observer)
	defer w.Close()
	s.sys.Build(w)
	r := w.Run()
	r.Decisions = slices.Clone(r.Decisions)
	return r
}

// expected lists what the search knows to happen on a path.
func (s *search) expected(p path) []sim.Effect {
	all := s.startEffects(p.start.outcomes)
	for _, t := range p.steps {
		if t.outcome >= 0 {
			all = append(all, s.outInfo[t.outcome].effects...)
		}
	}
	return all
}

// unlike says where two lists of effects differ, or nothing.
func unlike(a, b []sim.Effect) string {
	for i := range min(len(a), len(b)) {
		x, y := bare(a[i]), bare(b[i])
		if !reflect.DeepEqual(x, y) {
			return fmt.Sprintf("at effect %d: %s, expected %s", i+1, describeEffect(&b[i]), describeEffect(&a[i]))
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d effects, expected %d", len(b), len(a))
	}
	return ""
}

// bare takes what only names it off an effect.
func bare(x sim.Effect) sim.Effect {
	if x.Observation == nil {
		return sim.Effect{Note: x.Note}
	}
	o := sim.CopyObservation(x.Observation)
	o.Stamp(0, 0, "")
	return sim.Effect{Observation: o}
}

// guide leads an ordinary world along a path, and records what it sees.
type guide struct {
	e      *engine
	p      path
	at     int // the next step
	todo   [][]answer
	called []int64
	calls  []map[int64]int64 // the number in the world of each call
	seen   []sim.Effect
	marks  []int // how much was seen before each step
	lost   string
}

func newGuide(e *engine, p path) *guide {
	g := &guide{e: e, p: p, todo: make([][]answer, e.procs), called: make([]int64, e.procs), calls: make([]map[int64]int64, e.procs)}
	for i := range g.calls {
		g.calls[i] = map[int64]int64{}
	}
	for proc, o := range p.start.outcomes {
		g.load(proc, int(o))
	}
	return g
}

// load prepares the answers of a transition of proc.
func (g *guide) load(proc, outcome int) {
	info := &g.e.outInfo[outcome]
	g.todo[proc] = slices.Clone(info.answers)
	for i := range info.effects {
		if m := info.effects[i].Message; isSend(&info.effects[i]) && m.Call != 0 && !m.Reply {
			g.called[proc]++
			g.calls[proc][m.Call] = g.called[proc]
		}
	}
}

// Sites are all that the search decides.
func (g *guide) Sites() sim.SiteSet {
	return g.e.sites.With(sim.SiteNext, sim.SiteDrop, sim.SiteDuplicate)
}

// Choose gives the path's answers, in order at each site.
func (g *guide) Choose(c sim.Choice) int {
	if c.Proc < 0 {
		return 0
	}
	todo := g.todo[c.Proc]
	for i, a := range todo {
		if a.site == c.Site {
			g.todo[c.Proc] = slices.Delete(todo, i, i+1)
			return a.option
		}
	}
	return 0
}

// Next picks the path's next event.
func (g *guide) Next(events []sim.Event) int {
	if g.at <= len(g.p.steps) {
		g.marks = append(g.marks, len(g.seen))
	}
	g.at++
	if g.at > len(g.p.steps) || g.lost != "" {
		return 0
	}
	t := g.p.steps[g.at-1]
	want := sim.Event{Kind: sim.EventTick, Proc: -1}
	if t.outcome >= 0 {
		want = g.e.eventOf(t.miss)
		g.translate(&want.Message)
	} else if g.e.epsilon > 0 {
		want.Proc = sim.ID(t.tick)
	}
	found := -1
	for i := range events {
		if g.matches(&events[i], &want) && (found < 0 || events[i].From == want.From && events[found].From != want.From) {
			found = i
		}
	}
	if found < 0 {
		g.lost = fmt.Sprintf("step %d, %s, is not possible there", g.at, g.e.describe(want))
		return 0
	}
	if t.outcome >= 0 {
		g.load(int(want.Proc), t.outcome)
	}
	return found
}

// translate gives a message the number of its call in the world.
func (g *guide) translate(m *sim.Message) {
	if m.Call == 0 {
		return
	}
	caller := m.From
	if m.Reply {
		caller = m.To
	}
	m.Call = g.calls[caller][m.Call]
}

func (g *guide) matches(a, b *sim.Event) bool {
	m, n := &a.Message, &b.Message
	return a.Kind == b.Kind && a.Proc == b.Proc && a.Task == b.Task && a.Step == b.Step &&
		m.From == n.From && m.To == n.To && m.Call == n.Call && m.Reply == n.Reply && m.Timer == n.Timer && m.Body == n.Body
}

// upTo returns what was seen in the first n steps.
func (g *guide) upTo(n int) []sim.Effect {
	if n < len(g.marks) {
		return g.seen[:g.marks[n]]
	}
	return g.seen
}

// Notes are all of them.
func (g *guide) Notes() sim.NoteSet { return sim.AllNotes }

// Note records n without what only names it.
func (g *guide) Note(n sim.Note) {
	n.Index, n.Time, n.Message, n.Copy = 0, 0, 0, false
	g.seen = append(g.seen, sim.Effect{Note: n})
}

// Observe records a copy of o.
func (g *guide) Observe(o sim.Observation) {
	g.seen = append(g.seen, sim.Effect{Observation: sim.CopyObservation(o)})
}
