package reports

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDocumentRoundTrip(t *testing.T) {
	for name, doc := range map[string]*Document{"textbook": textbook(), "suite": suite(), "recorded": recorded(), "rough": rough(), "empty": {Format: Format}} {
		var b bytes.Buffer
		if err := Encode(&b, doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Valid("document", b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := Decode(bytes.NewReader(b.Bytes()), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(doc, got, cmpopts.IgnoreFields(Finding{}, "Open")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEncodeWhatIsOpened: a history that only Open gives is in the file as its
// page shows it, so that the page made of the file is the same.
func TestEncodeWhatIsOpened(t *testing.T) {
	defer func(whole, windows int) { maxWhole, maxWindows = whole, windows }(maxWhole, maxWindows)
	maxWhole, maxWindows = 500, 200
	for _, test := range []struct {
		reason string
		events int64
		whole  bool
	}{{"a short one whole", 500, true}, {"a long one in windows", 501, false}} {
		doc := &Document{Format: Format, Runs: []Run{{Scenario: "long.jsonl", Status: Violated, Findings: []Finding{*streamed(test.events, test.events*6/10)}}}}
		var b, direct, again bytes.Buffer
		if err := Encode(&b, doc); err != nil {
			t.Fatal(err)
		}
		if err := Valid("document", b.Bytes()); err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		if doc.Runs[0].Findings[0].History != nil {
			t.Errorf("%s: Encode should leave the document as it was", test.reason)
		}
		got, err := Decode(&b, "r.json")
		if err != nil {
			t.Fatal(err)
		}
		if f := &got.Runs[0].Findings[0]; f.History == nil || (f.Total == 0) != test.whole {
			t.Fatalf("%s: found a history %t, %d events in all", test.reason, f.History != nil, f.Total)
		}
		if err := renderFinding(&direct, doc, 0, 0, pageNames(doc)[0]); err != nil {
			t.Fatal(err)
		}
		if err := renderFinding(&again, got, 0, 0, pageNames(got)[0]); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(direct.Bytes(), again.Bytes()) {
			t.Errorf("%s: the page made of the file differs", test.reason)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, test := range []struct{ reason, text, want string }{
		{"nothing", "", "r.json: expected a report in JSON"},
		{"another format", `{"format":"staleproof.report/9","runs":[]}`, `found "staleproof.report/9"`},
		{"an unknown field", `{"format":"staleproof.report/1","runs":[],"rums":1}`, `unknown field "rums"`},
		{"an unknown field of a finding", `{"format":"staleproof.report/1","runs":[{"status":"violated","findings":[{"propperty":"p"}]}]}`, `unknown field "propperty"`},
		{"a history that breaks off", `{"format":"staleproof.report/1","runs":[{"status":"violated","findings":[{"history":"{\"format\""}]}]}`, "history"},
		{"holes that do not add up", `{"format":"staleproof.report/1","runs":[{"status":"violated","findings":[{"total":9,"holes":[{"before":1,"events":3}],"history":"{\"format\":\"staleproof.history/1\"}\n{\"index\":1,\"process\":\"A\",\"type\":\"note\",\"f\":\"pause\"}\n"}]}]}`, "expected the 4 events"},
		{"holes out of order", `{"format":"staleproof.report/1","runs":[{"status":"violated","findings":[{"total":9,"holes":[{"before":1,"events":3},{"before":1,"events":3}],"history":"{\"format\":\"staleproof.history/1\"}\n{\"index\":1,\"process\":\"A\",\"type\":\"note\",\"f\":\"pause\"}\n"}]}]}`, "holes: expected places"},
		{"two documents", `{"format":"staleproof.report/1","runs":[]}{}`, "expected the end of the file"},
		{"a verdict that is none", `{"format":"staleproof.report/1","runs":[{"status":"fine"}]}`, `found "fine"`},
	} {
		_, err := Decode(strings.NewReader(test.text), "r.json")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want an error with %q, found %v", test.reason, test.want, err)
		}
	}
}

// TestSchemaNamesEveryField holds the schema to the fields of the document, and
// the other way round.
func TestSchemaNamesEveryField(t *testing.T) {
	var s struct {
		Defs map[string]struct {
			Properties map[string]any
			Required   []string
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema, &s); err != nil {
		t.Fatal(err)
	}
	for name, typ := range map[string]reflect.Type{"document": reflect.TypeFor[Document](), "documentRun": reflect.TypeFor[Run](), "documentFinding": reflect.TypeFor[Finding]()} {
		var fields, required []string
		for i := range typ.NumField() {
			tag := typ.Field(i).Tag.Get("json")
			if field, optional := strings.CutSuffix(tag, ",omitempty"); tag != "-" {
				fields = append(fields, field)
				if !optional {
					required = append(required, field)
				}
			}
		}
		if name == "documentFinding" {
			fields = append(fields, "history")
		}
		sorted := cmpopts.SortSlices(strings.Compare)
		if diff := cmp.Diff(fields, keysOf(s.Defs[name].Properties), sorted); diff != "" {
			t.Errorf("fields of %s (-code +schema):\n%s", name, diff)
		}
		if diff := cmp.Diff(required, s.Defs[name].Required, sorted); diff != "" {
			t.Errorf("mandatory fields of %s (-code +schema):\n%s", name, diff)
		}
	}
}

func keysOf(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestValidLines(t *testing.T) {
	for _, test := range []struct{ reason, line, want string }{
		{"a run of the design", `{"type":"run","scenario":"textbook","defect":"none","schedules":1000,"events":98211,"status":"satisfied","expected":true,"breaks":[],"broken":[],"sometimes":{"stale-write-attempted":214},"seconds":0.04}`, ""},
		{"a finding", `{"type":"finding","scenario":"textbook","defect":"store-ignores-token","property":"no-stale-write","message":"m","events":[49,57],"decisions":["A/pause#2=3: x"],"replay":"sp1:A"}`, ""},
		{"a finding of a recorded history", `{"type":"finding","file":"a.jsonl","property":"no-stale-write","message":"m","events":[49,57]}`, ""},
		{"an exploration", `{"type":"explored","scenario":"lf","defect":"none","states":434098,"generated":1977805,"depth":41,"faults":0,"complete":true,"status":"satisfied","seconds":0.2}`, ""},
		{"a checked file", `{"type":"checked","file":"etcd.edn","model":"mutex","operations":563,"status":"violated","broken":["mutex"],"seconds":0.01}`, ""},
		{"the last line", `{"type":"summary","status":"as-expected","exit":0}`, ""},
		{"a type that is none", `{"type":"runn"}`, "expected a type of run, kill"},
		{"a field too many", `{"type":"summary","status":"violated","exit":1,"extra":1}`, `expected no field "extra"`},
		{"a field too few", `{"type":"summary","status":"violated"}`, `expected a field "exit"`},
		{"an exit code that is none", `{"type":"summary","status":"violated","exit":4}`, "summary.exit: expected one of"},
		{"text for a number", `{"type":"kill","scenario":"s","defect":"d","property":"p","schedules":"3"}`, "kill.schedules: expected integer, found string"},
		{"less than nothing", `{"type":"kill","scenario":"s","defect":"d","property":"p","schedules":-3}`, "expected at least 0"},
		{"a broken number", `{"type":"kill","scenario":"s","defect":"d","property":"p","schedules":1.5}`, "expected integer, found number"},
		{"null for a list", `{"type":"finding","property":"p","message":"m","events":null,"decisions":[]}`, "finding.events: expected array, found null"},
		{"no JSON", `type: run`, "expected JSON"},
		{"two values", `{} {}`, "found more after it"},
	} {
		err := Valid("line", []byte(test.line))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: want an error with %q, found %v", test.reason, test.want, err)
		}
	}
	if err := Valid("lines", nil); err == nil || !strings.Contains(err.Error(), "expected one of") {
		t.Errorf("want an error that lists the definitions, found %v", err)
	}
}

func TestGitHubGolden(t *testing.T) {
	doc := suite()
	doc.Runs[3].Findings[0].Message = "A's deadline, 100% late: 4ms\n::error::forged | `code` <b> @someone #1 https://example.org"
	doc.Runs[3].Findings[0].Harm, doc.Runs[3].Findings[0].Cause = "A's write overwrote B's, 100% of it", "A was paused."
	var annotations, summary bytes.Buffer
	if err := Annotations(&annotations, doc); err != nil {
		t.Fatal(err)
	}
	if err := Summary(&summary, doc); err != nil {
		t.Fatal(err)
	}
	golden(t, "annotations.txt", annotations.Bytes())
	golden(t, "summary.md", summary.Bytes())
	if n := bytes.Count(annotations.Bytes(), []byte("\n::")) + 1; n != 3 {
		t.Errorf("expected three commands, none of them forged, found %d", n)
	}
}

func TestAnnotationsAreFew(t *testing.T) {
	doc := &Document{Format: Format}
	for range 30 {
		doc.Runs = append(doc.Runs, Run{Scenario: "s", Status: Violated})
	}
	var b bytes.Buffer
	if err := Annotations(&b, doc); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != maxAnnotations || !strings.Contains(lines[maxAnnotations-1], "and 21 more") {
		t.Errorf("expected %d lines, the last of which counts the rest, found %q", maxAnnotations, lines)
	}
}
