package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"staleproof/model/history"
	"staleproof/sim"
	"staleproof/sim/watchdog"
)

// userTest is what [Test] runs.
type userTest struct {
	name   string // of the test
	r      *Runner
	config *testConfig
	heart  *watchdog.Beat
	first  *history.History // of the run of seed 0
	worth  worth
}

// seeds runs the seeds and returns why the test fails, or "".
func (u *userTest) seeds(seeds uint64) (string, error) {
	for seed := range seeds {
		u.heart.Begin(seed)
		p, failure := u.plan(seed)
		if failure != "" {
			return failure, nil
		}
		o := u.try(seed, &p)
		u.worth.add(u, &p, &o)
		if u.heart.Accused() != nil {
			return "", nil // the watchdog reports it
		}
		if failure := u.marked(u.recordedAt(seed, &p.Params, &o)); failure != "" {
			return failure, nil
		}
		if failure, err := u.judge(seed, &p.Params, &o); failure != "" || err != nil {
			return failure, err
		}
	}
	missing := slices.DeleteFunc(u.r.sc.Missing(u.worth.facts), func(f string) bool { return slices.Contains(u.config.never, f) })
	if len(missing) > 0 {
		return fmt.Sprintf("inconclusive: in %d schedules it never happened: %s\n%s", seeds, strings.Join(missing, ", "), u.worth.text(u)), nil
	}
	return "", nil
}

// plan returns the plan of a seed. To that of the scenario it adds what can go wrong
// in a user's store and not in the model's.
func (u *userTest) plan(seed uint64) (Plan, string) {
	p := PlanAt(u.r.sc, seed)
	if u.config.opt.NewStore == nil {
		return p, ""
	}
	vary(&p.Params, seed)
	if !u.config.offers[deletes] {
		p.Params.Deletes = 0
	}
	if !u.config.offers[reads] {
		p.Params.ReadsBack = 0
	}
	if p.Params.More == 0 || u.worth.several {
		return p, ""
	}
	p.Params.More = 0
	failure := ""
	if u.worth.alone == "" {
		failure = u.several(seed)
	}
	p.Params.More = int64(b2i(u.worth.several))
	return p, failure
}

// firstTokens are those behind which a token is cut off, or rounded, where it is kept
// in a number that is too small for it: int32, uint32, float64.
var firstTokens = [3]int64{1<<31 - 1, 1<<32 - 1, 1 << 53}

// vary draws what a user's store is tried with beside the plan of its seed.
func vary(p *Params, seed uint64) {
	d := &seedDrawer{seed: sim.Scramble(seed)}
	if d.Int("first token", 0, 7) == 0 {
		p.FirstToken = firstTokens[d.Int("which", 0, len(firstTokens)-1)]
	}
	p.Deletes = int64(d.Int("deletes", 0, 1))
	p.More = int64(d.Int("more resources", 0, 3) / 3)
	p.ReadsBack = int64(d.Int("read back", 0, 1))
}

// several tries whether the store tells resources apart: whether the calm run with two
// of them breaks nothing. A store that holds but one thing is right too.
func (u *userTest) several(seed uint64) string {
	p := Plan{Params: u.r.sc.Params}
	p.Params.More = 1
	o := u.r.Replay(&p.Params, nil) // what the store itself chooses is calm too
	run := u.recordedAt(seed, &p.Params, &o)
	switch {
	case len(o.Violations) > 0:
		u.worth.alone = o.Violations[0].Property
	case len(o.Inconclusive) > 0:
		u.worth.alone = o.Inconclusive[0]
	default:
		u.worth.several = true
	}
	u.worth.aloneRun = run.Token()
	return u.marked(run)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recordedAt is a run as a token holds it.
func (u *userTest) recordedAt(seed uint64, p *Params, o *Outcome) *Recorded {
	return &Recorded{Scenario: u.r.sc.Name, Revision: u.r.sc.Revision, Defects: u.r.opt.Defects, Params: *p, Seed: seed,
		Schedule: slices.Clone(o.Result.Decisions), Digest: o.Result.Digest}
}

// marked says that the code under test marked the test as failed in a run, or nothing.
func (u *userTest) marked(run *Recorded) string {
	if u.config.failed == nil || !u.config.failed() {
		return ""
	}
	if u.r.failedIn != nil {
		run = u.r.failedIn
	}
	return fmt.Sprintf("seed %d: the store, or the function given to WithStore, marked this test as failed (t.Error, t.Fail) in this run, "+
		"which is the last one; what it said is above\n%s", run.Seed, u.again(run))
}

// try runs a seed. What the first did is kept, for it is the one that a store that
// is shared between runs has not been in.
func (u *userTest) try(seed uint64, p *Plan) Outcome {
	var want wanted
	if seed == 0 {
		want = record
	}
	o := u.r.start(p, want)
	o.sample = rerun(seed) // not the plan's own seed: the first run must be repeated
	if seed == 0 {
		u.first = u.r.recorded(&p.Params)
	}
	return o
}

// judge returns why the test fails at an outcome, or "".
func (u *userTest) judge(seed uint64, p *Params, o *Outcome) (string, error) {
	run := u.recordedAt(seed, p, o)
	limit, open := o.Result.Limit, o.Inconclusive
	property, maxRuns := "", maxShrink
	if len(o.Violations) > 0 {
		property = o.Violations[0].Property
	}
	if o.Result.Panic != nil && o.Result.Panic.Value == nil {
		maxRuns = 1 // t.Fatal would log its text in each run
	}
	if err := u.r.Recheck(seed, p, o); err != nil {
		return "", u.nondeterministic(err, run)
	}
	switch {
	case property != "":
		u.shrink(run, property, maxRuns)
		return u.explain(run, property)
	case len(open) > 0:
		return u.undecided(run, open, limit), nil
	}
	return "", nil
}

// maxShrink bounds the runs that make a failure small.
const maxShrink = 500

// Of a failure that remains larger than fewDecisions when it was shrunk, as its chain
// of events is long, others are shrunk too: at most manyOthers of the next manySeeds.
const (
	fewDecisions = 3
	manyOthers   = 10
	manySeeds    = 2000
)

// shrink makes a failing run small, or finds another that becomes smaller.
func (u *userTest) shrink(run *Recorded, property string, maxRuns int) {
	small := u.r.Shrink(&run.Params, run.Schedule, property, maxRuns)
	if u.size(small) > fewDecisions && maxRuns == maxShrink {
		if other := u.r.few(small, property, maxRuns); other != nil && u.size(other) < u.size(small) {
			small = other
		}
	}
	left := run.Seed + manySeeds
	others := 0
	if maxRuns < maxShrink {
		others = manyOthers
	}
	for seed := run.Seed + 1; seed < left && others < manyOthers && u.size(small) > fewDecisions; seed++ {
		p, _ := u.plan(seed)
		u.heart.Begin(seed)
		o := u.r.Run(&p)
		if !slices.Contains(o.Broken(), property) {
			continue
		}
		others++
		if other := u.r.Shrink(&p.Params, slices.Clone(o.Result.Decisions), property, maxRuns); u.size(other) < u.size(small) {
			small, run.Seed = other, seed
		}
	}
	run.Params, run.Schedule, run.Digest = small.Params, small.Schedule, small.Digest
}

func (u *userTest) size(s *Small) int { return u.r.CountDecisions(&s.Params, s.Schedule) }

// undecided says what could not be judged, and where a run that does not end
// went on and on.
func (u *userTest) undecided(run *Recorded, open []string, limit *sim.Limit) string {
	text := fmt.Sprintf("inconclusive at seed %d: %s\n", run.Seed, strings.Join(open, ", "))
	if limit != nil {
		text += limit.Stack
	}
	return text + u.again(run)
}

func (u *userTest) replay(token string) (string, error) {
	rec, err := ParseToken(token)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ReplayVariable, err)
	}
	if rec.Scenario != u.r.sc.Name {
		return "", fmt.Errorf("%s: expected a token of scenario %s, found one of %s", ReplayVariable, u.r.sc.Name, rec.Scenario)
	}
	u.heart.Begin(rec.Seed)
	u.worth.replay = true
	o := u.r.Replay(&rec.Params, rec.Schedule)
	if failure := u.marked(rec); failure != "" {
		return failure, nil
	}
	if o.Result.Digest != rec.Digest {
		return "", u.r.Diverged(rec)
	}
	switch {
	case len(o.Violations) > 0:
		return u.explain(rec, o.Violations[0].Property)
	case len(o.Inconclusive) > 0:
		return u.undecided(rec, o.Inconclusive, o.Result.Limit), nil
	}
	return "", nil
}

// explain says a failure in words.
func (u *userTest) explain(run *Recorded, property string) (string, error) {
	f, err := u.r.Explain(&run.Params, run.Seed, run.Schedule, run.Digest, property)
	if err != nil {
		return "", u.nondeterministic(err, run)
	}
	return f.Text() + u.again(&f.Run), nil
}

// again is the command that shows a run again.
func (u *userTest) again(run *Recorded) string {
	return fmt.Sprintf("to see it again:\n  %s='%s' go test -run '^%s$'\n", ReplayVariable, run.Token(), u.name)
}

// nondeterministic adds to the error of a run that was not repeated what is known
// of the reason: where the runs parted, and whether the store may be shared.
func (u *userTest) nondeterministic(err error, run *Recorded) error {
	before := u.first
	if run.Seed > 0 || before == nil {
		_, before = u.r.Record(&run.Params, run.Schedule)
	}
	_, after := u.r.Record(&run.Params, run.Schedule)
	if where := parted(before, after); where != "" {
		err = fmt.Errorf("%w\n%s", err, where)
	}
	switch {
	case u.config.shared:
		err = fmt.Errorf("the function given to WithStore returned the same store again: what it remembers of one run reaches the next; make a new one in each call\n%w", err)
	case u.config.opt.NewStore != nil:
		err = fmt.Errorf("%w\nor the stores that the function given to WithStore makes share memory, such as a package variable, a map or a pointer: each must be as new", err)
	}
	return err
}

// parted says where two runs of one schedule first differ; empty if they do not.
func parted(a, b *history.History) string {
	for i := range max(len(a.Events), len(b.Events)) {
		if i < len(a.Events) && i < len(b.Events) && a.Events[i] == b.Events[i] {
			continue
		}
		first, then := "the end of the run", "the end of the run"
		index := int64(0)
		if i < len(b.Events) {
			then, index = eventInWords(&b.Events[i]), b.Events[i].Index
		}
		if i < len(a.Events) {
			first, index = eventInWords(&a.Events[i]), a.Events[i].Index
		}
		if first == then { // the words leave out what differs
			first, then = eventInFull(&a.Events[i]), eventInFull(&b.Events[i])
		}
		return fmt.Sprintf("they part at event #%d: %s, then %s", index, first, then)
	}
	return ""
}

// eventInFull is an event as a history file has it.
func eventInFull(e *history.Event) string {
	var b strings.Builder
	h := &history.History{Events: []history.Event{*e}}
	if err := history.WriteAll(&b, h); err != nil {
		return err.Error()
	}
	_, line, _ := strings.Cut(b.String(), "\n") // behind the header
	return strings.TrimSpace(line)
}
