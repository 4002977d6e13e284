package checker

import (
	"cmp"
	"slices"

	"staleproof/model/history"
)

var scopeIsolation = Property{
	Name: "scope-isolation",
	Guarantee: "A rejection is justified in the same scope: by a greater accepted token, or by an equal one first " +
		"accepted from another lease.",
	Doc: "Watches apply, raised and reject notes. A refusal for which the store had accepted nothing in the scope that the " +
		"fence is declared to cover was brought about by another scope, or by nothing. A store may choose that a read it " +
		"answers lifts its fence, and a request that has no answer may have lifted it: either justifies a refusal that " +
		"names its token as the greatest, or none.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "over completed operations",
	watch: func(v View) []interest {
		if !v.Store {
			return nil
		}
		list := notes(history.Apply, history.Raised, history.Reject, history.Served)
		return append(append(list, events(history.Invoke, storeVerbs...)...), ends(storeVerbs...)...)
	},
	monitor: func(e *env) Monitor { return &isolation{base: e.base("scope-isolation"), grants: e.config.grants} },
}

// isolation keeps, per fence, the greatest accepted token and the lease that
// brought it first, and the requests that have no answer.
type isolation struct {
	base
	grants *grants
	fences []brought
	open   opTable[lift]
}

type brought struct {
	token history.Token
	lease identity
	at    int64
	read  lift   // of the read that was answered with the greatest token
	maybe []lift // by requests of unknown outcome: each once, in order
}

// lift is what lifts a fence.
type lift struct {
	token history.Token
	lease identity
	fence int32
}

func (l lift) compare(o lift) int {
	return cmp.Or(cmp.Compare(l.token, o.token), cmp.Compare(l.lease, o.lease))
}

// justifies reports whether l may be why a token is refused.
func (l *lift) justifies(in *Input) bool {
	return (l.token > in.Token || l.token == in.Token && l.lease != in.lease()) && (in.Highest == 0 || in.Highest == l.token)
}

// unanswered reports whether a request without an answer may be why a token is refused.
func (m *isolation) unanswered(in *Input, f *brought) bool {
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open && o.rec.fence == in.fence() && o.rec.justifies(in) {
			return true
		}
	}
	from, _ := slices.BinarySearchFunc(f.maybe, lift{token: max(in.Token, in.Highest)}, lift.compare)
	for i := from; i < len(f.maybe) && (in.Highest == 0 || f.maybe[i].token <= in.Highest); i++ {
		if f.maybe[i].justifies(in) {
			return true
		}
	}
	return false
}

// answered takes the end of a client's wait.
func (m *isolation) answered(in *Input) {
	o := m.open.find(in.Op)
	if o == nil {
		return
	}
	if in.Type == history.Info {
		f := at(&m.fences, o.rec.fence)
		if i, known := slices.BinarySearchFunc(f.maybe, o.rec, lift.compare); !known {
			f.maybe = slices.Insert(f.maybe, i, o.rec)
		}
	}
	m.open.remove(o)
}

func (m *isolation) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	switch in.Type {
	case history.Invoke:
		if in.Token != 0 {
			o, _ := m.open.add(in.Op)
			o.rec = lift{in.Token, in.lease(), in.fence()}
		}
		return false
	case history.OK, history.Fail, history.Info:
		m.answered(in)
		return false
	}
	f := at(&m.fences, in.fence())
	switch in.F {
	case history.Served:
		if in.Token > f.read.token {
			f.read = lift{token: in.Token, lease: in.lease()}
		}
		return false
	case history.Apply, history.Raised:
		if in.Token > f.token {
			f.token, f.lease, f.at = in.Token, in.lease(), in.Index
		}
		return false
	}
	read := f.read.token > f.token && f.read.justifies(in)
	if read || f.token > in.Token || f.token == in.Token && f.token != 0 && f.lease != in.lease() || m.unanswered(in, f) ||
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
		if int(i) >= len(m.fences) || m.fences[i].empty() {
			continue
		}
		f := &m.fences[i]
		b = appendText(b, fences.list[i])
		b = appendLease(appendInt(b, int64(f.token)), f.lease)
		if b = appendBool(b, f.read.token > f.token); f.read.token > f.token { // below, it justifies nothing more
			b = appendLease(appendInt(b, int64(f.read.token)), f.read.lease)
		}
		for _, l := range f.maybe {
			b = appendLease(appendInt(append(b, 1), int64(l.token)), l.lease)
		}
		b = append(b, 0)
	}
	keys := make([][]byte, 0, m.open.used)
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open {
			k := appendText(appendInt(nil, o.op), fences.list[o.rec.fence])
			keys = append(keys, appendLease(appendInt(k, int64(o.rec.token)), o.rec.lease))
		}
	}
	return appendSorted(append(b, 0), keys)
}

func (f *brought) empty() bool { return f.token == 0 && f.read.token == 0 && len(f.maybe) == 0 }

func (m *isolation) Clone() Monitor {
	c := *m
	c.open, c.fences = m.open.clone(), slices.Clone(m.fences)
	for i := range c.fences {
		c.fences[i].maybe = slices.Clone(c.fences[i].maybe)
	}
	return &c
}

func (m *isolation) Reset() {
	m.broken = nil
	m.open.reset()
	for i := range m.fences {
		m.fences[i] = brought{maybe: m.fences[i].maybe[:0]}
	}
}
