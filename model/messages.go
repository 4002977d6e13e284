package model

import (
	"fmt"
	"strconv"
	"time"

	"staleproof/model/history"
	"staleproof/sim"
)

// Request is what a client asks of the lease manager or of the store.
type Request struct {
	F        history.F // Acquire, Renew, Release; Raise, Read, Write, Delete
	Op       int64     // number of the operation in the history; copies of a message share it
	Resource string
	Client   string
	Token    Token
	Lease    string // identity
	Value    int64  // to write
	Basis    int64  // operation whose value a read-modify-write used; it names only
	TTL      time.Duration
	// Unfenced requests carry no token on the wire: Token and Lease only say, for
	// the history, under which lease they were made.
	Unfenced bool
}

// Fold hashes r for the digest of a run.
func (r Request) Fold(h uint64) uint64 {
	h = sim.Mix(h, uint64(r.F)<<56^uint64(r.Token)<<32^uint64(r.Value))
	h = sim.Mix(h, uint64(r.TTL)<<1|b2u(r.Unfenced))
	return sim.MixString(sim.MixString(sim.MixString(h, r.Resource), r.Client), r.Lease)
}

// box returns r ready to be sent.
func (r *Request) box(p *sim.Proc) any {
	s := p.Slot(uint64(r.Op)<<8 ^ uint64(r.F) ^ uint64(r.Token)<<20 ^ uint64(r.Value)<<32)
	if old := sim.Kept[Request](s); old == nil || !r.twin(old) && *r != *old {
		s.Keep(p, *r)
	}
	return s.Box(p)
}

// twin reports whether r and o are equal to the place of their texts, as equal ones
// mostly are: it costs half of a comparison.
func (r *Request) twin(o *Request) bool {
	return r.Op == o.Op && r.F == o.F && r.Unfenced == o.Unfenced && r.Token == o.Token && r.Value == o.Value &&
		r.Basis == o.Basis && r.TTL == o.TTL && history.Identical(r.Client, o.Client) &&
		history.Identical(r.Lease, o.Lease) && history.Identical(r.Resource, o.Resource)
}

// same reports whether two texts are equal; mostly they lie in the same place.
func same(a, b string) bool {
	return history.Identical(a, b) || a == b
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// String says what r asks, for people.
func (r Request) String() string {
	s := r.F.String()
	if r.F == history.Write {
		s += " " + strconv.FormatInt(r.Value, 10)
	}
	switch {
	case r.Unfenced:
		s += " (no token)"
	case r.Token > 0:
		s += " (token " + r.Token.String() + ")"
	}
	return s
}

// Status is how a request ended. The zero Status is no answer.
type Status uint8

const (
	StatusOK Status = iota + 1
	StatusStale
	StatusHeld
	StatusNotHolder
	StatusUnsupported // the server does not do this; nothing was changed
	StatusUnknown     // the server does not know whether the request took effect
)

// Reply answers a [Request].
type Reply struct {
	Status     Status
	Value      int64 // read
	Token      Token // granted
	Lease      string
	Generation int64
	Highest    Token  // of a stale refusal
	Owner      string // of a stale refusal: whose token that is
	RetryAfter time.Duration
	// Vague says that Highest is not the greatest token that the answers of the store
	// have shown, and is not recorded.
	Vague bool
}

// Fold hashes r for the digest of a run.
func (r Reply) Fold(h uint64) uint64 {
	h = sim.Mix(h, uint64(r.Status)<<56^uint64(r.Token)<<32^uint64(r.Value))
	h = sim.Mix(h, uint64(r.Highest)^uint64(r.Generation)<<32^uint64(r.RetryAfter)<<16^b2u(r.Vague)<<63)
	return sim.MixString(sim.MixString(h, r.Lease), r.Owner)
}

// box returns r ready to be sent.
func (r *Reply) box(p *sim.Proc) any {
	s := p.Slot(uint64(r.Status)<<8 ^ uint64(r.Token)<<16 ^ uint64(r.Value)<<32 ^ uint64(r.Highest)<<48 ^ uint64(r.RetryAfter))
	if old := sim.Kept[Reply](s); old == nil || !r.twin(old) && *r != *old {
		s.Keep(p, *r)
	}
	return s.Box(p)
}

// twin is as [Request.twin].
func (r *Reply) twin(o *Reply) bool {
	return r.Status == o.Status && r.Value == o.Value && r.Token == o.Token && r.Generation == o.Generation &&
		r.Highest == o.Highest && r.Vague == o.Vague && r.RetryAfter == o.RetryAfter &&
		history.Identical(r.Lease, o.Lease) && history.Identical(r.Owner, o.Owner)
}

// String says what r answers, for people.
func (r Reply) String() string {
	switch {
	case r.Status == StatusStale:
		return fmt.Sprintf("stale (highest %d)", r.Highest)
	case r.Status == StatusHeld:
		return "held by another"
	case r.Status == StatusNotHolder:
		return "not the holder"
	case r.Status == StatusUnsupported:
		return "not supported"
	case r.Status == StatusUnknown:
		return "unknown"
	case r.Token > 0:
		return "token " + r.Token.String()
	}
	return "ok"
}

// OK is the reply to an operation that took effect; value is what was read or written.
func OK(value int64) Reply { return Reply{Status: StatusOK, Value: value} }

// Stale is the reply of a fence that refuses a request, which had no effect and will have
// none. highest is the greatest token that the store knows to have accepted, for the
// client to see; 0: it does not know. A refusal is judged by the tokens that the store
// has accepted, and not by the one that it names.
func Stale(highest Token) Reply { return Reply{Status: StatusStale, Highest: highest} }

// Unknown is the reply of a store that does not know whether the request took effect, or
// still will, such as one of which too few replicas answered. For the client that is
// [ErrUnknownOutcome].
func Unknown() Reply { return Reply{Status: StatusUnknown} }

// note makes e the note of an operation, and of nothing more, where it lies: a
// literal with fields is made elsewhere and copied. Who tells has one event, and an
// observer that keeps it copies it.
func note(e *history.Event, f history.F, op int64) *history.Event {
	*e = history.Event{}
	e.Type, e.F, e.Op = history.Note, f, op
	return e
}

// leaseNames holds the identities of the first leases of a run, made once.
var leaseNames = func() (names [256]string) {
	for i := range names {
		names[i] = leaseName(i)
	}
	return names
}()

// leaseID returns the identity of the n-th lease of a lease manager, from 0:
// unique, without order, and the same in every run.
func leaseID(n int64) string {
	if n < int64(len(leaseNames)) {
		return leaseNames[n]
	}
	return leaseName(int(n))
}

func leaseName(n int) string {
	const odd = 0x6b2d
	id := fmt.Sprintf("%04x", uint16(0x91cd+n*odd))
	if n > 0xffff {
		id += fmt.Sprintf("-%x", n>>16)
	}
	return id
}
