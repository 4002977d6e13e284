package reports

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"staleproof/model/history"
)

// describe tells an event in words, without naming the process that made it:
// "refuses A's write of 10 to orders/7 as stale: token 41, highest accepted 42".
func (v *view) describe(e *history.Event) string {
	var s string
	switch e.Type {
	case history.Invoke:
		s = "calls " + operation(e)
	case history.OK:
		s = operation(e) + " succeeds" + v.outcome(e)
	case history.Fail:
		s = operation(e) + " fails" + failureOf(e)
	case history.Info:
		s = operation(e) + ": outcome unknown, it may still take effect" + failureOf(e)
	default:
		s = v.note(e)
	}
	return s
}

var verbs = map[history.F]string{
	history.Acquire: "acquire", history.Renew: "renew", history.Release: "release", history.Raise: "raise",
	history.Write: "write", history.Delete: "delete", history.Read: "read", history.CAS: "cas", history.Batch: "batch",
}

// operation tells what an operation does: "write 10 to orders/7, token 41".
func operation(e *history.Event) string {
	s := verbs[e.F]
	if s == "" {
		s = "operation " + strconv.Itoa(int(e.F))
	}
	switch e.F {
	case history.Write, history.Batch:
		s += prefixed(" ", value(e.Value)) + prefixed(" to ", e.Resource)
	case history.CAS:
		s += prefixed(" ", e.Resource) + prefixed(" from ", value(e.Expect)) + prefixed(" to ", value(e.Value))
	case history.Raise:
		s += prefixed(" the fence of ", e.Resource)
	default:
		s += prefixed(" ", e.Resource)
	}
	if e.Type == history.Invoke || e.F != history.Acquire {
		s += token(", token ", e.Token)
	}
	return s
}

func (v *view) outcome(e *history.Event) string {
	switch {
	case e.F == history.Acquire:
		return token(": token ", e.Token) + prefixed(", lease ", e.Lease)
	case e.F == history.Renew && e.Expires != 0:
		return prefixed(": the lease now ends at ", v.clock.instant(e.Expires))
	case e.F == history.Read:
		return prefixed(": ", value(e.Value))
	}
	return ""
}

func failureOf(e *history.Event) string {
	s := prefixed(": ", history.ErrorText(e.Error))
	if e.Highest != 0 {
		s += " (highest accepted " + e.Highest.String() + ")"
	}
	return s
}

func (v *view) note(e *history.Event) string {
	switch e.F {
	case history.Grant, history.Renewed, history.Released, history.Expire, history.Believe, history.Disbelieve:
		return v.leaseNote(e)
	case history.Apply, history.Reject, history.Raised, history.Served:
		return v.storeNote(e)
	}
	return v.worldNote(e)
}

func (v *view) leaseNote(e *history.Event) string {
	lease := ""
	if e.Generation != 0 {
		lease += ", generation " + strconv.FormatInt(e.Generation, 10)
	}
	lease += token(", token ", e.Token) + prefixed(", lease ", e.Lease)
	scope := e.ScopeName()
	switch e.F {
	case history.Grant:
		return "grants " + scope + prefixed(" to ", e.Owner) + lease + v.until(", ends at ", e.Expires)
	case history.Renewed:
		return "extends the lease on " + scope + prefixed(" of ", e.Owner) + lease + v.until(", now ends at ", e.Expires)
	case history.Released:
		return "takes back the lease on " + scope + prefixed(" released by ", e.Owner) + lease
	case history.Expire:
		return "ends the lease on " + scope + prefixed(" of ", e.Owner) + " at its term" + lease
	case history.Believe:
		return "believes that it holds " + scope + lease + v.until(", until ", e.Until)
	}
	return "no longer believes that it holds " + scope + lease + prefixed(": ", e.Error)
}

func (v *view) until(before string, t int64) string {
	if v.term(t) == 0 {
		return ""
	}
	return prefixed(before, v.clock.instant(t))
}

func (v *view) storeNote(e *history.Event) string {
	what := "an operation"
	if op := v.verb(e); op != e {
		what = op.ClientName() + "'s " + operation(op)
	} else {
		what += prefixed(" of ", e.Owner) + prefixed(" on ", e.Resource) + token(", token ", e.Token)
	}
	greatest := token(" (its highest: ", e.Highest)
	if greatest != "" {
		greatest += ")"
	}
	switch e.F {
	case history.Apply:
		return "applies " + what + greatest
	case history.Reject:
		return "refuses " + what + prefixed(" as ", e.Error) + greatest
	case history.Raised:
		return "lifts the fence for " + what + greatest
	}
	return "serves " + what + prefixed(": ", value(e.Value)) + greatest
}

func (v *view) worldNote(e *history.Event) string {
	text := prefixed(": ", e.Text)
	switch e.F {
	case history.Send:
		return "sends message " + strconv.FormatInt(e.Message, 10) + prefixed(" to ", e.To) + text
	case history.Deliver, history.Drop:
		return v.arrival(e)
	case history.Pause:
		return pause(e)
	case history.Resume:
		return "resumes" + prefixed(" ", e.Text)
	case history.Crash:
		return "crashes" + text
	case history.Restart:
		return "restarts" + text
	case history.Partition:
		return link("is cut off", " from ", e) + text
	case history.Heal:
		return link("is connected again", " to ", e) + text
	case history.Clock:
		return "its clock " + cmp.Or(e.Text, "changes")
	case history.Quiet:
		return "no fault is injected from here on" + text
	}
	return fmt.Sprintf("event of type %d about %d", e.Type, e.F) + text
}

// pause tells what stops a process and for how long, in the note's own words
// where it has a sentence of them.
func pause(e *history.Event) string {
	switch {
	case e.Text == "" || strings.HasPrefix(e.Text, "for "):
		return "is paused" + prefixed(" ", e.Text)
	case strings.HasPrefix(e.Text, "one task "):
		return e.Text
	}
	return "is " + e.Text
}

// link tells of a connection between two processes, or of the whole network.
func link(what, to string, e *history.Event) string {
	if e.Process == "" {
		return "the network " + what
	}
	return what + prefixed(to, e.To)
}

func (v *view) arrival(e *history.Event) string {
	s := "message " + strconv.FormatInt(e.Message, 10)
	if e.Copy != 0 {
		s = "a duplicate of " + s
	}
	f := v.messages[copyOf{e.Message, e.Copy}]
	if f != nil {
		s += prefixed(" from ", f.from)
	}
	if e.F == history.Drop {
		s += prefixed(" to ", e.To) + " is lost"
	} else {
		s += " arrives"
	}
	if f != nil && f.sent >= 0 {
		sent := &v.h.Events[f.sent]
		if d := e.Time - sent.Time; f.overtaken && v.clock.unit != "" {
			s += " " + v.clock.elapsed(d) + " after it was sent"
		}
		if e.Text == "" {
			return s + prefixed(": ", sent.Text)
		}
	}
	return s + prefixed(": ", e.Text)
}

// value writes a value as a person writes it; an absent one is empty.
func value(val history.Value) string {
	switch val.Kind {
	case history.Absent:
		return ""
	case history.Nil:
		return "nil"
	case history.Int:
		return strconv.FormatInt(val.Num, 10)
	case history.Text:
		return strconv.Quote(val.Str)
	}
	return val.Str
}

// prefixed returns before+s, or nothing when s is empty.
func prefixed(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

func token(before string, t history.Token) string {
	if t == 0 {
		return ""
	}
	return before + t.String()
}

// clipMiddle shortens s to n characters and keeps its end, which tells workers
// with one prefix apart.
func clipMiddle(s string, n int) string {
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(runes) <= n {
		return string(runes)
	}
	tail := n / 3
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// clip shortens s to n characters, the last of them an ellipsis.
func clip(s string, n int) string {
	runes := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:max(0, n-1)]) + "…"
}
