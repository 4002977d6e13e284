package main

import (
	"encoding/xml"
	"os"
	"strings"
	"testing"
)

// A history in which a write succeeds, the store's notes on it, and a stale write that
// is refused.
const (
	requireHeader = `{"format":"staleproof.history/1"}
`
	requireWrite = `{"index":1,"process":"A","type":"invoke","f":"write","op":1,"resource":"r","token":2,"lease":"a","value":1}
{"index":2,"process":"store","type":"note","f":"apply","op":1,"resource":"r","token":2,"lease":"a","highest":2}
{"index":3,"process":"A","type":"ok","f":"write","op":1,"resource":"r","token":2,"lease":"a","value":1}
`
	requireStale = `{"index":4,"process":"B","type":"invoke","f":"write","op":2,"resource":"r","token":1,"lease":"b","value":2}
{"index":5,"process":"store","type":"note","f":"reject","op":2,"resource":"r","token":1,"lease":"b","highest":2}
{"index":6,"process":"B","type":"fail","f":"write","op":2,"resource":"r","token":1,"lease":"b","value":2,"error":"stale","highest":2}
`
)

// requireFiles writes the histories of the tests here into the working folder.
func requireFiles(t *testing.T) {
	t.Helper()
	good, err := os.ReadFile("testdata/good.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile("testdata/lock.edn")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	applied := strings.NewReplacer(`"reject"`, `"apply"`, `"fail"`, `"ok"`, `,"error":"stale","highest":2`, "").Replace(requireStale)
	for name, text := range map[string]string{"tried": requireHeader + requireWrite + requireStale, "untried": requireHeader + requireWrite,
		"stale": requireHeader + requireWrite + applied, "unnoted": string(good), "lock": string(lock)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRequire: a satisfied history that was not judged by what matters, or in which
// nothing was tried, says so in a line; with --require it is inconclusive.
func TestRequire(t *testing.T) {
	requireFiles(t)
	const missing = "The property no-stale-write was not judged: it takes tokens, and the store's notes of what it applied."
	for _, c := range []struct {
		args  string
		exit  int
		says  string
		warns string
	}{
		{"tried", 0, "met stale-write-attempted 1, stale-write-rejected 1", ""},
		{"tried --require no-stale-write", 0, ": satisfied", ""},
		{"tried --require no-stale-write,token-order", 3, "required, but token-order was not judged: it takes what the history does not tell", ""},
		{"tried --require fenced,linearizable --require no-stale-write", 0, ": satisfied", ""},
		{"tried --require mutex", 3, "required, but mutex was not judged: ", ""},
		{"untried", 0, "met stale-write-attempted 0", "No stale write was seen: the fence was not tried."},
		{"untried --require linearizable", 0, ": satisfied", "No stale write was seen: the fence was not tried."},
		{"untried --require no-stale-write", 3, "required, but no-stale-write was not exercised: no stale write was seen", ""},
		{"untried --quiet --require no-stale-write", 3, "untried: inconclusive", ""},
		{"untried --quiet", 0, "", ""},
		{"unnoted", 0, "met stale-write-attempted 1, stale-write-rejected 1 (as clients saw it)", missing},
		{"unnoted --require no-stale-write", 3, "required, but no-stale-write was not judged: it takes tokens, and the store's notes", ""},
		{"unnoted --require no-lost-update,no-stale-write", 3, "no-lost-update was not judged: it takes what the history does not tell; no-stale-write was not judged: ", ""},
		{"lock", 0, "model lease", "The property no-stale-write was not judged: the model lease says nothing of it."},
		{"lock --require lease", 0, ": satisfied", "The property no-stale-write was not judged: the model lease says nothing of it."},
		{"lock --require no-stale-write", 3, "required, but no-stale-write was not judged: the model lease says nothing of it", ""},
		{"lock --model mutex --require lease", 1, ": violated", ""},
		{"stale", 1, "met stale-write-attempted 1", ""},
		{"stale --require no-stale-write", 1, "broke no-stale-write", ""},
		{"stale --require token-order", 1, "required, but token-order was not judged", ""},
		{"tried untried --require no-stale-write", 3, "untried: inconclusive", ""},
		{"tried stale untried --require no-stale-write", 1, "untried: inconclusive", ""},
	} {
		code, out, errs := invoke(append([]string{"check"}, strings.Fields(c.args)...)...)
		text := strings.Join(strings.Fields(out), " ")
		if code != c.exit || errs != "" || !strings.Contains(text, c.says) {
			t.Errorf("check %s: expected exit code %d and %q, found %d:\n%s%s", c.args, c.exit, c.says, code, out, errs)
		}
		_, warning, warned := strings.Cut(text, " warning ")
		if warned != (c.warns != "") || !strings.HasPrefix(warning, c.warns) {
			t.Errorf("check %s: expected the warning %q, found\n%s", c.args, c.warns, out)
		}
	}
}

// TestRequireBadInput: one line and exit code 2.
func TestRequireBadInput(t *testing.T) {
	requireFiles(t)
	for _, c := range []struct{ value, want string }{
		{"no-stale-writes", "unknown property \"no-stale-writes\": did you mean no-stale-write?"},
		{"linearizable,zzzzzzzzzzzz", "unknown property \"zzzzzzzzzzzz\": see staleproof list properties"},
		{"linearizable,", "--require: expected the name of a property, found \"linearizable,\""},
		{",", "--require: expected the name of a property, found \",\""},
		{"", "--require: expected a value, found \"\""},
		{"linearizable,linearizable", "--require: expected each property once, found linearizable twice"},
	} {
		code, out, errs := invoke("check", "tried", "--require", c.value)
		if code != exitUsage || out != "" || !oneLineOf(errs, "staleproof: "+c.want) {
			t.Errorf("%q: expected exit code 2 and %q, found %d: %s%s", c.value, c.want, code, out, errs)
		}
	}
}

// TestSkipped: what was not judged is no passed case of JUnit, also where the result
// was kept.
func TestSkipped(t *testing.T) {
	requireFiles(t)
	type testcase struct {
		Name    string    `xml:"name,attr"`
		Error   *struct{} `xml:"error"`
		Failure *struct{} `xml:"failure"`
		Skipped *struct {
			Message string `xml:"message,attr"`
		} `xml:"skipped"`
	}
	for _, c := range []struct{ args, want string }{
		{"tried", "all properties: passed, token-order: not judged: it takes"},
		{"untried", "all properties: passed, no-stale-write: No stale write was seen: the fence was not tried."},
		{"unnoted", "all properties: passed, no-stale-write: not judged: it takes tokens, and"},
		{"lock", "all properties: passed, no-stale-write: not judged: the model lease says nothing of it"},
		{"untried --require no-stale-write", "all properties: error, token-order: not judged: it takes"},
		{"stale", "linearizable: failure, no-stale-write: failure, token-order: not judged"},
	} {
		invoke(append([]string{"check", "--junit", "junit.xml", "--result", "result.json"}, strings.Fields(c.args)...)...)
		invoke("report", "result.json", "--junit", "again.xml", "--report", "pages")
		text, err := os.ReadFile("junit.xml")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile("again.xml"); err != nil || string(again) != string(text) {
			t.Errorf("%s: expected the same of the kept result, found %v\n%s", c.args, err, again)
		}
		var suites struct {
			Tests  int `xml:"tests,attr"`
			Suites []struct {
				Tests   int        `xml:"tests,attr"`
				Skipped int        `xml:"skipped,attr"`
				Cases   []testcase `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(text, &suites); err != nil {
			t.Fatal(err)
		}
		suite := suites.Suites[0]
		skipped := 0
		found := map[string]string{}
		for _, x := range suite.Cases {
			name, is := strings.TrimPrefix(x.Name, "history: "), "passed"
			switch {
			case x.Skipped != nil:
				skipped++
				is = x.Skipped.Message
			case x.Error != nil:
				is = "error"
			case x.Failure != nil:
				is = "failure"
			}
			found[name] = is
		}
		if suite.Skipped != skipped || skipped == 0 || suite.Tests != len(suite.Cases) || suites.Tests != len(suite.Cases) {
			t.Errorf("%s: expected counts that agree with the cases, found\n%s", c.args, text)
		}
		for want := range strings.SplitSeq(c.want, ", ") {
			if name, is, ok := strings.Cut(want, ": "); ok && !strings.HasPrefix(found[name], is) {
				t.Errorf("%s: expected %q of %s, found %q", c.args, is, name, found[name])
			}
		}
		os.RemoveAll("pages")
	}
}
