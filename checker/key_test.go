package checker

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"staleproof/model/history"
)

func allNames() []string {
	var names []string
	for _, p := range registry {
		names = append(names, p.Name)
	}
	return names
}

// drawEvent draws an event from a small alphabet. Numbers of operations follow
// from the content, so that suites whose keys are equal know their open
// operations by equal numbers; an explorer must see to the same.
func drawEvent(t *rapid.T) history.Event {
	e := history.Event{
		Resource: rapid.SampledFrom([]string{"x", "x", "x", "y"}).Draw(t, "resource"),
		Token:    history.Token(rapid.IntRange(1, 2).Draw(t, "token")),
		Lease:    rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "lease"),
	}
	client := rapid.IntRange(0, 1).Draw(t, "client")
	e.Process = string(rune('A' + client))
	f := rapid.SampledFrom([]history.F{
		history.Acquire, history.Renew, history.Release, history.Write, history.Write, history.CAS, history.Read, history.Raise,
		history.Grant, history.Renewed, history.Expire, history.Released, history.Apply, history.Apply, history.Reject, history.Served, history.Raised,
		history.Believe, history.Disbelieve,
	}).Draw(t, "f")
	e.F = f
	verb := f
	if f == history.Believe || f == history.Disbelieve {
		e.Type, e.Until = history.Note, rapid.Int64Range(0, 3).Draw(t, "until")
	} else if f.IsServerNote() {
		e.Type, e.Owner = history.Note, e.Process
		e.Process = "L"
		e.Expires = rapid.Int64Range(0, 3).Draw(t, "expires")
		verb = map[history.F]history.F{history.Apply: history.Write, history.Reject: history.Write, history.Served: history.Read, history.Raised: history.Raise}[f]
	} else {
		e.Type = rapid.SampledFrom([]history.Type{history.Invoke, history.Invoke, history.OK, history.OK, history.Fail, history.Info}).Draw(t, "type")
	}
	if e.Type == history.Fail && rapid.Bool().Draw(t, "stale") {
		e.Error, e.Highest = history.Stale, e.Token+1
	}
	if f.IsMutation() || f == history.Read && e.Type == history.OK {
		e.Value = history.IntValue(int64(e.Token))
	}
	if f == history.CAS {
		e.Expect = history.IntValue(rapid.Int64Range(1, 2).Draw(t, "expect"))
	}
	e.Op = 1 + int64(verb) + 16*int64(client) + 32*int64(e.Resource[0]) + e.Expect.Num<<40
	if verb.IsStore() && e.Lease != "" {
		e.Op += 8192 * (int64(e.Token) + 4*int64(e.Lease[0]))
	} else if verb.IsStore() {
		e.Op += 8192 * int64(e.Token)
	}
	e.Time = rapid.Int64Range(0, 3).Draw(t, "time")
	return e
}

type walk struct {
	suite *Suite
	index int64
	over  map[int64]bool // operations that have ended
}

// feed numbers events differently in each walk: keys must not depend on it.
func (w *walk) feed(e history.Event) {
	w.index += 1 + w.index%3
	e.Index = w.index
	if e.Type.IsEnd() {
		if w.over == nil {
			w.over = make(map[int64]bool)
		}
		w.over[e.Op] = true
	}
	w.suite.Observe(&e)
}

// outcomes is what a suite's monitors say, one letter each.
func (w *walk) outcomes() string {
	var s []byte
	for _, m := range w.suite.Monitors() {
		o, _ := m.Verdict()
		s = append(s, "svi"[o])
	}
	return string(s)
}

// Equal keys must mean equal futures, or an exhaustive search that merges the
// states skips some. The suites meet their names in different orders.
func TestEqualKeysBehaveEqually(t *testing.T) {
	views := []struct {
		name string
		view View
	}{
		{"with notes", View{Coordinator: true, Store: true}},
		{"clients alone", View{}},
	}
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			met := 0
			rapid.Check(t, func(t *rapid.T) {
				timing := rapid.SampledFrom([]string{"timed", "untimed"}).Draw(t, "timing")
				scopes := rapid.SampledFrom([]string{"per-resource", "global"}).Draw(t, "scopes")
				config := Config{Header: history.Header{Timing: timing, Scopes: scopes}, View: v.view, Forget: true}
				byKey := make(map[string]*walk)
				for range 20 {
					s, err := config.New(allNames())
					if err != nil {
						t.Fatal(err)
					}
					w := &walk{suite: s}
					for range rapid.IntRange(0, 6).Draw(t, "length") {
						w.feed(drawEvent(t))
					}
					key := string(s.AppendKey(nil))
					if other, ok := byKey[key]; ok {
						met++
						compareFutures(t, other, w)
					} else {
						byKey[key] = w
					}
				}
			})
			if t.Logf("%d pairs met", met); met < 50 {
				t.Errorf("%d pairs of walks met, want 50 for the test to mean anything", met)
			}
		})
	}
}

func compareFutures(t *rapid.T, a, b *walk) {
	x := &walk{a.suite.Clone(), a.index, maps.Clone(a.over)}
	y := &walk{b.suite.Clone(), b.index + 5, maps.Clone(b.over)}
	before := a.suite.AppendKey(nil)
	for range rapid.IntRange(1, 8).Draw(t, "suffix") {
		e := drawEvent(t)
		if e.Type.IsEnd() && (x.over[e.Op] || y.over[e.Op]) {
			continue // an operation ends once
		}
		x.feed(e)
		y.feed(e)
		if x.outcomes() != y.outcomes() {
			t.Fatalf("after %+v: outcomes %s and %s from equal keys", e, x.outcomes(), y.outcomes())
		}
		if !bytes.Equal(x.suite.AppendKey(nil), y.suite.AppendKey(nil)) {
			t.Fatalf("after %+v: keys %q and %q from equal keys", e, x.suite.AppendKey(nil), y.suite.AppendKey(nil))
		}
	}
	if !bytes.Equal(before, a.suite.AppendKey(nil)) {
		t.Fatalf("feeding a clone changed its original")
	}
}

// A suite that was reset judges like a new one.
func TestResetIsNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{View: View{Coordinator: rapid.Bool().Draw(t, "coordinator"), Store: rapid.Bool().Draw(t, "store")}}
		used, _ := config.New(allNames())
		fresh, _ := config.New(allNames())
		first, second := &walk{suite: used}, &walk{suite: fresh}
		for range 20 {
			first.feed(drawEvent(t))
		}
		used.Reset()
		first.index = 0
		for range 10 {
			e := drawEvent(t)
			first.feed(e)
			second.feed(e)
		}
		if a, b := used.AppendKey(nil), fresh.AppendKey(nil); !bytes.Equal(a, b) {
			t.Fatalf("keys %q after a reset, %q anew", a, b)
		}
		if first.outcomes() != second.outcomes() || used.Sometimes() != fresh.Sometimes() {
			t.Fatalf("outcomes %s %v after a reset, %s %v anew", first.outcomes(), used.Sometimes(), second.outcomes(), fresh.Sometimes())
		}
		for i, r := range used.Finish() {
			if want := fresh.Finish()[i]; r.Outcome != want.Outcome || r.Steps != want.Steps {
				t.Fatalf("%s: %s after a reset, %s anew", r.Property, r.Outcome, want.Outcome)
			}
		}
	})
}

// A suite that met too many names forgets them when it is reset, and then knows
// nobody by an old number.
func TestResetForgetsManyNames(t *testing.T) {
	s, err := New([]string{"exclusive-belief"}, timed)
	if err != nil {
		t.Fatal(err)
	}
	believe := func(index int64, client string) {
		s.Observe(&history.Event{Index: index, Process: client, Type: history.Note, F: history.Believe, Resource: "x", Until: index + 1, Time: index})
	}
	a, b := "A", "B"
	believe(1, a)
	for i := range int64(manyNames) {
		believe(2*i+3, fmt.Sprint(i, "z"))
	}
	if s.Violated() {
		t.Fatalf("%v, want none: each belief is over when the next begins", s.Violations())
	}
	s.Reset()
	if n := len(s.names.clients.list); n != 0 {
		t.Errorf("%d names are kept", n)
	}
	s.Observe(&history.Event{Index: 1, Process: b, Type: history.Note, F: history.Believe, Resource: "x", Until: 9})
	s.Observe(&history.Event{Index: 2, Process: a, Type: history.Note, F: history.Believe, Resource: "x", Until: 9})
	if !s.Violated() {
		t.Error("two clients believe, and are taken for one")
	}
}
