package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

// passing is the textbook run without the pause: A writes in time.
func passing() Side {
	var s script
	s.acquire("A", 1, 1, 41, "a1f3")
	s.write("A", 2, 3, 41, 41, "a1f3", history.IntValue(9))
	s.write("A", 5, 5, 41, 41, "a1f3", history.IntValue(10))
	s.add(10*sec-6*ms, history.Event{Process: "coordinator", F: history.Expire, Token: 41, Lease: "a1f3", Owner: "A", Generation: 1})
	s.acquire("B", 3, 7, 42, "91cd")
	s.write("B", 4, 9, 42, 42, "91cd", history.IntValue(20))
	return Side{Name: "the nearest passing run", Status: Satisfied, Finding: Finding{Replay: "staleproof replay sp1:AAAA", History: &history.History{Header: history.Header{Timing: "timed"}, Events: s.events}}}
}

func failingSide() Side {
	return Side{Name: "the failing run", Status: Violated, Finding: textbook().Runs[1].Findings[0]}
}

func TestDiffGolden(t *testing.T) {
	dir := t.TempDir()
	if err := WriteDiff(dir, failingSide(), passing()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "diff.html"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "diff.html", scrub(t, got))
	if again, err := renderDiff(failingSide(), passing()); err != nil || string(again) != string(got) {
		t.Errorf("the same runs gave other bytes (%v)", err)
	}
}

func TestDiffAligns(t *testing.T) {
	a, b := failingSide(), passing()
	d := newDiff(&a, &b)
	if d.Shared != 15 || d.Same || d.Rows[maxShared].Part == false {
		t.Errorf("the runs share the first 15 events, found %d, same %t", d.Shared, d.Same)
	}
	var left, right, both, folded int
	seen := map[string]bool{}
	for _, r := range d.Rows {
		switch {
		case r.Shared:
		case r.LeftOut > 0:
			both += r.LeftOut
			folded += r.LeftOut
		case r.Both:
			both++
			if r.Left.Who+r.Left.What == "" || r.Left.Who != r.Right.Who {
				t.Errorf("a row has %q beside %q", r.Left.Who, r.Right.Who)
			}
		}
		if r.Left != nil {
			left++
			seen["a"+r.Left.Index] = true
		}
		if r.Right != nil {
			right++
			seen["b"+r.Right.Index] = true
		}
	}
	// B's acquisition and write, and A's write of 10, are in both, but in another
	// order: B's eighteen events stay level.
	if both < 16 {
		t.Errorf("expected B's part of the runs level, found %d rows", both)
	}
	told := len(seen) + 2*folded + d.Sides[0].More + d.Sides[1].More
	if want := len(a.Finding.History.Events) - d.Before + len(b.Finding.History.Events) - d.Shared; told != want {
		t.Errorf("expected each of %d events once, found %d", want, told)
	}
	ends := map[string]string{}
	for _, e := range d.Ends {
		ends[e.What] = e.Left + " " + e.Right
	}
	want := map[string]string{"highest accepted token of orders/7": "42 42", "rejections of orders/7": "0 0", "acquisitions of orders/7": "2 2", "owner of orders/7": "B B", "last value of orders/7": "10 20"}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffOfOddRuns(t *testing.T) {
	a := failingSide()
	empty := Side{Name: "nothing", Status: Satisfied, Finding: Finding{History: &history.History{}}}
	for _, test := range []struct {
		reason string
		a, b   Side
		want   string
	}{
		{"a run beside itself", a, a, "The runs are the same"},
		{"beside nothing", a, empty, "The runs part at once"},
		{"nothing twice", empty, empty, "The runs are the same"},
	} {
		body, err := renderDiff(test.a, test.b)
		if err != nil || !strings.Contains(string(body), test.want) {
			t.Errorf("%s: the page should say %q (%v)", test.reason, test.want, err)
		}
	}
	if err := WriteDiff(t.TempDir(), a, Side{Name: "b"}); err == nil || !strings.Contains(err.Error(), "expected a history of b") {
		t.Errorf("want an error that asks for a history, found %v", err)
	}
}

func TestDiffPartsAtAnyField(t *testing.T) {
	a, b := failingSide(), failingSide()
	b.Finding.History.Events[8].Value = history.IntValue(77)
	d := newDiff(&a, &b)
	if d.Shared != 8 || d.Sides[1].First == "" {
		t.Errorf("the runs differ at the ninth event, by its value: found %d shared", d.Shared)
	}
}

func TestTenures(t *testing.T) {
	doc := textbook()
	h := doc.Runs[1].Findings[0].History
	last := h.Events[len(h.Events)-1]
	h.Events = append(h.Events, history.Event{Index: last.Index + 1, Time: last.Time + 1, Process: "coordinator", Type: history.Note, F: history.Grant, Owner: "C", Resource: "orders/7", Token: 43, Lease: "0000", Generation: 3})
	want := tenures{Scope: "orders/7", Deadlines: true, List: []tenure{
		{Token: "41", Holder: "A", Generation: 1, Granted: "granted at 0.003s", Ended: "expired at 10.004s", Deadline: ownDeadline + "9.998s", Went: "write 10 at 35.012s", Href: "#e34"},
		{Token: "42", Holder: "B", Generation: 2, Granted: "granted at 10.007s", Ended: "ran out at 20.007s", Deadline: ownDeadline + "20.002s"},
	}}
	got := viewOf(doc).tenures()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := viewOf(many(3000, "timed")).tenures(); got.More == 0 || len(got.List) == 0 || len(got.List) > maxLeases {
		t.Errorf("of many leases %d are listed and %d counted", len(got.List), got.More)
	}
	if got := viewOf(recorded()).tenures(); len(got.List) == 0 || got.List[0].Ended != "not released by then" || got.List[0].Deadline != "" {
		t.Errorf("without notes the clients' own view is told, without the coordinator's: %+v", got)
	}
}

// TestPart tells where two runs part, also where one has ended or neither differs.
func TestPart(t *testing.T) {
	whole := textbook().Runs[1].Findings[0]
	h := *whole.History
	h.Events = h.Events[:5]
	short := Finding{History: &h}
	for _, c := range []struct {
		reason string
		a, b   Finding
		want   Parting
	}{
		{"the same run", short, short, Parting{Shared: 5, Same: true}},
		{"one ends earlier", whole, short, Parting{Shared: 5, A: sideView(&Side{Finding: whole}).title(5)}},
		{"and the other way round", short, whole, Parting{Shared: 5, B: sideView(&Side{Finding: whole}).title(5)}},
	} {
		got, err := Part(Side{Finding: c.a}, Side{Finding: c.b})
		if err != nil || got != c.want {
			t.Errorf("%s: expected %+v, found %+v, %v", c.reason, c.want, got, err)
		}
	}
	if _, err := Part(Side{Finding: whole}, Side{Name: "the other"}); err == nil || !strings.Contains(err.Error(), "expected a history of the other") {
		t.Errorf("expected an error that names the run without a history, found %v", err)
	}
}

// TestTenuresOfClientsAlone: how long a lock was held that nobody but its clients
// tells of.
func TestTenuresOfClientsAlone(t *testing.T) {
	for _, test := range []struct {
		reason string
		end    history.Type // of the release; 0 is none asked for
		failed string
		want   string
	}{
		{"never released", 0, "", "not released by then"},
		{"released", history.OK, "", "asked to release it at 0.003s"},
		{"of a release without an answer", history.Info, "timeout", "asked to release it at 0.003s"},
		{"refused", history.Fail, "not found", "asked to release it at 0.003s, refused at 0.004s"},
	} {
		var s script
		s.add(ms, history.Event{Process: "7", Type: history.Invoke, F: history.Acquire, Op: 1})
		s.add(ms, history.Event{Process: "7", Type: history.OK, F: history.Acquire, Op: 1})
		s.add(ms, history.Event{Process: "7", Type: history.Invoke, F: history.Release, Op: 2})
		s.add(ms, history.Event{Process: "7", Type: test.end, F: history.Release, Op: 2, Error: test.failed})
		s.add(2000*ms, history.Event{Process: "8", Type: history.Invoke, F: history.Acquire, Op: 3})
		s.add(ms, history.Event{Process: "8", Type: history.OK, F: history.Acquire, Op: 3})
		if test.end == 0 {
			s.events = append(s.events[:2], s.events[4:]...)
		}
		last := s.events[len(s.events)-1].Index
		got := viewOf(oneFinding(history.Header{}, &s, Finding{Property: "mutex", Message: "m", Events: []int64{last}})).tenures()
		if len(got.List) != 2 || got.List[0].Holder != "process 7" || got.List[0].Granted != "acquired at 0.002s" || got.List[0].Ended != test.want || got.Deadlines {
			t.Errorf("%s: want %q, found %+v", test.reason, test.want, got)
		}
	}
}

// TestHoldsWithoutTokens: of a lock without tokens nothing is done under a hold,
// and the next acquisition of its holder is no sign that it went on.
func TestHoldsWithoutTokens(t *testing.T) {
	for _, token := range []history.Token{0, 5} {
		var s script
		do := func(who string, f history.F, op int64) {
			s.add(ms, history.Event{Process: who, Type: history.Invoke, F: f, Op: op, Token: token})
			s.add(ms, history.Event{Process: who, Type: history.OK, F: f, Op: op, Token: token})
		}
		do("1", history.Acquire, 1)
		do("1", history.Release, 2)
		do("1", history.Acquire, 3)
		do("2", history.Acquire, 4)
		f := Finding{Property: "mutex", Message: "m", Events: []int64{2, 5, 6, 8}}
		for _, tenure := range viewOf(oneFinding(history.Header{}, &s, f)).tenures().List {
			if strings.Contains(tenure.Went, "acquire") {
				t.Errorf("token %d: an acquisition is nothing done under a hold, found %+v", token, tenure)
			}
		}
	}
}

// TestEndsInHoles: what a page leaves out did not fail to happen.
func TestEndsInHoles(t *testing.T) {
	for _, test := range []struct {
		reason string
		holes  []Hole
		token  history.Token // of the release that is seen
		end    history.Type  // of it: an end without its beginning
		want   string
	}{
		{"a whole history without a release", nil, 0, 0, "acquired anew at 0.005s"},
		{"its release was cut", []Hole{{2, 9}}, 0, 0, "no end of it in these windows"},
		{"a hole before it cuts nothing of it", []Hole{{1, 9}}, 0, 0, "acquired anew at 0.005s"},
		{"nor does one after it", []Hole{{4, 9}}, 0, 0, "acquired anew at 0.005s"},
		{"the beginning of its release was cut", []Hole{{2, 9}}, 5, history.OK, "released at 0.003s"},
		{"that release is another hold's", []Hole{{2, 9}}, 4, history.OK, "no end of it in these windows"},
	} {
		var s script
		s.add(ms, history.Event{Process: "7", Type: history.Invoke, F: history.Acquire, Op: 1})
		s.add(ms, history.Event{Process: "7", Type: history.OK, F: history.Acquire, Op: 1, Token: 5})
		if test.end != 0 {
			s.add(ms, history.Event{Process: "7", Type: test.end, F: history.Release, Op: 2, Token: test.token})
			s.now -= ms
		}
		s.add(2*ms, history.Event{Process: "7", Type: history.Invoke, F: history.Acquire, Op: 3})
		s.add(ms, history.Event{Process: "7", Type: history.OK, F: history.Acquire, Op: 3, Token: 6})
		f := Finding{Property: "mutex", Message: "m", Events: []int64{s.events[len(s.events)-1].Index}, History: &history.History{Events: s.events}}
		v := viewExcerpt(&f, excerpt{history: f.History, total: 100, gaps: test.holes})
		if got := v.tenures(); len(got.List) != 2 || got.List[0].Ended != test.want || got.Windows != (test.holes != nil) {
			t.Errorf("%s: want %q, found %+v", test.reason, test.want, got)
		}
	}
	var s script
	s.add(ms, history.Event{Process: "coordinator", F: history.Grant, Owner: "A", Token: 5})
	s.add(ms, history.Event{Process: "coordinator", F: history.Grant, Owner: "B", Token: 6})
	s.add(ms, history.Event{Process: "store", F: history.Apply, Token: 6})
	f := Finding{Property: "p", Message: "m", Events: []int64{3}, History: &history.History{Events: s.events}}
	got := viewExcerpt(&f, excerpt{history: f.History, total: 100, gaps: []Hole{{2, 9}}}).tenures().List
	if len(got) != 2 || got[0].Ended != noEnd || got[1].Ended != "still in force at the violation" {
		t.Errorf("expected that of the leases only the one that the finding names has no end in the hole, found %+v", got)
	}
}

// TestTwoAtOnce: how long two held a lock, as far as its clients tell.
func TestTwoAtOnce(t *testing.T) {
	for _, test := range []struct {
		reason string
		end    history.Type // of the release that the first holder asks for before the other acquires
		late   bool         // it asks only then
		want   string
	}{
		{"refused", history.Fail, false, "Two held it at once from #4 to #5, for 2ms."},
		{"released too late", history.OK, true, "Two held it at once from #4 to #5, for 2ms."},
		{"released while the other acquired it: by the operations alone it may have been free", history.OK, false, ""},
	} {
		var s script
		asks := func() {
			s.add(2*ms, history.Event{Process: "7", Type: history.Invoke, F: history.Release, Op: 2})
		}
		s.add(ms, history.Event{Process: "7", Type: history.Invoke, F: history.Acquire, Op: 1})
		s.add(ms, history.Event{Process: "7", Type: history.OK, F: history.Acquire, Op: 1})
		if !test.late {
			asks()
		} else {
			s.add(ms, history.Event{Process: "8", Type: history.Invoke, F: history.Acquire, Op: 3})
		}
		s.add(ms, history.Event{Process: "8", Type: history.OK, F: history.Acquire, Op: 3})
		if test.late {
			asks()
		}
		s.add(2*ms, history.Event{Process: "7", Type: test.end, F: history.Release, Op: 2})
		f := Finding{Property: "mutex", Message: "m", Events: []int64{2, 4, s.events[len(s.events)-1].Index}, At: 4}
		got := viewOf(oneFinding(history.Header{}, &s, f)).tenures()
		if got.Both != test.want || !got.Alone {
			t.Errorf("%s: expected %q of a lock alone, found %+v", test.reason, test.want, got)
		}
	}
}
