package explore

import (
	"fmt"
	"reflect"
	"slices"

	"staleproof/sim"
)

// How much is audited: every second history of a local state up to alwaysAudit
// of them, then one in auditEvery, for as many events as the search is deep, or
// leastAhead if that takes too many; and so many events of a local state are
// remembered.
const (
	alwaysAudit = 256
	auditEvery  = 16
	leastAhead  = 8
	maxKnown    = 8
)

// suspect is a local state with a second history that came to the same key.
type suspect struct {
	local uint32
	past  history
}

// suspects is told that past is a second history of a local state.
func (e *engine) suspects(id uint32, past history) {
	if sameHistory(&e.info[id].past, &past) {
		return
	}
	e.seconds++
	if e.seconds > alwaysAudit && hash(kindSeed, uint64(id)<<32|uint64(e.seconds))%auditEvery != 0 {
		return
	}
	past.answers = slices.Clone(past.answers)
	e.audits = append(e.audits, suspect{id, past})
}

func sameHistory(a, b *history) bool {
	return a.from == b.from && a.event == b.event && a.clock == b.clock && a.calls == b.calls && slices.Equal(a.answers, b.answers)
}

// audit runs processes on from both histories of local states that were found
// twice, with events that the search met there, and compares what they do. It
// comes at the end of a search, when most is known.
func (s *search) audit() error {
	far, cost := max(leastAhead, s.result.Depth), 0
	for i := range s.audits {
		cost += 2 * (s.info[s.audits[i].local].depth + far)
	}
	every := uint64(1 + cost/s.effort())
	errs, cut := make([]error, len(s.audits)), make([]int, len(s.audits))
	s.share(len(s.audits), func(w *worker, i int) {
		ahead := far
		if hash(kindSeed, uint64(i))%every != 0 {
			ahead = leastAhead
		}
		cut[i], errs[i] = w.walk(&s.audits[i], i, ahead)
	})
	s.result.Merged, s.result.Compared = s.seconds, len(s.audits)
	for _, n := range cut {
		if n > 0 && (s.result.Ahead == 0 || n < s.result.Ahead) {
			s.result.Ahead = n
		}
	}
	return first(errs)
}

// first returns the first error that is one.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// walk runs one suspect, for at most so many events, and returns how many if more
// could follow.
func (r *runner) walk(x *suspect, seed, ahead int) (cut int, err error) {
	e := r.e
	proc := e.info[x.local].proc
	defer r.refuse(proc, &err)
	one, two := r.cell(&r.cells, proc), r.cell(&r.twins, proc)
	r.bring(one, &e.info[x.local].past)
	r.bring(two, &x.past)
	var walked []history
	at, clock := x.local, x.past.clock
	for step := range ahead {
		known := e.info[at].known
		if len(known) == 0 {
			return 0, nil
		}
		m := known[hash(kindSeed, uint64(seed)<<8|uint64(step))%uint64(len(known))]
		ev := e.eventOf(m)
		clock = max(clock, m.clock)
		if e.bounded && !e.possible(&ev, clock) {
			return 0, nil
		}
		h := history{event: ev, clock: clock, calls: m.calls}
		walked = append(walked, h)
		r.feed(one, &h)
		r.feed(two, &h)
		r.replayed += 2
		a, b := r.outcome(one, nil), r.outcome(two, nil)
		if what, i := difference(&a, &b); what != "" {
			return 0, &CheckpointError{
				Process:    e.names[proc],
				Line:       r.lineOf(two, slices.Concat(e.chain(&x.past), walked), i),
				Difference: "after the last event of each, " + what,
				Histories:  [2][]string{e.tell(slices.Concat(e.chain(&e.info[x.local].past), walked)), e.tell(slices.Concat(e.chain(&x.past), walked))},
			}
		}
		next, ok := e.localIDs[proc][a.local.Key]
		if !ok || a.panic != nil {
			return 0, nil
		}
		at = next
	}
	return ahead, nil
}

// difference says how two outcomes differ, or nothing, and which of the effects of
// the second is the first that does; -1 is none of them.
func difference(x, y *raw) (what string, at int) {
	if (x.panic == nil) != (y.panic == nil) {
		return "one panics", -1
	}
	if x.panic != nil {
		return "", -1
	}
	for j := range min(len(x.effects), len(y.effects)) {
		if !sameEffect(&x.effects[j], &y.effects[j]) {
			return fmt.Sprintf("one does %s, the other %s", describeEffect(&x.effects[j]), describeEffect(&y.effects[j])), j
		}
	}
	switch {
	case len(x.effects) < len(y.effects):
		return "the other also does " + describeEffect(&y.effects[len(x.effects)]), len(x.effects)
	case len(x.effects) > len(y.effects):
		return "the one also does " + describeEffect(&x.effects[len(y.effects)]), -1
	case !slices.EqualFunc(x.choices, y.choices, sameChoice):
		return "they come to different choices", -1
	case x.local.Key != y.local.Key:
		return "they come to different states", -1
	}
	return "", -1
}

func sameEffect(a, b *sim.Effect) bool {
	return a.Note == b.Note && a.Message == b.Message && (a.Observation == nil && b.Observation == nil || reflect.DeepEqual(a.Observation, b.Observation))
}

// sameChoice reports whether two histories were asked the same.
func sameChoice(a, b sim.Answer) bool {
	return a.Site == b.Site && a.Options == b.Options && a.Option == b.Option
}

func describeEffect(x *sim.Effect) string {
	switch {
	case x.Observation != nil:
		return fmt.Sprintf("observe %+v", x.Observation)
	case x.Note.Kind == sim.NoteSend:
		return fmt.Sprintf("send %+v", x.Message.Body)
	}
	return fmt.Sprintf("note %d %v", x.Note.Kind, x.Note.Label)
}

// chain returns a history with all that came before it, oldest first.
func (e *engine) chain(h *history) []history {
	var all []history
	for ; ; h = &e.info[h.from].past {
		all = append(all, *h)
		if h.from < 0 {
			slices.Reverse(all)
			return all
		}
	}
}

// tell writes a chain down, a line an event.
func (e *engine) tell(chain []history) []string {
	var lines []string
	for i := range chain {
		line := e.describe(chain[i].event)
		if len(chain[i].answers) > 0 {
			line += fmt.Sprintf(" choosing %v", chain[i].answers)
		}
		lines = append(lines, line)
	}
	return lines
}

// describe says in words what an event is.
func (e *engine) describe(ev sim.Event) string {
	who := "every clock"
	if ev.Proc >= 0 {
		who = e.names[ev.Proc]
	}
	switch ev.Kind {
	case sim.EventDeliver:
		return fmt.Sprintf("%s receives %+v from %s", who, ev.Message.Body, e.names[ev.Message.From])
	case sim.EventStep:
		return fmt.Sprintf("%s takes step %d", who, ev.Step)
	case sim.EventRing:
		return fmt.Sprintf("%s: a wait times out", who)
	case sim.EventAfter:
		return fmt.Sprintf("%s: timer %+v", who, ev.Message.Body)
	case sim.EventTick:
		return fmt.Sprintf("%s: a tick", who)
	}
	return fmt.Sprintf("%s: %s", who, ev.Kind)
}
