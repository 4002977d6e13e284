package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"staleproof/model/history"
)

// maxLeases is how many leases stand beside the chain: those that the finding
// names, and the latest before the violation.
const maxLeases = 6

// tenure tells of one lease who held it, from when to when, and how long its
// holder went on.
type tenure struct {
	Token, Holder string
	Generation    int64
	Granted       string
	Ended         string // may be empty
	Deadline      string // until when its holder trusted it
	Went          string // what the holder still did after that; empty for nothing
	Href          string // of that
}

type tenures struct {
	Scope     string
	Deadlines bool // some holder had a deadline of its own
	List      []tenure
	More      int    // earlier ones that are not listed
	Windows   bool   // of those that the page has a part of the history of
	Both      string // how long two held it at once, by their operations alone; may be empty
	Alone     bool   // the history tells of locks, and neither of tokens nor of what was done under them
}

// tenures lists the leases of the violation's scope up to the violation.
func (v *view) tenures() tenures {
	if len(v.scopes) == 0 {
		return tenures{}
	}
	t := tenures{Scope: v.scopes[0], Windows: len(v.holes) > 0}
	believed := v.believed()
	all := v.known()
	if len(all) == 0 {
		all = believed
	}
	var shown []*hold
	for _, h := range all {
		if h.scope == t.Scope && h.from <= v.violation {
			shown = append(shown, h)
		}
	}
	t.Both, t.Alone = v.both(shown), v.alone()
	for i, h := range shown {
		if left := len(shown) - i; left > maxLeases-1 && !v.cited[h.from] || len(t.List) == maxLeases {
			t.More++
			continue
		}
		t.List = append(t.List, v.tenure(h, beliefIn(believed, h)))
		t.Deadlines = t.Deadlines || strings.HasPrefix(t.List[len(t.List)-1].Deadline, ownDeadline)
	}
	return t
}

// both tells for how long the holder of a lock without tokens still held it when
// the violation, another's acquisition, had come: until it asked to release it, or
// was told that this failed.
func (v *view) both(shown []*hold) string {
	if len(shown) == 0 {
		return ""
	}
	last := shown[len(shown)-1]
	for _, h := range shown[:len(shown)-1] {
		until := cmp.Or(h.refused, h.asked)
		if !h.derived || last.from != v.violation || !v.cited[h.from] || h.client == last.client || until <= last.from {
			continue
		}
		during := prefixed(", for ", v.clock.elapsed(v.h.Events[until].Time-v.h.Events[last.from].Time))
		return fmt.Sprintf("Two held it at once from #%s to #%s%s.", v.href(last.from)[2:], v.href(until)[2:], during)
	}
	return ""
}

// alone says whether the history tells of locks only: no token, and no operation
// on what they protect.
func (v *view) alone() bool {
	return !v.tokens() && !slices.ContainsFunc(v.h.Events, func(e history.Event) bool { return e.F.IsStore() || e.F.IsServerNote() })
}

// beliefIn finds the holder's own belief in a lease.
func beliefIn(believed []*hold, h *hold) *hold {
	if h.derived {
		return h
	}
	var found *hold
	for _, b := range believed {
		if b.client == h.client && b.scope == h.scope && b.token == h.token && b.from >= h.from {
			found = b
		}
	}
	return found
}

func (v *view) tenure(h, belief *hold) tenure {
	t := tenure{Token: token("", h.token), Holder: holder(h.client), Granted: "granted at " + v.moment(h.from), Ended: "still in force at the violation"}
	if h.generation != int64(h.token) {
		t.Generation = h.generation
	}
	at := v.h.Events[v.violation].Time
	switch {
	case h.derived:
		t.Granted, t.Ended = "acquired at "+v.moment(h.from), v.release(h)
	case v.unseen(h):
		t.Ended = noEnd
	case h.to >= 0 && h.to <= v.violation:
		t.Ended = endings[v.h.Events[h.to].F] + " at " + v.moment(h.to)
	case h.until != 0 && h.until <= at:
		t.Ended = "ran out at " + v.clock.instant(h.until)
	}
	if belief == nil {
		return t
	}
	until := v.deadline(belief)
	switch end := v.beliefEnd(belief); {
	case h.derived, v.unseen(belief):
	case end >= 0 && end <= v.violation:
		t.Deadline = "given up by its holder at " + v.moment(end)
	case until != 0:
		t.Deadline = ownDeadline + v.clock.instant(until)
	}
	if acted := v.lastAct(belief); acted > v.lastDay(h, belief) {
		t.Went, t.Href = v.verbOf(acted)+" at "+v.moment(acted), v.href(acted)
	}
	return t
}

const (
	ownDeadline = "its holder's own deadline was "
	noEnd       = "no end of it in these windows"
)

// deadline is until when a holder trusted its lease, as far as it knew at the
// violation; 0 when it had no deadline.
func (v *view) deadline(b *hold) int64 {
	until := b.until
	for pos := b.from; pos <= v.violation; pos++ {
		if e := &v.h.Events[pos]; e.F == history.Believe && e.Token == b.token && e.ClientName() == b.client && e.ScopeName() == b.scope {
			until = v.term(e.Until)
		}
	}
	return until
}

// release tells how a hold ended that is read off its holder's operations.
func (v *view) release(h *hold) string {
	switch {
	case v.unseen(h):
		return noEnd
	case h.refused > 0:
		return "asked to release it at " + v.moment(h.asked) + ", refused at " + v.moment(h.refused)
	case h.asked > 0 && h.asked <= v.violation:
		return "asked to release it at " + v.moment(h.asked)
	case h.to >= 0 && h.to <= v.violation:
		return loss(&v.h.Events[h.to]) + " at " + v.moment(h.to)
	}
	return "not released by then"
}

// unseen says of a hold without an end that it may have ended where the page
// leaves events out. The next hold of its client is no end. What the coordinator
// noted of the leases that the finding names is never left out.
func (v *view) unseen(h *hold) bool {
	end := v.violation
	if h.to >= 0 {
		if f := v.h.Events[h.to].F; f != history.Acquire && f != history.Believe {
			return false
		}
		end = min(end, h.to)
	}
	cut := v.between(h.from, end) > end-h.from-1
	named := slices.ContainsFunc(sortedKeys(v.cited), func(pos int) bool {
		e := &v.h.Events[pos]
		return h.token != 0 && e.ScopeName() == h.scope && (e.Token == h.token || e.Highest == h.token)
	})
	return cut && (!named || v.h.Events[h.from].F != history.Grant)
}

// holder names a client. Recorders often number processes.
func holder(client string) string {
	if client != "" && strings.Trim(client, "0123456789") == "" {
		return "process " + client
	}
	return client
}

// lastAct is the last operation begun under a belief: of those that the finding
// names, if there are any.
func (v *view) lastAct(b *hold) int {
	last := -1
	for pos := range v.cited {
		s := v.ops[v.h.Events[pos].Op]
		if s == nil {
			continue
		}
		if e := &v.h.Events[s.invoke]; actsUnder(e, b.token) && e.ClientName() == b.client && s.invoke > b.from {
			last = max(last, s.invoke)
		}
	}
	if last < 0 {
		return b.acted
	}
	return last
}

// actsUnder says whether an event presents a token that its client holds. Where
// locks have no tokens nothing does, and an acquisition asks for a hold of its own.
func actsUnder(e *history.Event, t history.Token) bool {
	return t != 0 && e.Token == t && e.F != history.Acquire
}

var endings = map[history.F]string{history.Expire: "expired", history.Released: "released"}

// loss tells how a hold ended whose release nobody asked for, by the event.
func loss(e *history.Event) string {
	switch e.F {
	case history.Acquire:
		return "acquired anew"
	case history.Release:
		return "released"
	case history.Crash:
		return "its holder crashed"
	}
	return "its holder was refused"
}

// beliefEnd is the position at which a belief ended by an event, before it
// would have by itself; -1 when it did not.
func (v *view) beliefEnd(b *hold) int {
	if b.to >= 0 && (b.until == 0 || v.h.Events[b.to].Time < b.until) {
		return b.to
	}
	return -1
}

// lastDay is the last position at which the lease was in force or believed in.
func (v *view) lastDay(h, belief *hold) int {
	last := v.violation
	if h.to >= 0 {
		last = h.to
	}
	for pos := last; pos < len(v.h.Events) && belief.until != 0 && v.h.Events[pos].Time <= belief.until; pos++ {
		last = pos
	}
	return last
}

// moment tells when: by the clock, or by the number of the event where there is
// no clock.
func (v *view) moment(pos int) string {
	if t := v.clock.instant(v.h.Events[pos].Time); t != "" {
		return t
	}
	return "#" + v.href(pos)[2:]
}

// verbOf names the operation that began at pos.
func (v *view) verbOf(pos int) string {
	e := &v.h.Events[pos]
	return verbs[e.F] + prefixed(" ", value(e.Value))
}
