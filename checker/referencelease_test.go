package checker_test

import (
	"staleproof/model/history"
)

// tokenOrder: tokens strictly increase per scope from one acquisition to the next, in
// the coordinator's own order, and are never reused.
func tokenOrder(p *past) opinion {
	if !p.coordinator {
		return tokenOrderTold(p)
	}
	for i := range p.events {
		g := &p.events[i]
		if !noted(g, history.Grant) {
			continue
		}
		if g.Token == 0 {
			return opinion{} // tokens count from 1: it has none
		}
		for j := i - 1; j >= 0; j-- {
			before := &p.events[j]
			if !noted(before, history.Grant) || p.fence(before) != p.fence(g) {
				continue
			}
			if p.repeats(g, before, i) {
				break // a re-entry is no acquisition
			}
			if g.Token <= before.Token {
				return broken("token %d granted at #%d after token %d at #%d", g.Token, g.Index, before.Token, before.Index)
			}
		}
	}
	return holds
}

// repeats reports whether the grant at place i repeats an earlier one: the same lease, or
// where none is named the same client's, is granted once more and was not over.
func (p *past) repeats(g, before *history.Event, i int) bool {
	if g.Token != before.Token || another(g.Owner, before.Owner) || another(g.Lease, before.Lease) {
		return false
	}
	known := g.Lease != "" && before.Lease != ""
	return (known || g.Owner == before.Owner) && p.inForce(before, i-1, 0)
}

// tokenOrderTold judges from the clients' view: an acquisition that began after
// another one ended has the greater token, and overlapping ones never share a token.
func tokenOrderTold(p *past) opinion {
	seen := opinion{}
	for _, a := range p.ops {
		for _, b := range p.ops {
			if a.F != history.Acquire || b.F != history.Acquire || !a.ok() || !b.ok() || p.fence(a.end) != p.fence(b.end) {
				continue
			}
			if a.end.Token == 0 || b.end.Token == 0 {
				continue
			}
			seen = holds
			if a == b || p.again(a, b) {
				continue
			}
			switch overlap := !a.before(b) && !b.before(a); {
			case a.before(b) && b.end.Token <= a.end.Token:
				return broken("token %d at #%d after token %d at #%d", b.end.Token, b.end.Index, a.end.Token, a.end.Index)
			case overlap && a.end.Token == b.end.Token:
				return broken("token %d at #%d and at #%d", b.end.Token, a.end.Index, b.end.Index)
			}
		}
	}
	return seen
}

// again reports whether b is a re-entry: it repeats what its client acquired by a, and
// where no identity is recorded did not release in between.
func (p *past) again(a, b *operation) bool {
	if a.ClientName() != b.ClientName() || a.end.Lease != b.end.Lease || a.end.Token != b.end.Token {
		return false
	}
	for _, r := range p.ops {
		between := a.before(r) && r.before(b) || b.before(r) && r.before(a)
		if r.F == history.Release && r.ok() && r.ClientName() == a.ClientName() && between && a.end.Lease == "" {
			return false
		}
	}
	return true
}

// renewalKeepsToken: a renewal, and a re-entry by the same holder, keep the token; a
// new grant changes it.
func renewalKeepsToken(p *past) opinion {
	if !p.coordinator {
		return renewalKeepsTokenTold(p)
	}
	for i := range p.events {
		e := &p.events[i]
		if !noted(e, history.Grant, history.Renewed) {
			continue
		}
		g := p.latestGrant(i, e.ScopeName())
		if g < 0 {
			continue
		}
		latest := &p.events[g]
		// A re-entry names the lease again; where none is named, its holder comes again.
		again := latest.Owner == e.Owner && e.Owner != ""
		if latest.Lease != "" && e.Lease != "" {
			again = latest.Lease == e.Lease && !another(latest.Owner, e.Owner)
		}
		reentry := again && p.inForce(latest, i-1, e.Time)
		switch {
		case e.F == history.Renewed:
			if own := p.latestOf(i, e); own != nil && own.Token != e.Token {
				return broken("#%d renewed token %d to token %d", e.Index, own.Token, e.Token)
			}
		case e.F == history.Grant && reentry && e.Token != latest.Token:
			return broken("#%d a re-entry turned token %d into token %d", e.Index, latest.Token, e.Token)
		case e.F == history.Grant && e.Token == latest.Token && e.Token != 0 && !reentry && !p.repeats(e, latest, i):
			return broken("#%d a new grant has token %d too", e.Index, e.Token)
		}
	}
	return holds
}

// latestOf returns the last grant, before place i, of the lease that a renewal is about.
func (p *past) latestOf(i int, renewal *history.Event) *history.Event {
	for i--; i >= 0; i-- {
		e := &p.events[i]
		if noted(e, history.Grant) && e.ScopeName() == renewal.ScopeName() && e.Lease == renewal.Lease {
			return e
		}
	}
	return nil
}

// latestGrant returns the place of the last grant of a scope before place i, or -1.
func (p *past) latestGrant(i int, scope string) int {
	for i--; i >= 0; i-- {
		if e := &p.events[i]; noted(e, history.Grant) && e.ScopeName() == scope {
			return i
		}
	}
	return -1
}

// renewalKeepsTokenTold compares what each client was told: the token it renewed with
// the token it was answered.
func renewalKeepsTokenTold(p *past) opinion {
	seen := opinion{}
	for _, o := range p.ops {
		a := p.acquiredBefore(o)
		if !o.ok() || a == nil || o.F != history.Acquire && o.F != history.Renew || a.end.Token == 0 || o.end.Token == 0 {
			continue
		}
		seen = holds
		switch known := a.end.Lease != "" && o.end.Lease != ""; {
		case o.F == history.Renew && o.Token != 0 && (o.Lease == "" || a.end.Lease == ""):
			if o.end.Token != o.Token { // the token that it presented
				return broken("#%d was answered token %d for token %d", o.end.Index, o.end.Token, o.Token)
			}
		case o.F == history.Renew && !another(a.end.Lease, o.Lease) && o.end.Token != a.end.Token:
			return broken("#%d was answered token %d, having token %d", o.end.Index, o.end.Token, a.end.Token)
		case o.F == history.Acquire && known && o.end.Lease == a.end.Lease && o.end.Token != a.end.Token:
			return broken("#%d was answered token %d, having token %d", o.end.Index, o.end.Token, a.end.Token)
		case o.F == history.Acquire && known && o.end.Lease != a.end.Lease && o.end.Token == a.end.Token:
			return broken("#%d a new lease has token %d, as that of #%d", o.end.Index, o.end.Token, a.end.Index)
		}
	}
	return seen
}

// acquiredBefore returns the last acquisition of a client before o, in its scope.
func (p *past) acquiredBefore(o *operation) *operation {
	var last *operation
	for _, a := range p.ops {
		if a.F == history.Acquire && a.ok() && a.before(o) && a.ClientName() == o.ClientName() && a.ScopeName() == o.ScopeName() {
			last = a
		}
	}
	return last
}

// exclusiveGrant: in the coordinator's own order no two leases of a scope are in force
// at once.
func exclusiveGrant(p *past) opinion {
	if !p.coordinator {
		return exclusiveGrantTold(p)
	}
	if !p.identified() {
		return opinion{}
	}
	for i := range p.events {
		e := &p.events[i]
		if !noted(e, history.Grant, history.Renewed) {
			continue
		}
		for j := range i {
			g := &p.events[j]
			if noted(g, history.Grant, history.Renewed) && g.ScopeName() == e.ScopeName() && !sameLease(g, e) && p.inForce(g, i, e.Time) {
				return broken("#%d while the lease of #%d was in force", e.Index, g.Index)
			}
		}
	}
	return holds
}

// sameLease reports whether two notes of the lease manager are about one lease: its
// identity and its owner tell, and where no identity is recorded the token.
func sameLease(a, b *history.Event) bool {
	grants := noted(a, history.Grant) && noted(b, history.Grant)
	switch {
	case a.Lease != b.Lease:
		return false
	case another(a.Owner, b.Owner) && (a.Lease != "" || grants):
		return false // an identity that two clients have is told apart by its owner
	}
	return a.Lease != "" || a.Token == b.Token || a.Token == 0 || b.Token == 0
}

// identified reports whether it is known which lease each note is about: one without an
// identity is about the lease that was granted last, and does not contradict it.
func (p *past) identified() bool {
	for i := range p.events {
		e := &p.events[i]
		if !noted(e, history.Renewed, history.Released, history.Expire) || e.Lease != "" {
			continue
		}
		for j := i - 1; j >= 0; j-- {
			g := &p.events[j]
			if noted(g, history.Grant, history.Renewed, history.Released, history.Expire) && g.ScopeName() == e.ScopeName() {
				if g.Lease != "" || g.Token != e.Token || another(g.Owner, e.Owner) {
					return false
				}
				break
			}
		}
	}
	return true
}

// inForce reports whether the lease that g names is in force behind place i, at that
// time: it was granted, or renewed, and neither released nor noted as expired since then,
// and its term, as its grant or its last renewal set it, is not past.
func (p *past) inForce(g *history.Event, i int, now int64) bool {
	force, expires := false, int64(0)
	for j := range i + 1 {
		e := &p.events[j]
		if e.ScopeName() != g.ScopeName() || !sameLease(e, g) {
			continue
		}
		switch {
		case noted(e, history.Grant):
			force, expires = true, e.Expires
		case noted(e, history.Renewed):
			force, expires = true, e.Expires // a renew after expiry resurrects
		case noted(e, history.Released, history.Expire):
			force = false
		}
	}
	past := p.Timing != "untimed" && expires != 0 && now >= expires
	return force && !past
}

// exclusiveGrantTold judges from the clients' view: a client that renews or releases a
// lease proves that it held it since it acquired it, and no other acquisition may lie
// inside.
func exclusiveGrantTold(p *past) opinion {
	seen := opinion{}
	for _, proof := range p.ops {
		if proof.F != history.Renew && proof.F != history.Release || !proof.ok() {
			continue
		}
		a := p.acquiredBy(proof)
		if a == nil {
			continue
		}
		if a.end.Lease == "" && p.repeated(a) || another(proof.Lease, proof.end.Lease) || p.ambiguous(proof, a) {
			return opinion{} // which acquisition it was is not known
		}
		seen = holds
		for _, b := range p.ops {
			inside := a.before(b) && b.before(proof)
			if b.F == history.Acquire && b.ok() && b.ScopeName() == a.ScopeName() && inside && !p.reentry(b, a) {
				return broken("#%d acquired between #%d and #%d", b.end.Index, a.end.Index, proof.Index)
			}
		}
	}
	return seen
}

// acquiredBy returns the acquisition of the lease that o presents: the last one of its
// client before o, of that identity if it names one.
func (p *past) acquiredBy(o *operation) *operation {
	var last *operation
	for _, a := range p.ops {
		if a.F == history.Acquire && a.ok() && a.before(o) && a.ClientName() == o.ClientName() &&
			a.ScopeName() == o.ScopeName() && !another(a.end.Lease, o.Lease) {
			last = a
		}
	}
	return last
}

// ambiguous reports whether a proof without an identity may be of another acquisition
// than the last one before it: it presents another token, or its client was acquiring.
func (p *past) ambiguous(proof, a *operation) bool {
	if proof.Lease != "" && a.end.Lease != "" {
		return false
	}
	for _, b := range p.ops {
		over := b.failed() && b.until < proof.until
		if b.F == history.Acquire && b != a && !over && b.ClientName() == a.ClientName() && b.ScopeName() == a.ScopeName() &&
			!b.before(proof) && b.at < proof.until {
			return true
		}
	}
	return proof.Token != 0 && proof.Token != a.end.Token
}

// repeated reports whether a's client acquired the same token before.
func (p *past) repeated(a *operation) bool {
	for _, b := range p.ops {
		if b != a && b.F == history.Acquire && b.ok() && b.ClientName() == a.ClientName() && b.ScopeName() == a.ScopeName() && b.end.Token == a.end.Token {
			return true
		}
	}
	return false
}

// reentry reports whether b acquired once more the lease that a acquired.
func (p *past) reentry(b, a *operation) bool {
	return a.ClientName() == b.ClientName() && (a.end.Lease == b.end.Lease || a.end.Lease == b.Lease)
}

// leaseIdentity: renew and release take effect only for the lease whose identity is
// presented.
func leaseIdentity(p *past) opinion {
	if !p.coordinator {
		return leaseIdentityTold(p)
	}
	for i := range p.events {
		n := &p.events[i]
		if o := p.op(n.Op); p.Scenario == "" && o != nil && o.failed() && noted(n, history.Grant, history.Renewed, history.Released) {
			return broken("#%d took effect, #%d says that it failed", n.Index, o.end.Index)
		}
		if !noted(n, history.Renewed, history.Released) {
			continue
		}
		if o := p.op(n.Op); o != nil && n.Lease != "" && o.Lease != n.Lease {
			return broken("#%d is about lease %s, the client presented %q", n.Index, n.Lease, o.Lease)
		}
		for j := i - 1; j >= 0; j-- {
			e := &p.events[j]
			if e.ScopeName() != n.ScopeName() || e.Lease != n.Lease || n.Lease == "" {
				continue
			}
			if noted(e, history.Grant) {
				break
			}
			if noted(e, history.Released, history.Expire) {
				return broken("#%d is about lease %s, which ended at #%d", n.Index, n.Lease, e.Index)
			}
		}
	}
	return holds
}

// leaseIdentityTold judges from the clients' view: no renewal or release of a lease
// that begins after the lease's release has succeeded does.
func leaseIdentityTold(p *past) opinion {
	seen := opinion{}
	for _, released := range p.ops {
		if released.F != history.Release || !released.ok() || released.Lease == "" {
			continue
		}
		seen = holds
		for _, o := range p.ops {
			if o.F != history.Renew && o.F != history.Release || !o.ok() || o.Lease != released.Lease && o.end.Lease != released.Lease || o.ScopeName() != released.ScopeName() || !released.before(o) {
				continue
			}
			if another(o.Lease, o.end.Lease) || another(released.Lease, released.end.Lease) {
				return opinion{} // which lease it was about is not known
			}
			if a := p.acquiredBy(o); a != nil && released.before(a) {
				continue // the identity was given out once more
			}
			return broken("#%d succeeded for lease %s, released at #%d", o.end.Index, o.Lease, released.end.Index)
		}
	}
	return seen
}

// exclusiveBelief: within the declared clock bound no two holders believe at the same
// true time. A belief lasts until its holder gives it up, crashes, or its deadline
// comes.
func exclusiveBelief(p *past) opinion {
	if p.Timing == "untimed" {
		return opinion{}
	}
	seen := opinion{}
	for i := range p.events {
		b := &p.events[i]
		if !noted(b, history.Believe) {
			continue
		}
		seen = holds
		if b.Until <= b.Time {
			continue
		}
		for j := range i {
			o := &p.events[j]
			if noted(o, history.Believe) && o.ScopeName() == b.ScopeName() && holder(o) != holder(b) && p.believes(j, i) {
				return broken("%s believes at #%d, and %s since #%d", holder(b), b.Index, holder(o), o.Index)
			}
		}
	}
	return seen
}

// holder names who believes: the owner is "the client that holds what the event is about".
func holder(e *history.Event) string {
	if e.Owner != "" {
		return e.Owner
	}
	return e.ClientName()
}

// believes reports whether the belief that was noted at place j lasts at place i.
func (p *past) believes(j, i int) bool {
	b := &p.events[j]
	if b.Until <= p.events[i].Time {
		return false
	}
	for j++; j < i; j++ {
		e := &p.events[j]
		switch {
		case noted(e, history.Believe, history.Disbelieve) && holder(e) == holder(b) && e.ScopeName() == b.ScopeName():
			return false // given up, or another belief now
		case noted(e, history.Crash) && (e.Process == b.Process || e.Process == b.ClientName()):
			return false
		}
	}
	return true
}
