package reports

import (
	"bytes"
	"strings"
	"testing"
)

// TestPartial tells how far porcupine got: the end of the order, and what is
// left over.
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
		`<a href="#e125">0</a> write &#34;late&#34; to orders/7, token 7`, "2 operations in order, 62 left over", "operation 99", "and 22 more",
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
