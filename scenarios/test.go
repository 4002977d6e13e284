package scenarios

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
	"staleproof/sim/watchdog"
)

// Option changes what [Test] runs.
type Option func(*testConfig)

type testConfig struct {
	opt   Options
	seeds uint64
	limit time.Duration
	// shared says that the function of WithStore returned one store twice.
	shared bool
	err    error // of an option
}

// WithStore puts a user's store in the place of the scenario's: newStore makes it
// afresh, at the start and after every crash. It does not crash unless
// [WithStoreCrashes] says so, but in the scenario store-forgets, which is about
// that. See [model.StoreServer] for what it has to do.
func WithStore(newStore func() model.StoreServer) Option {
	return func(c *testConfig) {
		if newStore == nil {
			c.err = errors.New("WithStore: expected a function that makes a store, found nil")
			return
		}
		var last model.StoreServer
		c.opt.NewStore = func() sim.Handler {
			s := newStore()
			if s == nil {
				panic(sim.Misuse("WithStore: expected its function to return a store, found nil"))
			}
			if v := reflect.ValueOf(s); v.Kind() == reflect.Pointer && v.Type().Elem().Size() > 0 {
				c.shared = c.shared || s == last
				last = s
			}
			return model.Serve(s)
		}
	}
}

// WithStoreCrashes lets the user's store crash: it starts again from what it put
// on its disk and synced. Without this option it crashes in store-forgets alone.
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
	if c.err != nil {
		t.Fatal(c.err)
	}
	failure, err := c.run(t.Name(), sc, os.Getenv(ReplayVariable))
	switch {
	case err != nil:
		t.Fatal(err)
	case failure != "":
		t.Fatal(failure)
	}
}

// run runs the seeds, or replays a token if there is one, on a goroutine of its
// own: a run that blocks outside the simulator is left behind.
func (c *testConfig) run(name string, sc *Scenario, token string) (string, error) {
	if sc.Searched {
		return "", fmt.Errorf("scenario %s is searched exhaustively, and without a store of yours: expected one that runs under seeds, such as textbook; run staleproof explore %s", sc.Name, sc.Name)
	}
	r, err := NewRunner(sc, c.opt)
	if err != nil {
		return "", err
	}
	u := &userTest{name: name, r: r, config: c, heart: r.World().Heart()}
	found := "" // written to by the goroutine, even when it is left behind
	err = watchdog.Run(u.heart, func(p int) string { return r.World().Name(sim.ID(p)) }, c.limit, func() error {
		defer r.Close()
		var text string
		var err error
		if token != "" {
			text, err = u.replay(token)
		} else {
			text, err = u.seeds(c.seeds)
		}
		found = text
		return err
	})
	if err == nil {
		return found, nil
	}
	_, blocked := errors.AsType[*watchdog.Blocked](err)
	_, stray := errors.AsType[*watchdog.Stray](err)
	if blocked || stray {
		err = fmt.Errorf("seed %d: %w", u.heart.Seed(), err)
	}
	return "", err
}

// userTest is what [Test] runs.
type userTest struct {
	name   string // of the test
	r      *Runner
	config *testConfig
	heart  *watchdog.Beat
	first  *history.History // of the run of seed 0
}

// seeds runs the seeds and returns why the test fails, or "".
func (u *userTest) seeds(seeds uint64) (string, error) {
	var facts checker.Counts
	for seed := range seeds {
		u.heart.Begin(seed)
		p := PlanAt(u.r.sc, seed)
		o := u.try(seed, &p)
		for i, n := range o.Sometimes {
			facts[i] += n
		}
		if u.heart.Accused() != nil {
			return "", nil // the watchdog reports it
		}
		if failure, err := u.judge(seed, &p.Params, &o); failure != "" || err != nil {
			return failure, err
		}
	}
	if missing := u.r.sc.Missing(facts); len(missing) > 0 {
		return fmt.Sprintf("inconclusive: in %d schedules it never happened: %s", seeds, strings.Join(missing, ", ")), nil
	}
	return "", nil
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
	run := Recorded{Scenario: u.r.sc.Name, Revision: u.r.sc.Revision, Defects: u.r.opt.Defects, Params: *p, Seed: seed,
		Schedule: slices.Clone(o.Result.Decisions), Digest: o.Result.Digest}
	limit, open := o.Result.Limit, o.Inconclusive
	property, maxRuns := "", maxShrink
	if len(o.Violations) > 0 {
		property = o.Violations[0].Property
	}
	if o.Result.Panic != nil && o.Result.Panic.Value == nil {
		maxRuns = 1 // t.Fatal would log its text in each run
	}
	if err := u.r.Recheck(seed, p, o); err != nil {
		return "", u.nondeterministic(err, &run)
	}
	switch {
	case property != "":
		small := u.r.Shrink(p, run.Schedule, property, maxRuns)
		run.Params, run.Schedule, run.Digest = small.Params, small.Schedule, small.Digest
		return u.explain(&run, property)
	case len(open) > 0:
		return u.undecided(&run, open, limit), nil
	}
	return "", nil
}

// maxShrink bounds the runs that make a failure small.
const maxShrink = 500

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
	o := u.r.Replay(&rec.Params, rec.Schedule)
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

// Text says the finding in words: the message, what led to it, the decisions. Its
// lines fit a terminal when a test logs them.
func (f *Finding) Text() string {
	var b strings.Builder
	say := func(first, rest, text string) {
		if text != "" {
			b.WriteString(wrap(first, rest, text))
		}
	}
	say("", "  ", f.Message)
	say("guarantee: ", "  ", f.Guarantee)
	if f.Harm != "" {
		say("in short: ", "  ", f.Harm+".")
	}
	say("because: ", "  ", f.Cause)
	for i, l := range f.Chain {
		head := fmt.Sprintf("%3d. #%-4d %9s  ", i+1, l.Index, TimeText(l.Time, f.History.Header.Timing))
		say(head, strings.Repeat(" ", len(head)), l.Text)
	}
	if len(f.Decisions) == 0 {
		b.WriteString("it happens in the calm run: no decision is needed\n")
	} else {
		b.WriteString("what differs from the calm run:\n")
	}
	for _, d := range f.Decisions {
		say("  ", "    ", d)
	}
	if len(f.Work) > 0 {
		say("with less work: ", "  ", strings.Join(f.Work, ", "))
	}
	b.WriteString(f.Stack)
	return b.String()
}

// textWidth leaves room for the indentation of go test.
const textWidth = 72

// wrap breaks a text into lines, of which all but the first begin with rest. What
// has lines already, such as some panics, is left alone.
func wrap(first, rest, text string) string {
	if strings.Contains(text, "\n") {
		return first + text + "\n"
	}
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case len([]rune(line))+1+len([]rune(word)) > textWidth:
			b.WriteString(line + "\n")
			line = rest
		default:
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}
