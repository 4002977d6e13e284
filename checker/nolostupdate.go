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

// resourceState is the last mutation of a resource and how many came before.
type resourceState struct {
	version int64
	token   history.Token
	at      int64
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
	seen := at(&m.clients, in.Client)
	if in.F == history.Apply {
		if in.Basis != 0 && m.judge(in, r, seen, resource) {
			return true
		}
		*r = resourceState{version: r.version + 1, token: in.Token, at: in.Index}
	}
	copy(seen[1:], seen[:])
	seen[0] = sighting{op: in.Op, resource: resource, version: r.version, at: in.Index}
	return false
}

// judge judges a mutation that was based on an operation of its client.
func (m *lostUpdates) judge(in *Input, r *resourceState, seen *[seenOps]sighting, resource int32) bool {
	for _, s := range seen {
		if s.op != in.Basis || s.resource != resource || r.version == s.version || r.token >= in.Token {
			continue
		}
		return m.violate([]int64{s.at, r.at, in.Index},
			"a write with %s applied at #%d was based on the value of #%d, which a late write of token %d had changed at #%d%s",
			tokenText(in.Token), in.Index, s.at, r.token, r.at, inside(in.Resource))
	}
	return false
}

func (m *lostUpdates) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	for _, i := range m.names.resources.order() {
		if int(i) < len(m.resources) && m.resources[i].version != 0 {
			b = appendText(b, m.names.resources.list[i])
			b = appendInt(b, int64(m.resources[i].token))
		}
	}
	for _, i := range m.names.clients.order() {
		if int(i) >= len(m.clients) || m.clients[i][0].op == 0 {
			continue
		}
		b = appendText(b, m.names.clients.list[i])
		for _, s := range m.clients[i] {
			if s.op != 0 {
				b = appendText(b, m.names.resources.list[s.resource])
				b = appendBool(b, m.resources[s.resource].version == s.version)
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
