package sim

import (
	"fmt"
	"runtime/debug"
)

// Brief is a [Handler] whose Handle is mostly one step: it does not block but at
// its yields, or for a lock that another task of its process holds, and it comes
// to at most Yields of them. A world that knows beforehand that nothing strikes at
// those yields lets such a task run where it stands, on the stack of whoever
// drives the world, which saves two switches of stacks; the run is the same.
// Yields is asked once an incarnation, after the factory.
type Brief interface {
	Handler
	Yields() int
}

// Foreseer is a [Chooser] whose answer to a choice depends on nothing but the
// choice, so that it may be asked beforehand and again.
type Foreseer interface {
	Chooser
	Foresees() bool
}

// Foresees is true.
func (Calm) Foresees() bool { return true }

// Foresees is true.
func (c *Seeded) Foresees() bool { return true }

// Foresees is true.
func (r *Replay) Foresees() bool { return true }

// Foresees is true if it is of the chooser under it.
func (o *Override) Foresees() bool {
	f, ok := o.Under.(Foreseer)
	return ok && f.Foresees()
}

// runsHere reports whether a task of n, which has none, can run to its end on the
// stack of whoever drives the world.
func (w *World) runsHere(n *process) bool {
	if !n.brief || len(n.tasks) > 0 || n.frozen || w.script != nil || w.elsewhere {
		return false
	}
	strikes := w.sites & yieldSites &^ n.spared
	return strikes == 0 || w.foreseer != nil && w.nothingStrikes(n, strikes)
}

// nothingStrikes looks ahead, at the yields that the task may come to.
func (w *World) nothingStrikes(n *process, sites SiteSet) bool {
	for i := range n.yieldsAtMost {
		if w.seeded != nil {
			if w.seeded.strikesYield(n.id, n.yields+i, sites) {
				return false
			}
			continue
		}
		for site := SitePause; site <= SiteCrash; site++ {
			c := Choice{Key: Key{Proc: int32(n.id), Site: site, Count: n.yields + i}, Options: w.strikes(site) + 1}
			if sites.Has(site) && c.Options > 1 && w.foreseer.Choose(c) != 0 {
				return false
			}
		}
	}
	return true
}

// strikes is how many ways a site of yields has to strike.
func (w *World) strikes(site Site) int {
	switch site {
	case SitePause:
		return w.durations(w.cfg.Pauses)
	case SiteSuspend:
		return w.durations(w.cfg.Suspends)
	case SiteStall:
		return w.durations(w.cfg.Stalls)
	}
	return w.durations(w.cfg.Restarts)
}

// handleHere handles m where it stands: the coroutine that drives the world lends
// its stack, and the world its guest, a task that is used again for this.
func (n *process) handleHere(m *Message) {
	w, p := n.w, n.w.guest
	w.tasks++
	p.n, p.number = n, w.tasks
	if p.c = w.live; p.c == nil {
		p.c = &w.base // nobody has had a turn yet
		w.live = p.c
	}
	p.living = p.c
	p.yieldsTo = n.yields + n.yieldsAtMost
	p.killed, p.returned, p.unwinds, p.mark = false, false, 0, nil
	w.pulse(n)
	p.serve(m)
}

// serve is main for the guest.
func (p *Proc) serve(m *Message) {
	defer p.served()
	p.n.handler.Handle(p, *m)
	p.returned = true
}

// served makes a panic of the guest, or runtime.Goexit, the run's outcome.
func (p *Proc) served() {
	if p.returned {
		return
	}
	r := recover()
	if !p.killed {
		p.w.panicked(p.n, p.name, p, r, debug.Stack())
	}
	if r == nil {
		p.w.leave(p)
	}
}

// mustNotBlock ends a task that runs on a borrowed stack and would block there.
//
//go:noinline
func (p *Proc) mustNotBlock() {
	panic(Misuse(fmt.Sprintf("process %s is a Brief handler of at most %d yields, and its task blocks or comes to another one: declare more Yields, or none", p.n.name, p.n.yieldsAtMost)))
}
