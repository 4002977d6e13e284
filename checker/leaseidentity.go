package checker

import "staleproof/model/history"

var leaseIdentity = Property{
	Name:      "lease-identity",
	Guarantee: "Renew and release take effect only for the lease whose identity is presented.",
	Doc: "Watches the lease manager's notes against what each client presented: a renewed or released note names the " +
		"presented lease, which was neither released nor expired before, unless it was granted anew. Without notes: no " +
		"renewal or release of a lease that begins after the lease's release has succeeded does. Of a history with more " +
		"than 524,288 ended leases or requests the rest may be inconclusive. A request that its client was told had failed " +
		"takes no effect, an acquire neither: nobody presents the identity that it brings. (In a simulation it may: a " +
		"request that the network duplicated has two answers.)",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "partly",
	watch: func(v View) []interest {
		list := events(history.Invoke, history.Renew, history.Release)
		if v.Coordinator {
			list = append(list, events(history.Invoke, history.Acquire)...)
			list = append(list, events(history.Fail, history.Acquire, history.Renew, history.Release)...)
			return append(list, notes(history.Grant, history.Renewed, history.Released, history.Expire)...)
		}
		list = append(list, ends(history.Renew, history.Release)...)
		list = append(list, events(history.Invoke, history.Acquire)...)
		return append(list, events(history.OK, history.Acquire)...)
	},
	monitor: func(e *env) Monitor {
		v := e.config.View.Coordinator
		return &identities{base: e.base("lease-identity"), aided: v, answers: v && e.config.Header.Scenario == ""}
	},
}

// identities keeps the leases that ended, and what requests present: with the
// lease manager's notes that of all requests, for a note may come after the answer.
type identities struct {
	base
	aided     bool
	answers   bool               // notes are compared with what clients were told
	asked     opTable[presented] // by number
	dropped   bool               // some were not remembered
	ended     leaseTable[int64]  // where each lease ended
	undecided *Violation         // the first note that may be about what was forgotten
}

// presented is a request to renew, to release or to enter again, with answers also
// one to acquire.
type presented struct {
	client int32
	scope  int32
	f      history.F
	lease  identity
	at     int64
	did    int64 // where it took effect; where it failed, negated
}

// manyAsked bounds the requests that are remembered, at 64 to 80 bytes each.
var manyAsked = 1 << 19

func (m *identities) Verdict() (Outcome, *Violation) {
	if m.broken == nil && m.undecided != nil {
		return Inconclusive, m.undecided
	}
	return m.base.Verdict()
}

func (m *identities) Observe(in *Input) bool {
	switch {
	case m.broken != nil:
	case in.Type == history.Invoke:
		if in.F == history.Acquire && !m.aided {
			m.begins(in)
		}
		if in.F != history.Acquire || m.answers || m.aided && in.Lease != "" {
			m.asks(in)
		}
	case in.F == history.Acquire && in.Type == history.OK:
		m.begins(in)
	case in.F == history.Grant:
		m.begins(in)
		return m.contradicted(in)
	case in.F == history.Expire:
		m.ends(in)
	case in.Type == history.Note || in.Type == history.OK:
		return m.contradicted(in) || m.judge(in)
	case m.aided:
		return m.contradicted(in)
	default: // a renewal or a release without effect that its client knows of
		m.answered(in)
	}
	return false
}

// contradicted reports whether a request failed and took effect: one of the two is
// the event.
func (m *identities) contradicted(in *Input) bool {
	if !m.answers || in.Op == 0 {
		return false
	}
	a := m.asked.find(in.Op)
	if a == nil {
		return false
	}
	fails := in.Type == history.Fail
	switch did := a.rec.did; {
	case fails && did > 0:
		return m.violate([]int64{a.rec.at, did, in.Index}, "the %s at #%d took effect at #%d and yet failed at #%d%s",
			a.rec.f, a.rec.at, did, in.Index, inside(in.Resource))
	case fails:
		a.rec.did = -in.Index
	case did < 0:
		return m.violate([]int64{a.rec.at, -did, in.Index}, "the %s at #%d failed at #%d and yet took effect at #%d%s",
			a.rec.f, a.rec.at, -did, in.Index, inside(in.Resource))
	default:
		a.rec.did = in.Index
	}
	return false
}

// begins takes a lease that is granted, maybe once more, or asked for by its identity.
func (m *identities) begins(in *Input) {
	m.ended.remove(in.scope(), in.lease())
}

func (m *identities) asks(in *Input) {
	if len(m.asked.ops)-len(m.asked.free) >= manyAsked {
		m.dropped = true
		return
	}
	r := in.resolve()
	a, _ := m.asked.add(in.Op)
	a.rec = presented{client: r.clientID, scope: r.scopeID, f: in.F, lease: r.leaseID, at: in.Index}
}

// ends notes that the lease of an event has ended.
func (m *identities) ends(in *Input) {
	if m.ended.find(in.scope(), in.lease()) != nil {
		return // the first end is the one to quote
	}
	if e := m.ended.add(in.scope(), in.lease()); e != nil {
		e.rec = in.Index
	}
}

// judge judges a renewal or release that took effect, and reports whether it breaks
// the guarantee.
func (m *identities) judge(in *Input) bool {
	if m.aided && m.strange(in) {
		return true
	}
	if e := m.ended.find(in.scope(), in.lease()); e == nil {
		m.doubt(in, m.ended.forgot && in.lease() != 0, "leases that ended", manyLeases)
	} else if !m.beganBefore(in, e.rec) {
		return m.violate([]int64{e.rec, in.Index}, "a lease was %s at #%d that had ended at #%d%s",
			tookEffect(in.F), in.Index, e.rec, inside(in.Resource))
	}
	if in.F == history.Released || in.F == history.Release {
		m.ends(in)
	}
	if !m.aided {
		m.answered(in)
	}
	return false
}

// beganBefore reports whether a client's renewal began before an index: then it
// may have taken effect before as well. Servers note things as they happen.
func (m *identities) beganBefore(in *Input, index int64) bool {
	if in.F != history.Renew {
		return false
	}
	a := m.asked.find(in.Op)
	if a == nil {
		m.doubt(in, m.dropped, "requests", manyAsked)
		return m.dropped
	}
	return a.rec.at < index
}

// answered forgets a request that has its answer: without notes no later event is about it.
func (m *identities) answered(in *Input) {
	if a := m.asked.find(in.Op); a != nil {
		m.asked.remove(a)
	}
}

// strange reports whether a request took effect on a lease that it did not
// present. An acquire that enters again presents one too.
func (m *identities) strange(in *Input) bool {
	if in.Op == 0 {
		return false
	}
	a := m.asked.find(in.Op)
	if a == nil {
		m.doubt(in, m.dropped, "requests", manyAsked)
		return false
	}
	if sameLease(a.rec.lease, in.lease()) {
		return false
	}
	return m.violate([]int64{a.rec.at, in.Index}, "the request at #%d took effect at #%d on another lease than it presented%s",
		a.rec.at, in.Index, inside(in.Resource))
}

// doubt notes that an event may be about something that was forgotten.
func (m *identities) doubt(in *Input, forgot bool, what string, bound int) {
	if forgot && m.undecided == nil {
		m.undecided = newViolation(m.property, []int64{in.Index}, "undecided: a lease was %s at #%d, and of the %s only the first %d are remembered%s",
			tookEffect(in.F), in.Index, what, bound, inside(in.Resource))
	}
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
	b = appendBool(appendBool(appendBool(b, m.undecided != nil), m.ended.forgot), m.dropped)
	for _, i := range m.names.scopes.order() {
		if m.ended.has(i) {
			b = appendText(b, m.names.scopes.list[i])
			b = append(m.appendEnded(b, i, beforeAll), 0)
		}
	}
	var keys [][]byte
	for i := range m.asked.ops {
		if a := &m.asked.ops[i]; a.open {
			keys = append(keys, m.askedKey(&a.rec))
		}
	}
	return appendSorted(append(b, 0), keys)
}

func (m *identities) askedKey(a *presented) []byte {
	k := appendText(nil, m.names.clients.list[a.client])
	k = appendText(k, m.names.scopes.list[a.scope])
	k = appendLease(append(k, byte(a.f)), a.lease)
	if m.answers {
		k = appendBool(appendBool(k, a.did > 0), a.did < 0)
	}
	if m.aided || a.f != history.Renew || !m.ended.has(a.scope) {
		return k
	}
	return m.appendEnded(k, a.scope, a.at) // it may have come before these
}

// appendEnded appends the leases of a scope that ended after an index.
func (m *identities) appendEnded(b []byte, scope int32, after int64) []byte {
	for _, e := range m.ended.sorted(scope, func(at *int64) bool { return *at > after }) {
		b = appendLease(b, identity(e.op))
	}
	return b
}

func (m *identities) Clone() Monitor {
	c := *m
	c.asked, c.ended = m.asked.clone(), m.ended.clone()
	return &c
}

func (m *identities) Reset() {
	m.broken, m.undecided, m.dropped = nil, nil, false
	m.asked.reset()
	m.ended.reset()
}
