// Package history is the narrow waist of Staleproof: what happened, one
// [Event] after another, whether a simulator produced it or a real system did.
//
//	sim world -> model -> Event -> checker -> reports
//	recorded file -> reader --^
//
// An event is an operation's beginning or end as a client saw it, or a note
// that a server, a holder or the world made. The order of events is their
// index and nothing else: two events may carry the same time, and where nothing
// is judged by times these may even run backwards, as those of several machines
// do; see [Validator].
//
// The file format (one JSON object a line, a header first) is documented at
// [WriteAll] and read by [ReadAll].
package history

import "strconv"

// Token is a fencing token: the generation of a lease. The zero Token is no
// token; a lease manager issues tokens from 1.
type Token int64

func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

// Type says what part of an operation an event is. The zero Type is invalid.
type Type uint8

const (
	// Invoke begins an operation.
	Invoke Type = iota + 1
	// OK ends an operation that took effect.
	OK
	// Fail ends an operation that had no effect.
	Fail
	// Info ends the client's wait for an operation whose outcome is unknown:
	// it may take effect at any later time, or never.
	Info
	// Note is what a server, a holder or the world saw; see [F].
	Note
)

// F says what an event is about: an operation's verb, or what a note tells.
// The zero F is invalid.
type F uint8

// Operations of clients.
const (
	Acquire F = iota + 1
	Renew
	Release
	Raise
	Write
	Delete
	Read
	CAS
	Batch
)

// Notes of servers. Each names in Op the operation that it serves.
const (
	Grant    F = iota + 32 // the lease manager granted a lease
	Renewed                // the lease manager extended a lease
	Released               // the lease manager took a lease back at its holder's wish
	Expire                 // the lease manager ended a lease at its term
	Apply                  // the store applied a mutation
	Reject                 // the store refused an operation as stale
	Raised                 // the store lifted its fence without writing
	Served                 // the store served a read
)

// Notes of holders.
const (
	Believe    F = iota + 64 // the holder believes in its lease, until Until
	Disbelieve               // the holder gave up its belief
)

// Notes of the world.
const (
	Send F = iota + 96
	Deliver
	Drop
	Pause
	Resume
	Crash
	Restart
	Partition
	Heal
	Clock
	Quiet // no fault is injected after this event
)

// Kind tells the members of [Value] apart.
type Kind uint8

const (
	Absent Kind = iota // the event carries no value: the zero Value
	Nil                // JSON null, EDN nil
	Int
	Text
	Raw // any other JSON value, as compact JSON text
)

// Value is what was written or read: comparable, so that specifications can
// use == on it. The zero Value is absent, which differs from nil.
type Value struct {
	Kind Kind
	Num  int64
	Str  string
}

// IntValue returns the value n.
func IntValue(n int64) Value { return Value{Kind: Int, Num: n} }

// TextValue returns the value s.
func TextValue(s string) Value { return Value{Kind: Text, Str: s} }

// NilValue is the value nil.
var NilValue = Value{Kind: Nil}

// Event is one event of a history. A field that does not apply is zero; the
// names in JSON are those of the comments where they differ from the field's
// own in lower case.
type Event struct {
	// Index orders the events of a history; it increases from one to the next.
	Index int64
	// Time is nanoseconds of true time in a timed run, a step number in an
	// untimed one, a tick in a bounded one. Nothing is ever judged by it but
	// deadlines and beliefs, and where these are it never runs backwards.
	Time int64
	// Process names who did or saw it. A process runs one operation at a time;
	// after an Info its client goes on under a new process name.
	Process string
	// Client is the identity that stays when Process changes; empty means Process.
	Client string
	Type   Type
	F      F
	// Op is the number of the operation, from 1, shared by its invoke, its end
	// and the notes of the servers about it.
	Op int64
	// Resource is the thing protected; Scope what a lease and its fence cover,
	// empty when it is the resource itself.
	Resource string
	Scope    string
	// Token is the token presented or granted; Highest the greatest the store
	// had accepted when it answered.
	Token   Token
	Highest Token
	// Lease is the identity of the lease: random, without order.
	Lease string
	// Owner is the client that holds, or held, what the event is about.
	Owner string
	// Generation counts the acquisitions of a scope, from 1.
	Generation int64
	// Value is what was written or read; Expect what a CAS compares with.
	Value  Value
	Expect Value
	// Seq orders operations within one token, from 1.
	Seq int64
	// Prepared is the token under which the operation was prepared.
	Prepared Token
	// Basis is the number of the read whose value a read-modify-write used.
	Basis int64
	// Expires is when the lease manager will end the lease; Until how long the
	// holder believes in it. True time of the world, in the unit of Time.
	Expires int64
	Until   int64
	// Rejections counts the stale operations that the store has refused.
	Rejections int64
	// Error says why an operation failed; "stale" is a fencing rejection.
	Error string
	// To, Message and Text describe messages: the receiver, the message's
	// number in the run, and what it says. Copy is 1 for a duplicate. Text also
	// describes notes of the world ("for 35s").
	To      string
	Message int64
	Copy    int64
	Text    string
}

// Stale is the Error of an operation that a fence refused.
const Stale = "stale"

// Unsupported is the Error of an operation that a server does not know.
const Unsupported = "not supported"

// Unchanged is the Text of an apply note of a mutation that the store answered as done
// and that changed nothing in it.
const Unchanged = "nothing changed"

// ScopeName returns what the event's lease and fence cover.
func (e *Event) ScopeName() string {
	if e.Scope != "" {
		return e.Scope
	}
	return e.Resource
}

// ClientName returns the identity of the client whose event it is.
func (e *Event) ClientName() string {
	if e.Client != "" {
		return e.Client
	}
	return e.Process
}

// Header is the first line of a history file.
type Header struct {
	Format   string // "staleproof.history/1"
	Scenario string // empty for a recorded history
	Replay   string // the token that reproduces the run; empty for a recorded history
	Timing   string // "timed", "untimed" or "bounded"; empty for a recorded history
	TTL      int64  // the lease's term, in the unit of Event.Time; 0 is none
	Rho      int64  // declared bound on clock drift, parts per million, from 0 to 999,999
	Epsilon  int64  // declared bound on clock skew, in the unit of Event.Time, from 0
	Scopes   string // "per-resource" or "global": what one fence covers
	// Fence says what a token is compared with. "accepted": the greatest token that
	// the store accepted. "granted": the store knows the lease table (a conditional
	// write on the lease's row, an ETag) and may refuse a token as soon as a greater
	// one was granted. Empty: a recorded history is judged by the first, and where
	// that breaks because of a refusal, by the second; other histories by the first.
	Fence string
}

// Format is the value of [Header.Format] that this package writes and reads.
const Format = "staleproof.history/1"

// History is a header and its events, in the order of their indexes.
type History struct {
	Header Header
	Events []Event
}
