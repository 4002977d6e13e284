package checker

import (
	"fmt"
	"strings"
	"testing"
)

// ask judges a history and returns what its judgement says, with the outcome first.
func ask(t *testing.T, property, events string) string {
	t.Helper()
	r := judge(t, property, parse(t, timed, events))
	if r.Violation == nil {
		return r.Outcome.String()
	}
	return r.Outcome.String() + ": " + strings.TrimPrefix(r.Violation.Message, "broke "+property+": ")
}

// lower sets a bound for a test.
func lower(t *testing.T, bound *int, to int) {
	before := *bound
	*bound = to
	t.Cleanup(func() { *bound = before })
}

// TestEndedLeasesAreBounded: as many ended leases as the bound are remembered. After
// that, only a note that may concern a forgotten lease is not judged.
func TestEndedLeasesAreBounded(t *testing.T) {
	lower(t, &manyLeases, 3)
	expire := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("L expire token=%d lease=l%d owner=A\n", i+1, i)
		}
		return text
	}
	const doubt = "inconclusive: undecided: a lease was renewed at #5, and of the leases that ended only the first 3 are remembered (orders/7)"
	for _, tt := range []struct{ reason, events, want string }{
		{"the first of as many as are remembered", expire(3) + "L renewed lease=l0", "violated: a lease was renewed at #4 that had ended at #1 (orders/7)"},
		{"the last of as many as are remembered", expire(3) + "L renewed lease=l2", "violated: a lease was renewed at #4 that had ended at #3 (orders/7)"},
		{"one that has not ended", expire(3) + "L renewed lease=x", "satisfied"},
		{"one more than are remembered", expire(4), "satisfied"},
		{"the one that was not remembered", expire(4) + "L renewed lease=l3", doubt},
		{"one that may have been forgotten", expire(4) + "L renewed lease=x", doubt},
		{"one that is remembered all the same", expire(4) + "L renewed lease=l1", "violated: a lease was renewed at #5 that had ended at #2 (orders/7)"},
		{"a lease that was granted anew takes no place", expire(3) + "L grant lease=l0\nL expire lease=y\nL renewed lease=l0", "satisfied"},
	} {
		if got := ask(t, "lease-identity", tt.events); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}

// TestRequestsAreBounded: requests are remembered up to a bound too.
func TestRequestsAreBounded(t *testing.T) {
	lower(t, &manyAsked, 2)
	const two = "A invoke renew op=1 lease=a\nA ok renew op=1 lease=a\nA invoke renew op=2 lease=a\nA ok renew op=2 lease=a\n"
	const three = two + "A invoke renew op=3 lease=a\n"
	for _, tt := range []struct{ reason, events, want string }{
		{"the first", two + "L renewed op=1 lease=b", "violated: the request at #1 took effect at #5 on another lease than it presented (orders/7)"},
		{"the last", two + "L renewed op=2 lease=b", "violated: the request at #3 took effect at #5 on another lease than it presented (orders/7)"},
		{"one that was not remembered", three + "L renewed op=3 lease=b",
			"inconclusive: undecided: a lease was renewed at #6, and of the requests only the first 2 are remembered (orders/7)"},
		{"nothing is told of the one that was not", three + "L renewed op=1 lease=a", "satisfied"},
		{"a note that names no request", three + "L renewed lease=b", "satisfied"},
		{"clients: those that are open count", "A invoke renew op=1 lease=a\nA ok renew op=1 lease=a\nA invoke renew op=2 lease=a\n" +
			"A ok renew op=2 lease=a\nA invoke release op=3 lease=a\nA ok release op=3 lease=a\nA invoke renew op=4 lease=a\nA ok renew op=4 lease=a",
			"violated: a lease was renewed at #8 that had ended at #6 (orders/7)"},
		{"clients: more are open than are remembered", "A invoke renew op=1 lease=b\nB invoke renew op=2 lease=b\n" +
			"C invoke renew op=3 lease=a\nD ok release op=4 lease=a\nC ok renew op=3 lease=a",
			"inconclusive: undecided: a lease was renewed at #5, and of the requests only the first 2 are remembered (orders/7)"},
	} {
		if got := ask(t, "lease-identity", tt.events); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}

// TestTokensOfLeasesAreBounded: the tokens of as many leases as the bound are
// remembered, besides each scope's latest.
func TestTokensOfLeasesAreBounded(t *testing.T) {
	lower(t, &manyLeases, 2)
	grant := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("L grant token=%d lease=l%d owner=A\nL expire token=%d lease=l%d owner=A\n", i+1, i, i+1, i)
		}
		return text
	}
	for _, tt := range []struct{ reason, events, want string }{
		{"the first of as many as are remembered", grant(3) + "L renewed token=9 lease=l0", "violated: renewal at #7 changed token 1, granted at #1, to 9 (orders/7)"},
		{"the last of them", grant(3) + "L renewed token=9 lease=l1", "violated: renewal at #7 changed token 2, granted at #3, to 9 (orders/7)"},
		{"nothing was forgotten of a lease that was never granted", grant(3) + "L renewed token=9 lease=x", "satisfied"},
		{"one that was not remembered", grant(4) + "L renewed token=9 lease=l2",
			"inconclusive: undecided: a lease was renewed at #9, and only the first 2 are remembered (orders/7)"},
		{"one that is remembered all the same", grant(4) + "L renewed token=9 lease=l1", "violated: renewal at #9 changed token 2, granted at #3, to 9 (orders/7)"},
		{"the latest", grant(4) + "L renewed token=9 lease=l3", "violated: renewal at #9 changed token 4, granted at #7, to 9 (orders/7)"},
		{"more than are remembered, and nobody asks", grant(4), "satisfied"},
	} {
		if got := ask(t, "renewal-keeps-token", tt.events); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}
