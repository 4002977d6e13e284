package checker

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"staleproof/model/history"
)

// keyOf feeds a history to a suite and returns its key.
func keyOf(t *testing.T, view View, properties []string, text string) []byte {
	s, err := Config{Header: timed, View: view, Forget: true}.New(properties)
	if err != nil {
		t.Fatal(err)
	}
	h := parse(t, timed, text)
	for i := range h.Events {
		s.Observe(&h.Events[i])
	}
	return s.AppendKey(nil)
}

// Pairs of histories after which the same must, or need not, follow.
func TestKeys(t *testing.T) {
	aided, alone := View{true, true}, View{}
	tests := []struct {
		reason string
		view   View
		differ string // the property whose keys differ; empty: all are the same
		a, b   string
	}{
		{"names met in another order", aided, "", `
			L grant token=1 lease=a owner=A r=x
			L grant token=2 lease=b owner=B r=y
			A invoke write op=1 token=1 lease=a value=1 r=x
			B invoke write op=2 token=2 lease=b value=2 r=y
		`, `
			L grant token=2 lease=b owner=B r=y
			B invoke write op=2 token=2 lease=b value=2 r=y
			L grant token=1 lease=a owner=A r=x
			A invoke write op=1 token=1 lease=a value=1 r=x
		`},
		{"numbers of operations", aided, "",
			"A invoke write op=1 token=1 value=1", "A invoke write op=7 token=1 value=1"},
		{"a finished operation leaves its effect only", aided, "", `
			A invoke write op=1 token=1 value=1
			store apply op=1 token=1
			A ok write op=1 token=1
		`, `
			A invoke write op=1 token=1 value=1
			store apply op=1 token=1
			A ok write op=1 token=1
			A invoke write op=2 token=1 value=1
			store apply op=2 token=1
			A ok write op=2 token=1
		`},
		{"an unknown operation that was refused is over", aided, "", `
			A invoke raise op=1 token=2
			store raised op=1 token=2
			A ok raise op=1 token=2
		`, `
			A invoke raise op=1 token=2
			store raised op=1 token=2
			A ok raise op=1 token=2
			B invoke write op=2 token=1
			B info write op=2 token=1
			store reject op=2 token=1 highest=2
		`},
		{"an operation that was refused is over once its client waits no longer", aided, "", `
			A invoke raise op=1 token=2
			store raised op=1 token=2
			A ok raise op=1 token=2
		`, `
			A invoke raise op=1 token=2
			store raised op=1 token=2
			A ok raise op=1 token=2
			B invoke write op=2 token=1
			store reject op=2 token=1 highest=2
			B info write op=2 token=1
		`},
		{"an unknown operation that was applied is over", aided, "", `
			B invoke write op=2 token=1 value=1
			store apply op=2 token=1
			B ok write op=2 token=1
		`, `
			B invoke write op=2 token=1 value=1
			B info write op=2 token=1
			store apply op=2 token=1
		`},
		{"two that are open, in any order", aided, "", `
			A invoke write op=1 token=1 value=1
			B invoke write op=2 token=2 value=2
		`, `
			B invoke write op=2 token=2 value=2
			A invoke write op=1 token=1 value=1
		`},
		{"another value is stored", aided, "linearizable", `
			A invoke write op=1 token=1 value=1
			store apply op=1 token=1
			A ok write op=1 token=1
		`, `
			A invoke write op=1 token=1 value=2
			store apply op=1 token=1
			A ok write op=1 token=1
		`},
		{"another value is under way", aided, "linearizable",
			"A invoke write op=1 token=1 value=1", "A invoke write op=1 token=1 value=2"},
		{"another value is expected", aided, "linearizable",
			"A invoke cas op=1 token=1 value=2 expect=1", "A invoke cas op=1 token=1 value=2 expect=3"},
		{"what a write says of an expected value does not matter", aided, "",
			"A invoke write op=1 token=1 value=2 expect=1", "A invoke write op=1 token=1 value=2 expect=3"},
		{"nobody believes any longer", aided, "",
			"A believe r=x until=9\nA disbelieve r=x", "B believe r=y until=9\nB disbelieve r=y"},
		{"applied already", aided, "linearizable", `
			A invoke write op=1 token=1 value=1
			B invoke write op=2 token=1 value=1
			store apply op=2 token=1
			B ok write op=2 token=1
		`, `
			A invoke write op=1 token=1 value=1
			store apply op=1 token=1
			B invoke write op=2 token=1 value=1
			store apply op=2 token=1
			B ok write op=2 token=1
		`},
		{"refused and not served", aided, "linearizable", `
			A invoke read op=1 token=1
			store served op=1 token=1
		`, `
			A invoke read op=1 token=1
			store reject op=1 token=1
		`},
		{"refused without cause", aided, "linearizable", `
			A invoke write op=1 token=1
			store reject op=1 token=1
			B invoke raise op=2 token=2
			store raised op=2 token=2
			B ok raise op=2 token=2
		`, `
			A invoke write op=1 token=1
			B invoke raise op=2 token=2
			store raised op=2 token=2
			B ok raise op=2 token=2
			store reject op=1 token=1 highest=2
		`},
		{"refused without cause at the same maximum", aided, "linearizable", `
			A invoke raise op=1 token=2 lease=a
			store raised op=1 token=2 lease=a
			A ok raise op=1 token=2 lease=a
			B invoke write op=2 token=2 lease=b
			store reject op=2 token=2 lease=b highest=2
			C invoke raise op=3 token=3 lease=c
			store raised op=3 token=3 lease=c
			C ok raise op=3 token=3 lease=c
		`, `
			A invoke raise op=1 token=2 lease=b
			store raised op=1 token=2 lease=b
			A ok raise op=1 token=2 lease=b
			B invoke write op=2 token=2 lease=b
			store reject op=2 token=2 lease=b highest=2
			C invoke raise op=3 token=3 lease=c
			store raised op=3 token=3 lease=c
			C ok raise op=3 token=3 lease=c
		`},
		{"refused at another maximum", aided, "linearizable", `
			B invoke raise op=2 token=2
			store raised op=2 token=2
			B ok raise op=2 token=2
			A invoke write op=1 token=1
			store reject op=1 token=1 highest=2
			B invoke raise op=3 token=3
			store raised op=3 token=3
			B ok raise op=3 token=3
		`, `
			B invoke raise op=2 token=2
			store raised op=2 token=2
			B ok raise op=2 token=2
			B invoke raise op=3 token=3
			store raised op=3 token=3
			B ok raise op=3 token=3
			A invoke write op=1 token=1
			store reject op=1 token=1 highest=3
		`},
		{"a read that saw another value", aided, "linearizable", `
			A invoke write op=1 token=1 value=1
			store apply op=1 token=1
			A ok write op=1 token=1
			B invoke read op=2 token=1
			store served op=2 token=1
			A invoke write op=3 token=1 value=2
			store apply op=3 token=1
			A ok write op=3 token=1
		`, `
			A invoke write op=1 token=1 value=2
			store apply op=1 token=1
			A ok write op=1 token=1
			B invoke read op=2 token=1
			store served op=2 token=1
		`},
		{"nobody waits any longer", aided, "linearizable", `
			A invoke write op=1 token=1 value=1
		`, `
			A invoke write op=1 token=1 value=1
			A info write op=1 token=1
		`},
		{"a renewal in flight was under way when the lease ended", alone, "lease-identity", `
			A invoke renew op=1 lease=a
			B invoke release op=2 lease=a
			B ok release op=2 lease=a
		`, `
			B invoke release op=2 lease=a
			B ok release op=2 lease=a
			A invoke renew op=1 lease=a
		`},
		{"another lease has ended", aided, "lease-identity",
			"L expire lease=a", "L expire lease=b"},
		{"leases ended in another order", aided, "",
			"L expire lease=a\nL expire lease=b", "L expire lease=b\nL expire lease=a"},
		{"a request that was answered presented another lease", aided, "lease-identity",
			"A invoke renew op=1 lease=a\nA ok renew op=1 lease=a", "A invoke renew op=1 lease=b\nA ok renew op=1 lease=b"},
		{"a request took effect", aided, "lease-identity",
			"A invoke acquire op=1 lease=a\nL grant op=1 lease=a", "A invoke acquire op=1 lease=a"},
		{"a request failed", aided, "lease-identity",
			"A invoke acquire op=1 lease=a\nA fail acquire op=1", "A invoke acquire op=1 lease=a"},
		{"an older lease had another token", aided, "renewal-keeps-token", `
			L grant token=1 lease=a owner=A
			L expire token=1 lease=a owner=A
			L grant token=3 lease=b owner=B
		`, `
			L grant token=2 lease=a owner=A
			L expire token=2 lease=a owner=A
			L grant token=3 lease=b owner=B
		`},
		{"a released lease is not in force", aided, "exclusive-grant", `
			L grant token=1 lease=a owner=A
		`, `
			L grant token=1 lease=a owner=A
			L released token=1 lease=a owner=A
		`},
		{"an acquisition that began before the hold", alone, "exclusive-grant", `
			A invoke acquire op=1
			A ok acquire op=1 token=1 lease=a
			B invoke acquire op=2
		`, `
			B invoke acquire op=2
			A invoke acquire op=1
			A ok acquire op=1 token=1 lease=a
		`},
		{"what came in between does not matter", alone, "", `
			A invoke acquire op=1
			A ok acquire op=1 token=1 lease=a
			B invoke acquire op=2
		`, `
			C pause
			A invoke acquire op=1
			C pause
			A ok acquire op=1 token=1 lease=a
			C pause
			B invoke acquire op=2
		`},
	}
	for _, tt := range tests {
		properties := append(allNames()[:8], "exclusive-belief") // those that these pairs were made for
		if tt.differ != "" {
			properties = []string{tt.differ}
		}
		a, b := keyOf(t, tt.view, properties, tt.a), keyOf(t, tt.view, properties, tt.b)
		if same := tt.differ == ""; bytes.Equal(a, b) != same {
			t.Errorf("%s: same key %v, want %v:\n%q\n%q", tt.reason, !same, same, a, b)
		}
	}
}

// storeWalk feeds a suite with a store that is nearly always right, so that the
// witness holds for a while.
type storeWalk struct {
	walk
	open  [6]uint8 // by operation: 0 not begun, 1 begun, 2 served, 3 unknown
	fence history.Token
	value history.Value
	right [6]history.Event // the reply that the store gave
}

// contents gives each operation its number and content for good.
var contents = [6]history.Event{
	1: {Process: "A", F: history.Write, Token: 1, Lease: "a", Value: history.IntValue(1)},
	2: {Process: "B", F: history.Write, Token: 2, Lease: "b", Value: history.IntValue(2)},
	3: {Process: "B", F: history.Read, Token: 2, Lease: "b"},
	4: {Process: "C", F: history.Raise, Token: 2, Lease: "b"},
	5: {Process: "D", F: history.CAS, Token: 1, Lease: "a", Expect: history.IntValue(1), Value: history.IntValue(3)},
}

// next draws what happens to one operation.
func (w *storeWalk) next(t *rapid.T) history.Event {
	op := rapid.IntRange(1, 5).Draw(t, "op")
	e := contents[op]
	e.Op, e.Resource = int64(op), "x"
	slip := rapid.IntRange(0, 9).Draw(t, "slip") == 0
	switch {
	case w.open[op] == 0:
		w.open[op] = 1
		e.Type = history.Invoke
	case w.open[op] == 1 && rapid.IntRange(0, 4).Draw(t, "lost") == 0:
		w.open[op] = 3
		e.Type = history.Info
	case w.open[op] != 2:
		w.serve(&e, slip)
	default:
		w.open[op] = 0
		e = w.right[op]
		if slip {
			e.Value, e.Highest = history.IntValue(1), 1
		}
	}
	return e
}

func (w *storeWalk) serve(e *history.Event, slip bool) {
	reply := *e
	reply.Type = history.OK
	verb := e.F
	e.Type, e.Process = history.Note, "store"
	switch stale := e.Token < w.fence; {
	case stale != slip:
		e.F, e.Highest = history.Reject, w.fence
		reply.Type, reply.Error, reply.Highest = history.Fail, history.Stale, w.fence
	case verb == history.Read:
		e.F = history.Served
		reply.Value = w.value
	case verb == history.Raise:
		e.F = history.Raised
	default:
		e.F = history.Apply
		w.value = e.Value
	}
	if e.F == history.Raised || e.F == history.Apply {
		w.fence = max(w.fence, e.Token)
	}
	w.right[e.Op] = reply
	if w.open[e.Op] == 3 {
		w.open[e.Op] = 0
		return
	}
	w.open[e.Op] = 2
}

func TestEqualKeysBehaveEquallyInAStore(t *testing.T) {
	met, lively := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		byKey := make(map[string]*storeWalk)
		for range 30 {
			s, err := Config{Header: timed, View: View{true, true}, Forget: true}.New(allNames())
			if err != nil {
				t.Fatal(err)
			}
			w := &storeWalk{walk: walk{suite: s}}
			for range rapid.IntRange(0, 14).Draw(t, "length") {
				w.feed(w.next(t))
			}
			key := string(s.AppendKey(nil))
			other, ok := byKey[key]
			if !ok {
				byKey[key] = w
				continue
			}
			if met++; !s.Suspicious() {
				lively++
			}
			x, y := &walk{suite: other.suite.Clone(), index: 7}, &walk{suite: s.Clone(), index: 11}
			for range rapid.IntRange(1, 10).Draw(t, "suffix") {
				e := w.next(t)
				x.feed(e)
				y.feed(e)
				if a, b := x.suite.AppendKey(nil), y.suite.AppendKey(nil); x.outcomes() != y.outcomes() || !bytes.Equal(a, b) {
					t.Fatalf("after %+v: %s %q and %s %q from equal keys", e, x.outcomes(), a, y.outcomes(), b)
				}
			}
			if !bytes.Equal([]byte(key), s.AppendKey(nil)) {
				t.Fatal("feeding a clone changed its original")
			}
		}
	})
	if t.Logf("%d pairs met, %d of them while the witness held", met, lively); lively < 50 {
		t.Errorf("%d pairs of walks met while the witness held, want 50 for the test to mean anything", lively)
	}
}
