package sim

import (
	"context"
	"time"
)

// procContext is the context of a task; a deadline makes its calls give up.
type procContext struct {
	p        *Proc
	timed    bool
	deadline int64 // monotonic, if timed
}

// Context returns a context for code that takes one: [FromContext], [Go],
// [Sleep], [Now] and [Mutex] find the task through it. It belongs to this task
// alone.
func (p *Proc) Context() context.Context { return &p.ctx }

type procKey struct{}

// FromContext returns the task that ctx belongs to, or nil: then the code runs
// against the real world.
func FromContext(ctx context.Context) *Proc {
	if c, ok := ctx.(*procContext); ok {
		return c.p
	}
	return fromWrapped(ctx)
}

// fromWrapped is FromContext for a context made from that of a task.
//
//go:noinline
func fromWrapped(ctx context.Context) *Proc {
	if c, ok := ctx.Value(procKey{}).(*procContext); ok {
		return c.p
	}
	return nil
}

// Deadline returns the deadline on the clock of [Now].
func (c *procContext) Deadline() (time.Time, bool) {
	if !c.timed {
		return time.Time{}, false
	}
	return time.Unix(0, c.deadline).UTC(), true
}

// Done cannot be waited for in a simulated process: it panics with advice.
func (c *procContext) Done() <-chan struct{} {
	panic(Misuse("ctx.Done() was called inside a simulated process, where a channel would hang: use ctx.Err() to ask, sim.WithTimeout for a deadline, sim.Sleep(ctx, d) to wait"))
}

// Err is context.DeadlineExceeded after the deadline, context.Canceled when the
// process has crashed.
func (c *procContext) Err() error {
	switch {
	case c.p.killed:
		return context.Canceled
	case c.timed && int64(c.p.Now()) >= c.deadline:
		return context.DeadlineExceeded
	}
	return nil
}

// Value returns the task for this package's own key, nil otherwise.
func (c *procContext) Value(key any) any {
	if _, ok := key.(procKey); ok {
		return c
	}
	return nil
}

// Remaining returns how long ctx, of a simulated process, still has, on its
// monotonic clock; 0 means no deadline and a negative duration that it has passed.
func Remaining(ctx context.Context) time.Duration {
	c, ok := ctx.(*procContext)
	if !ok {
		c, ok = ctx.Value(procKey{}).(*procContext)
	}
	if !ok || !c.timed {
		return 0
	}
	if left := c.deadline - int64(c.p.Now()); left > 0 {
		return time.Duration(left)
	}
	return -1
}
