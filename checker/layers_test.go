package checker

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"staleproof/model/history"
)

// flaws says how often, in percent, a generated store does wrong.
type flaws struct {
	accept, forget, twice, lie, silent int
	readsLift                          bool // no flaw: a policy
}

// storeRun generates the history of a few clients and a fenced store that may
// do wrong, with the store's notes.
type storeRun struct {
	t      *rapid.T
	flaws  flaws
	h      history.History
	fence  fence
	values map[string]history.Value
	open   []*openCall
}

// openCall is an operation of the generated run; its message may still arrive
// after its client has given up.
type openCall struct {
	invoke  history.Event
	reply   history.Event // zero until the store has served it
	arrived bool
	ended   bool
}

func (r *storeRun) chance(percent int, label string) bool {
	return percent > 0 && rapid.IntRange(0, 99).Draw(r.t, label) < percent
}

func (r *storeRun) emit(e history.Event) {
	e.Index = int64(len(r.h.Events) + 1)
	e.Time = e.Index
	r.h.Events = append(r.h.Events, e)
}

func (r *storeRun) step() {
	switch rapid.IntRange(0, 4).Draw(r.t, "step") {
	case 0, 1:
		if r.busy() < 3 {
			r.invoke()
		}
	case 2, 3:
		r.arrive()
	case 4:
		r.end()
	}
}

func (r *storeRun) busy() int {
	n := 0
	for _, o := range r.open {
		if !o.ended {
			n++
		}
	}
	return n
}

func (r *storeRun) invoke() {
	op := int64(len(r.open) + 1)
	token := history.Token(rapid.IntRange(1, 3).Draw(r.t, "token"))
	e := history.Event{
		Process: "p" + string(rune('a'+op)), Type: history.Invoke, Op: op, Scope: "s", Token: token,
		F:        rapid.SampledFrom([]history.F{history.Write, history.Write, history.Read, history.Raise, history.Delete, history.CAS}).Draw(r.t, "f"),
		Resource: rapid.SampledFrom([]string{"x", "x", "y"}).Draw(r.t, "resource"),
		Lease:    rapid.SampledFrom([]string{"a", "a", "b"}).Draw(r.t, "lease"),
	}
	if e.F == history.Write || e.F == history.CAS {
		e.Value = history.IntValue(rapid.Int64Range(1, 3).Draw(r.t, "value"))
	}
	if e.F == history.CAS {
		e.Expect = history.IntValue(rapid.Int64Range(1, 3).Draw(r.t, "expect"))
	}
	r.open = append(r.open, &openCall{invoke: e})
	r.emit(e)
}

// arrive serves one message that has not arrived, or one a second time.
func (r *storeRun) arrive() {
	var ready []*openCall
	for _, o := range r.open {
		if !o.arrived || r.chance(r.flaws.twice, "twice") {
			ready = append(ready, o)
		}
	}
	if len(ready) > 0 {
		o := ready[rapid.IntRange(0, len(ready)-1).Draw(r.t, "message")]
		o.arrived = true
		r.serve(o)
	}
}

func (r *storeRun) serve(o *openCall) {
	e := o.invoke
	reply := e
	reply.Type, reply.Value = history.OK, history.Value{}
	note := history.Event{Process: "store", Type: history.Note, Op: e.Op, Resource: e.Resource, Scope: e.Scope, Token: e.Token, Lease: e.Lease}
	value := r.values[e.Resource]
	accepted := r.fence.accepts(e.Token, leaseOf(e.Lease)) != r.chance(r.flaws.accept, "accept")
	switch {
	case !accepted:
		reply.Type, reply.Error, reply.Highest = history.Fail, history.Stale, r.fence.token
		note.F, note.Highest = history.Reject, r.fence.token
	case e.F == history.Read:
		reply.Value = value
		if r.flaws.readsLift {
			r.fence.lift(e.Token, leaseOf(e.Lease))
		}
		note.F, note.Value, note.Highest = history.Served, value, r.fence.token
	case e.F == history.CAS && !sameValue(value, e.Expect):
		reply.Type, reply.Error = history.Fail, "mismatch"
	default:
		note.F = r.take(e)
	}
	if r.chance(r.flaws.lie, "lie") {
		r.lie(&reply)
	}
	if note.F != 0 && !r.chance(r.flaws.silent, "silent") {
		r.emit(note)
	}
	if o.reply.Type == 0 {
		o.reply = reply
	}
}

// take changes the store as an accepted operation asks, unless it forgets.
func (r *storeRun) take(e history.Event) history.F {
	if !r.chance(r.flaws.forget, "forget") {
		r.fence.lift(e.Token, leaseOf(e.Lease))
		if e.F != history.Raise {
			r.values[e.Resource] = e.Value
		}
	}
	if e.F == history.Raise {
		return history.Raised
	}
	return history.Apply
}

func (r *storeRun) lie(reply *history.Event) {
	switch {
	case reply.F == history.Read && reply.Type == history.OK:
		reply.Value = history.IntValue(rapid.Int64Range(1, 3).Draw(r.t, "lie"))
	case reply.Type == history.OK:
		reply.Type, reply.Error = history.Fail, "unavailable"
	default:
		reply.Type, reply.Error, reply.Highest = history.OK, "", 0
	}
}

// end gives a client its reply, or lets it give up.
func (r *storeRun) end() {
	var waiting []*openCall
	for _, o := range r.open {
		if !o.ended {
			waiting = append(waiting, o)
		}
	}
	if len(waiting) == 0 {
		return
	}
	o := waiting[rapid.IntRange(0, len(waiting)-1).Draw(r.t, "client")]
	e := o.reply
	if e.Type == 0 || r.chance(10, "lost") {
		e = o.invoke
		e.Type, e.Value = history.Info, history.Value{}
	}
	o.ended = true
	r.emit(e)
}

func drawStoreRun(t *rapid.T, f flaws, steps int) *history.History {
	r := &storeRun{t: t, flaws: f, values: make(map[string]history.Value)}
	for range steps {
		r.step()
	}
	return &r.h
}

// witness runs the first layer alone, and bySearch the second.
func witness(h *history.History) *Violation {
	s, _ := Config{View: View{Coordinator: true, Store: true}, Forget: true}.New([]string{"linearizable"})
	for i := range h.Events {
		s.Observe(&h.Events[i])
	}
	_, v := s.monitors[0].Verdict()
	return v
}

func bySearch(h *history.History) (Outcome, *Violation) {
	n := newNames(false)
	s := search{property: "linearizable", names: n, config: Config{Memory: DefaultMemory}}
	calls, _ := logOf(EventsOf(h), n, math.MaxInt, evidence{})
	return s.judgeScopes(calls, func(mine []call) []spec { return fencedSpecs(mine, &Config{}) })
}

// byBruteForce tries every order of at most a few operations on one scope.
func byBruteForce(h *history.History) bool {
	calls, _ := logOf(EventsOf(h), newNames(false), math.MaxInt, evidence{})
	calls = slices.DeleteFunc(calls, func(c call) bool { return c.outcome == failed })
	for _, l := range []lifts{{}, {reads: true}, {idle: true}, {reads: true, idle: true}} {
		if orderExists(calls, l, fence{}, map[int32]history.Value{}) {
			return true
		}
	}
	return false
}

func orderExists(calls []call, lift lifts, f fence, values map[int32]history.Value) bool {
	firstEnd, known := int64(never), false
	for _, c := range calls {
		firstEnd = min(firstEnd, c.ended)
		known = known || c.outcome != unknown
	}
	if !known {
		return true // what is unknown need never take effect
	}
	for i, c := range calls {
		if c.invoked > firstEnd {
			continue
		}
		g, next, ok := bruteStep(c, lift, f, values)
		if ok && orderExists(slices.Delete(slices.Clone(calls), i, i+1), lift, g, next) {
			return true
		}
	}
	return false
}

// bruteStep is the fenced register, written apart from the one under test.
func bruteStep(c call, lift lifts, f fence, values map[int32]history.Value) (fence, map[int32]history.Value, bool) {
	stale := c.token < f.token || c.token == f.token && c.lease != f.lease
	cur := values[c.resource]
	switch {
	case c.outcome == refused:
		return f, values, stale && (c.highest == 0 || c.highest == f.token)
	case c.outcome == differs:
		if lift.idle && !stale {
			f = fence{c.token, c.lease}
		}
		return f, values, nilFor(cur) != nilFor(c.expect)
	case c.f == history.Read:
		if lift.reads && !stale {
			return fence{c.token, c.lease}, values, c.outcome == unknown || nilFor(cur) == nilFor(c.answer)
		}
		return f, values, c.outcome == unknown || !stale && nilFor(cur) == nilFor(c.answer)
	case stale || c.f == history.CAS && nilFor(cur) != nilFor(c.expect):
		return f, values, c.outcome == unknown
	}
	next := make(map[int32]history.Value)
	for k, v := range values {
		next[k] = v
	}
	if c.f != history.Raise {
		next[c.resource] = c.value
	}
	return fence{c.token, c.lease}, next, true
}

// The two layers must not contradict each other: what the witness proves the
// search finds, and what the search refutes the witness cannot have proved.
func TestLayersAgree(t *testing.T) {
	kinds := []struct {
		name  string
		flaws flaws
		proof bool // the witness must hold
		seen  bool // clients must sometimes see that it is wrong
	}{
		{"a right store", flaws{}, true, false},
		{"a right store whose reads lift the fence", flaws{readsLift: true}, true, false},
		{"a wrong fence", flaws{accept: 15}, false, true},
		{"a forgetful store", flaws{forget: 15}, false, true},
		{"no deduplication", flaws{twice: 20}, false, false},
		{"wrong replies", flaws{lie: 15}, false, true},
		{"missing notes", flaws{silent: 15}, false, false},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { compareLayers(t, drawStoreRun(t, kind.flaws, 30), kind.proof) })

			// The same on histories that never change, so that how much they try
			// can be counted on.
			count := make(map[string]int)
			runs := rapid.Custom(func(t *rapid.T) *history.History { return drawStoreRun(t, kind.flaws, 30) })
			for seed := range 200 {
				count[compareLayers(t, runs.Example(seed), kind.proof)]++
			}
			if t.Log(count); count["proved"] < 10 || kind.seen && count["refuted"] < 3 {
				t.Errorf("%v: the histories try too little", count)
			}
		})
	}
}

// compareLayers judges a history twice and returns what came of it.
func compareLayers(t interface{ Fatalf(string, ...any) }, h *history.History, proof bool) string {
	w := witness(h)
	o, v := bySearch(h)
	switch {
	case o == Inconclusive:
		t.Fatalf("undecided: %s", v.Message)
	case w == nil && o == Violated:
		t.Fatalf("the witness holds, and yet %s", v.Message)
	case w != nil && proof:
		t.Fatalf("the store does nothing wrong, and yet %s", w.Message)
	case w == nil:
		return "proved"
	case o == Violated:
		return "refuted"
	}
	return "witness failed, nothing seen"
}

func TestSearchAgreesWithBruteForce(t *testing.T) {
	draw := func(t *rapid.T) *history.History {
		return drawStoreRun(t, flaws{accept: 10, forget: 10, twice: 10, lie: 10, readsLift: rapid.Bool().Draw(t, "readsLift")}, 16)
	}
	rapid.Check(t, func(t *rapid.T) { compareBrute(t, draw(t)) })
	count := make(map[Outcome]int)
	for seed := range 200 {
		count[compareBrute(t, rapid.Custom(draw).Example(seed))]++
	}
	if t.Log(count); count[Satisfied] < 10 || count[Violated] < 10 {
		t.Errorf("%v: the histories try too little", count)
	}
}

func compareBrute(t interface{ Fatalf(string, ...any) }, h *history.History) Outcome {
	o, _ := bySearch(h)
	want := Violated
	if byBruteForce(h) {
		want = Satisfied
	}
	if o != want {
		t.Fatalf("the search says %s, brute force %s", o, want)
	}
	return o
}
