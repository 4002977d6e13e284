package checker

import (
	"cmp"
	"fmt"
	"slices"

	"staleproof/model/history"
)

var noLostUpdate = Property{
	Name: "no-lost-update",
	Guarantee: "A read-modify-write under a token is never based on a value that an older holder's late write then " +
		"changed.",
	Doc: "Watches the store's apply, raised and served notes of a resource. A mutation that names the operation whose " +
		"value it used (basis) is judged: between that operation and it, no mutation of a lower token was applied. An " +
		"operation that the store does not note counts from its answer on. Of a history with more than 131,072 operations " +
		"on the store a basis that is as many operations old may be inconclusive. Tokens alone do not give " +
		"this: the late write may come before the store has seen the new token.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "where basis is recorded",
	watch: func(v View) []interest {
		if !v.Store {
			return nil
		}
		list := append(notes(history.Apply, history.Served), events(history.Invoke, mutations...)...)
		return append(append(list, events(history.OK, storeVerbs...)...), events(history.Fail, mutations...)...)
	},
	monitor: func(e *env) Monitor { return &lostUpdates{base: e.base("no-lost-update")} },
}

// lostUpdates keeps how each resource was changed, and when it was in the state that
// an operation showed or made.
type lostUpdates struct {
	base
	resources []resourceState
	seen      opTable[sighting] // of the last operations, at most manySeen
	before    opTable[sighting] // of as many before these
	forgot    bool              // some before these were dropped
	based     opTable[int64]    // the basis of mutations that were not applied
	undecided *Violation        // a mutation whose basis may have been forgotten
}

// manySeen bounds the operations that are remembered, twice, at 64 bytes each.
var manySeen = 1 << 17

// resourceState is how often a resource was changed, and its last mutations: of
// each token that none of a lower token followed the last one, oldest first. An
// older one matters to nobody whose token is not stale.
type resourceState struct {
	version int64
	last    []lastChange
}

type lastChange struct {
	version int64
	token   history.Token
	at      int64
}

// changed adds a mutation.
func (r *resourceState) changed(in *Input) {
	r.version++
	n := len(r.last)
	for n > 0 && r.last[n-1].token >= in.Token {
		n--
	}
	r.last = append(r.last[:n], lastChange{r.version, in.Token, in.Index})
}

// late returns the first of the last mutations that came after a version: it has
// the lowest token of all since. It is nil if there is none.
func (r *resourceState) late(version int64) *lastChange {
	i, _ := slices.BinarySearchFunc(r.last, version+1, func(m lastChange, v int64) int { return cmp.Compare(m.version, v) })
	if i == len(r.last) {
		return nil
	}
	return &r.last[i]
}

// sighting is an operation that showed or made a value.
type sighting struct {
	resource int32
	client   int32
	version  int64 // of the resource, after it
	at       int64
	answered bool // its client has the answer: a copy that arrives later does not change it
}

func (m *lostUpdates) Verdict() (Outcome, *Violation) {
	if m.broken == nil && m.undecided != nil {
		return Inconclusive, m.undecided
	}
	return m.base.Verdict()
}

func (m *lostUpdates) Observe(in *Input) bool {
	switch {
	case m.broken != nil:
		return false
	case in.Type == history.Invoke:
		if in.Basis != 0 {
			b, _ := m.based.add(in.Op)
			b.rec = in.Basis
		}
		return false
	case in.Type == history.Fail:
		m.applied(in.Op)
		return false
	}
	o := m.find(in.Op)
	if in.Type == history.OK {
		m.applied(in.Op)
		if o != nil {
			o.rec.answered = true
			return false
		}
	}
	if in.F == history.Served && o != nil && o.rec.answered {
		return false
	}
	resource := m.names.resources.id(in.Resource)
	r := at(&m.resources, resource)
	if in.F == history.Apply {
		if basis := cmp.Or(in.Basis, m.applied(in.Op)); basis != 0 && m.judge(in, r, basis, resource) {
			return true
		}
		r.changed(in)
	}
	m.see(in.Op, sighting{resource, in.client(), r.version, in.Index, in.Type == history.OK})
	return false
}

// applied returns the basis of a mutation that is over, 0 if it has none.
func (m *lostUpdates) applied(op int64) int64 {
	b := m.based.find(op)
	if b == nil {
		return 0
	}
	m.based.remove(b)
	return b.rec
}

// see remembers an operation that has a number.
func (m *lostUpdates) see(op int64, s sighting) {
	if op == 0 {
		return
	}
	if m.seen.used >= manySeen && m.seen.find(op) == nil {
		m.forgot = m.forgot || m.before.used > 0
		m.seen, m.before = m.before, m.seen
		m.seen.reset()
	}
	o, _ := m.seen.add(op)
	o.rec = s
}

// find returns what is remembered of an operation.
func (m *lostUpdates) find(op int64) *opEntry[sighting] {
	if o := m.seen.find(op); o != nil {
		return o
	}
	return m.before.find(op)
}

// judge judges a mutation that was based on an operation, and reports whether it breaks
// the guarantee.
func (m *lostUpdates) judge(in *Input, r *resourceState, basis int64, resource int32) bool {
	o := m.find(basis)
	if o == nil {
		if m.undecided == nil {
			m.undecided = m.unknown(in, basis)
		}
		return false
	}
	s := &o.rec
	late := r.late(s.version)
	if s.resource != resource || late == nil || late.token >= in.Token {
		return false
	}
	return m.violate([]int64{s.at, late.at, in.Index},
		"a write with %s applied at #%d was based on the value of #%d, which a late write of %s had changed at #%d%s",
		tokenText(in.Token), in.Index, s.at, tokenText(late.token), late.at, inside(in.Resource))
}

// unknown says why a mutation cannot be judged.
func (m *lostUpdates) unknown(in *Input, basis int64) *Violation {
	why := "which has neither a note nor an answer"
	if m.forgot {
		why = fmt.Sprintf("and only the last %d operations are remembered", manySeen)
	}
	return newViolation(m.property, []int64{in.Index}, "undecided: a write with %s applied at #%d was based on operation %d, %s%s",
		tokenText(in.Token), in.Index, basis, why, inside(in.Resource))
}

func (m *lostUpdates) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	b = appendBool(appendBool(b, m.undecided != nil), m.forgot)
	var keys [][]byte
	for _, t := range []*opTable[sighting]{&m.before, &m.seen} {
		for i := range t.ops {
			if o := &t.ops[i]; o.open && (t == &m.seen || m.seen.find(o.op) == nil) {
				k := m.appendSighting(appendInt(nil, o.op), &o.rec) // a later note may name it
				keys = append(keys, appendBool(k, o.rec.answered))
			}
		}
	}
	b = appendSorted(b, keys) // of one client and resource, the earlier of two has the lower token
	keys = keys[:0]
	for i := range m.based.ops {
		if o := &m.based.ops[i]; o.open {
			k := appendInt(nil, o.op)
			if s := m.find(o.rec); s != nil {
				k = m.appendSighting(k, &s.rec)
			}
			keys = append(keys, k)
		}
	}
	return appendSorted(b, keys)
}

// appendSighting appends what a mutation that is based on an operation is judged by.
func (m *lostUpdates) appendSighting(b []byte, s *sighting) []byte {
	b = appendText(b, m.names.resources.list[s.resource])
	late := m.resources[s.resource].late(s.version)
	if b = appendBool(b, late != nil); late != nil {
		b = appendInt(b, int64(late.token)) // a later one matters if its token is lower
	}
	return b
}

func (m *lostUpdates) Clone() Monitor {
	c := *m
	c.seen, c.before, c.based = m.seen.clone(), m.before.clone(), m.based.clone()
	c.resources = slices.Clone(m.resources)
	for i := range c.resources {
		c.resources[i].last = slices.Clone(c.resources[i].last)
	}
	return &c
}

func (m *lostUpdates) Reset() {
	m.broken, m.undecided, m.forgot = nil, nil, false
	m.seen.reset()
	m.before.reset()
	m.based.reset()
	for i := range m.resources {
		m.resources[i] = resourceState{last: m.resources[i].last[:0]}
	}
}
