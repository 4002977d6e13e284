package scenarios

import (
	"strings"

	"staleproof/model/history"
)

// suggest ends the error of an unknown name: the nearest one, and all of them.
func suggest(name string, names []string) string {
	text := ": expected one of " + strings.Join(names, ", ")
	if near := history.Nearest(name, names); near != "" {
		text = ": did you mean " + near + "?" + text[1:]
	}
	return text
}
