package history

import (
	"fmt"
	"strconv"
)

// Validator says whether events, one after another, make a history that can be
// judged, and numbers the operations of a history that has no numbers. The
// zero Validator is ready for the first event.
//
//   - Indexes increase.
//   - Every number is a count, a time or an identity from 0: tokens, generations
//     and sequence numbers count from 1, and 0 is none.
//   - Time may run backwards in a history by whose times nothing is judged: the
//     events of a real system come from the clocks of several machines, and their
//     index alone orders them. Where deadlines and beliefs are judged, time is
//     that of one clock and never runs backwards: in a history whose header names
//     a timing or a term, and after an event with Expires or Until.
//   - Type and f go together: invoke, ok and fail are about operations, note
//     about what a server, a holder or the world saw.
//   - A process runs one operation at a time: an ok, a fail or an info ends the
//     one that its process invoked, with the same f. Operations may stay open.
//   - An end is about what its invoke was: the same resource and scope, the same
//     token, or none, and in an ok of a mutation the same value, or none. Only an
//     acquire and a renew are given their token by their end.
//   - An info of the nemesis, or one about no operation, ends nothing.
//   - The note of a server about an operation, and a Basis, name one that was
//     invoked before. A note about an operation that was not recorded names none.
//   - While its operation is open, or of unknown outcome, the note of a server is
//     about the same: a lease manager notes what it did for an acquire, a renew or a
//     release, a store for an operation on it, and only what fits the verb, in the same
//     scope; on the same resource,
//     but for a batch; and a store under the same token and lease, where both say one.
//     (What a lease manager did to another lease than the one presented is judged.)
//     An ok tells the token that the one note of its grant or renewal tells, and that
//     of an acquire its lease.
//   - Where operations name a resource, so do the notes of servers and holders.
//   - Either every grant has a token or none has.
//   - A believe says until when, but in an untimed history, which has no deadlines.
//   - Either every write, every cas and every read that was answered has a value,
//     if only nil, or none has, as in a history that records tokens alone. A cas
//     has two.
//   - Only what failed is stale.
//   - Either every operation has a number or none has: then they get numbers
//     from 1 in the order of their invokes.
//
// Its memory grows with the operations that are open, and with the gaps
// between their numbers.
type Validator struct {
	started bool
	last    int64              // index of the last event
	open    map[string]*opened // by process
	// pending are the numbered operations that have not ended, or in an info: a
	// server may note any of them yet.
	pending map[int64]*opened
	free    []*opened // for reuse, in no map
	// Numbers given by the history, or by the validator.
	numbered, numbering bool
	numbers             numberSet

	latest int64 // the greatest time so far
	dated  bool  // something is judged by times
	// untimed says that the header does: no belief is judged then.
	untimed bool
	// Whether operations had a value, or lacked it; grants a token; and whether
	// operations have resources.
	values, tokens all
	named          bool
}

// all says whether all have something, or none.
type all struct{ some, lacking bool }

// mixed takes one more, and says whether some have it and some lack it.
func (a *all) mixed(has bool) bool {
	a.some, a.lacking = a.some || has, a.lacking || !has
	return a.some && a.lacking
}

// opened is the operation that a process has begun and not ended.
type opened struct {
	op, index       int64
	f               F
	resource, scope string
	token           Token
	lease           string
	value, expect   Value // of a mutation
	// The token and the lease that the lease manager noted for it, and how often it
	// noted any: the copies of a request may have been granted different ones.
	granted      Token
	grantedLease string
	grants       int
}

// Nemesis is the process that injects the faults of a recorded test.
const Nemesis = "nemesis"

// ordered checks that indexes increase.
func (v *Validator) ordered(e *Event) error {
	if v.started && e.Index <= v.last {
		return &SyntaxError{
			Expected: "an index above " + strconv.FormatInt(v.last, 10), Found: strconv.FormatInt(e.Index, 10),
			Hint: "number the events in the order in which they happened",
		}
	}
	v.started, v.last = true, e.Index
	return nil
}

// maxTime leaves room to add a term to a time.
const maxTime = 1<<62 - 1

// Begin takes the header, before the first event. A history that is checked
// without has one that declares nothing. The error is a *SyntaxError without
// file and line.
func (v *Validator) Begin(h *Header) error {
	for _, bound := range [...]struct {
		name       string
		value, max int64
		what       string
	}{
		{"ttl", h.TTL, maxTime, "a term"},
		{"rho", h.Rho, 999_999, "parts per million"},
		{"epsilon", h.Epsilon, maxTime, "a bound on the skew of clocks"},
	} {
		if bound.value < 0 || bound.value > bound.max {
			return &SyntaxError{
				Expected: fmt.Sprintf("%s from 0 to %d in field %q", bound.what, bound.max, bound.name),
				Found:    strconv.FormatInt(bound.value, 10), Hint: "correct the header, or record the history again",
			}
		}
	}
	v.dated, v.untimed = h.Timing != "" || h.TTL != 0, h.Timing == "untimed"
	return nil
}

// Check takes the next event. It sets e.Op where the history has no numbers.
// The error is a *SyntaxError without file and line.
func (v *Validator) Check(e *Event) error {
	if err := v.ordered(e); err != nil {
		return err
	}
	if err := v.counted(e); err != nil {
		return err
	}
	if nameOf(fNames[:], uint8(e.F)) == "" {
		return &SyntaxError{Expected: "the name of an operation or a note", Found: e.F.String(), Hint: "set the event's F"}
	}
	switch e.Type {
	case Note:
		if e.F.IsOperation() {
			return &SyntaxError{
				Expected: "a note of what a server, a holder or the world saw", Found: "a note of f " + e.F.String(),
				Hint: "operations are invoke, ok, fail or info; the store's notes are apply, reject, raised and served",
			}
		}
		return v.note(e)
	case Invoke:
		return v.invoke(e)
	case Info:
		if !e.F.IsOperation() || e.Process == Nemesis {
			return nil
		}
		return v.end(e)
	case OK, Fail:
		return v.end(e)
	}
	return &SyntaxError{Expected: "a type (" + list(typeNames[:]) + ")", Found: e.Type.String(), Hint: "set the event's Type"}
}

// counted checks the event's numbers.
func (v *Validator) counted(e *Event) error {
	if e.Index|e.Time|e.Op|int64(e.Token|e.Highest)|e.Generation|e.Seq|int64(e.Prepared)|
		e.Basis|e.Expires|e.Until|e.Rejections|e.Message|e.Copy < 0 {
		return belowZero(e)
	}
	if e.Error == Stale && (e.Type == Invoke || e.Type == OK) {
		return &SyntaxError{Expected: "an " + e.Type.String() + " without an error", Found: "the error " + quote(Stale), Hint: "an operation that was refused ends in a fail"}
	}
	switch v.dated = v.dated || e.Expires|e.Until != 0; {
	case e.Time > maxTime:
		return &SyntaxError{
			Expected: "a time up to " + strconv.FormatInt(maxTime, 10), Found: strconv.FormatInt(e.Time, 10), Hint: hintValue,
		}
	case e.Time < v.latest && v.dated:
		return &SyntaxError{
			Expected: "a time from " + strconv.FormatInt(v.latest, 10) + " on", Found: strconv.FormatInt(e.Time, 10),
			Hint: "time runs backwards: deadlines are judged by it, so take all times from one clock",
		}
	}
	v.latest = max(v.latest, e.Time)
	if e.Basis != 0 && !v.invoked(e.Basis) {
		return &SyntaxError{
			Expected: "a basis that was invoked before", Found: "op " + strconv.FormatInt(e.Basis, 10),
			Hint: "name the operation whose value was used, or leave the basis out",
		}
	}
	return nil
}

// invoked says whether an operation of that number was.
func (v *Validator) invoked(op int64) bool { return !v.numbering && v.numbers.has(op) }

// belowZero is the error of the event's first number that is.
func belowZero(e *Event) error {
	for f := range fieldCount {
		if n := intField(e, f); n != nil && *n < 0 {
			return &SyntaxError{
				Expected: "a number from 0 in field " + strconv.Quote(fieldNames[f]), Found: strconv.FormatInt(*n, 10), Hint: hintValue,
			}
		}
	}
	return nil
}

func (v *Validator) note(e *Event) error {
	switch {
	case e.F.IsServerNote() && e.Op != 0 && !v.invoked(e.Op):
		return &SyntaxError{
			Expected: "the " + e.F.String() + " of an operation that was invoked before", Found: "op " + strconv.FormatInt(e.Op, 10),
			Hint: "leave op out of a note about an operation that was not recorded",
		}
	case v.named && (e.F.IsServerNote() || e.F.IsHolderNote()) && e.ScopeName() == "":
		return &SyntaxError{Expected: "a resource, as operations have one", Found: "the note " + e.F.String() + " without", Hint: hintValue}
	case e.F == Grant && v.tokens.mixed(e.Token != 0):
		found := "a grant without"
		if e.Token != 0 {
			found = "the token " + e.Token.String()
		}
		return &SyntaxError{Expected: "a token in every grant or in none", Found: found, Hint: "tokens count from 1: record that of every grant"}
	case e.F == Believe && e.Until == 0 && !v.untimed:
		return &SyntaxError{Expected: "the time in field \"until\" that ends the belief", Found: "a believe without", Hint: hintValue}
	}
	if o := v.pending[e.Op]; o != nil && e.F.IsServerNote() && e.F != Expire {
		if e.F == Grant || e.F == Renewed {
			o.granted, o.grantedLease, o.grants = e.Token, e.Lease, o.grants+1
		}
		return o.servedBy(e)
	}
	return nil
}

// serves reports whether a note of f can be what a server did for an operation of verb
// o. A lease manager may grant anew or extend for an acquire and for a renew; a store
// may lift its fence for any of its operations.
func (f F) serves(o F) bool {
	switch f {
	case Grant, Renewed:
		return o == Acquire || o == Renew
	case Released:
		return o == Release
	case Apply:
		return o.IsMutation()
	case Served:
		return o == Read || o == CAS // one that found another value
	}
	return o.IsStore()
}

// servedBy checks that a server's note is about what its operation was.
func (o *opened) servedBy(e *Event) error {
	byStore := e.F >= Apply
	switch {
	case !e.F.serves(o.f):
		return &SyntaxError{
			Expected: "a note that serves the " + o.String(), Found: "the note " + e.F.String(),
			Hint: "name the operation that the server served, or leave op out",
		}
	case o.f == Batch:
		return nil
	case e.Resource != "" && o.resource != "" && e.Resource != o.resource:
		return o.noteDiffers(e, "resource", quote(o.resource), quote(e.Resource))
	case e.ScopeName() != "" && o.scope != "" && e.ScopeName() != o.scope:
		return o.noteDiffers(e, "scope", quote(o.scope), quote(e.ScopeName()))
	case byStore && e.Token != 0 && o.token != 0 && e.Token != o.token:
		return o.noteDiffers(e, "token", o.token.String(), e.Token.String())
	case byStore && e.Lease != "" && o.lease != "" && e.Lease != o.lease:
		return o.noteDiffers(e, "lease", quote(o.lease), quote(e.Lease))
	}
	return nil
}

func (o *opened) noteDiffers(e *Event, what, invoked, noted string) error {
	return &SyntaxError{
		Expected: "the " + what + " " + invoked + " of the " + o.String(),
		Found:    "the note " + e.F.String() + " with the " + what + " " + noted,
		Hint:     "record what the operation presented, or name the operation that the server served",
	}
}

// valued checks that all operations have a value, or none.
func (v *Validator) valued(e *Event) error {
	has := e.Value.Kind != Absent
	const hint = "give a value to all writes and all answers of reads, null where there is none, or to none"
	switch {
	case e.F == CAS && has != (e.Expect.Kind != Absent):
		return &SyntaxError{Expected: "the old value and the new one of a cas", Found: "one of them", Hint: hintValue}
	case !v.values.mixed(has):
		return nil
	case has:
		return &SyntaxError{Expected: "no value, as operations before have none", Found: e.Value.excerpt(), Hint: hint}
	}
	return &SyntaxError{
		Expected: "a value, as operations before have one", Found: "the " + e.Type.String() + " of a " + e.F.String() + " without", Hint: hint,
	}
}

func (v *Validator) invoke(e *Event) error {
	if !e.F.IsOperation() {
		return &SyntaxError{
			Expected: "an operation after invoke", Found: "f " + e.F.String(),
			Hint: "what a server, a holder or the world saw is of type note",
		}
	}
	if e.Process == "" {
		return &SyntaxError{Expected: "the process of an operation", Found: "an empty name", Hint: hintValue}
	}
	if other, ok := v.open[e.Process]; ok {
		return &SyntaxError{
			Expected: "the end of the " + other.String() + " before process " + quote(e.Process) + " invokes another operation",
			Found:    "an invoke of " + e.F.String(),
			Hint:     "a process runs one operation at a time: record each client's concurrent operations under processes of their own",
		}
	}
	if err := v.number(e); err != nil {
		return err
	}
	if e.F == Write || e.F == CAS {
		if err := v.valued(e); err != nil {
			return err
		}
	}
	if v.open == nil {
		v.open, v.pending = make(map[string]*opened), make(map[int64]*opened)
	}
	o := v.newOpened()
	*o = opened{op: e.Op, index: e.Index, f: e.F, resource: e.Resource, scope: e.ScopeName(), token: e.Token, lease: e.Lease}
	if e.F == Write || e.F == CAS || e.F == Delete {
		o.value, o.expect = e.Value, e.Expect
	}
	v.open[e.Process] = o
	if v.numbered {
		v.pending[e.Op] = o
	}
	v.named = v.named || o.scope != ""
	return nil
}

// newOpened returns one that is in no map.
func (v *Validator) newOpened() *opened {
	n := len(v.free)
	if n == 0 {
		return new(opened)
	}
	o := v.free[n-1]
	v.free = v.free[:n-1]
	return o
}

// number checks the number of an operation, or gives it one.
func (v *Validator) number(e *Event) error {
	switch {
	case e.Op == 0 && !v.numbered:
		v.numbering = true
		e.Op = v.numbers.next()
	case e.Op == 0:
		return &SyntaxError{
			Expected: "a number in field \"op\", as operations before have one", Found: "an operation without",
			Hint: "number all operations or none",
		}
	case v.numbering:
		return &SyntaxError{
			Expected: "no number in field \"op\", as operations before have none", Found: strconv.FormatInt(e.Op, 10),
			Hint: "number all operations or none",
		}
	default:
		v.numbered = true
		if !v.numbers.add(e.Op) {
			return &SyntaxError{
				Expected: "a number of its own for each operation", Found: "op " + strconv.FormatInt(e.Op, 10) + " again",
				Hint: "a retry is an operation of its own",
			}
		}
	}
	return nil
}

func (v *Validator) end(e *Event) error {
	if !e.F.IsOperation() {
		return &SyntaxError{
			Expected: "an operation after " + e.Type.String(), Found: "f " + e.F.String(),
			Hint: "what a server, a holder or the world saw is of type note",
		}
	}
	open, ok := v.open[e.Process]
	if !ok {
		return &SyntaxError{
			Expected: "an invoke of " + e.F.String() + " by process " + quote(e.Process) + " before its end",
			Found:    "the " + e.Type.String() + " alone",
			Hint:     "record each operation's beginning too, in the order in which things happened",
		}
	}
	if open.f != e.F {
		return &SyntaxError{
			Expected: "the end of the " + open.String() + " on process " + quote(e.Process),
			Found:    "the " + e.Type.String() + " of a " + e.F.String(), Hint: hintValue,
		}
	}
	if e.Op != 0 && e.Op != open.op {
		return &SyntaxError{
			Expected: "the end of the " + open.String() + " on process " + quote(e.Process),
			Found:    "the " + e.Type.String() + " of op " + strconv.FormatInt(e.Op, 10), Hint: hintValue,
		}
	}
	if err := open.sameAs(e); err != nil {
		return err
	}
	if e.Type == OK && e.F == Read {
		if err := v.valued(e); err != nil {
			return err
		}
	}
	e.Op = open.op
	delete(v.open, e.Process)
	if e.Type != Info {
		delete(v.pending, open.op)
		v.free = append(v.free, open)
	}
	return nil
}

// sameAs checks that the end of the operation is about what its invoke was.
func (o *opened) sameAs(e *Event) error {
	switch {
	case e.Resource != o.resource:
		return o.differs(e, "resource", quote(o.resource), quote(e.Resource))
	case e.ScopeName() != o.scope:
		return o.differs(e, "scope", quote(o.scope), quote(e.ScopeName()))
	case e.F != Acquire && e.F != Renew && e.Token != 0 && e.Token != o.token:
		return o.differs(e, "token", o.token.String(), e.Token.String())
	case e.Type != OK:
		return nil // in the place of a value there may be the reason
	case o.grants == 1 && e.Token != 0 && o.granted != 0 && e.Token != o.granted:
		return o.differs(e, "granted token", o.granted.String(), e.Token.String())
	case o.grants == 1 && e.F == Acquire && e.Lease != "" && o.grantedLease != "" && e.Lease != o.grantedLease:
		return o.differs(e, "granted lease", quote(o.grantedLease), quote(e.Lease))
	}
	switch e.F {
	case Delete:
		if o.value.some() && !o.value.repeatedBy(e.Value) { // what was deleted is an answer
			return o.differs(e, "value", o.value.excerpt(), e.Value.excerpt())
		}
	case Write, CAS:
		if !o.value.repeatedBy(e.Value) {
			return o.differs(e, "value", o.value.excerpt(), e.Value.excerpt())
		}
		if !o.expect.repeatedBy(e.Expect) {
			return o.differs(e, "old value", o.expect.excerpt(), e.Expect.excerpt())
		}
	}
	return nil
}

func (o *opened) differs(e *Event, what, invoked, ended string) error {
	return &SyntaxError{
		Expected: "the " + what + " " + invoked + " of the " + o.String() + " on process " + quote(e.Process),
		Found:    "the " + e.Type.String() + " with the " + what + " " + ended,
		Hint:     "repeat in the end what the invoke says, or leave a token and a value out",
	}
}

// some says whether there is a value.
func (v Value) some() bool { return v.Kind != Absent && v.Kind != Nil }

// repeatedBy says whether the end of an operation on v carries v, or nothing.
func (v Value) repeatedBy(end Value) bool { return !end.some() || end == v }

// excerpt returns the value for an error: the beginning of a long one.
func (v Value) excerpt() string {
	switch v.Kind {
	case Absent:
		return NilValue.String()
	case Text, Raw:
		return quote(v.Str)
	}
	return v.String()
}

func (o opened) String() string {
	return fmt.Sprintf("%v (op %d, invoked at index %d)", o.f, o.op, o.index)
}

// numberSet is a set of numbers from 1: all up to full, and the others above.
type numberSet struct {
	full   int64
	others map[int64]struct{}
}

// add puts n in the set, and returns false when it was there.
func (s *numberSet) add(n int64) bool {
	if n <= s.full {
		return false
	}
	if n > s.full+1 {
		if _, ok := s.others[n]; ok {
			return false
		}
		if s.others == nil {
			s.others = make(map[int64]struct{})
		}
		s.others[n] = struct{}{}
		return true
	}
	for s.full = n; len(s.others) > 0; s.full++ {
		if _, ok := s.others[s.full+1]; !ok {
			break
		}
		delete(s.others, s.full+1)
	}
	return true
}

// has says whether n is in the set.
func (s *numberSet) has(n int64) bool {
	if n <= s.full {
		return n > 0
	}
	_, ok := s.others[n]
	return ok
}

// next adds the lowest number that is not in the set, and returns it.
func (s *numberSet) next() int64 {
	s.full++
	return s.full
}
