package search

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/scenarios"
	"staleproof/sim"
)

func mustFuzz(t *testing.T, f Fuzz) *Campaign {
	t.Helper()
	c, err := f.Run()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFuzzWorkersAgree: what is found depends on nothing but the seeds.
func TestFuzzWorkersAgree(t *testing.T) {
	seeds := int64(800)
	if raceDetector {
		seeds = 200 // a hundred times slower
	}
	for _, c := range []struct {
		reason   string
		defects  model.Defects
		strategy string
		until    int
	}{
		{"nothing breaks, shares are learned", 0, Portfolio, 1},
		{"the first kill ends the search in the middle of a chunk", model.StoreReappliesCopies, Mix, 1},
		{"it ends at the second property", model.RenewalRaisesToken, "swarm", 2},
		{"it goes on after kills", model.HolderIgnoresRejection, Portfolio, 0},
	} {
		var want *Campaign
		for _, workers := range []int{1, 2, 5} {
			got := mustFuzz(t, Fuzz{Scenario: textbook(t), Options: scenarios.Options{Defects: c.defects}, Strategy: c.strategy, To: uint64(seeds), Until: c.until, Workers: workers})
			if want == nil {
				want = got
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %d workers (-one +several):\n%s", c.reason, workers, diff)
			}
		}
		if stops := c.until > 0 && c.defects != 0; stops != (want.Schedules < seeds) || stops && len(want.Broken()) < c.until {
			t.Errorf("%s: found %v in %d schedules", c.reason, want.Broken(), want.Schedules)
		}
	}
}

// TestStrategies: each strategy breaks the textbook store, and its kill replays
// from its decisions alone.
func TestStrategies(t *testing.T) {
	for _, s := range Strategies() {
		f := Fuzz{Scenario: textbook(t), Options: scenarios.Options{Defects: model.StoreIgnoresToken}, Strategy: s.Name, To: 1000, Until: 1}
		c := mustFuzz(t, f)
		if len(c.Kills) != 1 || len(c.Strategies) != 1 || c.Strategies[0].Name != s.Name || c.Kills[0].Strategy != s.Name {
			t.Errorf("%s: expected a kill of its own, found %+v", s.Name, c)
			continue
		}
		r, err := scenarios.NewRunner(textbook(t), f.Options)
		if err != nil {
			t.Fatal(err)
		}
		k := c.Kills[0]
		if o := r.Replay(&k.Params, k.Schedule); o.Result.Digest != k.Digest || !slices.Equal(o.Broken(), k.Broken) {
			t.Errorf("%s: expected its schedule to replay %v, found %v", s.Name, k.Broken, o.Broken())
		}
		r.Close()
	}
	if _, err := (&Fuzz{Scenario: textbook(t), Strategy: "luck", To: 1}).Run(); err == nil {
		t.Error("expected an error for an unknown strategy")
	}
}

// TestShardsAddUp: the shards run each seed once, and find what all seeds find.
func TestShardsAddUp(t *testing.T) {
	f := Fuzz{Scenario: textbook(t), Options: scenarios.Options{Defects: model.HolderIgnoresRejection}, Strategy: Mix, From: 5, To: 400}
	shards := []uint64{1, 3, 64, 500}
	if raceDetector {
		f.To, shards = 100, []uint64{3}
	}
	whole := mustFuzz(t, f)
	for _, n := range shards {
		schedules := int64(0)
		first := ^uint64(0)
		for k := range n {
			f.Shard, f.Shards = k, n
			c := mustFuzz(t, f)
			schedules += c.Schedules
			if kill, ok := c.Kill("gives-up"); ok {
				first = min(first, kill.Seed)
			}
		}
		if want, _ := whole.Kill("gives-up"); schedules != whole.Schedules || first != want.Seed {
			t.Errorf("%d shards: expected %d schedules and a kill at seed %d, found %d and %d", n, whole.Schedules, want.Seed, schedules, first)
		}
	}
}

// TestSharesFollowNews: time goes to the strategy that shows something new, and
// no strategy starves.
func TestSharesFollowNews(t *testing.T) {
	list, err := chosen(Portfolio)
	if err != nil {
		t.Fatal(err)
	}
	s := newShares(list, true)
	last := list[len(list)-1]
	before := s.weight[last]
	for range 5 {
		for _, i := range list {
			s.learn(i, 0, 100)
		}
		s.learn(last, 50, 0)
		s.settle()
	}
	if s.weight[last] < 3*before {
		t.Errorf("expected three times the share for what shows news, found %d, was %d", s.weight[last], before)
	}
	for _, i := range list {
		if s.weight[i] == 0 {
			t.Errorf("expected a share for %s, found none", strategies[i].Name)
		}
	}
	fixed := newShares(list, false)
	want := slices.Clone(fixed.weight)
	fixed.learn(last, 1000, 1)
	fixed.settle()
	if !slices.Equal(fixed.weight, want) {
		t.Errorf("expected fixed shares to stay %v, found %v", want, fixed.weight)
	}
}

// TestCoverage: kinds of behaviour are counted once, and a control shows some.
func TestCoverage(t *testing.T) {
	c := mustFuzz(t, Fuzz{Scenario: textbook(t), Strategy: Mix, To: 300})
	news := int64(0)
	for _, s := range c.Strategies {
		news += s.New
	}
	if c.Coverage < 300 || news != int64(c.Coverage) {
		t.Errorf("expected what is new to add up to the coverage, found %d and %d", news, c.Coverage)
	}
	var seen coverage
	if !seen.add(7) || seen.add(7) || !seen.has(7) || seen.has(8) || seen.count != 1 {
		t.Error("expected a kind of behaviour to be new once")
	}
}

// TestVerdictOfAShard: a shard is not asked whether the dangers occurred.
func TestVerdictOfAShard(t *testing.T) {
	for _, c := range []struct {
		reason string
		f      Fuzz
		want   checker.Outcome
	}{
		{"all of the seeds, too few to try", Fuzz{From: 1, To: 2}, checker.Inconclusive},
		{"a shard of as few", Fuzz{From: 1, To: 2, Shards: 2, Shard: 1}, checker.Satisfied},
		{"a shard without seeds", Fuzz{From: 1, To: 2, Shards: 2, Shard: 0}, checker.Satisfied},
		{"all, tried", Fuzz{To: 500}, checker.Satisfied},
		{"a violation in a shard", Fuzz{To: 500, Shards: 2, Options: scenarios.Options{Defects: model.StoreIgnoresToken}}, checker.Violated},
	} {
		c.f.Scenario, c.f.Strategy = textbook(t), "swarm"
		if v := c.f.Verdict(mustFuzz(t, c.f)); v.Outcome != c.want {
			t.Errorf("%s: expected %s, found %s (%s)", c.reason, c.want, v.Outcome, v.Reason)
		}
	}
}

// TestVerdictOfNothing: what has seeds and ran none is no pass, not even of a shard.
func TestVerdictOfNothing(t *testing.T) {
	sc := *textbook(t)
	sc.Sometimes = nil
	for _, f := range []Fuzz{{To: 500}, {To: 500, Shards: 2, Shard: 1}} {
		f.Scenario = &sc
		if v := f.Verdict(&Campaign{}); v.Outcome != checker.Inconclusive || v.Expected || v.Reason != "no schedule was run" {
			t.Errorf("shard %d/%d: expected it to be inconclusive, found %s (%s)", f.Shard, f.Shards, v.Outcome, v.Reason)
		}
	}
}

// TestAimHits: faults are aimed at places to which the calm run comes.
func TestAimHits(t *testing.T) {
	sc := textbook(t)
	r, err := scenarios.NewRunner(sc, scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	g := &target{sc: sc}
	hits, total := 0, 0
	var sites sim.SiteSet
	for seed := range uint64(300) {
		d := drawsOf(seed, 1)
		s := g.aim(r, &sc.Params, d, 1)
		total += len(s)
		o := r.Replay(&sc.Params, s)
		hits += len(o.Result.Decisions)
		sites = sites.With(s[0].Site)
	}
	if total != 300 || hits < 240 {
		t.Errorf("expected most of 300 faults to strike, found %d of %d", hits, total)
	}
	for _, site := range []sim.Site{sim.SitePause, sim.SiteHold, sim.SiteDrop, sim.SiteDuplicate, sim.SiteCrash, sim.SitePartition, sim.SiteDrift} {
		if !sites.Has(site) {
			t.Errorf("expected some of 300 faults to be a %s", site)
		}
	}
}

// BenchmarkFuzz is the portfolio on all cores.
func BenchmarkFuzz(b *testing.B) {
	c, err := (&Fuzz{Scenario: textbook(b), To: uint64(b.N)}).Run()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(c.Schedules)/b.Elapsed().Seconds(), "schedules/s")
	b.ReportMetric(float64(c.Events)/b.Elapsed().Seconds(), "events/s")
}
