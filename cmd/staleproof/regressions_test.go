package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// scheduleOf writes the schedule of a defect's first finding to a file of its own
// folder, changed.
func scheduleOf(t *testing.T, defect string, change func(string) string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "late-write.schedule")
	if code, _, errs := invoke("replay", token(t, defect), "--schedule", file); code != exitViolation {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(change(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	digestLine  = regexp.MustCompile(`(?m)^digest: .*\n`)
	trailLine   = regexp.MustCompile(`(?m)^trail: .*\n`)
	defectsLine = regexp.MustCompile(`(?m)^defects: .*\n`)
	decided     = regexp.MustCompile(`(?m)^A/pause#2=.`)
)

// TestDiverged: a schedule file says at which event its replay left the recorded
// run; a token, and a file without a trail, that it did.
func TestDiverged(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(string) string
		exit   int
		want   string
	}{
		{"nothing changed", func(s string) string { return s }, exitViolation, ""},
		{"another decision", func(s string) string { return decided.ReplaceAllString(s, "A/pause#2=3") }, exitInternal, "diverged at event #36: expected the event that was recorded"},
		{"without a trail", func(s string) string {
			return trailLine.ReplaceAllString(decided.ReplaceAllString(s, "A/pause#2=3"), "")
		}, exitInternal, "diverged: expected digest"},
		{"without a digest nothing is compared", func(s string) string {
			return digestLine.ReplaceAllString(decided.ReplaceAllString(s, "A/pause#2=3"), "")
		}, exitViolation, ""},
		{"no trail", func(s string) string { return trailLine.ReplaceAllString(s, "trail: abc\n") }, exitUsage, "expected a trail: two letters of base64url an event"},
		{"no letters", func(s string) string { return trailLine.ReplaceAllString(s, "trail: a!\n") }, exitUsage, "expected a trail"},
	} {
		file := filepath.Join(scheduleOf(t, "store-ignores-token", c.change), "late-write.schedule")
		code, _, errs := invoke("replay", file)
		if code != c.exit || !strings.Contains(errs, c.want) || c.want != "" && strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: expected exit code %d and one line with %q, found %d: %s", c.reason, c.exit, c.want, code, errs)
		}
	}
}

// TestRegressions: the schedules of a folder are replayed first.
func TestRegressions(t *testing.T) {
	same := func(s string) string { return s }
	mended := func(s string) string { return defectsLine.ReplaceAllString(s, "defects: none\n") }
	tame := func(s string) string {
		return digestLine.ReplaceAllString(decided.ReplaceAllString(s, "A/pause#2=0"), "")
	}
	for _, c := range []struct {
		reason string
		dir    string
		exit   int
		want   string
	}{
		{"a defect breaks what it broke", scheduleOf(t, "store-ignores-token", same), exitOK, "regressions: 1 schedule of"},
		{"what was mended holds, and runs another way", scheduleOf(t, "store-ignores-token", mended), exitOK, "satisfied, expected satisfied\n  another run than the one recorded: diverged at event #"},
		{"a defect that is not caught any more", scheduleOf(t, "store-ignores-token", tame), exitViolation, "satisfied, expected violated"},
		{"an empty folder", t.TempDir(), exitOK, ""},
		{"a broken file", scheduleOf(t, "store-ignores-token", func(string) string { return "x" }), exitUsage, "staleproof.schedule/1"},
		{"no folder", "nowhere", exitUsage, "--regressions: expected a folder"},
	} {
		code, out, errs := invoke("run", "textbook", "--defect", "none", "--seeds", "200", "--regressions", c.dir)
		flat := regexp.MustCompile(`\n +`).ReplaceAllString(out, "\n  ")
		if code != c.exit || !strings.Contains(strings.ReplaceAll(flat+errs, "\n  ", " "), strings.ReplaceAll(c.want, "\n  ", " ")) {
			t.Errorf("%s: expected exit code %d and %q, found %d:\n%s%s", c.reason, c.exit, c.want, code, out, errs)
		}
	}
	dir := scheduleOf(t, "store-ignores-token", tame)
	_, out, text := invoke("run", "check-apart", "--defect", "none", "--seeds", "200", "--regressions", dir, "--json")
	if strings.Contains(out, `"regression"`) || !strings.HasPrefix(text, "regressions: 1 schedule of "+dir+" not replayed, of scenarios that are not run\n") {
		t.Errorf("expected schedules of other scenarios to be left out, and that to be said, found:\n%s%s", out, text)
	}
	if _, out, _ := invoke("run", "textbook", "--defect", "none", "--seeds", "200", "--regressions", dir, "--json"); !strings.Contains(out, `"status":"satisfied","expected":false`) {
		t.Errorf("expected a line for machines, found:\n%s", out)
	}
}

// TestNoRegressions: a folder that holds no schedule, or something else by the name
// of one, is told.
func TestNoRegressions(t *testing.T) {
	dir := t.TempDir()
	args := []string{"run", "textbook", "--defect", "none", "--seeds", "200", "--regressions", dir}
	if code, out, errs := invoke(args...); code != exitOK || !strings.HasPrefix(out, "regressions: no file of "+dir+" ends in .schedule\n") {
		t.Errorf("expected exit code 0 and a line, found %d: %s%s", code, out, errs)
	}
	gone := filepath.Join(dir, "gone.schedule")
	if err := os.Symlink("nowhere", gone); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := invoke(args...); code != exitUsage || out != "" || !oneLineOf(errs, "staleproof: "+gone+": expected a schedule file, found no such file; ") {
		t.Errorf("expected exit code 2 and one line, found %d: %s%s", code, out, errs)
	}
	os.Remove(gone)
	if err := syscall.Mkfifo(filepath.Join(dir, "a.schedule"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := invoke(args...); code != exitUsage || out != "" || !oneLineOf(errs, "staleproof: "+filepath.Join(dir, "a.schedule")+": expected a schedule file, found a pipe") {
		t.Errorf("expected exit code 2 and one line, found %d: %s%s", code, out, errs)
	}
}
