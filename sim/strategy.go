package sim

// Untier is a [Chooser] that is told, before it is asked about a tie, whom the
// tied events concern: option k is an event of procs[k].
type Untier interface {
	Tied(procs []ID)
}

// Spot is a place where decisions are taken: a site of a process.
type Spot struct {
	Proc    int32
	Site    Site
	Count   uint32 // how many choices it had
	Options int    // the fewest that one of them had
}

// Census counts the choices of a run and answers 0 to all of them: it learns
// where a decision could strike. The zero Census is ready for use.
type Census struct {
	Spots []Spot // in the order of their first choices
}

// Sites are all.
func (c *Census) Sites() SiteSet { return AllSites }

// Choose counts ch.
func (c *Census) Choose(ch Choice) int {
	s := c.spot(ch)
	s.Count = max(s.Count, ch.Count+1)
	s.Options = min(s.Options, ch.Options)
	return 0
}

func (c *Census) spot(ch Choice) *Spot {
	for i := range c.Spots { // a few dozen
		if s := &c.Spots[i]; s.Proc == ch.Proc && s.Site == ch.Site {
			return s
		}
	}
	c.Spots = append(c.Spots, Spot{Proc: ch.Proc, Site: ch.Site, Options: ch.Options})
	return &c.Spots[len(c.Spots)-1]
}

// Hard draws as [Seeded] does, but of those options that are not boring it mostly
// takes the last, which is the hardest: in Often of 256 cases.
type Hard struct {
	Seeded
	Often uint64
}

// Choose draws the answer to ch.
func (c *Hard) Choose(ch Choice) int {
	k := c.Seeded.Choose(ch)
	if k == 0 || ch.Site == SiteTie || ch.Site == SiteTask || scramble(^c.draw(ch.Key))&255 >= c.Often {
		return k
	}
	return ch.Options - 1
}

// Priorities is probabilistic concurrency testing (Burckhardt et al.: A
// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs, 2010) where
// time passes by itself: each process has a random priority. What concerns the
// process with the highest goes first among ties, and the lower a process's
// priority, the later its messages; it drops to the lowest when it comes to a
// change point. Changes says what strikes there: it is a schedule.
type Priorities struct {
	Seed   uint64
	Levels int // of lateness: options of SiteDelay that are used
	// Changes are the faults at the change points.
	Changes *Replay
	whom    []ID
	dropped []int32 // processes, in the order in which they dropped
}

// Reset makes c another draw, which begins with no process dropped.
func (c *Priorities) Reset(seed uint64, levels int) {
	c.Seed, c.Levels, c.dropped = seed, levels, c.dropped[:0]
}

// Sites are those of ties, tasks, delays and changes.
func (c *Priorities) Sites() SiteSet {
	return c.Changes.Sites().With(SiteTie, SiteTask, SiteDelay)
}

// Tied remembers whom a tie concerns.
func (c *Priorities) Tied(procs []ID) { c.whom = procs }

// Choose answers ch.
func (c *Priorities) Choose(ch Choice) int {
	if k := c.Changes.Choose(ch); k > 0 {
		c.dropped = append(c.dropped, ch.Proc)
		return k
	}
	switch ch.Site {
	case SiteTie:
		best := 0
		for i := range c.whom {
			if c.priority(int32(c.whom[i])) > c.priority(int32(c.whom[best])) {
				best = i
			}
		}
		return best
	case SiteTask:
		// The tasks of a process have no names here: each draw is a priority.
		return below(scramble(c.Seed^uint64(ch.Proc+1)<<32^uint64(ch.Count)), ch.Options)
	case SiteDelay:
		if ch.Count >= lateMessages {
			return 0
		}
		late := c.Levels - 1 - below(c.priority(ch.Proc), c.Levels)
		return min(late, ch.Options-1)
	}
	return 0
}

// lateMessages is how many messages of a process its priority makes late: if it
// were all, and two ways are as long as a timeout, a process that tries again would
// do so for ever.
const lateMessages = 256

// priority is that of a process; the last to have dropped is the lowest.
func (c *Priorities) priority(proc int32) uint64 {
	for i := len(c.dropped) - 1; i >= 0; i-- {
		if c.dropped[i] == proc {
			return uint64(len(c.dropped) - 1 - i)
		}
	}
	return scramble(c.Seed + uint64(proc+1)*mixer)
}

// PartialOrder is partial-order sampling (Yuan, Yang, Gu: Partial Order Aware
// Concurrency Sampling, 2018): each message has a random priority, and only the
// order in which one process receives matters. Where time passes by itself a
// priority is how late a message is, among those to the same receiver: each
// receiver has a scale of its own, from which the lateness of all that it is sent
// is drawn evenly. Ties of events of different processes are left alone: they
// commute. Under answers what is left: the faults.
type PartialOrder struct {
	Seed  uint64
	Under Chooser
	whom  []ID
}

// Sites are those of ties, tasks and late messages, and of Under.
func (c *PartialOrder) Sites() SiteSet {
	return c.Under.Sites().With(SiteTie, SiteTask, SiteDelay, SiteHold)
}

// Tied remembers whom a tie concerns.
func (c *PartialOrder) Tied(procs []ID) { c.whom = procs }

// Choose answers ch.
func (c *PartialOrder) Choose(ch Choice) int {
	r := scramble(c.Seed + (uint64(uint32(ch.Proc+1))<<40|uint64(ch.Site)<<32|uint64(ch.Count))*mixer)
	switch ch.Site {
	case SiteTie:
		return c.race(r)
	case SiteTask:
		return below(r, ch.Options)
	case SiteDelay:
		scale := below(c.receiver(ch.Peer), ch.Options) + 1
		return below(r, scale)
	case SiteHold:
		if c.receiver(ch.Peer)>>8&3 != 0 || r&15 != 0 {
			break // a quarter of the receivers is far away, and of its messages one in 16
		}
		return 1 + below(r, ch.Options-1)
	}
	if c.Under.Sites().Has(ch.Site) {
		return c.Under.Choose(ch)
	}
	return 0
}

// receiver is a random number of a process.
func (c *PartialOrder) receiver(id ID) uint64 {
	return scramble(scramble(c.Seed) + uint64(uint32(id)+1)*mixer)
}

// race lets one of the events that concern the same process as the first go
// first.
func (c *PartialOrder) race(r uint64) int {
	racing := 0
	for _, p := range c.whom {
		if p == c.whom[0] {
			racing++
		}
	}
	nth := below(r, racing)
	for i, p := range c.whom {
		if p != c.whom[0] {
			continue
		}
		if nth == 0 {
			return i
		}
		nth--
	}
	return 0
}
