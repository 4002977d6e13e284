package reports

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

// breakers are texts that would break out of some place of a page.
var breakers = []string{
	`"><script>alert(1)</script>`,
	`' onmouseover='alert(1)' x='`,
	`</title></style></svg></table><img src=x onerror=alert(1)>`,
	`javascript:alert(1)//`,
	`--><!--]]><![CDATA[`,
	"`${alert(1)}` {{.}} &lt;b&gt;",
	"a\x00b\xff\u2028\u202e\x1b[31m\r\n\tz",
	`url(//evil.example/x);}*{background:red`,
}

// disguised puts text into every field of a history and a document that comes
// from outside. Lengths count for the layout, so a harmless text of the same
// length gives the same page but for its words.
func disguised(doc *Document, text func(n int) string) *Document {
	name := func(s string) string {
		if s == "" {
			return ""
		}
		return text(len(s)) + s
	}
	doc.Title, doc.Version = text(0), text(1)
	for i := range doc.Runs {
		r := &doc.Runs[i]
		r.Scenario, r.Doc, r.Reason = text(2), text(3), text(4)
		if r.Defect != "" {
			r.Defect = text(5)
		}
		r.Params = []KeyValue{{text(6), text(7)}}
		r.Sometimes = []Count{{text(0), 0}, {text(1), 3}}
		r.Breaks, r.Broken = []string{text(2)}, []string{text(3)}
		for j := range r.Findings {
			f := &r.Findings[j]
			f.Property, f.Guarantee, f.Message, f.Replay = text(4), text(5), text(6), text(7)
			f.Decisions = []string{text(0), text(1)}
			for k := range f.Chain {
				f.Chain[k].Text = text(k)
			}
			f.History.Header.Scenario = text(0)
			for k := range f.History.Events {
				e := &f.History.Events[k]
				e.Process, e.Client, e.Owner, e.To = name(e.Process), name(e.Client), name(e.Owner), name(e.To)
				if e.Resource != "" {
					e.Resource = text(4) + "r"
				}
				e.Lease = text(5) + e.Lease
				if e.Error != history.Stale {
					e.Error = text(6)
				}
				e.Text = text(7)
				e.Value = history.TextValue(text(k % 8))
			}
		}
	}
	return doc
}

// skeleton lists the tags of a page with the names of their attributes, and the
// addresses that it links to.
func skeleton(t *testing.T, body []byte) (tags, links []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(withoutScript(t, body)))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return tags, links
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			tag := tok.Name.Local
			for _, a := range tok.Attr {
				tag += " " + a.Name.Local
				if a.Name.Local == "href" || a.Name.Local == "src" {
					links = append(links, a.Value)
				}
			}
			tags = append(tags, tag)
		case xml.Comment:
			tags = append(tags, "<!--")
		}
	}
}

// withoutScript cuts out the program's own script, to the letter and once.
func withoutScript(t *testing.T, body []byte) []byte {
	t.Helper()
	script, err := js()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(body, []byte("<script>"+script+"</script>"), nil, 1)
}

func TestEverythingIsEscaped(t *testing.T) {
	plain := func(n int) string {
		return strings.Repeat("x", utf8.RuneCountInString(breakers[n%len(breakers)]))
	}
	for n := range 2 * len(breakers) {
		shift, base := n/2, textbook
		if n%2 == 1 {
			base = rough
		}
		hostile, err := render(disguised(base(), func(n int) string { return breakers[(n+shift)%len(breakers)] }))
		if err != nil {
			t.Fatal(err)
		}
		harmless, err := render(disguised(base(), func(n int) string { return plain(n + shift) }))
		if err != nil {
			t.Fatal(err)
		}
		for i := range hostile {
			want, _ := skeleton(t, harmless[i].body)
			got, links := skeleton(t, hostile[i].body)
			if len(want) < 50 {
				t.Fatalf("%s has only %d tags: the test sees no page", hostile[i].name, len(want))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("a text from the history changed the tags of %s (-harmless +hostile):\n%s", hostile[i].name, diff)
			}
			for _, l := range links {
				if !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "run-") && !strings.HasPrefix(l, "scenario-") && l != "index.html" {
					t.Errorf("%s links to %q", hostile[i].name, l)
				}
			}
		}
	}
}

// TestPagesAskForNothing holds pages to be self-contained: no script but the one
// of the program, no style attribute that a content policy would drop, no
// address outside.
func TestPagesAskForNothing(t *testing.T) {
	for _, doc := range []*Document{textbook(), rough(), recorded(), suite()} {
		pages, err := render(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			body := withoutScript(t, p.body)
			body = bytes.Replace(body, []byte(`<script type="application/octet-stream" id="packed">`), nil, 1)
			for _, banned := range []string{"<script", "http:", "https:", "@import", "<link", "<iframe", "url(http", " style=", " on" + "click", "ZgotmplZ"} {
				if bytes.Contains(body, []byte(banned)) {
					t.Errorf("%s contains %q", p.name, banned)
				}
			}
		}
	}
}

// TestDiffIsEscaped holds the page of two runs to the same.
func TestDiffIsEscaped(t *testing.T) {
	side := func(text func(n int) string) Side {
		doc := disguised(textbook(), text)
		return Side{Name: text(3), Status: Violated, Finding: doc.Runs[1].Findings[0]}
	}
	page := func(shift int, text func(n int) string) []byte {
		body, err := renderDiff(side(text), side(func(n int) string { return text(n + shift) }))
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	for shift := range breakers {
		hostile := page(shift, func(n int) string { return breakers[n%len(breakers)] })
		harmless := page(shift, func(n int) string {
			return strings.Repeat(string(rune('a'+n%len(breakers))), utf8.RuneCountInString(breakers[n%len(breakers)]))
		})
		want, _ := skeleton(t, harmless)
		got, _ := skeleton(t, hostile)
		if len(want) < 50 {
			t.Fatalf("the page has only %d tags: the test sees no page", len(want))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a text from the history changed the tags (-harmless +hostile):\n%s", diff)
		}
	}
}
