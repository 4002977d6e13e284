package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/checker"
	"staleproof/reports"
)

// TestMain: what the tests expect is what a command prints outside GitHub. Tests of
// processes run this program as the command.
func TestMain(m *testing.M) {
	os.Unsetenv("GITHUB_ACTIONS")
	os.Unsetenv("GITHUB_STEP_SUMMARY")
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestUnwritable: what cannot be written is one line and exit code 2, though the
// work was done, and half a file stays nowhere.
func TestUnwritable(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full on this system")
	}
	tok, result, shards := token(t, "store-ignores-token"), filepath.Join(t.TempDir(), "result.json"), filepath.Join(t.TempDir(), "0.results")
	invoke("replay", tok, "--result", result)
	invoke("fuzz", "textbook", "--seeds", "64", "--out", shards)
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "textbook", "--defect", "none", "--seeds", "1", "--junit", "/dev/full"}, "expected to write /dev/full: no space left on device; make room, or name another place"},
		{[]string{"run", "textbook", "--defect", "none", "--seeds", "1", "--result", "/dev/full"}, "expected to write /dev/full: no space left on device; "},
		{[]string{"run", "textbook", "--defect", "none", "--seeds", "1", "--junit", "pipe"}, "expected to write pipe: it is a pipe that nobody reads; "},
		{[]string{"replay", tok, "--history", "/dev/full"}, "expected to write /dev/full: no space left on device; "},
		{[]string{"replay", tok, "--schedule", "/dev/full"}, "expected to write /dev/full: no space left on device; "},
		{[]string{"explore", "lf-time", "--result", "/dev/full"}, "expected to write /dev/full: no space left on device; "},
		{[]string{"report", result, "--junit", "/dev/full"}, "expected to write /dev/full: no space left on device; "},
		{[]string{"merge", shards, "--out", "/dev/full"}, "expected to write /dev/full: no space left on device; "},
	} {
		code, _, errs := invoke(c.args...)
		if code != exitUsage || !oneLineOf(errs, "staleproof: "+c.want) {
			t.Errorf("%.60q: expected exit code 2 and one line\n  staleproof: %s...\nfound %d\n  %s", c.args, c.want, code, errs)
		}
	}
	os.RemoveAll("report") // of the results
	left(t, ".", "pipe")
}

// TestPipes: a pipe that somebody reads is written to, and the standard input is
// read when it is asked for.
func TestPipes(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	junit := make(chan []byte)
	go func() { text, _ := io.ReadAll(r); junit <- text }()
	code, out, errs := invoke("check", "testdata/good.jsonl", "--junit", fmt.Sprintf("/dev/fd/%d", w.Fd()))
	w.Close()
	if text := <-junit; code != exitOK || !strings.Contains(string(text), "<testsuite") {
		t.Errorf("expected exit code 0 and JUnit in the pipe, found %d and %q: %s%s", code, text, out, errs)
	}
	for _, c := range []struct {
		file string
		exit int
	}{{"testdata/good.jsonl", exitOK}, {"testdata/bad.jsonl", exitViolation}, {"testdata/register.log", exitViolation}, {"main.go", exitUsage}, {"/dev/null", exitUsage}} {
		stdin, err := os.Open(c.file)
		if err != nil {
			t.Fatal(err)
		}
		old := os.Stdin
		os.Stdin = stdin
		code, out, errs := invoke("check", "--explain", "-")
		os.Stdin = old
		stdin.Close()
		_, want, _ := invoke("check", "--explain", c.file)
		if code != c.exit || out != strings.Replace(want, c.file+":", "standard input:", 1) {
			t.Errorf("%s: expected exit code %d and the verdict on the file, found %d: %s%s", c.file, c.exit, code, out, errs)
		}
		if c.exit == exitUsage && !oneLineOf(errs, "staleproof: standard input: expected a history") {
			t.Errorf("%s: found %q on stderr", c.file, errs)
		}
	}
}

// TestSchema: every line for machines is as the schema says.
func TestSchema(t *testing.T) {
	tok, dir := token(t, "store-ignores-token"), t.TempDir()
	invoke("replay", tok, "--schedule", filepath.Join(dir, "x.schedule"))
	result, shard := filepath.Join(dir, "result.json"), filepath.Join(dir, "0.results")
	invoke("replay", tok, "--result", result)
	invoke("fuzz", "textbook", "--seeds", "64", "--shard", "0/2", "--out", shard)
	types := map[string]bool{}
	for _, args := range [][]string{
		{"run", "textbook", "--seeds", "20"},
		{"run", "textbook", "--matrix", "--seeds", "20"},
		{"run", "textbook", "--defect", "all", "--seeds", "20"},
		{"run", "textbook", "--defect", "none", "--seeds", "1", "--regressions", dir},
		{"fuzz", "textbook", "--seeds", "20"},
		{"fuzz", "check-apart", "--defect", "store-checks-apart"},
		{"replay", tok},
		{"diff", tok, "--report", dir},
		{"explore", "lf-time"},
		{"explore", "textbook", "--defect", "store-ignores-token", "--faults", "0"},
		{"explore", "textbook", "--max-states", "50"},
		{"check", "testdata/good.jsonl", "testdata/bad.jsonl", "testdata/register.log", "testdata/no-such-file"},
		{"check", "--max-memory", "1", unordered(t)},
		{"list"},
		{"report", result, "--report", filepath.Join(dir, "again")},
		{"merge", shard, "--out", filepath.Join(dir, "merged.results")},
	} {
		if raceDetector && args[0] == "run" && len(args) < 6 {
			continue // a hundred times slower
		}
		_, out, errs := invoke(append(args, "--json")...)
		if out == "" {
			t.Errorf("%v: expected lines, found none: %s", args, errs)
		}
		for line := range strings.Lines(out) {
			kind, _ := members(t, line)
			types[kind] = true
			if err := reports.Valid("line", []byte(line)); err != nil {
				t.Errorf("%v: %v in %s", args, err, line)
			}
		}
	}
	for _, kind := range []string{"run", "regression", "kill", "finding", "fuzzed", "replayed", "diffed", "explored", "checked", "scenario", "property", "defect", "summary"} {
		if !types[kind] && !raceDetector {
			t.Errorf("expected a line of type %s", kind)
		}
	}
}

// TestRecordedFindings: a finding of a recorded history has no decisions, which is
// not the same as none, and the replay that the history's header names.
func TestRecordedFindings(t *testing.T) {
	file, tok := filepath.Join(t.TempDir(), "run.jsonl"), token(t, "store-refuses-equal")
	_, simulated, _ := invoke("replay", tok, "--history", file, "--json")
	if n := strings.Count(simulated, `"decisions":[]`); n == 0 || n != strings.Count(simulated, `"type":"finding"`) {
		t.Errorf("expected findings of the calm run, found %s", simulated)
	}
	_, recorded, _ := invoke("check", file, "--json")
	if n := strings.Count(recorded, `"type":"finding"`); n == 0 || n != strings.Count(recorded, `"replay":"`+tok+`"`) || strings.Contains(recorded, "decisions") {
		t.Errorf("expected findings that name their replay, and no decisions, found %s", recorded)
	}
	_, text, _ := invoke("check", file, "--explain")
	if !strings.Contains(text, "staleproof replay "+tok) || strings.Contains(text, "decisions") {
		t.Errorf("expected the same of the text, found %s", text)
	}
	if _, bare, _ := invoke("check", "testdata/bad.jsonl", "--json"); strings.Contains(bare, "replay") || strings.Contains(bare, "decisions") {
		t.Errorf("expected neither, found %s", bare)
	}
}

// TestReportOfResults: the pages that report makes of a kept result are those that
// the command itself writes, and its exit code is the same.
func TestReportOfResults(t *testing.T) {
	for _, args := range [][]string{
		{"run", "textbook", "--defect", "store-ignores-token"},
		{"replay", token(t, "holder-ignores-rejection")},
		{"explore", "textbook", "--defect", "store-ignores-token", "--faults", "0"},
		{"check", "testdata/good.jsonl", "testdata/bad.jsonl"},
	} {
		dir := t.TempDir()
		result, direct, later := filepath.Join(dir, "result.json"), filepath.Join(dir, "direct"), filepath.Join(dir, "later")
		want, _, errs := invoke(append(args, "--result", result, "--report", direct)...)
		if got, out, more := invoke("report", result, "--report", later); got != want || !strings.Contains(out, "report: "+filepath.Join(later, "index.html")) {
			t.Errorf("%v: expected exit code %d and where the pages are, found %d: %s%s%s", args, want, got, out, errs, more)
		}
		text, err := os.ReadFile(result)
		if err != nil {
			t.Fatal(err)
		}
		if err := reports.Valid("document", text); err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if diff := cmp.Diff(pagesIn(t, direct), pagesIn(t, later)); diff != "" {
			t.Errorf("%v: pages (-direct +of the result):\n%s", args, diff)
		}
	}
}

// TestDangersInWords: the pages say of every fact that is counted what it is.
func TestDangersInWords(t *testing.T) {
	for f := range checker.FactCount {
		if reports.Danger(f.String()) == "" {
			t.Errorf("expected words for %s", f)
		}
	}
}

// TestJUnitOfCommands: what --junit writes is XML whose counts are those of its
// cases, and something failed in it or could not be judged where the exit code
// says so.
func TestJUnitOfCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "junit.xml")
	for _, args := range [][]string{
		{"run", "textbook", "--seeds", "20"},
		{"run", "textbook", "--defect", "store-ignores-token"},
		{"replay", token(t, "store-ignores-token")},
		{"fuzz", "textbook", "--seeds", "20"},
		{"explore", "lf-time"},
		{"explore", "textbook", "--max-states", "50"},
		{"check", "testdata/good.jsonl", "testdata/bad.jsonl"},
		{"check", "testdata/good.jsonl"},
	} {
		code, _, errs := invoke(append(args, "--junit", file)...)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err, errs)
		}
		var all struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Suites   []struct {
				Cases []struct {
					Failure *struct {
						Message string `xml:"message,attr"`
					} `xml:"failure"`
					Error *struct {
						Message string `xml:"message,attr"`
					} `xml:"error"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(text, &all); err != nil {
			t.Errorf("%v: %v in\n%s", args, err, text)
			continue
		}
		cases, failures, problems := 0, 0, 0
		for _, s := range all.Suites {
			for _, c := range s.Cases {
				cases++
				if c.Failure != nil && c.Failure.Message != "" {
					failures++
				}
				if c.Error != nil && c.Error.Message != "" {
					problems++
				}
			}
		}
		if cases == 0 || cases != all.Tests || failures != all.Failures || problems != all.Errors {
			t.Errorf("%v: %d cases, %d failures, %d errors are counted as %d, %d, %d", args, cases, failures, problems, all.Tests, all.Failures, all.Errors)
		}
		if got := failures > 0; got != (code == exitViolation) || (problems > 0 || failures > 0) != (code != exitOK) {
			t.Errorf("%v: exit code %d with %d failures and %d errors", args, code, failures, problems)
		}
	}
}

func pagesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%s: expected pages, found %v, %v", dir, files, err)
	}
	pages := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(f)] = string(text)
	}
	return pages
}

// TestReportPutsTogether: results of several commands, and shards, are one report.
func TestReportPutsTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	tok := token(t, "store-ignores-token")
	invoke("replay", tok, "--result", "replay.json")
	invoke("explore", "lf-time", "--result", "explore.json")
	invoke("fuzz", "textbook", "--seeds", "64", "--shard", "0/2", "--out", "0.results")
	code, out, errs := invoke("report", "replay.json", "0.results", "explore.json", "--junit", "junit.xml")
	if code != exitViolation || errs != "" {
		t.Errorf("expected exit code 1, found %d: %s%s", code, out, errs)
	}
	index := pagesIn(t, "report")["index.html"]
	for _, want := range []string{"1 of 3 runs is not as expected", "lf-time", "missing: "} {
		if !strings.Contains(index, want) {
			t.Errorf("expected %q on the page", want)
		}
	}
	if _, err := os.Stat("junit.xml"); err != nil {
		t.Error(err)
	}
}

// TestReportPages: what the pages tell of a run beyond its findings.
func TestReportPages(t *testing.T) {
	dir := t.TempDir()
	invoke("run", "textbook", "--defect", "store-ignores-token", "--report", dir)
	invoke("run", "textbook", "--seeds", "20", "--report", filepath.Join(dir, "suite"))
	invoke("check", "testdata/good.jsonl", "testdata/bad.jsonl", "--report", filepath.Join(dir, "check"))
	invoke("explore", "lf-time", "--report", filepath.Join(dir, "explore"))
	for _, c := range []struct{ page, want string }{
		{"scenario-textbook.html", "<dt>ttl</dt><dd>10s</dd>"},
		{"scenario-textbook.html", "<dt>rho</dt><dd>200 ppm</dd>"},
		{"scenario-textbook.html", "no mutation with a lower token is ever applied"},
		{"index.html", "judged as a system of your own would be"},
		{"run-textbook-store-ignores-token-no-stale-write.html", "<h1>A&#39;s write 302, with token 1, overwrote B&#39;s write 402, with token 2 (at 15.009s)</h1>"},
		{"run-textbook-store-ignores-token-no-stale-write.html", "A paused for 12s after it had checked its lease (#36); meanwhile A&#39;s lease expired (#37) and B was granted token 2 (#41)."},
		{"run-textbook-store-ignores-token-no-stale-write.html", ">linearizable</a>"},
		{"run-textbook-store-ignores-token-no-stale-write.html", "<dt>clients</dt><dd>2, not 3</dd>"},
		{"suite/index.html", "broken, as it must be, after 1 schedules"},
		{"check/run-bad-jsonl-none-linearizable.html", "staleproof check --model fenced bad.jsonl"},
		{"check/index.html", "2 recorded histories"},
		{"check/index.html", ">good.jsonl<"},
		{"check/scenario-bad-jsonl.html", "<dt>model</dt><dd>fenced</dd>"},
		{"explore/index.html", " states<"},
		{"explore/index.html", "complete: every schedule"},
		{"explore/scenario-lf-time.html", " ticks</dd>"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, c.page))
		if err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: expected %q (%v)", c.page, c.want, err)
		}
	}
}

// TestGitHub: in a job of GitHub Actions what is not as expected is annotated, on
// the stream for people, and told in the job's summary.
func TestGitHub(t *testing.T) {
	summary := filepath.Join(t.TempDir(), "summary.md")
	t.Setenv("GITHUB_ACTIONS", "true")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	args := []string{"check", "testdata/good.jsonl", "testdata/bad.jsonl"}
	const annotation = "\n::error title=bad.jsonl"
	if code, out, errs := invoke(args...); code != exitViolation || !strings.Contains(out, annotation) || errs != "" {
		t.Errorf("expected an annotation on stdout, found %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := invoke(append(args, "--json")...); code != exitViolation || strings.Contains(out, "::error") || !strings.Contains(errs, annotation) {
		t.Errorf("with --json: expected an annotation on stderr, found %d:\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile(summary)
	if err != nil || strings.Count(string(text), "## Staleproof: 1 of 2 runs is not as expected") != 2 {
		t.Errorf("expected both commands in the summary, found %v:\n%s", err, text)
	}
	t.Setenv("GITHUB_STEP_SUMMARY", filepath.Join(summary, "none"))
	if code, _, errs := invoke(args...); code != exitUsage || !oneLineOf(errs, "staleproof: GITHUB_STEP_SUMMARY: expected a file") {
		t.Errorf("expected exit code 2 and one line, found %d: %s", code, errs)
	}
}

// TestLongHistory: a history that is not held in memory is explained, and has
// pages, like one that is.
func TestLongHistory(t *testing.T) {
	dir := t.TempDir()
	invoke("replay", token(t, "store-ignores-token"), "--history", filepath.Join(dir, "run.jsonl"))
	args := []string{"check", "--explain", filepath.Join(dir, "run.jsonl"), "testdata/lock.edn", "testdata/bad.jsonl", "--report"}
	_, want, _ := invoke(append(args, filepath.Join(dir, "short"))...)
	defer func(n int64) { maxInMemory = n }(maxInMemory)
	maxInMemory = 3
	code, got, errs := invoke(append(args, filepath.Join(dir, "long"))...)
	if diff := cmp.Diff(want, strings.ReplaceAll(got, "/long/", "/short/")); code != exitViolation || errs != "" || diff != "" {
		t.Errorf("expected exit code 1 and the same text, found %d, %s (-in memory +not):\n%s", code, errs, diff)
	}
	short, long := pagesIn(t, filepath.Join(dir, "short")), pagesIn(t, filepath.Join(dir, "long"))
	for name, page := range short {
		// The suite groups findings by events that it has to have in memory.
		if strings.HasPrefix(name, "run-") && page != long[name] {
			t.Errorf("%s: expected the same page (-in memory +not):\n%s", name, cmp.Diff(page, long[name]))
		}
	}
}

// TestFullDisk: a search whose results find no room any more is one line and exit code
// 2, and goes on from what is whole when there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	const fuzz = "staleproof fuzz textbook check-apart token-regress --seeds 64 --quiet --out "
	code, out := shell(t, dir, "ulimit -f 1 && "+fuzz+"a")
	if code != exitUsage || !oneLineOf(out, "staleproof: expected to write a: file too large; make room, or name another place") {
		t.Errorf("expected exit code 2 and one line, found %d: %s", code, out)
	}
	code, out = shell(t, dir, "ulimit -f 0 && "+fuzz+"b")
	if code != exitUsage || !oneLineOf(out, "staleproof: expected to write b: file too large; ") {
		t.Errorf("no room for a line: expected exit code 2 and one line, found %d: %s", code, out)
	}
	if code, out = shell(t, dir, fuzz+"a && "+fuzz+"b && cmp a b"); code != exitOK {
		t.Errorf("expected both to be completed, found exit code %d: %s", code, out)
	}
}

// TestSummaryFile: a file of GitHub's that cannot be added to is one line and exit code
// 2, and a history is not added to.
func TestSummaryFile(t *testing.T) {
	text, err := os.ReadFile("testdata/good.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("good.jsonl", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo("pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, want string }{
		{"/dev/full", "GITHUB_STEP_SUMMARY: expected a file that can be added to: write /dev/full: no space left on device"},
		{".", "GITHUB_STEP_SUMMARY: expected a file that can be added to: open .: is a directory"},
		{"pipe", "GITHUB_STEP_SUMMARY: expected a file that can be added to: open pipe: no such device or address"},
		{"good.jsonl", "GITHUB_STEP_SUMMARY: expected a place of its own, found good.jsonl, which is read; name another"},
	} {
		t.Setenv(stepSummary, c.file)
		if code, _, errs := invoke("check", "good.jsonl", "--quiet"); code != exitUsage || !oneLineOf(errs, "staleproof: "+c.want) {
			t.Errorf("%s: expected exit code 2 and %q, found %d: %s", c.file, c.want, code, errs)
		}
	}
	if after, _ := os.ReadFile("good.jsonl"); !bytes.Equal(after, text) {
		t.Errorf("expected the history as it was, found\n%s", after)
	}
}
