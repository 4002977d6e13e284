package fuzz

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"staleproof/model"
	"staleproof/scenarios"
	"staleproof/sim"
)

func mustLookup(tb testing.TB, name string) *scenarios.Scenario {
	sc, err := scenarios.Lookup(name)
	if err != nil {
		tb.Fatal(err)
	}
	return sc
}

// BenchmarkPlan draws a plan from its seed with rapid; compare with
// BenchmarkFlagship of package scenarios.
func BenchmarkPlan(b *testing.B) {
	at := At(mustLookup(b, "textbook"))
	seed := uint64(0)
	for b.Loop() {
		at(seed)
		seed++
	}
}

// TestCure: no plan that rapid draws breaks the textbook protocol.
func TestCure(t *testing.T) {
	property, done, err := Property(mustLookup(t, "textbook"), scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	rapid.Check(t, property)
}

// recorder is the test that a rapid.Check inside a test reports to.
type recorder struct {
	testing.TB
	log    strings.Builder
	failed bool
}

// stop ends the inner test's goroutine, as testing.T does.
func (r *recorder) stop() { runtime.Goexit() }

func (r *recorder) Helper()                           {}
func (r *recorder) Name() string                      { return "TestDefect" }
func (r *recorder) Logf(format string, args ...any)   { fmt.Fprintf(&r.log, format+"\n", args...) }
func (r *recorder) Log(args ...any)                   { fmt.Fprintln(&r.log, args...) }
func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.failed = true }
func (r *recorder) Error(args ...any)                 { r.Log(args...); r.failed = true }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); r.stop() }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); r.stop() }
func (r *recorder) FailNow()                          { r.failed = true; r.stop() }
func (r *recorder) Fail()                             { r.failed = true }
func (r *recorder) Failed() bool                      { return r.failed }

// checkedBy runs rapid.Check on a property and returns what it logs; "" if it passes.
func checkedBy(t *testing.T, opt scenarios.Options) string {
	t.Helper()
	property, done, err := Property(mustLookup(t, "textbook"), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	checks := "1000"
	if testing.Short() { // rapid makes a fifth of them then, and the seed is chosen for 1,000
		checks = "5000"
	}
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.seed": "1", "rapid.checks": checks} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{TB: t}
	ended := make(chan bool)
	go func() { // a failing check ends its goroutine
		defer close(ended)
		rapid.Check(r, property)
	}()
	<-ended
	if !r.failed {
		return ""
	}
	return r.log.String()
}

// between returns what stands in a text between two others.
func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

// TestDefect: rapid.Check finds the planted defect, and its failure can be read
// and replayed.
func TestDefect(t *testing.T) {
	opt := scenarios.Options{Defects: model.StoreIgnoresToken}
	out := checkedBy(t, opt)
	for _, want := range []string{"broke no-stale-write: token", "1. #", "reached the store", "what differs from the calm run", "staleproof replay 'sp1:"} {
		if flat := strings.Join(strings.Fields(out), " "); !strings.Contains(flat, want) {
			t.Errorf("expected the failure to say %q:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if len(line) > 80 && !strings.Contains(line, "sp1:") {
			t.Errorf("expected lines of at most 80 columns, found %q", line)
		}
	}
	rec, err := scenarios.ParseToken(between(out, "staleproof replay '", "'"))
	if err != nil {
		t.Fatal(err)
	}
	runner, err := scenarios.NewRunner(mustLookup(t, "textbook"), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	o := runner.Replay(&rec.Params, rec.Schedule)
	if o.Result.Digest != rec.Digest || len(o.Violations) == 0 {
		t.Errorf("expected the token to reproduce the failure, found %v", o.Violations)
	}
	if len(rec.Schedule) > 3 {
		t.Errorf("expected at most 3 decisions, found %d", len(rec.Schedule))
	}
}

// twoStep is a user's store that checks in one step and writes in the next.
type twoStep struct {
	highest model.Token
	yields  int // between them
}

func (s *twoStep) Write(p *sim.Proc, r model.Request) model.Reply {
	if r.Token < s.highest {
		return model.Stale(s.highest)
	}
	for range s.yields {
		p.Yield("between")
	}
	s.highest = r.Token
	return model.OK(r.Value)
}

// TestUsersStore: what a user's store breaks is run again by the same test with the
// variable that the failure names, and the test says so if the store has changed.
func TestUsersStore(t *testing.T) {
	store := func(yields int) scenarios.Options {
		return scenarios.Options{NewStore: func() sim.Handler { return model.Serve(&twoStep{yields: yields}) }}
	}
	out := checkedBy(t, store(1))
	token := between(out, "to see it again:\n  "+scenarios.ReplayVariable+"='", "' go test -run '^TestDefect$'")
	if !strings.HasPrefix(token, "sp1:") {
		t.Fatalf("expected a command that shows it again, found:\n%s", out)
	}
	for _, c := range []struct {
		reason, token string
		yields        int
		want          string
	}{
		{"the same again", token, 1, between(out, "broke ", "\n")},
		{"another store", token, 0, "the code under test has changed"},
		{"no token", "sp1:x", 1, "replay token: "},
	} {
		t.Setenv(scenarios.ReplayVariable, c.token)
		if again := checkedBy(t, store(c.yields)); !strings.Contains(again, c.want) || strings.Contains(again, "draw plan") {
			t.Errorf("%s: expected %q and no plan, found:\n%s", c.reason, c.want, again)
		}
	}
}

// moody is a store that remembers runs that are over.
type moody struct{ requests *int }

func (s moody) Write(p *sim.Proc, r model.Request) model.Reply {
	*s.requests++
	p.Sleep(time.Duration(*s.requests) * time.Microsecond)
	return model.OK(r.Value)
}

// TestNondeterminism: one pass in twenty is run twice here too.
func TestNondeterminism(t *testing.T) {
	s := moody{new(int)}
	opt := scenarios.Options{Properties: []string{"token-order"}, NewStore: func() sim.Handler { return model.Serve(s) }}
	if out := checkedBy(t, opt); !strings.Contains(out, "the same schedule gave another run") {
		t.Errorf("expected the store to be reported, found:\n%s", out)
	}
}

// TestAtIsStable: the plan of a seed never changes, on any machine.
func TestAtIsStable(t *testing.T) {
	at := At(mustLookup(t, "textbook"))
	var got strings.Builder
	for seed := range uint64(20) {
		p := at(seed)
		fmt.Fprintf(&got, "%d: %+v\n", seed, p)
	}
	want, err := os.ReadFile("testdata/plans.golden")
	if *update {
		if err := os.WriteFile("testdata/plans.golden", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")
