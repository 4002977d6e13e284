package scenarios

import (
	"slices"

	"staleproof/sim"
)

// Small is a failing run made small.
type Small struct {
	Params   Params
	Schedule sim.Schedule
	Digest   uint64
	Broken   []string
	Messages []string // of the violations, in the order of Broken
	Runs     int      // that it took
}

// Shrink makes a failing run smaller as long as it breaks property: it sets the
// parameters back to the scenario's own, drops blocks of decisions, then single
// ones, then lowers their options; then it takes work away, and clients, where that
// needs no decision more; then it tries decisions alone at earlier places, and
// leaves out two at once. Unless maxRuns was reached, what remains fails no more
// when any one decision is left out.
func (r *Runner) Shrink(p *Params, schedule sim.Schedule, property string, maxRuns int) *Small {
	s := &shrinker{r: r, property: property, maxRuns: maxRuns, best: Small{Params: *p, Schedule: schedule}}
	s.try(*p, schedule)
	for changed := true; changed && s.runsLeft(); {
		changed = s.restore() || s.drop() || s.lower() || s.fewer() || s.alone() || s.pairs()
	}
	return &s.best
}

type shrinker struct {
	r        *Runner
	property string
	maxRuns  int
	best     Small
	dropped  bool // large blocks were tried
}

func (s *shrinker) runsLeft() bool { return s.best.Runs < s.maxRuns }

// try keeps the run of a schedule if it still breaks the property. What is kept
// are the decisions that were really taken.
func (s *shrinker) try(p Params, schedule sim.Schedule) bool {
	if !s.runsLeft() {
		return false
	}
	s.best.Runs++
	o := s.r.Replay(&p, schedule)
	if !slices.Contains(o.Broken(), s.property) {
		return false
	}
	s.best = Small{Params: p, Schedule: slices.Clone(o.Result.Decisions), Digest: o.Result.Digest,
		Broken: o.Broken(), Runs: s.best.Runs}
	for _, v := range o.Violations {
		s.best.Messages = append(s.best.Messages, v.Message)
	}
	return true
}

// workParam is a parameter of the workload.
type workParam struct {
	of    func(*Params) *int64
	least int64
}

// workload are the parameters that may become less than the scenario's own: the
// work first, then who does it.
var workload = []workParam{
	{func(p *Params) *int64 { return &p.Writes }, 1},
	{func(p *Params) *int64 { return &p.Acquisitions }, 1},
	{func(p *Params) *int64 { return &p.Clients }, 2},
}

// fewer takes work and clients away: all that can be, else one.
func (s *shrinker) fewer() bool {
	changed := false
	for _, w := range workload {
		for {
			now := *w.of(&s.best.Params)
			if now <= w.least || !s.less(w.of, w.least) && (now-1 == w.least || !s.less(w.of, now-1)) {
				break
			}
			changed = true
		}
	}
	return changed
}

func (s *shrinker) less(of func(*Params) *int64, n int64) bool {
	p := s.best.Params
	*of(&p) = n
	return s.try(p, s.best.Schedule)
}

// lessWork says whether p has less of the workload's parameter d than base.
func (d Param) lessWork(p, base *Params) bool {
	return d.Get(p) < d.Get(base) && slices.ContainsFunc(workload, func(w workParam) bool { return w.of(p) == d.of(p) })
}

// restore sets parameters back to the scenario's own, unless they are less work.
func (s *shrinker) restore() bool {
	changed := false
	for _, d := range s.r.decided(&s.best.Params) {
		p := s.best.Params
		*d.of(&p) = d.Get(&s.r.sc.Params)
		changed = s.try(p, s.best.Schedule) || changed
	}
	return changed
}

// drop leaves decisions out: all, halves, quarters, ..., single ones; after the
// first time it begins with small blocks, as the large ones were all needed.
func (s *shrinker) drop() bool {
	changed := false
	size := len(s.best.Schedule)
	if s.dropped {
		size = min(size, 4)
	}
	s.dropped = true
	for ; size > 0; size /= 2 {
		for at := len(s.best.Schedule) - size; at >= 0; at -= size {
			if at+size > len(s.best.Schedule) {
				continue
			}
			rest := slices.Delete(slices.Clone(s.best.Schedule), at, at+size)
			changed = s.try(s.best.Params, rest) || changed
		}
	}
	return changed
}

// lower tries smaller options of each decision.
func (s *shrinker) lower() bool {
	changed := false
	for i := 0; i < len(s.best.Schedule); i++ {
		for option := 1; i < len(s.best.Schedule) && option < s.best.Schedule[i].Option; option++ {
			less := slices.Clone(s.best.Schedule)
			less[i].Option = option
			if s.try(s.best.Params, less) {
				changed = true
				break
			}
		}
	}
	return changed
}

// maxPlaces bounds the places at which a decision is tried alone.
const maxPlaces = 40

// alone tries each decision by itself, at all places up to its own: often the
// others only bring the run to where it strikes. That is tried without what the
// parameters have more than the scenario, first.
func (s *shrinker) alone() bool {
	own := s.best.Params
	more := s.r.decided(&own)
	for _, d := range more {
		*d.of(&own) = d.Get(&s.r.sc.Params)
	}
	return len(more) > 0 && s.somewhere(own) || len(s.best.Schedule) > 1 && s.somewhere(s.best.Params)
}

func (s *shrinker) somewhere(p Params) bool {
	for _, d := range s.best.Schedule {
		for n := range min(d.Count+1, maxPlaces) {
			d.Count = n
			if s.try(p, sim.Schedule{d}) {
				return true
			}
		}
	}
	return false
}

// kinds returns, of the decisions that differ in nothing but the place, the last.
func kinds(list sim.Schedule) sim.Schedule {
	var last sim.Schedule
	for i, d := range list {
		if !slices.ContainsFunc(list[i+1:], func(o sim.Decision) bool {
			return o.Proc == d.Proc && o.Site == d.Site && o.Option == d.Option
		}) {
			last = append(last, d)
		}
	}
	return last
}

// Of a failure that remains large, two or three of its decisions are tried at other
// places, drawn evenly: at most in so many runs, with so many events in all.
const (
	maxFew       = 8000
	maxFewEvents = 4_000_000
)

// few looks for two or three decisions of the kinds of small's that break property too,
// and returns what they shrink to, or nil.
func (r *Runner) few(small *Small, property string, maxRuns int) *Small {
	all := kinds(small.Schedule)
	if len(all) < 2 {
		return nil
	}
	d := &seedDrawer{}
	var left int64 = maxFewEvents
	for n := 0; n < maxFew && left > 0; n++ {
		p := small.Params
		if d.Int("its parameters", 0, 1) == 0 {
			for _, x := range r.decided(&p) {
				*x.of(&p) = x.Get(&r.sc.Params)
			}
		}
		var s sim.Schedule
		later := d.Int("later places too", 0, 1)
		for range 2 + d.Int("three", 0, 1) {
			x := all[d.Int("which", 0, len(all)-1)]
			x.Count = uint32(d.Int("place", 0, int(x.Count)+later*(int(x.Count)+4)))
			s = append(s, x)
		}
		o := r.Replay(&p, s)
		left -= o.Result.Events
		if slices.Contains(o.Broken(), property) {
			return r.Shrink(&p, slices.Clone(o.Result.Decisions), property, maxRuns)
		}
	}
	return nil
}

// maxPairs is how many decisions there may be for two of them to be left out at
// once.
const maxPairs = 12

// pairs leaves out two decisions.
func (s *shrinker) pairs() bool {
	n := len(s.best.Schedule)
	for j := n - 1; j > 0 && n <= maxPairs; j-- {
		for i := range j {
			rest := slices.Delete(slices.Clone(s.best.Schedule), j, j+1)
			if s.try(s.best.Params, slices.Delete(rest, i, i+1)) {
				return true
			}
		}
	}
	return false
}
