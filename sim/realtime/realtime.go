// Package realtime is what package sim falls back to for a context that belongs
// to no simulated process, so that the same client code runs against a real
// system. Nothing in it decides anything inside a simulated world.
package realtime

import (
	"context"
	"sync"
	"time"
)

// Now returns the time.
func Now() time.Time { return time.Now() }

// Sleep blocks for d, or until ctx ends, whose error it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Go starts fn as a goroutine.
func Go(ctx context.Context, fn func(ctx context.Context)) { go fn(ctx) }

// Lock is a lock whose wait ends with a context. The zero Lock is unlocked.
type Lock struct {
	once  sync.Once
	taken chan struct{} // holds a token while locked
}

func (l *Lock) init() { l.taken = make(chan struct{}, 1) }

// Lock locks l, or returns ctx.Err() when ctx ends first.
func (l *Lock) Lock(ctx context.Context) error {
	l.once.Do(l.init)
	select {
	case l.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock unlocks l. It panics if l is not locked, as a sync.Mutex does.
func (l *Lock) Unlock() {
	l.once.Do(l.init)
	select {
	case <-l.taken:
	default:
		panic("sim: Unlock of a Mutex that is not locked")
	}
}
