package sim

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
	wait := deadline - c.read(now)
	if wait <= 0 {
		return now
	}
	if c.ppm == 0 {
		return now + wait
	}
	guess := now + wait - scale(wait, c.ppm)
	for c.read(guess) < deadline {
		guess += 1 + (deadline-c.read(guess))/2
	}
	for guess > now && c.read(guess-1) >= deadline {
		guess--
	}
	return guess
}

// piece begins a new piece at true time now.
func (c *clock) piece(now int64) {
	c.mono = c.read(now)
	c.since = now
}
