package explore

import (
	"fmt"
	"reflect"
	"slices"

	"staleproof/sim"
)

// How much is audited: every second history of a key up to alwaysAudit of them,
// then one in auditEvery; and so many events of a local state are remembered.
const (
	alwaysAudit = 256
	auditEvery  = 8
	maxKnown    = 8
)

// audit is told that past is a second history of a local state. It runs it one
// event further, now and what else the state meets later, and compares.
func (e *engine) audit(r *runner, id uint32, past history) error {
	info := &e.info[id]
	if info.other != nil || sameHistory(&info.past, &past) {
		return nil
	}
	e.audits++
	if e.audits > alwaysAudit && hash(kindSeed, uint64(id)<<32|uint64(e.audits))%auditEvery != 0 {
		return nil
	}
	past.answers = slices.Clone(past.answers)
	info.other = &past
	for _, m := range info.known {
		if err := e.compare(r, m); err != nil {
			return err
		}
	}
	return nil
}

func sameHistory(a, b *history) bool {
	return a.from == b.from && a.event == b.event && a.clock == b.clock && a.calls == b.calls && slices.Equal(a.answers, b.answers)
}

// compare runs a transition after both histories of its local state.
func (e *engine) compare(r *runner, m miss) error {
	info := &e.info[m.local]
	ev := e.eventOf(m)
	one := r.run(info.proc, &info.past, ev, m.clock, m.calls)
	two := r.run(info.proc, info.other, ev, m.clock, m.calls)
	diff := difference(one, two)
	if diff == "" {
		return nil
	}
	last := history{from: -2, event: ev, clock: m.clock}
	return &CheckpointError{
		Process:    e.names[info.proc],
		Difference: "at the last event of each, " + diff,
		Histories:  [2][]string{e.tell(&info.past, &last), e.tell(info.other, &last)},
	}
}

// difference says how two lists of outcomes differ, or nothing.
func difference(a, b []raw) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d outcomes instead of %d", len(b), len(a))
	}
	for i := range a {
		x, y := &a[i], &b[i]
		switch {
		case (x.panic == nil) != (y.panic == nil):
			return "one panics"
		case x.panic != nil:
		case len(x.effects) != len(y.effects):
			return fmt.Sprintf("%d effects instead of %d", len(y.effects), len(x.effects))
		case x.local.Key != y.local.Key:
			return "they come to different states"
		}
		for j := range min(len(x.effects), len(y.effects)) {
			if !reflect.DeepEqual(x.effects[j], y.effects[j]) {
				return fmt.Sprintf("one does %s, the other %s", describeEffect(&x.effects[j]), describeEffect(&y.effects[j]))
			}
		}
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

// tell writes a history down, oldest event first.
func (e *engine) tell(h, last *history) []string {
	lines := []string{e.describe(last.event)}
	for ; h != nil; h = &e.info[h.from].past {
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
