package scenarios

import (
	"fmt"
	"strconv"
	"time"
)

// TimeText writes a time of a history: in seconds since its beginning, cut off at
// milliseconds as on the pages, or the number of a step or tick.
func TimeText(t int64, timing string) string {
	if timing == "untimed" || timing == "bounded" {
		return strconv.FormatInt(t, 10)
	}
	if t > -int64(time.Millisecond) && t < int64(time.Millisecond) {
		return time.Duration(t).String()
	}
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	return fmt.Sprintf("%s%d.%03ds", sign, t/int64(time.Second), t%int64(time.Second)/int64(time.Millisecond))
}
