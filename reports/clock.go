package reports

import (
	"strconv"
	"strings"
	"time"

	"staleproof/model/history"
)

// clock writes the times of a history: nanoseconds, steps or ticks.
type clock struct {
	unit   string // "ns", "step", "tick", or "" when events carry no time
	digits int    // decimals of a second that tell all events apart
}

func newClock(h *history.History) clock {
	switch h.Header.Timing {
	case "untimed":
		return clock{unit: "step"}
	case "bounded":
		return clock{unit: "tick"}
	}
	c := clock{digits: 3}
	for i := range h.Events {
		t := h.Events[i].Time
		if t != 0 {
			c.unit = "ns"
		}
		switch {
		case t%1_000 != 0:
			c.digits = 9
		case t%1_000_000 != 0 && c.digits < 6:
			c.digits = 6
		}
	}
	return c
}

// heading names the column of times.
func (c clock) heading() string {
	switch c.unit {
	case "ns":
		return "time, s"
	case "":
		return ""
	}
	return c.unit
}

// column writes t for a column of numbers under heading.
func (c clock) column(t int64) string {
	switch c.unit {
	case "":
		return ""
	case "ns":
		return seconds(t, c.digits)
	}
	return strconv.FormatInt(t, 10)
}

// seconds writes nanoseconds as seconds with a fixed number of decimals.
func seconds(ns int64, digits int) string {
	sign, n := "", uint64(ns)
	if ns < 0 {
		sign, n = "-", -n // right for the least int64 too
	}
	frac := strconv.FormatUint(n%1_000_000_000, 10)
	frac = strings.Repeat("0", 9-len(frac)) + frac
	return sign + strconv.FormatUint(n/1_000_000_000, 10) + "." + frac[:digits]
}

// instant writes t for a sentence: "10.5s", "step 12".
func (c clock) instant(t int64) string {
	switch c.unit {
	case "":
		return ""
	case "ns":
		return round(t, 10_000_000) // the table of events has the rest
	}
	return c.unit + " " + strconv.FormatInt(t, 10)
}

// label writes t for the axis, where there is little room.
func (c clock) label(t int64) string {
	switch c.unit {
	case "":
		return ""
	case "ns":
		return round(t, 100_000)
	}
	return strconv.FormatInt(t, 10)
}

// elapsed writes a difference of times: "9.97s", "12 steps".
func (c clock) elapsed(d int64) string {
	switch {
	case c.unit == "":
		return ""
	case c.unit == "ns":
		return round(d, 10_000)
	case d == 1:
		return "1 " + c.unit
	}
	return strconv.FormatInt(d, 10) + " " + c.unit + "s"
}

// round writes nanoseconds with as many digits as there are below limit.
func round(ns int64, limit time.Duration) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit <= time.Second; unit *= 10 {
		if abs(d) < limit*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Second).String()
}

func abs(d time.Duration) time.Duration {
	if d < 0 {
		return -d
	}
	return d
}
