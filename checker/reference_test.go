package checker_test

import (
	"fmt"

	"staleproof/model/history"
)

// The reference judge: each property once more, as plain code over a whole history.
// It is written from what the guarantees, the properties' documentation and the file
// format say, and shares nothing with the monitors. It is slow on purpose: whoever
// doubts a verdict can read a loop. [TestAgreement] holds both against each other.

// opinion is what the reference judge says of a property.
type opinion struct {
	outcome verdict
	why     string
}

type verdict uint8

const (
	unjudged verdict = iota // nothing in the history tells, or it is too much to search
	satisfied
	violated
)

func (v verdict) String() string { return [...]string{"not judged", "satisfied", "violated"}[v] }

func (o opinion) String() string {
	if o.why == "" {
		return o.outcome.String()
	}
	return o.outcome.String() + ": " + o.why
}

func broken(format string, args ...any) opinion {
	return opinion{violated, fmt.Sprintf(format, args...)}
}

var holds = opinion{outcome: satisfied}

// references has the reference judge of each property.
var references = []struct {
	property string
	judge    func(*past) opinion
}{
	{"no-stale-write", noStaleWrite},
	{"token-order", tokenOrder},
	{"renewal-keeps-token", renewalKeepsToken},
	{"exclusive-grant", exclusiveGrant},
	{"linearizable", linearizable},
	{"no-false-fencing", noFalseFencing},
	{"gives-up", givesUp},
	{"lease-identity", leaseIdentity},
	{"scope-isolation", scopeIsolation},
	{"no-lost-update", noLostUpdate},
	{"fence-survives", fenceSurvives},
	{"exclusive-belief", exclusiveBelief},
}

// past is a whole history.
type past struct {
	history.Header
	events []history.Event // valid ones: every operation has a number
	init   history.Value
	ops    []*operation
	// coordinator and store report whether that server's notes were recorded.
	coordinator, store bool
}

// operation is what a client asked, and was answered.
type operation struct {
	history.Event     // its invoke
	at            int // place of the invoke in the history
	until         int // place of the end; behind the last event while it is open
	end           *history.Event
}

func pastOf(h *history.History, init history.Value) *past {
	p := &past{Header: h.Header, init: init}
	for _, e := range h.Events {
		if !e.F.IsWorldNote() || e.F == history.Crash || e.F == history.Restart {
			p.events = append(p.events, e)
		}
	}
	for i := range p.events {
		e := &p.events[i]
		if o := p.op(e.Op); o != nil && e.F.IsServerNote() {
			lend(e, &o.Event)
		}
		switch {
		case e.Type == history.Invoke:
			p.ops = append(p.ops, &operation{Event: *e, at: i, until: len(p.events)})
		case e.Type.IsEnd():
			if o := p.op(e.Op); o != nil && e.F.IsOperation() {
				o.until, o.end = i, e
			}
		case e.F == history.Grant || e.F == history.Renewed || e.F == history.Released || e.F == history.Expire:
			p.coordinator = true
		case e.F.IsServerNote():
			p.store = true
		}
	}
	return p
}

// lend completes the note of a server by what its operation says: of a grant,
// who the owner is.
func lend(note, op *history.Event) {
	if !op.F.IsStore() {
		if note.Owner == "" && note.F == history.Grant {
			note.Owner = op.ClientName()
		}
		return
	}
	if note.Token == 0 {
		note.Token = op.Token
	}
	if note.Lease == "" && note.Token == op.Token {
		note.Lease = op.Lease
	}
	if note.Resource == "" {
		note.Resource, note.Scope = op.Resource, op.Scope
	}
}

// op returns the operation of that number, nil if none was recorded.
func (p *past) op(number int64) *operation {
	for _, o := range p.ops {
		if o.Op == number && number != 0 {
			return o
		}
	}
	return nil
}

// fence returns what the fence of the event covers.
func (p *past) fence(e *history.Event) string {
	if p.Scopes == "global" {
		return "everything"
	}
	return e.ScopeName()
}

// ok, failed and stale report how an operation ended. One that did none of it may
// have taken effect, or may yet.
func (o *operation) ok() bool     { return o.end != nil && o.end.Type == history.OK }
func (o *operation) failed() bool { return o.end != nil && o.end.Type == history.Fail }
func (o *operation) stale() bool  { return o.failed() && o.end.Error == history.Stale }

// before reports whether o had ended when q began.
func (o *operation) before(q *operation) bool { return o.until < q.at }

// noted reports whether the event is that note of a server.
func noted(e *history.Event, verbs ...history.F) bool {
	if e.Type != history.Note {
		return false
	}
	for _, f := range verbs {
		if e.F == f {
			return true
		}
	}
	return false
}

// another reports whether two identities of leases, both known, differ.
func another(a, b string) bool { return a != "" && b != "" && a != b }
