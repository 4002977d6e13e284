package sim

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawClock returns a clock in the middle of its life, and the true time.
func drawClock(t *rapid.T) (clock, int64) {
	c := clock{
		since: rapid.Int64Range(0, 1<<60).Draw(t, "since"),
		mono:  rapid.Int64Range(0, 1<<60).Draw(t, "mono"),
		ppm: rapid.OneOf(
			rapid.Int64Range(-100_000, 100_000),
			rapid.Int64Range(-maxDrift, maxDrift),
			rapid.SampledFrom([]int64{0, 1, -1}),
		).Draw(t, "ppm"),
	}
	return c, c.since + rapid.OneOf(rapid.Int64Range(0, 1<<60), rapid.Int64Range(0, 3_000_000)).Draw(t, "elapsed")
}

// TestClockRead holds read to exact arithmetic.
func TestClockRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, now := drawClock(t)
		elapsed := big.NewInt(now - c.since)
		want := new(big.Int).Mul(elapsed, big.NewInt(million+c.ppm))
		want.Div(want, big.NewInt(million)) // rounds down: the divisor is positive
		want.Add(want, big.NewInt(c.mono))
		if got := c.read(now); !want.IsInt64() || got != want.Int64() {
			t.Fatalf("%+v at %d reads %d, want %s", c, now, got, want)
		}
	})
}

// TestClockWhen: when is the first true time, not before now, at which the clock
// reads at least the deadline.
func TestClockWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, now := drawClock(t)
		deadline := rapid.OneOf(
			rapid.Int64Range(0, clockEnd),
			rapid.Int64Range(c.read(now)-10, c.read(now)+2_000_000),
			rapid.Just(int64(clockEnd)),
		).Draw(t, "deadline")
		at := c.when(now, deadline)
		switch {
		case at < now:
			t.Fatalf("%+v: deadline %d at %d, before now, %d", c, deadline, at, now)
		case c.read(at) < deadline:
			t.Fatalf("%+v: at %d it reads %d, before the deadline %d", c, at, c.read(at), deadline)
		case at > now && c.read(at-1) >= deadline:
			t.Fatalf("%+v: at %d it reads %d already, deadline %d; when says %d", c, at-1, c.read(at-1), deadline, at)
		}
	})
}

// TestClockPieces: a clock that is cut into pieces loses less than a nanosecond a
// piece, never goes back, and stands still while it is stopped.
func TestClockPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole, now := drawClock(t)
		c := whole
		pieces := rapid.SliceOfN(rapid.Int64Range(0, 1<<50), 1, 8).Draw(t, "pieces")
		for _, d := range pieces {
			before := c.read(now)
			now += d
			c.piece(now)
			if c.read(now) < before {
				t.Fatalf("it read %d, then %d", before, c.read(now))
			}
		}
		if lost := whole.read(now) - c.read(now); lost < 0 || lost > int64(len(pieces)) {
			t.Fatalf("%d pieces lost %d ns", len(pieces), lost)
		}
		c.stopped = true
		if c.read(now) != c.read(now+1<<50) {
			t.Fatal("a stopped clock goes on")
		}
	})
}

func TestDeadlines(t *testing.T) {
	for _, x := range []struct {
		mono int64
		d    time.Duration
		want int64
	}{
		{0, 0, 0}, {5, 7, 12}, {5, -7, -2}, {0, 1<<63 - 1, clockEnd}, {clockEnd, 1, clockEnd},
		{1 << 50, clockEnd - 1<<50, clockEnd}, {1 << 50, clockEnd - 1<<50 - 1, clockEnd - 1},
	} {
		if got := after(x.mono, x.d); got != x.want {
			t.Errorf("%d after %d: got %d, want %d", x.d, x.mono, got, x.want)
		}
	}
}
