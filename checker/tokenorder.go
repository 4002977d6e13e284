package checker

import (
	"slices"

	"staleproof/model/history"
)

var tokenOrder = Property{
	Name: "token-order",
	Guarantee: "Tokens strictly increase per scope from one acquisition to the next, in the coordinator's own order, " +
		"and are never reused: also after recovery, failover, restore.",
	Doc: "Watches grant notes; a re-entry repeats its own grant and is no acquisition, unless released or expire notes say " +
		"that the lease was over. Without notes: an acquisition that " +
		"began after another one ended has the greater token, and overlapping ones never share a token; a re-entry " +
		"repeats its own, unless the client had released it.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "over acquisitions that do not overlap",
	watch: func(v View) []interest {
		if v.Coordinator {
			return notes(history.Grant, history.Released, history.Expire)
		}
		return append(append(events(history.Invoke, history.Acquire), ends(history.Acquire)...), events(history.OK, history.Release)...)
	},
	monitor: func(e *env) Monitor {
		if e.config.View.Coordinator {
			return &tokenOrderMonitor{base: e.base("token-order")}
		}
		return &tokenOrderUnaided{base: e.base("token-order")}
	},
}

// granted is a grant: of a scope the latest, of a fence the greatest.
type granted struct {
	token history.Token
	lease identity
	owner int32
	// unnamed: the note names no owner.
	unnamed bool
	over    bool // the lease was released or has expired
	known   bool // there is one: not every grant has a token
	at      int64
}

// of reports whether an event may be of the grant's owner.
func (g *granted) of(in *Input) bool {
	return g.unnamed || in.unnamed() || g.owner == in.client()
}

// surelyOf reports whether an event is of the grant's owner.
func (g *granted) surelyOf(in *Input) bool {
	return !g.unnamed && !in.unnamed() && g.owner == in.client()
}

// again reports whether the event grants g's own lease once more while it is in force.
// Without identities an equal token for the same owner counts as that.
func (g *granted) again(in *Input) bool {
	if g.token == 0 || g.token != in.Token || g.over {
		return false
	}
	if l := in.lease(); g.lease != 0 && l != 0 {
		return g.lease == l && g.of(in) // two clients may present one identity
	}
	return g.of(in)
}

func (g *granted) set(in *Input) {
	r := in.resolve()
	g.token, g.lease, g.owner, g.unnamed, g.at = in.Token, r.leaseID, r.clientID, in.unnamed(), in.Index
	g.over, g.known = false, true
}

// tokenOrderMonitor keeps the greatest token per fence, and the latest grant
// per scope, which a re-entry may repeat even under a global fence.
type tokenOrderMonitor struct {
	base
	greatest []granted // by fence
	latest   []tenancy // by scope
}

func (m *tokenOrderMonitor) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	latest := at(&m.latest, in.scope())
	if in.F != history.Grant {
		latest.ends(in)
		return false
	}
	if latest.again(in) {
		return false
	}
	g := at(&m.greatest, in.fence())
	if in.Token > g.token {
		g.set(in)
		latest.set(in)
		return false
	}
	return m.tooLow(in, g)
}

// tooLow reports a grant whose token does not exceed g's.
func (b *base) tooLow(in *Input, g *granted) bool {
	switch {
	case g.token == 0:
		return b.violate([]int64{in.Index}, "token %d granted at #%d, tokens begin at 1%s", in.Token, in.Index, inside(in.ScopeName()))
	case g.token == in.Token:
		return b.violate([]int64{g.at, in.Index}, "token %d granted at #%d was granted before at #%d%s",
			in.Token, in.Index, g.at, inside(in.ScopeName()))
	}
	return b.violate([]int64{g.at, in.Index}, "token %d granted at #%d after token %d at #%d%s",
		in.Token, in.Index, g.token, g.at, inside(in.ScopeName()))
}

func (m *tokenOrderMonitor) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	fences := m.names.fences()
	for _, i := range fences.order() {
		if int(i) < len(m.greatest) && m.greatest[i].token != 0 {
			b = appendText(b, fences.list[i])
			b = appendInt(b, int64(m.greatest[i].token))
		}
	}
	return m.names.appendTenancies(append(b, 0), m.latest)
}

func (m *tokenOrderMonitor) Clone() Monitor {
	c := *m
	c.greatest, c.latest = slices.Clone(m.greatest), slices.Clone(m.latest)
	return &c
}

func (m *tokenOrderMonitor) Reset() {
	m.broken = nil
	clear(m.greatest)
	clear(m.latest)
}

// tokenOrderUnaided judges the acquisitions that clients completed.
type tokenOrderUnaided struct {
	base
	greatest []granted // by fence: of the completed acquisitions
	open     []acquisition
	// recent are the completed acquisitions that an open one may overlap: by fence,
	// then by token.
	recent []opTable[granted]
}

// acquisition is one that has not ended: its token must exceed what was
// completed when it began.
type acquisition struct {
	op     int64
	fence  int32
	client int32
	floor  granted
}

func (m *tokenOrderUnaided) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	if in.F == history.Release {
		m.released(in)
		return false
	}
	i := slices.IndexFunc(m.open, func(a acquisition) bool { return a.op == in.Op })
	if in.Type == history.Invoke {
		if i >= 0 { // a number in use: the older one never ends
			m.open = slices.Delete(m.open, i, i+1)
		}
		m.open = append(m.open, acquisition{in.Op, in.fence(), in.client(), *at(&m.greatest, in.fence())})
		return false
	}
	if i < 0 {
		return false // its invoke is not in the history: nothing is known of its beginning
	}
	floor := m.open[i].floor
	m.open = slices.Delete(m.open, i, i+1)
	broke := in.Type == history.OK && m.completes(in, &floor)
	if len(m.open) == 0 {
		m.forget()
	}
	return broke
}

// released notes that a client has released the lease with the greatest token.
func (m *tokenOrderUnaided) released(in *Input) {
	g := at(&m.greatest, in.fence())
	same := g.token == in.Token || in.Token == 0 && (g.lease != 0 && g.lease == in.lease() || !m.names.global)
	if g.owner == in.client() && sameLease(g.lease, in.lease()) && same {
		g.over = true
	}
}

func (m *tokenOrderUnaided) forget() {
	for i := range m.recent {
		m.recent[i].reset()
	}
}

func (m *tokenOrderUnaided) completes(in *Input, floor *granted) bool {
	if in.Token == 0 {
		return false // the history does not record the token
	}
	if floor.again(in) {
		return false
	}
	if in.Token <= floor.token {
		return m.tooLow(in, floor)
	}
	recent := at(&m.recent, in.fence())
	c := recent.find(int64(in.Token))
	if c != nil && !c.rec.again(in) {
		return m.tooLow(in, &c.rec)
	}
	if g := at(&m.greatest, in.fence()); in.Token > g.token {
		g.set(in)
	}
	if c == nil {
		c, _ = recent.add(int64(in.Token))
	}
	c.rec.set(in)
	return false
}

func (m *tokenOrderUnaided) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	fences := m.names.fences()
	for _, i := range fences.order() {
		if int(i) < len(m.greatest) && m.greatest[i].token != 0 {
			b = appendText(b, fences.list[i])
			b = m.appendGrant(b, &m.greatest[i])
		}
	}
	open := make([][]byte, len(m.open))
	for i, a := range m.open {
		k := appendText(nil, m.names.clients.list[a.client])
		k = appendText(k, fences.list[a.fence])
		open[i] = m.appendGrant(k, &a.floor)
	}
	b = appendSorted(b, open)
	var recent [][]byte
	for f := range m.recent {
		for i := range m.recent[f].ops {
			if c := &m.recent[f].ops[i]; c.open {
				recent = append(recent, m.appendGrant(appendText(nil, fences.list[f]), &c.rec))
			}
		}
	}
	return appendSorted(b, recent)
}

func (m *tokenOrderUnaided) appendGrant(b []byte, g *granted) []byte {
	b = appendInt(b, int64(g.token))
	if g.token == 0 {
		return b
	}
	b = appendBool(appendLease(b, g.lease), g.over)
	return appendText(b, m.names.clients.list[g.owner])
}

func (m *tokenOrderUnaided) Clone() Monitor {
	c := *m
	c.greatest, c.open = slices.Clone(m.greatest), slices.Clone(m.open)
	c.recent = make([]opTable[granted], len(m.recent))
	for i := range m.recent {
		c.recent[i] = m.recent[i].clone()
	}
	return &c
}

func (m *tokenOrderUnaided) Reset() {
	m.broken = nil
	clear(m.greatest)
	m.open = m.open[:0]
	m.forget()
}
