package search

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"staleproof/model"
	"staleproof/scenarios"
	"staleproof/sim"
	"staleproof/sim/watchdog"
)

func textbook(tb testing.TB) *scenarios.Scenario {
	tb.Helper()
	sc, err := scenarios.Lookup("textbook")
	if err != nil {
		tb.Fatal(err)
	}
	return sc
}

// TestWorkersAgree: one worker and several find the same.
func TestWorkersAgree(t *testing.T) {
	for _, c := range []struct {
		reason  string
		defects model.Defects
		stop    []string
	}{
		{"nothing breaks, everything is counted", 0, nil},
		{"the first kill ends the sweep in the middle of a chunk", model.StoreReappliesCopies, nil},
		{"a kill that comes at once", model.TokenNotIncreased, nil},
		{"the sweep goes on after kills", model.HolderIgnoresRejection, []string{}},
		{"it stops at one property and goes on at others", model.RenewalRaisesToken, []string{"linearizable"}},
	} {
		var want *Result
		for _, workers := range []int{1, 2, 5} {
			s := Sweep{Scenario: textbook(t), Options: scenarios.Options{Defects: c.defects}, To: 1500, Stop: c.stop, Workers: workers}
			got, err := s.Run()
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %d workers (-one +several):\n%s", c.reason, workers, diff)
			}
		}
		if stops := c.stop == nil && c.defects != 0; stops != (want.Schedules < 1500) {
			t.Errorf("%s: found %d schedules", c.reason, want.Schedules)
		}
	}
}

// TestSeedsFromTo: a sweep in two parts finds what the whole finds.
func TestSeedsFromTo(t *testing.T) {
	run := func(from, to uint64) *Result {
		r, err := (&Sweep{Scenario: textbook(t), From: from, To: to}).Run()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	whole, sum := run(0, 500), run(0, 200)
	sum.add(run(200, 500))
	if diff := cmp.Diff(whole, sum); diff != "" {
		t.Errorf("(-whole +parts):\n%s", diff)
	}
	if empty := run(7, 7); empty.Schedules != 0 {
		t.Errorf("expected no schedules, found %d", empty.Schedules)
	}
}

func TestKillReplays(t *testing.T) {
	opt := scenarios.Options{Defects: model.StoreIgnoresToken}
	res, err := (&Sweep{Scenario: textbook(t), Options: opt, To: 5000}).Run()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := res.Kill("no-stale-write")
	if !ok {
		t.Fatalf("expected a kill, found %v", res.Broken())
	}
	if k.Seed != uint64(res.Schedules)-1 {
		t.Errorf("expected the sweep to end at its kill, found seed %d of %d schedules", k.Seed, res.Schedules)
	}
	small, err := Shrink(textbook(t), opt, k, "no-stale-write")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(small.Schedule); n < 1 || n > 3 || small.Runs > MaxShrinkRuns {
		t.Errorf("expected 1 to 3 decisions in at most %d runs, found %d in %d", MaxShrinkRuns, n, small.Runs)
	}
	r, err := scenarios.NewRunner(textbook(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := r.Explain(&small.Params, k.Seed, small.Schedule, small.Digest, "no-stale-write")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Chain) < 4 || !strings.Contains(f.Text(), "A was granted token") {
		t.Errorf("expected a causal chain, found:\n%s", f.Text())
	}
}

func TestQuit(t *testing.T) {
	quit := make(chan struct{})
	close(quit)
	r, err := (&Sweep{Scenario: textbook(t), To: 1 << 20, Quit: quit}).Run()
	if err != nil || !r.Interrupted || r.Schedules != 0 {
		t.Errorf("expected an interrupted sweep without schedules, found %+v, %v", r, err)
	}
}

func TestUnknownProperty(t *testing.T) {
	_, err := (&Sweep{Scenario: textbook(t), Options: scenarios.Options{Properties: []string{"no-stale-wrote"}}, To: 1}).Run()
	if err == nil || !strings.Contains(err.Error(), "no-stale-write") {
		t.Errorf("expected an error that suggests no-stale-write, found %v", err)
	}
}

// odd is a store that breaks the rules of simulated code.
type odd struct {
	block chan int // waits here, if not nil
	runs  *int     // keeps state across runs, if not nil
	panic bool
	spins bool // for ever
}

func (o *odd) Write(p *sim.Proc, r model.Request) model.Reply {
	switch {
	case o.block != nil:
		<-o.block
	case o.spins:
		for {
			p.Yield("spin")
		}
	case o.panic:
		panic("out of cheese")
	case o.runs != nil:
		*o.runs++
		p.Sleep(time.Duration(*o.runs) * time.Microsecond)
	}
	return model.OK(r.Value)
}

func sweepOdd(t *testing.T, o odd) (*Result, error) {
	opt := scenarios.Options{NewStore: func() sim.Handler { copy := o; return model.Serve(&copy) }, Properties: []string{"no-stale-write"}}
	return (&Sweep{Scenario: textbook(t), Options: opt, To: 200, Workers: 1, Limit: 200 * time.Millisecond}).Run()
}

func TestBlockedProcessIsNamed(t *testing.T) {
	_, err := sweepOdd(t, odd{block: make(chan int)})
	var blocked *watchdog.Blocked
	if !errors.As(err, &blocked) || blocked.Process != "store" || !strings.Contains(blocked.Stack, "odd).Write") {
		t.Errorf("expected the store to be named with its stack, found %v", err)
	}
}

// TestExplainIsWatched: a store that blocks only when its failure is run again is
// named as well.
func TestExplainIsWatched(t *testing.T) {
	block := make(chan int)
	again := false
	opt := scenarios.Options{Properties: []string{"no-stale-write"}, NewStore: func() sim.Handler {
		if again {
			return model.Serve(&odd{block: block})
		}
		return model.Serve(&odd{panic: true})
	}}
	s := Sweep{Scenario: textbook(t), Options: opt, To: 200, Limit: 200 * time.Millisecond}
	r, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	again = true
	_, err = s.Explain(r, scenarios.PanicProperty)
	var blocked *watchdog.Blocked
	if !errors.As(err, &blocked) || blocked.Process != "store" {
		t.Errorf("expected the store to be named, found %v", err)
	}
}

func TestNondeterminismIsFound(t *testing.T) {
	_, err := sweepOdd(t, odd{runs: new(int)})
	var other *scenarios.NondeterminismError
	if !errors.As(err, &other) {
		t.Errorf("expected a *NondeterminismError, found %v", err)
	}
}

func TestPanicIsAFinding(t *testing.T) {
	res, err := sweepOdd(t, odd{panic: true})
	if err != nil {
		t.Fatal(err)
	}
	k, ok := res.Kill(scenarios.PanicProperty)
	if !ok || !strings.Contains(k.Messages[slices.Index(k.Broken, scenarios.PanicProperty)], "process store (task handle) panicked: out of cheese") {
		t.Errorf("expected the panic as a finding, found %+v", res.Kills)
	}
}

// BenchmarkSweep is the flagship as the command sweeps it, on all cores.
func BenchmarkSweep(b *testing.B) {
	res, err := (&Sweep{Scenario: textbook(b), To: uint64(b.N)}).Run()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(res.Schedules)/b.Elapsed().Seconds(), "schedules/s")
}
