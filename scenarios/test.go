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
	least uint64 // of the control
	limit time.Duration
	// failed reports whether the test was marked as failed: by the code under test,
	// as long as Test goes on. It may be nil.
	failed func() bool
	// shared says that the function of WithStore returned one store twice.
	shared bool
	stores []served           // that it made for this run
	offers [len(methods)]bool // by it
	// spoilt are properties that planted defects break with a right store too, and never
	// the dangers that do not occur with one.
	spoilt, never []string
	err           error // of an option
}

// served is a user's store as [model.Serve] makes a process of it.
type served interface {
	Calls() (calls [len(methods)]int64, arrived int64)
}

// methods are those that a user's store may have.
var methods = [4]string{"Write", "Read", "Raise", "Delete"}

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
			h := model.Serve(s)
			c.stores = append(c.stores, h.(served))
			_, c.offers[1] = s.(model.StoreReader)
			_, c.offers[2] = s.(model.StoreRaiser)
			_, c.offers[3] = s.(model.StoreDeleter)
			c.offers[0] = true
			return h
		}
	}
}

// WithStoreCrashes lets the user's store crash: it starts again from what it put
// on its disk and synced. Without this option it crashes in store-forgets alone.
func WithStoreCrashes() Option {
	return func(c *testConfig) { c.opt.StoreCrashes = true }
}

// WithDefects turns defects of the model on. Beside a user's store these are defects of
// the lease manager or the clients. A property that they break with the model's own,
// right store as well is then not judged, unless [WithProperties] names it.
func WithDefects(d model.Defects) Option {
	return func(c *testConfig) { c.opt.Defects = d }
}

// WithProperties judges the runs by these properties, and not by the scenario's own.
// staleproof list properties tells which there are.
func WithProperties(names ...string) Option {
	return func(c *testConfig) {
		if c.opt.Properties = names; len(names) == 0 {
			c.err = errors.New("WithProperties: expected names of properties, such as no-stale-write, found none")
		}
	}
}

// WithSeeds runs the seeds 0 to n-1; the default is 20,000, which takes about a
// second, or 2,000 under go test -short.
func WithSeeds(n uint64) Option {
	return func(c *testConfig) { c.seeds = n }
}

// ReplayVariable is the environment variable that makes [Test] replay one run,
// whose token it holds, instead of its seeds.
const ReplayVariable = "STALEPROOF_REPLAY"

// Test runs a scenario as a test: it fails t with an explanation and a command
// that reproduces the failure as soon as a property is broken, and when a danger
// that the scenario is about never occurred. Otherwise it logs in one line what the
// pass is worth.
//
// A user's store that has a Delete is sent deletes, the first token is close to 2^31,
// 2^32 or 2^53 in some schedules, and in some there are leases of two resources,
// unless the store cannot tell two apart in the calm run.
func Test(t *testing.T, scenario string, options ...Option) {
	t.Helper()
	sc, err := Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	c := defaults(testing.Short())
	if c.failed = t.Failed; t.Failed() {
		c.failed = nil // before this
	}
	for _, o := range options {
		o(&c)
	}
	v, err := c.run(t.Name(), sc, os.Getenv(ReplayVariable))
	switch {
	case err != nil:
		t.Fatal(history.Printable(err.Error()))
	case v.failure != "":
		t.Fatal(history.Printable(v.failure))
	}
	t.Log(v.worth)
}

// defaults are those of a test without options.
func defaults(short bool) testConfig {
	c := testConfig{seeds: 20_000, least: 20_000, limit: 10 * time.Second}
	if short {
		c.seeds = 2000
	}
	return c
}

// verdict is what a user's test came to.
type verdict struct {
	failure string // why it fails, or ""
	worth   string // what a pass is worth
}

// run runs the seeds, or replays a token if there is one, on a goroutine of its
// own: a run that blocks outside the simulator is left behind.
func (c *testConfig) run(name string, sc *Scenario, token string) (verdict, error) {
	if err := c.check(sc); err != nil {
		return verdict{}, err
	}
	r, err := NewRunner(sc, c.opt)
	if err != nil {
		return verdict{}, err
	}
	r.failed, r.begins = c.failed, func() { c.stores = c.stores[:0] }
	u := &userTest{name: name, r: r, config: c, heart: r.World().Heart()}
	var found verdict // written to by the goroutine, even when it is left behind
	err = watchdog.Run(u.heart, func(p int) string { return r.World().Name(sim.ID(p)) }, c.limit, func() error {
		defer r.Close()
		var failure string
		var err error
		if token != "" {
			failure, err = u.replay(token)
		} else {
			failure, err = u.seeds(c.seeds)
		}
		found = verdict{failure, u.worth.text(u)}
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
	return verdict{}, err
}

// ofStore are the defects of the model's store, which a user's store replaces.
const ofStore = model.StoreIgnoresToken | model.StoreComparesIdentity | model.StoreRefusesEqual | model.StoreReappliesCopies |
	model.StoreChecksApart | model.StoreCachesCheck | model.StoreIgnoresOwner | model.StoreAcksBeforeSync |
	model.FenceNotPersisted | model.SnapshotDropsFence | model.ReplicaLags | model.FenceCollected

// check refuses options that do not go together, and takes the properties away that a
// planted defect breaks with a right store too.
func (c *testConfig) check(sc *Scenario) error {
	d := c.opt.Defects
	switch {
	case c.err != nil:
		return c.err
	case sc.Searched:
		return fmt.Errorf("scenario %s is searched exhaustively, and without a store of yours: expected one that runs under seeds, such as textbook; run staleproof explore %s", sc.Name, sc.Name)
	case c.opt.NewStore == nil && c.opt.StoreCrashes:
		return errors.New("WithStoreCrashes: expected WithStore beside it, which says what may crash; the model's own store crashes where the scenario lets it")
	case c.opt.NewStore == nil || d == 0:
		return nil
	case d&ofStore != 0:
		return fmt.Errorf("WithDefects: expected defects of the lease manager or the clients, found %s: that is one of the model's store, which WithStore replaces", d&ofStore)
	case c.opt.Properties != nil:
		return nil
	}
	if err := c.control(sc); err != nil {
		return err
	}
	c.opt.Properties = slices.DeleteFunc(slices.Clone(sc.Properties), func(p string) bool { return slices.Contains(c.spoilt, p) })
	if len(c.opt.Properties) == 0 {
		return fmt.Errorf("WithDefects: %s breaks every property of scenario %s, whatever the store does: choose another scenario, or properties by WithProperties", d, sc.Name)
	}
	return nil
}

// control finds out what the planted defects do beside the model's own store, at the
// seeds that the test has and some more: what is rare must not be missed.
func (c *testConfig) control(sc *Scenario) error {
	r, err := NewRunner(sc, Options{Defects: c.opt.Defects, NoDigest: true})
	if err != nil {
		return err
	}
	defer r.Close()
	var facts checker.Counts
	for seed := range max(c.seeds, c.least) {
		p := PlanAt(sc, seed)
		vary(&p.Params, seed)
		o := r.Run(&p)
		for i, n := range o.Sometimes {
			facts[i] += n
		}
		for _, v := range o.Violations {
			if !slices.Contains(c.spoilt, v.Property) {
				c.spoilt = append(c.spoilt, v.Property)
			}
		}
	}
	c.never = sc.Missing(facts)
	return nil
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
// lines fit a terminal when a test logs them, and it is printable.
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
	return history.Printable(b.String())
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
