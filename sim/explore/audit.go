package explore

import (
	"fmt"
	"reflect"
	"slices"

	"staleproof/sim"
)

// How much is audited: every second history of a local state up to alwaysAudit
// of them, then one in auditEvery, each for auditSteps events; and so many events
// of a local state are remembered.
const (
	alwaysAudit = 256
	auditEvery  = 16
	auditSteps  = 12
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
	errs := make([]error, len(s.audits))
	s.share(len(s.audits), func(w *worker, i int) { errs[i] = w.walk(&s.audits[i], i) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// walk runs one suspect.
func (r *runner) walk(x *suspect, seed int) (err error) {
	e := r.e
	proc := e.info[x.local].proc
	defer r.refuse(proc, &err)
	one, two := r.cell(&r.cells, proc), r.cell(&r.twins, proc)
	r.bring(one, &e.info[x.local].past)
	r.bring(two, &x.past)
	var walked []history
	at, clock := x.local, x.past.clock
	for step := range auditSteps {
		known := e.info[at].known
		if len(known) == 0 {
			return nil
		}
		m := known[hash(kindSeed, uint64(seed)<<8|uint64(step))%uint64(len(known))]
		ev := e.eventOf(m)
		clock = max(clock, m.clock)
		if e.bounded && !e.possible(&ev, clock) {
			return nil
		}
		h := history{event: ev, clock: clock, calls: m.calls}
		walked = append(walked, h)
		feed(one, &h)
		feed(two, &h)
		r.replayed += 2
		a, b := r.outcome(one, nil), r.outcome(two, nil)
		if diff := difference(&a, &b); diff != "" {
			return &CheckpointError{
				Process:    e.names[proc],
				Difference: "after the last event of each, " + diff,
				Histories:  [2][]string{e.tell(&e.info[x.local].past, walked), e.tell(&x.past, walked)},
			}
		}
		next, ok := e.localIDs[proc][a.local.Key]
		if !ok || a.panic != nil {
			return nil
		}
		at = next
	}
	return nil
}

// difference says how two outcomes differ, or nothing.
func difference(x, y *raw) string {
	if (x.panic == nil) != (y.panic == nil) {
		return "one panics"
	}
	if x.panic != nil {
		return ""
	}
	for j := range min(len(x.effects), len(y.effects)) {
		if !reflect.DeepEqual(x.effects[j], y.effects[j]) {
			return fmt.Sprintf("one does %s, the other %s", describeEffect(&x.effects[j]), describeEffect(&y.effects[j]))
		}
	}
	switch {
	case len(x.effects) < len(y.effects):
		return "the other also does " + describeEffect(&y.effects[len(x.effects)])
	case len(x.effects) > len(y.effects):
		return "the one also does " + describeEffect(&x.effects[len(y.effects)])
	case x.local.Key != y.local.Key:
		return "they come to different states"
	}
	return ""
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

// tell writes a history down, oldest event first, and then what was walked.
func (e *engine) tell(h *history, walked []history) []string {
	var lines []string
	for ; ; h = &e.info[h.from].past {
		line := e.describe(h.event)
		if len(h.answers) > 0 {
			line += fmt.Sprintf(" choosing %v", h.answers)
		}
		lines = append(lines, line)
		if h.from < 0 {
			break
		}
	}
	slices.Reverse(lines)
	for i := range walked {
		lines = append(lines, e.describe(walked[i].event))
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
