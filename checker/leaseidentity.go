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
		"lease succeeds after its release has.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "partly",
	watch: func(v View) []interest {
		if v.Coordinator {
			list := append(events(history.Invoke, history.Renew, history.Release), ends(history.Renew, history.Release)...)
			return append(list, notes(history.Renewed, history.Released, history.Expire)...)
		}
		return events(history.OK, history.Release, history.Renew)
	},
	monitor: func(e *env) Monitor {
		return &identities{base: e.base("lease-identity"), aided: e.config.View.Coordinator}
	},
}

// identities keeps what the open requests present, and of each scope the last
// lease that ended.
type identities struct {
	base
	aided  bool
	asked  []asked
	scopes []ending
}

// asked is a request to renew or release, by client: a client that goes on after
// an unknown outcome has several.
type asked struct {
	op     int64
	client int32
	scope  int32
	f      history.F
	lease  Lease
	at     int64
}

// ending is the last lease of a scope that ended, and where.
type ending struct {
	lease Lease
	at    int64
}

// askedMost bounds the requests remembered: older ones are no longer judged.
const askedMost = 64

func (m *identities) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	s := at(&m.scopes, in.Scope)
	switch {
	case in.Type == history.Invoke:
		if len(m.asked) == askedMost {
			m.asked = slices.Delete(m.asked, 0, 1)
		}
		m.asked = append(m.asked, asked{in.Op, in.Client, in.Scope, in.F, in.Lease, in.Index})
		return false
	case m.aided && in.Type.IsEnd():
		m.answered(in)
		return false
	case in.F == history.Expire:
		*s = ending{in.Lease, in.Index}
		return false
	}
	if m.aided && m.strange(in) {
		return true
	}
	if s.lease != 0 && s.lease == in.Lease {
		return m.violate([]int64{s.at, in.Index}, "a lease was %s at #%d that had ended at #%d%s",
			tookEffect(in.F), in.Index, s.at, inside(in.Resource))
	}
	if in.F == history.Released || in.F == history.Release {
		*s = ending{in.Lease, in.Index}
	}
	return false
}

// answered forgets a request that has its answer; one of unknown outcome may
// still take effect.
func (m *identities) answered(in *Input) {
	if in.Type != history.Info {
		m.asked = slices.DeleteFunc(m.asked, func(a asked) bool { return a.op == in.Op })
	}
}

// strange reports whether a request took effect on a lease that it did not
// present. A re-entry is an acquire, which is judged by renewal-keeps-token.
func (m *identities) strange(in *Input) bool {
	i := slices.IndexFunc(m.asked, func(a asked) bool { return a.op == in.Op && in.Op != 0 })
	if i < 0 || sameLease(m.asked[i].lease, in.Lease) {
		return false
	}
	return m.violate([]int64{m.asked[i].at, in.Index}, "the request at #%d took effect at #%d on another lease than it presented%s",
		m.asked[i].at, in.Index, inside(in.Resource))
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
		if int(i) < len(m.scopes) && m.scopes[i].lease != 0 {
			b = appendText(b, m.names.scopes.list[i])
			b = appendLease(b, m.scopes[i].lease)
		}
	}
	for _, i := range m.names.clients.order() {
		for _, a := range m.asked { // in the order of a client's operations
			if a.client == i {
				b = appendText(b, m.names.clients.list[i])
				b = appendText(b, m.names.scopes.list[a.scope])
				b = append(b, byte(a.f))
				b = appendLease(b, a.lease)
			}
		}
	}
	return b
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
