package checker

import (
	"strings"
	"testing"

	"staleproof/model/history"
)

// TestSearchIsBounded: of a history with more operations than a search can order
// the first are judged, and what they do not break remains undecided.
func TestSearchIsBounded(t *testing.T) {
	if n := int64(searched); n*(n/8+64) > bytesPerSearch {
		t.Errorf("an order of %d operations takes %d bytes, more than %d", n, n*(n/8+64), int64(bytesPerSearch))
	}
	defer func(n int) { searched = n }(searched)
	searched = 40
	for _, test := range []struct {
		reason, model string
		operations    int
		bad           int // number of the read that answers what was never written; 0 is none
		want          Outcome
		says          string
	}{
		{"as many as can be ordered", "cas-register", 40, 0, Satisfied, ""},
		{"one more", "cas-register", 41, 0, Inconclusive, "the first 40 operations break nothing"},
		{"broken among the first of many", "cas-register", 100, 30, Violated, "-> 999 by process 0, #59 to #60"},
		{"broken beyond the first", "cas-register", 100, 80, Inconclusive, "the first 40 operations break nothing"},
		{"a fence that only clients saw", "fenced", 100, 30, Violated, "-> 999 by process 0, #59 to #60"},
		{"the same, and nothing broken", "fenced", 100, 0, Inconclusive, "the first 40 operations break nothing"},
	} {
		h := &history.History{}
		for op := int64(1); op <= int64(test.operations); op++ {
			e := history.Event{Process: "0", Op: op, Resource: "r", F: history.CAS, Expect: history.IntValue(op - 1), Value: history.IntValue(op)}
			if test.model == "fenced" {
				e.F, e.Token, e.Expect, e.Value = history.Write, 1, history.Value{}, history.IntValue(op%3)
			}
			if op == int64(test.bad) {
				e.F, e.Expect, e.Value = history.Read, history.Value{}, history.Value{}
			}
			if op == 1 {
				e.Expect = history.NilValue
			}
			begin, end := e, e
			begin.Type, begin.Index = history.Invoke, 2*op-1
			end.Type, end.Index = history.OK, 2*op
			if op == int64(test.bad) {
				end.Value = history.IntValue(999)
			}
			if op == int64(test.bad)+1 && test.bad > 0 && e.F == history.CAS { // goes on from the last write
				begin.Expect = history.IntValue(op - 2)
				end.Expect = begin.Expect
			}
			h.Events = append(h.Events, begin, end)
		}
		r, err := Check(h, Options{Model: test.model})
		if err != nil {
			t.Fatalf("%s: %v", test.reason, err)
		}
		said := ""
		for _, result := range r.Results {
			if result.Violation != nil {
				said += result.Violation.Message
			}
		}
		if r.Outcome != test.want || !strings.Contains(said, test.says) {
			t.Errorf("%s: want %s and %q, found %s and %q", test.reason, test.want, test.says, r.Outcome, said)
		}
		if calls, _ := logOf(EventsOf(h), newNames(false)); test.model == "fenced" && len(calls) != searched+1 {
			t.Errorf("%s: %d operations are kept for the search, want %d", test.reason, len(calls), searched+1)
		}
	}
}
