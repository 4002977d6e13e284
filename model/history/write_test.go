package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWriteAll(t *testing.T) {
	full := fullEvent()
	full.Type, full.F = Note, Reject
	typical := typicalEvent()
	h := &History{
		Header: Header{Scenario: "textbook", Replay: "sp1:x", Timing: "timed", TTL: 10000000000, Rho: 200, Scopes: "per-resource"},
		Events: []Event{
			typical,
			full,
			{Type: Note, F: Quiet},
			{Index: -1, Time: -2, Process: "p", Type: Info, F: CAS, Value: NilValue, Expect: IntValue(0)},
			{Process: "p", Type: Note, F: Apply, Value: TextValue(""), Expect: Value{Kind: Raw, Str: ` [1, "\u0041"] `}},
			{Process: "\x00\x1f\"\\\n\r\t\x7f<&>é\u2028\U0001F600\xff|\xc3", Type: Note, F: Send},
		},
	}
	const want = `{"format":"staleproof.history/1","scenario":"textbook","replay":"sp1:x","timing":"timed","ttl":10000000000,"rho":200,"epsilon":0,"scopes":"per-resource"}
{"index":12,"time":30500000,"process":"B","type":"invoke","f":"write","op":5,"resource":"orders/7","token":42,"lease":"91cd","value":9,"prepared":42,"basis":7}
{"index":1,"time":2,"process":"process","type":"note","f":"reject","op":3,"resource":"resource","scope":"scope","token":4,"highest":5,"lease":"lease","owner":"owner","generation":6,"value":"value","expect":"expect","seq":7,"prepared":8,"basis":9,"expires":10,"until":11,"rejections":12,"error":"error","client":"client","to":"to","message":13,"copy":14,"text":"text"}
{"index":0,"time":0,"process":"","type":"note","f":"quiet"}
{"index":-1,"time":-2,"process":"p","type":"info","f":"cas","value":null,"expect":0}
{"index":0,"time":0,"process":"p","type":"note","f":"apply","value":"","expect":[1,"A"]}
{"index":0,"time":0,"process":"\u0000\u001f\"\\\n\r\t` + "\x7f<&>é\u2028\U0001F600\uFFFD|\uFFFD" + `","type":"note","f":"send"}
`
	var got bytes.Buffer
	if err := WriteAll(&got, h); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(got.Bytes()), []byte("\n")) {
		if !json.Valid(line) {
			t.Errorf("line %d is no JSON: %s", i+1, line)
		}
	}
}

// Every field of an event is written and read under its own name, also one
// that is added later.
func TestEveryFieldIsWrittenAndRead(t *testing.T) {
	basis := Event{Index: 0, Process: "A", Type: Invoke, F: Write, Op: 3}
	base := Event{Index: 1, Process: "w", Type: Note, F: Heal}
	var one Event
	leaves(&one, func(name string, v reflect.Value) {
		one = base
		switch name {
		case "Type":
			one.Type, one.F, one.Process = Info, Heal, Nemesis
		case "F":
			one.F = Quiet
		case "Value.Kind", "Value.Num":
			one.Value = IntValue(3)
		case "Value.Str":
			one.Value = TextValue("x")
		case "Expect.Kind", "Expect.Num":
			one.Expect = IntValue(3)
		case "Expect.Str":
			one.Expect = TextValue("x")
		default:
			setLeaf(t, v, 3)
		}
		want := []Event{basis, one}
		var file bytes.Buffer
		if err := WriteAll(&file, &History{Events: want}); err != nil {
			t.Fatal(err)
		}
		h, err := ReadAll(&file, name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, h.Events); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	})
}

func TestWriteRefuses(t *testing.T) {
	good := Event{Index: 7, Process: "w", Type: Note, F: Heal}
	edit := func(change func(e *Event)) Event {
		e := good
		change(&e)
		return e
	}
	tests := []struct {
		name   string
		header Header
		event  Event
		want   string
	}{
		{"no type", Header{}, edit(func(e *Event) { e.Type = 0 }), "event 7: expected a known type and f, found type(0) heal"},
		{"unknown f", Header{}, edit(func(e *Event) { e.F = 200 }), "event 7: expected a known type and f, found note f(200)"},
		{"unknown kind", Header{}, edit(func(e *Event) { e.Value.Kind = 9 }), "event 7: value: expected a known kind, found kind 9"},
		{"raw value that is no JSON", Header{}, edit(func(e *Event) { e.Expect = Value{Kind: Raw, Str: "[1"} }),
			"event 7: expect: expected a comma or ']', found the end of the line; the line seems cut off: delete it, or record the history again"},
		{"two raw values", Header{}, edit(func(e *Event) { e.Value = Value{Kind: Raw, Str: "1 2"} }),
			"event 7: value: expected one JSON value, found the number 2; write each line as one JSON object (RFC 8259)"},
		{"long line", Header{}, edit(func(e *Event) { e.Text = strings.Repeat("x", MaxLine) }),
			"event 7: expected a line of at most 1048576 bytes, found 1048645; write a digest of long values"},
		{"long header", Header{Replay: strings.Repeat("x", MaxLine)}, good, "expected a header of at most 1048576 bytes, found 1048621"},
		{"another format", Header{Format: "x/1"}, good, `expected a header of format "staleproof.history/1", found "x/1"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			w := NewWriter(&file, test.header)
			err := w.Write(&test.event)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if again := w.Write(&good); again != err {
				t.Errorf("after the error: %v", again)
			}
			if again := w.Flush(); again != err {
				t.Errorf("Flush after the error: %v", again)
			}
			if err := WriteAll(io.Discard, &History{test.header, []Event{test.event}}); err == nil {
				t.Error("WriteAll: no error")
			}
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestWriteErrorsOfTheFile(t *testing.T) {
	events := make([]Event, 10000)
	for i := range events {
		events[i] = typicalEvent()
	}
	for _, n := range []int{0, 1, len(events)} {
		if err := WriteAll(fullDisk{}, &History{Events: events[:n]}); err != errFull {
			t.Errorf("%d events: %v, want %v", n, err, errFull)
		}
	}
}

// drawText draws valid UTF-8, which is what a file can hold.
var drawText = rapid.OneOf(
	rapid.SampledFrom([]string{"", "", "a", "orders/7", "\"", "\\", "\x00", "\u2028", "é", "nil", "9"}),
	rapid.String(),
)

func drawValue(t *rapid.T) Value {
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 1:
		return NilValue
	case 2:
		return IntValue(rapid.Int64().Draw(t, "number"))
	case 3:
		return TextValue(drawText.Draw(t, "text"))
	case 4:
		return Value{Kind: Raw, Str: rapid.SampledFrom([]string{"true", "1.5", "[]", `{"a":[1,"é\n",null]}`}).Draw(t, "raw")}
	}
	return Value{}
}

// drawInt is zero half of the time, as fields are.
func drawInt(t *rapid.T, name string) int64 {
	if rapid.Bool().Draw(t, name+" set") {
		return rapid.Int64Range(0, maxTime).Draw(t, name)
	}
	return 0
}

// drawHistory draws a history that a Validator takes: its process names,
// numbers and indexes are arbitrary, its pairs are right.
func drawHistory(t *rapid.T) *History {
	h := &History{Header: Header{
		Format:   Format,
		Scenario: drawText.Draw(t, "scenario"),
		Replay:   drawText.Draw(t, "replay"),
		Timing:   rapid.SampledFrom([]string{"", "timed", "untimed", "bounded"}).Draw(t, "timing"),
		TTL:      drawInt(t, "ttl"), Rho: drawInt(t, "rho") % 1_000_000, Epsilon: drawInt(t, "epsilon"),
		Scopes: rapid.SampledFrom([]string{"", "per-resource", "global"}).Draw(t, "scopes"),
		Fence:  rapid.SampledFrom([]string{"", "accepted", "granted"}).Draw(t, "fence"),
	}}
	open := make(map[string]Event)
	index, op, now := rapid.Int64Range(0, 5).Draw(t, "first index"), int64(0), int64(0)
	numbers := []int64{0} // of what was invoked
	pending, noted := make(map[int64]Event), make(map[int64]bool)
	valued, named := rapid.Bool().Draw(t, "valued"), false
	dated := h.Header.Timing != "" || h.Header.TTL != 0
	for range rapid.IntRange(0, 12).Draw(t, "events") {
		index += rapid.Int64Range(1, 3).Draw(t, "index step")
		e := drawFields(t)
		e.Index = index
		e.Basis = rapid.SampledFrom(numbers).Draw(t, "basis")
		if dated = dated || e.Expires|e.Until != 0; dated {
			e.Time = max(e.Time, now)
		}
		now = max(now, e.Time)
		e.Process = rapid.SampledFrom([]string{"A", "B", "7", "é\n"}).Draw(t, "process")
		begun, busy := open[e.Process]
		switch {
		case rapid.IntRange(0, 2).Draw(t, "note") == 0:
			e.Type, e.F = Note, F(rapid.SampledFrom([]F{Grant, Served, Believe, Send, Quiet}).Draw(t, "note f"))
			if named && e.ScopeName() == "" && e.F != Send && e.F != Quiet {
				e.Scope = "s"
			}
			switch e.F {
			case Grant, Served:
				e.Token = max(e.Token, 1)
				e.Op = rapid.SampledFrom(numbers).Draw(t, "op")
				e.serve(pending)
				noted[e.Op] = true
			case Believe:
				e.Until, dated, e.Time = max(e.Until, 1), true, max(e.Time, now)
			}
		case busy:
			e.Type, e.F, e.Op = rapid.SampledFrom([]Type{OK, Fail, Info}).Draw(t, "end"), begun.F, begun.Op
			e.repeat(&begun)
			if noted[e.Op] && (e.F == Acquire || e.F == Renew) {
				e.Token, e.Lease = 0, "" // what was granted is told by the note
			}
			if e.Type == OK && e.F == Read {
				e.Value = withValue(e.Value, valued)
			}
			delete(open, e.Process)
			if e.Type != Info {
				delete(pending, e.Op)
			}
		default:
			op += rapid.Int64Range(1, 2).Draw(t, "op step")
			e.Type, e.F, e.Op = Invoke, F(rapid.IntRange(int(Acquire), int(Batch)).Draw(t, "f")), op
			if e.F == Write || e.F == CAS {
				e.Value = withValue(e.Value, valued)
			}
			if e.F == CAS {
				e.Expect = withValue(e.Expect, valued)
			}
			named = named || e.ScopeName() != ""
			open[e.Process], pending[op] = e, e
			numbers = append(numbers, op)
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// withValue returns v as a history has it in which operations have values, or
// have none.
func withValue(v Value, valued bool) Value {
	switch {
	case !valued:
		return Value{}
	case v.Kind == Absent:
		return NilValue
	}
	return v
}

// serve makes a server's note one that may serve its operation.
func (e *Event) serve(pending map[int64]Event) {
	o, open := pending[e.Op]
	if !open {
		return
	}
	e.F = Grant
	switch {
	case o.F == Release:
		e.F = Released
	case o.F == Read:
		e.F = Served
	case o.F.IsStore():
		e.F = Reject
	}
	if o.ScopeName() != "" {
		e.Resource, e.Scope = o.Resource, o.Scope
	}
	e.Lease = o.Lease
	if o.Token != 0 && e.F != Grant && e.F != Released {
		e.Token = o.Token
	}
}

// repeat makes the end of an operation say what its invoke said.
func (e *Event) repeat(invoked *Event) {
	e.Resource, e.Scope = invoked.Resource, invoked.Scope
	if e.F != Acquire && e.F != Renew && e.Token != 0 {
		e.Token = invoked.Token
	}
	if e.Type == OK && e.Value.some() {
		e.Value = invoked.Value
	}
	if e.Type == OK && e.Expect.some() {
		e.Expect = invoked.Expect
	}
}

func drawFields(t *rapid.T) Event {
	return Event{
		Time: drawInt(t, "time"), Client: drawText.Draw(t, "client"), Op: drawInt(t, "op"),
		Resource: drawText.Draw(t, "resource"), Scope: drawText.Draw(t, "scope"),
		Token: Token(drawInt(t, "token")), Highest: Token(drawInt(t, "highest")),
		Lease: drawText.Draw(t, "lease"), Owner: drawText.Draw(t, "owner"), Generation: drawInt(t, "generation"),
		Value: drawValue(t), Expect: drawValue(t), Seq: drawInt(t, "seq"), Prepared: Token(drawInt(t, "prepared")),
		Basis: drawInt(t, "basis"), Expires: drawInt(t, "expires"), Until: drawInt(t, "until"),
		Rejections: drawInt(t, "rejections"), Error: drawText.Draw(t, "error"), To: drawText.Draw(t, "to"),
		Message: drawInt(t, "message"), Copy: drawInt(t, "copy"), Text: drawText.Draw(t, "text"),
	}
}

func TestWriteThenReadIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawHistory(t)
		var file bytes.Buffer
		if err := WriteAll(&file, want); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(file.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("no JSON: %s", line)
			}
		}
		got, err := ReadAll(bytes.NewReader(file.Bytes()), "run.jsonl")
		if err != nil {
			t.Fatalf("%v\n%s", err, file.Bytes())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got)\n%s\n%s", diff, file.Bytes())
		}
	})
}

// manyEvents is n operations of three clients on three resources, with the
// store's note between invoke and ok.
func manyEvents(n int) []Event {
	events := make([]Event, 0, 3*n)
	for i := range n {
		process, resource := string(rune('A'+i%3)), fmt.Sprintf("orders/%d", i%3)
		e := Event{
			Time: int64(i) * 1000, Process: process, Type: Invoke, F: Write, Op: int64(i + 1),
			Resource: resource, Token: Token(i/100 + 1), Lease: "91cd", Value: IntValue(int64(i)),
		}
		note := e
		note.Process, note.Type, note.F, note.Highest = "store", Note, Apply, e.Token
		end := e
		end.Type = OK
		for _, e := range []Event{e, note, end} {
			e.Index = int64(len(events) + 1)
			events = append(events, e)
		}
	}
	return events
}

// Names come back event after event: a reader that allocated them each time
// would spend its time in the garbage collector.
func TestReaderAllocatesNamesOnce(t *testing.T) {
	var file bytes.Buffer
	events := manyEvents(1000)
	if err := WriteAll(&file, &History{Events: events}); err != nil {
		t.Fatal(err)
	}
	allocations := testing.AllocsPerRun(1, func() {
		r, err := NewReader(bytes.NewReader(file.Bytes()), "run.jsonl")
		var e Event
		for err == nil {
			err = r.Next(&e)
		}
		if err != io.EOF {
			t.Fatal(err)
		}
	})
	if allocations > 100 {
		t.Errorf("%v allocations for %d events", allocations, len(events))
	}
}

func BenchmarkWrite(b *testing.B) {
	events := manyEvents(1000)
	var size countingWriter
	w := NewWriter(&size, Header{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := w.Write(&events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size) / int64(i))
	b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "events/s")
}

type countingWriter int64

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

func BenchmarkRead(b *testing.B) {
	var file bytes.Buffer
	events := manyEvents(10000)
	if err := WriteAll(&file, &History{Events: events}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len() / len(events)))
	b.ReportAllocs()
	var r *Reader
	var e Event
	n := 0
	for b.Loop() {
		if n%len(events) == 0 {
			var err error
			if r, err = NewReader(bytes.NewReader(file.Bytes()), "run.jsonl"); err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Next(&e); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}
