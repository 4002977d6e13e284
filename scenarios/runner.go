package scenarios

import (
	"fmt"
	"slices"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// Options change what a scenario runs. The zero Options is the scenario as it
// stands, without defects.
type Options struct {
	Defects model.Defects
	// NewStore replaces the store: a user's own code under test.
	NewStore func() sim.Handler
	// StoreCrashes lets that store crash and start again on its disk.
	StoreCrashes bool
	// Properties replace those of the scenario, if not nil.
	Properties []string
	// Timing is the semantics of time: Timed but for the schedules of an exhaustive
	// search.
	Timing sim.Timing
	// NoDigest makes Run and Steer leave Result.Digest 0, but in one run of twenty: in
	// those that Recheck repeats whatever came of them. Recheck makes the digest of the
	// others that it repeats. That saves a search a tenth of its time.
	NoDigest bool
}

// Runner runs one scenario again and again in one world. It is for one
// goroutine. Close it.
type Runner struct {
	sc    *Scenario
	opt   Options
	world *sim.World
	suite *checker.Suite
	rec   model.Recorder
	// observe and record are the sinks of runs that are only judged, and of runs
	// that are kept as well.
	observe, record model.Sink
	log             *history.Recorder
	seeded          sim.Seeded
	replay          sim.Replay
	under           sim.Override
	cast            cast
	watch           *model.Watch // of a user's store, in the run that is on; nil: none
	habits          *model.Habits
	// begins, if not nil, is called before each run.
	begins func()
	// failed, if not nil, reports whether the user's code has marked its test as failed;
	// failedIn is the run of learnHabits in which it did.
	failed   func() bool
	failedIn *Recorded
}

// Outcome is what one run came to.
type Outcome struct {
	Result sim.Result
	// Violations are the first of each broken property, in the order of their
	// occurrence. They are valid until the next run.
	Violations []checker.Violation
	// Inconclusive names the properties that could not be judged.
	Inconclusive []string
	Sometimes    checker.Counts

	sample bool // Recheck repeats it even if nothing broke
}

// InitialValue is what every resource of a simulation holds at first.
var InitialValue = history.IntValue(0)

// PanicProperty is what a panic in a process, or a run that does not end, breaks.
const PanicProperty = "no-panic"

// Broken lists the names of the broken properties.
func (o *Outcome) Broken() []string {
	names := make([]string, len(o.Violations))
	for i, v := range o.Violations {
		names[i] = v.Property
	}
	return names
}

// NewRunner returns a runner of sc. An unknown property is an error.
func NewRunner(sc *Scenario, opt Options) (*Runner, error) {
	r := &Runner{sc: sc, opt: opt, log: &history.Recorder{}}
	properties := opt.Properties
	if properties == nil {
		properties = sc.Judged(opt.Timing)
		if opt.NewStore != nil && !slices.Contains(properties, "fence-survives") {
			properties = append(properties, "fence-survives") // the model's store is known to keep it
		}
	}
	var err error
	if r.suite, err = (checker.Config{Header: r.header(&sc.Params), View: r.view(), Init: InitialValue, FreeReads: opt.NewStore != nil}).New(properties); err != nil {
		return nil, err
	}
	r.world = sim.NewWorld(sim.Config{}, sim.Calm{}, nil)
	r.rec = model.Recorder{World: r.world, Timing: opt.Timing}
	r.observe = r.suite
	r.record = model.SinkFunc(func(e *history.Event) {
		r.log.Append(e)
		r.suite.Observe(e)
	})
	return r, nil
}

// Judged lists the properties that can be judged under a timing.
func (sc *Scenario) Judged(t sim.Timing) []string {
	names := []string{}
	for _, name := range sc.Properties {
		p, err := checker.Lookup(name)
		if err != nil || t == sim.Timed || t == sim.Untimed && p.Untimed || t == sim.Bounded && p.Bounded {
			names = append(names, name) // an unknown one is reported where it is made
		}
	}
	return names
}

// Close frees the runner's world.
func (r *Runner) Close() { r.world.Close() }

// Scenario returns the scenario that it runs.
func (r *Runner) Scenario() *Scenario { return r.sc }

// World returns the runner's world, for the watchdog.
func (r *Runner) World() *sim.World { return r.world }

func (r *Runner) view() checker.View { return checker.View{Coordinator: true, Store: true} }

func (r *Runner) header(p *Params) history.Header {
	return history.Header{Format: history.Format, Scenario: r.sc.Name, Timing: r.opt.Timing.String(),
		TTL: p.TTL, Rho: p.Rho, Scopes: "per-resource"}
}

// Run runs a plan and judges it.
func (r *Runner) Run(p *Plan) Outcome { return r.start(p, 0) }

// start is Run that may record as well.
func (r *Runner) start(p *Plan, want wanted) Outcome {
	r.seeded = r.seededBy(p)
	if len(p.Overrides) == 0 {
		return r.search(&p.Params, p.Seed, &r.seeded, want)
	}
	r.replay.Reset(p.Overrides)
	r.under = sim.Override{Schedule: &r.replay, Under: &r.seeded}
	return r.search(&p.Params, p.Seed, &r.under, want)
}

// search is run for a chooser that was drawn from seed.
func (r *Runner) search(p *Params, seed uint64, c sim.Chooser, want wanted) Outcome {
	sample := rerun(seed)
	if sample || !r.opt.NoDigest {
		want |= digest
	}
	o := r.run(p, c, want)
	o.sample = sample
	return o
}

// Replay runs a schedule and judges it.
func (r *Runner) Replay(p *Params, s sim.Schedule) Outcome {
	r.replay.Reset(s)
	return r.run(p, &r.replay, digest)
}

// Record runs a schedule and returns everything that happened as well.
func (r *Runner) Record(p *Params, s sim.Schedule) (Outcome, *history.History) {
	r.replay.Reset(s)
	o := r.run(p, &r.replay, digest|record)
	return o, r.recorded(p)
}

// recorded is all that happened in the last run, which was recorded.
func (r *Runner) recorded(p *Params) *history.History {
	return &history.History{Header: r.header(p), Events: slices.Clone(r.log.Events())}
}

// wanted is what is wanted of a run beside its verdict.
type wanted uint8

const (
	digest wanted = 1 << iota
	record        // everything that happens
)

func (r *Runner) run(p *Params, chooser sim.Chooser, want wanted) Outcome {
	if r.opt.NewStore != nil {
		return r.runUsers(p, chooser, want)
	}
	r.prepare(p, chooser, want)
	return r.judge(r.world.Run())
}

// prepare builds the world of a run.
func (r *Runner) prepare(p *Params, chooser sim.Chooser, want wanted) {
	if r.begins != nil {
		r.begins()
	}
	r.suite.Reset()
	r.log.Reset()
	r.rec.Full = want&record != 0
	r.rec.Sink = r.observe
	if r.rec.Full {
		r.rec.Sink = r.record
	}
	cfg := r.sc.configFor(p, r.opt.Timing)
	cfg.NoDigest = want&digest == 0
	if r.opt.NewStore != nil {
		cfg.MaxEvents = 100_000 // it may wait in loops
	}
	r.world.Reset(cfg, chooser, &r.rec)
	s := p.setup(r.opt.Defects)
	s.NewStore, s.StoreCrashes, s.cast = r.newStore(), r.opt.StoreCrashes || r.sc.StoreCrashes, &r.cast
	r.sc.Build(r.world, s)
}

// judge completes the outcome of a run that has ended.
func (r *Runner) judge(res sim.Result) Outcome {
	o := Outcome{Result: res, Sometimes: r.suite.Sometimes()}
	if r.suite.Violated() || r.suite.Suspicious() {
		for _, f := range r.suite.Finish() {
			if f.Outcome == checker.Inconclusive {
				o.Inconclusive = append(o.Inconclusive, f.Property)
			}
		}
		o.Violations = r.suite.Violations()
	}
	switch res.End {
	case sim.EndPanic:
		o.Violations = append(o.Violations, checker.Violation{Property: PanicProperty,
			Message: fmt.Sprintf("broke %s: %v", PanicProperty, res.Panic), Events: []int64{res.Notes}})
	case sim.EndLimit:
		o.Inconclusive = append(o.Inconclusive, fmt.Sprintf("every property: the run did not end within its limits: %v", res.Limit))
	}
	return o
}

// Finding is a violation, explained and reproducible.
type Finding struct {
	checker.Finding
	Scenario  string
	Defects   model.Defects
	Run       Recorded // its token replays it
	Broken    []string // every property that the run breaks
	Decisions []string // in words
	Work      []string // that is less than the scenario's, in words
	History   *history.History
	Stack     string // of a panic
}

// Explain replays a run with everything recorded and explains the violation of
// property in it. The error says that the replay went another way, which the
// simulator rules out for code that keeps its rules.
func (r *Runner) Explain(p *Params, seed uint64, s sim.Schedule, digest uint64, property string) (*Finding, error) {
	o, h := r.Record(p, s)
	if o.Result.Digest != digest {
		return nil, &NondeterminismError{Scenario: r.sc.Name, Want: digest, Got: o.Result.Digest}
	}
	taken := slices.Clone(o.Result.Decisions) // with the labels, which s may lack
	for _, v := range o.Violations {
		if v.Property != property {
			continue
		}
		v.Events = slices.Clone(v.Events)
		f := &Finding{Scenario: r.sc.Name, Defects: r.opt.Defects, History: h, Broken: o.Broken(),
			Run: Recorded{Scenario: r.sc.Name, Revision: r.sc.Revision, Defects: r.opt.Defects, Timing: r.opt.Timing, Params: *p, Seed: seed, Schedule: taken, Digest: digest, Marks: MarksOf(h)}}
		r.forgetKnown(h, &v)
		f.Finding = r.explain(h, v)
		f.Decisions, f.Work = r.Decisions(p, taken), r.Work(p)
		h.Header.Replay = f.Run.Token()
		if o.Result.Panic != nil {
			f.Stack = o.Result.Panic.Stack
		}
		return f, nil
	}
	return nil, &NondeterminismError{Scenario: r.sc.Name, Want: digest, Got: o.Result.Digest}
}

func (r *Runner) explain(h *history.History, v checker.Violation) checker.Finding {
	if v.Property != PanicProperty {
		return checker.Explain(h, v)
	}
	return checker.Finding{Violation: v, Guarantee: "No process panics, or waits for ever for a lock."}
}

// Decisions says in words which decisions there are: the parameters first, unless
// they are only less work, then the schedule.
func (r *Runner) Decisions(p *Params, s sim.Schedule) []string {
	var words []string
	for _, d := range r.decided(p) {
		words = append(words, fmt.Sprintf("%s is %s, not %s", d.Name, d.Text(p, r.opt.Timing), d.Text(&r.sc.Params, r.opt.Timing)))
	}
	names := r.world.Names()
	for _, d := range s {
		words = append(words, sim.Schedule{d}.Text(names)+": "+r.world.Describe(d))
	}
	return words
}

// Work says in words how much less work there is than in the scenario: "2 of 3
// clients". That is no decision, it only makes the run smaller.
func (r *Runner) Work(p *Params) []string {
	var words []string
	for _, d := range p.diff(r.sc.Params) {
		if d.lessWork(p, &r.sc.Params) {
			words = append(words, fmt.Sprintf("%d of %d %s", d.Get(p), d.Get(&r.sc.Params), d.Name))
		}
	}
	return words
}

// decided lists the parameters that are a decision.
func (r *Runner) decided(p *Params) []Param {
	return slices.DeleteFunc(p.diff(r.sc.Params), func(d Param) bool { return d.lessWork(p, &r.sc.Params) })
}

// CountDecisions is how many decisions there are, as [Runner.Decisions] lists them.
func (r *Runner) CountDecisions(p *Params, s sim.Schedule) int { return len(r.decided(p)) + len(s) }

// rerunEvery is how often a run that broke nothing is run twice: 5 %.
const rerunEvery = 20

// rerun says whether a seed is one of those. They are spread by hashing, so that
// every shard has its part.
func rerun(seed uint64) bool { return sim.Scramble(seed)%rerunEvery == 0 }

// Recheck repeats a failure, and one pass of twenty, and compares the digests: o is
// the outcome of the last run, with p at seed, and becomes that of the repetition. A
// failure without a digest is repeated twice. The error wraps a
// *[NondeterminismError] and names the seed.
func (r *Runner) Recheck(seed uint64, p *Params, o *Outcome) error {
	if len(o.Violations) == 0 && !o.sample {
		return nil
	}
	first, broken := o.Result, o.Broken()
	schedule := slices.Clone(first.Decisions)
	want := first.Digest
	if want == 0 { // it was left out
		*o = r.Replay(p, schedule)
		if o.Result.Events != first.Events || o.Result.Notes != first.Notes || !slices.Equal(o.Broken(), broken) {
			return r.another(seed, 0, o)
		}
		want = o.Result.Digest
	}
	*o = r.Replay(p, schedule)
	if o.Result.Digest != want {
		return r.another(seed, want, o)
	}
	return nil
}

// another is the error of a repetition that differs.
func (r *Runner) another(seed, want uint64, o *Outcome) error {
	return fmt.Errorf("seed %d: %w", seed, &NondeterminismError{Scenario: r.sc.Name, Want: want, Got: o.Result.Digest})
}

// NondeterminismError says that the same schedule gave another run.
type NondeterminismError struct {
	Scenario  string
	Want, Got uint64 // digests; Want is 0 if the first run had none
}

func (e *NondeterminismError) Error() string {
	digests := fmt.Sprintf(" (digest %016x, then %016x)", e.Want, e.Got)
	if e.Want == 0 {
		digests = ""
	}
	return fmt.Sprintf("scenario %s: the same schedule gave another run%s: a process decides by something outside the simulator, such as map order, real time or a goroutine", e.Scenario, digests)
}
