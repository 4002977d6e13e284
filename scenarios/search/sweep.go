// Package search looks for schedules that break a scenario: it sweeps seeds on
// all cores, and makes what it found small.
//
// It runs many worlds side by side and decides nothing inside one: the verdicts,
// counts and findings of a sweep are the same for any number of workers.
package search

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"staleproof/checker"
	"staleproof/scenarios"
	"staleproof/sim"
	"staleproof/sim/watchdog"
)

// Sweep runs one scenario at the seeds From to To-1.
type Sweep struct {
	Scenario *scenarios.Scenario
	Options  scenarios.Options
	// Plans makes, for each worker, the function that gives the plan of a seed; nil
	// means [scenarios.PlanAt].
	Plans    func(sc *scenarios.Scenario) func(seed uint64) scenarios.Plan
	From, To uint64
	// Stop ends the sweep at the first schedule that breaks one of these
	// properties; nil: at the first that breaks any; empty: never.
	Stop []string
	// Workers is how many goroutines sweep; 0 means one for each core.
	Workers int
	// Limit is how long a process may stand at one event, in real time, before it
	// is taken to block outside the simulator; 0 means 10 s.
	Limit time.Duration
	// Progress, if not nil, is called now and then with the schedules done.
	Progress func(schedules, events int64)
	// Quit, if not nil and closed, ends the sweep early; what it has then stands.
	Quit <-chan struct{}
	// perChunk replaces chunkSize, if not 0.
	perChunk uint64
}

// Kill is a schedule that broke properties.
type Kill struct {
	Seed     uint64
	Params   scenarios.Params
	Schedule sim.Schedule
	Digest   uint64
	Broken   []string
	Messages []string // of the violations, in the order of Broken
	Strategy string   // that found it; empty in a sweep
}

// Result is what a sweep came to.
type Result struct {
	Schedules    int64
	Events       int64
	Sometimes    checker.Counts
	Kills        []Kill           // by seed; the first of each property at most
	Inconclusive map[string]int64 // property: schedules in which it could not be judged
	Interrupted  bool
}

// Broken lists the properties that were broken, in the order of their first kill.
func (r *Result) Broken() []string {
	var names []string
	for _, k := range r.Kills {
		for _, p := range k.Broken {
			if !slices.Contains(names, p) {
				names = append(names, p)
			}
		}
	}
	return names
}

// Kill returns the first kill of a property.
func (r *Result) Kill(property string) (Kill, bool) {
	for _, k := range r.Kills {
		if slices.Contains(k.Broken, property) {
			return k, true
		}
	}
	return Kill{}, false
}

// chunkSize is how many seeds a worker takes at once.
const chunkSize = 64

// chunk is what a worker found at consecutive seeds.
type chunk struct {
	Result
	stopped bool
	done    bool
	err     error
}

// Run sweeps. An error means that the simulation itself went wrong: code under
// test that blocks outside it (*[watchdog.Blocked]) or is not deterministic
// (*[scenarios.NondeterminismError]).
func (s *Sweep) Run() (*Result, error) {
	if s.To <= s.From {
		return &Result{Inconclusive: map[string]int64{}}, nil
	}
	size := cmp.Or(s.perChunk, chunkSize)
	chunks := make([]chunk, (s.To-s.From+size-1)/size)
	var next, stop atomic.Int64
	stop.Store(int64(len(chunks)))
	var schedules, events atomic.Int64
	workers := s.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	runners, err := s.runners(workers)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			r, plan := <-runners, s.planner()
			for {
				i := next.Add(1) - 1
				if i >= stop.Load() || s.quit() {
					break
				}
				c := &chunks[i]
				from := s.From + uint64(i)*size
				s.sweep(r, plan, c, from, min(from+size, s.To))
				if c.err != nil {
					lower(&stop, i)
					return // its world may hang: it is left behind
				}
				if c.stopped {
					lower(&stop, i)
				}
				if s.Progress != nil {
					s.Progress(schedules.Add(c.Schedules), events.Add(c.Events))
				}
			}
			r.Close()
		})
	}
	wg.Wait()
	return merge(chunks)
}

// runners makes a runner for each worker.
func (s *Sweep) runners(n int) (chan *scenarios.Runner, error) {
	c := make(chan *scenarios.Runner, n)
	opt := s.Options
	opt.NoDigest = true
	for range n {
		r, err := scenarios.NewRunner(s.Scenario, opt)
		if err != nil {
			return nil, err
		}
		c <- r
	}
	return c, nil
}

func (s *Sweep) planner() func(uint64) scenarios.Plan {
	if s.Plans != nil {
		return s.Plans(s.Scenario)
	}
	return func(seed uint64) scenarios.Plan { return scenarios.PlanAt(s.Scenario, seed) }
}

func (s *Sweep) quit() bool {
	select {
	case <-s.Quit:
		return s.Quit != nil
	default:
		return false
	}
}

// lower makes v at most i+1.
func lower(v *atomic.Int64, i int64) {
	for {
		old := v.Load()
		if old <= i+1 || v.CompareAndSwap(old, i+1) {
			return
		}
	}
}

// merge adds up the chunks, in the order of seeds, up to the one that stopped.
func merge(chunks []chunk) (*Result, error) {
	total := &Result{Inconclusive: map[string]int64{}}
	for i := range chunks {
		c := &chunks[i]
		if c.err != nil {
			return nil, c.err
		}
		if !c.done {
			total.Interrupted = true
			break
		}
		total.add(&c.Result)
		if c.stopped {
			break
		}
	}
	return total, nil
}

func (r *Result) add(o *Result) {
	r.Schedules += o.Schedules
	r.Events += o.Events
	for i, n := range o.Sometimes {
		r.Sometimes[i] += n
	}
	for p, n := range o.Inconclusive {
		r.Inconclusive[p] += n
	}
	known := r.Broken()
	for _, k := range o.Kills {
		if slices.ContainsFunc(k.Broken, func(p string) bool { return !slices.Contains(known, p) }) {
			r.Kills = append(r.Kills, k)
			known = r.Broken()
		}
	}
}

// sweep runs a chunk under the watchdog.
func (s *Sweep) sweep(r *scenarios.Runner, plan func(uint64) scenarios.Plan, c *chunk, from, to uint64) {
	c.err = watched(r, s.Limit, from, func() error { return s.seeds(r, plan, c, from, to) })
}

// watched calls run, which runs schedules of r near a seed, under the watchdog. If
// the error is a *[watchdog.Blocked], r is left behind and must not be used again.
func watched(r *scenarios.Runner, limit time.Duration, seed uint64, run func() error) error {
	if limit <= 0 {
		limit = 10 * time.Second
	}
	w := r.World()
	return watchdog.Run(w.Heart(), func(p int) string { return w.Name(sim.ID(p)) }, limit, func() error {
		return guarded(seed, run)
	})
}

// seeds runs the seeds of a chunk, until one stops the sweep.
func (s *Sweep) seeds(r *scenarios.Runner, plan func(uint64) scenarios.Plan, c *chunk, from, to uint64) error {
	c.Inconclusive = map[string]int64{}
	for seed := from; seed < to && !c.stopped; seed++ {
		p := plan(seed)
		o := r.Run(&p)
		if err := r.Recheck(seed, &p.Params, &o); err != nil {
			return err
		}
		c.Schedules++
		c.Events += o.Result.Events
		for i, n := range o.Sometimes {
			c.Sometimes[i] += n
		}
		for _, name := range o.Inconclusive {
			c.Inconclusive[name]++
		}
		if len(o.Violations) > 0 {
			if len(missing(o.Broken(), &c.Result)) > 0 {
				c.Kills = append(c.Kills, killOf(seed, &p.Params, &o))
			}
			c.stopped = s.stops(&o)
		}
	}
	c.done = true
	return nil
}

func killOf(seed uint64, p *scenarios.Params, o *scenarios.Outcome) Kill {
	k := Kill{Seed: seed, Params: *p, Schedule: slices.Clone(o.Result.Decisions), Digest: o.Result.Digest}
	for _, v := range o.Violations {
		k.Broken = append(k.Broken, v.Property)
		k.Messages = append(k.Messages, v.Message)
	}
	return k
}

func (s *Sweep) stops(o *scenarios.Outcome) bool {
	if s.Stop == nil {
		return true
	}
	for _, v := range o.Violations {
		if slices.Contains(s.Stop, v.Property) {
			return true
		}
	}
	return false
}
