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
)

// Fuzz looks for schedules that break a scenario, with one strategy or several.
// What it finds depends on its fields alone, not on the number of workers: which
// strategy a seed is for is settled, from what earlier rounds found, before a
// round begins.
type Fuzz struct {
	Scenario *scenarios.Scenario
	Options  scenarios.Options
	// Plans makes the plans of the strategy swarm; see [Sweep].
	Plans func(sc *scenarios.Scenario) func(seed uint64) scenarios.Plan
	// Strategy is one of [StrategyNames]; empty means Portfolio.
	Strategy string
	// From to To-1 are the seeds.
	From, To uint64
	// Shard of Shards runs the seeds that are Shard modulo Shards; Shards 0 means
	// 1. Portfolio cannot be sharded: it learns from all seeds.
	Shard, Shards uint64
	// Until ends the search when that many properties have been broken; 0: never.
	Until int
	// Workers and Limit are as in [Sweep].
	Workers int
	Limit   time.Duration
	// Progress, if not nil, is called by the workers now and then.
	Progress func(Progress)
	// Quit, if not nil and closed, ends the search early; what it has then stands.
	Quit <-chan struct{}
	// Block, if not nil, is called with each block of seeds that has been run, in
	// order; an error ends the search. Known returns a block that was run before,
	// and need not be run again, or nil.
	Block func(*Block) error
	Known func(index int64) *Block
	// perBlock replaces blockSize, if not 0.
	perBlock uint64
}

// Progress is what a search has come to so far.
type Progress struct {
	Schedules, Events int64
	// Findings are broken properties, Coverage kinds of new behaviour; both are as
	// of the last round.
	Findings, Coverage int
}

// Campaign is what a search came to.
type Campaign struct {
	Result
	// Strategies are those that had a share, in the order of [Strategies].
	Strategies []StrategyTally
	// Coverage is how many kinds of behaviour were seen: states in which a run
	// left a monitor, and orders of magnitude of each fact. It is a lower bound
	// above some hundred thousand.
	Coverage int
}

// StrategyTally is what a strategy did.
type StrategyTally struct {
	Name      string
	Schedules int64
	Findings  int   // properties that it was the first to break
	New       int64 // kinds of behaviour that it was the first to show
}

// Block is a part of the seeds: those of blockSize consecutive seeds of a shard.
type Block struct {
	Index int64
	Campaign
}

// blockSize is how many seeds of a shard make a block: about half a second.
const blockSize = 1 << 13

// A round is short at first, when there is much to learn.
const (
	firstRound = 256
	lastRound  = 1 << 13
)

// Run searches. Errors are those of [Sweep.Run], and of Block.
func (f *Fuzz) Run() (*Campaign, error) {
	list, err := chosen(f.Strategy)
	if err != nil {
		return nil, err
	}
	if f.Shards == 0 {
		f.Shards = 1
	}
	g := &fuzzing{Fuzz: f, shares: newShares(list, f.Strategy == Portfolio || f.Strategy == "")}
	g.total.init()
	if err := g.start(); err != nil {
		return nil, err
	}
	defer g.stop()
	return g.run()
}

func (c *Campaign) init() {
	c.Inconclusive = map[string]int64{}
	c.Strategies = make([]StrategyTally, len(strategies))
	for i := range strategies {
		c.Strategies[i].Name = strategies[i].Name
	}
}

// trim leaves out the strategies that had no share.
func (c *Campaign) trim() {
	c.Strategies = slices.DeleteFunc(c.Strategies, func(s StrategyTally) bool { return s.Schedules == 0 })
}

// add adds what was found at later seeds.
func (c *Campaign) add(o *Campaign) {
	before := len(c.Kills)
	broken := len(c.Broken())
	c.Result.add(&o.Result)
	for i := range o.Strategies {
		c.Strategies[i].Schedules += o.Strategies[i].Schedules
	}
	for _, k := range c.Kills[before:] {
		r := Result{Kills: c.Kills[:before+1]}
		now := len(r.Broken())
		if i := slices.IndexFunc(c.Strategies, func(s StrategyTally) bool { return s.Name == k.Strategy }); i >= 0 {
			c.Strategies[i].Findings += now - broken
		}
		before, broken = before+1, now
	}
}

// count is the number of the shard's own seeds, and seed the j-th of them.
func (f *Fuzz) count() uint64 {
	first := f.seed(0)
	if first >= f.To {
		return 0
	}
	return (f.To-first-1)/f.Shards + 1
}

func (f *Fuzz) seed(j uint64) uint64 {
	return f.From + (f.Shard+f.Shards-f.From%f.Shards)%f.Shards + j*f.Shards
}

func (f *Fuzz) planner() func(uint64) scenarios.Plan {
	return (&Sweep{Scenario: f.Scenario, Plans: f.Plans}).planner()
}

// fuzzing is a search that goes on.
type fuzzing struct {
	*Fuzz
	shares  *shares
	seen    coverage
	total   Campaign
	block   Campaign // of the present block
	workers []*fuzzer
	done    atomic.Int64 // schedules, for Progress
	events  atomic.Int64
}

// fuzzer is a worker.
type fuzzer struct {
	g      *fuzzing
	r      *scenarios.Runner
	steer  []steerer // by strategy
	states []uint64  // of the last run
	key    []byte
	lost   bool // its world hangs
}

func (g *fuzzing) start() error {
	n := g.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	opt := g.Options
	opt.NoDigest = true
	for range n {
		r, err := scenarios.NewRunner(g.Scenario, opt)
		if err != nil {
			return err
		}
		w := &fuzzer{g: g, r: r, steer: make([]steerer, len(strategies))}
		for _, i := range g.shares.list {
			w.steer[i] = strategies[i].begin(g.Fuzz)
		}
		g.workers = append(g.workers, w)
	}
	return nil
}

func (g *fuzzing) stop() {
	for _, w := range g.workers {
		if !w.lost {
			w.r.Close()
		}
	}
}

// run makes round after round.
func (g *fuzzing) run() (*Campaign, error) {
	n, block := g.count(), cmp.Or(g.perBlock, blockSize)
	size := uint64(firstRound)
	for j := uint64(0); j < n && !g.total.Interrupted && !g.enough(); {
		if j%block == 0 {
			g.block = Campaign{}
			g.block.init()
			if b := g.known(int64(j / block)); b != nil {
				g.total.add(&b.Campaign)
				j = min(n, j+block)
				continue
			}
		}
		to := min(n, j+size, j-j%block+block)
		if err := g.round(j, to); err != nil {
			return nil, err
		}
		if whole := to%block == 0 || to == n; whole && g.Block != nil && !g.total.Interrupted && !g.enough() {
			if err := g.Block(&Block{Index: int64(j / block), Campaign: g.block}); err != nil {
				return nil, err
			}
		}
		j, size = to, min(2*size, lastRound)
	}
	g.total.Coverage = g.seen.count
	g.total.trim()
	return &g.total, nil
}

func (g *fuzzing) known(index int64) *Block {
	if g.Known == nil {
		return nil
	}
	return g.Known(index)
}

func (g *fuzzing) enough() bool { return g.Until > 0 && len(g.total.Broken()) >= g.Until }

// part is what a worker found at consecutive seeds of a round.
type part struct {
	Campaign
	news    []novelty
	stopped bool
	done    bool
	err     error
}

// round runs the seeds number from to to-1 of the shard on all workers.
func (g *fuzzing) round(from, to uint64) error {
	parts := make([]part, (to-from+chunkSize-1)/chunkSize)
	var next, stop atomic.Int64
	stop.Store(int64(len(parts)))
	var wg sync.WaitGroup
	for _, w := range g.workers[:min(len(g.workers), len(parts))] {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= stop.Load() || g.quit() {
					return
				}
				c := &parts[i]
				first := from + uint64(i)*chunkSize
				w.watched(c, first, min(to, first+chunkSize))
				if c.err != nil || c.stopped {
					lower(&stop, i)
				}
				if c.err != nil {
					w.lost = true
					return
				}
				w.tell(c)
			}
		})
	}
	wg.Wait()
	return g.merge(parts)
}

func (g *fuzzing) quit() bool { return (&Sweep{Quit: g.Quit}).quit() }

func (w *fuzzer) tell(c *part) {
	g := w.g
	schedules, events := g.done.Add(c.Schedules), g.events.Add(c.Events)
	if g.Progress != nil {
		g.Progress(Progress{schedules, events, len(g.total.Broken()), g.seen.count})
	}
}

// merge adds the parts up, in the order of their seeds, and learns from them.
func (g *fuzzing) merge(parts []part) error {
	for i := range parts {
		c := &parts[i]
		if c.err != nil {
			return c.err
		}
		if !c.done {
			g.total.Interrupted = true
			break
		}
		g.total.add(&c.Campaign)
		g.block.add(&c.Campaign)
		for _, n := range c.news {
			if g.seen.add(n.kind) {
				g.total.Strategies[n.strategy].New++
				g.shares.learn(int(n.strategy), 1, 0)
			}
		}
		for s := range c.Strategies {
			g.shares.learn(s, 0, c.Strategies[s].Schedules)
		}
		if g.enough() {
			break
		}
	}
	g.shares.settle()
	return nil
}

// watched runs a part under the watchdog.
func (w *fuzzer) watched(c *part, from, to uint64) {
	c.err = watched(w.r, w.g.Limit, w.g.seed(from), func() error { return w.part(c, from, to) })
}

// part runs seeds until as many properties are broken as were asked for.
func (w *fuzzer) part(c *part, from, to uint64) error {
	g := w.g
	c.init()
	for j := from; j < to && !c.stopped; j++ {
		seed := g.seed(j)
		s := g.shares.of(seed)
		p, o := w.steer[s].steer(w.r, seed)
		if err := w.r.Recheck(seed, &p, &o); err != nil {
			return err
		}
		c.Schedules++
		c.Strategies[s].Schedules++
		c.Events += o.Result.Events
		for i, n := range o.Sometimes {
			c.Sometimes[i] += n
		}
		for _, name := range o.Inconclusive {
			c.Inconclusive[name]++
		}
		w.note(c, s, &o)
		if len(o.Violations) > 0 {
			w.keep(c, killOf(seed, &p, &o), s)
		}
	}
	c.done = true
	return nil
}

// keep keeps a kill that broke something new.
func (w *fuzzer) keep(c *part, k Kill, s int) {
	k.Strategy = strategies[s].Name
	one := Campaign{Result: Result{Kills: []Kill{k}}}
	c.add(&one)
	if until := w.g.Until; until > 0 {
		c.stopped = len(missing(c.Broken(), &w.g.total.Result)) >= until-len(w.g.total.Broken())
	}
}

// Verdict judges what a search of a system under test came to, as [Sweep.Judge]
// does. Of a shard it does not ask that the dangers occurred: that is judged when
// all are merged. But one that has seeds must have run some.
func (f *Fuzz) Verdict(c *Campaign) *Verdict {
	sc, shard := *f.Scenario, *f
	if f.Shards > 1 {
		sc.Sometimes = nil
	}
	shard.Shards = max(1, f.Shards)
	v := &Verdict{Result: c.Result}
	v.Outcome, v.Reason = (&Sweep{Scenario: &sc, Options: f.Options}).outcome(&c.Result)
	if v.Outcome == checker.Satisfied && c.Schedules == 0 && shard.count() > 0 {
		v.Outcome, v.Reason = checker.Inconclusive, "no schedule was run"
	}
	v.Expected = v.Outcome == checker.Satisfied
	return v
}

// Explain shrinks and explains the first kill of a property; see [Sweep.Explain].
func (f *Fuzz) Explain(c *Campaign, property string) (*Finding, error) {
	return (&Sweep{Scenario: f.Scenario, Options: f.Options, From: f.From, Limit: f.Limit}).Explain(&c.Result, property)
}
