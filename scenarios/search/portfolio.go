package search

import (
	"math/bits"

	"staleproof/scenarios"
	"staleproof/sim"
)

// shares say how much of a round each strategy gets. It is a multi-armed bandit:
// what a strategy earned is how many kinds of behaviour it was the first to show,
// and what it costs are its schedules.
type shares struct {
	list   []int // the strategies
	learns bool
	weight []uint64 // by strategy; of a sum of whole
	whole  uint64
	earned []uint64 // by strategy, in units of 1/256; older rounds count less
	cost   []uint64
}

// parts is the sum of all weights, more or less.
const parts = 1 << 12

func newShares(list []int, learns bool) *shares {
	s := &shares{list: list, learns: learns && len(list) > 1, weight: make([]uint64, len(strategies)),
		earned: make([]uint64, len(strategies)), cost: make([]uint64, len(strategies))}
	for _, i := range list {
		s.weight[i] = 1
		if len(list) > 1 {
			s.weight[i] = s.fixed(i)
		}
		s.whole += s.weight[i]
	}
	return s
}

// fixed is the weight that a strategy has before anything was learned.
func (s *shares) fixed(i int) uint64 {
	sum := 0
	for _, j := range s.list {
		sum += strategies[j].share
	}
	return parts * uint64(strategies[i].share) / uint64(sum)
}

// of is the strategy of a seed.
func (s *shares) of(seed uint64) int {
	if len(s.list) == 1 {
		return s.list[0]
	}
	at := sim.Scramble(sim.Mix(seed, 0x57a7)) % s.whole
	for _, i := range s.list {
		if at < s.weight[i] {
			return i
		}
		at -= s.weight[i]
	}
	return s.list[0]
}

// learn notes what a strategy showed and what that cost.
func (s *shares) learn(strategy int, news, schedules int64) {
	s.earned[strategy] += uint64(news) << 8
	s.cost[strategy] += uint64(schedules)
}

// settle divides the next round: half of it as at first, which is how good the
// strategies were at planted defects, and half by what they earned lately.
func (s *shares) settle() {
	if !s.learns {
		return
	}
	rates, sum := make([]uint64, len(s.weight)), uint64(0)
	for _, i := range s.list {
		rates[i] = (s.earned[i] + 1) << 8 / (s.cost[i] + 1)
		sum += rates[i]
		s.earned[i] -= s.earned[i] / 4
		s.cost[i] -= s.cost[i] / 4
	}
	s.whole = 0
	for _, i := range s.list {
		s.weight[i] = s.fixed(i)/2 + 1
		if sum > 0 {
			s.weight[i] += parts / 2 * rates[i] / sum
		}
		s.whole += s.weight[i]
	}
}

// coverage is the set of the kinds of behaviour seen: of fixed size, so that two
// kinds may count as one.
type coverage struct {
	bits  [coverageSize / 64]uint64
	count int
}

const coverageSize = 1 << 20

// novelty is a kind of behaviour that was not seen before the round.
type novelty struct {
	kind     uint32
	strategy int32
}

func kindOf(hash uint64) uint32 { return uint32(sim.Scramble(hash) % coverageSize) }

func (c *coverage) has(kind uint32) bool { return c.bits[kind/64]>>(kind%64)&1 != 0 }

// add reports whether kind is new.
func (c *coverage) add(kind uint32) bool {
	if c.has(kind) {
		return false
	}
	c.bits[kind/64] |= 1 << (kind % 64)
	c.count++
	return true
}

// note lists the new kinds of behaviour that the last run showed. The set does not
// change while a round is on.
func (w *fuzzer) note(c *part, strategy int, o *scenarios.Outcome) {
	w.states, w.key = w.r.AppendStates(w.states[:0], w.key)
	for fact, n := range o.Sometimes {
		if n > 0 {
			w.states = append(w.states, sim.Mix(uint64(fact)+1<<32, uint64(bits.Len64(uint64(n)))))
		}
	}
	for _, s := range w.states {
		if kind := kindOf(s); !w.g.seen.has(kind) {
			c.news = append(c.news, novelty{kind, int32(strategy)})
		}
	}
}
