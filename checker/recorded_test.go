package checker

import (
	"strings"
	"testing"

	"staleproof/model/history"
)

// TestRecordedHistories judges small histories that were once judged wrongly because of
// what a recorder leaves out, or of what a client does not know.
func TestRecordedHistories(t *testing.T) {
	for _, tt := range []struct {
		reason string
		header history.Header
		events string
		want   string // "satisfied", or what the first violation says
	}{
		{"grants without tokens are exclusive too", history.Header{}, `
			A invoke acquire op=1
			L grant op=1 owner=A lease=l1 expires=100
			A ok acquire op=1 lease=l1
			B invoke acquire op=2
			L grant op=2 owner=B lease=l2 expires=100`,
			"broke exclusive-grant: a lease of B granted at #5 while a lease of A, granted at #2, was in force (orders/7)"},
		{"grants without tokens, one after the other", history.Header{}, `
			A invoke acquire op=1
			L grant op=1 owner=A expires=100
			A ok acquire op=1
			A invoke release op=2
			L released op=2 owner=A
			A ok release op=2
			B invoke acquire op=3
			L grant op=3 owner=B expires=200`, "satisfied"},
		{"grants without tokens, a release of another's", history.Header{}, `
			A invoke acquire op=1
			L grant op=1 owner=A expires=100
			L released owner=C
			B invoke acquire op=3
			L grant op=3 owner=B expires=200`,
			"broke exclusive-grant: a lease of B granted at #5 while a lease of A, granted at #2, was in force (orders/7)"},
		{"notes of one lease that name no owner and no lease", history.Header{}, `
			A invoke acquire op=1
			L grant op=1 token=1
			A ok acquire op=1 token=1
			A invoke renew op=2 token=1
			L renewed op=2 token=1
			A ok renew op=2 token=1
			A invoke acquire op=3
			L grant op=3 owner=A token=1
			A ok acquire op=3 token=1`, "satisfied"},
		{"a grant without an owner is of the client that asked", history.Header{}, `
			A invoke acquire op=1
			L grant op=1 token=1
			A ok acquire op=1 token=1
			B invoke acquire op=2
			L grant op=2 token=1`, "broke token-order: token 1 granted at #5 was granted before at #2 (orders/7)"},
		{"a released note that names no token", history.Header{}, `
			A invoke acquire op=1
			L grant op=1 owner=A token=1
			A ok acquire op=1 token=1
			A invoke release op=2 token=1
			L released op=2 owner=A
			A ok release op=2
			B invoke acquire op=3
			L grant op=3 owner=B token=2
			B ok acquire op=3 token=2`, "satisfied"},
		{"the term that the header declares is over", history.Header{Timing: "timed", TTL: 10e9}, `
			L grant owner=A token=1 lease=a t=1
			L grant owner=B token=2 lease=b t=11`, "satisfied"},
		{"the term that the header declares is not over", history.Header{Timing: "timed", TTL: 10e9}, `
			L grant owner=A token=1 lease=a t=1
			L renewed owner=A token=1 lease=a t=8
			L grant owner=B token=2 lease=b t=17`,
			"broke exclusive-grant: token 2 granted at #3 while token 1, granted at #1, was in force (orders/7)"},
		{"clocks drift apart: it may be over", history.Header{Timing: "timed", TTL: 10e9, Rho: 100_000, Epsilon: 1e9}, `
			L grant owner=A token=1 lease=a t=1
			L grant owner=B token=2 lease=b t=9`, "satisfied"},
		{"an acquisition of unknown outcome may be what is renewed", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=1
			A1 invoke acquire op=2 client=A
			A1 info acquire op=2 client=A
			B invoke acquire op=3
			B ok acquire op=3 token=2
			A invoke renew op=4
			A ok renew op=4`, "satisfied"},
		{"an acquisition that is open may be what is renewed", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=1
			A1 invoke acquire op=2 client=A
			B invoke acquire op=3
			B ok acquire op=3 token=2
			A invoke renew op=4
			A ok renew op=4`, "satisfied"},
		{"but not where the token tells", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=1
			A1 invoke acquire op=2 client=A
			A1 info acquire op=2 client=A
			B invoke acquire op=3
			B ok acquire op=3 token=2
			A invoke release op=4 token=1
			A ok release op=4`,
			"broke exclusive-grant: token 2 acquired at #6 inside the hold of token 1, acquired at #2 and proven by the release that began at #7 (orders/7)"},
		{"a renewal by another token is of another lease", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=1
			A invoke release op=2 token=1
			A ok release op=2 token=1
			A1 invoke acquire op=3 client=A
			A1 info acquire op=3 client=A
			A invoke renew op=4 token=2
			A ok renew op=4 token=2`, "satisfied"},
		{"a renewal by another token that changes it", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=1
			A invoke renew op=4 token=2
			A ok renew op=4 token=3`,
			"broke renewal-keeps-token: renewal at #4 answered token 3 for token 2, presented at #3 (orders/7)"},
		{"a renewal that presents nothing, after an acquisition of unknown outcome", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=1
			A1 invoke acquire op=3 client=A
			A1 info acquire op=3 client=A
			A invoke renew op=4
			A ok renew op=4 token=2`, "satisfied"},
		{"a renewal that presents nothing, after one that failed", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=1
			A1 invoke acquire op=3 client=A
			A1 fail acquire op=3 client=A
			A invoke renew op=4
			A ok renew op=4 token=2`,
			"broke renewal-keeps-token: renewal at #6 answered token 2 for token 1, acquired at #2 (orders/7)"},
		{"what was released and acquired again has a new token", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=5
			A invoke release op=2 token=5
			A ok release op=2 token=5
			A invoke acquire op=3
			A ok acquire op=3 token=5`, "broke token-order: token 5 granted at #6 was granted before at #2 (orders/7)"},
		{"a release in flight may come after the re-entry", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=5
			A1 invoke release op=2 token=5 client=A
			A invoke acquire op=3
			A1 ok release op=2 token=5 client=A
			A ok acquire op=3 token=5`, "satisfied"},
		{"the release of an older lease ends no other", history.Header{}, `
			A invoke acquire op=1
			A ok acquire op=1 token=4
			A invoke acquire op=2
			A ok acquire op=2 token=5
			A invoke release op=3 token=4
			A ok release op=3 token=4
			A invoke acquire op=4
			A ok acquire op=4 token=5`, "satisfied"},
		{"a cas under a token that found its value, and says it did not", history.Header{}, `
			A invoke write op=1 token=2 value=2
			A ok write op=1 token=2 value=2
			A invoke cas op=2 token=2 expect=2 value=4
			A fail cas op=2 token=2 expect=2 value=4 error=mismatch`,
			"broke linearizable: no order of the operations explains cas 2 to 4 with token 2 -> another value by A, #3 to #4 (orders/7)"},
		{"a cas under a token that found another value may lift the fence", history.Header{}, `
			A invoke write op=1 token=1 value=1
			A ok write op=1 token=1 value=1
			B invoke cas op=2 token=2 expect=7 value=8
			B fail cas op=2 token=2 expect=7 value=8 error=mismatch
			A invoke write op=3 token=1 value=2
			A fail write op=3 token=1 error=stale`, "satisfied"},
		{"or may leave it", history.Header{}, `
			A invoke write op=1 token=1 value=1
			A ok write op=1 token=1 value=1
			B invoke cas op=2 token=2 expect=7 value=8
			B fail cas op=2 token=2 expect=7 value=8 error=mismatch
			A invoke write op=3 token=1 value=2
			A ok write op=3 token=1 value=2`, "satisfied"},
		{"but not both", history.Header{}, `
			A invoke write op=1 token=1 value=1
			A ok write op=1 token=1 value=1
			B invoke cas op=2 token=2 expect=7 value=8
			B fail cas op=2 token=2 expect=7 value=8 error=mismatch
			A1 invoke write op=3 token=1 value=2 client=A
			A2 invoke write op=4 token=1 value=3 client=A
			A1 fail write op=3 token=1 error=stale client=A
			A2 ok write op=4 token=1 value=3 client=A`,
			"broke linearizable: no order of the operations explains write 3 with token 1 -> ok by A, #6 to #8 (orders/7)"},
		{"the notes tell that a cas found its value, and it says that it did not", history.Header{}, `
			A invoke write op=1 token=2 value=2
			store apply op=1 token=2 value=2
			A ok write op=1 token=2 value=2
			A invoke cas op=2 token=2 expect=2 value=4
			A fail cas op=2 token=2 expect=2 value=4 error=mismatch`,
			"broke linearizable: no order of the operations explains cas 2 to 4 with token 2 -> another value by A, #4 to #5 (orders/7)"},
		{"the notes tell that the value was another one while a cas was under way", history.Header{}, `
			A invoke write op=1 token=2 value=1
			store apply op=1 token=2 value=1
			A ok write op=1 token=2 value=1
			A invoke cas op=2 token=2 expect=2 value=4
			A1 invoke write op=3 token=2 value=2 client=A
			store apply op=3 token=2 value=2
			A fail cas op=2 token=2 expect=2 value=4 error=mismatch`, "satisfied"},
		{"a cas that lost to a stale token may have compared first", history.Header{}, `
			A invoke write op=1 token=2 value=1
			A ok write op=1 token=2 value=1
			B invoke cas op=2 token=1 expect=7 value=8
			B fail cas op=2 token=1 expect=7 value=8 error=mismatch`, "satisfied"},
	} {
		r, err := Check(parse(t, tt.header, tt.events), Options{Model: "fenced"})
		if err != nil {
			t.Fatalf("%s: %v", tt.reason, err)
		}
		got := r.Outcome.String()
		if len(r.Violations) > 0 {
			got = r.Violations[0].Message
		}
		if !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}
