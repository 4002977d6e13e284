package checker

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// stories are broken guarantees to be told in words; testdata/explain has the
// words. Each is told from the first violation of its property.
var stories = []struct {
	name, property string
	header         history.Header
	events         string
}{
	{"textbook", "no-stale-write", timed, `
		A invoke acquire op=1 t=0
		L grant op=1 token=41 lease=91cd owner=A expires=10 t=0
		A ok acquire op=1 token=41 lease=91cd t=0
		A invoke write op=2 token=41 lease=91cd value=10 prepared=41 t=1
		A pause text=for_35s t=1
		L expire op=1 token=41 lease=91cd owner=A t=10
		B invoke acquire op=3 t=11
		L grant op=3 token=42 lease=77aa owner=B expires=21 t=11
		B ok acquire op=3 token=42 lease=77aa t=11
		B invoke write op=4 token=42 lease=77aa value=20 t=12
		B send to=store message=7 op=4 t=12
		store deliver to=store message=7 op=4 t=12
		store apply op=4 token=42 lease=77aa highest=42 t=12
		B ok write op=4 token=42 t=13
		A resume t=36
		A send to=store message=8 op=2 t=36
		store deliver to=store message=8 op=2 t=37
		store apply op=2 token=41 lease=91cd highest=42 t=37
		A ok write op=2 token=41 t=38
	`},
	{"textbook-held", "linearizable", timed, `
		A invoke acquire op=1 t=0
		L grant op=1 token=41 lease=91cd owner=A expires=10 t=0
		A ok acquire op=1 token=41 lease=91cd t=0
		A invoke write op=2 token=41 lease=91cd value=10 t=1
		A send to=store message=1 t=1
		A partition to=L text=for_20s t=2
		L expire op=1 token=41 lease=91cd owner=A t=10
		B invoke acquire op=3 t=11
		L grant op=3 token=42 lease=77aa owner=B expires=21 t=11
		B ok acquire op=3 token=42 lease=77aa t=11
		B invoke write op=4 token=42 lease=77aa value=20 t=12
		B send to=store message=7 t=12
		B deliver to=store message=7 t=12
		store apply op=4 token=42 lease=77aa highest=42 t=12
		B ok write op=4 token=42 t=13
		A deliver to=store message=1 t=37
		store apply op=2 token=41 lease=91cd highest=42 t=37
		A ok write op=2 token=41 t=38
		B invoke read op=5 token=42 lease=77aa t=39
		store served op=5 token=42 t=39
		B ok read op=5 token=42 value=10 t=39
	`},
	{"sent-without-token", "no-stale-write", timed, `
		L grant op=1 token=41 lease=91cd owner=A expires=10 t=0
		A invoke write op=2 token=41 lease=91cd value=10 t=1
		A send to=store op=2 message=1 t=1
		L expire op=1 token=41 lease=91cd owner=A t=10
		L grant op=3 token=42 lease=77aa owner=B expires=21 t=11
		B invoke write op=4 token=42 lease=77aa value=20 t=12
		B send to=store op=4 token=42 message=7 t=12
		B deliver to=store op=4 token=42 message=7 t=12
		store apply op=4 token=42 lease=77aa highest=42 t=12
		B ok write op=4 token=42 t=13
		A deliver to=store op=2 message=1 t=37
		store apply op=2 token=41 lease=91cd highest=42 t=37
	`},
	{"sent-without-token-unnoted", "no-stale-write", timed, `
		L grant op=1 token=41 lease=91cd owner=A expires=10 t=0
		A invoke write op=2 token=41 lease=91cd value=10 t=1
		A send to=store op=2 message=1 t=1
		L expire op=1 token=41 lease=91cd owner=A t=10
		L grant op=3 token=42 lease=77aa owner=B expires=21 t=11
		B invoke write op=4 token=42 lease=77aa value=20 t=12
		B send to=store op=4 token=42 message=7 t=12
		B deliver to=store op=4 token=42 message=7 t=12
		store apply op=4 token=42 lease=77aa t=12
		B ok write op=4 token=42 t=13
		A deliver to=store op=2 message=1 t=37
		store apply op=2 token=41 lease=91cd t=37
	`},
	{"clients-alone", "linearizable", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=41 lease=91cd
		B invoke acquire op=3
		B ok acquire op=3 token=42 lease=77aa
		B invoke write op=4 token=42 lease=77aa value=20
		B ok write op=4 token=42
		A invoke write op=2 token=41 lease=91cd value=10
		A ok write op=2 token=41
		B invoke read op=5 token=42
		B ok read op=5 token=42 value=10
	`},
	{"read-of-a-stale-write", "linearizable", timed, `
		A invoke write op=1 token=41 value=10
		B invoke write op=2 token=42 value=20
		B ok write op=2 token=42
		A ok write op=1 token=41
		B invoke read op=3 token=42
		B ok read op=3 token=42 value=10
	`},
	{"store-forgets", "no-stale-write", timed, `
		L grant op=1 token=1 lease=a owner=A
		L released op=9 token=1 lease=a owner=A
		L grant op=3 token=2 lease=b owner=B
		B invoke raise op=4 token=2 lease=b
		store raised op=4 token=2 lease=b highest=2
		B ok raise op=4 token=2
		store crash text=and_lost_its_unsynced_data
		store restart
		A invoke write op=2 token=1 lease=a value=10
		A deliver to=store message=3 op=2 copy=1
		store apply op=2 token=1 lease=a highest=1
	`},
	{"counter-lost", "token-order", timed, `
		A invoke acquire op=1
		L grant op=1 token=7 lease=a owner=A
		L expire token=7 lease=a owner=A
		L crash
		L restart text=from_a_snapshot
		L clock text=back_by_1h
		B invoke acquire op=2
		L grant op=2 token=7 lease=b owner=B
	`},
	{"renewal-raises", "renewal-keeps-token", timed, `
		L grant op=1 token=1 lease=a owner=A
		L renewed op=2 token=1 lease=a owner=A
		A invoke renew op=3 token=1 lease=a
		L renewed op=3 token=2 lease=a owner=A
	`},
	{"two-in-force", "exclusive-grant", timed, `
		L grant op=1 token=1 lease=a owner=A expires=60
		L renewed op=2 token=1 lease=a owner=A expires=90
		L clock text=forward_by_1h
		L grant op=3 token=2 lease=b owner=B expires=99
	`},
	{"two-in-force-clients", "exclusive-grant", timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		B invoke acquire op=2
		B ok acquire op=2 token=2 lease=b
		A invoke renew op=3 token=1 lease=a
		A ok renew op=3 token=1 lease=a
	`},
	{"poisoned", "no-false-fencing", timed, `
		L grant op=1 token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		Z invoke write op=7 token=999 value=0
		store apply op=7 token=999 highest=999
		L grant op=2 token=2 lease=b owner=B
		B invoke write op=3 token=2 lease=b value=5
		B deliver to=store message=4 op=3
		store reject op=3 token=2 lease=b highest=999 rejections=1
		B fail write op=3 token=2 stale=999
	`},
	{"self-fencing", "no-false-fencing", timed, `
		L grant op=1 token=1 lease=a owner=A
		A invoke write op=2 token=1 lease=a value=5
		store apply op=2 token=1 lease=a highest=1
		A invoke write op=3 token=1 lease=a value=6
		store reject op=3 token=1 lease=a highest=1
	`},
	{"does-not-give-up", "gives-up", timed, `
		L grant op=1 token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant op=2 token=2 lease=b owner=B
		A invoke write op=3 token=1 lease=a value=5
		store reject op=3 token=1 lease=a highest=2
		A fail write op=3 token=1 lease=a stale=2
		A invoke write op=4 token=1 lease=a value=5
	`},
	{"within-a-hold", "lease", history.Header{}, `
		2 invoke acquire op=1 r=shelly
		2 ok acquire op=1 r=shelly lease=fzc7
		3 invoke acquire op=2 r=shelly
		3 ok acquire op=2 r=shelly lease=2lvc
		2 invoke renew op=3 r=shelly
		2 ok renew op=3 r=shelly lease=fzc7
	`},
	{"lost-lock", "mutex", history.Header{}, `
		3 invoke acquire op=1 r=
		3 ok acquire op=1 r=
		3 invoke release op=2 r=
		0 invoke acquire op=3 r=
		0 ok acquire op=3 r=
		3 fail release op=2 r= error=requested-lease-not-found
	`},
	{"tokens-go-back", "token-source", history.Header{}, `
		1 invoke acquire op=1 r=
		1 ok acquire op=1 r= token=7
		2 invoke acquire op=2 r=
		2 ok acquire op=2 r= token=5
	`},
	{"lost-update", "no-lost-update", timed, `
		A invoke acquire op=1
		L grant op=1 token=1 lease=a owner=A expires=10
		A ok acquire op=1 token=1 lease=a
		A invoke write op=2 token=1 lease=a value=10
		A send to=store message=7 op=2
		L expire token=1 lease=a owner=A t=10
		L grant op=3 token=2 lease=b owner=B t=11 expires=21
		B invoke read op=4 token=2 lease=b t=12
		store served op=4 token=2 lease=b owner=B value=0 t=12
		B ok read op=4 token=2 value=0 t=12
		A deliver to=store message=7 op=2 t=13
		store apply op=2 token=1 lease=a owner=A value=10 highest=1 t=13
		B invoke write op=5 token=2 lease=b value=1 basis=4 t=14
		B send to=store message=9 op=5 t=14
		B deliver to=store message=9 op=5 t=14
		store apply op=5 token=2 lease=b owner=B value=1 highest=2 basis=4 t=14
	`},
	{"fence-lost", "fence-survives", timed, `
		L grant op=1 token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant op=2 token=2 lease=b owner=B
		B invoke write op=3 token=2 lease=b value=20
		store apply op=3 token=2 lease=b owner=B value=20 highest=2
		B ok write op=3 token=2
		store crash text=restarts_after_100ms_at_before_sync
		store restart text=and_lost_what_was_not_synced
		A invoke write op=4 token=1 lease=a value=10
		A deliver to=store message=9 op=4
		store apply op=4 token=1 lease=a owner=A value=10 highest=1
	`},
	{"write-lost", "fence-survives", timed, `
		L grant op=1 token=1 lease=a owner=A
		A invoke write op=3 token=1 lease=a value=20
		store apply op=3 token=1 lease=a owner=A value=20 highest=1
		A ok write op=3 token=1
		store crash text=restarts_after_100ms
		store restart
		A invoke read op=4 token=1 lease=a
		store served op=4 token=1 lease=a owner=A value=0 highest=1
		A ok read op=4 token=1 value=0
	`},
	{"stalled-between", "no-stale-write", timed, `
		L grant op=1 token=1 lease=a owner=A
		A invoke write op=2 token=1 lease=a value=10
		A deliver to=store message=3 op=2
		store pause text=one_task_for_12s_at_between_check_and_write
		L expire token=1 lease=a owner=A
		L grant op=3 token=2 lease=b owner=B
		B invoke write op=4 token=2 lease=b value=20
		store apply op=4 token=2 lease=b owner=B value=20 highest=2
		store apply op=2 token=1 lease=a owner=A value=10 highest=2
	`},
	{"applied-twice", "linearizable", timed, `
		L grant op=1 token=1 lease=a owner=A
		A invoke write op=2 token=1 lease=a value=10
		A send to=store message=3 op=2
		store deliver to=store message=3 op=2
		store apply op=2 token=1 lease=a owner=A value=10 highest=1
		A ok write op=2 token=1
		A invoke write op=3 token=1 lease=a value=11
		store apply op=3 token=1 lease=a owner=A value=11 highest=1
		A ok write op=3 token=1
		store deliver to=store message=3 op=2 copy=1
		store apply op=2 token=1 lease=a owner=A value=10 highest=1
		A invoke read op=4 token=1 lease=a
		store served op=4 token=1 lease=a owner=A value=10 highest=1
		A ok read op=4 token=1 value=10
	`},
	{"wrong-lease", "lease-identity", timed, `
		L grant op=1 token=1 lease=a owner=A
		L expire token=1 lease=a owner=A
		L grant op=2 token=2 lease=b owner=A/2
		A invoke release op=3 token=1 lease=a
		A send to=L message=5 op=3
		L deliver to=L message=5 op=3
		L released op=3 token=2 lease=b owner=A/2
	`},
	{"a-value-within-another", "register", history.Header{}, `
		0 invoke write op=1 r= value=1
		0 ok write op=1 r= value=1
		1 invoke write op=2 r= value=2
		1 ok write op=2 r= value=2
		0 invoke read op=3 r=
		0 ok read op=3 r= value=1
	`},
	{"two-values-at-once", "register", history.Header{}, `
		0 invoke write op=1 r= value=1
		1 invoke write op=2 r= value=2
		2 invoke read op=3 r=
		2 ok read op=3 r= value=1
		3 invoke read op=4 r=
		3 ok read op=4 r= value=2
		2 invoke read op=5 r=
		2 ok read op=5 r= value=1
		3 invoke read op=6 r=
		3 ok read op=6 r= value=2
	`},
	{"never-written", "register", history.Header{}, `
		0 invoke write op=1 r= value=1
		0 ok write op=1 r= value=1
		1 invoke read op=2 r=
		1 ok read op=2 r= value=7
		1 invoke write op=3 r= value=7
		1 ok write op=3 r= value=7
	`},
	{"lock-released-too-late", "mutex", history.Header{}, `
		0 invoke acquire op=1 r=
		0 ok acquire op=1 r=
		1 invoke acquire op=2 r=
		1 ok acquire op=2 r=
		0 invoke release op=3 r=
		0 ok release op=3 r=
	`},
	{"stale-read-of-a-register", "cas-register", history.Header{}, `
		0 invoke write op=1 r= value=1
		0 ok write op=1 r= value=1
		1 invoke write op=2 r= value=2
		1 info write op=2 r= error=timed-out
		2 invoke cas op=3 r= expect=1 value=3
		2 ok cas op=3 r= expect=1 value=3
		0 invoke read op=4 r=
		0 ok read op=4 r= value=1
	`},
}

func TestExplain(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			h := parse(t, s.header, s.events)
			opt := Options{}
			if _, err := lookupModel(s.property); err == nil {
				opt.Model = s.property
			}
			r, err := Check(h, opt)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, v := range r.Violations {
				if v.Property == s.property {
					got = tell(Explain(h, v))
				}
			}
			if got == "" {
				t.Fatalf("%s is not violated: %+v", s.property, r.Results)
			}
			golden(t, filepath.Join("testdata", "explain", s.name+".golden"), got)
		})
	}
}

// TestStaleReadIsSure: a stale write is named only where the value that was read can
// be of no other.
func TestStaleReadIsSure(t *testing.T) {
	const newer = `
		B invoke write op=2 token=42 value=20
		B ok write op=2 token=42`
	for _, c := range []struct {
		reason, events string
		want           bool
	}{
		{"one write of the value, overtaken", `
		A invoke write op=1 token=41 value=10` + newer + `
		A ok write op=1 token=41`, true},
		{"of unknown outcome", `
		A invoke write op=1 token=41 value=10
		A info write op=1 token=41` + newer, true},
		{"it was refused", `
		A invoke write op=1 token=41 value=10` + newer + `
		A fail write op=1 token=41 error=stale`, false},
		{"two writes of the value", `
		A invoke write op=1 token=41 value=10
		A invoke write op=4 token=41 value=10` + newer, false},
		{"a compare-and-set besides", `
		A invoke write op=1 token=41 value=10
		A invoke cas op=4 token=41 expect=1 value=2` + newer, false},
		{"of another resource", `
		A invoke write op=1 token=41 r=other value=10` + newer, false},
		{"the newer one has no answer yet", `
		A invoke write op=1 token=41 value=10
		B invoke write op=2 token=42 value=20`, false},
		{"the greater token is its own", newer + `
		A invoke write op=1 token=43 value=10`, false},
		{"no token", `
		A invoke write op=1 value=10` + newer, false},
	} {
		h := parse(t, timed, c.events+`
		B invoke read op=3 token=42
		B ok read op=3 token=42 value=10
		`)
		n := h.Events[len(h.Events)-1].Index
		f := Explain(h, Violation{Property: "linearizable", Message: "m", Events: []int64{n - 1, n}})
		if got := strings.Contains(f.Cause, "the store took the stale write"); got != c.want {
			t.Errorf("%s: expected %t, found %q", c.reason, c.want, f.Cause)
		}
	}
}

// Whatever breaks, the chain is in order, says something of every quoted event
// and ends where the guarantee broke.
func TestEveryViolationIsExplained(t *testing.T) {
	for _, tt := range verdicts {
		if tt.want == "" {
			continue
		}
		h := parse(t, tt.header, tt.events)
		v := judge(t, tt.property, h).Violation
		f := Explain(h, *v)
		if f.Guarantee == "" {
			t.Errorf("%s, %s: no guarantee", tt.property, tt.reason)
		}
		told := make(map[int64]bool)
		last := int64(0)
		for _, l := range f.Chain {
			if l.Index <= last || l.Text == "" {
				t.Errorf("%s, %s: link %+v after #%d", tt.property, tt.reason, l, last)
			}
			last = l.Index
			told[last] = true
		}
		for _, index := range v.Events {
			if !told[index] {
				t.Errorf("%s, %s: #%d is quoted and not told: %+v", tt.property, tt.reason, index, f.Chain)
			}
		}
		if want := v.Events[len(v.Events)-1]; last != want {
			t.Errorf("%s, %s: the chain ends at #%d, want #%d", tt.property, tt.reason, last, want)
		}
	}
}

func TestExplainBadInput(t *testing.T) {
	v := Violation{Property: "no-such-property", Message: "m", Events: []int64{-5, 3, 1 << 62}}
	for _, h := range []*history.History{{}, {Events: make([]history.Event, 5)}} {
		if f := Explain(h, v); len(f.Chain) != 0 || f.Message != "m" {
			t.Errorf("got %+v, want the bare violation", f)
		}
	}
	write := history.Event{Index: 2, Process: "A", Type: history.OK, F: history.Write, Op: 1, Resource: "r", Value: history.IntValue(5)}
	read := history.Event{Index: 1, Process: "A", Type: history.Invoke, F: history.Read, Op: 1, Resource: "r"}
	v = Violation{Property: "linearizable", Message: "m", Events: []int64{2}}
	if f := Explain(&history.History{Events: []history.Event{read, write}}, v); f.Message != "m" || f.Cause != "" {
		t.Errorf("a write that began as a read: got %+v, want no cause", f)
	}
}

func tell(f Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", f.Message, f.Guarantee)
	if f.Harm+f.Cause != "" {
		fmt.Fprintf(&b, "at #%d: %s\n%s\n\n", f.At, f.Harm, f.Cause)
	}
	for i, l := range f.Chain {
		fmt.Fprintf(&b, "%2d. #%-3d %6s  %s\n", i+1, l.Index, time.Duration(l.Time), l.Text)
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
