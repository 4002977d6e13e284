package explore

import (
	"fmt"
	"strings"
)

// Reductions is a set of ways to leave out schedules that only repeat others.
type Reductions uint8

// NoReductions searches every interleaving.
const NoReductions Reductions = 0

// reductionNames are those that [ParseReductions] knows.
var reductionNames = []struct {
	name string
	set  Reductions
}{{"none", NoReductions}, {"all", NoReductions}}

// ParseReductions reads none, all, or a list of names separated by commas. There
// are none yet: all is none.
func ParseReductions(text string) (Reductions, error) {
	var set Reductions
	for _, name := range strings.Split(text, ",") {
		known := false
		for _, r := range reductionNames {
			if r.name == strings.TrimSpace(name) {
				set |= r.set
				known = true
			}
		}
		if !known {
			return 0, fmt.Errorf("reductions %q: expected none or all, found %q", text, name)
		}
	}
	return set, nil
}
