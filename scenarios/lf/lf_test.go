package lf

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
	"staleproof/sim"
	"staleproof/sim/explore"
)

var (
	small     = Config{Clients: 2, Acquisitions: 1, Writes: 1}
	mid       = Config{Clients: 2, Acquisitions: 2, Writes: 1, Renewals: 1}
	n3        = Config{Clients: 3, Acquisitions: 1, Writes: 1, Renewals: 1}
	timeSmall = Config{Timed: true, Horizon: 4, TTL: 2, Clients: 2, Acquisitions: 1, Writes: 1, Renewals: 1}
	timeMid   = Config{Timed: true, Horizon: 4, TTL: 2, Clients: 2, Acquisitions: 2, Writes: 1, Renewals: 1}
)

func with(c Config, d Defect) Config {
	c.Defect = d
	return c
}

func run(t *testing.T, c Config, opt explore.Options) explore.Result {
	t.Helper()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := explore.Run(c.System(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGolden compares with the counts that TLC, Spin and stateright give.
func TestGolden(t *testing.T) {
	for _, x := range []struct {
		name              string
		cfg               Config
		states, generated int64
	}{
		{"small", small, 501, 1_327},
		{"mid", mid, 434_098, 1_977_805},
		{"n3", n3, 1_070_495, 6_249_370},
		{"time small", timeSmall, 63_032, 223_831},
		{"time mid", timeMid, 618_976, 2_432_125},
	} {
		t.Run(x.name, func(t *testing.T) {
			if (testing.Short() || raced) && x.states > 500_000 {
				t.Skip("large")
			}
			var results []explore.Result
			for workers := 1; workers <= 2; workers++ {
				r := run(t, x.cfg, explore.Options{Workers: workers})
				if r.States != x.states || r.Generated != x.generated || !r.Complete() {
					t.Errorf("%d workers found %d states, %d generated, complete %v; want %d, %d, true",
						workers, r.States, r.Generated, r.Complete(), x.states, x.generated)
				}
				r.Seconds = 0
				results = append(results, r)
			}
			if diff := cmp.Diff(results[0], results[1]); diff != "" {
				t.Errorf("two workers differ from one (-one +two):\n%s", diff)
			}
		})
	}
}

// TestWide has fingerprints of 128 bits.
func TestWide(t *testing.T) {
	if r := run(t, timeSmall, explore.Options{Wide: true, Workers: 2}); r.States != 63_032 || r.Generated != 223_831 {
		t.Errorf("found %d states, %d generated", r.States, r.Generated)
	}
}

// TestDefects finds the shortest counterexample of each defect. Run replays it
// in the ordinary world and compares what happens there, and the digests.
func TestDefects(t *testing.T) {
	for _, x := range []struct {
		name     string
		cfg      Config
		property string
		steps    int
	}{
		{"the store takes an old write", with(mid, NoFenceCheck), "fence", 11},
		{"the token stays", with(mid, TokenRegress), "token-unique", 7},
		{"a late grant gives a late deadline", with(timeSmall, FromReceipt), "exclusive-belief", 8},
		{"the same with two acquisitions", with(timeMid, FromReceipt), "exclusive-belief", 8},
	} {
		t.Run(x.name, func(t *testing.T) {
			one := run(t, x.cfg, explore.Options{Workers: 1})
			two := run(t, x.cfg, explore.Options{Workers: 2})
			one.Seconds, two.Seconds = 0, 0
			if diff := cmp.Diff(one, two); diff != "" {
				t.Errorf("two workers differ from one (-one +two):\n%s", diff)
			}
			v := one.Violation
			if v == nil || v.Property != x.property || v.Steps != x.steps {
				t.Fatalf("found %+v, want %s after %d steps", v, x.property, x.steps)
			}
			replay(t, x.cfg, v)
		})
	}
}

// replay runs a counterexample from its schedule alone, as text.
func replay(t *testing.T, c Config, v *explore.Violation) {
	t.Helper()
	sys := c.System()
	w := sim.NewWorld(sys.Config, sim.Calm{}, nil)
	defer w.Close()
	sys.Build(w)
	s, err := sim.ParseSchedule(v.Schedule.Text(w.Names()), w.Names())
	if err != nil {
		t.Fatal(err)
	}
	w.Reset(sys.Config, sim.NewReplay(s), nil)
	sys.Build(w)
	if r := w.Run(); r.Digest != v.Digest {
		t.Errorf("digest %x, want %x, of schedule %s", r.Digest, v.Digest, v.Schedule.Text(w.Names()))
	}
}

// ledger judges by what the processes report, and needs no checkpoint.
type ledger struct {
	highest history.Token
	held    [3]history.Token // by each client
	broken  string
}

func (l *ledger) Notes() sim.NoteSet     { return 0 }
func (l *ledger) Note(sim.Note)          {}
func (l *ledger) Clone() explore.Monitor { twin := *l; return &twin }
func (l *ledger) Key() any               { return *l }
func (l *ledger) Broken() string         { return l.broken }

func (l *ledger) Observe(o sim.Observation) {
	e := o.(*history.Event)
	switch e.F {
	case history.Apply:
		if e.Token < l.highest {
			l.broken = "fence"
		}
		l.highest = max(l.highest, e.Token)
	case history.Believe, history.Disbelieve:
		mine := int(e.Process[0] - 'A')
		l.held[mine] = e.Token
		for i, other := range l.held {
			if i != mine && other == e.Token && other != 0 {
				l.broken = "token-unique"
			}
		}
	}
}

// TestBare leaves the checkpoints out: more states, the same verdicts.
func TestBare(t *testing.T) {
	for _, x := range []struct {
		name   string
		cfg    Config
		steps  int // 0: no violation
		broken string
	}{
		{"none", small, 0, ""},
		{"no fence check", with(small, NoFenceCheck), 11, "fence"},
		{"token regress", with(small, TokenRegress), 7, "token-unique"},
	} {
		t.Run(x.name, func(t *testing.T) {
			states := int64(0)
			for _, bare := range []bool{false, true} {
				x.cfg.Bare = bare
				sys := x.cfg.System()
				sys.Invariants = nil
				sys.Monitors = []func() explore.Monitor{func() explore.Monitor { return &ledger{} }}
				r, err := explore.Run(sys, explore.Options{Workers: 2})
				if err != nil {
					t.Fatal(err)
				}
				steps, broken := 0, ""
				if v := r.Violation; v != nil {
					steps, broken = v.Steps, v.Message
				}
				if steps != x.steps || broken != x.broken || steps == 0 && !r.Complete() {
					t.Errorf("bare %v: broke %q after %d steps, want %q after %d", bare, broken, steps, x.broken, x.steps)
				}
				if bare && r.States <= states {
					t.Errorf("%d states without checkpoints, %d with them", r.States, states)
				}
				states = r.States
			}
		})
	}
}

// TestRunsOfProcessCode pins how rarely process code runs: that is what makes
// the search fast.
func TestRunsOfProcessCode(t *testing.T) {
	r := run(t, mid, explore.Options{})
	if r.Runs > 2_000 || r.Locals > 100 {
		t.Errorf("%d steps of process code, %d local states; want at most 2000 and 100", r.Runs, r.Locals)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, x := range []struct {
		reason string
		cfg    Config
	}{
		{"nobody", Config{Acquisitions: 1}},
		{"more clients than letters were tested for", Config{Clients: 9, Acquisitions: 1}},
		{"nothing to do", Config{Clients: 1}},
		{"a negative count", Config{Clients: 1, Acquisitions: 1, Writes: -1}},
		{"time without an end", Config{Timed: true, Clients: 1, Acquisitions: 1, TTL: 1}},
	} {
		if x.cfg.Check() == nil {
			t.Errorf("%s: no error", x.reason)
		}
	}
}
