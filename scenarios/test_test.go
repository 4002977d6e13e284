package scenarios

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
	"staleproof/sim/watchdog"
)

// tested is what Test says of options, without failing this test.
func tested(t *testing.T, token string, options ...Option) (string, error) {
	t.Helper()
	c := testConfig{seeds: 2000, limit: 10 * time.Second}
	for _, o := range options {
		o(&c)
	}
	if c.err != nil {
		return "", c.err
	}
	v, err := c.run("TestTwoStep", &textbook, token)
	return v.failure, err
}

// twoStep checks the token in one step and writes in the next.
type twoStep struct {
	highest model.Token
	atomic  bool
}

func (s *twoStep) Write(p *sim.Proc, r model.Request) model.Reply {
	if s.atomic {
		p.Yield("before the check")
	}
	if r.Token < s.highest {
		return model.Stale(s.highest)
	}
	if !s.atomic {
		p.Yield("between check and write")
	}
	s.highest = r.Token
	return model.OK(r.Value)
}

// TestUsersStore: what Test does with a user's store.
func TestUsersStore(t *testing.T) {
	store := func(atomic bool) Option {
		return WithStore(func() model.StoreServer { return &twoStep{atomic: atomic} })
	}
	failure, err := tested(t, "", store(false))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "users-store.golden", failure)

	_, token, _ := strings.Cut(failure, ReplayVariable+"='")
	token, _, _ = strings.Cut(token, "'")
	replayed, err := tested(t, token, store(false))
	if err != nil || replayed != failure {
		t.Errorf("expected the replay to fail alike, found %v\n%s", err, replayed)
	}
	if _, err := tested(t, token, store(true)); err == nil || !strings.Contains(err.Error(), "diverged") || !strings.Contains(err.Error(), "now breaks nothing") {
		t.Errorf("expected the corrected store to diverge from the token, found %v", err)
	}
	if failure, err := tested(t, "", store(true)); failure != "" || err != nil {
		t.Errorf("expected the corrected store to pass, found %v\n%s", err, failure)
	}
}

// hooked is an atomic store that first does something else.
type hooked struct {
	twoStep
	before func(p *sim.Proc)
}

func (s *hooked) Write(p *sim.Proc, r model.Request) model.Reply {
	s.before(p)
	return s.twoStep.Write(p, r)
}

func withHook(before func(p *sim.Proc)) Option {
	return WithStore(func() model.StoreServer { return &hooked{twoStep{atomic: true}, before} })
}

func spin(p *sim.Proc) {
	for {
		p.Yield("spin")
	}
}

// fickle is a store whose memory is a package variable.
type fickle struct{}

var remembered model.Token

func (fickle) Write(p *sim.Proc, r model.Request) model.Reply {
	if r.Token < remembered {
		return model.Stale(remembered)
	}
	remembered = r.Token
	return model.OK(r.Value)
}

// TestUsersMistakes: what a user gets wrong is said in words that name it.
func TestUsersMistakes(t *testing.T) {
	one := &twoStep{atomic: true}
	remembered = 0 // this test may be repeated
	odd := false   // of every other run, so that each differs from the one before
	for _, x := range []struct {
		name   string
		option Option
		want   []string // parts of the failure or error
	}{
		{"no function", WithStore(nil), []string{"WithStore: expected a function that makes a store, found nil"}},
		{"no store", WithStore(func() model.StoreServer { return nil }),
			[]string{"process store (task factory) panicked: sim: WithStore: expected its function to return a store, found nil"}},
		{"a function that ends its goroutine", WithStore(func() model.StoreServer { runtime.Goexit(); return nil }),
			[]string{"process store ended the goroutine that runs the world"}},
		{"one store for all runs", WithStore(func() model.StoreServer { return one }),
			[]string{"the function given to WithStore returned the same store again", "seed 0: ", "the same schedule gave another run", "they part at event #", "store reject"}},
		{"a package variable", WithStore(func() model.StoreServer { return fickle{} }),
			[]string{"seed 0: ", "they part at event #", "the stores that the function given to WithStore makes share memory"}},
		{"chance", withHook(func(p *sim.Proc) {
			if odd = !odd; odd {
				p.Sleep(time.Millisecond)
			}
		}), []string{"the same schedule gave another run", "they part at event #", "a process decides by something outside the simulator"}},
		{"t.FailNow", withHook(func(*sim.Proc) { runtime.Goexit() }),
			[]string{"broke no-panic: process store (task handle) ended its goroutine (runtime.Goexit, as t.FailNow", "scenarios.(*hooked).Write", ReplayVariable + "='sp1:"}},
		{"a loop that yields", withHook(spin),
			[]string{"inconclusive at seed 0: every property: ", "process store (task handle) at test_test.go:", "(scenarios.spin) went on for 100000 steps", "scenarios.(*hooked).Write", ReplayVariable + "='sp1:"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			failure, err := tested(t, "", x.option)
			text := failure
			if err != nil {
				text = err.Error()
			}
			for _, part := range x.want {
				if !strings.Contains(unwrapped(text), part) {
					t.Errorf("expected %q in\n%s", part, text)
				}
			}
			_, token, found := strings.Cut(failure, ReplayVariable+"='")
			if token, _, _ = strings.Cut(token, "'"); !found {
				return
			}
			if again, err := tested(t, token, x.option); err != nil || !strings.Contains(unwrapped(again), x.want[len(x.want)-1]) {
				t.Errorf("expected the replay to say it again, found %v\n%s", err, again)
			}
		})
	}
}

// unwrapped puts the words of a text on one line.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestUsersExitIsRunSeldom: t.Fatal logs its text in every run, so that of a process
// which calls it there are few: the first, its recheck, one to see it again, and one
// that is recorded.
func TestUsersExitIsRunSeldom(t *testing.T) {
	for _, after := range []time.Duration{0, 30 * time.Second} { // the second takes many decisions
		exits := 0
		failure, err := tested(t, "", withHook(func(p *sim.Proc) {
			if p.Now() >= after {
				exits++
				runtime.Goexit()
			}
		}))
		if err != nil || failure == "" {
			t.Fatalf("expected a failure, found %q, %v", failure, err)
		}
		if exits > 4 {
			t.Errorf("after %s: expected at most 4 runs, found %d", after, exits)
		}
	}
}

// TestUsersText: what a user's code says is printable, whatever it holds.
func TestUsersText(t *testing.T) {
	failure, err := tested(t, "", WithStore(func() model.StoreServer { return rude{} }))
	if err != nil || !strings.Contains(failure, `\x1b[2J\a\u202e`) || history.Printable(failure) != failure {
		t.Errorf("expected the panic with its control characters escaped, found %v %q", err, failure)
	}
}

// rude is a store whose panic a terminal would obey.
type rude struct{}

func (rude) Write(*sim.Proc, model.Request) model.Reply { panic("\x1b[2J\a\u202e") }

// TestUsersGoroutine: a goroutine that uses the store's Proc is reported, with the
// seed, and does not end the program.
func TestUsersGoroutine(t *testing.T) {
	_, err := tested(t, "", withHook(func(p *sim.Proc) {
		done := make(chan bool)
		go func() {
			defer close(done)
			p.Sleep(time.Millisecond)
			p.Sleep(time.Hour)
		}()
		<-done
	}))
	s, ok := errors.AsType[*watchdog.Stray](err)
	if !ok || s.Process != "store" || s.Task != "handle" || !strings.HasPrefix(err.Error(), "seed 0: process store (task handle): its Proc") {
		t.Errorf("got %v", err)
	}
}

// TestUsersGoroutineStalls: what strikes at a call of a goroutine that is none of the
// simulator's would let the world go on from its stack: it is reported first.
func TestUsersGoroutineStalls(t *testing.T) {
	for name, call := range map[string]func(p *sim.Proc){
		"yield": func(p *sim.Proc) { p.Yield("in a goroutine") },
		"sync":  func(p *sim.Proc) { p.Sync() },
	} {
		_, err := tested(t, "", withHook(func(p *sim.Proc) {
			done := make(chan bool)
			go func() {
				defer close(done)
				call(p)
			}()
			<-done
		}))
		if s, ok := errors.AsType[*watchdog.Stray](err); !ok || s.Process != "store" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestUsersBlock: a store that blocks outside the simulator is named, with the seed.
func TestUsersBlock(t *testing.T) {
	c := testConfig{seeds: 2000, limit: 200 * time.Millisecond}
	withHook(func(*sim.Proc) { select {} })(&c)
	_, err := c.run("TestBlock", &textbook, "")
	if b, ok := errors.AsType[*watchdog.Blocked](err); !ok || b.Process != "store" || !strings.HasPrefix(err.Error(), "seed 0: process store blocks outside the simulator") {
		t.Errorf("got %v", err)
	}
}

// TestSearchedScenario: a scenario that is only searched has no place for a user's
// store, and must not pass because nothing was tried.
func TestSearchedScenario(t *testing.T) {
	for _, sc := range AllScenarios() {
		if !sc.Searched {
			continue
		}
		c := testConfig{seeds: 10, limit: 10 * time.Second}
		WithStore(func() model.StoreServer { return &twoStep{} })(&c)
		v, err := c.run("TestTwoStep", sc, "")
		if failure := v.failure; err == nil || failure != "" || !strings.Contains(err.Error(), "run staleproof explore "+sc.Name) {
			t.Errorf("%s: failure %q, error %v; want an error that names the command", sc.Name, failure, err)
		}
	}
}
