package reports

import (
	"bytes"
	"strings"
	"testing"

	"staleproof/model/history"
)

// TestPartial tells how far porcupine got: the end of the order, and what is
// left over of what it judged, which no acquisition is.
func TestPartial(t *testing.T) {
	doc := recorded()
	f := &doc.Runs[0].Findings[0]
	var order []int64
	for op := int64(1); op <= 62; op++ {
		order = append(order, op)
	}
	f.Partial = [][]int64{order, {1, 99}}
	var b bytes.Buffer
	if err := renderFinding(&b, doc, 0, 0, pageNames(doc)[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"62 operations in order, 1 left over", `<ol class="order" start="23">`, `<a href="#e123">1</a> write &#34;second&#34; to orders/7, token 8`,
		`<a href="#e125">0</a> write &#34;late&#34; to orders/7, token 7`, "2 operations in order, 61 left over", "operation 99", "and 21 more",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page should say %q", want)
		}
	}
	f.Partial = nil
	b.Reset()
	if err := renderFinding(&b, doc, 0, 0, pageNames(doc)[0]); err != nil || strings.Contains(b.String(), "How far an explanation gets") {
		t.Errorf("without partial linearizations there is nothing to tell (%v)", err)
	}
}

// TestLeftOverWasJudged: only what stands under the violation's fence, or on its
// register, can be left over.
func TestLeftOverWasJudged(t *testing.T) {
	for _, test := range []struct {
		reason, property, scopes string
		want                     int
	}{
		{"one scope", "linearizable", "", 2},
		{"one fence for all scopes", "linearizable", "global", 3},
		{"one register of the scope", "register", "", 1},
	} {
		var s script
		do := func(f history.F, resource, scope string) {
			op := int64(len(s.events)/2 + 1)
			s.add(ms, history.Event{Process: "7", Type: history.Invoke, F: f, Op: op, Resource: resource, Scope: scope})
			s.add(ms, history.Event{Process: "7", Type: history.OK, F: f, Op: op, Resource: resource, Scope: scope})
		}
		do(history.Acquire, "a", "one")
		do(history.Write, "c", "two")
		do(history.Write, "b", "one")
		do(history.Write, "a", "one")
		f := Finding{Property: test.property, Message: "m", Events: []int64{8}}
		if left, _ := viewOf(oneFinding(history.Header{Scopes: test.scopes}, &s, f)).leftOver(nil); len(left) != test.want {
			t.Errorf("%s: expected %d operations left over, found %v", test.reason, test.want, left)
		}
	}
}
