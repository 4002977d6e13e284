package checker

import (
	"slices"

	"staleproof/model/history"
)

var leaseIdentity = Property{
	Name:      "lease-identity",
	Guarantee: "Renew and release take effect only for the lease whose identity is presented.",
	Doc: "Watches the lease manager's notes against what each client presented: a renewed or released note names the " +
		"presented lease, which was neither released nor expired before. Without notes: no renewal or release of a " +
		"lease that begins after the lease's release has succeeded does.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "partly",
	watch: func(v View) []interest {
		list := append(events(history.Invoke, history.Renew, history.Release), ends(history.Renew, history.Release)...)
		if v.Coordinator {
			list = append(list, notes(history.Renewed, history.Released, history.Expire)...)
		}
		return list
	},
	monitor: func(e *env) Monitor {
		return &identities{base: e.base("lease-identity"), aided: e.config.View.Coordinator}
	},
}

// identities keeps what the open requests present, and of each scope the last
// leases that ended.
type identities struct {
	base
	aided  bool
	asked  []asked
	scopes []endings
}

// asked is a request to renew or release, by client: a client that goes on after
// an unknown outcome has several.
type asked struct {
	op     int64
	client int32
	scope  int32
	f      history.F
	lease  identity
	at     int64
}

// endings are the leases of a scope that ended last, the latest first.
type endings [manyEndings]ending

// ending is a lease that ended, and where.
type ending struct {
	lease identity
	at    int64
}

// manyEndings is how many leases of a scope that ended are remembered: a holder
// that is slow may have been superseded more than once.
const manyEndings = 4

// askedMost bounds the requests remembered: older ones are no longer judged.
const askedMost = 64

func (m *identities) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	switch {
	case in.Type == history.Invoke:
		m.asks(in)
		return false
	case in.Type != history.Note && (m.aided || in.Type != history.OK):
		m.answered(in)
		return false
	}
	s := at(&m.scopes, in.scope())
	if in.F == history.Expire {
		s.add(in)
		return false
	}
	if m.aided && m.strange(in) {
		return true
	}
	if i := s.find(in.lease()); i < len(s) && in.lease() != 0 && !m.beganBefore(in, s[i].at) {
		return m.violate([]int64{s[i].at, in.Index}, "a lease was %s at #%d that had ended at #%d%s",
			tookEffect(in.F), in.Index, s[i].at, inside(in.Resource))
	}
	if in.F == history.Released || in.F == history.Release {
		s.add(in)
	}
	if !m.aided {
		m.answered(in)
	}
	return false
}

func (m *identities) asks(in *Input) {
	if len(m.asked) == askedMost {
		m.asked = slices.Delete(m.asked, 0, 1)
	}
	r := in.resolve()
	m.asked = append(m.asked, asked{in.Op, r.clientID, r.scopeID, in.F, r.leaseID, in.Index})
}

// find returns the place of a lease, and len(s) if it has none.
func (s *endings) find(l identity) int {
	for i := range s {
		if s[i].lease == l {
			return i
		}
	}
	return len(s)
}

// add notes that the lease of an event has ended.
func (s *endings) add(in *Input) {
	l := in.lease()
	if l == 0 {
		return
	}
	next := ending{l, in.Index} // each moves one place on
	for i := range s {
		s[i], next = next, s[i]
		if next.lease == l {
			return
		}
	}
}

// beganBefore reports whether a client's renewal began before an index: then it
// may have taken effect before as well. Servers note things as they happen.
func (m *identities) beganBefore(in *Input, index int64) bool {
	a := m.request(in)
	return in.F == history.Renew && a != nil && a.at < index
}

// answered forgets a request that has its answer; one of unknown outcome may
// still take effect.
func (m *identities) answered(in *Input) {
	if in.Type == history.Info {
		return
	}
	n := 0
	for i := range m.asked {
		if m.asked[i].op != in.Op {
			m.asked[n] = m.asked[i]
			n++
		}
	}
	m.asked = m.asked[:n]
}

// request returns the first open request of an event's number.
func (m *identities) request(in *Input) *asked {
	for i := range m.asked {
		if m.asked[i].op == in.Op && in.Op != 0 {
			return &m.asked[i]
		}
	}
	return nil
}

// strange reports whether a request took effect on a lease that it did not
// present. A re-entry is an acquire, which is judged by renewal-keeps-token.
func (m *identities) strange(in *Input) bool {
	a := m.request(in)
	if a == nil || sameLease(a.lease, in.lease()) {
		return false
	}
	return m.violate([]int64{a.at, in.Index}, "the request at #%d took effect at #%d on another lease than it presented%s",
		a.at, in.Index, inside(in.Resource))
}

func tookEffect(f history.F) string {
	if f == history.Released || f == history.Release {
		return "released"
	}
	return "renewed"
}

func (m *identities) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	for _, i := range m.names.scopes.order() {
		if int(i) < len(m.scopes) && m.scopes[i] != (endings{}) {
			b = appendText(b, m.names.scopes.list[i])
			for _, e := range m.scopes[i] { // their order decides which is forgotten first
				b = appendLease(b, e.lease)
			}
		}
	}
	b = append(b, 0)
	for _, i := range m.names.clients.order() {
		for _, a := range m.asked { // in the order of a client's operations
			if a.client == i {
				b = appendText(b, m.names.clients.list[i])
				b = appendText(b, m.names.scopes.list[a.scope])
				b = append(b, byte(a.f))
				b = appendLease(b, a.lease)
				b = append(b, m.endedSince(&a))
			}
		}
	}
	return b
}

// endedSince tells which of a scope's endings a client's renewal began before.
func (m *identities) endedSince(a *asked) byte {
	bits := byte(0)
	if m.aided || a.f != history.Renew || int(a.scope) >= len(m.scopes) {
		return bits
	}
	for i, e := range m.scopes[a.scope] {
		if a.at < e.at {
			bits |= 1 << i
		}
	}
	return bits
}

func (m *identities) Clone() Monitor {
	c := *m
	c.asked, c.scopes = slices.Clone(m.asked), slices.Clone(m.scopes)
	return &c
}

func (m *identities) Reset() {
	m.broken = nil
	m.asked = m.asked[:0]
	clear(m.scopes)
}
