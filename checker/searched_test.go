package checker

import (
	"strings"
	"testing"

	"staleproof/model/history"
)

// TestSearchIsBounded: of a history with more operations than a search can order
// the first are judged, and what they do not break remains undecided until the one
// limit is raised.
func TestSearchIsBounded(t *testing.T) {
	const forty = 41 * (40/8 + 64) // bytes
	for _, test := range []struct {
		reason     string
		operations int
		bad        int // number of the read that answers what was never written; 0 is none
		memory     int64
		want       Outcome
		says       string
	}{
		{"as many as can be ordered", 40, 0, forty, Satisfied, ""},
		{"one more", 41, 0, forty, Inconclusive, "the first 40 operations break nothing"},
		{"one byte less", 40, 0, forty - 1, Inconclusive, "the first 39 operations break nothing"},
		{"broken among the first of many", 100, 30, forty, Violated, "-> 999 by process 0, #59 to #60"},
		{"broken beyond the first", 100, 80, forty, Inconclusive,
			"the first 40 operations break nothing, and an order of more takes more memory than 2829 bytes (r): raise --max-memory"},
		{"the same with more memory", 100, 80, DefaultMemory, Violated, "-> 999 by process 0, #159 to #160"},
	} {
		h := fencedByClients(test.operations, test.bad)
		r, err := Check(h, Options{Model: "fenced", Memory: test.memory})
		if err != nil {
			t.Fatalf("%s: %v", test.reason, err)
		}
		if said := saidOf(r); r.Outcome != test.want || !strings.Contains(said, test.says) {
			t.Errorf("%s: want %s and %q, found %s and %q", test.reason, test.want, test.says, r.Outcome, said)
		}
	}
	if calls, _ := logOf(EventsOf(fencedByClients(100, 0)), newNames(false), 41, evidence{}); len(calls) != 41 {
		t.Errorf("%d operations are kept for the search, want 41", len(calls))
	}
}

// TestSearchTakesSteps: a search that takes more states than fit is undecided, whether
// an order exists or not, and says what would decide it.
func TestSearchTakesSteps(t *testing.T) {
	for _, bad := range []int64{0, 999} {
		h := &history.History{}
		emit := func(e history.Event) {
			e.Index = int64(len(h.Events) + 1)
			e.Process, e.Resource, e.Token = "0", "r", 1
			h.Events = append(h.Events, e)
		}
		for _, kind := range []history.Type{history.Invoke, history.OK} { // all at the same time
			for op := int64(1); op <= 9; op++ {
				e := history.Event{Type: kind, F: history.Write, Op: op, Value: history.IntValue(op)}
				if op%3 == 0 {
					e.F, e.Value = history.Read, history.Value{}
					if kind == history.OK {
						e.Value = history.IntValue(max(bad, op-1))
					}
				}
				emit(e)
			}
		}
		want := map[int64]Outcome{0: Satisfied, 999: Violated}[bad]
		for memory, want := range map[int64]Outcome{65 * 5: Inconclusive, DefaultMemory: want} {
			r, err := Check(h, Options{Model: "fenced", Memory: memory})
			said := saidOf(r)
			if err != nil || r.Outcome != want || want == Inconclusive && !strings.Contains(said, "raise --max-memory") {
				t.Errorf("%d bytes: %v, want %s, found %s and %q", memory, err, want, r.Outcome, said)
			}
		}
	}
}

// fencedByClients is a history of writes, and of a read that answers 999, in which
// only clients saw the fence.
func fencedByClients(operations, bad int) *history.History {
	h := &history.History{}
	for op := int64(1); op <= int64(operations); op++ {
		e := history.Event{Process: "0", Op: op, Resource: "r", F: history.Write, Token: 1, Value: history.IntValue(op % 3)}
		if op == int64(bad) {
			e.F, e.Value = history.Read, history.Value{}
		}
		begin, end := e, e
		begin.Type, begin.Index = history.Invoke, 2*op-1
		end.Type, end.Index = history.OK, 2*op
		if op == int64(bad) {
			end.Value = history.IntValue(999)
		}
		h.Events = append(h.Events, begin, end)
	}
	return h
}

// saidOf is what a report says of violations and of what it could not decide.
func saidOf(r Report) string {
	said := ""
	for _, result := range r.Results {
		if result.Violation != nil {
			said += result.Violation.Message
		}
	}
	return said
}
