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

// Divergence says where a run left a recorded one.
type Divergence struct {
	Event           int64 // its number in the history: #57 in words
	Expected, Found string
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("diverged at event #%d: expected %s, found %s", d.Event, d.Expected, d.Found)
}

// Diverged compares a run with the trail of the recorded one. It returns nil if
// the trail does not tell them apart.
func Diverged(trail string, h *history.History) *Divergence {
	now := Trail(h)
	for i := 0; i < min(len(trail), len(now))-1; i += 2 {
		if trail[i:i+2] != now[i:i+2] {
			e := &h.Events[i/2]
			return &Divergence{e.Index, "the event that was recorded (digest " + trail[i:i+2] + ")", eventInWords(e) + " (digest " + now[i:i+2] + ")"}
		}
	}
	switch {
	case len(now) < len(trail):
		last := int64(0)
		if len(h.Events) > 0 {
			last = h.Events[len(h.Events)-1].Index
		}
		return &Divergence{last + 1, fmt.Sprintf("%d events more", (len(trail)-len(now))/2), "the end of the run"}
	case len(now) > len(trail) && len(trail) < 2*maxTrail:
		e := &h.Events[len(trail)/2]
		return &Divergence{e.Index, "the end of the run", eventInWords(e)}
	}
	return nil
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
