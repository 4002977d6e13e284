package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

var (
	timed   = history.Header{Timing: "timed", Scopes: "per-resource"}
	untimed = history.Header{Timing: "untimed", Scopes: "per-resource"}
	global  = history.Header{Timing: "timed", Scopes: "global"}

	simulated = history.Header{Scenario: "textbook", Timing: "timed", Scopes: "per-resource"}
)

// verdict is a small history and what its judgement says; an empty want is
// satisfied.
type verdict struct {
	property string
	reason   string
	header   history.Header
	events   string
	want     string
}

// allVerdicts are those of this file and of storeverdicts_test.go.
func allVerdicts() []verdict { return append(slices.Clip(verdicts), storeVerdicts...) }

// verdicts breaks every property with a small history, and passes it on the
// neighbouring good one.
var verdicts = []verdict{
	{"no-stale-write", "the textbook: a lower token is applied after a greater one", timed, `
		store apply op=1 token=41
		store apply op=2 token=42
		store apply op=3 token=41
	`, "token 41 applied at #3 after token 42 was accepted at #2 (orders/7)"},
	{"no-stale-write", "the same order with a rejection is what a fence is for", timed, `
		store apply op=1 token=41
		store apply op=2 token=42
		store reject op=3 token=41 highest=42
		store apply op=4 token=42
	`, ""},
	{"no-stale-write", "the first acceptance of the greatest token is quoted, not its last use", timed, `
		store apply op=1 token=42
		store apply op=2 token=42
		store apply op=3 token=41
	`, "token 41 applied at #3 after token 42 was accepted at #1 (orders/7)"},
	{"no-stale-write", "a raise accepts its token: what it announced must hold", timed, `
		store raised op=1 token=42
		store apply op=2 token=41
	`, "token 41 applied at #2 after token 42 was accepted at #1 (orders/7)"},
	{"no-stale-write", "raising lower is no mutation", timed, `
		store raised op=1 token=42
		store raised op=2 token=41
	`, ""},
	{"no-stale-write", "an unfenced sibling: no token is lower than any", timed, `
		store apply op=1 token=2
		store apply op=2
	`, "no token applied at #2 after token 2 was accepted at #1 (orders/7)"},
	{"no-stale-write", "scopes are fenced apart", timed, `
		store apply op=1 token=2
		store apply op=2 token=1 r=orders/8
	`, ""},
	{"no-stale-write", "one declared scope over two resources is one fence", timed, `
		store apply op=1 token=2 r=a scope=s
		store apply op=2 token=1 r=b scope=s
	`, "token 1 applied at #2 after token 2 was accepted at #1 (b)"},
	{"no-stale-write", "a global fence covers every resource", global, `
		store apply op=1 token=2
		store apply op=2 token=1 r=orders/8
	`, "token 1 applied at #2 after token 2 was accepted at #1 (orders/8)"},
	{"no-stale-write", "the store's restart does not lower the fence", timed, `
		store apply op=1 token=2
		store crash
		store restart
		store apply op=2 token=1
	`, "token 1 applied at #4 after token 2 was accepted at #1 (orders/7)"},

	{"token-order", "the counter goes back", timed, `
		L grant token=2 lease=a owner=A
		L grant token=1 lease=b owner=B
	`, "token 1 granted at #2 after token 2 at #1 (orders/7)"},
	{"token-order", "increasing with gaps is fine", timed, `
		L grant token=2 lease=a owner=A
		L grant token=7 lease=b owner=B
	`, ""},
	{"token-order", "a token is used twice", timed, `
		L grant token=2 lease=a owner=A
		L grant token=2 lease=b owner=B
	`, "token 2 granted at #2 was granted before at #1 (orders/7)"},
	{"token-order", "the same owner under another lease is another acquisition", timed, `
		L grant token=2 lease=a owner=A
		L grant token=2 lease=b owner=A
	`, "token 2 granted at #2 was granted before at #1 (orders/7)"},
	{"token-order", "a re-entry grants the same lease again", timed, `
		L grant token=2 lease=a owner=A
		L grant token=2 lease=a owner=A
		L grant token=3 lease=b owner=B
	`, ""},
	{"token-order", "after its release a lease is not entered again: its token is used twice", timed, `
		L grant token=2 owner=A
		L released token=2 owner=A
		L grant token=2 owner=A
	`, "token 2 granted at #3 was granted before at #1 (orders/7)"},
	{"token-order", "nor after its end, by whatever identity", timed, `
		L grant token=2 lease=a owner=A
		L expire token=2 lease=a owner=A
		L grant token=2 lease=a owner=A
	`, "token 2 granted at #3 was granted before at #1 (orders/7)"},
	{"token-order", "the end of another lease ends none", timed, `
		L grant token=2 lease=a owner=A
		L expire token=1 lease=b owner=B
		L grant token=2 lease=a owner=A
	`, ""},
	{"token-order", "tokens begin at 1", timed, `
		L grant lease=a owner=A
	`, "token 0 granted at #1, tokens begin at 1 (orders/7)"},
	{"token-order", "scopes count apart", timed, `
		L grant token=2 lease=a owner=A
		L grant token=1 lease=b owner=B r=orders/8
	`, ""},
	{"token-order", "a global counter does not", global, `
		L grant token=2 lease=a owner=A
		L grant token=1 lease=b owner=B r=orders/8
	`, "token 1 granted at #2 after token 2 at #1 (orders/8)"},
	{"token-order", "a re-entry under a global counter repeats an older token", global, `
		L grant token=1 lease=a owner=A
		L grant token=2 lease=b owner=B r=orders/8
		L grant token=1 lease=a owner=A
	`, ""},
	{"token-order", "clients: an acquisition that began after another ended has the greater token", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=2
		B invoke acquire op=2
		B ok acquire op=2 token=1
	`, "token 1 granted at #4 after token 2 at #2 (orders/7)"},
	{"token-order", "clients: overlapping acquisitions may end in any order", timed, `
		A invoke acquire op=1
		B invoke acquire op=2
		A ok acquire op=1 token=2
		B ok acquire op=2 token=1
	`, ""},
	{"token-order", "clients: overlapping acquisitions never share a token", timed, `
		A invoke acquire op=1
		B invoke acquire op=2
		A ok acquire op=1 token=2 lease=a
		B ok acquire op=2 token=2 lease=b
	`, "token 2 granted at #4 was granted before at #3 (orders/7)"},
	{"token-order", "clients: a token that is used again later", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=2 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
	`, "token 2 granted at #4 was granted before at #2 (orders/7)"},
	{"token-order", "clients: a client that enters again keeps its token", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=2 lease=a
		A invoke acquire op=2
		A ok acquire op=2 token=2 lease=a
	`, ""},

	{"renewal-keeps-token", "a renewal that raises the token fences its own holder", timed, `
		L grant token=1 lease=a owner=A
		L renewed token=2 lease=a owner=A
	`, "renewal at #2 changed token 1, granted at #1, to 2 (orders/7)"},
	{"renewal-keeps-token", "a renewal to no token at all", timed, `
		L grant token=1 lease=a owner=A
		L renewed lease=a owner=A
	`, "renewal at #2 changed token 1, granted at #1, to none (orders/7)"},
	{"renewal-keeps-token", "a lease that is not the latest is renewed under another token", timed, `
		L grant token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L grant token=3 lease=c owner=C
		L renewed token=3 lease=a owner=A
	`, "renewal at #6 changed token 1, granted at #1, to 3 (orders/7)"},
	{"renewal-keeps-token", "a lease that is not the latest keeps its token", timed, `
		L grant token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=B
		L renewed token=1 lease=a owner=A
	`, ""},
	{"renewal-keeps-token", "an identity that is granted anew has its new token", timed, `
		L grant token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=B
		L expire token=2 lease=b owner=B
		L grant token=3 lease=a owner=A
		L renewed token=3 lease=a owner=A
		L expire token=3 lease=a owner=A
		L grant token=4 lease=b owner=B
		L renewed token=3 lease=a owner=A
	`, ""},
	{"renewal-keeps-token", "after its end a lease of the same identity is a new one", timed, `
		L grant token=1 lease=a owner=A
		L released token=1 lease=a owner=A
		L grant token=2 lease=a owner=A
	`, ""},
	{"renewal-keeps-token", "grants that name no owner may be to two clients", timed, `
		L grant token=1 lease=a
		L grant token=2 lease=b
	`, ""},
	{"renewal-keeps-token", "a renewal that names neither lease nor owner is of the one whose token it names", timed, `
		L grant token=1
		L grant token=2
		L renewed token=1
	`, ""},
	{"renewal-keeps-token", "renewals keep it, a new grant changes it", timed, `
		L grant token=1 lease=a owner=A
		L renewed token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=B
		L renewed token=2 lease=b owner=B
	`, ""},
	{"renewal-keeps-token", "a re-entry that raises the token", timed, `
		L grant token=1 lease=a owner=A
		L grant token=2 lease=a owner=A
	`, "re-entry at #2 changed token 1, granted at #1, to 2 (orders/7)"},
	{"renewal-keeps-token", "another identity is another lease, which exclusive-grant judges while the first is in force", timed, `
		L grant token=1 lease=a owner=A expires=60
		L grant token=2 lease=b owner=A expires=70
	`, ""},
	{"renewal-keeps-token", "a re-entry by the holder, its lease in force", timed, `
		L grant token=1 owner=A expires=60
		L grant token=2 owner=A expires=70
	`, "re-entry by the holder at #2 changed token 1, granted at #1 and in force, to 2 (orders/7)"},
	{"renewal-keeps-token", "after its lease ended the same client is granted anew", timed, `
		L grant token=1 lease=a owner=A expires=60
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=A expires=70
	`, ""},
	{"renewal-keeps-token", "a new grant that keeps the token cannot be told from a re-entry by the store", timed, `
		L grant token=1 lease=a owner=A
		L released token=1 lease=a owner=A
		L grant token=1 lease=b owner=B
	`, "a new grant at #3 kept token 1 of the grant at #1 (orders/7)"},
	{"renewal-keeps-token", "clients: a renewal in flight while its client acquires is of the lease before", timed, `
		A ok acquire op=1 token=1
		A.1 invoke renew op=2 token=1 client=A
		A ok acquire op=3 token=2
		A.1 ok renew op=2 token=1 client=A
	`, ""},
	{"renewal-keeps-token", "clients: a renewal in flight that presents nothing may be of the lease before", timed, `
		A ok acquire op=1 token=1
		A.1 invoke renew op=2 client=A
		A invoke acquire op=3
		A ok acquire op=3 token=2
		A.1 ok renew op=2 token=1 client=A
	`, ""},
	{"renewal-keeps-token", "clients: the answer to a renewal has another token", timed, `
		A ok acquire op=1 token=1 lease=a
		A ok renew op=2 token=2 lease=a
	`, "renewal at #2 answered token 2 for token 1, acquired at #1 (orders/7)"},
	{"renewal-keeps-token", "clients: what is acquired next has its own token", timed, `
		A ok acquire op=1 token=1
		A ok renew op=2 token=1
		A ok release op=3 token=1
		A ok acquire op=4 token=2
		A ok renew op=5 token=2
	`, ""},
	{"renewal-keeps-token", "clients: another lease brings another token", timed, `
		A ok acquire op=1 token=1 lease=a
		A ok acquire op=2 token=1 lease=b
	`, "a new grant at #2 kept token 1, acquired at #1 (orders/7)"},
	{"renewal-keeps-token", "clients: the same lease keeps it", timed, `
		A ok acquire op=1 token=1 lease=a
		A ok acquire op=2 token=2 lease=a
	`, "re-entry at #2 changed token 1, acquired at #1, to 2 (orders/7)"},

	{"exclusive-grant", "two leases in force", timed, `
		L grant token=1 lease=a owner=A expires=60
		L grant token=2 lease=b owner=B expires=60
	`, "token 2 granted at #2 while token 1, granted at #1, was in force (orders/7)"},
	{"exclusive-grant", "released first", timed, `
		L grant token=1 lease=a owner=A expires=60
		L released token=1 lease=a owner=A
		L grant token=2 lease=b owner=B expires=60
	`, ""},
	{"exclusive-grant", "expired first, by the coordinator's own note", timed, `
		L grant token=1 lease=a owner=A expires=60
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=B expires=60
	`, ""},
	{"exclusive-grant", "expired first, by the term that it set itself", timed, `
		L grant token=1 lease=a owner=A expires=11 t=1
		L grant token=2 lease=b owner=B expires=21 t=11
	`, ""},
	{"exclusive-grant", "a moment before the term", timed, `
		L grant token=1 lease=a owner=A expires=11 t=1
		L grant token=2 lease=b owner=B expires=20 t=10
	`, "token 2 granted at #2 while token 1, granted at #1, was in force (orders/7)"},
	{"exclusive-grant", "a renewal moves the term", timed, `
		L grant token=1 lease=a owner=A expires=11 t=1
		L renewed token=1 lease=a owner=A expires=16 t=6
		L grant token=2 lease=b owner=B expires=22 t=12
	`, "token 2 granted at #3 while token 1, granted at #1, was in force (orders/7)"},
	{"exclusive-grant", "without a term only a note ends a lease", timed, `
		L grant token=1 lease=a owner=A t=1
		L grant token=2 lease=b owner=B t=1000
	`, "token 2 granted at #2 while token 1, granted at #1, was in force (orders/7)"},
	{"exclusive-grant", "in untimed runs a term means nothing", untimed, `
		L grant token=1 lease=a owner=A expires=11 t=1
		L grant token=2 lease=b owner=B expires=21 t=11
	`, "token 2 granted at #2 while token 1, granted at #1, was in force (orders/7)"},
	{"exclusive-grant", "the end of an older lease ends no newer one", timed, `
		L grant token=1 lease=a owner=A expires=60
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=B expires=60
		L released token=1 lease=a owner=A
		L grant token=3 lease=c owner=C expires=60
	`, "token 3 granted at #5 while token 2, granted at #3, was in force (orders/7)"},
	{"exclusive-grant", "a re-entry is no second lease", timed, `
		L grant token=1 lease=a owner=A expires=60
		L grant token=1 lease=a owner=A expires=70
	`, ""},
	{"exclusive-grant", "a second lease for the same owner is a second lease", timed, `
		L grant token=1 lease=a owner=A expires=60
		L grant token=2 lease=b owner=A expires=60
	`, "token 2 granted at #2 while token 1, granted at #1, was in force (orders/7)"},
	{"exclusive-grant", "a renewal that resurrects a lease beside another", timed, `
		L grant token=1 lease=a owner=A expires=60
		L expire token=1 lease=a owner=A
		L grant token=2 lease=b owner=B expires=60
		L renewed token=1 lease=a owner=A expires=70
	`, "token 1 renewed at #4 while token 2, granted at #3, was in force (orders/7)"},
	{"exclusive-grant", "a renewal that resurrects a lease is followed by a grant", timed, `
		L grant token=1 lease=a owner=A expires=60
		L expire token=1 lease=a owner=A
		L renewed token=1 lease=a owner=A expires=70
		L grant token=2 lease=b owner=B expires=70
	`, "token 2 granted at #4 while token 1, granted at #1, was in force (orders/7)"},
	{"exclusive-grant", "leases of two resources under one global counter stand side by side", global, `
		L grant token=1 lease=a owner=A expires=60
		L grant token=2 lease=b owner=B expires=60 r=orders/8
	`, ""},
	{"exclusive-grant", "clients: a grant inside another's proven hold", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A invoke renew op=3 token=1 lease=a
		A ok renew op=3 token=1 lease=a
	`, "token 2 acquired at #4 inside the hold of token 1, acquired at #2 and proven by the renew that began at #5 (orders/7)"},
	{"exclusive-grant", "clients: a release proves the hold as a renewal does", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A invoke release op=3 token=1 lease=a
		A ok release op=3 token=1 lease=a
	`, "token 2 acquired at #4 inside the hold of token 1, acquired at #2 and proven by the release that began at #5 (orders/7)"},
	{"exclusive-grant", "clients: the renewal of a lease is answered after its client acquired another one", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A.1 invoke acquire op=3 client=A
		A.2 invoke renew op=4 token=1 lease=a client=A
		A.1 ok acquire op=3 token=3 lease=c client=A
		A.2 ok renew op=4 token=1 lease=a client=A
	`, "token 2 acquired at #4 inside the hold of token 1, acquired at #2 and proven by the renew that began at #6 (orders/7)"},
	{"exclusive-grant", "clients: a renewal that overlaps the grant may have come first", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		B invoke acquire op=2
		A invoke renew op=3 token=1 lease=a
		B ok acquire op=2 token=2 lease=b
		A ok renew op=3 token=1 lease=a
	`, ""},
	{"exclusive-grant", "clients: an acquisition that began before the hold may have been granted before it", timed, `
		B invoke acquire op=2
		A invoke acquire op=1
		A ok acquire op=1 token=2 lease=a
		B ok acquire op=2 token=1 lease=b
		A invoke renew op=3 token=2 lease=a
		A ok renew op=3 token=2 lease=a
	`, ""},
	{"exclusive-grant", "clients: a renewal that is refused proves nothing", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A invoke renew op=3 token=1 lease=a
		A fail renew op=3 token=1 lease=a error=not-holder
	`, ""},
	{"exclusive-grant", "clients: a re-entry goes on with the hold", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A invoke acquire op=3
		A ok acquire op=3 token=1 lease=a
		A invoke renew op=4 token=1 lease=a
		A ok renew op=4 token=1 lease=a
	`, "token 2 acquired at #4 inside the hold of token 1, acquired at #2 and proven by the renew that began at #7 (orders/7)"},
	{"exclusive-grant", "clients: once a renewal was refused, a later one proves no hold from before", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		A invoke renew op=3 token=1 lease=a
		A fail renew op=3 token=1 lease=a error=not-holder
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A invoke renew op=4 token=1 lease=a
		A ok renew op=4 token=1 lease=a
	`, ""},
	{"exclusive-grant", "clients: a renewal of unknown outcome neither proves nor ends a hold", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		A invoke renew op=3 token=1 lease=a
		A info renew op=3 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A2 invoke renew op=4 token=1 lease=a client=A
		A2 ok renew op=4 token=1 lease=a client=A
	`, "token 2 acquired at #6 inside the hold of token 1, acquired at #2 and proven by the renew that began at #7 (orders/7)"},
	{"exclusive-grant", "clients: a release of unknown outcome may have ended the hold", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		A invoke release op=3 token=1 lease=a
		A info release op=3 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A2 invoke release op=4 token=1 lease=a client=A
		A2 ok release op=4 token=1 lease=a client=A
	`, ""},

	{"no-false-fencing", "the latest grant's token is rejected: a poisoned maximum", timed, `
		L grant token=1 lease=a owner=A
		store reject op=1 token=1 lease=a highest=9
	`, "token 1 rejected at #2 (greatest 9) though it is the latest grant, of #1 (orders/7)"},
	{"no-false-fencing", "an older grant's token is rejected by right", timed, `
		L grant token=1 lease=a owner=A
		L grant token=2 lease=b owner=B
		store reject op=1 token=1 lease=a highest=2
	`, ""},
	{"no-false-fencing", "an equal token of another lease is not the latest grant's", timed, `
		L grant token=1 lease=a owner=A
		L grant token=1 lease=b owner=B
		store reject op=1 token=1 lease=a highest=1
	`, ""},
	{"no-false-fencing", "a rejection that names no lease does not contradict the grant", timed, `
		L grant op=1 token=42 lease=b owner=B
		store reject op=2 token=42 highest=99
	`, "token 42 rejected at #2 (greatest 99) though it is the latest grant, of #1 (orders/7)"},
	{"no-false-fencing", "a latest grant below the fence is refused for ever: the counter went back", timed, `
		L grant token=5 lease=a owner=A
		L grant token=2 lease=b owner=B
		store reject op=1 token=2 lease=b highest=5
	`, "token 2 rejected at #3 (greatest 5) though it is the latest grant, of #2 (orders/7)"},
	{"no-false-fencing", "another scope's grant does not matter", timed, `
		L grant token=1 lease=a owner=A
		L grant token=2 lease=b owner=B r=orders/8
		store reject op=1 token=1 lease=a highest=2
	`, "token 1 rejected at #3 (greatest 2) though it is the latest grant, of #1 (orders/7)"},
	{"no-false-fencing", "under a global fence it does, as declared", global, `
		L grant token=1 lease=a owner=A
		L grant token=2 lease=b owner=B r=orders/8
		store reject op=1 token=1 lease=a highest=2
	`, ""},
	{"no-false-fencing", "clients: the last acquisition is answered stale", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 stale=9
	`, "token 1 rejected at #4 (greatest 9) though it is the latest grant, of #2 (orders/7)"},
	{"no-false-fencing", "clients: an open acquisition may have been granted", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1
		B invoke acquire op=3
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 stale=2
	`, ""},
	{"no-false-fencing", "clients: an acquisition of unknown outcome may be granted at any time", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1
		B invoke acquire op=3
		B info acquire op=3
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 stale=2
	`, ""},
	{"no-false-fencing", "clients: a refused acquisition was not granted", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1
		B invoke acquire op=3
		B fail acquire op=3 error=held
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 stale=2
	`, "token 1 rejected at #6 (greatest 2) though it is the latest grant, of #2 (orders/7)"},
	{"no-false-fencing", "clients: of two that overlapped nobody knows the later", timed, `
		A invoke acquire op=1
		B invoke acquire op=3
		B ok acquire op=3 token=2
		A ok acquire op=1 token=1
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 stale=2
	`, ""},
	{"no-false-fencing", "clients: one that overlapped it and failed was not granted", timed, `
		B invoke acquire op=3
		A invoke acquire op=1
		A ok acquire op=1 token=1
		B fail acquire op=3 error=held
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 stale=1
	`, "token 1 rejected at #6 (greatest 1) though it is the latest grant, of #3 (orders/7)"},
	{"no-false-fencing", "clients: one that began after another overlapped it and failed", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1
		C invoke acquire op=4
		B invoke acquire op=3
		B ok acquire op=3 token=2
		C fail acquire op=4 error=held
		B invoke write op=2 token=2 value=5
		B fail write op=2 token=2 stale=2
	`, "token 2 rejected at #8 (greatest 2) though it is the latest grant, of #5 (orders/7)"},
	{"no-false-fencing", "clients: one of unknown outcome may have been granted later", timed, `
		B invoke acquire op=3
		A invoke acquire op=1
		A ok acquire op=1 token=1
		B info acquire op=3
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 stale=2
	`, ""},
	{"no-false-fencing", "clients: only a stale answer is a rejection", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1
		A invoke write op=2 token=1 value=5
		A fail write op=2 token=1 error=unavailable
	`, ""},

	{"gives-up", "it writes on under a rejected token", timed, `
		A invoke write op=1 token=1 value=5
		A fail write op=1 token=1 stale=2
		A invoke write op=2 token=1 value=6
	`, "A invoked write with token 1 at #3 after that token was rejected as stale at #2 (orders/7)"},
	{"gives-up", "the answer tells whose token is greater; refused was its client", timed, `
		A invoke write op=1 token=1
		A fail write op=1 token=1 stale=2 owner=B
		B invoke write op=2 token=1
		A invoke write op=3 token=1
	`, "A invoked write with token 1 at #4 after that token was rejected as stale at #2 (orders/7)"},
	{"gives-up", "reading counts too", timed, `
		A fail raise op=1 token=1 stale=2
		A invoke read op=2 token=1
	`, "A invoked read with token 1 at #2 after that token was rejected as stale at #1 (orders/7)"},
	{"gives-up", "a release is its right", timed, `
		A fail write op=1 token=1 stale=2
		A invoke release op=2 token=1
	`, ""},
	{"gives-up", "what was in flight is its right", timed, `
		A invoke write op=1 token=1 value=5
		A/2 invoke write op=2 token=1 value=6 client=A
		A fail write op=1 token=1 stale=2
		A/2 fail write op=2 token=1 stale=2 client=A
	`, ""},
	{"gives-up", "the client is the same under a new process", timed, `
		A fail write op=1 token=1 stale=2
		A/2 invoke write op=2 token=1 value=6 client=A
	`, "A invoked write with token 1 at #2 after that token was rejected as stale at #1 (orders/7)"},
	{"gives-up", "another failure is no rejection", timed, `
		A fail write op=1 token=1 error=unavailable
		A invoke write op=2 token=1 value=6
	`, ""},
	{"gives-up", "a newer token is another right", timed, `
		A fail write op=1 token=1 stale=2
		A invoke write op=2 token=3 value=6
	`, ""},
	{"gives-up", "older rejections are remembered", timed, `
		A fail write op=1 token=1 stale=2
		A fail write op=2 token=3 stale=4
		A invoke write op=3 token=1 value=6
	`, "A invoked write with token 1 at #3 after that token was rejected as stale at #1 (orders/7)"},
	{"gives-up", "another client's rejection does not bind it", timed, `
		A fail write op=1 token=1 stale=2
		B invoke write op=2 token=1 value=6
	`, ""},
	{"gives-up", "another scope's rejection does not bind it", timed, `
		A fail write op=1 token=1 stale=2
		A invoke write op=2 token=1 value=6 r=orders/8
	`, ""},
	{"gives-up", "a token issued again under another lease is not the rejected one", timed, `
		A fail write op=1 token=1 lease=a stale=2
		A ok acquire op=2 token=1 lease=b
		A invoke write op=3 token=1 lease=b value=6
	`, ""},
	{"gives-up", "an equal token under a lease that was not rejected", timed, `
		A fail write op=1 token=1 lease=a stale=2
		A invoke write op=3 token=1 lease=b value=6
	`, ""},
	{"gives-up", "without identities an acquisition forgives", timed, `
		A fail write op=1 token=1 stale=2
		A ok acquire op=2 token=1
		A invoke write op=3 token=1 value=6
	`, ""},
	{"gives-up", "a re-entry into the rejected lease forgives nothing", timed, `
		A fail write op=1 token=1 lease=a stale=2
		A ok acquire op=2 token=1 lease=a
		A invoke write op=3 token=1 lease=a value=6
	`, "A invoked write with token 1 at #3 after that token was rejected as stale at #1 (orders/7)"},

	{"linearizable", "the textbook: accepted below the fence", timed, `
		A invoke write op=1 token=1 value=10
		B invoke write op=2 token=2 value=20
		store apply op=2 token=2
		B ok write op=2 token=2
		store apply op=1 token=1
		A ok write op=1 token=1
		B invoke read op=3 token=2
		store served op=3 token=2 value=10
		B ok read op=3 token=2 value=10
	`, "the store accepted write 10 with token 1 at #5 although token 2 was accepted at #3 (orders/7)"},
	{"linearizable", "the same in the order of the tokens", timed, `
		A invoke write op=1 token=1 value=10
		B invoke write op=2 token=2 value=20
		store apply op=1 token=1
		store apply op=2 token=2
		B ok write op=2 token=2
		A ok write op=1 token=1
		B invoke read op=3 token=2
		store served op=3 token=2
		B ok read op=3 token=2 value=20
	`, ""},
	{"linearizable", "noted in the wrong order, but the clients cannot tell", timed, `
		A invoke write op=1 token=1 value=10
		B invoke write op=2 token=2 value=20
		store apply op=2 token=2
		store apply op=1 token=1
		B ok write op=2 token=2
		A ok write op=1 token=1
	`, ""},
	{"linearizable", "a read of a value that was overwritten before it began", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A ok write op=1 token=1
		A invoke write op=2 token=1 value=20
		store apply op=2 token=1
		A ok write op=2 token=1
		A invoke read op=3 token=1
		store served op=3 token=1
		A ok read op=3 token=1 value=10
	`, "the store answered 10 to read with token 1 at #9 although the value was 20 (orders/7)"},
	{"linearizable", "acknowledged and never applied", timed, `
		A invoke write op=1 token=1 value=10
		A ok write op=1 token=1
		A invoke read op=2 token=1
		store served op=2 token=1
		A ok read op=2 token=1
	`, "no order of the operations explains read with token 1 -> nil by A, #3 to #5 (orders/7)"},
	{"linearizable", "refused, and applied after all", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A fail write op=1 token=1 error=unavailable
		A invoke read op=2 token=1
		store served op=2 token=1
		A ok read op=2 token=1 value=10
	`, "write 10 with token 1 failed at #3 and yet took effect at #2 (orders/7)"},
	{"linearizable", "answered stale, and applied after all", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A fail write op=1 token=1 stale=1
		A invoke read op=2 token=1
		store served op=2 token=1
		A ok read op=2 token=1 value=10
	`, "write 10 with token 1 failed at #3 and yet took effect at #2 (orders/7)"},
	{"linearizable", "failed, and nobody looked", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A fail write op=1 token=1 error=unavailable
	`, "write 10 with token 1 failed at #3 and yet took effect at #2 (orders/7)"},
	{"linearizable", "failed, and applied later", timed, `
		A invoke write op=1 token=1 value=10
		A fail write op=1 token=1 error=unavailable
		store apply op=1 token=1
	`, "operation 1 failed at #2 and yet took effect at #3 (orders/7)"},
	{"linearizable", "failed, and refused later", timed, `
		A invoke write op=1 token=1 value=10
		A fail write op=1 token=1 error=unavailable
		B invoke write op=2 token=2 value=20
		store apply op=2 token=2
		B ok write op=2 token=2
		store reject op=1 token=1
	`, ""},
	{"linearizable", "failed and applied, after the witness had failed", timed, `
		B invoke write op=2 token=2 value=20
		B ok write op=2 token=2
		A invoke raise op=1 token=3
		store raised op=1 token=3
		A fail raise op=1 token=3 error=unavailable
	`, "raise with token 3 failed at #5 and yet took effect at #4 (orders/7)"},
	{"linearizable", "a raise that was not recorded", timed, `
		store raised token=7
		A invoke write op=1 token=6 value=10
		store reject op=1 token=6
		A fail write op=1 token=6 stale=7
	`, ""},
	{"linearizable", "a write that was not recorded, and read", timed, `
		store apply token=7 value=30
		A invoke read op=1 token=7
		store served op=1 token=7
		A ok read op=1 token=7 value=30
	`, ""},
	{"linearizable", "a write that was not recorded, of a value that is not told", timed, `
		store apply token=7
		A invoke read op=1 token=7
		store served op=1 token=7
		A ok read op=1 token=7 value=30
	`, ""},
	{"linearizable", "a stale write that was not recorded", timed, `
		A invoke write op=1 token=8 value=10
		store apply op=1 token=8
		A ok write op=1 token=8
		store apply token=7 value=30
	`, "the store accepted write 30 with token 7 at #4 although token 8 was accepted at #2 (orders/7)"},
	{"linearizable", "a write that was not recorded, and lost", timed, `
		store apply token=7 value=30
		A invoke read op=1 token=7
		store served op=1 token=7
		A ok read op=1 token=7
	`, "the store answered nil to read with token 7 at #4 although the value was 30 (orders/7)"},
	{"linearizable", "applied twice, the second time over another write", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A ok write op=1 token=1
		A invoke write op=2 token=1 value=20
		store apply op=2 token=1
		A ok write op=2 token=1
		store apply op=1 token=1
		A invoke read op=3 token=1
		store served op=3 token=1
		A ok read op=3 token=1 value=10
	`, "operation 1 took effect at #7, outside its interval (orders/7)"},
	{"linearizable", "a duplicate that is refused or read again disproves nothing", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A ok write op=1 token=1
		A invoke read op=2 token=1
		store served op=2 token=1
		store served op=2 token=1
		A ok read op=2 token=1 value=10
		store reject op=1 token=1
	`, ""},
	{"linearizable", "an unknown write may be applied long after", timed, `
		A invoke write op=1 token=1 value=10
		A info write op=1 token=1
		B invoke read op=2 token=1
		store served op=2
		B ok read op=2 token=1
		store apply op=1 token=1
		B invoke read op=3 token=1
		store served op=3
		B ok read op=3 token=1 value=10
	`, ""},
	{"linearizable", "an unknown write is applied at most once", timed, `
		A invoke write op=1 token=1 value=10
		A info write op=1 token=1
		store apply op=1 token=1
		B invoke write op=2 token=1 value=20
		store apply op=2 token=1
		B ok write op=2 token=1
		store apply op=1 token=1
		B invoke read op=3 token=1
		store served op=3
		B ok read op=3 token=1 value=10
		B invoke write op=4 token=1 value=30
		store apply op=4 token=1
		B ok write op=4 token=1
		B invoke read op=5 token=1
		store served op=5
		B ok read op=5 token=1 value=20
	`, "operation 1 took effect at #7, outside its interval (orders/7)"},
	{"linearizable", "an equal token from another lease is refused", timed, `
		A invoke write op=1 token=1 lease=a value=10
		store apply op=1 token=1 lease=a
		A ok write op=1 token=1
		B invoke write op=2 token=1 lease=b value=20
		store reject op=2 token=1 lease=b highest=1
		B fail write op=2 token=1 stale=1
	`, ""},
	{"linearizable", "an equal token from another lease is accepted", timed, `
		A invoke write op=1 token=1 lease=a value=10
		store apply op=1 token=1 lease=a
		A ok write op=1 token=1
		B invoke write op=2 token=1 lease=b value=20
		store apply op=2 token=1 lease=b
		B ok write op=2 token=1
	`, "the store accepted write 20 with token 1 at #5 although token 1 was accepted at #2 from another lease (orders/7)"},
	{"linearizable", "stale without cause", timed, `
		A invoke write op=1 token=1 value=10
		store reject op=1 token=1
		A fail write op=1 token=1 stale=0
	`, "the store answered stale to write 10 with token 1 at #3 although no greater token was accepted: the greatest was 0 (orders/7)"},
	{"linearizable", "stale with a wrong maximum", timed, `
		A invoke raise op=1 token=2
		store raised op=1 token=2
		A ok raise op=1 token=2
		B invoke write op=2 token=1 value=10
		store reject op=2 token=1 highest=7
		B fail write op=2 token=1 stale=7
	`, "the store answered write 10 with token 1 at #6 that its greatest token was 7 although it was 2 (orders/7)"},
	{"linearizable", "a stale read is refused, one without a token is not", timed, `
		A invoke raise op=1 token=2
		store raised op=1 token=2
		A ok raise op=1 token=2
		B invoke read op=2 token=1
		store reject op=2 token=1 highest=2
		B fail read op=2 token=1 stale=2
		C invoke read op=3
		store served op=3
		C ok read op=3 value=nil
	`, ""},
	{"linearizable", "a read need not lift the fence", timed, `
		B invoke read op=1 token=2
		store served op=1 token=2
		B ok read op=1 token=2
		A invoke write op=2 token=1 value=10
		store apply op=2 token=1
		A ok write op=2 token=1
	`, ""},
	{"linearizable", "a read may lift the fence", timed, `
		B invoke read op=1 token=2
		store served op=1 token=2 highest=2
		B ok read op=1 token=2
		A invoke write op=2 token=1 value=10
		store reject op=2 token=1 highest=2
		A fail write op=2 token=1 stale=2
	`, ""},
	{"linearizable", "clients: a read may lift the fence", timed, `
		B invoke read op=1 token=2
		B ok read op=1 token=2
		A invoke write op=2 token=1 value=10
		A fail write op=2 token=1 stale=2
	`, ""},
	{"linearizable", "but not one time and another time not", timed, `
		B invoke read op=1 token=2
		store served op=1 token=2 highest=2
		B ok read op=1 token=2
		A invoke write op=2 token=1 value=10
		store reject op=2 token=1 highest=2
		A fail write op=2 token=1 stale=2
		B invoke read op=3 token=4
		store served op=3 token=4 highest=2
		B ok read op=3 token=4
		A invoke write op=4 token=3 value=10
		store apply op=4 token=3
		A ok write op=4 token=3
	`, "the store let some reads lift the fence and others not, as read with token 4 at #8 (orders/7)"},
	{"linearizable", "cas and delete are mutations like any", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A ok write op=1 token=1
		A invoke cas op=2 token=1 expect=10 value=11
		store apply op=2 token=1
		A ok cas op=2 token=1
		A invoke read op=3 token=1
		store served op=3
		A ok read op=3 token=1 value=11
		A invoke delete op=4 token=1
		store apply op=4 token=1
		A ok delete op=4 token=1
		A invoke read op=5 token=1
		store served op=5
		A ok read op=5 token=1 value=nil
	`, ""},
	{"linearizable", "a cas that succeeds on another value", timed, `
		A invoke write op=1 token=1 value=10
		store apply op=1 token=1
		A ok write op=1 token=1
		A invoke cas op=2 token=1 expect=9 value=11
		store apply op=2 token=1
		A ok cas op=2 token=1
	`, "the store applied cas 9 to 11 with token 1 at #5 although the value was 10 (orders/7)"},
	{"linearizable", "two resources of one scope share a fence and no value", timed, `
		A invoke write op=1 token=1 value=10 r=a scope=s
		store apply op=1 token=1 r=a scope=s
		A ok write op=1 token=1 r=a scope=s
		A invoke write op=2 token=1 value=20 r=b scope=s
		store apply op=2 token=1 r=b scope=s
		A ok write op=2 token=1 r=b scope=s
		A invoke read op=3 token=1 r=a scope=s
		store served op=3 r=a scope=s
		A ok read op=3 token=1 r=a scope=s value=10
	`, ""},
	{"linearizable", "clients: a stale write is visible through a read", timed, `
		B invoke write op=2 token=2 value=20
		B ok write op=2 token=2
		A invoke write op=1 token=1 value=10
		A ok write op=1 token=1
	`, "no order of the operations explains write 10 with token 1 -> ok by A, #3 to #4 (orders/7)"},
	{"linearizable", "clients: the reply that no order explains is named, not what came before it", timed, `
		A invoke write op=1 token=2 value=10
		B invoke write op=2 token=3 value=20
		B ok write op=2 token=3
		B invoke write op=3 token=3 value=21
		B ok write op=3 token=3
		A fail write op=1 token=2 stale=7
		B invoke write op=4 token=3 value=22
		B ok write op=4 token=3
	`, "no order of the operations explains write 10 with token 2 -> stale (greatest 7) by A, #1 to #6 (orders/7)"},
	{"linearizable", "clients: an order exists while the two overlap", timed, `
		B invoke write op=2 token=2 value=20
		A invoke write op=1 token=1 value=10
		B ok write op=2 token=2
		A ok write op=1 token=1
		B invoke read op=3 token=2
		B ok read op=3 token=2 value=20
	`, ""},
}

func TestVerdicts(t *testing.T) {
	for _, tt := range allVerdicts() {
		t.Run(tt.property+"/"+tt.reason, func(t *testing.T) {
			r := judge(t, tt.property, parse(t, tt.header, tt.events))
			got := ""
			if r.Violation != nil {
				got = strings.TrimPrefix(r.Violation.Message, "broke "+tt.property+": ")
				if !slices.IsSorted(r.Violation.Events) || len(r.Violation.Events) == 0 {
					t.Errorf("events %v, want indexes in increasing order", r.Violation.Events)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: violation (-want +got):\n%s", tt.reason, diff)
			}
			if want := map[bool]Outcome{true: Satisfied, false: Violated}[tt.want == ""]; r.Outcome != want {
				t.Errorf("%s: got %s, want %s", tt.reason, r.Outcome, want)
			}
		})
	}
}

// Every property needs a history that breaks it and one that does not: a
// monitor that never fails, or always does, would otherwise pass.
func TestEveryPropertyIsBroken(t *testing.T) {
	for _, p := range Properties() {
		broken, kept := 0, 0
		for _, tt := range allVerdicts() {
			if tt.property == p.Name && tt.want != "" {
				broken++
			} else if tt.property == p.Name {
				kept++
			}
		}
		if broken == 0 || kept == 0 {
			t.Errorf("%s: broken by %d histories and kept by %d, want both", p.Name, broken, kept)
		}
		if p.Guarantee == "" || p.Doc == "" || p.Unaided == "" {
			t.Errorf("%s: guarantee, doc and unaided must be filled in", p.Name)
		}
	}
}
