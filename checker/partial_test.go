package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

// TestPartial: how far an explanation gets of what porcupine judged.
func TestPartial(t *testing.T) {
	for _, c := range []struct {
		reason, model, events string
		want                  [][]int64
	}{
		{"a read of what was replaced", "cas-register", `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			1 invoke cas op=2 expect=1 value=2
			1 ok cas op=2
			0 invoke read op=3
			0 ok read op=3 value=1
			1 invoke write op=4 value=3
			1 ok write op=4 value=3
		`, [][]int64{{1, 2}}},
		{"one order of what is concurrent; a failed cas took no effect", "cas-register", `
			0 invoke write op=1 value=1
			1 invoke write op=2 value=2
			0 ok write op=1 value=1
			1 ok write op=2 value=2
			0 invoke cas op=3 expect=9 value=5
			0 fail cas op=3 error=mismatch
			1 invoke read op=4
			1 ok read op=4 value=5
		`, [][]int64{{1, 2, 3}}},
		{"of what may have happened, each with what it explains; the longest first", "cas-register", `
			0 invoke cas op=1 expect=nil value=1
			0 info cas op=1
			1 invoke cas op=2 expect=nil value=2
			1 info cas op=2
			2 invoke cas op=3 expect=nil value=3
			2 info cas op=3
			3 invoke cas op=4 expect=3 value=4
			3 info cas op=4
			4 invoke read op=5
			4 ok read op=5 value=7
		`, [][]int64{{3, 4}, {1}, {2}}},
		{"a fence that only clients saw", "fenced", `
			A invoke write op=1 token=1 value=1
			A ok write op=1 token=1 value=1
			B invoke write op=2 token=2 value=2
			B ok write op=2 token=2 value=2
			A invoke write op=3 token=1 value=3
			A ok write op=3 token=1 value=3
		`, [][]int64{{1, 2}}},
		{"of a register that was judged without a search", "register", `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			0 invoke write op=2 value=2
			0 ok write op=2 value=2
			1 invoke read op=3
			1 ok read op=3 value=1
			1 invoke write op=4 value=3
			1 ok write op=4 value=3
		`, [][]int64{{1, 2}}},
		{"holds of a lock are in no order", "mutex", `
			0 invoke acquire op=1
			0 ok acquire op=1
			1 invoke acquire op=2
			1 ok acquire op=2
		`, nil},
		{"what is satisfied has none", "cas-register", `
			0 invoke cas op=1 expect=nil value=1
			0 ok cas op=1
		`, nil},
	} {
		h := parse(t, history.Header{}, c.events)
		r, err := Check(h, Options{Model: c.model})
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		var got [][]int64
		for _, v := range r.Violations {
			got = append(got, v.Partial...)
			if (v.NoPartial == "") == (v.Partial == nil) {
				t.Errorf("%s: expected partial linearizations or why there are none, found %v and %q", c.reason, v.Partial, v.NoPartial)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestPartialIsBounded: too many calls have none, and the same history has the
// same orders, although porcupine keeps them in a map.
func TestPartialIsBounded(t *testing.T) {
	calls := func(n int) []call {
		var list []call
		for i := range n {
			list = append(list, call{op: int64(i + 1), f: history.Write, value: history.IntValue(int64(i % 3)), outcome: done, invoked: int64(i / 4 * 100), ended: int64(i/4*100 + 50 + i%4)})
		}
		last := list[n-1].ended
		return append(list, call{op: int64(n + 1), f: history.Read, answer: history.IntValue(7), outcome: done, invoked: last + 1, ended: last + 2})
	}
	s := search{property: "register", names: newNames(false), config: Config{Memory: DefaultMemory}}
	sp := registerSpec(history.NilValue)
	few := calls(12)
	if first := s.partials(sp, few, few[12].ended); len(first) == 0 || len(first) > partialOrders || len(first[0]) != 12 {
		t.Errorf("expected at most %d orders, the first of all 12 writes, found %v", partialOrders, first)
	}
	// Any one of several compare-and-sets of unknown outcome may have happened.
	var open []call
	for i := range 8 {
		open = append(open, call{op: int64(i + 1), f: history.CAS, expect: history.NilValue, value: history.IntValue(int64(i)), invoked: int64(i), ended: never})
	}
	open = append(open, call{op: 9, f: history.Read, answer: history.IntValue(99), outcome: done, invoked: 10, ended: 11})
	want := [][]int64{{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}}
	for range 20 {
		if diff := cmp.Diff(want, s.partials(sp, open, 11)); diff != "" {
			t.Fatalf("expected the orders in order (-want +got):\n%s", diff)
		}
	}
	if many := calls(partialCalls); s.partials(sp, many, never-1) != nil {
		t.Errorf("expected none of %d calls", len(many))
	}
}
