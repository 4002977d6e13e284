package fuzz

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"staleproof/model/history"
	"staleproof/scenarios"
	"staleproof/sim"
)

// Property returns a property for rapid.Check and rapid.MakeFuzz: no plan of sc
// breaks anything. A failure logs the finding in words, with the smallest
// schedule that shows it, and a command that shows it again: for a store of a
// user's that is the test itself with [scenarios.ReplayVariable], which makes the
// property run that schedule alone. The property uses one world and is for one
// goroutine; close ends it.
func Property(sc *scenarios.Scenario, opt scenarios.Options) (property func(*rapid.T), close func(), err error) {
	r, err := scenarios.NewRunner(sc, opt)
	if err != nil {
		return nil, nil, err
	}
	c := &checked{r: r, user: opt.NewStore != nil}
	plans, token := Plans(sc), os.Getenv(scenarios.ReplayVariable)
	return func(t *rapid.T) {
		if token != "" {
			c.replay(t, token)
			return
		}
		p := plans.Draw(t, "plan")
		o := r.Run(&p)
		c.judge(t, &p.Params, p.Seed, &o)
		if err := r.Recheck(p.Seed, &p.Params, &o); err != nil {
			t.Fatal(history.Printable(err.Error()))
		}
	}, r.Close, nil
}

// checked is what a property runs.
type checked struct {
	r    *scenarios.Runner
	user bool // of code that the command does not have
}

// replay runs the schedule of a token.
func (c *checked) replay(t *rapid.T, token string) {
	rec, err := scenarios.ParseToken(token)
	if err != nil {
		t.Fatalf("%s: %v", scenarios.ReplayVariable, err)
	}
	if name := c.r.Scenario().Name; rec.Scenario != name {
		t.Fatalf("%s: expected a token of scenario %s, found one of %s", scenarios.ReplayVariable, name, rec.Scenario)
	}
	if o := c.r.Replay(&rec.Params, rec.Schedule); o.Result.Digest == rec.Digest {
		c.judge(t, &rec.Params, rec.Seed, &o)
		return
	}
	t.Fatal(history.Printable(c.r.Diverged(rec).Error()))
}

// judge fails t if a run broke something.
func (c *checked) judge(t *rapid.T, p *scenarios.Params, seed uint64, o *scenarios.Outcome) {
	if len(o.Inconclusive) > 0 {
		t.Fatal(history.Printable("inconclusive: " + strings.Join(o.Inconclusive, ", ")))
	}
	if len(o.Violations) == 0 {
		return
	}
	t.Log(&words{c, t.Name(), *p, seed, slices.Clone(o.Result.Decisions), o.Violations[0].Property})
	// The message names the property alone: rapid shrinks while it stays the same.
	t.Fatalf("broke %s", o.Violations[0].Property)
}

// words explains a violation when it is printed: rapid prints only what it kept.
type words struct {
	*checked
	test     string
	params   scenarios.Params
	seed     uint64
	schedule sim.Schedule
	property string
}

func (w *words) String() string {
	small := w.r.Shrink(&w.params, w.schedule, w.property, 500)
	f, err := w.r.Explain(&small.Params, w.seed, small.Schedule, small.Digest, w.property)
	if err != nil {
		return err.Error()
	}
	again := "staleproof replay '" + f.Run.Token() + "'"
	if w.user {
		again = fmt.Sprintf("%s='%s' go test -run '^%s$'", scenarios.ReplayVariable, f.Run.Token(), w.test)
	}
	return f.Text() + "to see it again:\n  " + again
}
