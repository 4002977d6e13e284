package checker

import (
	"slices"

	"staleproof/model/history"
)

var exclusiveGrant = Property{
	Name:      "exclusive-grant",
	Guarantee: "In the coordinator's own order no two leases of a scope are in force at once.",
	Doc: "Watches grant, renewed, released and expire notes. A lease is over once it was released, noted as expired, or past " +
		"the term that its grant or last renewal set, or else the header declares (in untimed runs only a note ends it). Without notes: a client that " +
		"renews or releases a lease proves that it held it since it acquired it, and no other acquisition may lie inside.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "a grant inside another's proven hold",
	watch: func(v View) []interest {
		if v.Coordinator {
			return notes(history.Grant, history.Renewed, history.Released, history.Expire)
		}
		list := events(history.Invoke, history.Acquire, history.Renew, history.Release)
		return append(list, ends(history.Acquire, history.Renew, history.Release)...)
	},
	monitor: func(e *env) Monitor {
		if e.config.View.Coordinator {
			return &exclusive{base: e.base("exclusive-grant"), header: &e.config.Header}
		}
		return &exclusiveUnaided{base: e.base("exclusive-grant")}
	},
}

// exclusive keeps the latest lease of each scope.
type exclusive struct {
	base
	header *history.Header
	scopes []tenancy
}

func (m *exclusive) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	t := at(&m.scopes, in.scope())
	if in.F != history.Grant && in.F != history.Renewed {
		t.ends(in)
		return false
	}
	if t.known && m.continues(in, t) {
		t.over = false // a lease that is renewed after its end is in force again
		t.extends(in, m.header)
		return false
	}
	if t.inForce(in.Time) {
		return m.violate([]int64{t.at, in.Index}, "%s %s at #%d while %s, granted at #%d, was in force%s",
			m.leaseOf(in.Token, in.client(), in.unnamed()), past(in.F), in.Index,
			m.leaseOf(t.token, t.owner, t.unnamed), t.at, inside(in.ScopeName()))
	}
	t.begins(in, m.header)
	return false
}

// leaseOf names a lease: by its token, else by its owner.
func (m *exclusive) leaseOf(t history.Token, owner int32, unnamed bool) string {
	switch {
	case t != 0:
		return tokenText(t)
	case unnamed:
		return "a lease"
	}
	return "a lease of " + m.names.clients.list[owner]
}

// continues reports whether a grant or renewal is of the lease that t already
// is. A renewal may have changed the token; that is for renewal-keeps-token.
func (m *exclusive) continues(in *Input, t *tenancy) bool {
	if l := in.lease(); t.lease != 0 && l != 0 {
		return t.lease == l && t.of(in)
	}
	return t.of(in) && (t.token == in.Token || in.F == history.Renewed && (in.Token == 0 || t.surelyOf(in)))
}

func (m *exclusive) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	return m.names.appendTenancies(b, m.scopes)
}

func (m *exclusive) Clone() Monitor {
	c := *m
	c.scopes = slices.Clone(m.scopes)
	return &c
}

func (m *exclusive) Reset() {
	m.broken = nil
	clear(m.scopes)
}

// exclusiveUnaided keeps the hold of each client in each scope, and who was
// granted the scope while it may have lasted.
type exclusiveUnaided struct {
	base
	holds []hold
	open  []request
	// unknown are the clients and scopes of acquisitions of unknown outcome: each may
	// have been granted, now or later.
	unknown []seatKey
}

// hold is what a client acquired. It is proven up to the invocation of each
// renewal or release that succeeds.
type hold struct {
	scope, client int32
	granted               // at is the index of the acquisition's end
	intruder      granted // an acquisition by another that lies after at
	// former is set once its client has acquired another lease: it is kept while a
	// renewal or release of its client is open, which may prove it.
	former bool
}

// request is an operation on the coordinator that has not ended.
type request struct {
	op            int64
	f             history.F
	invoked       int64
	scope, client int32
}

func (m *exclusiveUnaided) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	i := slices.IndexFunc(m.open, func(r request) bool { return r.op == in.Op })
	if in.Type == history.Invoke {
		if i >= 0 { // a number in use: the older one never ends
			m.open = slices.Delete(m.open, i, i+1)
		}
		m.open = append(m.open, request{in.Op, in.F, in.Index, in.scope(), in.client()})
		return false
	}
	if i < 0 {
		return false
	}
	r := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	defer m.forget(r)
	if in.Type == history.OK && r.f == history.Acquire {
		m.acquired(in, r)
		return false
	}
	is := func(former bool) func(hold) bool {
		return func(h hold) bool { return h.former == former && h.isOf(r) && sameLease(h.lease, in.lease()) }
	}
	h := slices.IndexFunc(m.holds, is(false))
	if h < 0 {
		h = slices.IndexFunc(m.holds, is(true))
	}
	switch {
	case in.Type == history.Info && r.f == history.Acquire:
		if k := (seatKey{r.scope, r.client}); !slices.Contains(m.unknown, k) {
			m.unknown = append(m.unknown, k)
		}
	case in.Type == history.OK && h >= 0:
		return m.proven(in, r, h)
	case h >= 0 && (in.Type == history.Fail && r.f == history.Renew || in.Type == history.Info && r.f == history.Release):
		// It may have ended: nothing more can be proven of this hold.
		m.holds = slices.Delete(m.holds, h, h+1)
	}
	return false
}

// isOf reports whether the hold is of the client and the scope of a request.
func (h *hold) isOf(r request) bool { return h.scope == r.scope && h.client == r.client }

// forget drops the former holds that no open request can prove.
func (m *exclusiveUnaided) forget(r request) {
	if !slices.ContainsFunc(m.open, func(o request) bool {
		return o.scope == r.scope && o.client == r.client && o.f != history.Acquire
	}) {
		m.holds = slices.DeleteFunc(m.holds, func(h hold) bool { return h.former && h.isOf(r) })
	}
}

func (m *exclusiveUnaided) acquired(in *Input, r request) {
	var g granted
	g.set(in)
	if i := slices.IndexFunc(m.holds, func(h hold) bool { return h.isOf(r) && !h.former }); i >= 0 {
		h := &m.holds[i]
		if h.again(in) {
			return // a re-entry: the hold goes on
		}
		h.former = true
		if h.lease == 0 || in.lease() == 0 { // nothing would tell them apart
			m.holds = slices.Delete(m.holds, i, i+1)
		}
	}
	for i := range m.holds {
		if h := &m.holds[i]; h.scope == r.scope && h.intruder.at == 0 && r.invoked > h.at {
			h.intruder = g
		}
	}
	m.holds = append(m.holds, hold{scope: r.scope, client: r.client, granted: g})
}

// proves reports whether an operation that succeeded is about a hold: its identity or
// its token tells. Where neither does, no other acquisition of the client may be it.
func (m *exclusiveUnaided) proves(in *Input, r request, h *hold) bool {
	switch {
	case h.lease != 0 && in.lease() != 0:
		return h.lease == in.lease()
	case h.token != 0 && in.Token != 0:
		return h.token == in.Token || r.f == history.Renew && !m.another(r) // its token may have changed
	}
	return !m.another(r)
}

// another reports whether a client may have acquired the scope once more, unknown to us.
func (m *exclusiveUnaided) another(r request) bool {
	return slices.Contains(m.unknown, seatKey{r.scope, r.client}) || slices.ContainsFunc(m.open, func(o request) bool {
		return o.f == history.Acquire && o.scope == r.scope && o.client == r.client
	})
}

// proven judges a renewal or release that succeeded.
func (m *exclusiveUnaided) proven(in *Input, r request, mine int) bool {
	h := m.holds[mine]
	if !m.proves(in, r, &h) {
		return false
	}
	if r.f == history.Release {
		m.holds = slices.Delete(m.holds, mine, mine+1)
	}
	if h.intruder.at == 0 || h.intruder.at > r.invoked {
		return false
	}
	return m.violate([]int64{h.at, h.intruder.at, in.Index},
		"%s acquired at #%d inside the hold of %s, acquired at #%d and proven by the %s that began at #%d%s",
		tokenOr(h.intruder.token, m.names.clients.list[h.intruder.owner]), h.intruder.at,
		tokenOr(h.token, m.names.clients.list[h.owner]), h.at, r.f, r.invoked, inside(in.ScopeName()))
}

// tokenOr names a grant: by its token, else by its client.
func tokenOr(t history.Token, client string) string {
	if t == 0 {
		return client
	}
	return tokenText(t)
}

func (m *exclusiveUnaided) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	var order []int64 // indexes count only by how they compare
	for _, h := range m.holds {
		order = append(order, h.at, h.intruder.at)
	}
	for _, r := range m.open {
		order = append(order, r.invoked)
	}
	slices.Sort(order)
	order = slices.Compact(order)
	rank := func(index int64) int64 {
		i, _ := slices.BinarySearch(order, index)
		if order[0] != 0 && index != 0 {
			i++ // 0 stands for none, whether or not anything is none
		}
		return int64(i)
	}
	keys := make([][]byte, 0, len(m.holds))
	for _, h := range m.holds {
		k := appendText(nil, m.names.scopes.list[h.scope])
		k = appendText(k, m.names.clients.list[h.client])
		k = appendInt(k, int64(h.token))
		k = appendBool(appendLease(k, h.lease), h.former)
		keys = append(keys, appendInt(appendInt(k, rank(h.at)), rank(h.intruder.at)))
	}
	b = appendSorted(b, keys)
	keys = keys[:0]
	for _, r := range m.open {
		k := appendText(nil, m.names.scopes.list[r.scope])
		k = appendText(k, m.names.clients.list[r.client])
		keys = append(keys, appendInt(append(k, byte(r.f)), rank(r.invoked)))
	}
	b = appendSorted(b, keys)
	keys = keys[:0]
	for _, u := range m.unknown {
		keys = append(keys, appendText(appendText(nil, m.names.scopes.list[u.scope]), m.names.clients.list[u.client]))
	}
	return appendSorted(b, keys)
}

func (m *exclusiveUnaided) Clone() Monitor {
	c := *m
	c.holds, c.open, c.unknown = slices.Clone(m.holds), slices.Clone(m.open), slices.Clone(m.unknown)
	return &c
}

func (m *exclusiveUnaided) Reset() {
	m.broken = nil
	m.holds, m.open, m.unknown = m.holds[:0], m.open[:0], m.unknown[:0]
}

// past is what a note says was done.
func past(f history.F) string {
	if f == history.Grant {
		return "granted"
	}
	return f.String()
}
