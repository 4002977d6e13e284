package sim

import (
	"fmt"
	"time"
)

// Limits of a [Config]: the arithmetic of clocks stays exact and far from the end
// of an int64 within them.
const (
	maxDuration = 10 * 365 * 24 * time.Hour
	maxDrift    = 500_000 // ppm
)

// Validate returns an error that names the first field of c that no world can
// work with: durations are from 0 to 10 years, jumps also back, drifts within
// 500,000 ppm either way, and limits not negative. [World.Reset] panics with it.
func (c *Config) Validate() error {
	single := [...]struct {
		field string
		d     time.Duration
	}{{"Latency", c.Latency}, {"Quiet", c.Quiet}, {"Horizon", c.Horizon}}
	for _, s := range single {
		if s.d < 0 || s.d > maxDuration {
			return outside(s.field, s.d)
		}
	}
	lists := [...]struct {
		field string
		list  []time.Duration
	}{{"Delays", c.Delays}, {"Holds", c.Holds}, {"Pauses", c.Pauses}, {"Suspends", c.Suspends},
		{"Stalls", c.Stalls}, {"Restarts", c.Restarts}, {"Partitions", c.Partitions}}
	for _, l := range lists {
		for i, d := range l.list {
			if d < 0 || d > maxDuration {
				return outside(fmt.Sprintf("%s[%d]", l.field, i), d)
			}
		}
	}
	for i, d := range c.Jumps {
		if d < -maxDuration || d > maxDuration {
			return fmt.Errorf("config: Jumps[%d] is %s: expected at most 10 years forward or back", i, d)
		}
	}
	for i, ppm := range c.Drifts {
		if ppm < -maxDrift || ppm > maxDrift {
			return fmt.Errorf("config: Drifts[%d] is %d ppm: expected -%d to %d", i, ppm, maxDrift, maxDrift)
		}
	}
	if c.MaxEvents < 0 {
		return fmt.Errorf("config: MaxEvents is %d: expected 0, for the default of %d, or more", c.MaxEvents, defaultMaxEvents)
	}
	for site, left := Site(0), len(c.Budget); site < siteCount && left > 0; site++ {
		limit, ok := c.Budget[site]
		if limit < 0 {
			return fmt.Errorf("config: Budget[%s] is %d: expected 0 or more, or no entry for no limit", site, limit)
		}
		if ok {
			left--
		}
	}
	return nil
}

func outside(field string, d time.Duration) error {
	return fmt.Errorf("config: %s is %s: expected 0 to 10 years", field, d)
}
