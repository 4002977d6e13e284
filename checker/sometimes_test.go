package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

func TestSometimes(t *testing.T) {
	tests := []struct {
		reason string
		header history.Header
		events string
		want   map[Fact]int64
	}{
		{"a stale write is refused", timed, `
			A invoke write op=1 token=1
			B invoke write op=2 token=2
			store apply op=2 token=2
			store reject op=1 token=1 highest=2
		`, map[Fact]int64{StaleWriteAttempted: 1, StaleWriteRejected: 1}},
		{"a stale write is applied: attempted, not rejected", timed, `
			A invoke write op=1 token=1
			store raised op=2 token=2
			store apply op=1 token=1
		`, map[Fact]int64{StaleWriteAttempted: 1}},
		{"a stale read is no mutation", timed, `
			A invoke read op=1 token=1
			store raised op=2 token=2
			store reject op=1 token=1 highest=2
		`, nil},
		{"an equal token of another lease is not below the maximum", timed, `
			A invoke write op=1 token=2 lease=a
			store raised op=2 token=2 lease=b
			store reject op=1 token=2 lease=a highest=2
		`, nil},
		{"clients see a stale answer", timed, `
			A invoke write op=1 token=1
			A fail write op=1 token=1 stale=2
		`, map[Fact]int64{StaleWriteAttempted: 1, StaleWriteRejected: 1}},
		{"clients see a stale write succeed", timed, `
			A invoke write op=1 token=2
			A ok write op=1 token=2
			B invoke write op=2 token=1
			B ok write op=2 token=1
		`, map[Fact]int64{StaleWriteAttempted: 1}},
		{"and a delete without a token, after a raise", timed, `
			A invoke raise op=1 token=2
			A ok raise op=1 token=2
			B invoke delete op=2
			B ok delete op=2
		`, map[Fact]int64{StaleWriteAttempted: 1}},
		{"a stale answer tells what was accepted", timed, `
			A invoke write op=1 token=1
			A fail write op=1 token=1 stale=3
			B invoke write op=2 token=2
			B ok write op=2 token=2
		`, map[Fact]int64{StaleWriteAttempted: 2, StaleWriteRejected: 1}},
		{"what began before the greater token was accepted may have come before it", timed, `
			B invoke write op=2 token=1
			A invoke write op=1 token=2
			A ok write op=1 token=2
			B ok write op=2 token=1
		`, nil},
		{"what nobody answered may never have arrived", timed, `
			A invoke write op=1 token=2
			A ok write op=1 token=2
			B invoke write op=2 token=1
			B info write op=2 token=1
		`, nil},
		{"two resources have two fences", timed, `
			A invoke write op=1 token=2
			A ok write op=1 token=2
			B invoke write op=2 token=1 r=orders/8
			B ok write op=2 token=1 r=orders/8
		`, nil},
		{"what was refused before its client gave up is over: a copy of it is another matter", timed, `
			A invoke write op=1 token=1
			store reject op=1 token=1
			A info write op=1 token=1
			store apply op=1 token=1
		`, map[Fact]int64{UnknownLost: 1}},
		{"two believe at once", timed, `
			A believe token=1 until=10 t=1
			B believe token=2 until=20 t=9
		`, map[Fact]int64{TwoBelievers: 1}},
		{"one after the other", timed, `
			A believe token=1 until=10 t=1
			B believe token=2 until=20 t=10
		`, nil},
		{"one gave up", timed, `
			A believe token=1 until=10 t=1
			A disbelieve token=1 t=2
			B believe token=2 until=20 t=9
		`, nil},
		{"a renewed belief lasts longer", timed, `
			A believe token=1 until=10 t=1
			A believe token=1 until=15 t=5
			B believe token=2 until=20 t=12
		`, map[Fact]int64{TwoBelievers: 1}},
		{"in untimed runs a belief lasts until it is given up", untimed, `
			A believe token=1 until=2 t=1
			B believe token=2 until=20 t=9
		`, map[Fact]int64{TwoBelievers: 1}},
		{"two scopes", timed, `
			A believe token=1 until=10 t=1
			B believe token=2 until=20 t=9 r=orders/8
		`, nil},
		{"unknown, applied before its client gave up", timed, `
			A invoke write op=1 token=1
			store apply op=1 token=1
			A info write op=1 token=1
		`, map[Fact]int64{UnknownApplied: 1}},
		{"unknown, applied after its client gave up", timed, `
			A invoke write op=1 token=1
			A info write op=1 token=1
			store apply op=1 token=1
		`, map[Fact]int64{UnknownApplied: 1}},
		{"unknown, and lost", timed, `
			A invoke write op=1 token=1
			A info write op=1 token=1
			store served op=9
		`, map[Fact]int64{UnknownLost: 1}},
		{"unknown, and refused", timed, `
			A invoke write op=1 token=1
			store raised op=2 token=2
			store reject op=1 token=1 highest=2
			A info write op=1 token=1
		`, map[Fact]int64{UnknownLost: 1, StaleWriteAttempted: 1, StaleWriteRejected: 1}},
		{"tokens go on after a restart", timed, `
			L grant token=1 owner=A
			L restart
			L grant token=2 owner=B
			L grant token=3 owner=A
		`, map[Fact]int64{TokenCrossedRestart: 1}},
		{"a restart before any token crosses nothing", timed, `
			L restart
			L grant token=1 owner=A
		`, nil},
		{"another process's restart crosses nothing", timed, `
			L grant token=1 owner=A
			A restart
			L grant token=2 owner=B
		`, nil},
		{"the fence goes on after a restart", timed, `
			store apply op=1 token=1
			store crash
			store restart
			store reject op=2 token=1 highest=1
			store apply op=3 token=1
		`, map[Fact]int64{FenceCrossedRestart: 1}},
		{"a superseded holder's write, before the newer token arrived", timed, `
			L grant token=1 owner=A
			L grant token=2 owner=B
			A invoke write op=1 token=1
			store apply op=1 token=1
			store apply op=2 token=2
		`, map[Fact]int64{LateButUnfenced: 1}},
		{"copies, renewals, releases", timed, `
			A deliver to=store message=4
			A deliver to=store message=4 copy=1
			L renewed token=1 owner=A
			L released token=1 owner=A
		`, map[Fact]int64{DuplicateArrived: 1, LeaseRenewed: 1, LeaseReleased: 1}},
		{"clients see renewals and releases", timed, `
			A ok renew op=1 token=1
			A ok release op=2 token=1
		`, map[Fact]int64{LeaseRenewed: 1, LeaseReleased: 1}},
	}
	for _, tt := range tests {
		h := parse(t, tt.header, tt.events)
		s, err := Config{Header: tt.header, View: sight(h)}.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Events {
			s.Observe(&h.Events[i])
		}
		var want Counts
		for f, n := range tt.want {
			want[f] = n
		}
		if diff := cmp.Diff(want, s.Clone().Sometimes()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestSometimesForgets: what was under way before a reset counts no more.
func TestSometimesForgets(t *testing.T) {
	h := parse(t, timed, `
		A invoke write op=1 token=2
		A ok write op=1 token=2
		B invoke write op=2 token=1
	`)
	s, err := Config{Header: timed}.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Events {
		s.Observe(&h.Events[i])
	}
	s.Reset()
	ok := h.Events[1]
	ok.Op, ok.Token = 2, 1
	if s.Observe(&ok); s.Sometimes() != (Counts{}) {
		t.Errorf("expected no stale write, found %v", s.Sometimes())
	}
}

func TestFactNames(t *testing.T) {
	for f := range FactCount {
		if got, ok := LookupFact(f.String()); !ok || got != f {
			t.Errorf("%q is found as %v, %v", f, got, ok)
		}
	}
	if _, ok := LookupFact("unknown fact"); ok {
		t.Error("a name of no fact is found")
	}
}
