package realtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"staleproof/sim"
	"staleproof/sim/realtime"
)

// TestRealWorld: with a context of no process the functions of sim use the real
// clock, goroutines and a real lock: the same code runs against a real system.
func TestRealWorld(t *testing.T) {
	ctx := context.Background()
	if d := time.Since(sim.Now(ctx)); d < 0 || d > time.Minute {
		t.Errorf("Now is %s off", d)
	}
	begin := time.Now()
	if err := sim.Sleep(ctx, 20*time.Millisecond); err != nil || time.Since(begin) < 20*time.Millisecond {
		t.Errorf("Sleep: %v after %s", err, time.Since(begin))
	}
	sim.Yield(ctx, "nothing")
	if sim.Remaining(ctx) != 0 || sim.FromContext(ctx) != nil {
		t.Error("a real context has a simulated process or deadline")
	}
	done := make(chan context.Context)
	type key struct{}
	sim.Go(context.WithValue(ctx, key{}, 7), "task", func(ctx context.Context) { done <- ctx })
	select {
	case got := <-done:
		if got.Value(key{}) != 7 {
			t.Error("Go does not hand its context on")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Go did not start a goroutine")
	}
}

func TestRealTimeout(t *testing.T) {
	ctx, cancel := sim.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := sim.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Sleep past the deadline: %v", err)
	}
	ctx, cancel = sim.WithTimeout(context.Background(), time.Minute)
	cancel()
	if err := sim.Sleep(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep of a cancelled context: %v", err)
	}
}

func TestRealMutex(t *testing.T) {
	mu := sim.NewMutex()
	var inside, sum atomic.Int32
	done := make(chan bool)
	for range 8 {
		sim.Go(context.Background(), "task", func(ctx context.Context) {
			for range 100 {
				if err := mu.Lock(ctx); err != nil {
					t.Error(err)
				}
				if inside.Add(1) != 1 {
					t.Error("two inside at once")
				}
				sum.Store(sum.Load() + 1)
				inside.Add(-1)
				mu.Unlock(ctx)
			}
			done <- true
		})
	}
	for range 8 {
		<-done
	}
	if sum.Load() != 800 {
		t.Errorf("sum %d", sum.Load())
	}
	if err := mu.Lock(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := sim.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := mu.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock of a locked Mutex: %v", err)
	}
	mu.Unlock(context.Background())
}

// TestUnlockOfUnlocked: it panics, where it would hang.
func TestUnlockOfUnlocked(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	new(realtime.Lock).Unlock()
}
