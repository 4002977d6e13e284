package sim

import "time"

// million is the unit of drift: parts per million.
const million = 1_000_000

// clock is the pair of clocks of a process: piecewise linear in true time.
type clock struct {
	since   int64 // true time at which this piece began
	mono    int64 // the monotonic clock then
	offset  int64 // wall clock minus monotonic clock
	ppm     int64 // drift
	stopped bool  // a suspended machine: the monotonic clock stands still
}

// read returns the monotonic clock at true time now.
func (c *clock) read(now int64) int64 {
	if c.stopped {
		return c.mono
	}
	dt := now - c.since
	if c.ppm == 0 {
		return c.mono + dt
	}
	return c.mono + dt + scale(dt, c.ppm)
}

// scale returns dt*ppm/million, rounded down, without overflow.
func scale(dt, ppm int64) int64 {
	whole, rest := dt/million, dt%million
	product := rest * ppm
	q := product / million
	if product%million < 0 {
		q--
	}
	return whole*ppm + q
}

// when returns the first true time, not before now, at which the monotonic clock
// reads at least deadline. The clock must not be stopped.
func (c *clock) when(now, deadline int64) int64 {
	wait := deadline - c.mono // of clock time, from the beginning of this piece
	if wait > 0 && c.ppm != 0 {
		rate := million + c.ppm // of clock time in a million of true time
		whole, rest := wait/rate, wait%rate
		wait = whole*million + (rest*million+rate-1)/rate
	}
	return max(now, c.since+wait)
}

// clockEnd is a clock time that no run reaches, 73 years, and far enough from the
// end of an int64 to be converted to true time.
const clockEnd = 1 << 61

// after returns the clock time d after mono.
func after(mono int64, d time.Duration) int64 {
	if int64(d) > clockEnd-mono {
		return clockEnd
	}
	return mono + int64(d)
}

// piece begins a new piece at true time now.
func (c *clock) piece(now int64) {
	c.mono = c.read(now)
	c.since = now
}
