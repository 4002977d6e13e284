package checker

import (
	"slices"

	"staleproof/model/history"
)

var renewalKeepsToken = Property{
	Name:      "renewal-keeps-token",
	Guarantee: "A renewal, and a re-entry by the same holder, keep the token; a new grant changes it.",
	Doc: "Watches grant, renewed, released and expire notes: of a scope's latest lease all of them, of an older one its " +
		"renewals. A renewed note that names no token is a renewal to none. Without notes it compares what each " +
		"client was told: the token it renewed with the token it was answered.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "yes",
	watch: func(v View) []interest {
		if v.Coordinator {
			return notes(history.Grant, history.Renewed, history.Released, history.Expire)
		}
		return append(events(history.Invoke, history.Acquire, history.Renew), ends(history.Acquire, history.Renew)...)
	},
	monitor: func(e *env) Monitor {
		if e.config.View.Coordinator {
			return &renewals{base: e.base("renewal-keeps-token"), header: &e.config.Header}
		}
		return &renewalsUnaided{base: e.base("renewal-keeps-token")}
	},
}

// tenancy is the latest lease of a scope in the coordinator's own order.
type tenancy struct {
	granted
	expires int64
}

// ends marks the tenancy's end when the note is about its lease.
func (t *tenancy) ends(in *Input) {
	if t.known && t.is(in) {
		t.over = true
	}
}

// is reports whether a note is about the tenancy's lease: by identity, or by
// token where one of the two has none. Without either its owner tells.
func (t *tenancy) is(in *Input) bool {
	switch l := in.lease(); {
	case t.lease != 0 && l != 0:
		return t.lease == l && t.of(in)
	case in.Token == 0:
		return t.of(in)
	}
	return t.token == in.Token
}

// inForce reports whether the lease is in force when the coordinator grants
// another one at a time: not released, not expired by its note, and not past
// the term that the coordinator itself set. A term of 0 is unknown.
func (t *tenancy) inForce(time int64) bool {
	return t.known && !t.over && (t.expires == 0 || t.expires > time)
}

// begins makes the note's lease the tenancy.
func (t *tenancy) begins(in *Input, h *history.Header) {
	t.set(in)
	t.extends(in, h)
}

// extends takes the term that the note sets, or else the one that the header declares,
// as far as it runs for sure. Where time is untimed, the number of a step, a term means
// nothing and only notes end a lease.
func (t *tenancy) extends(in *Input, h *history.Header) {
	switch t.expires = in.Expires; {
	case h.Timing == "untimed":
		t.expires = 0
	case t.expires == 0 && h.TTL > 0:
		t.expires = max(1, in.Time+h.TTL-drift(h)-h.Epsilon)
	}
}

// drift is by how much a term may be shorter than declared: two clocks drift apart.
func drift(h *history.Header) int64 { return (h.TTL/1_000_000 + 1) * 2 * h.Rho }

func (n *names) appendTenancies(b []byte, scopes []tenancy) []byte {
	for _, i := range n.scopes.order() {
		if int(i) >= len(scopes) || !scopes[i].known {
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

// renewals keeps the latest lease of each scope, and the tokens of those before.
type renewals struct {
	base
	header    *history.Header
	scopes    []tenancy
	older     leaseTable[accepted]
	undecided *Violation // a renewal of a lease that may have been forgotten
}

func (m *renewals) Verdict() (Outcome, *Violation) {
	if m.broken == nil && m.undecided != nil {
		return Inconclusive, m.undecided
	}
	return m.base.Verdict()
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
	case known && t.lease == in.lease() && t.of(in) && t.inForce(in.Time):
		return m.violate([]int64{t.at, in.Index}, "re-entry at #%d changed token %d, granted at #%d, to %d%s",
			in.Index, t.token, t.at, in.Token, inside(in.ScopeName()))
	case t.token == in.Token:
		return m.violate([]int64{t.at, in.Index}, "a new grant at #%d kept token %d of the grant at #%d%s",
			in.Index, in.Token, t.at, inside(in.ScopeName()))
	case !known && t.surelyOf(in) && t.inForce(in.Time):
		return m.violate([]int64{t.at, in.Index}, "re-entry by the holder at #%d changed token %d, granted at #%d and in force, to %d%s",
			in.Index, t.token, t.at, in.Token, inside(in.ScopeName()))
	}
	if t.token != 0 && t.lease != in.lease() {
		if e := m.older.add(in.scope(), t.lease); e != nil {
			e.rec = accepted{t.token, t.at}
		}
	}
	m.older.remove(in.scope(), in.lease())
	t.begins(in, m.header)
	return false
}

func (m *renewals) renews(in *Input, t *tenancy) bool {
	mine := t.token == in.Token || t.surelyOf(in)
	if t.lease != 0 && in.lease() != 0 {
		mine = t.lease == in.lease() && t.of(in)
	}
	g := accepted{t.token, t.at}
	if !mine {
		e := m.older.find(in.scope(), in.lease())
		if e == nil {
			m.doubt(in)
			return false
		}
		g = e.rec
	}
	switch {
	case g.token == 0:
	case in.Token != g.token:
		return m.violate([]int64{g.at, in.Index}, "renewal at #%d changed token %d, granted at #%d, to %s%s",
			in.Index, g.token, g.at, toText(in.Token), inside(in.ScopeName()))
	case mine:
		t.extends(in, m.header)
	}
	return false
}

// doubt takes a renewal of a lease that is not remembered.
func (m *renewals) doubt(in *Input) {
	if m.older.forgot && m.undecided == nil && in.lease() != 0 {
		m.undecided = newViolation(m.property, []int64{in.Index}, "undecided: a lease was renewed at #%d, and only the first %d are remembered%s",
			in.Index, manyLeases, inside(in.ScopeName()))
	}
}

// toText names the token that a renewal changed another one to.
func toText(t history.Token) string {
	if t == 0 {
		return "none"
	}
	return t.String()
}

func (m *renewals) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	b = m.names.appendTenancies(b, m.scopes)
	b = appendBool(appendBool(append(b, 0), m.undecided != nil), m.older.forgot)
	for _, i := range m.names.scopes.order() {
		if !m.older.has(i) {
			continue
		}
		b = appendText(b, m.names.scopes.list[i])
		for _, e := range m.older.sorted(i, func(*accepted) bool { return true }) {
			b = appendInt(appendLease(b, identity(e.op)), int64(e.rec.token))
		}
	}
	return b
}

func (m *renewals) Clone() Monitor {
	c := *m
	c.scopes, c.older = slices.Clone(m.scopes), m.older.clone()
	return &c
}

func (m *renewals) Reset() {
	m.broken, m.undecided = nil, nil
	clear(m.scopes)
	m.older.reset()
}

// renewalsUnaided keeps what each client was granted last, per scope, and the renewals
// that are open.
type renewalsUnaided struct {
	base
	clients [][]lastAcquired // by client, then by scope
	open    opTable[presentation]
}

// lastAcquired is the last acquisition of a client.
type lastAcquired struct {
	granted
	// maybe counts the acquisitions that have not ended, or ended unknown: each may be
	// what the client renews.
	maybe int
}

// presentation is what a client presented, or had acquired, when an operation of it began.
type presentation struct {
	client, scope int32
	token         history.Token
	at            int64
	since         int64 // where its client had acquired its lease
}

func (m *renewalsUnaided) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	g := at(at(&m.clients, in.client()), in.scope())
	if in.Type == history.Invoke {
		o, _ := m.open.add(in.Op)
		o.rec = presentation{in.client(), in.scope(), in.Token, in.Index, g.at}
		if in.F == history.Acquire {
			g.maybe++
		}
		return false
	}
	p := presentation{since: beforeAll}
	if o := m.open.find(in.Op); o != nil {
		if p = o.rec; in.F == history.Acquire && in.Type != history.Info {
			g.maybe--
		}
		m.open.remove(o)
	}
	switch {
	case in.Type != history.OK || in.Token == 0:
		return false
	case in.F == history.Acquire:
		return m.acquires(in, &g.granted)
	}
	return m.renews(in, p, g)
}

// renews judges a renewal by the lease that it presents, else by the token, and where
// it presents neither by the client's last acquisition if there may be no other.
func (m *renewalsUnaided) renews(in *Input, p presentation, g *lastAcquired) bool {
	before, at, how := g.token, g.at, "acquired"
	switch known := g.lease != 0 && in.lease() != 0; {
	case known && g.lease != in.lease() && p.token == 0:
		return false
	case (!known || g.lease != in.lease()) && p.token != 0 && p.token != g.token:
		before, at, how = p.token, p.at, "presented"
	case !known && p.token == 0 && (g.maybe > 0 || p.since != g.at):
		return false
	}
	if before == 0 || before == in.Token {
		return false
	}
	return m.violate([]int64{at, in.Index}, "renewal at #%d answered token %d for token %d, %s at #%d%s",
		in.Index, in.Token, before, how, at, inside(in.ScopeName()))
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
		if grants := m.names.appendAcquired(m.clients[c]); len(grants) > 0 {
			b = appendText(b, m.names.clients.list[c])
			b = appendText(b, string(grants))
		}
	}
	keys := make([][]byte, 0, m.open.used)
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open {
			k := appendInt(appendInt(nil, o.op), int64(o.rec.token))
			keys = append(keys, appendBool(k, m.clients[o.rec.client][o.rec.scope].at == o.rec.since))
		}
	}
	return appendSorted(append(b, 0), keys)
}

// appendAcquired appends acquisitions by scope.
func (n *names) appendAcquired(scopes []lastAcquired) []byte {
	var b []byte
	for _, i := range n.scopes.order() {
		if int(i) >= len(scopes) || scopes[i].token == 0 && scopes[i].maybe == 0 {
			continue
		}
		b = appendInt(appendText(b, n.scopes.list[i]), int64(scopes[i].token))
		b = appendLease(b, scopes[i].lease)
		b = appendInt(b, int64(scopes[i].maybe))
	}
	return b
}

func (m *renewalsUnaided) Clone() Monitor {
	c := *m
	c.open = m.open.clone()
	c.clients = make([][]lastAcquired, len(m.clients))
	for i, scopes := range m.clients {
		c.clients[i] = slices.Clone(scopes)
	}
	c.open = m.open.clone()
	return &c
}

func (m *renewalsUnaided) Reset() {
	m.broken = nil
	m.open.reset()
	for _, scopes := range m.clients {
		clear(scopes)
	}
	m.open.reset()
}
