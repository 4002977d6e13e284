package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

func viewOf(doc *Document) *view {
	for i := range doc.Runs {
		if len(doc.Runs[i].Findings) > 0 {
			f := &doc.Runs[i].Findings[0]
			h := f.History
			if h == nil {
				h = &history.History{}
			}
			return viewExcerpt(f, excerpt{history: h, total: int64(len(h.Events))})
		}
	}
	return nil
}

var drawn = map[string]func() *Document{
	"textbook": textbook, "rough": rough, "recorded": recorded,
	"timed":   func() *Document { return many(400, "timed") },
	"untimed": func() *Document { return many(2000, "untimed") },
	"bounded": func() *Document { return many(60, "bounded") },
	"hostile": func() *Document { return disguised(rough(), func(n int) string { return breakers[n%len(breakers)] }) },
}

func TestRoughGolden(t *testing.T) {
	pages, err := render(rough())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "rough.html", scrub(t, pages[0].body))
}

func TestLanesAreRecognised(t *testing.T) {
	for _, test := range []struct {
		reason string
		doc    *Document
		want   []lane
	}{
		{"servers by their notes, the store last", textbook(), []lane{{"coordinator", roleCoordinator}, {"A", roleClient}, {"B", roleClient}, {"store", roleStore}}},
		{"successive processes of a client share its lane", rough(), []lane{{"coordinator", roleCoordinator}, {"A", roleClient}, {"B", roleClient}, {"store", roleStore}}},
		{"names mean nothing", many(80, "timed"), []lane{{"lease-manager", roleCoordinator}, {"w3", roleClient}, {"w4", roleClient}, {"w5", roleClient},
			{"worker-eu-west-1a-0001", roleClient}, {"worker-eu-west-1a-0002", roleClient}, {"bucket", roleStore}}},
		{"a recorded history has clients only", recorded(), []lane{{"0", roleClient}, {"1", roleClient}}},
	} {
		if diff := cmp.Diff(test.want, viewOf(test.doc).lanes, cmp.AllowUnexported(lane{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestChooseDrawsWhatIsCited(t *testing.T) {
	for name, doc := range drawn {
		v := viewOf(doc())
		chosen := v.choose(maxBudget)
		cost := 0
		for _, pos := range chosen {
			cost += v.cost(pos)
		}
		// The smallest holes are filled beyond the budget, one each between two
		// columns, so there are fewer of them than columns.
		if cost > 2*maxBudget {
			t.Errorf("%s: the columns cost %d, the budget is %d", name, cost, maxBudget)
		}
		if !slices.IsSorted(chosen) {
			t.Errorf("%s: the columns are out of order: %v", name, chosen)
		}
		for pos := range v.cited {
			if !slices.Contains(chosen, pos) {
				t.Errorf("%s: #%d is cited and not drawn", name, v.h.Events[pos].Index)
			}
		}
	}
}

// box is a text or a shape of the drawing, as wide as the layout takes it to be.
type box struct {
	row      string
	from, to int
	text     string
}

func boxOf(row string, l *label, charW int) box {
	w := len([]rune(l.Text)) * charW
	switch l.Anchor {
	case "middle":
		return box{row, l.X - w/2, l.X + w/2, l.Text}
	case "end":
		return box{row, l.X - w, l.X, l.Text}
	}
	return box{row, l.X, l.X + w, l.Text}
}

func boxes(f *figure) []box {
	var out []box
	for i := range f.Indexes {
		out = append(out, boxOf("indexes", &f.Indexes[i], charW))
	}
	for i := range f.Times {
		out = append(out, boxOf("times", &f.Times[i], charW))
	}
	for _, g := range f.Gaps {
		if g.Elapsed != "" {
			out = append(out, box{"times", g.X, g.X + g.W, g.Elapsed})
		}
		if g.Elided != "" {
			out = append(out, boxOf("indexes", &label{X: g.X + g.W/2, Text: g.Elided, Anchor: "middle"}, charW))
		}
	}
	for _, b := range f.Badges {
		out = append(out, box{"badges", b.X - b.W/2, b.X + b.W/2, b.Text})
	}
	for _, o := range f.Ops {
		if o.Label != nil {
			out = append(out, boxOf(fmt.Sprint("operations at ", o.Y), o.Label, charW))
		}
	}
	for _, m := range f.Marks {
		if m.Note != nil {
			out = append(out, boxOf(fmt.Sprint("tokens at ", m.Y), m.Note, charW))
		}
	}
	for _, p := range f.Panels {
		for _, pt := range p.Points {
			if pt.Note != nil {
				w := charW
				if pt.Note.Class != "" {
					w = boldW
				}
				out = append(out, boxOf(fmt.Sprint("presented at ", pt.Note.Y), pt.Note, w))
			}
		}
	}
	return out
}

func TestNothingOverlapsOrIsCut(t *testing.T) {
	for name, doc := range drawn {
		f := viewOf(doc()).layout()
		all := boxes(f)
		if len(all) < 20 {
			t.Fatalf("%s: only %d texts: the test sees no drawing", name, len(all))
		}
		for i, a := range all {
			if a.from < 0 || a.to > f.Width {
				t.Errorf("%s: %q in %s is cut: %d to %d of %d", name, a.text, a.row, a.from, a.to, f.Width)
			}
			for _, b := range all[i+1:] {
				if a.row == b.row && a.from < b.to && b.from < a.to {
					t.Errorf("%s: %q and %q overlap in %s", name, a.text, b.text, a.row)
				}
			}
		}
		for _, b := range f.Bands {
			if b.Label != "" && b.LabelX+len([]rune(b.Label))*charW > b.X+b.W {
				t.Errorf("%s: the label %q does not fit its band", name, b.Label)
			}
		}
		for _, m := range f.Marks {
			if m.Y < f.LanesTop || m.Y > f.LanesBottom || m.X < 0 || m.X > f.Width {
				t.Errorf("%s: a mark is outside of the lanes: %+v", name, m)
			}
		}
		if f.Width > fits+100 {
			t.Errorf("%s: the drawing is %d wide", name, f.Width)
		}
	}
}

func TestTextbookIsDrawnAsItWas(t *testing.T) {
	v := viewOf(textbook())
	f := v.layout()
	var bands, arrows []string
	for _, b := range f.Bands {
		bands = append(bands, b.Class+" "+b.Label)
	}
	if diff := cmp.Diff([]string{"knew generation 1 · token 41", "knew generation 2 · token 42", "believed ", "tail ", "believed "}, bands); diff != "" {
		t.Errorf("bands (-want +got):\n%s", diff)
	}
	knew, believed, tail := f.Bands[0], f.Bands[2], f.Bands[3]
	if believed.X+believed.W >= knew.X+knew.W {
		t.Error("A's belief must end before the coordinator ends the lease")
	}
	pause := f.Shades[0]
	if pause.Label.Text != "paused for 35s" || pause.X >= knew.X+knew.W || pause.X+pause.W <= knew.X+knew.W {
		t.Errorf("the lease must expire during A's pause: %+v", pause)
	}
	if end := tail.X + tail.W; end <= pause.X+pause.W {
		t.Error("A acts on its lease after the pause")
	}
	for _, a := range f.Arrows {
		if a.Class != "message" {
			arrows = append(arrows, a.Class)
		}
	}
	if len(arrows) > 0 || len(f.Arrows) != 10 {
		t.Errorf("want 10 plain messages, found %d and %v", len(f.Arrows), arrows)
	}
	points := f.Panels[0].Points
	last := points[len(points)-1]
	if !last.Below || !last.Violation || last.Note == nil || last.Note.Text != "A accepted: 41 < 42" {
		t.Errorf("the late write must fall below the line: %+v", last)
	}
}

func TestRoughIsDrawnAsItWas(t *testing.T) {
	v := viewOf(rough())
	classes := map[string]int{}
	for _, f := range v.flights() {
		if f.overtaken {
			classes["late"]++
		}
		if f.dropped {
			classes["lost"]++
		}
		if f.arrived < 0 {
			classes["flying"]++
		}
	}
	if diff := cmp.Diff(map[string]int{"late": 1, "lost": 1, "flying": 1}, classes); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	var fates []string
	for _, a := range v.acceptances() {
		fates = append(fates, fmt.Sprintf("%s %s accepted=%t stale=%t greatest=%s", a.client, a.token, a.accepted, a.stale, a.greatest))
	}
	want := []string{
		"A 41 accepted=true stale=false greatest=41",
		"B 42 accepted=true stale=false greatest=41", // a read does not lift the fence
		"B 42 accepted=true stale=false greatest=42",
		"A 41 accepted=false stale=true greatest=42",
		"A 41 accepted=false stale=true greatest=42",
	}
	if diff := cmp.Diff(want, fates); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

// TestLateMessageIsLabelled checks the case of a held packet instead of a pause.
func TestLateMessageIsLabelled(t *testing.T) {
	f := viewOf(rough()).layout()
	for _, a := range f.Arrows {
		if a.Class == "late" && a.Label != nil && a.Label.Text == "12.01s in flight" {
			return
		}
	}
	t.Errorf("no arrow says how long the write was in flight: %+v", f.Arrows)
}

func TestWordsOfEvents(t *testing.T) {
	v := viewOf(rough())
	want := map[int64]string{
		1:  "A: calls acquire orders/7",
		4:  "coordinator: grants orders/7 to A, generation 1, token 41, lease a1f3, ends at 10.003s",
		6:  "A: message 2 from coordinator arrives: granted",
		8:  "A: believes that it holds orders/7, generation 1, token 41, lease a1f3, until 9.998s",
		12: "store: lifts the fence for A's raise the fence of orders/7, token 41 (its highest: 41)",
	}
	for index, words := range want {
		e := &v.h.Events[v.at[index]]
		if got := v.who(e) + ": " + v.describe(e); got != words {
			t.Errorf("#%d: want %q, found %q", index, words, got)
		}
	}
}

// TestManyLanes holds the drawing to the lanes at which something drawn happens.
func TestManyLanes(t *testing.T) {
	doc := many(4000, "timed")
	h := doc.Runs[0].Findings[0].History
	for i := range h.Events[:3000] {
		if e := &h.Events[i]; strings.HasPrefix(e.Process, "w") {
			e.Process = fmt.Sprintf("%s-%d", e.Process, i/7)
		}
	}
	f := viewOf(doc).layout()
	if len(f.Lanes) > 2*maxLanes || f.Hidden < 300 || len(f.Marks) == 0 {
		t.Errorf("found %d lanes and %d hidden", len(f.Lanes), f.Hidden)
	}
}

// TestOddHistories draws what a reader may hand over without a fault of its own.
func TestOddHistories(t *testing.T) {
	big := int64(1<<63 - 1)
	for reason, h := range map[string]*history.History{
		"no history":         nil,
		"no events":          {},
		"zero events":        {Events: make([]history.Event, 3)},
		"extreme times":      {Events: []history.Event{{Index: 1, Time: -big - 1, Process: "A", Type: history.Note, F: history.Grant, Owner: "B", Token: 1, Resource: "r", Expires: 5 * sec}, {Index: 2, Time: big, Process: "A", Type: history.Note, F: history.Pause}}},
		"time goes back":     {Events: []history.Event{{Index: 1, Time: 9, Process: "A", Type: history.Invoke, F: history.Write, Op: 1}, {Index: 2, Time: 1, Process: "A", Type: history.OK, F: history.Write, Op: 1}}},
		"ends only":          {Events: []history.Event{{Index: 1, Process: "A", Type: history.OK, F: history.Write, Op: 7, Token: 3, Resource: "r"}, {Index: 2, Process: "A", Type: history.Note, F: history.Resume}}},
		"unknown numbers":    {Events: []history.Event{{Index: 1, Process: "A", Type: 200, F: 250}, {Index: 2, Process: "A", Type: history.Invoke, F: 250, Op: 1}}},
		"messages to no one": {Events: []history.Event{{Index: 1, Process: "A", Type: history.Note, F: history.Send, Message: 1}, {Index: 2, Type: history.Note, F: history.Deliver, Message: 2, Copy: 3}}},
	} {
		doc := &Document{Format: Format, Runs: []Run{{Status: Violated, Findings: []Finding{
			{Events: []int64{1, 2, 99}, Chain: []Link{{Index: 2}, {Index: 2}, {Index: 1}, {Index: 77, Text: "nowhere"}}, History: h},
			{History: h},
		}}}}
		if _, err := render(doc); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
		f := viewOf(doc).layout()
		if f == nil {
			continue
		}
		for _, b := range f.Bands {
			if b.X < 0 || b.W < 0 || b.X+b.W > f.Width {
				t.Errorf("%s: a band lies outside of the drawing: %+v", reason, b)
			}
		}
	}
}

func TestTableSaysWhatItLeavesOut(t *testing.T) {
	v := viewOf(many(5000, "timed"))
	v.cited[0] = true
	got := v.table()
	if got.Whole || len(got.Rows) != maxRows+1 || got.Rows[0].Index != 1 || got.Rows[1].Skipped == "" {
		t.Errorf("want the cited event, what is left out, and %d rows: found %d, %+v", maxRows, len(got.Rows), got.Rows[:2])
	}
}

func TestClock(t *testing.T) {
	at := func(times ...int64) *history.History {
		h := &history.History{}
		for _, t := range times {
			h.Events = append(h.Events, history.Event{Time: t})
		}
		return h
	}
	steps := at(7)
	steps.Header.Timing = "untimed"
	ticks := at(7)
	ticks.Header.Timing = "bounded"
	for _, test := range []struct {
		reason                          string
		h                               *history.History
		time                            int64
		heading, column, instant, label string
	}{
		{"milliseconds are enough", at(3*ms, 35*sec), 35_013 * ms, "time, s", "35.013", "35.013s", "35.013s"},
		{"microseconds tell these apart", at(3_001_000), 3_001_000, "time, s", "0.003001", "0.003001s", "0.003001s"},
		{"nanoseconds only where the whole is short", at(1, 3*sec), 10_012_345_678, "time, s", "10.012345", "10.012s", "10.012s"},
		{"nanoseconds of a short history", at(1, 3), 3, "time, s", "0.000000003", "0.000000003s", "0.000000003s"},
		{"before the start", at(-5 * ms), -5 * ms, "time, s", "-0.005", "-0.005s", "-0.005s"},
		{"steps", steps, 12, "step", "12", "step 12", "12"},
		{"ticks", ticks, 12, "tick", "12", "tick 12", "12"},
		{"no time at all", at(0, 0), 0, "", "", "", ""},
	} {
		c := newClock(test.h)
		got := []string{c.heading(), c.column(test.time), c.instant(test.time), c.label(test.time)}
		if diff := cmp.Diff([]string{test.heading, test.column, test.instant, test.label}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestPlaceInAGapStaysInIt(t *testing.T) {
	d := &drawing{view: viewExcerpt(&Finding{}, excerpt{history: &history.History{}}), cols: []column{{pos: 0, left: 0, mid: 15, right: 30}, {pos: 9, left: 100, mid: 115, right: 130}}}
	for _, test := range []struct {
		reason      string
		part, whole int64
		want        int
	}{
		{"at its beginning", 0, 10, 30},
		{"half-way", 5, 10, 65},
		{"at its end", 10, 10, 100},
		{"numbers whose product does not fit", 1 << 62, 1<<63 - 1, 65},
		{"time that went back", -3, 10, 65},
		{"time that wrapped", 3, -1, 65},
		{"beyond its end", 11, 10, 65},
	} {
		got := d.between(1, func(int, int) (int64, int64) { return test.part, test.whole })
		if got != test.want && got != test.want-1 {
			t.Errorf("%s: want %d, found %d", test.reason, test.want, got)
		}
	}
}

// TestLockWithoutName: where nobody names what is locked, it is one lock, and who
// held it is drawn and told all the same.
func TestLockWithoutName(t *testing.T) {
	var s script
	add := func(client string, typ history.Type, f history.F, op int64) {
		s.add(ms, history.Event{Process: client, Type: typ, F: f, Op: op})
	}
	add("0", history.Invoke, history.Acquire, 1)
	add("0", history.OK, history.Acquire, 1)
	add("1", history.Invoke, history.Acquire, 2)
	add("1", history.OK, history.Acquire, 2)
	for i := range s.events {
		s.events[i].Resource, s.events[i].Scope = "", ""
	}
	doc := oneFinding(history.Header{}, &s, Finding{Property: "mutex", Message: "two holders", Events: []int64{2, 4}})
	var b bytes.Buffer
	if err := renderFinding(&b, doc, 0, 0, pageNames(doc)[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Who held it", "<strong>process 0</strong>: acquired at", "<strong>process 1</strong>: acquired at", ">held<", "0 and 1 held it at once"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("expected %q on the page", want)
		}
	}
}

// TestStepsAreNoTerms: where time is the number of a step, a term in nanoseconds
// ends no lease and no belief.
func TestStepsAreNoTerms(t *testing.T) {
	for timing, want := range map[string]bool{"timed": true, "bounded": true, "untimed": false} {
		s := script{}
		s.acquire("A", 1, 1, 41, "a1f3")
		s.write("A", 2, 10, 41, 41, "a1f3", history.IntValue(1))
		for i := range s.events {
			if timing != "timed" {
				s.events[i].Time = int64(i)
			}
			if s.events[i].Until != 0 {
				s.events[i].Until = 10 * sec
			}
		}
		doc := oneFinding(history.Header{Timing: timing}, &s, Finding{Property: "p", Message: "m", Events: []int64{int64(len(s.events))}})
		var b bytes.Buffer
		if err := renderFinding(&b, doc, 0, 0, pageNames(doc)[0]); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "; its holder&#39;s own deadline was "); got != want {
			t.Errorf("%s: expected a belief to end by itself: %t, found %t", timing, want, got)
		}
	}
}

// TestForgottenFence: where the store's notes name less than it had accepted, its
// own fence is drawn apart, from the restart on.
func TestForgottenFence(t *testing.T) {
	draw := func(highest history.Token, restart bool) *figure {
		var s script
		s.acquire("A", 1, 1, 41, "a1f3")
		s.acquire("B", 2, 2, 42, "b2e4")
		s.add(ms, history.Event{Process: "store", Type: history.Note, F: history.Apply, Op: 90, Resource: "orders/7", Token: 42, Highest: 42, Owner: "B"})
		if restart {
			s.add(ms, history.Event{Process: "store", Type: history.Note, F: history.Crash})
			s.add(ms, history.Event{Process: "store", Type: history.Note, F: history.Restart})
		}
		s.add(ms, history.Event{Process: "store", Type: history.Note, F: history.Apply, Op: 91, Resource: "orders/7", Token: 41, Highest: highest, Owner: "A"})
		doc := oneFinding(history.Header{}, &s, Finding{Property: "p", Message: "m", Events: []int64{int64(len(s.events))}})
		return viewOf(doc).layout()
	}
	for _, test := range []struct {
		reason  string
		highest history.Token
		restart bool
		want    bool
	}{
		{"it remembers", 42, true, false},
		{"it does not say", 0, true, false},
		{"it forgot in a crash", 41, true, true},
		{"it forgot without one", 41, false, true},
	} {
		fig := draw(test.highest, test.restart)
		p := fig.Panels[0]
		if (p.Forgotten != "") != test.want || (p.ForgotNote != nil) != test.want {
			t.Errorf("%s: found %q, %+v", test.reason, p.Forgotten, p.ForgotNote)
		}
		if test.want && p.ForgotNote.Text != "forgot 42" {
			t.Errorf("%s: found %q", test.reason, p.ForgotNote.Text)
		}
		legend := slices.ContainsFunc(fig.Legend, func(i legendItem) bool { return i.Symbol == "forgot" })
		if legend != test.want {
			t.Errorf("%s: in the legend %t", test.reason, legend)
		}
	}
}
