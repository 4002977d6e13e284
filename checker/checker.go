// Package checker judges a history: whether what clients, a lease manager and
// a fenced store did keeps the guarantees of leases and fencing tokens.
//
//	history.Event --Suite--> Input --> Monitor --> Verdict, Violation
//	                                   (one a property, registry.go)
//	history.History + Violation --Explain--> Finding: the causal chain in words
//
// A property is a [Monitor]: a small state machine fed one event at a time.
// The same monitor runs inline while a simulation is fuzzed, inside an
// exhaustive search (its state is part of the global state) and over a recorded
// file ([Check]). The package knows nothing of simulations: it judges a history
// from a real system exactly as it judges a simulated one.
//
// Nothing here reads a clock, draws a random number or depends on the order of
// a map: the same history always has the same verdict. To add a property, write
// one file beside nostalewrite.go and name it in registry.go.
package checker

import (
	"fmt"
	"strings"

	"staleproof/model/history"
)

// Outcome is what a property's judgement came to. The zero Outcome is Satisfied.
type Outcome uint8

const (
	// Satisfied: the guarantee held in this history.
	Satisfied Outcome = iota
	// Violated: the history breaks the guarantee.
	Violated
	// Inconclusive: the judgement could not be finished, as when a search
	// reached its limit. It never counts as a pass.
	Inconclusive
)

// String returns satisfied, violated or inconclusive.
func (o Outcome) String() string {
	switch o {
	case Satisfied:
		return "satisfied"
	case Violated:
		return "violated"
	case Inconclusive:
		return "inconclusive"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Violation says which property a history breaks, and where.
type Violation struct {
	Property string
	// Message is one line that names the property and quotes event indexes:
	// "broke no-stale-write: token 41 applied at #57 after token 42 was accepted
	// at #49 (orders/7)".
	Message string
	// Events are the indexes that Message quotes, in increasing order; the last
	// is where the guarantee broke.
	Events []int64
	// Partial says how far an explanation gets of a recorded history that porcupine
	// judged: orders of operations, by their numbers, none of which can be made
	// longer; the longest first. Nil where that was not searched for.
	Partial [][]int64
	// NoPartial says of a recorded history why there is no Partial; empty where
	// there is, and where nothing was recorded.
	NoPartial string
}

// Monitor is one property's state machine. Its methods are for one goroutine.
type Monitor interface {
	// Name returns the property's name.
	Name() string
	// Observe takes one event and reports whether this very event broke the
	// property. After it has, further events change nothing.
	Observe(*Input) bool
	// Verdict returns the outcome so far. The violation is nil when Satisfied;
	// when Inconclusive it says what could not be judged.
	Verdict() (Outcome, *Violation)
	// AppendKey appends what the monitor's future depends on, in a form that is
	// equal for equal futures: nothing that only names a thing (numbers of
	// operations, indexes, time) is in it.
	AppendKey([]byte) []byte
	// Clone returns a copy that shares nothing that either may change. It keeps
	// resolving names with its [Suite]; to copy for another goroutine use
	// [Suite.Clone].
	Clone() Monitor
	// Reset returns the monitor to its first state and keeps its memory.
	Reset()
}

// Input is an event whose names are numbered, so that monitors index slices. It
// and its event are valid during one call of Observe only.
type Input struct {
	*history.Event
	names    *names
	resolved *resolved // its names; nil until somebody asks
}

func (in *Input) take(e *history.Event) { in.Event, in.resolved = e, nil }

// scope numbers what the event's lease covers, from 0. Of a note of the world it
// means nothing, as do the other names.
func (in *Input) scope() int32 { return in.resolve().scopeID }

// fence numbers what the event's fence covers, from 0: the scope unless the header
// declares one global fence.
func (in *Input) fence() int32 { return in.resolve().fenceID }

// client numbers who acts, from 0: the client of an operation or of a belief, the
// owner that a server's note names.
func (in *Input) client() int32 { return in.resolve().clientID }

// unnamed reports whether the event is a note that names no owner.
func (in *Input) unnamed() bool { return in.Type == history.Note && in.Owner == "" }

// lease is the identity of the lease, 0 when the event names none.
func (in *Input) lease() identity { return in.resolve().leaseID }

func (in *Input) resolve() *resolved {
	if in.resolved == nil {
		in.resolved = in.names.resolve(in.Event)
	}
	return in.resolved
}

// Result is the final judgement of one property.
type Result struct {
	Property string
	Outcome  Outcome
	// Violation is nil when Satisfied; when Inconclusive it says why.
	Violation *Violation
	// Steps counts the steps of the search for a linearization; 0 when none was
	// needed.
	Steps int64
}

// base is what every monitor has: its property, its names, its violation.
type base struct {
	property string
	names    *names
	broken   *Violation
}

func (b *base) Name() string { return b.property }

func (b *base) Verdict() (Outcome, *Violation) {
	if b.broken != nil {
		return Violated, b.broken
	}
	return Satisfied, nil
}

// violate records that the guarantee broke. The events are in increasing order.
func (b *base) violate(events []int64, format string, args ...any) bool {
	b.broken = newViolation(b.property, events, format, args...)
	return true
}

// rebind makes the monitor resolve names with n; see [Suite.Clone].
func (b *base) rebind(n *names) { b.names = n }

func newViolation(property string, events []int64, format string, args ...any) *Violation {
	return &Violation{
		Property: property,
		Message:  "broke " + property + ": " + fmt.Sprintf(format, args...),
		Events:   events,
	}
}

// ended is the key of a monitor that no further event can change.
const ended = 0xff

// tokenText names a token in a message: the zero token is none.
func tokenText(t history.Token) string {
	if t == 0 {
		return "no token"
	}
	return "token " + t.String()
}

// inside names the resource or scope that a message is about, if it has a name.
func inside(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// clientText names a client in a message. Recorders often number processes.
func clientText(name string) string {
	if strings.Trim(name, "0123456789") == "" && name != "" {
		return "process " + name
	}
	return name
}
