package checker

import (
	"fmt"
	"math"
	"slices"

	"staleproof/model/history"
)

// locks judges acquisitions, renewals and releases, as a mutex or as leases.
// Each hold is a zone: its operations are the acquisition and what proves that
// the hold had not ended. They differ in what ends it: a mutex is held until it
// is released, a lease may be lost unnoticed after its last proof.
type locks struct {
	property string
	strict   bool // a mutex
	header   history.Header
	in       Input // resolves names
	open     opTable[lockOp]
	scopes   []lockScope
	seats    map[seatKey]*seat
	leases   map[leaseKey]*lockHold
	gone     []bool            // by client: a process whose last operation ended unknown, not seen since; it may have another name now
	ended    leaseTable[int64] // where each lease was released
	forgot   bool              // of some seat
	doubt    *Violation        // what could not be judged
	found    *Violation
	intruded int // grants that lie within a proven hold of another client
}

type seatKey struct{ scope, client int32 }

type leaseKey struct {
	scope int32
	lease identity
}

// seat is what one client holds of one scope.
type seat struct {
	holds    []*lockHold // those that were not released, by their acquisition
	released *lockHold   // the last one that was
	forgot   bool        // there were more
	orphaned bool        // it is among the orphans of its scope
	unknown  bool        // an acquisition or, of a mutex, a release may yet take effect
}

// manyHolds bounds the leases of one client and scope that are kept while no event
// says that they are over.
var manyHolds = 16

// lockHold is one lease, from its acquisition on.
type lockHold struct {
	zone
	scope    int32
	lease    identity
	token    history.Token
	depth    int       // how many releases it takes
	leaving  int       // releases that may have taken effect
	proved   history.F // what the last operation was that its holder succeeded with
	released int64     // the end of the last release
	until    int64     // the time until which its term runs for sure; 0 is unknown
	counted  bool      // among the intruded
}

// lockOp is an operation that has not ended.
type lockOp struct {
	f             history.F
	scope, client int32
	lease         identity
	token         history.Token
	invoked, time int64
	target        *lockHold // of a release
}

type lockScope struct {
	timeline
	initial *lockHold   // of leases: what may have been held before the history
	holder  *lockHold   // of a mutex: the hold that cannot be over
	maybe   []maybe     // acquisitions of unknown outcome
	orphans []*seat     // of clients whose operation had an unknown outcome
	terms   []*lockHold // those whose term may not be over
}

// maybe is an acquisition that may have been granted.
type maybe struct {
	client  int32
	invoked int64
}

func newLocks(property string, strict bool, h history.Header) *locks {
	m := &locks{property: property, strict: strict, header: h, seats: make(map[seatKey]*seat), leases: make(map[leaseKey]*lockHold)}
	m.in.names = newNames(false)
	return m
}

// beforeAll is the index of what was there before a history, nobody its owner.
const (
	beforeAll = math.MinInt64
	nobody    = -1
)

func (m *locks) scope(i int32) *lockScope {
	s := at(&m.scopes, i)
	if s.initial == nil && !m.strict {
		s.lenient = true
		s.initial = &lockHold{zone: zone{owner: nobody}, scope: i, depth: 1}
		s.initial.hold = s.initial
		s.open(&s.initial.zone, beforeAll, beforeAll)
	}
	return s
}

func (m *locks) seat(scope, client int32) *seat {
	k := seatKey{scope, client}
	t := m.seats[k]
	if t == nil {
		t = &seat{}
		m.seats[k] = t
	}
	return t
}

// observe takes the next event. What comes after a violation is only counted.
func (m *locks) observe(e *history.Event) {
	if e.Type == history.Note || !e.F.IsOperation() {
		return
	}
	in := &m.in
	in.take(e)
	*at(&m.gone, in.client()) = e.Type == history.Info && e.Client == ""
	if m.gone[in.client()] {
		m.scope(in.scope()).orphan(m.seats[seatKey{in.scope(), in.client()}])
	}
	switch {
	case !e.F.IsLease():
	case e.Type == history.Invoke:
		m.invoke(in)
	default:
		if o := m.open.find(e.Op); o != nil {
			op := o.rec
			m.open.remove(o)
			m.end(in, &op)
		}
	}
}

// orphan keeps what a client holds that may go on under another name.
func (s *lockScope) orphan(t *seat) {
	if t != nil && len(t.holds) > 0 && !t.orphaned {
		t.orphaned = true
		s.orphans = append(s.orphans, t)
	}
}

func (m *locks) invoke(in *Input) {
	o, _ := m.open.add(in.Op)
	op := lockOp{in.F, in.scope(), in.client(), in.lease(), in.Token, in.Index, in.Time, nil}
	if in.F == history.Release {
		if h := m.held(&op, op.lease); h != nil && h.released == 0 {
			op.target = h
			m.leaves(h, op.invoked)
		}
	}
	o.rec = op
}

// leaves notes that a release of h has begun: from now on it may be over.
func (m *locks) leaves(h *lockHold, at int64) {
	h.leaving++
	if s := m.scope(h.scope); s.holder == h {
		s.holder, h.last, h.proof = nil, at, 0
	}
}

// stays notes that a release of h had no effect.
func (m *locks) stays(in *Input, h *lockHold) {
	if h.leaving--; h.leaving > 0 || !m.strict || h.dead {
		return
	}
	s := m.scope(h.scope)
	s.holder, h.last = h, never
	if o := s.within(&h.zone); o != nil {
		m.conflict(in, h, o.hold)
	}
}

func (m *locks) end(in *Input, op *lockOp) {
	s := m.scope(op.scope)
	switch {
	case in.Type == history.OK && op.f == history.Acquire:
		m.granted(in, op, s)
	case in.Type == history.OK:
		m.accepted(in, op, s)
	case in.Type == history.Info && op.f == history.Acquire:
		m.seat(op.scope, op.client).unknown = true
		s.maybe = append(s.maybe, maybe{op.client, op.invoked})
	case in.Type == history.Info && op.f == history.Release && m.strict:
		m.seat(op.scope, op.client).unknown = true
	case in.Type == history.Fail && op.target != nil:
		m.stays(in, op.target)
	}
}

// granted adds the hold that an acquisition began.
func (m *locks) granted(in *Input, op *lockOp, s *lockScope) {
	h := &lockHold{lease: op.lease, token: in.Token}
	if in.lease() != 0 {
		h.lease = in.lease()
	}
	m.begin(in, op, s, h, op.invoked)
	m.terms(in, op, s, h)
}

// begin adds a hold whose first operation began at start and has just ended.
func (m *locks) begin(in *Input, op *lockOp, s *lockScope, h *lockHold, start int64) {
	h.owner, h.hold, h.scope, h.depth = op.client, h, op.scope, 1
	t := m.seat(op.scope, op.client)
	if !m.strict {
		m.again(h, t, s)
	} else if o := s.holder; o != nil && (op.f != history.Release || start > o.first) {
		h.first = in.Index
		m.conflict(in, o, h)
	}
	for m.strict && len(t.holds) > 0 { // what a release of unknown outcome ended
		m.drop(t.holds[0], t, s)
	}
	s.open(&h.zone, start, in.Index)
	if t.holds = append(t.holds, h); len(t.holds) > manyHolds {
		m.drop(t.holds[0], t, s)
		t.forgot, m.forgot = true, true
	}
	if h.lease != 0 {
		m.leases[leaseKey{op.scope, h.lease}] = h
		m.ended.remove(op.scope, h.lease)
	}
	if m.strict && op.f != history.Release {
		s.holder, h.last = h, never
	}
}

// again makes a hold take the place of the same client's hold of the same lease:
// acquired once more, if nobody else was granted it in between, or lost before.
func (m *locks) again(h *lockHold, t *seat, s *lockScope) {
	i := slices.IndexFunc(t.holds, func(o *lockHold) bool { return o.lease == h.lease && (o.lease != 0 || o.token == h.token) })
	if o := s.initial; i < 0 && o.owner == h.owner && o.released == 0 && s.next(&o.zone) == nil {
		h.depth++
	}
	if i < 0 {
		return
	}
	if o := t.holds[i]; s.next(&o.zone) == nil {
		h.depth += o.depth
	}
	m.drop(t.holds[i], t, s)
}

// drop takes a hold out of its seat for good.
func (m *locks) drop(h *lockHold, t *seat, s *lockScope) {
	if k := (leaseKey{h.scope, h.lease}); m.leases[k] == h {
		delete(m.leases, k)
	}
	if i := slices.Index(t.holds, h); i >= 0 {
		t.holds = slices.Delete(t.holds, i, i+1)
	}
	s.close(&h.zone)
}

// held finds the hold that an operation is about: that of the identity, of which
// the client's own comes first (several may present one), else the client's latest
// that the operation does not contradict.
func (m *locks) held(op *lockOp, lease identity) *lockHold {
	t := m.seats[seatKey{op.scope, op.client}]
	if own := t.exactly(lease); own != nil {
		return own
	}
	if h := m.leases[leaseKey{op.scope, lease}]; h != nil && lease != 0 {
		return h
	}
	if t == nil {
		return nil
	}
	for i := len(t.holds) - 1; i >= 0; i-- {
		if t.holds[i].fits(lease, op.token) {
			return t.holds[i]
		}
	}
	if t.released != nil && t.released.fits(lease, op.token) {
		return t.released
	}
	return nil
}

// exactly returns the hold of that identity, nil if there is none.
func (t *seat) exactly(lease identity) *lockHold {
	if t == nil || lease == 0 {
		return nil
	}
	for _, h := range slices.Backward(t.holds) {
		if h.lease == lease {
			return h
		}
	}
	if h := t.released; h != nil && h.lease == lease {
		return h
	}
	return nil
}

// fits reports whether an operation that presents these can be about h.
func (h *lockHold) fits(lease identity, token history.Token) bool {
	return sameLease(h.lease, lease) && (lease != 0 || token == 0 || h.token == 0 || token == h.token)
}

// accepted judges a renewal or a release that succeeded.
func (m *locks) accepted(in *Input, op *lockOp, s *lockScope) {
	h := m.subject(in, op)
	if m.found != nil && h == nil {
		return
	}
	if h == nil || op.f == history.Release && h.released != 0 || op.f == history.Renew && h.released != 0 && h.released < op.invoked {
		if h = m.unseen(in, op, s, h); h == nil {
			return
		}
	}
	h.proved = op.f
	if h.proof != in.Index { // else it has just begun
		m.count(s, h, op.invoked)
		if h.last != never {
			if o := s.extend(&h.zone, op.invoked, in.Index); o != nil {
				m.conflict(in, h, o.hold)
			}
		}
		if h.proof == 0 {
			h.proof = in.Index
		}
	}
	m.terms(in, op, s, h)
	if op.f == history.Release {
		m.releases(in, op, s, h)
	}
}

// subject finds the hold that was renewed or released: by the identity that was
// presented, else by the one that was answered.
func (m *locks) subject(in *Input, op *lockOp) *lockHold {
	if in.lease() == 0 || in.lease() == op.lease {
		return m.held(op, op.lease)
	}
	answered := m.seats[seatKey{op.scope, op.client}].exactly(in.lease())
	if answered == nil {
		answered = m.leases[leaseKey{op.scope, in.lease()}]
	}
	if op.lease == 0 && answered != nil {
		return answered
	}
	h := m.held(op, op.lease)
	switch {
	case answered != nil && answered != h:
		m.violate([]int64{answered.first, op.invoked, in.Index},
			"the %s that began at #%d took effect on another lease than it presented: on that of %s, acquired at #%d%s",
			op.f, op.invoked, m.client(answered.owner), answered.first, m.where(op.scope))
		return nil
	case h != nil && answered == nil: // its identity has changed
		if k := (leaseKey{op.scope, h.lease}); m.leases[k] == h {
			delete(m.leases, k)
		}
		h.lease = in.lease()
		m.leases[leaseKey{op.scope, in.lease()}] = h
	}
	return h
}

// unseen finds what else explains an acceptance, and reports it if nothing does:
// known is over, or nil.
func (m *locks) unseen(in *Input, op *lockOp, s *lockScope, known *lockHold) *lockHold {
	if start, ok := m.unknownGrant(op, s, known == nil); ok {
		h := &lockHold{lease: op.lease, token: op.token}
		if in.lease() != 0 {
			h.lease = in.lease()
		}
		m.begin(in, op, s, h, max(start, op.invoked))
		return h
	}
	if h := m.orphaned(op, s, in.lease()); h != nil && known == nil {
		return h
	}
	who, did, released := m.client(op.client), tookEffect(op.f), int64(0)
	if e := m.ended.find(op.scope, op.lease); e != nil {
		released = e.rec
	}
	if known != nil {
		released = known.released
	}
	switch t := m.seats[seatKey{op.scope, op.client}]; {
	case released != 0 && known == nil && op.f == history.Renew && released > op.invoked: // it may have come before
	case released != 0:
		m.violate(sorted(released, op.invoked, in.Index), "%s %s at #%d a lease that had been released at #%d%s",
			who, did, in.Index, released, m.where(op.scope))
	case t != nil && t.forgot, op.lease != 0 && (m.forgot || m.ended.forgot):
		m.undecided(in, op)
	case m.strict:
		m.violate([]int64{op.invoked, in.Index}, "%s %s at #%d what it had not acquired%s", who, did, in.Index, m.where(op.scope))
	default:
		return m.fromBefore(in, op, s)
	}
	return nil
}

// undecided notes that an operation may be about a lease that was forgotten.
func (m *locks) undecided(in *Input, op *lockOp) {
	if m.doubt == nil {
		m.doubt = newViolation(m.property, sorted(op.invoked, in.Index),
			"undecided: %s %s at #%d a lease that may have been forgotten: of one client the last %d are remembered, of those released the first %d%s",
			m.client(op.client), tookEffect(op.f), in.Index, manyHolds, manyLeases, m.where(op.scope))
	}
}

// unknownGrant takes an acquisition of unknown outcome that may have been
// granted to the client of an operation, and returns where it began. Those of
// others count whose client may have gone on under this name.
func (m *locks) unknownGrant(op *lockOp, s *lockScope, others bool) (int64, bool) {
	for i, u := range s.maybe {
		if u.client == op.client || others && m.gone[u.client] {
			if m.strict { // of leases, what was held at the beginning may have served before
				s.maybe = slices.Delete(s.maybe, i, i+1)
			}
			return u.invoked, true
		}
	}
	for i := range m.open.ops { // its client has gone on without an end of it
		o := &m.open.ops[i]
		if o.open && o.rec.f == history.Acquire && o.rec.client == op.client && o.rec.scope == op.scope {
			return o.rec.invoked, true
		}
	}
	return 0, false
}

// orphaned finds the hold of a client that may have gone on as this one.
func (m *locks) orphaned(op *lockOp, s *lockScope, answered identity) *lockHold {
	if op.lease != 0 || answered != 0 {
		return nil
	}
	for i := len(s.orphans) - 1; i >= 0; i-- {
		t := s.orphans[i]
		if n := len(t.holds); n > 0 && m.gone[t.holds[n-1].owner] {
			return t.holds[n-1]
		}
	}
	return nil
}

// fromBefore takes a lease that was never granted for the one that was in force
// when the history began.
func (m *locks) fromBefore(in *Input, op *lockOp, s *lockScope) *lockHold {
	h := s.initial
	if h.owner == nobody {
		h.owner = op.client
	}
	if h.owner == op.client && h.released == 0 {
		return h
	}
	m.violate([]int64{op.invoked, in.Index}, "%s %s at #%d a lease that nobody was granted%s",
		m.client(op.client), tookEffect(op.f), in.Index, m.where(op.scope))
	return nil
}

// releases ends a hold, or one of the acquisitions that it stands for.
func (m *locks) releases(in *Input, op *lockOp, s *lockScope, h *lockHold) {
	if op.target == h {
		h.leaving--
	}
	if h.depth--; h.depth > 0 {
		return
	}
	h.released = in.Index
	if e := m.ended.add(op.scope, h.lease); e != nil {
		e.rec = in.Index
	}
	s.close(&h.zone)
	if h == s.initial {
		return
	}
	t := m.seat(h.scope, h.owner)
	if o := t.released; o != nil {
		m.drop(o, t, s)
	}
	if i := slices.Index(t.holds, h); i >= 0 {
		t.holds = slices.Delete(t.holds, i, i+1)
	}
	t.released = h
}

// count counts the grants that lie within what an operation has just proven.
func (m *locks) count(s *lockScope, h *lockHold, until int64) {
	if m.strict || h.first >= until {
		return
	}
	known := max(h.first, h.last)
	i, _ := slices.BinarySearchFunc(s.zones, known, func(z *zone, known int64) int {
		if z.first <= known {
			return -1
		}
		return 1
	})
	for ; i < len(s.zones) && s.zones[i].first < until; i++ {
		z := s.zones[i]
		if o := z.hold; z.begun > h.first && s.exclude(&h.zone, z) && !o.counted {
			o.counted = true
			m.intruded++
		}
	}
}

// terms judges an operation on h by the terms of the other holds, and notes that
// of h.
func (m *locks) terms(in *Input, op *lockOp, s *lockScope, h *lockHold) {
	if m.strict || m.header.Timing == "untimed" {
		return
	}
	if op.f != history.Release {
		m.extendTerm(in, op, s, h)
	}
	kept := s.terms[:0]
	for _, o := range s.terms {
		if o.until <= in.Time || o.dead {
			continue
		}
		kept = append(kept, o)
		both := op.f != history.Release && h.leaving == 0 && h.until > in.Time
		if o.owner != h.owner && o.leaving == 0 && (both || op.invoked > o.first) {
			m.violate(sorted(o.first, in.Index), "%s %s at #%d within the term of the lease of %s, acquired at #%d and not released%s",
				m.client(op.client), pastOf(op.f), in.Index, m.client(o.owner), o.first, m.where(op.scope))
		}
	}
	s.terms = kept
}

// extendTerm notes until when the lease is in force by what the coordinator
// told: until it expires, or for the declared term from the earliest moment at
// which it can have begun.
func (m *locks) extendTerm(in *Input, op *lockOp, s *lockScope, h *lockHold) {
	until := in.Expires
	if ttl := m.header.TTL; until == 0 && ttl > 0 {
		until = op.time + ttl - drift(&m.header)
	}
	if until -= m.header.Epsilon; until <= in.Time {
		return
	}
	if h.until < until {
		h.until = until
	}
	if !slices.Contains(s.terms, h) {
		s.terms = append(s.terms, h)
	}
}

// doubtful reports whether h may have ended and begun anew unseen: its client
// has an operation of unknown outcome that may have taken effect at any time
// since, and nothing tells that client's leases apart.
func (m *locks) doubtful(h *lockHold) bool {
	t := m.seats[seatKey{h.scope, h.owner}]
	return t != nil && t.unknown && (m.strict || h.lease == 0 && h.token == 0)
}

// conflict reports two holds that exclude each other.
func (m *locks) conflict(in *Input, a, b *lockHold) {
	if m.found != nil || m.doubtful(a) || m.doubtful(b) {
		return
	}
	if b.first < a.first {
		a, b = b, a
	}
	where := m.where(a.scope)
	first, second := m.client(a.owner), m.client(b.owner)
	switch {
	case a.first == beforeAll:
		m.violate(sorted(b.first, a.proof, in.Index), "%s %s at #%d a lease that nobody was granted, after %s had acquired it at #%d%s",
			first, tookEffect(a.proved), a.proof, second, b.first, where)
	case m.strict && a.last == never:
		m.violate(sorted(a.first, b.first, in.Index), "%s acquired the lock at #%d while %s held it, acquired at #%d and not released%s",
			second, b.first, first, a.first, where)
	case m.strict:
		m.violate(sorted(a.first, b.first, in.Index), "%s acquired the lock at #%d while %s held it, acquired at #%d and released after #%d%s",
			second, b.first, first, a.first, a.last, where)
	case b.begun > a.first:
		m.violate(sorted(a.first, b.first, a.proof, in.Index),
			"%s acquired the lease between #%d and #%d, within the hold of %s: acquired at #%d, %s between #%d and #%d%s",
			second, b.begun, b.first, first, a.first, tookEffect(a.proved), a.last, a.proof, where)
	default:
		m.violate(sorted(a.first, b.first, a.proof, b.proof, in.Index),
			"%s held the lease from #%d to #%d at least, and %s from #%d to #%d%s",
			first, a.first, a.last, second, b.first, b.last, where)
	}
}

func (m *locks) client(i int32) string { return clientText(m.in.names.clients.list[i]) }

func (m *locks) where(scope int32) string { return inside(m.in.names.scopes.list[scope]) }

func (m *locks) violate(events []int64, format string, args ...any) {
	if m.found == nil {
		m.found = newViolation(m.property, events, format, args...)
	}
}

// verdict returns the violation, with how often its like occurred; when inconclusive
// it says what could not be judged.
func (m *locks) verdict() (Outcome, *Violation) {
	if m.found == nil && m.doubt != nil {
		return Inconclusive, m.doubt
	}
	if m.found != nil && m.intruded > 1 {
		m.found.Message += fmt.Sprintf("; in all, %d grants lie within another client's proven hold", m.intruded)
	}
	if m.found == nil {
		return Satisfied, nil
	}
	m.found.NoPartial = "holds are compared by their times, and no order of the operations is sought: the two holds that exclude each other are the whole proof"
	return Violated, m.found
}

// sorted returns the indexes of ends that are known, in order, each once.
func sorted(indexes ...int64) []int64 {
	indexes = slices.DeleteFunc(indexes, func(i int64) bool { return i <= 0 })
	slices.Sort(indexes)
	return slices.Compact(indexes)
}

// pastOf is what a client did, in the past tense.
func pastOf(f history.F) string {
	if f == history.Acquire {
		return "acquired it"
	}
	return tookEffect(f) + " its own"
}
