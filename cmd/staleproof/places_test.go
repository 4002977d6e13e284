package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kept makes a folder, and in it the working folder of the test, with one of each
// file that a command reads, and returns what the files hold by name.
func kept(t *testing.T) map[string]string {
	t.Helper()
	tok := token(t, "store-ignores-token")
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"replay", tok, "--history", "rec.jsonl", "--schedule", "s.schedule", "--result", "r.res"},
		{"fuzz", "textbook", "--seeds", "64", "--out", "0.results"},
	} {
		if code, _, errs := invoke(args...); code == exitUsage || code == exitInternal {
			t.Fatal(errs)
		}
	}
	for _, err := range []error{os.Link("rec.jsonl", "hard"), os.Symlink("rec.jsonl", "soft"), os.Symlink(".", "here"), os.Symlink("new", "dangling"),
		os.MkdirAll("mine", 0o755), os.WriteFile("mine/index.html", []byte("<p>mine"), 0o644), os.WriteFile("mine/diff.html", []byte("<p>mine"), 0o644),
		os.WriteFile("mine/scenario-textbook.html", []byte("<p>mine"), 0o644), os.Mkdir("pages", 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return textsOf(t)
}

// textsOf are the files of the working folder and what they hold.
func textsOf(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != "here" {
			text, err := os.ReadFile(path)
			texts[path] = string(text)
			if os.IsNotExist(err) {
				return nil // the link that leads nowhere
			}
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestPlacesApart: what is written is nothing that the command reads, or writes
// elsewhere, however it is spelled, and nothing of somebody's own; else nothing is
// written.
func TestPlacesApart(t *testing.T) {
	before := kept(t)
	abs, err := filepath.Abs("rec.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	const read = "expected a place of its own, found %, which is read; name another"
	for _, c := range []struct {
		reason string
		args   []string
		want   string // % is the last argument
	}{
		{"the same name", []string{"check", "rec.jsonl", "--junit", "rec.jsonl"}, "--junit: " + read},
		{"another spelling", []string{"check", "rec.jsonl", "--junit", "./pages/../rec.jsonl"}, "--junit: " + read},
		{"from the root", []string{"check", "rec.jsonl", "--junit", abs}, "--junit: " + read},
		{"a hard link", []string{"check", "rec.jsonl", "--junit", "hard"}, "--junit: " + read},
		{"a symbolic link", []string{"check", "rec.jsonl", "--junit", "soft"}, "--junit: " + read},
		{"the input is a link", []string{"check", "soft", "--junit", "rec.jsonl"}, "--junit: " + read},
		{"a folder that is a link", []string{"check", "rec.jsonl", "--result", "here/rec.jsonl"}, "--result: " + read},
		{"one of several", []string{"check", "testdata", "rec.jsonl", "--result", "rec.jsonl"}, "--result: " + read},
		{"replay, history", []string{"replay", "s.schedule", "--history", "s.schedule"}, "--history: " + read},
		{"replay, schedule", []string{"replay", "s.schedule", "--schedule", "s.schedule"}, "--schedule: " + read},
		{"report", []string{"report", "r.res", "--junit", "r.res"}, "--junit: " + read},
		{"report of shards", []string{"report", "0.results", "--result", "0.results"}, "--result: " + read},
		{"merge, out", []string{"merge", "0.results", "--out", "0.results"}, "--out: " + read},
		{"merge, junit", []string{"merge", "0.results", "--junit", "0.results"}, "--junit: " + read},
		{"a regression", []string{"run", "textbook", "--regressions", ".", "--junit", "s.schedule"}, "--junit: " + read},
		{"fuzz goes on with it", []string{"fuzz", "textbook", "--seeds", "64", "--out", "0.results", "--junit", "0.results"}, "--junit, --out: expected two places, found % for both"},
		{"not there yet", []string{"run", "textbook", "--junit", "new", "--result", "here/new"}, "--junit, --result: expected two places, found % for both"},
		{"through a link that leads nowhere", []string{"run", "textbook", "--junit", "new", "--result", "dangling"}, "--junit, --result: expected two places, found % for both"},
		{"a page to be", []string{"check", "rec.jsonl", "--report", "pages", "--junit", "pages/index.html"}, "--junit, --report: expected two places, found %, which is the name of a page; name another"},
		{"a page of a finding", []string{"check", "rec.jsonl", "--report", "here/pages", "--junit", "pages/run-x.html"}, "--junit, --report: expected two places, found %, "},
		{"no page of its own", []string{"check", "rec.jsonl", "--report", "mine"}, "report: expected no mine/index.html, or that of an earlier report, found one that staleproof did not write; move it, or name another folder"},
		{"no diff of its own", []string{"diff", "s.schedule", "--report", "mine"}, "report: expected no mine/diff.html, or that of an earlier report, "},
		{"no name", []string{"replay", "s.schedule", "--history", "-"}, "--history: expected the name of a file, found -; name one, or write ./- for one of that name"},
		{"no name either", []string{"check", "rec.jsonl", "--junit", "-"}, "--junit: expected the name of a file, found -; "},
		{"no folder", []string{"check", "rec.jsonl", "--report", "-"}, "--report: expected the name of a folder, found -; "},
	} {
		code, out, errs := invoke(c.args...)
		want := "staleproof: " + strings.ReplaceAll(c.want, "%", c.args[len(c.args)-1])
		if code != exitUsage || out != "" || !oneLineOf(errs, want) {
			t.Errorf("%s: %q: expected exit code 2 and one line\n  %s...\nfound %d\n  %s%s", c.reason, c.args, want, code, errs, out)
		}
		if diff := cmp.Diff(before, textsOf(t)); diff != "" {
			t.Fatalf("%s: %q: expected that no file changes (-before +after):\n%s", c.reason, c.args, diff)
		}
	}
}

// TestPlacesOfStreams: a file that is the standard input or output, or a job's
// summary, is no place for another output.
func TestPlacesOfStreams(t *testing.T) {
	before := kept(t)
	file, err := os.Open("rec.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdin := os.Stdin
	os.Stdin = file
	defer func() { os.Stdin = stdin }()
	if code, out, errs := invoke("check", "-", "--junit", "rec.jsonl"); code != exitUsage || out != "" || !oneLineOf(errs, "staleproof: --junit: expected a place of its own, found rec.jsonl, which is read; ") {
		t.Errorf("expected that the standard input is not replaced, found %d: %s%s", code, out, errs)
	}
	var errs strings.Builder
	if code := run([]string{"check", "s.schedule", "--junit", "hard"}, file, &errs); code != exitUsage || !oneLineOf(errs.String(), "staleproof: --junit: expected a place of its own, found hard, to which the output of the command goes; ") {
		t.Errorf("expected that the standard output is not replaced, found %d: %s", code, errs.String())
	}
	t.Setenv("GITHUB_STEP_SUMMARY", "hard")
	if code, out, errs := invoke("check", "s.schedule", "--junit", "rec.jsonl"); code != exitUsage || out != "" || !oneLineOf(errs, "staleproof: --junit, GITHUB_STEP_SUMMARY: expected two places, found hard for both") {
		t.Errorf("expected that the job's summary is not replaced, found %d: %s%s", code, out, errs)
	}
	if diff := cmp.Diff(before, textsOf(t)); diff != "" {
		t.Errorf("expected that no file changes (-before +after):\n%s", diff)
	}
}

// TestPlacesReplaced: an earlier output is replaced, behind symbolic links too, and
// a page that somebody else wrote is not, whatever its name.
func TestPlacesReplaced(t *testing.T) {
	before := kept(t)
	for range 2 {
		for _, args := range [][]string{{"check", "rec.jsonl", "--junit", "dangling", "--report", "pages"}, {"diff", "s.schedule", "--report", "pages"}} {
			if code, _, errs := invoke(args...); code == exitUsage || errs != "" {
				t.Errorf("%v: %d: %s", args, code, errs)
			}
		}
	}
	if text, err := os.ReadFile("new"); err != nil || !strings.Contains(string(text), "<testsuites") {
		t.Errorf("expected JUnit behind the link, found %q, %v", text, err)
	}
	if info, err := os.Lstat("dangling"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("expected that the link remains one, found %v, %v", info, err)
	}
	if err := os.Remove("mine/index.html"); err != nil {
		t.Fatal(err)
	}
	code, _, errs := invoke("replay", "s.schedule", "--report", "mine")
	if code != exitUsage || !oneLineOf(errs, "staleproof: report: expected no mine/scenario-textbook.html, or that of an earlier report, ") {
		t.Errorf("expected exit code 2 and one line, found %d: %s", code, errs)
	}
	if text, err := os.ReadFile("mine/scenario-textbook.html"); err != nil || string(text) != before["mine/scenario-textbook.html"] {
		t.Errorf("expected that the page remains, found %q, %v", text, err)
	}
	left(t, "mine", "diff.html", "scenario-textbook.html")
}
