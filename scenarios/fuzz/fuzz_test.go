package fuzz

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"staleproof/model"
	"staleproof/scenarios"
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

// TestDefect: rapid.Check finds the planted defect, and its failure can be read
// and replayed.
func TestDefect(t *testing.T) {
	opt := scenarios.Options{Defects: model.StoreIgnoresToken}
	property, done, err := Property(mustLookup(t, "textbook"), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.seed": "1"} {
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
	out := r.log.String()
	if !r.failed {
		t.Fatalf("expected rapid to find the defect:\n%s", out)
	}
	for _, want := range []string{"broke no-stale-write: token", "1. #", "reached the store", "what differs from the calm run", "staleproof replay 'sp1:"} {
		if !strings.Contains(out, want) {
			t.Errorf("expected the failure to say %q:\n%s", want, out)
		}
	}
	_, token, _ := strings.Cut(out, "staleproof replay '")
	token, _, _ = strings.Cut(token, "'")
	rec, err := scenarios.ParseToken(token)
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
