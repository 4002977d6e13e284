package checker

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"staleproof/model/history"
)

// drawMixture draws a history of everything at once: a store that may do wrong,
// events of leases that make little sense, beliefs, restarts, copies.
func drawMixture(t *rapid.T) []history.Event {
	f := flaws{}
	if rapid.Bool().Draw(t, "flawed") {
		f = flaws{accept: 5, forget: 5, twice: 10, lie: 3, silent: 3, readsLift: rapid.Bool().Draw(t, "readsLift")}
	}
	store := drawStoreRun(t, f, rapid.IntRange(0, 20).Draw(t, "steps")).Events
	var list []history.Event
	for range rapid.IntRange(0, 15).Draw(t, "others") {
		for n := rapid.IntRange(0, 3).Draw(t, "store"); n > 0 && len(store) > 0; n-- {
			list, store = append(list, store[0]), store[1:]
		}
		list = append(list, drawOther(t))
	}
	list = append(list, store...)
	for i := range list {
		list[i].Index = int64(i + 1)
	}
	return list
}

func drawOther(t *rapid.T) history.Event {
	switch rapid.IntRange(0, 5).Draw(t, "other") {
	case 0, 1:
		return drawEvent(t)
	case 2:
		return history.Event{Type: history.Note, F: history.Restart, Process: rapid.SampledFrom([]string{"L", "store"}).Draw(t, "server")}
	case 3:
		return history.Event{Type: history.Note, F: history.Deliver, Process: "store", Copy: rapid.Int64Range(0, 1).Draw(t, "copy")}
	}
	return history.Event{
		Type: history.Note, F: rapid.SampledFrom([]history.F{history.Believe, history.Believe, history.Disbelieve}).Draw(t, "belief"),
		Process: rapid.SampledFrom([]string{"C", "B", "A"}).Draw(t, "holder"), Resource: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "resource"),
		Time: rapid.Int64Range(0, 3).Draw(t, "time"), Until: rapid.Int64Range(0, 4).Draw(t, "until"),
	}
}

func drawConfig(t *rapid.T) Config {
	return Config{
		Header: history.Header{
			Timing: rapid.SampledFrom([]string{"timed", "untimed"}).Draw(t, "timing"),
			Scopes: rapid.SampledFrom([]string{"per-resource", "global"}).Draw(t, "scopes"),
			Fence:  "accepted", // what a file leaves open is inferred from the whole of it
		},
		View:   View{Coordinator: rapid.Bool().Draw(t, "coordinator"), Store: rapid.IntRange(0, 3).Draw(t, "store notes") > 0},
		Forget: rapid.Bool().Draw(t, "forget"),
	}
}

func newSuite(t interface{ Fatal(...any) }, c Config, properties ...string) *Suite {
	s, err := c.New(properties)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func feed(s *Suite, events []history.Event) {
	for i := range events {
		e := events[i]
		s.Observe(&e)
		e = history.Event{Index: -1, Process: "overwritten"} // a suite keeps no event
	}
}

// judgement is all that a suite says in words.
func judgement(s *Suite) string {
	var b bytes.Buffer
	for _, m := range s.Monitors() {
		o, v := m.Verdict()
		fmt.Fprintln(&b, m.Name(), o, v)
	}
	for _, r := range s.Finish() {
		fmt.Fprintln(&b, r.Property, r.Outcome, r.Steps, r.Violation)
	}
	fmt.Fprintln(&b, s.Violations(), s.Sometimes())
	return b.String()
}

// finished is the judgement of each property at the end, in words.
func finished(s *Suite) []string {
	var list []string
	for _, r := range s.Finish() {
		list = append(list, fmt.Sprint(r.Property, r.Outcome, r.Steps, r.Violation))
	}
	return list
}

// What is said of a property depends on nothing but the history: not on what else
// is judged, not on what the suite judged before, not on where it was copied.
func TestJudgementsStandAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config, events, other := drawConfig(t), drawMixture(t), drawMixture(t)
		all := newSuite(t, config, allNames()...)
		feed(all, events)
		said := judgement(all)
		want := finished(all)
		for i, name := range allNames() {
			one := newSuite(t, config, name)
			feed(one, events)
			if got := finished(one); got[0] != want[i] {
				t.Fatalf("alone: %s\nwith all others: %s", got[0], want[i])
			}
		}
		used := newSuite(t, config, allNames()...)
		feed(used, other)
		used.Finish()
		used.Reset()
		feed(used, events)
		if got := judgement(used); got != said {
			t.Fatalf("after a reset:\n%s\nanew:\n%s", got, said)
		}
	})
}

// A clone and its original do not notice each other.
func TestCloneIsIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config, events, other := drawConfig(t), drawMixture(t), drawMixture(t)
		if len(events) == 0 {
			return
		}
		at := rapid.IntRange(0, len(events)-1).Draw(t, "cloned at")
		undisturbed, original := newSuite(t, config, allNames()...), newSuite(t, config, allNames()...)
		feed(undisturbed, events)
		feed(original, events[:at])
		clone, second := original.Clone(), original.Clone()
		for i := range max(len(other), len(events)-at) {
			if i < len(other) {
				feed(second, other[i:i+1])
			}
			if i < len(events)-at {
				feed(original, events[at+i:at+i+1])
				feed(clone, events[at+i:at+i+1])
			}
		}
		stranger := history.Event{Index: 99, Process: "stranger", Type: history.Invoke, F: history.Write, Op: 99, Resource: "elsewhere"}
		second.Observe(&stranger)
		second.Reset()
		if slices.Contains(original.names.clients.list, "stranger") || slices.Contains(clone.names.clients.list, "stranger") {
			t.Fatal("a name that one clone met is known to others")
		}
		want, key := judgement(undisturbed), undisturbed.AppendKey(nil)
		if a, b := judgement(original), judgement(clone); a != want || b != want {
			t.Fatalf("original:\n%s\nclone:\n%s\nwant:\n%s", a, b, want)
		}
		if a, b := original.AppendKey(nil), clone.AppendKey(nil); !bytes.Equal(a, key) || !bytes.Equal(b, key) {
			t.Fatalf("keys %q of the original, %q of the clone, want %q", a, b, key)
		}
	})
}

// What breaks in a clone is not listed by its original, nor the other way round.
func TestCloneListsItsOwnViolations(t *testing.T) {
	original := newSuite(t, Config{View: View{Coordinator: true, Store: true}}, "no-stale-write", "token-order")
	original.broken = slices.Grow(original.broken, 2) // room that a copy must not share
	clone := original.Clone()
	feed(original, parse(t, timed, "store apply op=1 token=2\nstore apply op=2 token=1").Events)
	feed(clone, parse(t, timed, "L grant op=1 token=2 lease=a owner=A\nL grant op=2 token=1 lease=b owner=B").Events)
	for want, s := range map[string]*Suite{"no-stale-write": original, "token-order": clone} {
		if v := s.Violations(); len(v) != 1 || v[0].Property != want {
			t.Errorf("violations %v, want one of %s", v, want)
		}
	}
}

// Whether a suite keeps operations, forgets them or reads them again, and whether a
// file is judged at once or inline, it comes to the same as far as it can tell.
func TestModesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config, h := drawConfig(t), &history.History{Events: drawMixture(t)}
		h.Header = config.Header
		config.Forget, config.Source = false, nil
		keeps := newSuite(t, config, allNames()...)
		config.Source = EventsOf(h)
		reads := newSuite(t, config, allNames()...)
		config.Forget, config.Source = true, nil
		forgets := newSuite(t, config, allNames()...)
		for _, s := range []*Suite{keeps, reads, forgets} {
			feed(s, h.Events)
		}
		if !bytes.Equal(keeps.AppendKey(nil), reads.AppendKey(nil)) || !bytes.Equal(keeps.AppendKey(nil), forgets.AppendKey(nil)) {
			t.Fatal("keys differ")
		}
		if keeps.Sometimes() != reads.Sometimes() || keeps.Sometimes() != forgets.Sometimes() {
			t.Fatal("facts differ")
		}
		a, b, c := slices.Clone(keeps.Finish()), reads.Finish(), forgets.Finish()
		for i := range a {
			if a[i].Outcome != b[i].Outcome || a[i].Outcome != c[i].Outcome && c[i].Outcome != Inconclusive {
				t.Fatalf("%s: %s when it keeps, %s when it reads again, %s when it forgets", a[i].Property, a[i].Outcome, b[i].Outcome, c[i].Outcome)
			}
			if a[i].Outcome == Violated && (b[i].Violation.Message != a[i].Violation.Message || c[i].Outcome == Violated && c[i].Violation.Message != a[i].Violation.Message) {
				t.Fatalf("%s: %v when it keeps, %v when it reads again, %v when it forgets", a[i].Property, a[i].Violation, b[i].Violation, c[i].Violation)
			}
		}
		compareInline(t, h)
	})
}

// compareInline holds [Check] against a suite that was fed with the same events.
func compareInline(t *rapid.T, h *history.History) {
	report, err := Check(h, Options{Model: "fenced"})
	if err != nil {
		t.Fatal(err)
	}
	survey, _ := look(h.Header, EventsOf(h))
	var names []string
	for _, r := range report.Results {
		names = append(names, r.Property)
	}
	inline := newSuite(t, Config{Header: h.Header, View: survey.view}, names...)
	_ = withEnds(EventsOf(h))(inline.Observe)
	for i, r := range inline.Finish() {
		got := report.Results[i]
		if got.Outcome != r.Outcome || got.Outcome == Violated && got.Violation.Message != r.Violation.Message {
			t.Fatalf("%s: %s %v in a file, %s %v inline", r.Property, got.Outcome, got.Violation, r.Outcome, r.Violation)
		}
	}
	if report.Sometimes != inline.Sometimes() {
		t.Fatalf("facts %v in a file, %v inline", report.Sometimes, inline.Sometimes())
	}
}
