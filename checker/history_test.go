package checker

import (
	"strconv"
	"strings"
	"testing"

	"staleproof/model/history"
)

// parse reads a history written by hand, one event a line:
//
//	PROCESS TYPE F key=value ...
//
// The type note is left out. Indexes count from 1 and time is a second a line
// unless t= gives seconds; the resource is orders/7 unless r= names another.
// What follows -- is a comment.
func parse(t testing.TB, h history.Header, text string) *history.History {
	t.Helper()
	hist := &history.History{Header: h}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "--")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		n := int64(len(hist.Events) + 1)
		e := history.Event{Index: n, Time: n * 1e9, Process: words[0]}
		rest := words[1:]
		if typ, err := history.ParseType(rest[0]); err == nil {
			e.Type, rest = typ, rest[1:]
		} else {
			e.Type = history.Note
		}
		f, err := history.ParseF(rest[0])
		if err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		if e.F = f; !f.IsWorldNote() {
			e.Resource = "orders/7"
		}
		for _, word := range rest[1:] {
			key, value, _ := strings.Cut(word, "=")
			set(t, &e, key, value)
		}
		hist.Events = append(hist.Events, e)
	}
	return hist
}

func set(t testing.TB, e *history.Event, key, value string) {
	t.Helper()
	n, _ := strconv.ParseInt(value, 10, 64)
	switch key {
	case "t":
		e.Time = n * 1e9
	case "op":
		e.Op = n
	case "r":
		e.Resource = value
	case "scope":
		e.Scope = value
	case "token":
		e.Token = history.Token(n)
	case "highest":
		e.Highest = history.Token(n)
	case "lease":
		e.Lease = value
	case "owner":
		e.Owner = value
	case "client":
		e.Client = value
	case "value":
		e.Value = valueOf(value)
	case "expect":
		e.Expect = valueOf(value)
	case "basis":
		e.Basis = n
	case "prepared":
		e.Prepared = history.Token(n)
	case "expires":
		e.Expires = n * 1e9
	case "until":
		e.Until = n * 1e9
	case "rejections":
		e.Rejections = n
	case "error":
		e.Error = value
	case "stale":
		e.Error, e.Highest = history.Stale, history.Token(n)
	case "to":
		e.To = value
	case "message":
		e.Message = n
	case "copy":
		e.Copy = n
	case "text":
		e.Text = strings.ReplaceAll(value, "_", " ")
	default:
		t.Fatalf("unknown key %q", key)
	}
}

func valueOf(s string) history.Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return history.IntValue(n)
	}
	if s == "nil" {
		return history.NilValue
	}
	return history.TextValue(s)
}

// judge feeds a history to one property and returns its final result.
func judge(t testing.TB, property string, h *history.History) Result {
	t.Helper()
	s, err := Config{Header: h.Header, View: sight(h)}.New([]string{property})
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Events {
		s.Observe(&h.Events[i])
	}
	return s.Finish()[0]
}

// sight finds whose notes a history holds.
func sight(h *history.History) View {
	s, _ := look(h.Header, EventsOf(h))
	return s.view
}
