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
	digits int    // decimals of a second in columns: most events need no more
	brief  int    // decimals of a second in sentences
}

func newClock(h *history.History) clock {
	switch h.Header.Timing {
	case "untimed":
		return clock{unit: "step"}
	case "bounded":
		return clock{unit: "tick"}
	}
	c := clock{}
	var first, last int64
	var finer, finest int // events that milliseconds, and microseconds, do not tell
	for i := range h.Events {
		t := h.Events[i].Time
		if t != 0 {
			c.unit = "ns"
		}
		if i == 0 {
			first = t
		}
		last = t
		if t%1_000_000 != 0 {
			finer++
		}
		if t%1_000 != 0 {
			finest++
		}
	}
	span, most := last-first, len(h.Events)/4
	c.digits, c.brief = 3, 3
	switch {
	case finest > most && span < int64(time.Second):
		c.digits = 9
	case finer > most:
		c.digits = 6
	}
	if span < int64(time.Second) {
		c.brief = c.digits
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
		if abs(time.Duration(t)) < time.Millisecond && t != 0 && c.brief < c.digits {
			return seconds(t, c.digits) + "s"
		}
		return seconds(t, c.brief) + "s" // the table of events may have more
	}
	return c.unit + " " + strconv.FormatInt(t, 10)
}

// label writes t for the axis, where there is little room.
func (c clock) label(t int64) string {
	switch c.unit {
	case "":
		return ""
	case "ns":
		return seconds(t, c.brief) + "s"
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

// round writes a length of time with as many digits as there are below limit.
func round(ns int64, limit time.Duration) string {
	d := time.Duration(ns)
	if abs(d) >= time.Minute {
		return strings.TrimSuffix(strings.TrimRight(seconds(ns, 3), "0"), ".") + "s"
	}
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
