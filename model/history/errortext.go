package history

import (
	"encoding/json"
	"strings"
)

// ErrorText writes the error of an event as a person would: some recorders note
// a list of texts, ["not-found","lease not found"].
func ErrorText(s string) string {
	var list []string
	if strings.HasPrefix(s, "[") && json.Unmarshal([]byte(s), &list) == nil {
		return strings.Join(list, ": ")
	}
	return s
}
