package checker

import (
	"slices"

	"staleproof/model/history"
)

var noStaleWrite = Property{
	Name: "no-stale-write",
	Guarantee: "In a scope, once a mutation with token t was accepted, no mutation with a lower token is ever applied: " +
		"any verb, any arrival order.",
	Doc: "Watches the store's apply and raised notes, in their order. An operation without a token is lower than any token. " +
		"Without the store's notes, linearizable judges it.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "through linearizable",
	watch: func(v View) []interest {
		if !v.Store {
			return nil
		}
		return notes(history.Apply, history.Raised)
	},
	monitor: func(e *env) Monitor { return &staleWrites{base: e.base("no-stale-write")} },
}

// staleWrites keeps, per fence, the greatest token that the store accepted.
type staleWrites struct {
	base
	fences []accepted
}

// accepted is the greatest accepted token and where it was accepted.
type accepted struct {
	token history.Token
	at    int64
}

func (m *staleWrites) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	f := at(&m.fences, in.fence())
	if in.Token > f.token {
		f.token, f.at = in.Token, in.Index
		return false
	}
	if in.Token == f.token || in.F == history.Raised {
		return false
	}
	return m.violate([]int64{f.at, in.Index}, "%s applied at #%d after token %d was accepted at #%d%s",
		tokenText(in.Token), in.Index, f.token, f.at, inside(in.Resource))
}

func (m *staleWrites) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	fences := m.names.fences()
	for _, i := range fences.order() {
		if int(i) < len(m.fences) && m.fences[i].token != 0 {
			b = appendText(b, fences.list[i])
			b = appendInt(b, int64(m.fences[i].token))
		}
	}
	return b
}

func (m *staleWrites) Clone() Monitor {
	c := *m
	c.fences = slices.Clone(m.fences)
	return &c
}

func (m *staleWrites) Reset() {
	m.broken = nil
	clear(m.fences)
}
