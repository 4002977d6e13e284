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
	observe, record func(*history.Event)
	log             *history.Recorder
	seeded          sim.Seeded
	replay          sim.Replay
	under           sim.Override
	cast            cast
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
	}
	var err error
	if r.suite, err = (checker.Config{Header: r.header(&sc.Params), View: r.view(), Init: InitialValue}).New(properties); err != nil {
		return nil, err
	}
	r.world = sim.NewWorld(sim.Config{}, sim.Calm{}, nil)
	r.rec = model.Recorder{World: r.world, Timing: opt.Timing}
	r.observe = r.suite.Observe
	r.record = func(e *history.Event) {
		r.log.Append(e)
		r.suite.Observe(e)
	}
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
func (r *Runner) Run(p *Plan) Outcome { return r.start(p, false) }

func (r *Runner) start(p *Plan, full bool) Outcome {
	r.seeded = sim.Seeded{Seed: p.Seed, Rates: p.Rates}
	if len(p.Overrides) == 0 {
		return r.run(&p.Params, &r.seeded, full)
	}
	r.replay.Reset(p.Overrides)
	r.under = sim.Override{Schedule: &r.replay, Under: &r.seeded}
	return r.run(&p.Params, &r.under, full)
}

// Replay runs a schedule and judges it.
func (r *Runner) Replay(p *Params, s sim.Schedule) Outcome {
	r.replay.Reset(s)
	return r.run(p, &r.replay, false)
}

// Record runs a schedule and returns everything that happened as well.
func (r *Runner) Record(p *Params, s sim.Schedule) (Outcome, *history.History) {
	r.replay.Reset(s)
	o := r.run(p, &r.replay, true)
	return o, r.recorded(p)
}

// recorded is all that happened in the last run, which was recorded.
func (r *Runner) recorded(p *Params) *history.History {
	return &history.History{Header: r.header(p), Events: slices.Clone(r.log.Events())}
}

func (r *Runner) run(p *Params, chooser sim.Chooser, full bool) Outcome {
	r.prepare(p, chooser, full)
	return r.judge(r.world.Run())
}

// prepare builds the world of a run.
func (r *Runner) prepare(p *Params, chooser sim.Chooser, full bool) {
	r.suite.Reset()
	r.log.Reset()
	r.rec.Full = full
	r.rec.Sink = r.observe
	if full {
		r.rec.Sink = r.record
	}
	r.world.Reset(r.sc.configFor(p, r.opt.Timing), chooser, &r.rec)
	s := p.setup(r.opt.Defects)
	s.NewStore, s.StoreCrashes, s.cast = r.opt.NewStore, r.opt.StoreCrashes, &r.cast
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
	return checker.Finding{Violation: v, Guarantee: "No process panics."}
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

// Recheck runs the schedule of a failure, and of some passes, once more and
// compares the digests: o is the outcome of p at seed. The error wraps a
// *[NondeterminismError]. Afterwards o's violations and decisions are not valid.
func (r *Runner) Recheck(seed uint64, p *Params, o *Outcome) error {
	if len(o.Violations) == 0 && !rerun(seed) {
		return nil
	}
	want := o.Result.Digest
	if got := r.Replay(p, slices.Clone(o.Result.Decisions)).Result.Digest; got != want {
		return fmt.Errorf("seed %d: %w", seed, &NondeterminismError{Scenario: r.sc.Name, Want: want, Got: got})
	}
	return nil
}

// NondeterminismError says that the same schedule gave another run.
type NondeterminismError struct {
	Scenario  string
	Want, Got uint64 // digests
}

func (e *NondeterminismError) Error() string {
	return fmt.Sprintf("scenario %s: the same schedule gave another run (digest %016x, then %016x): a process decides by something outside the simulator, such as map order, real time or a goroutine", e.Scenario, e.Want, e.Got)
}
