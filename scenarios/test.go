package scenarios

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/sim"
	"staleproof/sim/watchdog"
)

// Option changes what [Test] runs.
type Option func(*testConfig)

type testConfig struct {
	opt   Options
	seeds uint64
	limit time.Duration
}

// WithStore puts a user's store in the place of the scenario's: newStore makes it
// afresh, at the start and after every crash. It does not crash unless
// [WithStoreCrashes] says so. See [model.StoreServer] for what it
// has to do.
func WithStore(newStore func() model.StoreServer) Option {
	return func(c *testConfig) {
		c.opt.NewStore = func() sim.Handler { return model.Serve(newStore()) }
	}
}

// WithStoreCrashes lets the user's store crash: it starts again from what it put
// on its disk and synced. Without this option it never crashes.
func WithStoreCrashes() Option {
	return func(c *testConfig) { c.opt.StoreCrashes = true }
}

// WithDefects turns defects of the model on.
func WithDefects(d model.Defects) Option {
	return func(c *testConfig) { c.opt.Defects = d }
}

// WithSeeds runs the seeds 0 to n-1; the default is 2,000.
func WithSeeds(n uint64) Option {
	return func(c *testConfig) { c.seeds = n }
}

// ReplayVariable is the environment variable that makes [Test] replay one run,
// whose token it holds, instead of its seeds.
const ReplayVariable = "STALEPROOF_REPLAY"

// Test runs a scenario as a test: it fails t with an explanation and a command
// that reproduces the failure as soon as a property is broken, and when a danger
// that the scenario is about never occurred.
func Test(t *testing.T, scenario string, options ...Option) {
	t.Helper()
	sc, err := Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig{seeds: 2000, limit: 10 * time.Second}
	for _, o := range options {
		o(&c)
	}
	r, err := NewRunner(sc, c.opt)
	if err != nil {
		t.Fatal(err)
	}
	// The test's goroutine leaves a run behind that blocks outside the simulator.
	var failure string
	err = watchdog.Run(r.World().Heart(), func(p int) string { return r.World().Name(sim.ID(p)) }, c.limit, func() error {
		defer r.Close()
		if token := os.Getenv(ReplayVariable); token != "" {
			var err error
			failure, err = replayForTest(t.Name(), r, token)
			return err
		}
		var err error
		failure, err = seedsForTest(t.Name(), r, c.seeds)
		return err
	})
	switch {
	case err != nil:
		t.Fatal(err)
	case failure != "":
		t.Fatal(failure)
	}
}

// seedsForTest runs the seeds and returns why the test fails, or "".
func seedsForTest(name string, r *Runner, seeds uint64) (string, error) {
	var facts checker.Counts
	for seed := range seeds {
		p := PlanAt(r.sc, seed)
		o := r.Run(&p)
		for i, n := range o.Sometimes {
			facts[i] += n
		}
		if len(o.Violations) > 0 {
			return failureForTest(name, r, &p.Params, seed, slices.Clone(o.Result.Decisions), o.Violations[0].Property)
		}
		if len(o.Inconclusive) > 0 {
			return fmt.Sprintf("inconclusive at seed %d: %s", seed, strings.Join(o.Inconclusive, ", ")), nil
		}
		if err := r.Recheck(seed, &p.Params, &o); err != nil {
			return "", err
		}
	}
	if missing := r.sc.Missing(facts); len(missing) > 0 {
		return fmt.Sprintf("inconclusive: in %d schedules it never happened: %s", seeds, strings.Join(missing, ", ")), nil
	}
	return "", nil
}

func replayForTest(name string, r *Runner, token string) (string, error) {
	rec, err := ParseToken(token)
	if err != nil {
		return "", err
	}
	if rec.Scenario != r.sc.Name {
		return "", fmt.Errorf("%s: expected a token of scenario %s, found one of %s", ReplayVariable, r.sc.Name, rec.Scenario)
	}
	o := r.Replay(&rec.Params, rec.Schedule)
	if o.Result.Digest != rec.Digest {
		return "", fmt.Errorf("diverged: expected digest %016x, found %016x: the code under test has changed since the token was made", rec.Digest, o.Result.Digest)
	}
	if len(o.Violations) == 0 {
		return "", nil
	}
	return explainForTest(name, r, &rec.Params, rec.Seed, rec.Schedule, rec.Digest, o.Violations[0].Property)
}

// failureForTest makes a failure small and says it in words.
func failureForTest(name string, r *Runner, p *Params, seed uint64, s sim.Schedule, property string) (string, error) {
	small := r.Shrink(p, s, property, 500)
	return explainForTest(name, r, &small.Params, seed, small.Schedule, small.Digest, property)
}

func explainForTest(name string, r *Runner, p *Params, seed uint64, s sim.Schedule, digest uint64, property string) (string, error) {
	f, err := r.Explain(p, seed, s, digest, property)
	if err != nil {
		return "", err
	}
	return f.Text() + fmt.Sprintf("to see it again:\n  %s='%s' go test -run '^%s$'\n", ReplayVariable, f.Run.Token(), name), nil
}

// Missing lists the dangers that a scenario must have exercised and facts does
// not show.
func (sc *Scenario) Missing(facts checker.Counts) []string {
	var names []string
	for _, f := range sc.Sometimes {
		if facts[f] == 0 {
			names = append(names, f.String())
		}
	}
	return names
}

// Text says the finding in words: the message, what led to it, the decisions.
func (f *Finding) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Message)
	if f.Guarantee != "" {
		fmt.Fprintf(&b, "guarantee: %s\n", f.Guarantee)
	}
	for i, l := range f.Chain {
		fmt.Fprintf(&b, "%3d. #%-4d %9s  %s\n", i+1, l.Index, sim.Nanoseconds(l.Time), l.Text)
	}
	if len(f.Decisions) == 0 {
		b.WriteString("it happens in the calm run: no decision is needed\n")
	} else {
		b.WriteString("what differs from the calm run:\n")
	}
	for _, d := range f.Decisions {
		b.WriteString("  " + d + "\n")
	}
	if f.Stack != "" {
		b.WriteString(f.Stack)
	}
	return b.String()
}
