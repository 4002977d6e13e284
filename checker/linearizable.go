package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"staleproof/model/history"
)

var linearizable = Property{
	Name:      "linearizable",
	Guarantee: "Each scope of the store behaves as one fenced register: check and apply are one step.",
	Doc: "Two layers. The witness takes the store's own notes as the order of effects: one note lies inside the interval of " +
		"every completed operation, and the specification, stepped in that order, gives every reply. Where that fails, or " +
		"there are no notes, porcupine searches for another order, scope by scope, within a limit of memory.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "porcupine",
	watch: func(v View) []interest {
		list := append(events(history.Invoke, storeVerbs...), ends(storeVerbs...)...)
		if v.Store {
			list = append(list, notes(history.Apply, history.Reject, history.Raised, history.Served)...)
		}
		return list
	},
	monitor: func(e *env) Monitor { return newLinearizability(e) },
}

// fence is the specification of a fence: the greatest accepted token and the
// lease that brought it.
type fence struct {
	token history.Token
	lease identity
}

// accepts is the rule of the fenced store: a greater token, or the same one
// from the same lease.
func (f *fence) accepts(t history.Token, l identity) bool {
	return t > f.token || t == f.token && sameLease(f.lease, l)
}

// lift makes an accepted token the fence.
func (f *fence) lift(t history.Token, l identity) {
	if t > f.token || f.lease == 0 {
		*f = fence{t, l}
	}
}

// readable reports whether the fence lets a read pass. One without a token asks
// for no protection. Whether an accepted read lifts the fence is for the store
// to choose, once for all reads.
func (f *fence) readable(t history.Token, l identity) bool { return t == 0 || f.accepts(t, l) }

// linearizability is the witness, and the log for the search when it fails.
//
// The witness is a proof: the notes order the effects, each inside its
// operation's interval, and the sequential specification stepped in that order
// gives every reply. A second note that has no effect (a duplicate refused or
// read again) proves nothing and disproves nothing. What the witness cannot
// prove is not yet a violation.
type linearizability struct {
	base
	config Config
	fences []witnessed     // by fence
	values []history.Value // by resource; absent stands for the initial value
	// changed is where each resource got another value last.
	changed []int64
	open    opTable[openOp]
	// failures are the operations whose client was told that they had no effect and
	// of which the store noted none, with where they failed.
	failures   opTable[int64]
	unrecorded []call     // effects of operations that were not recorded
	failed     *Violation // what the witness could not explain; nil while it holds
	placed     bool       // failed quotes the store's notes
	unnoted    bool       // there are operations, and will be no notes
	reads      readPolicy // what the notes say so far

	searched bool // result is the final judgement
	result   Result
}

// openOp is an operation on the store between its invocation and its end; one
// of unknown outcome stays until its effect is seen. Until its end, its answer is
// what a read must return, and its highest the fence at the rejection.
type openOp struct {
	call
	point   point
	noted   int64 // where it took effect
	right   bool  // a rejection that the specification gives too
	excused bool  // a rejection that only a grant justifies
	unknown bool  // its client waits no longer
}

// effective reports whether the operation took effect.
func (o *openOp) effective() bool { return o.point == applied || o.point == raised }

// point is where an operation took effect, or was answered without one.
type point uint8

const (
	nowhere point = iota
	applied
	raised
	rejected
	served
)

// readPolicy says whether reads lift the fence.
type readPolicy uint8

const (
	readsUndecided readPolicy = iota
	readsLift
	readsDoNotLift
)

// witnessed is a fence's state in the order of the notes.
type witnessed struct {
	fence
	at int64 // where its token was accepted
}

// lift makes a token that was accepted at an index the fence.
func (f *witnessed) lift(t history.Token, l identity, index int64) {
	if t > f.token {
		f.at = index
	}
	f.fence.lift(t, l)
}

func newLinearizability(e *env) *linearizability {
	m := &linearizability{base: e.base("linearizable"), config: e.config}
	m.open.keep = !e.config.Forget && e.config.Source == nil
	m.Reset()
	return m
}

func (m *linearizability) Reset() {
	m.broken, m.failed, m.placed, m.unnoted, m.reads, m.searched = nil, nil, false, false, readsUndecided, false
	clear(m.fences)
	clear(m.values)
	clear(m.changed)
	m.open.reset()
	m.failures.reset()
	m.unrecorded = m.unrecorded[:0]
}

// Verdict is inconclusive from the witness's failure on; only [Suite.Finish]
// can tell.
func (m *linearizability) Verdict() (Outcome, *Violation) {
	switch {
	case m.broken != nil:
		return Violated, m.broken
	case m.failed != nil:
		return Inconclusive, m.failed
	case m.unnoted:
		return Inconclusive, newViolation(m.property, nil, "not judged before the end: the history has no notes of the store")
	}
	return Satisfied, nil
}

func (m *linearizability) Observe(in *Input) bool {
	switch {
	case m.over():
		return false
	case in.Type == history.Note:
		m.note(in)
	case in.Type == history.Invoke:
		m.begin(in)
	default:
		m.end(in)
	}
	return m.broken != nil
}

// over reports whether no further event matters: the guarantee is broken, or the
// witness has failed inside a search that judges the path by running it again.
func (m *linearizability) over() bool { return m.broken != nil || m.failed != nil && m.config.Forget }

func (m *linearizability) begin(in *Input) {
	e, twice := m.open.add(in.Op)
	if twice { // the older operation counts as unknown
		m.fail(in, false, "operation %d invoked at #%d was not over", in.Op, in.Index)
	}
	e.rec.begin(in, m.names)
	m.unnoted = !m.config.View.Store
}

func (m *linearizability) end(in *Input) {
	e := m.open.find(in.Op)
	if e == nil {
		m.fail(in, false, "%s of operation %d at #%d has no invoke", in.Type, in.Op, in.Index)
		m.begin(in)
		e = m.open.find(in.Op)
		e.rec.invoked = math.MinInt64 // it may have begun at any time before
	}
	o := &e.rec
	if m.config.View.Store {
		switch {
		case in.Type == history.Fail && o.effective():
			m.despite(m.describe(o), o.noted, in.Index, in)
		case in.Type == history.Fail && o.point == nowhere && !m.config.Forget:
			f, _ := m.failures.add(in.Op)
			f.rec = in.Index
		}
		if m.failed == nil && (in.Type != history.OK || !o.allows(in)) {
			m.reply(in, o)
		}
		if in.Type == history.Info && o.point == nowhere {
			o.unknown = true
			return
		}
	}
	o.learn(in, m.config.evidence)
	m.open.remove(e)
}

// despite breaks the guarantee: an operation whose client was told at one index that
// it had no effect took effect at another.
func (m *linearizability) despite(what string, effect, told int64, in *Input) {
	m.violate([]int64{min(effect, told), max(effect, told)}, "%s failed at #%d and yet took effect at #%d%s",
		what, told, effect, inside(in.Resource))
}

// allows reports whether an ok is what the specification gave at the operation's
// point.
func (o *openOp) allows(in *Input) bool {
	return o.point == okPoint(o.f) && (o.point != served || mayBe(o.answer, in.Value))
}

// reply judges a reply that is not an ok which the specification allows.
func (m *linearizability) reply(in *Input, o *openOp) {
	switch {
	case in.Type == history.Info:
	case in.Type == history.OK && o.point == okPoint(o.f):
		m.fail(in, true, "the store answered %s to %s at #%d although the value was %s%s",
			nilText(in.Value), m.describe(o), in.Index, nilText(o.answer), inside(in.Resource))
	case in.Type == history.OK:
		m.fail(in, o.point != nowhere, "the store answered ok to %s at #%d and noted %s for it%s",
			m.describe(o), in.Index, o.point.text(), inside(in.Resource))
	case in.Error == history.Stale:
		m.stale(in, o)
	case m.config.evidence.differs(in.Event) && !m.differed(o):
		m.fail(in, false, "the store answered to %s at #%d that it found another value%s", m.describe(o), in.Index, inside(in.Resource))
	}
}

func (m *linearizability) stale(in *Input, o *openOp) {
	f := at(&m.fences, o.fence)
	switch {
	case o.point != rejected:
		m.fail(in, o.point != nowhere, "the store answered stale to %s at #%d and noted %s for it%s",
			m.describe(o), in.Index, o.point.text(), inside(in.Resource))
	case !o.right:
		m.fail(in, true, "the store answered stale to %s at #%d although no greater token was accepted: the greatest was %d%s",
			m.describe(o), in.Index, o.highest, inside(in.Resource))
	case in.Highest != 0 && in.Highest != o.highest && !o.excused:
		m.failAt(f.at, in, "the store answered %s at #%d that its greatest token was %d although it was %d%s",
			m.describe(o), in.Index, in.Highest, o.highest, inside(in.Resource))
	}
}

// differed reports whether a cas may have found another value than it expected.
func (m *linearizability) differed(o *openOp) bool {
	v := m.current(at(&m.values, o.resource))
	return v == untold || !sameValue(v, o.expect) || *at(&m.changed, o.resource) > o.invoked
}

// becomes gives a resource a value.
func (m *linearizability) becomes(resource int32, v history.Value, index int64) {
	if value := at(&m.values, resource); *value != v {
		*value = v
		*at(&m.changed, resource) = index
	}
}

// note steps the specification at a note of the store.
func (m *linearizability) note(in *Input) {
	effect := in.F == history.Apply || in.F == history.Raised
	if in.Op == 0 {
		if effect {
			m.unknownEffect(in)
		}
		return
	}
	e := m.open.find(in.Op)
	if e == nil && effect {
		if f := m.failures.find(in.Op); f != nil {
			m.despite(fmt.Sprintf("operation %d", in.Op), in.Index, f.rec, in)
			return
		}
	}
	if e != nil && effect && e.rec.noted == 0 {
		e.rec.noted = in.Index
	}
	if m.failed != nil {
		if e != nil && effect {
			e.rec.point = okPoint(e.rec.f)
		}
		return
	}
	if e == nil || e.rec.effective() || e.rec.point != nowhere && !effect {
		if effect {
			m.strayEffect(in, e)
		}
		return
	}
	o := &e.rec
	f := at(&m.fences, o.fence)
	switch in.F {
	case history.Apply:
		m.apply(in, o, f)
	case history.Raised:
		o.point = raised
		if o.f != history.Raise || !f.accepts(o.token, o.lease) {
			m.refused(in, o, f)
			return
		}
		f.lift(o.token, o.lease, in.Index)
	case history.Reject:
		o.point, o.highest = rejected, f.token
		if o.right = !f.accepts(o.token, o.lease); !o.right {
			o.right = m.config.grants.excuse(in.ScopeName(), o.token, in.Index)
			o.excused = o.right
		}
	case history.Served:
		o.point, o.answer = served, m.current(at(&m.values, o.resource))
		switch readable := f.readable(o.token, o.lease); {
		case o.f == history.Read && readable:
			m.read(in, o, f)
		case o.f != history.Read || !m.config.FreeReads:
			m.refused(in, o, f)
			return
		}
	}
	if o.unknown {
		m.open.remove(e)
	}
}

// untold is the value after a write that was not recorded and whose note does not
// tell it.
var untold = history.Value{Kind: history.Raw + 1}

// unknownEffect steps the effect of an operation that was not recorded. It has neither
// invoke nor end, so that it takes effect at its note.
func (m *linearizability) unknownEffect(in *Input) {
	var c call
	c.happen(in, m.names)
	if m.open.keep {
		m.unrecorded = append(m.unrecorded, c)
	}
	if m.failed != nil {
		return
	}
	f := at(&m.fences, c.fence)
	if !f.accepts(c.token, c.lease) {
		m.failAt(f.at, in, "the store accepted %s at #%d although token %d was accepted at #%d%s",
			describeCall(c.f, c.value, c.expect, c.token), in.Index, f.token, f.at, inside(in.Resource))
		return
	}
	f.lift(c.token, c.lease, in.Index)
	if c.f == history.Write {
		m.becomes(c.resource, c.value, in.Index)
	}
}

// read lifts the fence if the store's reads do. A note that tells the greatest
// token after a read with a greater one shows which.
func (m *linearizability) read(in *Input, o *openOp, f *witnessed) {
	if o.token > f.token && in.Highest != 0 {
		shown := readsDoNotLift
		if in.Highest == o.token {
			shown = readsLift
		}
		if m.reads == readsUndecided {
			m.reads = shown
		}
		if m.reads != shown {
			m.fail(in, true, "the store let some reads lift the fence and others not, as %s at #%d%s",
				m.describe(o), in.Index, inside(in.Resource))
			return
		}
	}
	if m.reads == readsLift && o.token != 0 {
		f.lift(o.token, o.lease, in.Index)
	}
}

// apply steps a mutation. The token is the one that the client presented: a
// store that applies under another one does not do what was asked.
func (m *linearizability) apply(in *Input, o *openOp, f *witnessed) {
	o.point = applied
	v := at(&m.values, o.resource)
	switch {
	case !o.f.IsMutation():
		m.fail(in, true, "the store applied %s at #%d, which is no mutation%s", m.describe(o), in.Index, inside(in.Resource))
	case !f.accepts(o.token, o.lease):
		m.refused(in, o, f)
	case o.f == history.CAS && !mayBe(m.current(v), o.expect):
		m.fail(in, true, "the store applied %s at #%d although the value was %s%s",
			m.describe(o), in.Index, nilText(m.current(v)), inside(in.Resource))
	default:
		value := nilFor(o.value)
		if o.f == history.Delete {
			value = history.Value{} // as if it had never been written
		}
		m.becomes(o.resource, value, in.Index)
		f.lift(o.token, o.lease, in.Index)
	}
}

func (m *linearizability) current(v *history.Value) history.Value {
	if v.Kind == history.Absent {
		return nilFor(m.config.Init)
	}
	return *v
}

// refused fails the witness: the store accepted what its fence forbids.
func (m *linearizability) refused(in *Input, o *openOp, f *witnessed) {
	if f.accepts(o.token, o.lease) {
		m.fail(in, true, "the store noted %s at #%d for %s%s", in.F, in.Index, m.describe(o), inside(in.Resource))
		return
	}
	other := ""
	if o.token == f.token {
		other = " from another lease"
	}
	m.failAt(f.at, in, "the store accepted %s at #%d although token %d was accepted at #%d%s%s",
		m.describe(o), in.Index, f.token, f.at, other, inside(in.Resource))
}

// strayEffect fails the witness at an effect that no open operation explains.
func (m *linearizability) strayEffect(in *Input, e *opEntry[openOp]) {
	if e != nil {
		m.fail(in, true, "%s took effect a second time at #%d%s", m.describe(&e.rec), in.Index, inside(in.Resource))
		return
	}
	m.fail(in, true, "operation %d took effect at #%d, outside its interval%s", in.Op, in.Index, inside(in.Resource))
}

func (m *linearizability) fail(in *Input, placed bool, format string, args ...any) {
	m.failWith([]int64{in.Index}, placed, format, args...)
}

func (m *linearizability) failAt(before int64, in *Input, format string, args ...any) {
	m.failWith([]int64{before, in.Index}, true, format, args...)
}

func (m *linearizability) failWith(events []int64, placed bool, format string, args ...any) {
	if m.failed == nil {
		m.failed = newViolation(m.property, events, format, args...)
		m.placed = placed
	}
}

// describe names an operation by content: "write 10 with token 1".
func (m *linearizability) describe(o *openOp) string {
	return describeCall(o.f, o.value, o.expect, o.token)
}

func describeCall(f history.F, value, expect history.Value, token history.Token) string {
	text := f.String()
	switch f {
	case history.Write, history.Batch:
		text += " " + nilText(value)
	case history.CAS:
		text += " " + nilText(expect) + " to " + nilText(value)
	}
	if token != 0 {
		text += " with token " + token.String()
	}
	return text
}

// okPoint is the note that an ok of the verb needs.
func okPoint(f history.F) point {
	switch f {
	case history.Raise:
		return raised
	case history.Read:
		return served
	}
	return applied
}

func (p point) text() string {
	return [...]string{"nothing", "apply", "raised", "reject", "served"}[p]
}

// nilFor makes the absent value nil: a deleted or never written resource reads
// as nil, whether or not the history spells it.
func nilFor(v history.Value) history.Value {
	if v.Kind == history.Absent {
		return history.NilValue
	}
	return v
}

func sameValue(a, b history.Value) bool { return a == b || nilFor(a) == nilFor(b) }

// mayBe reports whether the current value may be v.
func mayBe(current, v history.Value) bool { return current == untold || sameValue(current, v) }

func nilText(v history.Value) string {
	if v == untold {
		return "a value that was not recorded"
	}
	return nilFor(v).String()
}

func (m *linearizability) AppendKey(b []byte) []byte {
	if m.failed != nil || m.broken != nil {
		return append(b, ended)
	}
	b = append(appendBool(b, m.unnoted), byte(m.reads))
	fences := m.names.fences()
	for _, i := range fences.order() {
		if int(i) < len(m.fences) && m.fences[i].token != 0 {
			b = appendText(b, fences.list[i])
			b = appendInt(b, int64(m.fences[i].token))
			b = appendLease(b, m.fences[i].lease)
		}
	}
	b = append(b, 0)
	for _, i := range m.names.resources.order() {
		if int(i) < len(m.values) && m.values[i].Kind != history.Absent {
			b = appendText(b, m.names.resources.list[i])
			b = appendValue(b, m.values[i])
		}
	}
	keys := make([][]byte, 0, m.open.used)
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open {
			keys = append(keys, m.openKey(&o.rec))
		}
	}
	return appendSorted(b, keys)
}

// openKey describes an open operation by its client and content.
func (m *linearizability) openKey(o *openOp) []byte {
	b := appendText(nil, m.names.clients.list[o.client])
	b = append(b, byte(o.f), byte(o.point))
	b = appendBool(b, o.unknown)
	b = appendBool(b, o.right)
	b = appendBool(b, o.f == history.CAS && int(o.resource) < len(m.changed) && m.changed[o.resource] > o.invoked)
	b = appendText(b, m.names.resources.list[o.resource])
	b = appendText(b, m.names.fences().list[o.fence])
	b = appendInt(b, int64(o.token))
	b = appendLease(b, o.lease)
	b = appendInt(b, int64(o.highest))
	b = appendValue(b, o.value)
	b = appendValue(b, o.expect)
	return appendValue(b, o.answer)
}

func appendValue(b []byte, v history.Value) []byte {
	b = append(b, byte(v.Kind))
	b = appendInt(b, v.Num)
	return appendText(b, v.Str)
}

func (m *linearizability) Clone() Monitor {
	c := *m
	c.fences, c.values, c.changed = slices.Clone(m.fences), slices.Clone(m.values), slices.Clone(m.changed)
	c.open, c.failures, c.unrecorded = m.open.clone(), m.failures.clone(), slices.Clone(m.unrecorded)
	return &c
}

// finish proves or searches, once.
func (m *linearizability) finish() (Outcome, *Violation, int64) {
	if !m.searched {
		m.result, m.searched = m.search(), true
	}
	return m.result.Outcome, m.result.Violation, m.result.Steps
}

// excuse drops the refusals that a grant justifies: they need no accepted token.
func (m *linearizability) excuse(calls []call) {
	for i := range calls {
		c := &calls[i]
		if c.outcome == refused && m.config.grants.excuse(m.names.fences().list[c.fence], c.token, c.ended) {
			c.outcome = failed
		}
	}
}

func (m *linearizability) search() Result {
	var calls []call
	switch o, v := m.Verdict(); {
	case o != Inconclusive || m.config.Forget:
		return Result{Outcome: o, Violation: v}
	case m.config.Source != nil:
		var err error
		if calls, err = logOf(m.config.Source, m.names, m.config.calls()+1, m.config.evidence); err != nil {
			return Result{Outcome: Inconclusive, Violation: newViolation(m.property, nil, "undecided: cannot read the history again: %v", err)}
		}
	default:
		for i := range m.open.ops {
			calls = append(calls, m.open.ops[i].rec.call)
		}
		calls = append(calls, m.unrecorded...)
		slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.invoked, b.invoked) })
	}
	m.excuse(calls)
	s := search{property: m.property, names: m.names, config: m.config, partial: m.config.Source != nil && !m.placed}
	o, v := s.judgeScopes(calls, func(mine []call) []spec { return fencedSpecs(mine, &m.config) })
	switch {
	case o == Satisfied:
		v = nil
	case o == Violated && m.placed:
		v = m.failed // the store's own notes say it better
	}
	if o == Violated {
		m.broken = v
	}
	return Result{Outcome: o, Violation: v, Steps: s.steps}
}
