package scenarios

import (
	"slices"
	"strings"
	"testing"

	"staleproof/model"
	"staleproof/model/history"
)

// TestDiverged: the first event that is another one is named.
func TestDiverged(t *testing.T) {
	r, err := NewRunner(&textbook, Options{Defects: model.StoreIgnoresToken})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, h := r.Record(&textbook.Params, nil)
	trail := Trail(h)
	if len(trail) != 2*len(h.Events) || parseTrail(trail) != nil {
		t.Fatalf("expected two letters for each of %d events, found %q", len(h.Events), trail)
	}
	changed := func(change func([]history.Event) []history.Event) *history.History {
		return &history.History{Header: h.Header, Events: change(slices.Clone(h.Events))}
	}
	last := h.Events[len(h.Events)-1].Index
	for _, c := range []struct {
		reason string
		h      *history.History
		at     int64
		want   string
	}{
		{"the same", h, 0, ""},
		{"another token", changed(func(e []history.Event) []history.Event { e[40].Token++; return e }), h.Events[40].Index, "the event that was recorded"},
		{"another process", changed(func(e []history.Event) []history.Event { e[0].Process = "X"; return e }), h.Events[0].Index, "found X "},
		{"a nanosecond later", changed(func(e []history.Event) []history.Event { e[7].Time++; return e }), h.Events[7].Index, "the event that was recorded"},
		{"something before it that is not told", changed(func(e []history.Event) []history.Event { e[9].Index++; return e }), h.Events[9].Index + 1, "the event that was recorded"},
		{"one is missing", changed(func(e []history.Event) []history.Event { return slices.Delete(e, 5, 6) }), h.Events[6].Index, "the event that was recorded"},
		{"it ends sooner", changed(func(e []history.Event) []history.Event { return e[:len(e)-3] }), last - 2, "3 events more, found the end of the run"},
		{"nothing happens", changed(func(e []history.Event) []history.Event { return nil }), 1, "the end of the run"},
		{"it goes on", changed(func(e []history.Event) []history.Event {
			return append(e, history.Event{Index: last + 1, Process: "A"})
		}), last + 1, "expected the end of the run, found A"},
	} {
		checkMarks(t, c.reason, h, c.h, c.at)
		d := Diverged(trail, c.h)
		switch {
		case c.want == "" && d != nil:
			t.Errorf("%s: expected no divergence, found %v", c.reason, d)
		case c.want != "" && (d == nil || d.Event != c.at || !strings.Contains(d.Error(), c.want)):
			t.Errorf("%s: expected %q at event #%d, found %v", c.reason, c.want, c.at, d)
		}
	}
}

// checkMarks: the marks of a run name events among which is the one at which
// another run leaves it; 0 is none.
func checkMarks(t *testing.T, reason string, h, other *history.History, at int64) {
	t.Helper()
	marks := MarksOf(h)
	d := marks.Diverged(other)
	if at == 0 {
		if d != nil {
			t.Errorf("%s: expected no divergence from the marks, found %v", reason, d)
		}
		return
	}
	most := int64(len(h.Events)/maxMarks + 2)
	if d == nil || at < d.Event-1 || at > max(d.Event, d.Last)+1 || d.Last-d.Event > most {
		t.Errorf("%s: expected at most %d events around #%d, found %v", reason, most, at, d)
	}
}
