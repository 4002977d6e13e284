package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/scenarios"
	"staleproof/scenarios/search"
	"staleproof/sim/watchdog"
)

// raceDetector says that the tests run with it.
var raceDetector bool

var update = flag.Bool("update", false, "rewrite the golden files")

// invoke runs the command in this process. What a slow machine is told of long
// work is left out.
func invoke(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), longWork.ReplaceAllString(errs.String(), "")
}

var longWork = regexp.MustCompile(`(?m)^.*: [0-9,]+ schedules, [0-9,]+/s(, .*)?\n`)

// Times, and what memory that took, are the only things that may differ between two
// runs.
var (
	textSeconds = regexp.MustCompile(`\([0-9.]+ s(, [0-9]+ MB)?\)`)
	jsonSeconds = regexp.MustCompile(`"seconds":[0-9.]+`)
)

func normal(text string) string {
	return jsonSeconds.ReplaceAllString(textSeconds.ReplaceAllString(text, "(0.0 s)"), `"seconds":0`)
}

// golden compares text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update rewrites it:\n%s", file, diff)
	}
}

// token returns the replay token of the first finding of a defect.
func token(t *testing.T, defect string) string {
	t.Helper()
	_, out, errs := invoke("run", "textbook", "--defect", defect, "--json")
	for line := range strings.Lines(out) {
		var l struct{ Type, Replay string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == "finding" {
			return l.Replay
		}
	}
	t.Fatalf("expected a finding, found:\n%s%s", out, errs)
	return ""
}

// TestOutput holds what people and machines read against golden files.
func TestOutput(t *testing.T) {
	broken := token(t, "store-ignores-token")
	thousands := map[string]bool{"run": true, "run-control": true, "run-matrix": true, "run-quiet": true} // of schedules
	for _, c := range []struct {
		name, reason string
		exit         int
		args         []string
	}{
		{"help", "what a newcomer sees first", 0, []string{"--help"}},
		{"help-run", "the flags of the main job", 0, []string{"run", "--help"}},
		{"run", "a scenario's share of the main job: everything as expected", 0, []string{"run", "textbook", "--seeds", "500"}},
		{"run-defect", "a defect, judged as a user's system", 1, []string{"run", "textbook", "--defect", "store-ignores-token"}},
		{"run-defect-json", "the same for machines", 1, []string{"run", "textbook", "--defect", "store-ignores-token", "--json"}},
		{"run-control", "the control alone", 0, []string{"run", "textbook", "--defect", "none", "--seeds", "500"}},
		{"run-untried", "a danger that never occurred is no pass", 3, []string{"run", "textbook", "--defect", "none", "--seeds", "1-1"}},
		{"run-matrix", "how soon, and what these seeds do not catch", 1, []string{"run", "textbook", "--matrix", "--seeds", "100"}},
		{"run-quiet", "nothing to complain of", 0, []string{"run", "textbook", "--defect", "none", "--seeds", "500", "--quiet"}},
		{"replay", "a finding again", 1, []string{"replay", broken}},
		{"replay-json", "the same for machines", 1, []string{"replay", broken, "--json"}},
		{"check-good", "a fence that holds", 0, []string{"check", "testdata/good.jsonl"}},
		{"check-bad", "a stale write in a history without notes", 1, []string{"check", "--explain", "testdata/bad.jsonl"}},
		{"check-json", "several files, for machines", 1, []string{"check", "--json", "testdata/good.jsonl", "testdata/bad.jsonl", "testdata/register.log"}},
		{"check-register", "a model that is named, and an initial value", 0, []string{"check", "--model", "cas-register", "--init", "5", "testdata/register.log"}},
		{"check-register-nil", "the same history from nil, explained: it tells no times", 1, []string{"check", "--explain", "testdata/register.log"}},
		{"check-lock", "a lock that was lost unnoticed is fine as a lease", 0, []string{"check", "testdata/lock.edn"}},
		{"check-lock-mutex", "and broken as a mutex", 1, []string{"check", "--model", "mutex", "--explain", "testdata/lock.edn"}},
		{"check-lease", "a grant within a hold that the holder proves afterwards", 1, []string{"check", "--explain", "testdata/lock.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if raceDetector && thousands[c.name] {
				t.Skip("a hundred times slower with the race detector; TestJSON sweeps with it")
			}
			code, out, errs := invoke(c.args...)
			if code != c.exit {
				t.Errorf("%s: expected exit code %d, found %d: %s", c.reason, c.exit, code, errs)
			}
			if isJSON := strings.HasSuffix(c.name, "-json"); !isJSON && errs != "" {
				t.Errorf("%s: expected nothing on stderr, found %q", c.reason, errs)
			}
			golden(t, c.name+".golden", normal(out))
			fits(t, out)
		})
	}
}

// TestHelpFits: every help text is as wide as other text, at most.
func TestHelpFits(t *testing.T) {
	_, out, _ := invoke("--help")
	fits(t, out)
	commands := newApp(io.Discard, io.Discard).rootCommand().Commands()
	for _, c := range commands {
		code, out, errs := invoke("help", c.Name())
		if code != exitOK || out == "" || errs != "" {
			t.Errorf("help %s: exit code %d, found %q, %s", c.Name(), code, out, errs)
		}
		fits(t, out)
	}
	if len(commands) < 9 {
		t.Errorf("expected all commands, found %d", len(commands))
	}
}

// TestList: the lists name everything.
func TestList(t *testing.T) {
	for _, args := range [][]string{{"list"}, {"list", "--long"}, {"list", "--json"}} {
		code, out, errs := invoke(args...)
		if code != exitOK {
			t.Fatalf("%v: found exit code %d: %s", args, code, errs)
		}
		var names []string
		for _, sc := range scenarios.AllScenarios() {
			names = append(names, sc.Name)
		}
		if searched, first := strings.Index(out, "SCENARIOS OF EXPLORE"), strings.Index(out, "\n  lf "); args[len(args)-1] != "--json" && (searched < 0 || first < searched) {
			t.Errorf("%v: expected lf under a heading of its own", args)
		}
		for _, p := range checker.Properties() {
			names = append(names, p.Name)
		}
		for _, d := range model.AllDefects() {
			names = append(names, d.Name)
		}
		for _, name := range names {
			if !strings.Contains(out, "\n  "+name+" ") && !strings.Contains(out, "\n  "+name+"\n") && !strings.Contains(out, `"name":"`+name+`"`) {
				t.Errorf("%v: expected %s in\n%s", args, name, out)
			}
		}
		fits(t, out)
	}
}

// TestWholeSuite: the main job takes every scenario and every defect.
func TestWholeSuite(t *testing.T) {
	o := runOptions{}
	trials, err := o.trials(nil)
	if err != nil {
		t.Fatal(err)
	}
	controls, defects := 0, 0
	for _, tr := range trials {
		if tr.planted {
			t.Errorf("%s: expected to be judged by expectation", name(tr.scenario.Name, tr.defect()))
		}
		if tr.control() {
			controls++
		} else {
			defects++
		}
	}
	want := 0
	for _, sc := range scenarios.Scenarios() {
		want += len(sc.Defects)
	}
	if controls != len(scenarios.Scenarios()) || defects != want {
		t.Errorf("expected %d controls and %d defects, found %d and %d", len(scenarios.Scenarios()), want, controls, defects)
	}
	// A defect that is made of several is found by its whole name.
	for _, sc := range scenarios.Scenarios() {
		for _, x := range sc.Defects {
			if got, ok := planted(sc, x.Defect.String()); !ok || got.Defect != x.Defect {
				t.Errorf("%s: expected defect %s, found %v, %t", sc.Name, x.Defect, got, ok)
			}
		}
	}
}

// fits says which lines of text are wider than 80 columns and hold no token.
func fits(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if columns(line) > width && !strings.Contains(line, "sp1:") && !strings.HasPrefix(line, "{") && !strings.Contains(line, "https://") {
			t.Errorf("expected at most %d columns, found %d: %s", width, columns(line), line)
		}
	}
}

// TestUnused: a decision that the run had no choice for is not dropped in silence.
func TestUnused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.schedule")
	invoke("replay", token(t, "store-ignores-token"), "--schedule", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`(?m)^(digest|trail): .*\n`).ReplaceAllString(string(text), "")
	for _, c := range []struct{ reason, more, want string }{
		{"all of them are used", "", ""},
		{"a choice that does not come up", "B/pause#77=1\n", "B/pause#77=1: the run had no such choice"},
		{"an option that there is not", "manager/stall#0=99\n", "manager/stall#0=99: the run had no such choice"},
		{"none of its options", "B/pause#78=0\n", ""},
		{"too many to name", strings.Join([]string{"B/pause#71=1", "B/pause#72=1", "B/pause#73=1", "B/pause#74=1", "B/pause#75=1", "B/pause#76=1", "B/pause#77=1", "B/pause#78=1", "B/pause#79=1", "B/pause#80=1"}, "\n"), "and 2 more: the run had no such choice"},
	} {
		if err := os.WriteFile(file, []byte(bare+c.more), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, errs := invoke("replay", file)
		flat := strings.Join(strings.Fields(out), " ")
		if code != exitViolation || strings.Contains(flat, "unused") != (c.want != "") || !strings.Contains(flat, c.want) {
			t.Errorf("%s: expected exit code 1 and %q, found %d:\n%s%s", c.reason, c.want, code, out, errs)
		}
		_, lines, _ := invoke("replay", file, "--json")
		if strings.Contains(lines, `"unused":["`) != (c.want != "") {
			t.Errorf("%s: found %s", c.reason, lines)
		}
	}
}

// TestJSON: text goes to stderr, and each line has the documented fields in the
// documented order.
func TestJSON(t *testing.T) {
	fields := map[string]string{
		"run":      "type scenario defect schedules events first? status expected breaks broken sometimes reason? seconds",
		"kill":     "type scenario defect property schedules",
		"finding":  "type file? scenario? defect? property message harm? cause? events decisions? work? replay?",
		"replayed": "type scenario defect events digest status broken unused? seconds",
		"checked":  "type file model operations status broken judged notJudged sometimes warning? reason? seconds",
		"summary":  "type status exit",
		"scenario": "type name doc properties sometimes defects searched?",
		"property": "type name guarantee timed untimed bounded",
		"defect":   "type name doc case scenarios",
	}
	for _, args := range [][]string{
		{"run", "textbook", "--defect", "all", "--seeds", "20"},
		{"run", "textbook", "--matrix", "--seeds", "20"},
		{"run", "textbook", "--defect", "none", "--seeds", "1"},
		{"replay", token(t, "store-ignores-token")},
		{"check", "testdata/good.jsonl", "testdata/bad.jsonl"},
		{"list"},
	} {
		_, text, _ := invoke(args...)
		code, out, errs := invoke(append(args, "--json")...)
		if normal(errs) != normal(text) {
			t.Errorf("%v: expected the text on stderr (-text +stderr):\n%s", args, cmp.Diff(normal(text), normal(errs)))
		}
		last := ""
		for line := range strings.Lines(out) {
			kind, keys := members(t, line)
			if !matches(keys, strings.Fields(fields[kind])) {
				t.Errorf("%v: expected the fields %s, found %v", args, fields[kind], keys)
			}
			last = kind
		}
		if last != "summary" && args[0] != "list" {
			t.Errorf("%v: expected a summary last, found %q", args, last)
		}
		var s summaryLine
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil || s.Exit != code && args[0] != "list" {
			t.Errorf("%v: expected a summary with exit %d, found %s", args, code, lines[len(lines)-1])
		}
	}
}

// members returns the type of a line and its keys in their order.
func members(t *testing.T, line string) (kind string, keys []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	if _, err := d.Token(); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		keys = append(keys, key.(string))
		var value any
		if err := d.Decode(&value); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if len(keys) == 1 {
			kind, _ = value.(string)
		}
		if value == nil {
			t.Errorf("%s is null in %s", key, line)
		}
	}
	return kind, keys
}

// matches says whether keys are the wanted ones in order; those with a ? may be
// absent.
func matches(keys, want []string) bool {
	for _, w := range want {
		name, optional := strings.CutSuffix(w, "?")
		switch {
		case len(keys) > 0 && keys[0] == name:
			keys = keys[1:]
		case !optional:
			return false
		}
	}
	return len(keys) == 0
}

// TestEventsAgree: the events that a replay counts, in its text and for machines,
// are those of its history, and no finding names one beyond them.
func TestEventsAgree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.jsonl")
	for _, defect := range []string{"store-ignores-token", "holder-ignores-rejection", "token-not-increased"} {
		tok := token(t, defect)
		_, text, _ := invoke("replay", tok, "--history", file)
		_, out, _ := invoke("replay", tok, "--json")
		h, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(h, []byte("\n")) - 1 // without the header
		if want := fmt.Sprintf("violated (%d events, ", n); !strings.Contains(text, want) {
			t.Errorf("%s: expected %q in\n%s", defect, want, text)
		}
		if want := fmt.Sprintf(`"events":%d,`, n); !strings.Contains(out, want) {
			t.Errorf("%s: expected %q in\n%s", defect, want, out)
		}
		for _, number := range regexp.MustCompile(`#([0-9]+)`).FindAllStringSubmatch(text, -1) {
			if i, _ := strconv.Atoi(number[1]); i > n {
				t.Errorf("%s: event #%d of %d in\n%s", defect, i, n, text)
			}
		}
	}
}

// TestReplayFiles: the history and the schedule of a replay are the same bytes
// each time, on any number of processors, from the token and from the schedule.
func TestReplayFiles(t *testing.T) {
	dir := t.TempDir()
	tok := token(t, "holder-ignores-rejection")
	var first []byte
	source := tok
	for i, processors := range []int{1, 2, 2} {
		old := runtime.GOMAXPROCS(processors)
		file := filepath.Join(dir, "h.jsonl")
		schedule := filepath.Join(dir, fmt.Sprintf("%d.schedule", i))
		code, out, errs := invoke("replay", source, "--history", file, "--schedule", schedule)
		runtime.GOMAXPROCS(old)
		if code != exitViolation || errs != "" {
			t.Fatalf("expected exit code 1, found %d: %s%s", code, out, errs)
		}
		h, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = h
		} else if !bytes.Equal(first, h) {
			t.Errorf("replay %d: expected the same history", i)
		}
		source = schedule // the last time
		if i == 0 {
			source = tok
		}
	}
	if !bytes.Contains(first, []byte(`"replay":"`+tok+`"`)) {
		t.Errorf("expected the token in the first line, found %.300s", first)
	}
	if code, out, _ := invoke("check", filepath.Join(dir, "h.jsonl")); code != exitViolation || !strings.Contains(out, tok) {
		t.Errorf("expected check to judge the history alike, found exit code %d:\n%s", code, out)
	}
	left(t, dir, "0.schedule", "1.schedule", "2.schedule", "h.jsonl")
}

// left says whether a folder holds just the named files.
func left(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in the folder (-want +got):\n%s", diff)
	}
}

// TestControlHistory: what a satisfied run writes down, check finds satisfied.
func TestControlHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.jsonl")
	sc, err := scenarios.Lookup("textbook")
	if err != nil {
		t.Fatal(err)
	}
	rec := scenarios.Recorded{Scenario: sc.Name, Revision: sc.Revision, Params: sc.Params}
	r, err := scenarios.NewRunner(sc, scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec.Digest = r.Replay(&rec.Params, nil).Result.Digest
	if code, out, errs := invoke("replay", rec.Token(), "--history", file); code != exitOK {
		t.Fatalf("expected exit code 0, found %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := invoke("check", file); code != exitOK {
		t.Errorf("expected exit code 0, found %d:\n%s%s", code, out, errs)
	}
	rec.Digest++
	code, out, errs := invoke("replay", rec.Token())
	if code != exitInternal || out != "" || !strings.HasPrefix(errs, "staleproof: diverged: expected digest ") {
		t.Errorf("expected a diverged replay and exit code 70, found %d:\n%s%s", code, out, errs)
	}
}

// TestReplayDiverged: a token whose run is another one now says where, and its
// decisions can be run all the same.
func TestReplayDiverged(t *testing.T) {
	rec, err := scenarios.ParseToken(token(t, "store-ignores-token"))
	if err != nil {
		t.Fatal(err)
	}
	rec.Schedule[0].Option++ // as if the pause were longer now
	file := filepath.Join(t.TempDir(), "run.schedule")
	code, out, errs := invoke("replay", rec.Token(), "--schedule", file)
	where := regexp.MustCompile(`^staleproof: diverged at one of the events #3[0-9] to #[34][0-9]: expected those that were recorded, found others, beginning with [^\n]*--schedule FILE[^\n]*\n$`)
	if code != exitInternal || out != "" || !where.MatchString(errs) {
		t.Errorf("expected a diverged replay and exit code 70, found %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := invoke("replay", file); code != exitViolation || errs != "" {
		t.Errorf("expected the decisions to run without a digest, found exit code %d:\n%s%s", code, out, errs)
	}
}

// TestUnexpected: what is not as expected changes the exit code and is told.
func TestUnexpected(t *testing.T) {
	sc, err := scenarios.Lookup("textbook")
	if err != nil {
		t.Fatal(err)
	}
	impossible := *sc
	impossible.Scripts = []scenarios.Script{{Name: "impossible", Steps: "A acquire\ndeliver A write 10"}}
	survivor := scenarios.Exposure{Defect: model.StoreIgnoresToken, Breaks: []string{"no-stale-write", "gives-up"}}
	greedy := scenarios.Exposure{Defect: model.StoreIgnoresToken, Breaks: []string{"no-stale-write"}, Holds: []string{"linearizable"}}
	for _, c := range []struct {
		reason string
		trials []trial
		want   string
	}{
		{"a defect that does not break what it must", []trial{{scenario: sc}, {scenario: sc, exposure: survivor}},
			"not as expected: textbook with store-ignores-token was not caught"},
		{"a defect that breaks what must hold", []trial{{scenario: sc}, {scenario: sc, exposure: greedy}},
			"not as expected: textbook with store-ignores-token broke linearizable, which must hold"},
		{"a script that cannot be played", []trial{{scenario: &impossible}},
			"script impossible, step \"deliver A write 10\": expected a message that is held"},
	} {
		var out, errs bytes.Buffer
		a := newApp(&out, &errs)
		if err := a.open(); err != nil {
			t.Fatal(err)
		}
		if err := a.runSuite(c.trials, &runOptions{seeds: seedRange{0, 30}, hunt: 30}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(out.String()), " ")
		if a.code != exitViolation || !strings.Contains(got, c.want) {
			t.Errorf("%s: expected exit code 1 and %q, found %d:\n%s", c.reason, c.want, a.code, out.String())
		}
	}
}

// TestMainJobRejectsEveryStaleWrite: the danger is met often, and never got through.
func TestMainJobRejectsEveryStaleWrite(t *testing.T) {
	seeds, least := "2000", int64(200)
	if raceDetector {
		seeds, least = "100", 10
	}
	_, out, _ := invoke("run", "textbook", "--defect", "none", "--seeds", seeds, "--json")
	var l struct {
		Broken    []string
		Sometimes map[string]int64
	}
	line, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatal(err)
	}
	attempted, rejected := l.Sometimes["stale-write-attempted"], l.Sometimes["stale-write-rejected"]
	if len(l.Broken) > 0 || attempted < least || attempted != rejected {
		t.Errorf("expected %d stale writes in %s schedules at least, all rejected, found %d and %d: %s", least, seeds, attempted, rejected, line)
	}
}

// TestReportFiles: --report and --junit write what they say.
func TestReportFiles(t *testing.T) {
	dir := t.TempDir()
	pages, junit := filepath.Join(dir, "pages"), filepath.Join(dir, "junit.xml")
	for _, args := range [][]string{
		{"run", "textbook", "--defect", "store-ignores-token"},
		{"replay", token(t, "store-ignores-token")},
		{"check", "testdata/bad.jsonl"},
	} {
		code, out, errs := invoke(append(args, "--report", pages, "--junit", junit)...)
		if code != exitViolation || !strings.Contains(out, "report: "+filepath.Join(pages, "index.html")) {
			t.Errorf("%v: expected exit code 1 and the path of the report, found %d:\n%s%s", args, code, out, errs)
		}
		for _, file := range []string{junit, filepath.Join(pages, "index.html")} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte("broke ")) && !bytes.Contains(text, []byte("violated")) {
				t.Errorf("%v: expected the violation in %s, found\n%.500s", args, file, text)
			}
		}
		os.RemoveAll(pages)
		os.Remove(junit)
	}
}

// badWriter fails or panics.
type badWriter struct{ err error }

func (w badWriter) Write([]byte) (int, error) {
	if w.err == nil {
		panic("out of order")
	}
	return 0, w.err
}

// TestInternal: what goes wrong inside is one line and exit code 70.
func TestInternal(t *testing.T) {
	var errs bytes.Buffer
	if code := run([]string{"list"}, badWriter{}, &errs); code != exitInternal || !oneLineOf(errs.String(), "staleproof: internal error: out of order (in staleproof/cmd/staleproof.badWriter.Write, line ") {
		t.Errorf("a panic: expected exit code 70 and one line, found %d: %s", code, errs.String())
	}
	errs.Reset()
	for _, arg := range []string{"list", "--version", "--help"} { // a disk that is full is nothing inside
		errs.Reset()
		if code := run([]string{arg}, badWriter{errors.New("disk full")}, &errs); code != exitUsage || !oneLineOf(errs.String(), "staleproof: expected to write to the standard output: disk full") {
			t.Errorf("%s to a broken stream: expected exit code 2 and one line, found %d: %s", arg, code, errs.String())
		}
	}
	for _, err := range []error{&watchdog.Blocked{Process: "A"}, &scenarios.NondeterminismError{}, &search.PanicError{Value: "x"}, errors.New("any")} {
		if code := exitCode(err); code != exitInternal {
			t.Errorf("%T: expected exit code 70, found %d", err, code)
		}
	}
}

func oneLineOf(text, begins string) bool {
	return strings.HasPrefix(text, begins) && strings.Count(text, "\n") == 1
}

// TestWriteFile: a file is written as a whole or not at all.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(file, func(w io.Writer) error { w.Write([]byte("half")); return errors.New("no more") }); err == nil {
		t.Error("expected an error")
	}
	if text, _ := os.ReadFile(file); string(text) != "old" {
		t.Errorf("expected the old file, found %q", text)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(link, func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "new" {
		t.Errorf("expected the new text behind the link, found %q", text)
	}
	left(t, dir, "f", "link")
	if err := writeFile(os.DevNull, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s was replaced: %v", os.DevNull, err)
	}
}

// TestSeeds: --seeds takes a number or a range.
func TestSeeds(t *testing.T) {
	for _, c := range []struct {
		text     string
		from, to uint64
		bad      bool
	}{
		{"1", 0, 1, false}, {"100000", 0, 100000, false}, {"5-5", 5, 6, false}, {"5-7", 5, 8, false}, {"0-0", 0, 1, false},
		{"0", 0, 0, true}, {"-5", 0, 0, true}, {"7-5", 0, 0, true}, {"5-", 0, 0, true}, {"", 0, 0, true},
		{"1e6", 0, 0, true}, {"2147483648", 0, 0, true}, {"0-2147483647", 0, 2147483648, false}, {"1-2-3", 0, 0, true},
	} {
		var s seedRange
		if err := s.Set(c.text); (err != nil) != c.bad || !c.bad && s != (seedRange{c.from, c.to}) {
			t.Errorf("%q: expected %d to %d, bad %t, found %+v, %v", c.text, c.from, c.to, c.bad, s, err)
		}
	}
}

// TestColor: colour only where it is asked for; the text is the same.
func TestColor(t *testing.T) {
	_, plain, _ := invoke("run", "textbook", "--defect", "store-ignores-token")
	_, coloured, _ := invoke("run", "textbook", "--defect", "store-ignores-token", "--color", "always")
	if strings.Contains(plain, "\x1b") || !strings.Contains(coloured, "\x1b[31m") {
		t.Error("expected colour with --color always and none on a pipe")
	}
	bare := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(coloured, "")
	if strings.Join(strings.Fields(normal(bare)), " ") != strings.Join(strings.Fields(normal(plain)), " ") {
		t.Errorf("expected the same text (-plain +coloured):\n%s", cmp.Diff(plain, bare))
	}
}

// TestStatus: a terminal's line is written over and taken away; elsewhere nothing
// is said of short work, and nothing at all when told to be quiet.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		reason   string
		tty, off bool
		said     bool
	}{{"a terminal", true, false, true}, {"a pipe", false, false, true}, {"quiet", true, true, false}} {
		var b bytes.Buffer
		s := &status{w: &b, tty: c.tty, off: c.off}
		s.begin("textbook")
		s.progress(64, 6400)
		if b.Len() > 0 {
			t.Errorf("%s: expected nothing at once, found %q", c.reason, b.String())
		}
		s.next.Store(s.since.UnixNano())
		s.progress(12800, 1280000)
		want := map[bool]string{true: "textbook: 13k schedules, ", false: "textbook: 12,800 schedules, "}[c.tty]
		if said := strings.Contains(b.String(), want); said != c.said {
			t.Errorf("%s: found %q", c.reason, b.String())
		}
		s.done()
		if cleared := strings.HasSuffix(b.String(), "\r\x1b[K"); cleared != (c.tty && c.said) {
			t.Errorf("%s: found %q", c.reason, b.String())
		}
	}
}

// TestStatusFits: on a terminal the line of a long search never wraps, and holds
// everything where the name is short.
func TestStatusFits(t *testing.T) {
	f := &search.Fuzz{To: 9_000_000, Shards: 1}
	p := search.Progress{Schedules: 8_765_432, Events: 1_234_567_890, Findings: 2, Coverage: 999_999}
	// the memory is left out first
	items := fuzzStatus(f, p, time.Now().Add(-time.Hour), 2*time.Hour, brief)
	for what, all := range map[string]bool{"textbook": true, "textbook with " + strings.Repeat("x", 100): false} {
		line := (&status{what: what}).fit(items)
		if columns(line) >= width || !strings.Contains(line, "8.8M schedules, 2.4k/s, 1m36s left") || all != strings.HasSuffix(line, ", 2 found, 1.2G events, cover 1.0M") {
			t.Errorf("found %d columns: %s", columns(line), line)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 9949: "9.9k", 9950: "10k", 999_499: "999k", 999_500: "1.0M", 12_345_678: "12M", 5e9: "5.0G"} {
		if got := brief(n); got != want {
			t.Errorf("%d: expected %s, found %s", n, want, got)
		}
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := count(n); got != want {
			t.Errorf("count: expected %s, found %s", want, got)
		}
	}
	long := strings.Repeat("word ", 30) + strings.Repeat("x", 100)
	for line := range strings.Lines(wrap("  * ", "    ", long)) {
		if columns(strings.TrimRight(line, "\n")) > width && !strings.Contains(line, "xxx") {
			t.Errorf("too wide: %q", line)
		}
	}
	if got, want := wrap("a ", "b ", ""), "a\n"; got != want {
		t.Errorf("wrap of nothing: expected %q, found %q", want, got)
	}
	for timing, want := range map[string]string{"timed": "1.234s", "": "1.234s", "untimed": "1234567890", "bounded": "1234567890"} {
		if got := scenarios.TimeText(1234567890, timing); got != want {
			t.Errorf("time of a %q history: expected %s, found %s", timing, want, got)
		}
	}
}
