package browser

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"staleproof/model/history"
	"staleproof/reports"
)

// result is what the command wrote with --result: real findings.
func result(t *testing.T, name string) *reports.Document {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := reports.Decode(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// textbook is the finding of which all tests are that need a run: the store of
// the textbook scenario ignores tokens.
func textbook(t *testing.T) *reports.Document { return result(t, "textbook") }

// named is the finding of textbook with names as long as those of real systems.
// The result "recorded" has such names too.
func named(t *testing.T) *reports.Document {
	t.Helper()
	doc := textbook(t)
	long := map[string]string{"A": "worker-eu-west-1a", "B": "worker-eu-west-1b", "store": "postgres-primary-eu-west-1", "manager": "lease-manager-eu"}
	for i := range doc.Runs[0].Findings {
		for j := range doc.Runs[0].Findings[i].History.Events {
			e := &doc.Runs[0].Findings[i].History.Events[j]
			for _, s := range []*string{&e.Process, &e.Owner, &e.To, &e.Client} {
				who, _, _ := strings.Cut(*s, ".")
				if to := long[who]; to != "" {
					*s = to + (*s)[len(who):]
				}
			}
			for _, k := range []*history.Token{&e.Token, &e.Highest} {
				if *k != 0 {
					*k += 1040
				}
			}
			if e.Resource != "" {
				e.Resource = "accounts/customer-4711"
			}
		}
	}
	return doc
}

// long has n events of clients that take turns, refusals among them, and ends in
// a stale write that is applied.
func long(n, clients int) *history.History {
	h := &history.History{Header: history.Header{Format: history.Format, Timing: "timed", TTL: 10_000_000_000}}
	w := writer{h: h, clients: int64(clients)}
	for turn := int64(1); len(h.Events) < n-4; turn++ {
		w.turn(turn)
	}
	old, now := history.Token(1), w.token
	w.add(history.Event{Process: "w1", Type: history.Invoke, F: history.Write, Op: w.op + 1, Resource: "orders/7", Token: old, Value: history.IntValue(-1)})
	w.add(history.Event{Process: "store", Type: history.Note, F: history.Apply, Op: w.op + 1, Resource: "orders/7", Token: old, Highest: now, Value: history.IntValue(-1)})
	return h
}

// writer appends events, a little later each.
type writer struct {
	h     *history.History
	index int64
	now   int64
	op    int64
	msg   int64
	token history.Token

	clients int64
}

func (w *writer) add(e history.Event) {
	w.now += 137_000
	w.index++
	e.Index, e.Time = w.index, w.now
	w.h.Events = append(w.h.Events, e)
}

// call is an operation of a client, its message, what the server noted, and the
// reply.
func (w *writer) call(client, server string, e, note history.Event, end history.Type) {
	w.op++
	w.msg++
	e.Process, e.Type, e.Op, e.Resource = client, history.Invoke, w.op, "orders/7"
	w.add(e)
	w.add(history.Event{Process: client, Type: history.Note, F: history.Send, To: server, Message: w.msg, Text: e.F.String()})
	w.add(history.Event{Process: server, Type: history.Note, F: history.Deliver, To: server, Message: w.msg})
	note.Process, note.Type, note.Op, note.Resource, note.Owner = server, history.Note, w.op, "orders/7", client
	w.add(note)
	done := history.Event{Process: client, Type: end, F: e.F, Op: w.op, Resource: "orders/7", Token: note.Token, Highest: note.Highest, Value: e.Value}
	if end == history.Fail {
		done.Error = history.Stale
	}
	w.add(done)
}

// turn is an acquisition, some writes, now and then a pause and a refusal, and
// the end of the lease.
func (w *writer) turn(n int64) {
	client, lease := fmt.Sprintf("w%d", n%w.clients+1), fmt.Sprintf("%04x", n*40503%65536)
	before := w.token
	w.token++
	w.call(client, "manager", history.Event{F: history.Acquire}, history.Event{F: history.Grant, Token: w.token, Lease: lease, Generation: n, Expires: w.now + 10_000_000}, history.OK)
	w.add(history.Event{Process: client, Type: history.Note, F: history.Believe, Resource: "orders/7", Token: w.token, Lease: lease, Generation: n, Until: w.now + 9_900_000})
	for i := range int64(6) {
		v := history.IntValue(100*n + i)
		w.call(client, "store", history.Event{F: history.Write, Token: w.token, Lease: lease, Value: v}, history.Event{F: history.Apply, Token: w.token, Highest: w.token, Lease: lease, Value: v}, history.OK)
	}
	if n%7 == 0 {
		w.add(history.Event{Process: client, Type: history.Note, F: history.Pause, Text: "for 5ms"})
		w.now += 5_000_000
		w.add(history.Event{Process: client, Type: history.Note, F: history.Resume})
		late := fmt.Sprintf("w%d", (n+w.clients-1)%w.clients+1)
		w.call(late, "store", history.Event{F: history.Write, Token: before}, history.Event{F: history.Reject, Token: before, Highest: w.token}, history.Fail)
	}
	w.now += 2_000_000
	w.add(history.Event{Process: "manager", Type: history.Note, F: history.Expire, Resource: "orders/7", Token: w.token, Lease: lease, Owner: client, Generation: n})
}

// stream hands out a history of n events like those of long, turn by turn.
type stream struct {
	n, turn int64
	w       writer
	at      int
}

func (s *stream) Header() history.Header { return s.w.h.Header }

func (s *stream) Next(e *history.Event) error {
	if s.at == len(s.w.h.Events) {
		s.w.h.Events, s.at = s.w.h.Events[:0], 0
		s.turn++
		s.w.turn(s.turn)
	}
	*e = s.w.h.Events[s.at]
	s.at++
	if e.Index > s.n {
		return io.EOF
	}
	return nil
}

// streamed is a document about the last of n events that nobody holds.
func streamed(n int64) *reports.Document {
	open := func() (history.Source, error) {
		h := &history.History{Header: history.Header{Format: history.Format, Timing: "timed", TTL: 10_000_000_000}}
		return &stream{n: n, w: writer{h: h, clients: 5}}, nil
	}
	doc := finding(long(40, 5))
	f := &doc.Runs[0].Findings[0]
	f.History, f.Open, f.Events, f.Chain[1].Index = nil, open, []int64{n}, n
	return doc
}

// finding is a document about the last event of a history.
func finding(h *history.History) *reports.Document {
	last := h.Events[len(h.Events)-1]
	return &reports.Document{Format: reports.Format, Runs: []reports.Run{{
		Scenario: "textbook", Defect: "long", Doc: "A run of many events.", Status: reports.Violated, Expected: true, Schedules: 1, Events: int64(len(h.Events)),
		Breaks: []string{"no-stale-write"}, Broken: []string{"no-stale-write"},
		Findings: []reports.Finding{{Property: "no-stale-write", Guarantee: "No stale write is applied.", Message: fmt.Sprintf("token 1 applied at #%d", last.Index),
			Events: []int64{last.Index}, Chain: []reports.Link{{Index: 4, Time: h.Events[3].Time, Text: "w2 was granted token 1"}, {Index: last.Index, Time: last.Time, Text: "the store applied w1's write with token 1"}},
			Replay: "staleproof replay sp1:AAAA", History: h}},
	}}}
}

// breaker would break out of an element, an attribute or a script.
const breaker = `"'><img src=x onerror="window.broken=1"><script>window.broken=1</script>`

// hostile is a document all of whose texts are breakers.
func hostile(t *testing.T) *reports.Document {
	doc := textbook(t)
	doc.Title, doc.Version = breaker, breaker
	r := &doc.Runs[0]
	r.Findings = r.Findings[:1]
	r.Scenario, r.Defect, r.Doc, r.Reason = breaker, breaker, breaker, breaker
	r.Params = []reports.KeyValue{{Key: breaker, Value: breaker}}
	f := &r.Findings[0]
	f.Property, f.Guarantee, f.Message, f.Replay = breaker, breaker, breaker, breaker
	f.Harm, f.Cause, f.NoPartial, f.Work = breaker, breaker, breaker, []string{breaker}
	f.Decisions = []string{breaker}
	for i := range f.Chain {
		f.Chain[i].Text = breaker
	}
	for i := range f.History.Events {
		e := &f.History.Events[i]
		for _, s := range []*string{&e.Process, &e.Owner, &e.To, &e.Client} {
			if *s != "" {
				*s += breaker
			}
		}
		e.Resource, e.Lease, e.Text, e.Value = "r"+breaker, breaker, breaker, history.TextValue(breaker)
		if e.Error != history.Stale && e.Error != "" {
			e.Error = breaker
		}
	}
	return doc
}

// hostileDiff lays a run all of whose texts are breakers beside its beginning.
func hostileDiff(t *testing.T) string {
	t.Helper()
	f := hostile(t).Runs[0].Findings[0]
	short := f
	short.History = &history.History{Header: f.History.Header, Events: f.History.Events[:50]}
	dir := t.TempDir()
	err := reports.WriteDiff(dir, reports.Side{Name: breaker, Status: reports.Violated, Finding: f}, reports.Side{Name: breaker, Status: reports.Satisfied, Finding: short})
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + dir + "/diff.html"
}

// diff writes the textbook run beside one in which A neither pauses nor writes
// late, and returns the address of the page.
func diff(t *testing.T, dir string) string {
	t.Helper()
	f := textbook(t).Runs[0].Findings[0]
	calm := &history.History{Header: f.History.Header}
	for _, e := range f.History.Events {
		if e.Index < 36 || e.ClientName() != "A" && e.To != "A" && e.Owner != "A" {
			calm.Events = append(calm.Events, e)
		}
	}
	err := reports.WriteDiff(dir, reports.Side{Name: "the failing run", Status: reports.Violated, Finding: f},
		reports.Side{Name: "the nearest passing run", Status: reports.Satisfied, Finding: reports.Finding{Replay: "staleproof replay sp1:AAAA", History: calm}})
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + dir + "/diff.html"
}
