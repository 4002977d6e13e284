package search

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/scenarios"
	"staleproof/sim"
)

func sweepOf(t *testing.T, d model.Defects, seeds uint64) *Sweep {
	t.Helper()
	return &Sweep{Scenario: textbook(t), Options: scenarios.Options{Defects: d}, To: seeds}
}

func TestJudge(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for _, c := range []struct {
		reason string
		sweep  func(*Sweep)
		defect model.Defects
		seeds  uint64
		want   checker.Outcome
		why    string
	}{
		{"the control, tried", nil, 0, 200, checker.Satisfied, ""},
		{"the control, not tried: no pass", func(s *Sweep) { s.Plans = calm }, 0, 10, checker.Inconclusive, "the danger was not tried: no schedule reached stale-write-attempted, stale-write-rejected"},
		{"a defect", nil, model.TokenNotIncreased, 1500, checker.Violated, ""},
		{"a defect that these schedules do not meet, and no danger", func(s *Sweep) { s.Plans = calm }, model.HolderIgnoresRejection, 10, checker.Inconclusive, "the danger was not tried"},
		{"interrupted", func(s *Sweep) { s.Quit = closed }, 0, 1500, checker.Inconclusive, "interrupted after 0 schedules"},
	} {
		s := sweepOf(t, c.defect, c.seeds)
		if c.sweep != nil {
			c.sweep(s)
		}
		v, err := s.Judge()
		if err != nil {
			t.Fatal(err)
		}
		if v.Outcome != c.want || v.Expected != (c.want == checker.Satisfied) || !strings.HasPrefix(v.Reason, c.why) {
			t.Errorf("%s: expected %s (%s), found %s, expected %t (%s)", c.reason, c.want, c.why, v.Outcome, v.Expected, v.Reason)
		}
		if c.want == checker.Violated && v.Schedules != int64(v.Kills[0].Seed)+1 {
			t.Errorf("%s: expected to end with schedule %d, found %d", c.reason, v.Kills[0].Seed, v.Schedules)
		}
	}
}

// TestNoVacuousPass: a sweep in which something was not judged, not tried or not run is
// no pass; what was broken comes first.
func TestNoVacuousPass(t *testing.T) {
	sc := textbook(t)
	tried := checker.Counts{}
	for _, f := range sc.Sometimes {
		tried[f] = 1
	}
	part := tried
	part[checker.StaleWriteRejected] = 0
	for _, c := range []struct {
		reason   string
		result   Result
		property string // of Options
		want     checker.Outcome
		why      string
	}{
		{"everything was judged and tried", Result{Schedules: 9, Sometimes: tried}, "", checker.Satisfied, ""},
		{"a danger was not tried", Result{Schedules: 9, Sometimes: part}, "", checker.Inconclusive, "the danger was not tried: no schedule reached stale-write-rejected"},
		{"nothing was run", Result{}, "", checker.Inconclusive, "the danger was not tried"},
		{"a property was not judged once", Result{Schedules: 9, Sometimes: tried, Inconclusive: map[string]int64{"linearizable": 1}}, "", checker.Inconclusive, "linearizable could not be judged in 1 schedules"},
		{"one that the options name", Result{Schedules: 9, Sometimes: tried, Inconclusive: map[string]int64{"deadline": 2}}, "deadline", checker.Inconclusive, "deadline could not be judged in 2 schedules"},
		{"a run did not end", Result{Schedules: 9, Sometimes: tried, Inconclusive: map[string]int64{"every property: 9 events did not end it": 3}}, "", checker.Inconclusive, "every property: 9 events did not end it (3 schedules)"},
		{"it was interrupted", Result{Schedules: 9, Sometimes: tried, Interrupted: true}, "", checker.Inconclusive, "interrupted after 9 schedules"},
		{"something broke as well", Result{Schedules: 9, Interrupted: true, Inconclusive: map[string]int64{"linearizable": 1}, Kills: []Kill{{Broken: []string{"token-order"}}}}, "", checker.Violated, ""},
	} {
		s := &Sweep{Scenario: sc}
		if c.property != "" {
			s.Options.Properties = []string{c.property}
		}
		if got, why := s.outcome(&c.result); got != c.want || !strings.HasPrefix(why, c.why) || c.why == "" && why != "" {
			t.Errorf("%s: expected %s (%s), found %s (%s)", c.reason, c.want, c.why, got, why)
		}
	}
	v := &Verdict{Result: Result{Schedules: 9, Interrupted: true}}
	if v.caught(scenarios.Exposure{Breaks: []string{"token-order"}}); v.Outcome != checker.Inconclusive || v.Expected || v.Reason != "interrupted: 9 schedules did not break token-order" {
		t.Errorf("a hunt that was interrupted: found %s, %t (%s)", v.Outcome, v.Expected, v.Reason)
	}
}

// TestNotJudgedIsCounted: the runs of a sweep and of a search that could not be judged
// are counted, and neither passes.
func TestNotJudgedIsCounted(t *testing.T) {
	opt := scenarios.Options{NewStore: func() sim.Handler { return model.Serve(&odd{spins: true}) }}
	s := &Sweep{Scenario: textbook(t), Options: opt, To: 3}
	v, err := s.Judge()
	if err != nil || v.Outcome != checker.Inconclusive || v.Schedules != 3 || !strings.HasPrefix(v.Reason, "every property: ") || !strings.HasSuffix(v.Reason, "(2 schedules)") {
		t.Errorf("expected the sweep to be inconclusive, found %v, %+v", err, v)
	}
	f := &Fuzz{Scenario: textbook(t), Options: opt, Strategy: "swarm", To: 3}
	c, err := f.Run()
	if err != nil {
		t.Fatal(err)
	}
	if v := f.Verdict(c); v.Outcome != checker.Inconclusive || !strings.HasSuffix(v.Reason, "(2 schedules)") {
		t.Errorf("expected the search to be inconclusive, found %+v", v)
	}
}

// calm plans runs without faults.
func calm(sc *scenarios.Scenario) func(uint64) scenarios.Plan {
	return func(uint64) scenarios.Plan { return scenarios.Plan{Params: sc.Params} }
}

// TestHunt: a hunt goes on until everything is broken, and the survey agrees with
// it on when.
func TestHunt(t *testing.T) {
	const seeds = 120
	for _, c := range []struct {
		reason   string
		defect   model.Defects
		breaks   []string
		holds    []string
		expected bool
		why      string
	}{
		{"one property", model.TokenNotIncreased, []string{"token-order"}, nil, true, ""},
		{"several, broken by different schedules", model.RenewalRaisesToken, []string{"renewal-keeps-token", "no-false-fencing"}, nil, true, ""},
		{"one that it never breaks", model.StoreRefusesEqual, []string{"no-false-fencing", "token-order"}, nil, false, "120 schedules did not break token-order"},
		{"none of them", 0, []string{"token-order", "gives-up"}, nil, false, "120 schedules did not break token-order, gives-up"},
		{"what must hold does", model.TokenNotIncreased, []string{"token-order"}, []string{"exclusive-grant"}, true, ""},
		{"what must hold is broken later", model.RenewalRaisesToken, []string{"renewal-keeps-token"}, []string{"no-false-fencing"}, false, "broke no-false-fencing, which must hold"},
	} {
		s := sweepOf(t, c.defect, seeds)
		x := scenarios.Exposure{Defect: c.defect, Breaks: c.breaks, Holds: c.holds}
		v, err := s.Hunt(x)
		if err != nil {
			t.Fatal(err)
		}
		if v.Expected != c.expected || v.Reason != c.why {
			t.Errorf("%s: expected %t (%s), found %t (%s)", c.reason, c.expected, c.why, v.Expected, v.Reason)
		}
		survey, err := s.Survey(x)
		if err != nil {
			t.Fatal(err)
		}
		if survey.Schedules != seeds || survey.Expected != c.expected {
			t.Errorf("%s: expected a survey of all seeds with the same verdict, found %d, %t", c.reason, survey.Schedules, survey.Expected)
		}
		last := int64(0)
		for _, p := range c.breaks {
			hunted, ok := v.Kill(p)
			surveyed, _ := survey.Kill(p)
			if hunted.Seed != surveyed.Seed {
				t.Errorf("%s: %s: the hunt found seed %d, the survey %d", c.reason, p, hunted.Seed, surveyed.Seed)
			}
			if ok {
				last = max(last, int64(hunted.Seed)+1)
			}
		}
		if len(c.holds) > 0 {
			last = seeds // below the least that a hunt sweeps where something must hold
		}
		if (c.expected || len(c.holds) > 0) && v.Schedules != last {
			t.Errorf("%s: expected to end with schedule %d, found %d", c.reason, last, v.Schedules)
		}
	}
}

// TestPieces: sweeping in pieces finds what one sweep finds.
func TestPieces(t *testing.T) {
	s := sweepOf(t, model.HolderIgnoresRejection, 1500)
	whole, err := s.Hunt(scenarios.Exposure{Breaks: []string{"gives-up"}})
	if err != nil {
		t.Fatal(err)
	}
	v := &Verdict{Result: Result{Inconclusive: map[string]int64{}}}
	part := *s
	for part.From < 1500 && len(v.Kills) == 0 {
		part.To = min(part.From+70, 1500)
		if err := v.extend(&part); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(whole.Result, v.Result); diff != "" {
		t.Errorf("(-whole +pieces):\n%s", diff)
	}
}

func TestExplain(t *testing.T) {
	s := sweepOf(t, model.StoreIgnoresToken, 1500)
	s.From = 5
	v, err := s.Judge()
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Explain(&v.Result, "no-stale-write")
	if err != nil {
		t.Fatal(err)
	}
	k, _ := v.Kill("no-stale-write")
	if f.Schedule != int64(k.Seed)-5 || f.Decisions != len(k.Schedule) || f.Runs < 1 || len(f.Run.Schedule) > 3 || len(f.Chain) < 4 {
		t.Errorf("expected the first kill, of 3 decisions at most, explained, found %d, %d, %d runs, %v, %v", f.Schedule, f.Decisions, f.Runs, f.Finding.Decisions, f.Chain)
	}
	if _, err := s.Explain(&v.Result, "gives-up"); err == nil {
		t.Error("expected an error for a property that was not broken")
	}
}

// TestPanicOutsideProcesses: a mistake of this module does not end the program.
func TestPanicOutsideProcesses(t *testing.T) {
	s := sweepOf(t, 0, 200)
	s.Plans = func(sc *scenarios.Scenario) func(uint64) scenarios.Plan {
		return func(seed uint64) scenarios.Plan {
			if seed == 130 {
				panic("no plan")
			}
			return scenarios.PlanAt(sc, seed)
		}
	}
	_, err := s.Judge()
	var crashed *PanicError
	if !errors.As(err, &crashed) || crashed.Seed != 128 || crashed.Value != "no plan" || !strings.Contains(crashed.Stack, "judge_test.go") {
		t.Errorf("expected a panic near seed 128, found %v", err)
	}
}
