package checker

import (
	"slices"

	"staleproof/model/history"
)

var scopeIsolation = Property{
	Name: "scope-isolation",
	Guarantee: "A rejection is justified in the same scope: by a greater accepted token, or by an equal one first " +
		"accepted from another lease.",
	Doc: "Watches apply, raised and reject notes. A refusal for which the store had accepted nothing in the scope that the " +
		"fence is declared to cover was brought about by another scope, or by nothing. A store may choose that a read it " +
		"answers lifts its fence, and a request that has no answer may have lifted it.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "over completed operations",
	watch: func(v View) []interest {
		if !v.Store {
			return nil
		}
		list := notes(history.Apply, history.Raised, history.Reject, history.Served)
		for _, t := range []history.Type{history.Invoke, history.OK, history.Fail} {
			list = append(list, events(t, history.Raise, history.Write, history.Delete, history.CAS, history.Batch)...)
		}
		return list
	},
	monitor: func(e *env) Monitor { return &isolation{base: e.base("scope-isolation"), grants: e.config.grants} },
}

// isolation keeps, per fence, the greatest accepted token and the lease that
// brought it first.
type isolation struct {
	base
	grants *grants
	fences []brought
}

type brought struct {
	token history.Token
	lease identity
	at    int64
	read  history.Token    // the greatest token of a read that was answered
	open  unanswered[lift] // requests
}

// lift is a request that may have lifted a fence.
type lift struct {
	token history.Token
	lease identity
}

// justifies reports whether a request without an answer may be why a token is refused.
// It is not where the store's greatest token is told and lower than the request's.
func (f *brought) justifies(in *Input) bool {
	return slices.ContainsFunc(f.open.all(), func(o asking[lift]) bool {
		l := &o.about
		above := l.token > in.Token || l.token == in.Token && l.lease != in.lease()
		return above && (in.Highest == 0 || l.token <= in.Highest)
	})
}

func (m *isolation) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	f := at(&m.fences, in.fence())
	switch in.Type {
	case history.Invoke:
		f.open.begin(in.Op, lift{in.Token, in.lease()})
		return false
	case history.OK, history.Fail:
		f.open.end(in.Op)
		return false
	}
	switch in.F {
	case history.Served:
		f.read = max(f.read, in.Token)
		return false
	case history.Apply, history.Raised:
		if in.Token > f.token {
			f.token, f.lease, f.at = in.Token, in.lease(), in.Index
		}
		return false
	}
	if f.read > in.Token || f.token > in.Token || f.token == in.Token && f.token != 0 && f.lease != in.lease() || f.justifies(in) ||
		m.grants.excuse(in.ScopeName(), in.Token, in.Index) {
		return false
	}
	if f.token == 0 {
		return m.violate([]int64{in.Index}, "%s refused at #%d although the store had accepted no token%s",
			tokenText(in.Token), in.Index, inside(in.Resource))
	}
	return m.violate([]int64{f.at, in.Index}, "%s refused at #%d although the greatest token accepted is %d of the same lease or an older one, at #%d%s",
		tokenText(in.Token), in.Index, f.token, f.at, inside(in.Resource))
}

func (m *isolation) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	fences := m.names.fences()
	for _, i := range fences.order() {
		if int(i) < len(m.fences) && m.fences[i] != (brought{}) {
			b = appendText(b, fences.list[i])
			b = appendInt(b, int64(m.fences[i].token))
			b = appendLease(b, m.fences[i].lease)
			b = appendInt(b, int64(max(0, m.fences[i].read-m.fences[i].token))) // below, it justifies nothing more
			b = append(b, byte(m.fences[i].open.count))
			for _, o := range m.fences[i].open.all() {
				b = appendLease(appendInt(appendInt(b, o.op), int64(o.about.token)), o.about.lease)
			}
		}
	}
	return b
}

func (m *isolation) Clone() Monitor {
	c := *m
	c.fences = slices.Clone(m.fences)
	return &c
}

func (m *isolation) Reset() {
	m.broken = nil
	clear(m.fences)
}
