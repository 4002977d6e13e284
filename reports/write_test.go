package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the files under testdata")

// golden compares got with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got), -update rewrites it:\n%s", name, diff)
	}
}

var (
	styleOf  = regexp.MustCompile(`(?s)<style>.*?</style>`)
	scriptOf = regexp.MustCompile(`(?s)<script>.*?</script>`)
	digestOf = regexp.MustCompile(`sha256-[A-Za-z0-9+/&#;]+=*`)
	packedOf = regexp.MustCompile(`id="packed">([^<]*)<`)
)

// scrub leaves out of a page what has files of its own, and unpacks its history.
func scrub(t *testing.T, body []byte) []byte {
	t.Helper()
	body = styleOf.ReplaceAll(body, []byte("<style></style>"))
	body = scriptOf.ReplaceAll(body, []byte("<script></script>"))
	body = digestOf.ReplaceAll(body, []byte("sha256-"))
	return packedOf.ReplaceAllFunc(body, func(m []byte) []byte {
		text := strings.ReplaceAll(string(unpacked(t, body)), `],"`, "],\n\"")
		return []byte("id=\"packed\">\n" + text + "\n<")
	})
}

// unpacked returns the JSON text that a page holds for its script.
func unpacked(t *testing.T, body []byte) []byte {
	t.Helper()
	m := packedOf.FindSubmatch(body)
	if m == nil {
		t.Fatal("the page holds no history")
	}
	b, err := base64.RawURLEncoding.DecodeString(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWriteGolden(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, textbook()); err != nil {
		t.Fatal(err)
	}
	want := []string{"index.html", "run-textbook-store-ignores-token-no-stale-write.html", "scenario-textbook.html"}
	if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	for _, name := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, scrub(t, got))
	}
}

func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteIsByteStable(t *testing.T) {
	for name, make := range map[string]func() *Document{
		"textbook": textbook, "rough": rough, "recorded": recorded, "suite": suite,
		"many": func() *Document { return many(3000, "timed") },
	} {
		first, err := render(make())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			again, err := render(make())
			if err != nil {
				t.Fatal(err)
			}
			for i := range first {
				if first[i].name != again[i].name || !bytes.Equal(first[i].body, again[i].body) {
					t.Fatalf("%s: the same document gave other bytes in %s", name, first[i].name)
				}
			}
		}
	}
}

func TestWriteFailureLeavesNoHalfFile(t *testing.T) {
	const name = "run-textbook-store-ignores-token-no-stale-write.html"
	dir := t.TempDir()
	// A folder stands where the page belongs.
	if err := os.MkdirAll(filepath.Join(dir, name, "occupied"), 0o755); err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(dir, "index.html")
	if err := os.WriteFile(index, []byte("old"+marker), 0o644); err != nil {
		t.Fatal(err)
	}
	err := Write(dir, textbook())
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("expected an error that names %s, found %v", name, err)
	}
	if diff := cmp.Diff([]string{"index.html", name}, listing(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got, _ := os.ReadFile(index); string(got) != "old"+marker {
		t.Errorf("the index was replaced although a page that it links to is missing")
	}
}

func TestWriteOfPartLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "part")
	if err != nil {
		t.Fatal(err)
	}
	f.Close() // as a full disk would, makes every write fail
	if err := finish(f, path, []byte("new")); err == nil {
		t.Error("expected the write to fail")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("want the old file, found %q", got)
	}
}

func TestWriteRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		reason, dir, want string
		doc               *Document
	}{
		{"the folder is a file", file, "expected a folder", &Document{Format: Format}},
		{"there is no document", t.TempDir(), "found nil", nil},
		{"another format", t.TempDir(), `found "staleproof.report/9"`, &Document{Format: "staleproof.report/9"}},
		{"a run without a verdict", t.TempDir(), `run 0 (lf, defect none): expected status`, &Document{Format: Format, Runs: []Run{{Scenario: "lf"}}}},
	} {
		err := Write(test.dir, test.doc)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want an error with %q, found %v", test.reason, test.want, err)
		}
		if test.dir != file && len(listing(t, test.dir)) > 0 {
			t.Errorf("%s: something was written", test.reason)
		}
	}
}

func TestPageNames(t *testing.T) {
	long := strings.Repeat("long", 50)
	run := func(scenario, defect string, properties ...string) Run {
		r := Run{Scenario: scenario, Defect: defect}
		for _, p := range properties {
			r.Findings = append(r.Findings, Finding{Property: p})
		}
		return r
	}
	doc := &Document{Runs: []Run{
		run("textbook", "", "no-stale-write", "no-stale-write"),
		run("Text Book", "none", "../../etc/passwd"),
		run("日本", "a/b\\c", "x\x00?#&\"<>"),
		run(long, long, long),
	}}
	want := [][]string{
		{"run-textbook-none-no-stale-write.html", "run-textbook-none-no-stale-write-2.html"},
		{"run-text-book-none-etc-passwd.html"},
		{"run-unnamed-a-b-c-x.html"},
		{"run-" + long[:48] + "-" + long[:48] + "-" + long[:48] + ".html"},
	}
	if diff := cmp.Diff(want, pageNames(doc)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkWrite100k(b *testing.B) {
	doc := many(100_000, "timed")
	for b.Loop() {
		if _, err := render(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWriteSweeps holds a report to leaving no page of an earlier one, and
// nobody else's file gone.
func TestWriteSweeps(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, textbook()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"run-mine.html":     "<html>mine</html>",
		"notes.html":        marker,
		"scenario-old.html": "<head>" + marker,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "run-folder.html"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, &Document{Format: Format, Runs: []Run{{Scenario: "lf", Status: Satisfied, Expected: true}}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"index.html", "notes.html", "run-folder.html", "run-mine.html", "scenario-lf.html"}
	if diff := cmp.Diff(want, listing(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestWriteAtOnce: reports that are written to one folder at the same time leave
// one of them, whole: no link of its index is dead, and no page is of another.
func TestWriteAtOnce(t *testing.T) {
	const writers, rounds = 4, 10
	dir := t.TempDir()
	docs := make([]*Document, writers)
	for i := range docs {
		docs[i] = textbook()
		for r := range docs[i].Runs {
			docs[i].Runs[r].Scenario = "lf " + strconv.Itoa(i)
		}
	}
	for range rounds {
		var all sync.WaitGroup
		for _, doc := range docs {
			all.Go(func() {
				if err := Write(dir, doc); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		index, err := os.ReadFile(filepath.Join(dir, "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		linked := map[string]bool{"index.html": true}
		for _, m := range regexp.MustCompile(`href="([a-z0-9-]+\.html)`).FindAllSubmatch(index, -1) {
			linked[string(m[1])] = true
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(linked)), listing(t, dir)); diff != "" || len(linked) < 3 {
			t.Fatalf("files (-linked +there):\n%s", diff)
		}
	}
}

func TestEveryPageIsMarked(t *testing.T) {
	pages, err := render(suite())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if at := bytes.Index(p.body, []byte(marker)); at < 0 || at+len(marker) > markerWithin {
			t.Errorf("%s: expected the marker within %d bytes, found it at %d", p.name, markerWithin, at)
		}
	}
}

// TestRecordedIsNoControl: a history that somebody recorded has no schedules and
// no defect, and a search has states for schedules; the pages say so.
func TestRecordedIsNoControl(t *testing.T) {
	recorded := Run{Scenario: "etcd.edn", Status: Violated, Broken: []string{"mutex"}, Sometimes: []Count{{"stale-write-attempted", 3}},
		Findings: []Finding{{Property: "mutex", Message: "two holders"}}}
	searched := Run{Scenario: "lf", Defect: "none", Status: Satisfied, Expected: true, States: 434098}
	pages, err := render(&Document{Format: Format, Runs: []Run{recorded, searched}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		page      string
		want, not []string
	}{
		{"index.html", []string{"1 control and 1 recorded history. A control must", ">a recorded history<", "434,098 states", "etcd.edn</strong>, a recorded history"}, []string{"0 schedules", "etcd.edn, the control"}},
		{"scenario-etcd-edn.html", []string{"in the history", "a recorded history"}, []string{"the control", "with a defect"}},
		{"run-etcd-edn-none-mutex.html", []string{"a recorded history", "there is no schedule to replay"}, []string{"the control"}},
		{"scenario-lf.html", []string{"the control", "434,098 states"}, []string{"0 schedules"}},
	} {
		i := slices.IndexFunc(pages, func(p page) bool { return p.name == c.page })
		if i < 0 {
			t.Errorf("expected a page %s", c.page)
			continue
		}
		for _, want := range c.want {
			if !bytes.Contains(pages[i].body, []byte(want)) {
				t.Errorf("%s: expected %q", c.page, want)
			}
		}
		for _, not := range c.not {
			if bytes.Contains(pages[i].body, []byte(not)) {
				t.Errorf("%s: expected no %q", c.page, not)
			}
		}
	}
}

// TestSiblingsOfOneRun: a finding's own run says what else it broke, whatever other
// runs broke.
func TestSiblingsOfOneRun(t *testing.T) {
	r := &Run{Broken: []string{"a", "b", "c"}, Findings: []Finding{{Property: "a", Broken: []string{"d", "a", "b"}}, {Property: "b"}}}
	names := []string{"a.html", "b.html"}
	if diff := cmp.Diff([]siblingFinding{{"d", ""}, {"b", "b.html"}}, siblings(r, 0, names)); diff != "" {
		t.Errorf("of a finding that tells it (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]siblingFinding{{"a", "a.html"}, {"c", ""}}, siblings(r, 1, names)); diff != "" {
		t.Errorf("of one that does not (-want +got):\n%s", diff)
	}
}
