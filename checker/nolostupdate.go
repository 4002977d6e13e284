package checker

import (
	"slices"

	"staleproof/model/history"
)

var noLostUpdate = Property{
	Name: "no-lost-update",
	Guarantee: "A read-modify-write under a token is never based on a value that an older holder's late write then " +
		"changed.",
	Doc: "Watches the store's apply, raised and served notes of a resource. A mutation that names the operation whose " +
		"value it used (basis) is judged: between that operation and it, no mutation of a lower token was applied. " +
		"Tokens alone do not give this: the late write may come before the store has seen the new token.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "where basis is recorded",
	watch: func(v View) []interest {
		if !v.Store {
			return nil
		}
		return notes(history.Apply, history.Served)
	},
	monitor: func(e *env) Monitor { return &lostUpdates{base: e.base("no-lost-update")} },
}

// lostUpdates keeps the last mutation of each resource, and of each client the
// last operations that it may build upon.
type lostUpdates struct {
	base
	resources []resourceState
	clients   [][seenOps]sighting
}

// resourceState is how often a resource was changed, and its last mutations: of
// each token that none of a lower token followed the last one, oldest first. An
// older one matters to nobody whose token is not stale.
type resourceState struct {
	version int64
	last    [seenOps]lastChange
}

type lastChange struct {
	version int64 // 0 is none
	token   history.Token
	at      int64
}

// changed adds a mutation.
func (r *resourceState) changed(in *Input) {
	r.version++
	n := 0
	for n < len(r.last) && r.last[n].version != 0 && r.last[n].token < in.Token {
		n++
	}
	if n == len(r.last) {
		n--
		copy(r.last[:], r.last[1:])
	}
	clear(r.last[n:])
	r.last[n] = lastChange{r.version, in.Token, in.Index}
}

// late returns the first of the last mutations that came after a version: it has
// the lowest token of all since.
func (r *resourceState) late(version int64) *lastChange {
	for i := range r.last {
		if m := &r.last[i]; m.version > version {
			return m
		}
	}
	return nil
}

// seenOps is how many operations of a client are remembered: it builds upon the
// last one whose answer it got, and a few later answers may be lost.
const seenOps = 4

// sighting is an operation that showed or made a value.
type sighting struct {
	op       int64
	resource int32
	version  int64 // of the resource, after it
	at       int64
}

func (m *lostUpdates) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	resource := m.names.resources.id(in.Resource)
	r := at(&m.resources, resource)
	seen := at(&m.clients, in.client())
	if in.F == history.Apply {
		if in.Basis != 0 && m.judge(in, r, seen, resource) {
			return true
		}
		r.changed(in)
	}
	copy(seen[1:], seen[:])
	seen[0] = sighting{op: in.Op, resource: resource, version: r.version, at: in.Index}
	return false
}

// judge judges a mutation that was based on an operation of its client.
func (m *lostUpdates) judge(in *Input, r *resourceState, seen *[seenOps]sighting, resource int32) bool {
	for _, s := range seen {
		if s.op != in.Basis || s.resource != resource {
			continue
		}
		late := r.late(s.version)
		if late == nil || late.token >= in.Token {
			continue
		}
		return m.violate([]int64{s.at, late.at, in.Index},
			"a write with %s applied at #%d was based on the value of #%d, which a late write of %s had changed at #%d%s",
			tokenText(in.Token), in.Index, s.at, tokenText(late.token), late.at, inside(in.Resource))
	}
	return false
}

func (m *lostUpdates) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	for _, i := range m.names.clients.order() {
		if int(i) >= len(m.clients) || m.clients[i][0].op == 0 {
			continue
		}
		b = appendText(b, m.names.clients.list[i])
		for _, s := range m.clients[i] {
			if b = appendBool(b, s.op != 0); s.op == 0 {
				continue
			}
			b = appendText(b, m.names.resources.list[s.resource])
			late := m.resources[s.resource].late(s.version)
			if b = appendBool(b, late != nil); late != nil {
				b = appendInt(b, int64(late.token)) // a later one matters if its token is lower
			}
		}
	}
	return b
}

func (m *lostUpdates) Clone() Monitor {
	c := *m
	c.resources, c.clients = slices.Clone(m.resources), slices.Clone(m.clients)
	return &c
}

func (m *lostUpdates) Reset() {
	m.broken = nil
	clear(m.resources)
	clear(m.clients)
}
