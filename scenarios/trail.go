package scenarios

import (
	"fmt"
	"strings"

	"staleproof/model/history"
	"staleproof/sim"
)

// A trail holds twelve bits of a rolling digest for each event of a recorded run,
// as two letters of base64url: a replay that goes another way says at which event.
// One in 4096 divergences is seen an event late.
const (
	trailLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	// maxTrail bounds the events that a trail covers.
	maxTrail = 10_000
)

// Trail returns the trail of a run that was recorded with everything in it; see
// [Runner.Record].
func Trail(h *history.History) string {
	events := h.Events[:min(len(h.Events), maxTrail)]
	b := make([]byte, 0, 2*len(events))
	digest := uint64(0)
	for i := range events {
		digest = trailStep(digest, &events[i])
		b = append(b, trailLetters[digest>>58], trailLetters[digest>>52&63])
	}
	return string(b)
}

// trailStep folds an event into the rolling digest of a trail.
func trailStep(digest uint64, e *history.Event) uint64 {
	return sim.Scramble(e.Fold(sim.Mix(digest, uint64(e.Index))))
}

// maxMarks is how many marks a trail has at most.
const maxMarks = 16

// Marks are a trail that is short enough for a replay token: bytes of the rolling
// digest behind some of the events, which are spread evenly over the run. A replay
// that goes another way says between which of them.
type Marks struct {
	Events  int    // that the trail covers
	Digests []byte // at most maxMarks; the last is behind the last event
}

// MarksOf returns the marks of a run that was recorded with everything in it; see
// [Runner.Record].
func MarksOf(h *history.History) Marks {
	m := Marks{Events: min(len(h.Events), maxTrail)}
	m.Digests = m.of(h)
	return m
}

// behind is how many events the i-th mark covers.
func (m *Marks) behind(i int) int { return (i + 1) * m.Events / min(m.Events, maxMarks) }

// of returns the digests of a run at the places of m, as far as it gets.
func (m *Marks) of(h *history.History) []byte {
	var b []byte
	digest := uint64(0)
	for i := range h.Events[:min(len(h.Events), m.Events)] {
		digest = trailStep(digest, &h.Events[i])
		if i+1 == m.behind(len(b)) {
			b = append(b, byte(digest>>56))
		}
	}
	return b
}

// Diverged compares a run with the marks of the recorded one. It returns nil if
// they do not tell them apart.
func (m *Marks) Diverged(h *history.History) *Divergence {
	now := m.of(h)
	same := 0
	for same < len(now) && now[same] == m.Digests[same] {
		same++
	}
	if same == len(m.Digests) {
		return m.goesOn(h)
	}
	first := 0
	if same > 0 {
		first = m.behind(same - 1)
	}
	if first == len(h.Events) {
		return &Divergence{Event: int64(first) + 1, Expected: fmt.Sprintf("%d events more", m.Events-first), Found: "the end of the run"}
	}
	return &Divergence{Event: h.Events[first].Index, Last: h.Events[min(m.behind(same), len(h.Events))-1].Index,
		Expected: "those that were recorded", Found: "others, beginning with " + eventInWords(&h.Events[first])}
}

// goesOn compares a run with marks that are the same in both.
func (m *Marks) goesOn(h *history.History) *Divergence {
	if m.Events == 0 || m.Events == maxTrail || len(h.Events) <= m.Events {
		return nil
	}
	e := &h.Events[m.Events]
	return &Divergence{Event: e.Index, Expected: "the end of the run", Found: eventInWords(e)}
}

// Divergence says where a run left a recorded one.
type Divergence struct {
	Event           int64 // its number in the history: #57 in words
	Last            int64 // if not 0: it is one of the events from Event to Last
	Expected, Found string
}

func (d *Divergence) Error() string {
	if d.Last > d.Event {
		return fmt.Sprintf("diverged at one of the events #%d to #%d: expected %s, found %s", d.Event, d.Last, d.Expected, d.Found)
	}
	return fmt.Sprintf("diverged at event #%d: expected %s, found %s", d.Event, d.Expected, d.Found)
}

// Diverged compares a run with the trail of the recorded one. It returns nil if
// the trail does not tell them apart.
func Diverged(trail string, h *history.History) *Divergence {
	now := Trail(h)
	for i := 0; i < min(len(trail), len(now))-1; i += 2 {
		if trail[i:i+2] != now[i:i+2] {
			e := &h.Events[i/2]
			return &Divergence{Event: e.Index, Expected: "the event that was recorded (digest " + trail[i:i+2] + ")", Found: eventInWords(e) + " (digest " + now[i:i+2] + ")"}
		}
	}
	switch {
	case len(now) < len(trail):
		last := int64(0)
		if len(h.Events) > 0 {
			last = h.Events[len(h.Events)-1].Index
		}
		return &Divergence{Event: last + 1, Expected: fmt.Sprintf("%d events more", (len(trail)-len(now))/2), Found: "the end of the run"}
	case len(now) > len(trail) && len(trail) < 2*maxTrail:
		e := &h.Events[len(trail)/2]
		return &Divergence{Event: e.Index, Expected: "the end of the run", Found: eventInWords(e)}
	}
	return nil
}

// Diverged says that the run of a token is another one now, from which event on if
// the token has marks, and what it breaks.
func (r *Runner) Diverged(rec *Recorded) error {
	o, h := r.Record(&rec.Params, rec.Schedule)
	now := "breaks " + strings.Join(o.Broken(), ", ")
	switch {
	case len(o.Inconclusive) > 0:
		now = "cannot be judged"
	case len(o.Violations) == 0:
		now = "breaks nothing"
	}
	changed := "the code under test has changed since the token was made, and this schedule now " + now +
		"; without the token all schedules are tried"
	if d := rec.Marks.Diverged(h); d != nil {
		return fmt.Errorf("%w: %s", d, changed)
	}
	return fmt.Errorf("diverged: expected digest %016x, found %016x: %s", rec.Digest, o.Result.Digest, changed)
}

// eventInWords says shortly what happened.
func eventInWords(e *history.Event) string {
	words := []string{e.Process, e.Type.String(), e.F.String()}
	if e.Type == history.Note {
		words = []string{e.Process, e.F.String()}
	}
	if e.Resource != "" {
		words = append(words, e.Resource)
	}
	if e.Token != 0 {
		words = append(words, fmt.Sprintf("token %d", e.Token))
	}
	if e.To != "" {
		words = append(words, "to "+e.To)
	}
	return strings.Join(words, " ")
}

// parseTrail checks the text of a trail.
func parseTrail(text string) error {
	for i := range len(text) {
		if strings.IndexByte(trailLetters, text[i]) < 0 {
			return fmt.Errorf("expected letters of base64url, found %q", text[i])
		}
	}
	if len(text)%2 != 0 || len(text) > 2*maxTrail {
		return fmt.Errorf("expected two letters an event, found %d letters", len(text))
	}
	return nil
}
