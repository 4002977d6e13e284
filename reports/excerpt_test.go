package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

// stream hands out a history of n events that nobody holds: one grant, and then
// writes of its holder, a pause in between.
type stream struct{ n, at int64 }

func (s *stream) Header() history.Header {
	return history.Header{Format: history.Format, Timing: "timed"}
}

func (s *stream) Next(e *history.Event) error {
	if s.at == s.n {
		return io.EOF
	}
	s.at++
	*e = history.Event{Index: s.at, Time: s.at * ms, Process: "A", Resource: "r", Type: history.Note}
	switch {
	case s.at == 3:
		e.Process, e.F, e.Owner, e.Token, e.Generation, e.Expires = "manager", history.Grant, "A", 7, 1, s.n*ms
	case s.at == 4:
		e.F, e.Token, e.Until = history.Believe, 7, s.n*ms
	case s.at == 5:
		e.Process, e.F, e.Token, e.Highest, e.Op = "store", history.Raised, 9, 9, 1
	case s.at == 6:
		*e = history.Event{Index: 6, Time: 6 * ms, Process: "B", Type: history.Note, F: history.Pause}
	case s.at%2 == 1:
		e.Type, e.F, e.Token, e.Op = history.Invoke, history.Write, 7, s.at
	default:
		e.Type, e.F, e.Token, e.Op = history.OK, history.Write, 7, s.at-1
	}
	return nil
}

func streamed(n int64, cited ...int64) *Finding {
	return &Finding{Property: "p", Message: "m", Events: cited, Open: func() (history.Source, error) { return &stream{n: n}, nil }}
}

func TestExcerpt(t *testing.T) {
	for _, test := range []struct {
		reason  string
		finding *Finding
		want    string // runs of indexes, and what is left out
	}{
		{"a short one whole", streamed(100, 50), "1-100"},
		{"round the event, and what it rests on", streamed(5000, 3000), "(2)3-6(2963)2970-3010(1990)"},
		{"two windows", streamed(5000, 1000, 3000), "(2)3-6(978)985-1005(1979)2985-3005(1995)"},
		{"the second window rests on what the first one has", streamed(5000, 10, 3000), "1-15(2969)2985-3005(1995)"},
		{"windows that touch are one", streamed(5000, 3000, 3010), "(2)3-6(2978)2985-3015(1985)"},
		{"one at the beginning", streamed(5000, 2), "1-12(4988)"},
		{"one at the end", streamed(5000, 5000), "(2)3-6(4963)4970-5000"},
		{"one that does not exist: the end", streamed(5000, 9999), "(2)3-6(4964)4971-5000"},
		{"none: the end", streamed(5000), "(2)3-6(4964)4971-5000"},
	} {
		x, err := test.finding.excerpt(200, 40)
		if err != nil {
			t.Fatal(err)
		}
		if got := runsOf(x); got != test.want {
			t.Errorf("%s: want %s, found %s", test.reason, test.want, got)
		}
		v := viewExcerpt(test.finding, x)
		if n := v.between(-1, len(v.h.Events)); int64(n) != x.total {
			t.Errorf("%s: the events and the holes add up to %d of %d", test.reason, n, x.total)
		}
	}
}

// runsOf writes an excerpt as runs of indexes, with the sizes of its holes.
func runsOf(x excerpt) string {
	var b strings.Builder
	holes := map[int]int64{}
	for _, h := range x.gaps {
		holes[h.Before] = h.Events
	}
	from := 0
	for i := 0; i <= len(x.history.Events); i++ {
		n, hole := holes[i]
		if i < len(x.history.Events) && !hole {
			continue
		}
		if i > from {
			fmt.Fprintf(&b, "%d-%d", x.history.Events[from].Index, x.history.Events[i-1].Index)
		}
		if hole {
			fmt.Fprintf(&b, "(%d)", n)
		}
		from = i
	}
	return b.String()
}

func TestExcerptErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	opened := 0
	for reason, open := range map[string]func() (history.Source, error){
		"cannot be opened": func() (history.Source, error) { return nil, broken },
		"cannot be read":   func() (history.Source, error) { return &failing{&stream{n: 10}, broken}, nil },
		"cannot be read again": func() (history.Source, error) {
			if opened++; opened > 1 {
				return nil, broken
			}
			return &stream{n: int64(maxWhole) + 1}, nil
		},
	} {
		doc := &Document{Format: Format, Runs: []Run{{Status: Violated, Findings: []Finding{{Open: open}}}}}
		if err := Write(t.TempDir(), doc); !errors.Is(err, broken) {
			t.Errorf("a history that %s: want the error of the source, found %v", reason, err)
		}
	}
}

type failing struct {
	*stream
	err error
}

func (f *failing) Next(e *history.Event) error {
	if f.at == 5 {
		return f.err
	}
	return f.stream.Next(e)
}

// TestMillionEvents holds a page of a very long history to bounded memory and
// size, and to saying which windows it shows.
func TestMillionEvents(t *testing.T) {
	const n = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := streamed(n, 600_000)
	x, err := f.excerpt(20_000, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("an excerpt of %d events holds %d MB", len(x.history.Events), grown>>20)
	}
	if len(x.history.Events) > 10_100 || x.total != n {
		t.Errorf("found %d events of %d", len(x.history.Events), x.total)
	}
	var page bytes.Buffer
	if err := renderView(&page, &Document{}, &Run{}, viewExcerpt(f, x), nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Of 1,000,000 events this page holds 10,005", "the windows #592500 to #602500, round", "and 4 events outside of them", "300 of 1,000,000 events"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page should say %q, found %q", want, regexp.MustCompile(`Of [0-9,]+ events[^<]*`).FindString(page.String()))
		}
	}
	if page.Len() > 1<<20 {
		t.Errorf("the page has %d bytes", page.Len())
	}
}

// TestPagesDoNotGrowWithTheHistory counts the bytes that are allocated for the
// page of a history that only Open gives: four times as many events take no more.
func TestPagesDoNotGrowWithTheHistory(t *testing.T) {
	page := func(n int64) int64 {
		f := streamed(n, n*6/10)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x, err := f.excerpt(20_000, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if err := renderView(io.Discard, &Document{}, &Run{}, viewExcerpt(f, x), nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	page(100_000) // what is made once
	few, many := page(100_000), page(400_000)
	t.Logf("%d KB for 100,000 events, %d KB for 400,000", few>>10, many>>10)
	if many > few+few/10+1<<20 {
		t.Errorf("the page of 400,000 events takes %d KB, that of 100,000 %d KB", many>>10, few>>10)
	}
}

// TestExcerptHoldsNoMoreThanItShows: a history that proves too long to be shown
// whole is not kept up to there.
func TestExcerptHoldsNoMoreThanItShows(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := streamed(200_000, 150_000).excerpt(190_000, 1_000); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if kb := (after.TotalAlloc - before.TotalAlloc) >> 10; kb > 4096 {
		t.Errorf("windows of 1,000 events of 200,000 take %d KB", kb)
	}
}

func TestParts(t *testing.T) {
	for _, test := range []struct {
		text, shape string
		numbers     []int64
	}{
		{"", "", nil},
		{"no number", "no number", nil},
		{"message 7 to B", "message \x01 to B", []int64{7}},
		{"10.005s", "\x01.00\x01s", []int64{10, 5}},
		{"0", "\x01", []int64{0}},
		{"00", "0\x01", []int64{0}},
		{"-3", "-\x01", []int64{3}},
		{"999999999999999", "\x01", []int64{999999999999999}},
		{"9223372036854775807", "9223372036854775807", nil},
		{"a1f3", "a\x01f\x01", []int64{1, 3}},
	} {
		shape, numbers := parts(test.text)
		if shape != test.shape || !cmp.Equal(numbers, test.numbers) {
			t.Errorf("%q: want %q %v, found %q %v", test.text, test.shape, test.numbers, shape, numbers)
		}
	}
}

// untold writes out what texts has packed, as the script does.
func (t *texts) untold() []string {
	last, n := map[int][]int64{}, 0
	var out []string
	for _, shape := range t.Shape {
		pieces := strings.Split(t.strings.list[shape], string(rune(blank)))
		if last[shape] == nil {
			last[shape] = make([]int64, len(pieces))
		}
		s := pieces[0]
		for i, p := range pieces[1:] {
			last[shape][i] += t.Numbers[n]
			n++
			s += fmt.Sprint(last[shape][i]) + p
		}
		out = append(out, s)
	}
	return out
}

func TestTextsComeBack(t *testing.T) {
	want := []string{"message 7 to B", "message 9 to B", "", "message 8 to B", "ends at 10.005s", "ends at 9.5s", "00012", "a\uFFFDb 3"}
	packed := newTexts(newInterner())
	for _, s := range want {
		packed.add(strings.ReplaceAll(s, "\uFFFD", "\x01"))
	}
	if diff := cmp.Diff(want, packed.untold()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPayload holds the columns to their lengths, for every history that is
// drawn: a script cannot say what is missing.
func TestPayload(t *testing.T) {
	for name, doc := range drawn {
		v := viewOf(doc())
		text, err := v.pack()
		if err != nil {
			t.Fatal(err)
		}
		var p payload
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&p); err != nil {
			t.Fatal(err)
		}
		n := len(v.h.Events)
		for what, got := range map[string]int{"time": len(p.Events.Time), "lane": len(p.Events.Lane), "words": len(p.Events.Words.Shape), "change": len(p.Events.Change.Shape), "state": len(p.Events.State)} {
			if got != n {
				t.Errorf("%s: want %d of %s, found %d", name, n, what, got)
			}
		}
		for i, s := range p.Events.State {
			if s >= len(p.States.Scope) {
				t.Errorf("%s: event %d has state %d of %d", name, i, s, len(p.States.Scope))
			}
		}
		for _, c := range []spanColumns{p.Ops, p.Messages, p.Shades} {
			for i := range c.From {
				if c.From[i] < 0 || c.From[i] >= n || c.To[i] >= n || c.Lane[i] >= len(p.Lanes) || c.Other[i] >= len(p.Lanes) {
					t.Errorf("%s: a span lies outside: %d to %d in lane %d", name, c.From[i], c.To[i], c.Lane[i])
				}
			}
		}
	}
}

// TestFold tells the textbook case as the page does beside an event.
func TestFold(t *testing.T) {
	v := viewOf(textbook())
	f := newFold(v)
	changes := map[int64]string{}
	var last state
	for pos := range v.h.Events {
		var change string
		last, change = f.next(pos)
		if change != "" {
			changes[v.h.Events[pos].Index] = change
		}
	}
	want := map[int64]string{
		4:  "owner nobody becomes A under lease a1f3; token of the lease becomes 41",
		12: "highest accepted token none becomes 41; value becomes 9",
		17: "owner A becomes nobody",
		21: "owner nobody becomes B under lease 91cd; token of the lease becomes 42",
		29: "highest accepted token 41 becomes 42; value 9 becomes 20",
		37: "value 20 becomes 10; although token 42 was accepted before",
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last.owner != "B" || last.highest != 42 || last.generation != 2 || last.rejections != 0 {
		t.Errorf("found %+v at the end", last)
	}
}

// TestExcerptKeepsWhatIsNamed: windows round a late write have, however old, the
// grant and the end of the lease that it was prepared under, and its beginning.
func TestExcerptKeepsWhatIsNamed(t *testing.T) {
	var events []history.Event
	add := func(e history.Event) int64 {
		e.Index, e.Resource = int64(len(events)+1), "r"
		events = append(events, e)
		return e.Index
	}
	var want []int64
	want = append(want, add(history.Event{Process: "L", Type: history.Note, F: history.Grant, Owner: "A", Token: 1, Lease: "a"}))
	want = append(want, add(history.Event{Process: "A", Type: history.Invoke, F: history.Write, Op: 7, Token: 1, Lease: "a"}))
	want = append(want, add(history.Event{Process: "L", Type: history.Note, F: history.Expire, Owner: "A", Token: 1, Lease: "a"}))
	for token := history.Token(2); token < 2000; token++ {
		add(history.Event{Process: "L", Type: history.Note, F: history.Grant, Owner: "B", Token: token, Lease: "b"})
		add(history.Event{Process: "L", Type: history.Note, F: history.Expire, Owner: "B", Token: token, Lease: "b"})
	}
	late := add(history.Event{Process: "store", Type: history.Note, F: history.Apply, Op: 7, Token: 1, Lease: "a", Highest: 1999})
	f := &Finding{Events: []int64{late}, Open: func() (history.Source, error) { return &replay{h: &history.History{Events: events}}, nil }}
	x, err := f.excerpt(100, 40)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, e := range x.history.Events[:3] {
		got = append(got, e.Index)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(x.history.Events) > 45 {
		t.Errorf("of %d events, the first (-want +got):\n%s", len(x.history.Events), diff)
	}
}
