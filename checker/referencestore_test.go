package checker_test

import (
	"staleproof/model/history"
)

// noStaleWrite: once a mutation with token t was accepted, no mutation with a lower
// token is ever applied.
func noStaleWrite(p *past) opinion {
	if !p.store {
		return opinion{} // linearizable judges it
	}
	for i := range p.events {
		late := &p.events[i]
		if !noted(late, history.Apply) {
			continue
		}
		for j := range i {
			e := &p.events[j]
			if noted(e, history.Apply, history.Raised) && p.fence(e) == p.fence(late) && e.Token > late.Token {
				return broken("token %d applied at #%d after token %d was accepted at #%d", late.Token, late.Index, e.Token, e.Index)
			}
		}
	}
	return holds
}

// noFalseFencing: the latest grant's token is never rejected.
func noFalseFencing(p *past) opinion {
	if !p.coordinator || !p.store {
		return noFalseFencingTold(p)
	}
	for i := range p.events {
		r := &p.events[i]
		if !noted(r, history.Reject) || r.Token == 0 {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			g := &p.events[j]
			if !noted(g, history.Grant) || p.fence(g) != p.fence(r) {
				continue
			}
			if g.Token == r.Token && !another(g.Lease, r.Lease) {
				return broken("#%d refused token %d, the latest grant's at #%d", r.Index, r.Token, g.Index)
			}
			break
		}
	}
	return holds
}

// noFalseFencingTold judges a stale answer to the holder of the last acquisition, where
// no other acquisition was open that may have been granted in between.
func noFalseFencingTold(p *past) opinion {
	for _, o := range p.ops {
		if !o.F.IsStore() || !o.stale() || o.Token == 0 {
			continue
		}
		for _, a := range p.ops {
			mine := a.F == history.Acquire && a.ok() && p.fence(a.end) == p.fence(&o.Event) && a.ClientName() == o.ClientName() &&
				a.end.Token == o.Token && !another(a.end.Lease, o.Lease) && a.before(o)
			if mine && p.last(a, o) {
				return broken("#%d refused token %d, acquired last at #%d", o.end.Index, o.Token, a.end.Index)
			}
		}
	}
	return holds
}

// last reports whether acquisition a is surely the last one when o ends.
func (p *past) last(a, o *operation) bool {
	for _, b := range p.ops {
		failed := b.failed() && b.until < o.until
		other := b.F == history.Acquire && b != a && !failed && p.fence(&b.Event) == p.fence(&a.Event)
		done := b.ok() && b.before(a)
		if other && !done && b.at < o.until {
			return false
		}
	}
	return true
}

// givesUp: after a stale-token rejection a holder invokes no further mutation, raise or
// read under that token.
func givesUp(p *past) opinion {
	for _, refused := range p.ops {
		if !refused.F.IsStore() || !refused.stale() || refused.Token == 0 {
			continue
		}
		if another(refused.Lease, refused.end.Lease) {
			return opinion{} // under which lease it was refused is not known
		}
		for _, o := range p.ops {
			if another(o.Lease, refused.Lease) {
				continue // it was granted the token anew
			}
			if o.F.IsStore() && o.at > refused.until && o.ClientName() == refused.ClientName() &&
				p.fence(&o.Event) == p.fence(&refused.Event) && o.Token == refused.Token && !p.anew(refused, o) {
				return broken("#%d goes on under token %d, refused at #%d", o.Index, o.Token, refused.end.Index)
			}
		}
	}
	return holds
}

// anew reports whether the client was granted the refused token anew, under another
// lease, before o.
func (p *past) anew(refused, o *operation) bool {
	for _, a := range p.ops {
		if a.F == history.Acquire && a.ok() && a.before(o) && a.until > refused.until && a.ClientName() == o.ClientName() &&
			p.fence(&a.Event) == p.fence(&o.Event) && a.end.Token == o.Token && (a.end.Lease != refused.Lease || a.end.Lease == "") {
			return true
		}
	}
	return false
}

// scopeIsolation: a rejection is justified in the same scope, by a greater accepted
// token, or by an equal one first accepted from another lease.
func scopeIsolation(p *past) opinion {
	if !p.store {
		return scopeIsolationTold(p)
	}
	for i := range p.events {
		if r := &p.events[i]; noted(r, history.Reject) && !p.justified(r, i) {
			return broken("#%d refused token %d for nothing", r.Index, r.Token)
		}
	}
	return holds
}

// justified reports whether something in the scope of its fence explains the rejection
// at place i.
func (p *past) justified(r *history.Event, i int) bool {
	for j := range i {
		e := &p.events[j]
		// A store may choose that a read lifts its fence: what it answers tells.
		agrees := e.F != history.Served || r.Highest == 0 || r.Highest == e.Token
		if noted(e, history.Apply, history.Raised, history.Served) && p.fence(e) == p.fence(r) && above(e, r) && agrees {
			return true
		}
	}
	for _, o := range p.ops {
		unanswered := o.at < i && o.until > i || o.end != nil && o.end.Type == history.Info
		if o.F.IsStore() && o.at < i && unanswered && o.Op != r.Op && p.fence(&o.Event) == p.fence(r) && above(&o.Event, r) &&
			(r.Highest == 0 || r.Highest == o.Token) {
			return true
		}
	}
	return p.knownGrant(r, i)
}

// above reports whether a fence that accepted e refuses r.
func above(e, r *history.Event) bool {
	return e.Token > r.Token || e.Token == r.Token && e.Lease != r.Lease
}

// knownGrant reports whether a greater token may have been granted before place i: a
// store that knows the lease table refuses lower ones from then on. The header says that
// the store does, or that is assumed of a recorded history.
func (p *past) knownGrant(r *history.Event, i int) bool {
	recorded := p.Scenario == ""
	if p.Fence != "granted" && !(p.Fence == "" && recorded) {
		return false
	}
	for j := range i {
		if e := &p.events[j]; noted(e, history.Grant) && p.fence(e) == p.fence(r) && e.Token > r.Token {
			return true
		}
	}
	for _, a := range p.ops {
		if a.F == history.Acquire && a.ok() && a.at < i && p.fence(&a.Event) == p.fence(r) && a.end.Token > r.Token {
			return true
		}
	}
	return false
}

// scopeIsolationTold judges over completed operations.
func scopeIsolationTold(p *past) opinion {
	for _, r := range p.ops {
		if !r.F.IsStore() || !r.stale() {
			continue
		}
		explained := p.knownGrant(&r.Event, r.until)
		for _, o := range p.ops {
			if o.F.IsStore() && !o.failed() && o.at < r.until && o != r && p.fence(&o.Event) == p.fence(&r.Event) && above(&o.Event, &r.Event) {
				explained = true
			}
		}
		if !explained {
			return broken("#%d refused token %d for nothing", r.end.Index, r.Token)
		}
	}
	return holds
}

// noLostUpdate: a read-modify-write under a token is never based on a value that an
// older holder's late write then changed.
func noLostUpdate(p *past) opinion {
	if !p.store {
		return noLostUpdateTold(p)
	}
	for i := range p.events {
		m := &p.events[i]
		if !noted(m, history.Apply) || p.basis(m) == 0 {
			continue
		}
		used := p.effectOf(p.basis(m), m.Resource, i)
		if o := p.op(p.basis(m)); used < 0 && o != nil && o.ok() && o.Resource == m.Resource && o.until < i {
			used = o.until // the store did not note it
		}
		if used < 0 {
			continue
		}
		for j := used + 1; j < i; j++ {
			if e := &p.events[j]; noted(e, history.Apply) && e.Resource == m.Resource && e.Token < m.Token {
				return broken("#%d is based on #%d, but #%d wrote in between", m.Index, p.events[used].Index, e.Index)
			}
		}
	}
	return holds
}

// basis returns the operation whose value the mutation of a note used, 0 if none.
func (p *past) basis(m *history.Event) int64 {
	if o := p.op(m.Op); m.Basis == 0 && o != nil {
		return o.Basis
	}
	return m.Basis
}

// effectOf returns the place of the last note, before place i, that tells of the effect
// of an operation on a resource, or -1.
func (p *past) effectOf(op int64, resource string, i int) int {
	for i--; i >= 0; i-- {
		if e := &p.events[i]; noted(e, history.Apply, history.Served, history.Raised) && e.Op == op && e.Resource == resource {
			return i
		}
	}
	return -1
}

// noLostUpdateTold judges what surely took effect in between.
func noLostUpdateTold(p *past) opinion {
	seen := opinion{}
	for _, m := range p.ops {
		used := p.op(m.Basis)
		if !m.F.IsMutation() || !m.ok() || used == nil || !used.ok() || used.Resource != m.Resource {
			continue
		}
		seen = holds
		for _, late := range p.ops {
			if late.F.IsMutation() && late.ok() && late.Resource == m.Resource && late.Token < m.Token && used.before(late) && late.before(m) {
				return broken("#%d is based on #%d, but #%d wrote in between", m.Index, used.end.Index, late.end.Index)
			}
		}
	}
	return seen
}

// fenceSurvives: the store's greatest token, and every acknowledged write, survive its
// crash, failover and restore.
func fenceSurvives(p *past) opinion {
	if !p.store {
		return opinion{} // linearizable judges it
	}
	for i := range p.events {
		e := &p.events[i]
		if !noted(e, history.Apply, history.Reject, history.Raised, history.Served) {
			continue
		}
		for j := range i {
			o := &p.events[j]
			if noted(o, history.Apply, history.Reject, history.Raised, history.Served) && p.fence(o) == p.fence(e) && e.Highest < o.Highest && p.tellsGreatest(e, i) {
				return broken("the greatest token %d at #%d, %d at #%d", o.Highest, o.Index, e.Highest, e.Index)
			}
		}
		if noted(e, history.Served) && !p.served(e, i) {
			return broken("#%d served %s, which no acknowledged write left", e.Index, e.Value)
		}
	}
	return holds
}

// tellsGreatest reports whether the note at place i tells what the store's greatest token
// is. One without may say that there is none, if notes like it told one before: not a
// refusal, which need not know it, nor what was accepted with a token, which leaves one.
func (p *past) tellsGreatest(e *history.Event, i int) bool {
	if e.Highest > 0 {
		return true
	}
	read := e.F == history.Served
	for j := range i {
		o := &p.events[j]
		if noted(o, history.Apply, history.Reject, history.Raised, history.Served) && o.Highest > 0 && (o.F == history.Served) == read {
			return read || e.F != history.Reject && e.Token == 0
		}
	}
	return false
}

// untoldOr reports whether a mutation may have left what was read: of a delete, and of a
// note without a value, it is not known what that is.
func untoldOr(v, read history.Value) bool { return v.Kind == history.Absent || v == read }

// appliedBefore reports whether the store noted, before place i, that it applied o.
func (p *past) appliedBefore(o *operation, i int) bool {
	for j := range max(i, 0) {
		if e := &p.events[j]; noted(e, history.Apply) && e.Op == o.Op {
			return true
		}
	}
	return false
}

// served reports whether what was read at place i, after a restart of the store, is the
// last acknowledged write, a later one, or one without an answer.
func (p *past) served(s *history.Event, i int) bool {
	restart := -1
	for j := range i {
		switch e := &p.events[j]; {
		case noted(e, history.Restart) && e.Process == s.Process:
			restart = j
		case noted(e, history.Apply) && e.Resource == s.Resource:
			restart = -1 // what it left is what was written since
		}
	}
	if restart < 0 || s.Value.Kind == history.Absent {
		return true
	}
	acknowledged, value := -1, history.Value{}
	for j := range i {
		e := &p.events[j]
		if o := p.op(e.Op); noted(e, history.Apply) && e.Resource == s.Resource && o != nil && o.ok() && o.until < i {
			acknowledged, value = j, e.Value
		}
	}
	if acknowledged < 0 || s.Value == value || value.Kind == history.Absent {
		return true // nothing that must survive, or it did
	}
	for j := range i {
		e := &p.events[j]
		if noted(e, history.Apply) && e.Resource == s.Resource && untoldOr(e.Value, s.Value) {
			if j > acknowledged {
				return true
			}
		}
	}
	for _, o := range p.ops {
		if o.F.IsMutation() && o.Resource == s.Resource && o.at < i && untoldOr(o.Value, s.Value) && (!o.ok() || o.until > i) && !p.appliedBefore(o, acknowledged) {
			return true
		}
	}
	return false
}
