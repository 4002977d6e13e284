package history

import (
	"strings"
	"testing"
)

// TestReadExcerpt: what is missing before an excerpt is no error of it.
func TestReadExcerpt(t *testing.T) {
	const header = `{"format":"staleproof.history/1"}` + "\n"
	for _, test := range []struct {
		reason, lines string
		want          string // in the error; empty is none
	}{
		{"an end without its beginning", `{"index":7,"process":"A","type":"ok","f":"write","op":3}`, ""},
		{"two beginnings of one process", `{"index":7,"process":"A","type":"invoke","f":"write","op":3}` + "\n" + `{"index":9,"process":"A","type":"invoke","f":"write","op":4}`, ""},
		{"events out of order", `{"index":7,"process":"A","type":"ok","f":"write","op":3}` + "\n" + `{"index":7,"process":"A","type":"ok","f":"write","op":4}`, "expected an index above 7"},
		{"a line that is none", `{"index":7,`, "e.jsonl:2"},
	} {
		h, err := ReadExcerpt(strings.NewReader(header+test.lines+"\n"), "e.jsonl")
		if test.want == "" && (err != nil || len(h.Events) != strings.Count(test.lines, "\n")+1) {
			t.Errorf("%s: found %+v, %v", test.reason, h, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: want an error with %q, found %v", test.reason, test.want, err)
		}
	}
}
