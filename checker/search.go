package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"staleproof/model/history"
)

// A call is one operation with its outcome, as the search for a linearization
// takes it.
type call struct {
	op       int64
	f        history.F
	outcome  outcome
	fence    int32
	resource int32
	client   int32
	token    history.Token
	highest  history.Token
	lease    identity
	value    history.Value
	expect   history.Value
	answer   history.Value
	invoked  int64
	ended    int64
}

// outcome is what a client knows of an operation.
type outcome uint8

const (
	unknown outcome = iota // it may take effect at any later time, or never
	done
	refused // as stale; of a register's cas, because it found another value
	failed  // without effect, for a reason that no specification explains
	differs // a cas under a token found another value than it expected
)

// never is the index of an end that a history does not hold.
const never = math.MaxInt64

// begin makes c, which is zero, the call that an event begins.
func (c *call) begin(in *Input, n *names) {
	r := in.resolve()
	c.op, c.f, c.fence, c.client, c.invoked, c.ended = in.Op, in.F, r.fenceID, r.clientID, in.Index, never
	c.resource = n.resources.id(in.Resource)
	c.token, c.lease, c.value = in.Token, r.leaseID, in.Value
	if in.F == history.CAS {
		c.expect = in.Expect
	}
}

// happen sets c, which is zero, to the effect that the store noted of an operation that
// was not recorded.
func (c *call) happen(in *Input, n *names) {
	c.begin(in, n)
	c.outcome, c.ended = done, in.Index
	if c.f = history.Raise; in.F == history.Apply {
		if c.f = history.Write; c.value.Kind == history.Absent {
			c.value = untold
		}
	}
}

// learn notes how a client's wait for the call on the store ended.
func (c *call) learn(in *Input, ev evidence) {
	switch {
	case in.Type == history.OK:
		c.outcome = done
		if c.f == history.Read {
			c.answer = in.Value
		}
	case in.Type == history.Fail && in.Error == history.Stale:
		c.outcome, c.highest = refused, in.Highest
	case in.Type == history.Fail && ev.differs(in.Event):
		c.outcome = differs
	case in.Type == history.Fail:
		c.outcome = failed
	default:
		return // unknown: it never ends
	}
	c.ended = in.Index
}

// callLog collects the calls on the store of a history, in the order of their
// invocations: of each scope no more than tell that there are too many to search.
type callLog struct {
	in    Input // resolves names
	calls []call
	open  opTable[int32] // places in calls
	seen  []int          // calls, by scope
	most  int            // of a scope

	evidence evidence
}

// logOf collects the calls of a whole history, of each scope at most so many.
func logOf(events Events, n *names, most int, ev evidence) ([]call, error) {
	l := &callLog{in: Input{names: n}, most: most, evidence: ev}
	err := events(l.observe)
	return l.calls, err
}

func (l *callLog) observe(e *history.Event) {
	in := &l.in
	in.take(e)
	if e.Type == history.Note && e.Op == 0 && (e.F == history.Apply || e.F == history.Raised) {
		if o := l.begin(in); o.rec >= 0 {
			l.calls[o.rec] = call{}
			l.calls[o.rec].happen(in, l.in.names)
			l.open.remove(o)
		}
		return
	}
	if e.Type < history.Invoke || e.Type > history.Info || !e.F.IsStore() {
		return
	}
	if e.Type == history.Invoke {
		l.begin(in)
		return
	}
	o := l.open.find(e.Op)
	known := o != nil
	if !known {
		o = l.begin(in)
	}
	if o.rec >= 0 {
		c := &l.calls[o.rec]
		if c.learn(in, l.evidence); !known {
			c.invoked = math.MinInt64 // it may have begun at any time before
		}
	}
	l.open.remove(o)
}

func (l *callLog) begin(in *Input) *opEntry[int32] {
	o, _ := l.open.add(in.Op)
	n := at(&l.seen, in.fence())
	if *n++; *n > l.most {
		o.rec = -1
		return o
	}
	o.rec = int32(len(l.calls))
	l.calls = append(l.calls, call{})
	l.calls[o.rec].begin(in, l.in.names)
	return o
}

// search looks for a linearization with porcupine, which has no limit of
// steps and whose timeout would make a verdict depend on the machine. So the
// specification counts its steps and refuses all once the limit is reached: the
// search then ends at once, and its "illegal" means nothing.
type search struct {
	property string
	names    *names
	config   Config
	steps    int64 // taken so far, over all scopes
	// partial says to tell of a violation how far an explanation gets.
	partial bool
}

// DefaultMemory is how many bytes a search for a linearization of one scope may
// take when [Config.Memory] is 0: of some hundred operations, about ten seconds.
const DefaultMemory = 512 << 20

// steps is how many steps a search of n calls may take. porcupine keeps a bit set of
// all calls for each state that it has seen.
func (c *Config) steps(n int) int64 { return c.Memory / int64(n/8+64) }

// calls is how many calls can be put in order, which takes one step more.
func (c *Config) calls() int {
	return sort.Search(math.MaxInt32, func(n int) bool { return int64(n) >= c.steps(n) }) - 1
}

// judgeScopes searches scope by scope, each with its own limit. A scope that
// was not decided matters only when no other one is violated.
func (s *search) judgeScopes(calls []call, specify func([]call) []spec) (Outcome, *Violation) {
	var undecided *Violation
	fences := s.names.fences()
	byFence := make([][]call, len(fences.list))
	if len(byFence) == 1 {
		byFence[0], calls = calls, nil // not twice in memory
	}
	for i := range calls {
		f := calls[i].fence
		byFence[f] = append(byFence[f], calls[i])
	}
	for _, f := range fences.order() {
		mine := byFence[f]
		if len(mine) == 0 {
			continue
		}
		switch o, v := s.judge(specify(mine), mine, fences.list[f]); o {
		case Violated:
			return o, v
		case Inconclusive:
			undecided = v
		}
	}
	if undecided != nil {
		return Inconclusive, undecided
	}
	return Satisfied, nil
}

// spec is a sequential specification. Its functions must be pure, and must not
// panic: porcupine runs them where nobody recovers.
type spec struct {
	init any
	// step reports whether a call with that outcome is possible in a state, and
	// the state after it. A call of unknown outcome is possible only where it
	// changes the state: that it never took effect is for the search to allow.
	step  func(state any, c *call, o outcome) (bool, any)
	equal func(a, b any) bool
	hash  func(any) uint64
	// readsCount: a read that nobody saw the answer of may matter all the same.
	readsCount bool
}

// judge searches for a linearization of the calls under any of the
// specifications and, when there is none, for the first reply that no order
// explains under any.
//
// Of more calls than one search can order it judges the first: a history is
// violated when its beginning is, and else remains undecided.
func (s *search) judge(specs []spec, calls []call, where string) (Outcome, *Violation) {
	until, most := int64(never), s.config.calls()
	if len(calls) > most {
		calls, until = calls[:most], calls[most].invoked
	}
	undecided := false
	for _, sp := range specs {
		ok, spent := s.check(sp, calls, until)
		if ok && until != never {
			return Inconclusive, newViolation(s.property, nil, "undecided: the first %d operations break nothing, and an order of more takes more memory than %s%s: raise --max-memory",
				most, memoryText(s.config.Memory), inside(where))
		}
		if ok {
			return Satisfied, nil
		}
		undecided = undecided || spent
	}
	if undecided {
		return Inconclusive, newViolation(s.property, nil, "undecided after %d steps over %d operations%s, which takes %s of memory: raise --max-memory",
			s.config.steps(len(calls)), len(calls), inside(where), memoryText(s.config.Memory))
	}
	var latest *Violation
	for _, sp := range specs {
		v := s.place(sp, calls, until)
		if latest == nil || v.Events[len(v.Events)-1] > latest.Events[len(latest.Events)-1] {
			latest = v
		}
	}
	return Violated, latest
}

func memoryText(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// place finds the shortest prefix of the history, up to an index, that has no
// linearization: all longer ones have none either. Its last reply is the place to look at. There is
// one: without any reply, no operation need ever have taken effect.
func (s *search) place(sp spec, calls []call, until int64) *Violation {
	byEnd := make([]*call, 0, len(calls))
	for i := range calls {
		if c := &calls[i]; c.ended != never && c.ended <= until && c.outcome != failed {
			byEnd = append(byEnd, c)
		}
	}
	slices.SortFunc(byEnd, func(a, b *call) int { return cmp.Compare(a.ended, b.ended) })
	low, high := 0, len(byEnd)-1 // the answer lies in byEnd[low:high+1]
	for low < high {
		mid := (low + high) / 2
		if ok, spent := s.check(sp, calls, byEnd[mid].ended); ok || spent {
			low = mid + 1
		} else {
			high = mid
		}
	}
	c := byEnd[low]
	v := c.unexplained(s.property, s.names)
	if s.partial {
		s.tellPartials(v, sp, calls)
	}
	return v
}

// unexplained says that no order explains a call.
func (c *call) unexplained(property string, n *names) *Violation {
	if c.op == 0 {
		return newViolation(property, []int64{c.ended}, "no order of the operations explains what the store noted at #%d of one that was not recorded, %s%s",
			c.ended, describeCall(c.f, c.value, c.expect, c.token), inside(n.fences().list[c.fence]))
	}
	return newViolation(property, []int64{c.invoked, c.ended}, "no order of the operations explains %s by %s, #%d to #%d%s",
		c.reply(), clientText(n.clients.list[c.client]), c.invoked, c.ended, inside(n.fences().list[c.fence]))
}

// reply describes a call and its outcome: "read -> 3".
func (c *call) reply() string {
	text := describeCall(c.f, c.value, c.expect, c.token)
	switch {
	case c.outcome == differs, c.outcome == refused && c.f == history.CAS && c.token == 0:
		return text + " -> another value"
	case c.outcome == refused && c.highest != 0:
		return text + " -> stale (greatest " + c.highest.String() + ")"
	case c.outcome == refused:
		return text + " -> stale"
	case c.outcome == failed:
		return text + " -> failed"
	case c.f == history.Read:
		return text + " -> " + nilText(c.answer)
	}
	return text + " -> ok"
}

// over is the state after the last known reply. What is open then may as well
// never have taken effect, so that the search need not try, at each point of the
// history, what an operation without effect would change: nothing.
type over struct{}

// check searches for a linearization of what the history holds up to an index.
// Calls that had not ended by then are left open.
func (s *search) check(sp spec, calls []call, until int64) (ok, spent bool) {
	most := s.config.steps(len(calls))
	used := int64(0)
	// One partition, so one goroutine: the count of steps is exact.
	ok = porcupine.CheckEvents(sp.model(most, &used), porcupineEvents(calls, until, sp.readsCount))
	s.steps += min(used, most)
	return ok, !ok && used > most
}

// model is the specification for porcupine, which refuses all once used, the steps
// taken, exceeds the limit.
func (sp spec) model(most int64, used *int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return sp.init },
		Step: func(state, input, output any) (bool, any) {
			*used++
			c, _ := input.(*call)
			o, isOutcome := output.(outcome)
			_, isOver := state.(over)
			switch {
			case *used > most || !isOutcome:
				return false, state
			case c == nil:
				return true, over{}
			case isOver:
				return o == unknown, state
			}
			return sp.step(state, c, o)
		},
		Equal: func(a, b any) bool {
			if a == (over{}) || b == (over{}) {
				return a == b
			}
			return sp.equal(a, b)
		},
		Hash: func(a any) uint64 {
			if a == (over{}) {
				return 1
			}
			return sp.hash(a)
		},
	}
}

// edge is the beginning or the end of a call; that of the id final is the end
// of the history.
type edge struct {
	at  int64
	id  int
	end bool
}

const final = -1

func (e edge) event(calls []call, until int64) porcupine.Event {
	switch {
	case e.id == final && e.end:
		return porcupine.Event{Kind: porcupine.ReturnEvent, Value: done, Id: len(calls)}
	case e.id == final:
		return porcupine.Event{Kind: porcupine.CallEvent, Value: (*call)(nil), Id: len(calls)}
	case !e.end:
		return porcupine.Event{Kind: porcupine.CallEvent, Value: &calls[e.id], Id: e.id}
	case calls[e.id].ended > until:
		return porcupine.Event{Kind: porcupine.ReturnEvent, Value: unknown, Id: e.id}
	}
	return porcupine.Event{Kind: porcupine.ReturnEvent, Value: calls[e.id].outcome, Id: e.id}
}

// porcupineEvents orders invocations and ends by their indexes. After the last
// end the history is over, and calls without an end by then end, unknown. What
// never had an effect is left out.
func porcupineEvents(calls []call, until int64, readsCount bool) []porcupine.Event {
	edges := make([]edge, 0, 2*len(calls)+2)
	for i := range calls {
		c := &calls[i]
		idle := c.f == history.Read && !readsCount && (c.outcome == unknown || c.ended > until)
		if c.invoked > until || c.outcome == failed || idle {
			continue
		}
		edges = append(edges, edge{c.invoked, i, false}, edge{endBy(c, until), i, true})
	}
	edges = append(edges, edge{never, final, false}, edge{never, final, true})
	slices.SortStableFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
	})
	list := make([]porcupine.Event, len(edges))
	for i, e := range edges {
		list[i] = e.event(calls, until)
	}
	return list
}

func endBy(c *call, until int64) int64 {
	if c.ended > until {
		return never
	}
	return c.ended
}

// fencedState is a state of the fenced register: immutable, and shared by the
// states that differ in nothing.
type fencedState struct {
	fence
	values []history.Value // by the resource's place in the scope; never absent
}

// fencedSpecs are the sequential specifications of one scope of the fenced
// store: its reads lift no fence, or all of them do, and so do those of its cas that
// find another value.
func fencedSpecs(calls []call, c *Config) []spec {
	specs := []spec{fencedSpec(calls, c, lifts{})}
	some := lifts{
		reads: slices.ContainsFunc(calls, func(c call) bool { return c.f == history.Read && c.token != 0 }),
		idle:  slices.ContainsFunc(calls, func(c call) bool { return c.outcome == differs && c.token != 0 }),
	}
	if some.reads {
		specs = append(specs, fencedSpec(calls, c, lifts{reads: true}))
	}
	if some.idle {
		specs = append(specs, fencedSpec(calls, c, lifts{idle: true}))
	}
	if some.reads && some.idle {
		specs = append(specs, fencedSpec(calls, c, some))
	}
	return specs
}

// lifts says what lifts the fence beside what changes the store: reads, and a cas that
// finds another value.
type lifts struct{ reads, idle bool }

func fencedSpec(calls []call, config *Config, lift lifts) spec {
	var resources []int32
	for i := range calls {
		if !slices.Contains(resources, calls[i].resource) {
			resources = append(resources, calls[i].resource)
		}
	}
	slices.Sort(resources)
	start := &fencedState{values: make([]history.Value, len(resources))}
	for i := range start.values {
		start.values[i] = nilFor(config.Init)
	}
	return spec{
		init:       start,
		readsCount: lift.reads,
		step: func(state any, c *call, o outcome) (bool, any) {
			st, ok := state.(*fencedState)
			i, known := slices.BinarySearch(resources, c.resource)
			if !ok || !known {
				return false, state
			}
			if c.f == history.Read {
				return st.read(c, o, i, lift.reads, config.FreeReads)
			}
			if o == differs {
				return st.differs(c, i, lift.idle)
			}
			return st.step(c, o, i, start.values[i])
		},
		equal: func(a, b any) bool {
			x, _ := a.(*fencedState)
			y, _ := b.(*fencedState)
			return x.equal(y)
		},
		hash: func(a any) uint64 {
			st, _ := a.(*fencedState)
			return st.hash()
		},
	}
}

// read is a read of the resource in place i.
func (st *fencedState) read(c *call, o outcome, i int, lifts, free bool) (bool, *fencedState) {
	readable := st.readable(c.token, c.lease)
	if o == refused {
		return !readable && st.greatest(c), st
	}
	if !readable && !free || o == done && !mayBe(st.values[i], c.answer) {
		return false, st
	}
	if !lifts || c.token == 0 || !readable {
		return o == done, st
	}
	next := &fencedState{st.fence, st.values}
	next.lift(c.token, c.lease)
	return o == done || !next.equal(st), next
}

// differs is a cas that finds another value in place i. A store may compare before it
// looks at the token.
func (st *fencedState) differs(c *call, i int, lifts bool) (bool, *fencedState) {
	if st.values[i] != untold && sameValue(st.values[i], c.expect) {
		return false, st
	}
	if !lifts || !st.accepts(c.token, c.lease) {
		return true, st
	}
	next := &fencedState{st.fence, st.values}
	next.lift(c.token, c.lease)
	return true, next
}

// step is a mutation of the resource in place i, or a raise.
func (st *fencedState) step(c *call, o outcome, i int, init history.Value) (bool, *fencedState) {
	accepted := st.accepts(c.token, c.lease)
	if o == refused {
		return !accepted && st.greatest(c), st
	}
	if !accepted || c.f == history.CAS && !mayBe(st.values[i], c.expect) {
		return false, st
	}
	next := &fencedState{st.fence, st.values}
	next.lift(c.token, c.lease)
	if c.f != history.Raise {
		next.values = slices.Clone(st.values)
		if next.values[i] = nilFor(c.value); c.f == history.Delete {
			next.values[i] = init
		}
	}
	return o == done || !next.equal(st), next
}

func (st *fencedState) equal(o *fencedState) bool {
	return st == o || st != nil && o != nil && st.fence == o.fence && slices.Equal(st.values, o.values)
}

// greatest reports whether a stale reply told the greatest token right.
func (st *fencedState) greatest(c *call) bool { return c.highest == 0 || c.highest == st.token }

func (st *fencedState) hash() uint64 {
	if st == nil {
		return 0
	}
	h := mix(uint64(st.token), uint64(st.lease))
	for _, v := range st.values {
		h = mix(h, hashValue(v))
	}
	return h
}

func hashValue(v history.Value) uint64 {
	return mix(uint64(v.Kind)<<56^uint64(v.Num), hashText(v.Str))
}

func mix(a, b uint64) uint64 {
	h := (a ^ b<<31 ^ b>>33) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
