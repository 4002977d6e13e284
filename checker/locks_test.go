package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

// lockVerdicts: an empty want is satisfied.
var lockVerdicts = []struct {
	model, reason string
	header        history.Header
	events        string
	want          string
}{
	{"lease", "a grant within a proven hold", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
		A invoke renew op=3
		A ok renew op=3
	`, "B acquired the lease between #3 and #4, within the hold of A: acquired at #2, renewed between #5 and #6 (orders/7)"},
	{"lease", "the renewal was refused: the lease was lost, which is no violation", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
		A invoke renew op=3
		A fail renew op=3
	`, ""},
	{"lease", "the renewal's outcome is unknown: it proves nothing", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
		A invoke renew op=3
		A info renew op=3
	`, ""},
	{"lease", "the grant's outcome is unknown: it need not have happened", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		B info acquire op=2
		A invoke renew op=3
		A ok renew op=3
	`, ""},
	{"lease", "the first acquisition's outcome is unknown: it may have come after the other", history.Header{}, `
		A invoke acquire op=1
		A info acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
		A/2 invoke renew op=3 client=A
		A/2 ok renew op=3 client=A
	`, ""},
	{"lease", "but not so when the other one's hold is proven past it", history.Header{}, `
		A invoke acquire op=1 lease=a
		A info acquire op=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 lease=b
		A/2 invoke renew op=3 lease=a client=A
		A/2 ok renew op=3 lease=a client=A
		B invoke renew op=4 lease=b
		B ok renew op=4 lease=b
	`, "A acquired the lease between #5 and #6, within the hold of B: acquired at #4, renewed between #7 and #8 (orders/7)"},
	{"lease", "the grant may have come before: they overlap", history.Header{}, `
		A invoke acquire op=1
		B invoke acquire op=2
		A ok acquire op=1
		B ok acquire op=2
		A invoke renew op=3
		A ok renew op=3
	`, ""},
	{"lease", "two proven holds overlap, though neither grant lies within the other", history.Header{}, `
		A invoke acquire op=1
		B invoke acquire op=2
		A ok acquire op=1
		B ok acquire op=2
		A invoke renew op=3
		A ok renew op=3
		B invoke release op=4
		B ok release op=4
	`, "A held the lease from #3 to #5 at least, and B from #4 to #7 (orders/7)"},
	{"lease", "the grant may have come after: the renewal was under way", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		A invoke renew op=3
		B ok acquire op=2
		A ok renew op=3
	`, ""},
	{"lease", "a hold lost unnoticed", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
		B invoke release op=3
		B ok release op=3
	`, ""},
	{"lease", "a renewal accepted after a release", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		A invoke release op=2 lease=a
		A ok release op=2 lease=a
		A invoke renew op=3 lease=a
		A ok renew op=3 lease=a
	`, "A renewed at #6 a lease that had been released at #4 (orders/7)"},
	{"lease", "after a release of unknown outcome, which may take effect later", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		A invoke release op=2 lease=a
		A info release op=2 lease=a
		A/2 invoke renew op=3 lease=a client=A
		A/2 ok renew op=3 lease=a client=A
	`, ""},
	{"lease", "after a release that failed", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		A invoke release op=2 lease=a
		A fail release op=2 lease=a
		A invoke renew op=3 lease=a
		A ok renew op=3 lease=a
	`, ""},
	{"lease", "after a release and an acquisition of unknown outcome", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke release op=2
		A ok release op=2
		A invoke acquire op=3
		A info acquire op=3
		A/2 invoke renew op=4 client=A
		A/2 ok renew op=4 client=A
	`, ""},
	{"lease", "a lease released twice", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke release op=2
		A ok release op=2
		A invoke release op=3
		A ok release op=3
	`, "A released at #6 a lease that had been released at #4 (orders/7)"},
	{"lease", "a lock acquired twice is released twice", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke acquire op=2
		A ok acquire op=2
		A invoke release op=3
		A ok release op=3
		A invoke release op=4
		A ok release op=4
	`, ""},
	{"lease", "a release accepted from another lease, that of an earlier holder", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 lease=b
		A invoke release op=3 lease=a
		A ok release op=3 lease=a
	`, "B acquired the lease between #3 and #4, within the hold of A: acquired at #2, released between #5 and #6 (orders/7)"},
	{"lease", "a release accepted from a lease that nobody was granted", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		B invoke release op=2 lease=b
		B ok release op=2 lease=b
	`, "B released at #4 a lease that nobody was granted, after A had acquired it at #2 (orders/7)"},
	{"lease", "which may have been granted where the outcome is unknown", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		B invoke acquire op=2
		B info acquire op=2
		B/2 invoke release op=3 lease=b client=B
		B/2 ok release op=3 lease=b client=B
	`, ""},
	{"lease", "or before the history began", history.Header{}, `
		B invoke release op=2 lease=b
		B ok release op=2 lease=b
		A invoke acquire op=1
		A ok acquire op=1 lease=a
	`, ""},
	{"lease", "but not to two clients", history.Header{}, `
		B invoke renew op=2 lease=b
		B ok renew op=2 lease=b
		A invoke renew op=1 lease=a
		A ok renew op=1 lease=a
	`, "A renewed at #4 a lease that nobody was granted (orders/7)"},
	{"lease", "a release that took effect on another lease than it presented", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		A invoke acquire op=2 r=orders/8
		A ok acquire op=2 lease=c r=orders/8
		B invoke acquire op=3
		B ok acquire op=3 lease=b
		A invoke release op=4 lease=a
		A ok release op=4 lease=b
	`, "the release that began at #7 took effect on another lease than it presented: on that of B, acquired at #6 (orders/7)"},
	{"lease", "resources are judged apart", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2 r=orders/8
		B ok acquire op=2 r=orders/8
		A invoke renew op=3
		A ok renew op=3
	`, ""},
	{"lease", "tokens tell a client's leases apart where there are no identities", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 token=1
		B invoke acquire op=2
		B ok acquire op=2 token=2
		A invoke acquire op=3
		A ok acquire op=3 token=3
		A invoke renew op=4 token=1
		A ok renew op=4 token=1
	`, "B acquired the lease between #3 and #4, within the hold of A: acquired at #2, renewed between #7 and #8 (orders/7)"},
	{"lease", "a process that goes on under another number after an unknown outcome", history.Header{}, `
		0 invoke acquire op=1
		0 ok acquire op=1
		0 invoke renew op=2
		0 info renew op=2
		5 invoke release op=3
		5 ok release op=3
	`, ""},
	{"lease", "its hold is still a hold", history.Header{}, `
		0 invoke acquire op=1
		0 ok acquire op=1
		0 invoke renew op=2
		0 info renew op=2
		1 invoke acquire op=3
		1 ok acquire op=3
		5 invoke release op=4
		5 ok release op=4
	`, "process 1 acquired the lease between #5 and #6, within the hold of process 0: acquired at #2, released between #7 and #8 (orders/7)"},

	{"lease", "a renewal that was under way when the lease was released", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		A/1 invoke renew op=2 lease=a client=A
		A invoke release op=3 lease=a
		A ok release op=3 lease=a
		A/1 ok renew op=2 lease=a client=A
	`, ""},
	{"lease", "an acquisition of unknown outcome may have come after the other's", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke acquire op=2
		A info acquire op=2
		B invoke acquire op=3
		B ok acquire op=3
		A/2 invoke renew op=4 client=A
		A/2 ok renew op=4 client=A
	`, ""},
	{"lease", "identities tell that it did not", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 lease=a
		A invoke acquire op=2
		A info acquire op=2
		B invoke acquire op=3
		B ok acquire op=3 lease=b
		A/2 invoke renew op=4 client=A lease=a
		A/2 ok renew op=4 client=A lease=a
	`, "B acquired the lease between #5 and #6, within the hold of A: acquired at #2, renewed between #7 and #8 (orders/7)"},
	{"lease", "another process's unknown acquisition does not explain a second release", history.Header{}, `
		0 invoke acquire op=1
		0 ok acquire op=1
		1 invoke acquire op=2
		1 info acquire op=2
		0 invoke release op=3
		0 ok release op=3
		0 invoke release op=4
		0 ok release op=4
	`, "process 0 released at #8 a lease that had been released at #6 (orders/7)"},
	{"lease", "a lock that was lost and acquired again is released once", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
		A invoke acquire op=3
		A ok acquire op=3
		A invoke release op=4
		A ok release op=4
		A invoke release op=5
		A ok release op=5
	`, "A released at #10 a lease that had been released at #8 (orders/7)"},
	{"lease", "a grant within the term of a lease", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 expires=10
		B invoke acquire op=2 t=5
		B ok acquire op=2 t=9
	`, "B acquired it at #4 within the term of the lease of A, acquired at #2 and not released (orders/7)"},
	{"lease", "a grant after the term", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 expires=10
		B invoke acquire op=2 t=5
		B ok acquire op=2 t=10
	`, ""},
	{"lease", "a grant after a renewed term's first end", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 expires=10
		A invoke renew op=2
		A ok renew op=2 expires=20
		B invoke acquire op=3 t=15
		B ok acquire op=3 t=16
	`, "B acquired it at #6 within the term of the lease of A, acquired at #2 and not released (orders/7)"},
	{"lease", "a grant within the term of a lease that may have been released", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 expires=10
		A invoke release op=2
		A info release op=2
		B invoke acquire op=3
		B ok acquire op=3
	`, ""},
	{"lease", "a grant within a term that is declared", history.Header{TTL: 10e9}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2 t=5
		B ok acquire op=2 t=10
	`, "B acquired it at #4 within the term of the lease of A, acquired at #2 and not released (orders/7)"},
	{"lease", "less what clocks may differ", history.Header{TTL: 10e9, Epsilon: 1e9}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2 t=5
		B ok acquire op=2 t=10
	`, ""},
	{"lease", "less what clocks may drift", history.Header{TTL: 10e9, Rho: 100_000}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2 t=5
		B ok acquire op=2 t=10
	`, ""},
	{"lease", "a step number is no time", history.Header{TTL: 10e9, Timing: "untimed"}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2 t=5
		B ok acquire op=2 t=10
	`, ""},

	{"mutex", "taken in turns", history.Header{}, `
		A invoke acquire op=1
		B invoke acquire op=2
		A ok acquire op=1
		A invoke release op=3
		B ok acquire op=2
		A ok release op=3
	`, ""},
	{"mutex", "acquired while another holds it, who lost it unnoticed", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
	`, "B acquired the lock at #4 while A held it, acquired at #2 and not released (orders/7)"},
	{"mutex", "an unknown release may have come before", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke release op=2
		A info release op=2
		B invoke acquire op=3
		B ok acquire op=3
	`, ""},
	{"mutex", "a release that failed did not", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke release op=2
		B invoke acquire op=3
		B ok acquire op=3
		A fail release op=2
	`, "B acquired the lock at #5 while A held it, acquired at #2 and not released (orders/7)"},
	{"mutex", "an unknown acquisition need not have happened", history.Header{}, `
		A invoke acquire op=1
		A info acquire op=1
		B invoke acquire op=2
		B ok acquire op=2
	`, ""},
	{"mutex", "it is not re-entrant", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke acquire op=2
		A ok acquire op=2
	`, "A acquired the lock at #4 while A held it, acquired at #2 and not released (orders/7)"},
	{"mutex", "a release without a hold", history.Header{}, `
		A invoke release op=1
		A ok release op=1
	`, "A released at #2 what it had not acquired (orders/7)"},
	{"mutex", "a release by another client", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		B invoke release op=2
		B ok release op=2
	`, "B released at #4 what it had not acquired (orders/7)"},
	{"mutex", "a renewal accepted after a release", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1
		A invoke release op=2
		A ok release op=2
		A invoke renew op=3
		A ok renew op=3
	`, "A renewed at #6 a lease that had been released at #4 (orders/7)"},

	{"token-source", "increasing, and equal to nothing", history.Header{}, `
		A invoke acquire op=1
		B invoke acquire op=2
		B ok acquire op=2 token=2
		A ok acquire op=1 token=1
		A invoke acquire op=3
		A ok acquire op=3 token=9
	`, ""},
	{"token-source", "a lower token after a greater one", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 token=7
		B invoke acquire op=2
		B ok acquire op=2 token=5
	`, "token 5 was handed out to B, #3 to #4, after token 7 at #2 (orders/7)"},
	{"token-source", "a token twice, to acquisitions that overlap", history.Header{}, `
		A invoke acquire op=1
		B invoke acquire op=2
		A ok acquire op=1 token=7
		B ok acquire op=2 token=7
	`, "token 7 was handed out to A at #3 and to B at #4 (orders/7)"},
	{"token-source", "a token twice, to one client: a source has no re-entry", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 token=7
		A invoke acquire op=2
		A ok acquire op=2 token=7
	`, "token 7 was handed out to A, #3 to #4, after token 7 at #2 (orders/7)"},
	{"token-source", "an unknown outcome used up a token", history.Header{}, `
		A invoke acquire op=1
		A info acquire op=1
		B invoke acquire op=2
		B ok acquire op=2 token=2
		C invoke acquire op=3
		C ok acquire op=3 token=3
	`, ""},
	{"token-source", "an acquisition that takes long may have any token that is not too low", history.Header{}, `
		A invoke acquire op=1
		A ok acquire op=1 token=5
		A invoke acquire op=2
		B invoke acquire op=3
		B ok acquire op=3 token=9
		A ok acquire op=2 token=6
	`, ""},
}

// TestLocksAreBounded: a bounded number of the leases that one client acquired and
// never released is kept. An operation on one of the others makes the judgement
// inconclusive. Released leases are remembered, up to a bound of their own.
func TestLocksAreBounded(t *testing.T) {
	before := manyHolds
	manyHolds = 2
	t.Cleanup(func() { manyHolds = before })
	lower(t, &manyLeases, 2)
	op := 0
	do := func(client, verb string, leases ...string) (text string) {
		for _, l := range leases {
			op++
			text += fmt.Sprintf("%s invoke %s op=%d lease=%s\n%s ok %s op=%d lease=%s\n", client, verb, op, l, client, verb, op, l)
		}
		return text
	}
	const doubt = "a lease that may have been forgotten: of one client the last 2 are remembered, of those released the first 2 (orders/7)"
	for _, tt := range []struct{ reason, events, want string }{
		{"all are remembered", do("A", "acquire", "a", "b") + do("A", "renew", "a", "b"), "satisfied"},
		{"the first was forgotten", do("A", "acquire", "a", "b", "c") + do("A", "renew", "b", "c", "a"), "inconclusive: undecided: A renewed at #12 " + doubt},
		{"nobody asks for it", do("A", "acquire", "a", "b", "c") + do("A", "renew", "b", "c"), "satisfied"},
		{"another client asks for it", do("A", "acquire", "a", "b", "c") + do("B", "renew", "b", "a"), "inconclusive: undecided: B renewed at #10 " + doubt},
		{"a released lease, with others released since", do("A", "acquire", "a") + do("A", "release", "a") + do("A", "acquire", "b") + do("A", "release", "b") +
			do("A", "renew", "a"), "violated: A renewed at #10 a lease that had been released at #4 (orders/7)"},
		{"by another client", do("A", "acquire", "a") + do("A", "release", "a") + do("A", "acquire", "b") + do("A", "release", "b") +
			do("B", "release", "a"), "violated: B released at #10 a lease that had been released at #4 (orders/7)"},
		{"one that was acquired anew", do("A", "acquire", "a") + do("A", "release", "a") + do("A", "acquire", "b") + do("A", "release", "b") +
			do("A", "acquire", "a") + do("A", "renew", "a"), "satisfied"},
		{"more were released than are remembered", do("A", "acquire", "a") + do("A", "release", "a") + do("A", "acquire", "b") + do("A", "release", "b") +
			do("A", "acquire", "c") + do("A", "release", "c") + do("A", "acquire", "d") + do("A", "release", "d") + do("A", "renew", "c"),
			"inconclusive: undecided: A renewed at #18 " + doubt},
		{"a renewal in flight when it was released", do("A", "acquire", "a") + "B invoke renew op=99 lease=a\n" + do("A", "release", "a") +
			do("A", "acquire", "b") + do("A", "release", "b") + "B ok renew op=99 lease=a\n", "satisfied"},
	} {
		r, err := Check(parse(t, history.Header{}, tt.events), Options{Model: "lease"})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Outcome.String()
		if v := r.Results[0].Violation; v != nil {
			got += ": " + strings.TrimPrefix(v.Message, "broke lease: ")
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}

func TestLockVerdicts(t *testing.T) {
	for _, tt := range lockVerdicts {
		t.Run(tt.model+"/"+tt.reason, func(t *testing.T) {
			h := parse(t, tt.header, tt.events)
			r, err := Check(h, Options{Model: tt.model})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if v := r.Results[0].Violation; v != nil {
				got = strings.TrimPrefix(v.Message, "broke "+tt.model+": ")
				told := Explain(h, *v)
				for _, l := range told.Chain {
					if strings.Contains(l.Text, "no token") {
						t.Errorf("the chain says %q", l.Text)
					}
				}
				if n := len(told.Chain); told.Guarantee == "" || n < len(v.Events) {
					t.Errorf("%d events are explained by %d links, with the guarantee %q", len(v.Events), n, told.Guarantee)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModelsNeedTheirOperations(t *testing.T) {
	tests := map[string]string{
		"mutex":        "A invoke write op=1 value=1",
		"lease":        "A invoke write op=1 value=1",
		"token-source": "A invoke acquire op=1",
		"register":     "A invoke acquire op=1",
		"cas-register": "A invoke acquire op=1",
	}
	for _, m := range Models() {
		events, ok := tests[m.Name]
		if !ok {
			continue
		}
		_, err := Check(parse(t, history.Header{}, events), Options{Model: m.Name})
		if err == nil || !strings.HasPrefix(err.Error(), "cannot judge it as "+m.Name+": expected ") {
			t.Errorf("%s: got %v, want what it needs", m.Name, err)
		}
	}
}

// emitLocks makes a long lawful history of a lock, that some clients die with:
// a turn is up to eight operations.
func emitLocks(turns int, observe func(*history.Event)) (operations int64) {
	var e history.Event
	index := int64(0)
	event := func(process string, t history.Type, f history.F, op int64, lease string) {
		index++
		e = history.Event{Index: index, Process: process, Type: t, F: f, Op: op, Resource: "r", Lease: lease}
		observe(&e)
	}
	for n := range turns {
		client, lease := fmt.Sprint("c", n%50), fmt.Sprint(n)
		do := func(f history.F, presented string) {
			operations++
			event(client, history.Invoke, f, operations, presented)
			event(client, history.OK, f, operations, lease)
		}
		do(history.Acquire, "")
		do(history.Renew, lease)
		do(history.Renew, lease)
		if n%7 != 0 {
			do(history.Release, lease)
		}
	}
	return operations
}

func TestLocksForget(t *testing.T) {
	m := newLocks("lease", false, history.Header{})
	emitLocks(20_000, m.observe)
	if _, v := m.verdict(); v != nil {
		t.Fatal(v.Message)
	}
	held := 50 * (manyHolds + 1)
	if n := len(m.scopes[0].zones); n > 3*held+200 { // beside each that is alive two that are dead may stand
		t.Errorf("%d zones are kept", n)
	}
	if n := len(m.leases); n > held {
		t.Errorf("%d leases are kept", n)
	}
	tok := tokens{property: "token-source"}
	tok.in.names = newNames(false)
	for i := range int64(20_000) { // one is always open
		e := history.Event{Index: 3 * i, Process: fmt.Sprint(i % 2), Type: history.Invoke, F: history.Acquire, Op: i + 1}
		tok.observe(&e)
		if i > 0 {
			e = history.Event{Index: 3*i + 1, Process: fmt.Sprint((i - 1) % 2), Type: history.OK, F: history.Acquire, Op: i, Token: history.Token(i)}
			tok.observe(&e)
		}
	}
	if tok.found != nil || len(tok.fences[0].recent) > 2000 {
		t.Errorf("%v, %d tokens are kept", tok.found, len(tok.fences[0].recent))
	}
}
