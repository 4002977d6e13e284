package scenarios

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// newStore returns the function that makes the user's store of a run, which is watched if
// r.watch is set. It returns nil for the model's own store.
func (r *Runner) newStore() func() sim.Handler {
	w := r.watch
	if w == nil || r.opt.NewStore == nil {
		return r.opt.NewStore
	}
	return func() sim.Handler { return w.On(r.opt.NewStore()) }
}

// seededBy returns the chooser of a plan. A user's store makes its own choices with equal
// probability, in every plan.
func (r *Runner) seededBy(p *Plan) sim.Seeded {
	c := sim.Seeded{Seed: p.Seed, Rates: p.Rates}
	if r.opt.NewStore != nil {
		c.Rates[sim.SiteUser] = sim.Uniform
	}
	return c
}

// runUsers is run with a user's store. The first run takes the step of the answer for
// the place where a request took effect. If that breaks a property, the run is repeated
// and the store is watched, and the property is broken only if it is broken for every
// place where the requests may have taken effect.
func (r *Runner) runUsers(p *Params, chooser sim.Chooser, want wanted) Outcome {
	o := r.runOnce(p, chooser, want)
	if !brokeByOrder(&o) {
		return o
	}
	first, found := o.Result, slices.Clone(o.Violations)
	first.Decisions = slices.Clone(first.Decisions)
	if r.learnHabits(); r.failedIn != nil {
		o.Result, o.Violations = first, found
		return o // the test ends with this run
	}
	r.replay.Reset(first.Decisions)
	again := r.runOnce(p, &r.replay, want|record)
	if again.Result.Events != first.Events || again.Result.Time != first.Time || again.Result.End != first.End {
		o.Result, o.Violations = first, found
		return o // Recheck reports that the run is another one
	}
	o.Result.Decisions = first.Decisions
	r.settle(&o)
	return o
}

// brokeByOrder reports whether a run broke what the order of the store's notes decides.
func brokeByOrder(o *Outcome) bool {
	return slices.ContainsFunc(o.Violations, func(v checker.Violation) bool { return v.Property != PanicProperty })
}

// runOnce runs, watches the store if the run is recorded, and judges by the answers.
func (r *Runner) runOnce(p *Params, chooser sim.Chooser, want wanted) Outcome {
	r.watch = nil
	if want&record != 0 {
		r.watch = &model.Watch{Now: r.newest}
	}
	r.prepare(p, chooser, want)
	return r.judge(r.world.Run())
}

// newest returns the index of the newest event of a run that is recorded, and the time.
func (r *Runner) newest() (index, time int64) {
	if events := r.log.Events(); len(events) > 0 {
		index = events[len(events)-1].Index
	}
	return index, r.world.Now()
}

// manyHabits is how many runs show the habits of a store.
const manyHabits = 60

// learnHabits watches the store in some runs, the same ones whichever run broke
// something. No two of the values and tokens in them are equal, nor small.
func (r *Runner) learnHabits() {
	if r.habits != nil {
		return
	}
	r.habits = &model.Habits{}
	for seed := range uint64(manyHabits) {
		p := PlanAt(r.sc, seed)
		p.Params.Modify, p.Params.FirstToken = 0, 1_000_003
		r.watch = &model.Watch{Now: r.newest, Habits: r.habits}
		c := r.seededBy(&p)
		r.prepare(&p.Params, &c, record|digest)
		switch res := r.world.Run(); {
		case res.End == sim.EndPanic, res.End == sim.EndLimit:
			return
		case r.failed != nil && r.failed():
			r.failedIn = &Recorded{Scenario: r.sc.Name, Revision: r.sc.Revision, Defects: r.opt.Defects, Params: p.Params,
				Seed: seed, Schedule: slices.Clone(res.Decisions), Digest: res.Digest}
			return
		}
	}
}

// settle judges the last run, which was recorded and watched, by where its requests took
// effect. Of several places of a request the last is told, and what is broken counts if
// no other choice among them keeps everything.
func (r *Runner) settle(o *Outcome) {
	s := r.placing()
	r.suite.Reset()
	for i := range r.log.Events() {
		r.suite.Observe(&r.log.Events()[i])
	}
	*o = r.judge(o.Result)
	if !brokeByOrder(o) || len(s.open) == 0 {
		return
	}
	root := r.suite.Clone()
	root.Reset()
	switch s.search(root) {
	case checker.Satisfied:
		o.Violations = slices.DeleteFunc(o.Violations, func(v checker.Violation) bool { return v.Property != PanicProperty })
	case checker.Inconclusive:
		o.Inconclusive = append(o.Inconclusive, fmt.Sprintf("%s: %d requests may have taken effect in several steps, in more orders than are tried: say model.Applied where they do",
			o.Violations[0].Property, len(s.open)))
		o.Violations = o.Violations[:0]
	}
}

// placing is a run with requests that may have taken effect in several places.
type placing struct {
	fixed []spot // all that happened but for the notes of open, in order
	open  []movable
	tried int

	lowered []int64 // raises that set the fence back
}

// movable is a request whose note has several places.
type movable struct {
	note     history.Event
	places   []model.Place // where it may be; none: anywhere behind from, up to to
	from, to int64
}

// may reports whether m's note may be put there, before what happens there.
func (m *movable) may(at *moment) bool {
	switch {
	case len(m.places) > 0:
	case at.event == nil:
		return m.from <= at.index && at.index < m.to
	default:
		return m.from < at.index && at.index < m.to && at.event.F.IsServerNote()
	}
	return at.event == nil && slices.ContainsFunc(m.places, func(p model.Place) bool { return p.Step == at.step })
}

// placing moves the notes of the recorded run to where the store was seen to change,
// the last place of several, and returns what else is possible.
func (r *Runner) placing() *placing {
	s := &placing{}
	events := r.log.Events()
	order := make([]spot, len(events))
	for i := range events {
		order[i] = spot{place: model.Place{Index: events[i].Index, Time: events[i].Time}, event: events[i]}
	}
	isOpen := map[int64]bool{} // by operation
	var g greatest
	for _, e := range r.watch.Effects {
		i, ok := slices.BinarySearchFunc(events, e.At, func(e history.Event, index int64) int { return cmp.Compare(e.Index, index) })
		if !ok {
			continue
		}
		places := e.Places(r.habits)
		if len(places) != 1 {
			s.open = append(s.open, movable{note: events[i], places: places, from: e.From, to: e.At})
			isOpen[e.Op] = true
		}
		if n := len(places); n > 0 {
			order[i].place = places[n-1]
		}
		if e.Lowered(r.habits) {
			g.lowered = append(g.lowered, e.Op)
		}
		if e.Idle(r.habits) && events[i].F == history.Apply {
			order[i].event.Text = history.Unchanged
		}
	}
	slices.SortStableFunc(order, func(a, b spot) int { return a.compare(&b) })
	s.lowered = g.lowered
	for i := range order {
		e := &order[i].event
		e.Time = order[i].place.Time
		g.note(e)
		if !effective(e) || !isOpen[e.Op] {
			s.fixed = append(s.fixed, order[i])
		}
		events[i] = *e
		events[i].Index = int64(i) + 1
	}
	return s
}

// spot is an event, or a note that was moved, and where it is.
type spot struct {
	place model.Place // its Step is 0 if it is where it happened
	event history.Event
}

// compare orders spots. Within a step nobody knows the order: lower tokens come first.
func (a *spot) compare(b *spot) int {
	return cmp.Or(cmp.Compare(a.place.Index, b.place.Index), cmp.Compare(a.place.Step, b.place.Step),
		cmp.Compare(a.event.Token, b.event.Token))
}

// effective reports whether e notes that the store carried something out.
func effective(e *history.Event) bool {
	return e.Type == history.Note && (e.F == history.Apply || e.F == history.Raised)
}

// greatest are the greatest tokens that a store has accepted, as its notes say, since it
// started last.
type greatest struct {
	store     string
	resources []string
	tokens    []history.Token
	ever      []history.Token // in all incarnations
	lowered   []int64         // raises that set the fence back
}

// note makes the Highest of a note of the store what it is in this order.
func (g *greatest) note(e *history.Event) {
	switch {
	case e.Type != history.Note:
	case e.F == history.Restart && e.Process == g.store:
		clear(g.tokens)
	case e.F >= history.Apply && e.F <= history.Served:
		g.store = e.Process
		i := slices.Index(g.resources, e.Resource)
		if i < 0 {
			i = len(g.resources)
			g.resources, g.tokens, g.ever = append(g.resources, e.Resource), append(g.tokens, 0), append(g.ever, 0)
		}
		switch {
		case e.F == history.Raised && slices.Contains(g.lowered, e.Op):
			g.tokens[i] = e.Token
		case effective(e):
			g.tokens[i] = max(g.tokens[i], e.Token)
		}
		g.ever[i] = max(g.ever[i], g.tokens[i])
		if e.Highest = g.ever[i]; effective(e) {
			e.Highest = g.tokens[i] // what accepts shows what is known now
		} else if e.F == history.Reject && e.Highest <= e.Token {
			e.Highest = 0 // another request, of unknown outcome, has raised the fence
		}
	}
}

// moment is a place in the order of a run: an event, or where notes may be put.
type moment struct {
	index int64          // of the event, or the one before
	step  int            // of the store; 0: it is where it happened
	event *history.Event // nil: none
}

// order is a beginning of a run with the notes in some order.
type order struct {
	suite    *checker.Suite
	greatest greatest
	placed   uint64 // which of placing.open
}

// maxOrders bounds the search.
const maxOrders = 4000

// search looks for an order that keeps every property.
func (s *placing) search(root *checker.Suite) checker.Outcome {
	if len(s.open) > 64 {
		return checker.Inconclusive
	}
	moments := s.moments()
	until := make([]int, len(s.open)) // the last moment where each may be
	for i, m := range moments {
		for k := range s.open {
			if s.open[k].may(&m) {
				until[k] = i
			}
		}
	}
	front := []*order{{suite: root, greatest: greatest{lowered: s.lowered}}}
	for i := range moments {
		m := &moments[i]
		if front = s.place(front, m); s.tried > maxOrders {
			return checker.Inconclusive
		}
		front = slices.DeleteFunc(front, func(o *order) bool {
			for k := range s.open {
				if until[k] == i && o.placed>>k&1 == 0 {
					return true
				}
			}
			return m.event != nil && !o.observe(*m.event)
		})
		if len(front) == 0 {
			return checker.Violated
		}
	}
	for _, o := range front {
		if !slices.ContainsFunc(o.suite.Finish(), func(x checker.Result) bool { return x.Outcome == checker.Violated }) {
			return checker.Satisfied
		}
	}
	return checker.Violated
}

// moments lists the events of the run and the places of the notes.
func (s *placing) moments() []moment {
	var list []moment
	for i := range s.fixed {
		x := &s.fixed[i]
		list = append(list, moment{x.place.Index, x.place.Step, &x.event})
	}
	for i := range s.open {
		m := &s.open[i]
		if len(m.places) == 0 {
			list = append(list, moment{index: m.to - 1, step: last})
		}
		for _, p := range m.places {
			if !slices.ContainsFunc(list, func(o moment) bool { return o.event == nil && o.step == p.Step }) {
				list = append(list, moment{index: p.Index, step: p.Step})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.step, b.step))
	})
	return list
}

// last is the step of a moment behind all other steps there.
const last = math.MaxInt

// place puts notes at a moment, as many as may be there, in each order.
func (s *placing) place(front []*order, m *moment) []*order {
	seen := map[string]bool{}
	var list []*order
	add := func(o *order) {
		if key := o.key(); !seen[key] {
			seen[key] = true
			list = append(list, o)
		}
	}
	any := false
	for k := range s.open {
		any = any || s.open[k].may(m)
	}
	if !any {
		return front
	}
	for _, o := range front {
		add(o)
	}
	for i := 0; i < len(list) && s.tried <= maxOrders; i++ {
		for k := range s.open {
			if list[i].placed>>k&1 != 0 || !s.open[k].may(m) {
				continue
			}
			s.tried++
			next := list[i].clone()
			next.placed |= 1 << k
			note := s.open[k].note
			note.Index = m.index
			if next.observe(note) {
				add(next)
			}
		}
	}
	return list
}

func (o *order) clone() *order {
	c := &order{suite: o.suite.Clone(), placed: o.placed, greatest: o.greatest}
	c.greatest.tokens, c.greatest.ever = slices.Clone(o.greatest.tokens), slices.Clone(o.greatest.ever)
	c.greatest.resources = slices.Clip(o.greatest.resources)
	return c
}

// observe reports whether nothing is broken after e.
func (o *order) observe(e history.Event) bool {
	o.greatest.note(&e)
	o.suite.Observe(&e)
	return !o.suite.Violated()
}

func (o *order) key() string {
	b := binary.AppendUvarint(nil, o.placed)
	for i, t := range o.greatest.tokens {
		b = append(b, o.greatest.resources[i]...)
		b = binary.AppendUvarint(binary.AppendUvarint(append(b, 0), uint64(t)), uint64(o.greatest.ever[i]))
	}
	return string(o.suite.AppendKey(b))
}

// forgetKnown takes from the event where a guarantee broke the greatest token that the
// store knew, unless it is too low: of a user's store only its answers are known, and
// that it let a lower token pass may be because it had forgotten the greater one.
func (r *Runner) forgetKnown(h *history.History, v *checker.Violation) {
	if r.opt.NewStore == nil || len(v.Events) < 2 {
		return
	}
	at := func(index int64) *history.Event {
		i, _ := slices.BinarySearchFunc(h.Events, index, func(e history.Event, index int64) int { return cmp.Compare(e.Index, index) })
		return &h.Events[min(i, len(h.Events)-1)]
	}
	last, before := at(v.Events[len(v.Events)-1]), at(v.Events[len(v.Events)-2])
	if last.F == history.Apply && last.Highest >= before.Token {
		last.Highest = 0
	}
}
