package checker

import (
	"slices"

	"staleproof/model/history"
)

var renewalKeepsToken = Property{
	Name:      "renewal-keeps-token",
	Guarantee: "A renewal, and a re-entry by the same holder, keep the token; a new grant changes it.",
	Doc: "Watches grant, renewed, released and expire notes of a scope's latest lease. Without notes it compares what each " +
		"client was told: the token it renewed with the token it was answered.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "yes",
	watch: func(v View) []interest {
		if v.Coordinator {
			return notes(history.Grant, history.Renewed, history.Released, history.Expire)
		}
		return events(history.OK, history.Acquire, history.Renew)
	},
	monitor: func(e *env) Monitor {
		if e.config.View.Coordinator {
			return &renewals{base: e.base("renewal-keeps-token"), untimed: e.untimed()}
		}
		return &renewalsUnaided{base: e.base("renewal-keeps-token")}
	},
}

// tenancy is the latest lease of a scope in the coordinator's own order.
type tenancy struct {
	granted
	expires int64
	over    bool // released or expired
}

// ends marks the tenancy's end when the note is about its lease.
func (t *tenancy) ends(in *Input) {
	if t.token != 0 && t.is(in) {
		t.over = true
	}
}

// is reports whether a note is about the tenancy's lease: by identity, or by
// token where one of the two has none.
func (t *tenancy) is(in *Input) bool {
	if l := in.lease(); t.lease != 0 && l != 0 {
		return t.lease == l && t.of(in)
	}
	return t.token == in.Token
}

// inForce reports whether the lease is in force when the coordinator grants
// another one at a time: not released, not expired by its note, and not past
// the term that the coordinator itself set. A term of 0 is unknown.
func (t *tenancy) inForce(time int64) bool {
	return t.token != 0 && !t.over && (t.expires == 0 || t.expires > time)
}

// begins makes the note's lease the tenancy. Where time is untimed, the number
// of a step, a term means nothing and only notes end a lease.
func (t *tenancy) begins(in *Input, untimed bool) {
	t.set(in)
	t.over = false
	t.extends(in, untimed)
}

func (t *tenancy) extends(in *Input, untimed bool) {
	if !untimed {
		t.expires = in.Expires
	}
}

func (n *names) appendTenancies(b []byte, scopes []tenancy) []byte {
	for _, i := range n.scopes.order() {
		if int(i) >= len(scopes) || scopes[i].token == 0 {
			continue
		}
		t := &scopes[i]
		b = appendText(b, n.scopes.list[i])
		b = appendInt(b, int64(t.token))
		b = appendLease(b, t.lease)
		b = appendText(b, n.clients.list[t.owner])
		b = appendBool(b, t.over)
		if !t.over {
			b = appendInt(b, t.expires)
		}
	}
	return b
}

type renewals struct {
	base
	untimed bool
	scopes  []tenancy
}

func (m *renewals) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	t := at(&m.scopes, in.scope())
	switch in.F {
	case history.Grant:
		return m.grants(in, t)
	case history.Renewed:
		return m.renews(in, t)
	}
	t.ends(in)
	return false
}

func (m *renewals) grants(in *Input, t *tenancy) bool {
	known := t.lease != 0 && in.lease() != 0
	switch {
	case t.token == 0, t.again(in):
	case known && t.lease == in.lease():
		return m.violate([]int64{t.at, in.Index}, "re-entry at #%d changed token %d, granted at #%d, to %d%s",
			in.Index, t.token, t.at, in.Token, inside(in.ScopeName()))
	case t.token == in.Token:
		return m.violate([]int64{t.at, in.Index}, "a new grant at #%d kept token %d of the grant at #%d%s",
			in.Index, in.Token, t.at, inside(in.ScopeName()))
	case t.owner == in.client() && t.inForce(in.Time):
		return m.violate([]int64{t.at, in.Index}, "re-entry by the holder at #%d changed token %d, granted at #%d and in force, to %d%s",
			in.Index, t.token, t.at, in.Token, inside(in.ScopeName()))
	}
	t.begins(in, m.untimed)
	return false
}

func (m *renewals) renews(in *Input, t *tenancy) bool {
	mine := t.lease != 0 && t.lease == in.lease() || (t.lease == 0 || in.lease() == 0) && t.owner == in.client()
	if t.token == 0 || !mine {
		return false // a lease that is not the latest: lease-identity and exclusive-grant judge that
	}
	if in.Token == t.token || in.Token == 0 {
		t.extends(in, m.untimed)
		return false
	}
	return m.violate([]int64{t.at, in.Index}, "renewal at #%d changed token %d, granted at #%d, to %d%s",
		in.Index, t.token, t.at, in.Token, inside(in.ScopeName()))
}

func (m *renewals) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	return m.names.appendTenancies(b, m.scopes)
}

func (m *renewals) Clone() Monitor {
	c := *m
	c.scopes = slices.Clone(m.scopes)
	return &c
}

func (m *renewals) Reset() {
	m.broken = nil
	clear(m.scopes)
}

// renewalsUnaided keeps what each client was granted last, per scope.
type renewalsUnaided struct {
	base
	clients [][]granted // by client, then by scope
}

func (m *renewalsUnaided) Observe(in *Input) bool {
	if m.broken != nil || in.Token == 0 {
		return false
	}
	g := at(at(&m.clients, in.client()), in.scope())
	switch {
	case in.F == history.Acquire:
		return m.acquires(in, g)
	case g.token != 0 && sameLease(g.lease, in.lease()) && g.token != in.Token:
		return m.violate([]int64{g.at, in.Index}, "renewal at #%d answered token %d for token %d, acquired at #%d%s",
			in.Index, in.Token, g.token, g.at, inside(in.ScopeName()))
	}
	return false
}

// acquires tells a re-entry from a new grant by the identity of the lease; where
// there is none, neither rule can be judged.
func (m *renewalsUnaided) acquires(in *Input, g *granted) bool {
	if g.lease != 0 && in.lease() != 0 {
		if g.lease == in.lease() && g.token != in.Token {
			return m.violate([]int64{g.at, in.Index}, "re-entry at #%d changed token %d, acquired at #%d, to %d%s",
				in.Index, g.token, g.at, in.Token, inside(in.ScopeName()))
		}
		if g.lease != in.lease() && g.token == in.Token {
			return m.violate([]int64{g.at, in.Index}, "a new grant at #%d kept token %d, acquired at #%d%s",
				in.Index, in.Token, g.at, inside(in.ScopeName()))
		}
	}
	g.set(in)
	return false
}

func (m *renewalsUnaided) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	for _, c := range m.names.clients.order() {
		if int(c) >= len(m.clients) {
			continue
		}
		if grants := m.names.appendGrants(nil, m.clients[c]); len(grants) > 0 {
			b = appendText(b, m.names.clients.list[c])
			b = appendText(b, string(grants))
		}
	}
	return b
}

func (m *renewalsUnaided) Clone() Monitor {
	c := *m
	c.clients = make([][]granted, len(m.clients))
	for i, scopes := range m.clients {
		c.clients[i] = slices.Clone(scopes)
	}
	return &c
}

func (m *renewalsUnaided) Reset() {
	m.broken = nil
	for _, scopes := range m.clients {
		clear(scopes)
	}
}
