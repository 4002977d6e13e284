package sim

import (
	"context"
	"slices"
	"time"

	"staleproof/sim/realtime"
)

// Now returns the time: that of the process's monotonic clock (counted from
// 1970) in a simulation, time.Now otherwise.
func Now(ctx context.Context) time.Time {
	if p := FromContext(ctx); p != nil {
		return time.Unix(0, int64(p.Now())).UTC()
	}
	return realtime.Now()
}

// Sleep blocks for d, or until ctx ends; it returns ctx.Err() then.
func Sleep(ctx context.Context, d time.Duration) error {
	p := FromContext(ctx)
	if p == nil {
		return realtime.Sleep(ctx, d)
	}
	if left := Remaining(ctx); left < 0 || left > 0 && left < d {
		if left > 0 {
			p.Sleep(left)
		}
		return context.DeadlineExceeded
	}
	p.Sleep(d)
	return ctx.Err()
}

// Rest is [Sleep] for a loop that waits for its next turn, such as one that renews a
// lease. It reports whether the task goes on. Where it does not, because ctx has
// ended, the process has crashed or the run is over, the task must return: whatever
// a dead task still does, nothing of it reaches the world. Sleep unwinds the stack of
// a dead task instead, which costs as much as ten events.
func Rest(ctx context.Context, d time.Duration) bool {
	c, ok := ctx.(*procContext)
	if !ok || c.timed || d <= 0 {
		return Sleep(ctx, d) == nil
	}
	p := c.p
	p.mustLive()
	p.resting = true
	p.waitFor(waitTime, d)
	p.resting = false
	return !p.killed
}

// WithTimeout returns a context that ends after d. Call cancel when done with
// it; in a simulation it does nothing.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	p := FromContext(ctx)
	if p == nil {
		return context.WithTimeout(ctx, d)
	}
	if left := Remaining(ctx); left < 0 || left > 0 && left < d {
		d = left
	}
	return &procContext{p: p, timed: true, deadline: after(int64(p.Now()), d)}, func() {}
}

// Go starts fn beside the caller: as a task of its process in a simulation, as a
// goroutine otherwise. fn gets a context of its own.
func Go(ctx context.Context, name string, fn func(ctx context.Context)) {
	if p := FromContext(ctx); p != nil {
		if !p.gone() {
			p.n.newTask(name).ctxFn = fn
		}
		return
	}
	realtime.Go(ctx, fn)
}

// Mutex is a lock for code that runs in a simulation and outside. The zero Mutex
// is unlocked. It must not be copied.
type Mutex struct {
	real realtime.Lock

	// In a simulation it belongs to one life of one process: a lock that outlives
	// a crash is free again.
	n       *process
	life    uint64
	owner   uint64 // the number of the task that holds it; 0: none
	waiters []*Proc
	at      uint64 // in a Cell: where the owner stood when it came to the lock
	// Who locked it and where, if the run is recorded.
	locker, locked string
}

// NewMutex returns an unlocked Mutex.
func NewMutex() *Mutex { return &Mutex{} }

// Lock locks m, or returns ctx.Err() when ctx ends first. In a simulation waiters
// are served in the order of their arrival. A task that ends without Unlock
// leaves m locked. Who would wait for ever then, or because tasks wait for each other,
// ends the run: see [Deadlock].
func (m *Mutex) Lock(ctx context.Context) error {
	p := FromContext(ctx)
	if p == nil {
		return m.real.Lock(ctx)
	}
	p.mustLive()
	if p.n.tested != nil {
		p.Yield("lock")
	}
	if m.n != p.n || m.life != p.n.life {
		m.n, m.life, m.owner, m.waiters = p.n, p.n.life, 0, m.waiters[:0]
	}
	if c := p.w.cell(); c != nil {
		c.lock(m)
	}
	if c, ok := ctx.(*procContext); ok && !c.timed && m.owner == 0 {
		m.take(p)
		return nil
	}
	left := Remaining(ctx)
	switch {
	case left < 0:
		return context.DeadlineExceeded
	case m.owner == 0:
		m.take(p)
		return nil
	}
	if left == 0 {
		if d := p.stuck(m); d != nil {
			p.w.locked(p, p, d)
			p.unwind()
		}
	}
	m.waiters, p.lock = append(m.waiters, p), m
	if !p.waitFor(waitLock, left) {
		m.waiters = slices.DeleteFunc(m.waiters, func(q *Proc) bool { return q == p })
		return context.DeadlineExceeded
	}
	return nil
}

// Unlock unlocks m.
func (m *Mutex) Unlock(ctx context.Context) {
	p := FromContext(ctx)
	if p == nil {
		m.real.Unlock()
		return
	}
	if p.gone() {
		return
	}
	if m.owner != p.number {
		panic(Misuse("Unlock by task " + p.name + " of a Mutex that it does not hold"))
	}
	m.owner = 0
	for len(m.waiters) > 0 && m.owner == 0 {
		next := m.waiters[0]
		m.waiters = append(m.waiters[:0], m.waiters[1:]...)
		if next.waiting == waitLock { // its deadline has not passed
			m.take(next)
			next.wake(true)
		}
	}
}

// take makes p the owner of m.
func (m *Mutex) take(p *Proc) {
	m.owner, m.at = p.number, p.pos
	if p.w.wants.Has(NoteSend) && p.w.cell() == nil {
		m.keep(p)
	}
}

// Yield marks a place where a simulated process may be paused or crash, or where
// another task of it may run first; see [Proc.Yield]. Elsewhere it does nothing.
func Yield(ctx context.Context, label string) {
	if p := FromContext(ctx); p != nil {
		p.Yield(label)
	}
}
