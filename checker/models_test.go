package checker

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

func TestRegisters(t *testing.T) {
	tests := []struct {
		reason string
		model  string
		init   history.Value
		events string
		want   string // the violation; empty is satisfied
	}{
		{"a read of the last value", "register", history.Value{}, `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			1 invoke read op=2
			1 ok read op=2 value=1
		`, ""},
		{"a read of an overwritten value", "register", history.Value{}, `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			0 invoke write op=2 value=2
			0 ok write op=2 value=2
			1 invoke read op=3
			1 ok read op=3 value=1
		`, "no order of the operations explains read -> 1 by process 1, #5 to #6 (orders/7)"},
		{"resources are judged apart", "register", history.Value{}, `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			1 invoke read op=2 r=orders/8
			1 ok read op=2 value=nil r=orders/8
		`, ""},
		{"an unknown write is seen and unseen: it happened in between", "register", history.Value{}, `
			0 invoke write op=1 value=1
			0 info write op=1 value=1
			1 invoke read op=2
			1 ok read op=2 value=nil
			1 invoke read op=3
			1 ok read op=3 value=1
		`, ""},
		{"an unknown write is seen and then unseen", "register", history.Value{}, `
			0 invoke write op=1 value=1
			0 info write op=1 value=1
			1 invoke read op=2
			1 ok read op=2 value=1
			1 invoke read op=3
			1 ok read op=3 value=nil
		`, "no order of the operations explains read -> nil by process 1, #5 to #6 (orders/7)"},
		{"a write that never ended may have happened", "register", history.Value{}, `
			0 invoke write op=1 value=1
			1 invoke read op=2
			1 ok read op=2 value=1
		`, ""},
		{"a write of unknown outcome cannot come before it began, however old its reader", "register", history.Value{}, `
			0 invoke read op=1
			1 invoke write op=2 value=2
			1 ok write op=2 value=2
			2 invoke write op=3 value=1
			0 ok read op=1 value=1
			1 invoke read op=4
			1 ok read op=4 value=2
		`, "no order of the operations explains read -> 2 by process 1, #6 to #7 (orders/7)"},
		{"a failed write did not happen", "register", history.Value{}, `
			0 invoke write op=1 value=1
			0 fail write op=1 value=1
			1 invoke read op=2
			1 ok read op=2 value=1
		`, "no order of the operations explains read -> 1 by process 1, #3 to #4 (orders/7); the write 1 by process 0, #1 to #2, failed, and nobody else wrote that value"},
		{"a write that failed after it was read", "register", history.Value{}, `
			0 invoke write op=1 value=1
			1 invoke read op=2
			1 ok read op=2 value=1
			0 fail write op=1 value=1
		`, "no order of the operations explains read -> 1 by process 1, #2 to #3 (orders/7); the write 1 by process 0, #1 to #4, failed, and nobody else wrote that value"},
		{"a failed write of what another one wrote is no culprit", "register", history.Value{}, `
			0 invoke write op=1 value=1
			0 fail write op=1 value=1
			0 invoke write op=3 value=1
			0 ok write op=3 value=1
			0 invoke write op=4 value=2
			0 ok write op=4 value=2
			1 invoke read op=2
			1 ok read op=2 value=1
		`, "no order of the operations explains read -> 1 by process 1, #7 to #8 (orders/7)"},
		{"the initial value is read before any write", "register", history.IntValue(7), `
			1 invoke read op=2
			1 ok read op=2 value=7
		`, ""},
		{"a delete restores the initial value", "register", history.IntValue(7), `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			0 invoke delete op=2
			0 ok delete op=2
			1 invoke read op=3
			1 ok read op=3 value=7
		`, ""},
		{"nil that nothing wrote is the register before it was set", "register", history.IntValue(7), `
			1 invoke read op=2
			1 ok read op=2 value=nil
		`, ""},
		{"nil after a write is nil", "register", history.IntValue(7), `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			1 invoke read op=2
			1 ok read op=2 value=nil
		`, "no order of the operations explains read -> nil by process 1, #3 to #4 (orders/7)"},
		{"nil after a delete is the register before it was set", "register", history.IntValue(7), `
			0 invoke write op=1 value=1
			0 ok write op=1 value=1
			0 invoke delete op=3
			0 ok delete op=3
			1 invoke read op=2
			1 ok read op=2 value=nil
		`, ""},
		{"nil that was written is a value", "register", history.IntValue(7), `
			1 invoke read op=2
			1 ok read op=2 value=nil
			0 invoke write op=1 value=nil
			0 ok write op=1 value=nil
		`, "no order of the operations explains read -> nil by process 1, #1 to #2 (orders/7)"},
		{"a cas that succeeds on another value", "cas-register", history.Value{}, `
			0 invoke cas op=1 expect=3 value=4
			0 ok cas op=1 expect=3 value=4
		`, "no order of the operations explains cas 3 to 4 -> ok by process 0, #1 to #2 (orders/7)"},
		{"a cas that fails on the value it expects", "cas-register", history.IntValue(3), `
			0 invoke cas op=1 expect=3 value=4
			0 fail cas op=1 expect=3 value=4 error=mismatch
		`, "no order of the operations explains cas 3 to 4 -> another value by process 0, #1 to #2 (orders/7)"},
		{"a cas that gives another reason may fail on any", "cas-register", history.IntValue(3), `
			0 invoke cas op=1 expect=3 value=4
			0 fail cas op=1 expect=3 value=4 error=unavailable
		`, ""},
		{"so may one that gives none", "cas-register", history.IntValue(3), `
			0 invoke cas op=1 expect=3 value=4
			0 fail cas op=1 expect=3 value=4
		`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			r, err := Check(parse(t, history.Header{}, tt.events), Options{Model: tt.model, Init: tt.init})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if v := r.Results[0].Violation; v != nil {
				got = strings.TrimPrefix(v.Message, "broke "+tt.model+": ")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violation (-want +got):\n%s", diff)
			}
			if (r.Outcome == Violated) != (tt.want != "") {
				t.Errorf("got %s", r.Outcome)
			}
		})
	}
}

// TestRecordedVerdicts judges histories recorded from real systems, from the
// folder that STALEPROOF_HISTORIES names. Its README states the verdicts.
func TestRecordedVerdicts(t *testing.T) {
	dir := os.Getenv("STALEPROOF_HISTORIES")
	if dir == "" {
		t.Skip("STALEPROOF_HISTORIES names no folder of recorded histories")
	}
	zero := history.IntValue(0)
	tests := []struct {
		file, model string
		init        history.Value
		want        Outcome
		says        string // part of the message
	}{
		{"mutex/etcd.edn", "mutex", zero, Violated, "process 0 acquired the lock at #1119 while process 3 held it, acquired at #1109 and not released"},
		{"mutex/etcd.edn", "lease", zero, Satisfied, ""},
		{"cas-register/bad-analysis.edn", "cas-register", zero, Violated, ""},
		{"cas-register/cas-failure.edn", "cas-register", zero, Violated, ""},
		{"cas-register/rethink-fail-minimal.edn", "cas-register", zero, Violated, ""},
		{"cas-register/memstress3-0.edn", "cas-register", zero, Satisfied, ""},
		{"cas-register/memstress3-15.edn", "cas-register", zero, Satisfied, ""},
		{"cas-register/memstress3-30.edn", "cas-register", zero, Satisfied, ""},
		{"cas-register/mongodb-v0-ack-rollback-2.edn", "cas-register", zero, Satisfied, ""},
		{"cas-register/mongodb-v0-ack-rollback-10.edn", "cas-register", zero, Satisfied, ""},
		{"cas-register/cas-register-bug.edn", "cas-register", zero, Satisfied, ""},
		{"lease/lock_test_without_nemesis_76ee80bd.json", "lease", zero, Violated, "in all, 162 grants lie within another client's proven hold"},
		{"lease/lock_test_without_nemesis_eed5dd29.json", "lease", zero, Violated, "in all, 39 grants lie within another client's proven hold"},
		{"token-source/timestamp_correct_history.json", "token-source", zero, Satisfied, ""},
	}
	judged := make(map[string]bool)
	for _, tt := range tests {
		judged[tt.file] = true
		h, err := history.Open(filepath.Join(dir, tt.file), history.Reading{})
		if err != nil {
			t.Error(err)
			continue
		}
		r, err := Check(h, Options{Model: tt.model, Init: tt.init})
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
			continue
		}
		message := ""
		if r.Results[0].Violation != nil {
			message = r.Results[0].Violation.Message
		}
		if r.Outcome != tt.want || !strings.Contains(message, tt.says) {
			t.Errorf("%s as %s: got %s, want %s (%q): %s", tt.file, tt.model, r.Outcome, tt.want, tt.says, message)
		}
		if guess, err := Check(h, Options{Init: tt.init}); err != nil || guess.Outcome != tt.want && tt.model != "mutex" {
			t.Errorf("%s as %s, which was guessed: got %s, %v, want %s", tt.file, guess.Model, guess.Outcome, err, tt.want)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.*"))
	for _, file := range files {
		if name, _ := filepath.Rel(dir, file); !judged[filepath.ToSlash(name)] {
			t.Errorf("no verdict is stated for %s", name)
		}
	}
}

func TestGuess(t *testing.T) {
	tests := []struct{ name, events, model, err string }{
		{"tokens", "A invoke write op=1 token=1 value=3", "fenced", ""},
		{"notes", "store apply op=1", "fenced", ""},
		{"cas", "A invoke cas op=1 expect=1 value=3", "cas-register", ""},
		{"reads and writes", "A invoke write op=1 value=3", "register", ""},
		{"nothing", "", "", "cannot guess the model: the history has no events"},
		{"locks alone", "A invoke acquire op=1", "lease", ""},
		{"leases with identities", "A invoke acquire op=1\nA ok acquire op=1 lease=a\nA invoke renew op=2 lease=a", "lease", ""},
		{"leases with tokens have more to judge", "A invoke acquire op=1\nA ok acquire op=1 token=1\nA invoke renew op=2 token=1", "fenced", ""},
		{"leases and what they protect", "A invoke acquire op=1\nA ok acquire op=1 lease=a\nA invoke write op=2 value=1", "fenced", ""},
		{"tokens that are only handed out", "A invoke acquire op=1 r=\nA ok acquire op=1 token=1 r=", "token-source", ""},
		{"tokens of a lock that has a name", "A invoke acquire op=1\nA ok acquire op=1 token=1", "fenced", ""},
		{"a lock and what it protects", "A invoke acquire op=1\nA invoke write op=2 value=1", "mutex", ""},
		{"a lease and what it protects", "A invoke renew op=1\nA invoke write op=2 value=1", "lease", ""},
		{"no operation", "A pause", "", "cannot guess the model: expected operations on a lock or a register, found none; name a model"},
	}
	for _, tt := range tests {
		r, err := Check(parse(t, history.Header{}, tt.events), Options{})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.err || r.Model != tt.model || r.Guessed != (tt.err == "") {
			t.Errorf("%s: got %q, %q, guessed %v", tt.name, r.Model, got, r.Guessed)
		}
	}
}

func TestUnknownModel(t *testing.T) {
	_, err := Check(&history.History{}, Options{Model: "cas-registre"})
	if err == nil || !strings.HasPrefix(err.Error(), `unknown model "cas-registre": did you mean cas-register?`) {
		t.Errorf("got %v", err)
	}
}

// The whole of a checked history is judged the same every time.
func TestCheckRepeats(t *testing.T) {
	dir, _ := etcdVerdicts(t)
	h := openEtcd(t, dir, 1)
	first, err := Check(h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := Check(h, Options{})
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Errorf("%v, (-first +again):\n%s", err, diff)
		}
	}
}

// Recorders need not repeat the token in an operation's end.
func TestCheckCompletesEnds(t *testing.T) {
	h := parse(t, timed, `
		A invoke acquire op=1
		A ok acquire op=1 token=1 lease=a
		A invoke write op=2 token=1 lease=a value=5
		A fail write op=2 r= stale=2
		A invoke write op=3 token=1 lease=a value=5
	`)
	var c completer
	for i := range h.Events {
		e := c.complete(&h.Events[i])
		if i == 3 && (e.Token != 1 || e.Lease != "a" || e.Resource != "orders/7") {
			t.Errorf("the end is completed to token %d, lease %q, resource %q", e.Token, e.Lease, e.Resource)
		}
	}
	r, err := Check(h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var broken []string
	for _, v := range r.Violations {
		broken = append(broken, v.Property)
	}
	slices.Sort(broken)
	if diff := cmp.Diff([]string{"gives-up", "linearizable", "no-false-fencing"}, broken); diff != "" {
		t.Errorf("broken (-want +got):\n%s", diff)
	}
}

// What an operation had to lend is forgotten at its end: a long history is judged in
// bounded memory, and a number that is used again lends nothing of old.
func TestCompleterForgets(t *testing.T) {
	var c completer
	for op := int64(1); op <= 100; op++ {
		c.complete(&history.Event{Type: history.Invoke, F: history.Write, Op: op, Resource: "x", Token: 7})
		end := history.Event{Type: history.OK, F: history.Write, Op: op}
		if got := c.complete(&end); got.Resource != "x" || got.Token != 7 {
			t.Fatalf("the end of operation %d was lent %q and token %d", op, got.Resource, got.Token)
		}
		if got := c.complete(&end); got.Resource != "" {
			t.Fatalf("a second end of operation %d was lent %q", op, got.Resource)
		}
	}
	if c.open.used != 0 || len(c.open.ops) > 1 {
		t.Errorf("%d operations are open, in %d places", c.open.used, len(c.open.ops))
	}
}

// A deleted resource reads as if it had never been written, whatever that is.
func TestDeleteRestoresTheInitialValue(t *testing.T) {
	for _, notes := range []string{"with", "without"} {
		text := `
			A invoke write op=1 token=1 value=5
			store apply op=1 token=1
			A ok write op=1 token=1
			A invoke delete op=2 token=1
			store apply op=2 token=1
			A ok delete op=2 token=1
			A invoke read op=3 token=1
			store served op=3 token=1
			A ok read op=3 token=1 value=7`
		h := parse(t, timed, text)
		if notes == "without" {
			h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool { return e.Type == history.Note })
		}
		s, err := Config{Header: timed, View: sight(h), Init: history.IntValue(7)}.New([]string{"linearizable"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Events {
			s.Observe(&h.Events[i])
		}
		if s.Suspicious() != (notes == "without") {
			t.Errorf("%s notes: suspicious %v", notes, s.Suspicious())
		}
		if r := s.Finish()[0]; r.Outcome != Satisfied {
			t.Errorf("%s notes: %s: %s", notes, r.Outcome, r.Violation.Message)
		}
	}
}

// slowSource reads a history from memory as if from a file.
type slowSource struct {
	h    *history.History
	next int
	fail int // the position at which reading fails; 0 is never
}

func (s *slowSource) Header() history.Header { return s.h.Header }

func (s *slowSource) Next(e *history.Event) error {
	if s.next == len(s.h.Events) {
		return io.EOF
	}
	if s.next++; s.next == s.fail {
		return errors.New("line 7: expected an event")
	}
	*e = s.h.Events[s.next-1]
	return nil
}

// A history read from a file is judged as the same one in memory.
func TestCheckSource(t *testing.T) {
	for _, tt := range verdicts {
		h := parse(t, tt.header, tt.events)
		want, wantErr := Check(h, Options{})
		got, err := CheckSource(func() (history.Source, error) { return &slowSource{h: h}, nil }, Options{})
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %v (-memory +file):\n%s", tt.reason, err, diff)
		}
	}
}

func TestCheckSourceFails(t *testing.T) {
	h := parse(t, timed, "A invoke write op=1 token=1\nA ok write op=1 token=1\nA invoke write op=2 token=0\nA ok write op=2 token=0")
	opened := 0
	for failing := 1; failing <= 3; failing++ {
		opened = 0
		r, err := CheckSource(func() (history.Source, error) {
			opened++
			s := &slowSource{h: h}
			if opened == failing+1 { // the first is opened for the header
				s.fail = 2
			}
			return s, nil
		}, Options{})
		switch failing {
		case 3: // the search reads once more
			if err != nil || r.Outcome != Inconclusive {
				t.Errorf("reading again fails: %v, %s", err, r.Outcome)
			}
		default:
			if err == nil || err.Error() != "line 7: expected an event" {
				t.Errorf("pass %d fails: got %v", failing, err)
			}
		}
	}
	_, err := CheckSource(func() (history.Source, error) { return nil, errors.New("no such file") }, Options{})
	if err == nil || err.Error() != "no such file" {
		t.Errorf("got %v, want no such file", err)
	}
}
