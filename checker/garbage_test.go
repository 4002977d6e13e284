package checker

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"staleproof/model/history"
)

// drawGarbage draws an event that need make no sense.
func drawGarbage(t *rapid.T, index int64) history.Event {
	names := rapid.SampledFrom([]string{"", "A", "B", "store", "L", "a-name-of-more-than-eight-bytes"})
	number := rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, 2, 3, math.MaxInt64})
	verbs := rapid.SampledFrom([]uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 32, 33, 34, 35, 36, 37, 38, 39, 64, 65, 97, 99, 102})
	value := rapid.SampledFrom([]history.Value{{}, history.NilValue, history.IntValue(1), history.TextValue("x"), {Kind: 99, Num: 1}})
	return history.Event{
		Index: index, Time: number.Draw(t, "time"),
		Process: names.Draw(t, "process"), Client: names.Draw(t, "client"),
		Type: history.Type(rapid.Uint8Range(0, 6).Draw(t, "type")),
		F:    history.F(rapid.OneOf(rapid.Uint8(), verbs, verbs).Draw(t, "f")),
		Op:   number.Draw(t, "op"), Resource: names.Draw(t, "resource"), Scope: names.Draw(t, "scope"),
		Token: history.Token(number.Draw(t, "token")), Highest: history.Token(number.Draw(t, "highest")),
		Lease: names.Draw(t, "lease"), Owner: names.Draw(t, "owner"), Value: value.Draw(t, "value"), Expect: value.Draw(t, "expect"),
		Expires: number.Draw(t, "expires"), Until: number.Draw(t, "until"), Message: number.Draw(t, "message"), Copy: number.Draw(t, "copy"),
		Error: rapid.SampledFrom([]string{"", history.Stale, "mismatch", "x"}).Draw(t, "error"), To: names.Draw(t, "to"),
	}
}

// Nothing panics on bad input, and the same input is judged the same.
func TestGarbage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history.History{Header: history.Header{
			Timing: rapid.SampledFrom([]string{"", "timed", "untimed", "bounded", "never"}).Draw(t, "timing"),
			Scopes: rapid.SampledFrom([]string{"", "per-resource", "global", "odd"}).Draw(t, "scopes"),
		}}
		for i := range rapid.IntRange(0, 30).Draw(t, "events") {
			h.Events = append(h.Events, drawGarbage(t, int64(i)))
		}
		for _, m := range models {
			r, err := Check(h, Options{Model: m.Name, Memory: 64_000})
			if err != nil && !strings.HasPrefix(err.Error(), "cannot judge it as ") {
				t.Fatal(err)
			}
			for _, v := range r.Violations {
				Explain(h, v)
			}
			again, _ := Check(h, Options{Model: m.Name, Memory: 64_000})
			for i := range r.Results {
				if r.Results[i].Outcome != again.Results[i].Outcome {
					t.Fatalf("%s: %s and then %s", r.Results[i].Property, r.Results[i].Outcome, again.Results[i].Outcome)
				}
			}
		}
		for _, view := range []View{{true, true}, {true, false}, {false, true}, {}} {
			s, err := Config{Header: h.Header, View: view, Memory: 64_000}.New(allNames())
			if err != nil {
				t.Fatal(err)
			}
			for i := range h.Events {
				s.Observe(&h.Events[i])
				s.AppendKey(nil)
			}
			s.Clone().Finish()
			s.Finish()
			s.Reset()
		}
	})
}
