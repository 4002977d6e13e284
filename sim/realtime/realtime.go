// Package realtime is what package sim falls back to for a context that belongs
// to no simulated process, so that the same client code runs against a real
// system. Nothing in it decides anything inside a simulated world.
package realtime

import (
	"context"
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

// Lock is a lock whose wait ends with a context.
type Lock chan struct{}

// NewLock returns an unlocked Lock.
func NewLock() Lock { return make(Lock, 1) }

// Lock locks l, or returns ctx.Err() when ctx ends first.
func (l Lock) Lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock unlocks l. It panics if l is not locked, as a sync.Mutex does.
func (l Lock) Unlock() {
	select {
	case <-l:
	default:
		panic("sim: Unlock of a Mutex that is not locked")
	}
}
