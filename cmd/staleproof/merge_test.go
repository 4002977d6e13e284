package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// farmOut runs the shards of a search and returns their files.
func farmOut(t *testing.T, shards int, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var files []string
	for k := range shards {
		file := filepath.Join(dir, fmt.Sprintf("%d.results", k))
		args := append([]string{"fuzz", "--quiet", "--shard", fmt.Sprintf("%d/%d", k, shards), "--out", file}, args...)
		if code, _, errs := invoke(args...); code > exitViolation || errs != "" {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		files = append(files, file)
	}
	return files
}

// TestMerge: shards merged, in any order and more than once, say word for word
// what one run of all seeds into a file says.
func TestMerge(t *testing.T) {
	search := []string{"check-apart", "--seeds", "5-300", "--defect", "none", "--defect", "store-checks-apart"}
	whole := filepath.Join(t.TempDir(), "whole.results")
	code, want, _ := invoke(append([]string{"fuzz", "--json", "--out", whole}, search...)...)
	if code != exitViolation {
		t.Fatalf("expected a violation, found exit code %d", code)
	}
	files := farmOut(t, 5, search...)
	files = append(files[3:], files[0], files[2], files[1], files[4])
	code, got, errs := invoke(append([]string{"merge", "--json"}, files...)...)
	if diff := cmp.Diff(normal(want), normal(got)); code != exitViolation || diff != "" {
		t.Errorf("exit code %d, %s (-whole +merged):\n%s", code, errs, diff)
	}
	again := filepath.Join(t.TempDir(), "merged.results")
	invoke(append([]string{"merge", "--quiet", "--out", again}, files...)...)
	if code, got, errs = invoke("merge", "--json", again, files[1]); code != exitViolation || normal(got) != normal(want) {
		t.Errorf("expected merged results to be merged once more, found exit code %d: %s\n%s", code, errs, got)
	}
}

// TestMergeGaps: what is missing makes a pass inconclusive, and a violation stays
// one.
func TestMergeGaps(t *testing.T) {
	good := farmOut(t, 3, "textbook", "--seeds", "600")
	bad := farmOut(t, 3, "textbook", "--seeds", "600", "--defect", "store-ignores-token")
	eight := farmOut(t, 1, "textbook", "--seeds", "601")
	cut := filepath.Join(t.TempDir(), "cut.results")
	text, err := os.ReadFile(good[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cut, text[:len(text)-9], 0o644); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "old.results")
	if err := os.WriteFile(old, []byte(strings.Replace(string(text), `"version":"`+version, `"version":"0.0.9`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		files  []string
		exit   int
		want   string
	}{
		{"all there", good, exitOK, "textbook: satisfied (mix, 600 schedules"},
		{"a shard is missing", good[:2], exitInconclusive, "missing: shard 2/3"},
		{"a shard was killed", []string{good[0], cut, good[2]}, exitInconclusive, "missing: shard 1/3"},
		{"a violation, and a shard is missing", bad[1:], exitViolation, "missing: shard 0/3"},
		{"of different searches", []string{good[0], bad[1]}, exitUsage, "expected results of scenarios textbook (revision"},
		{"of different seeds", []string{good[0], eight[0]}, exitUsage, "expected results of seeds 0-599, as in those before, found 0-600"},
		{"of another version", []string{good[0], old}, exitUsage, "expected results of version " + version},
		{"all of another version", []string{old}, exitUsage, "expected results of version " + version},
		{"no results", []string{"testdata/good.jsonl"}, exitUsage, "staleproof.results/1"},
		{"no file", []string{"nowhere"}, exitUsage, "nowhere"},
		{"a folder", []string{"testdata"}, exitUsage, "found a directory"},
		{"nothing", nil, exitUsage, "expected result files"},
	} {
		code, out, errs := invoke(append([]string{"merge"}, c.files...)...)
		if code != c.exit || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: expected exit code %d and %q, found %d:\n%s%s", c.reason, c.exit, c.want, code, out, errs)
		}
		if c.exit == exitUsage && (out != "" || strings.Count(errs, "\n") != 1) {
			t.Errorf("%s: expected one line, found %s%s", c.reason, out, errs)
		}
	}
}

// TestFuzzResumes: a search goes on where its file ends, and refuses the file of
// another.
func TestFuzzResumes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.results")
	args := []string{"fuzz", "textbook", "--seeds", "400", "--json", "--out", file}
	_, want, _ := invoke(args...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		left   string
	}{
		{"nothing was lost", string(text)},
		{"killed in the middle of a line", string(text[:len(text)-30])},
		{"killed in the header", string(text[:50])},
		{"killed at once", ""},
	} {
		if err := os.WriteFile(file, []byte(c.left), 0o644); err != nil {
			t.Fatal(err)
		}
		code, got, errs := invoke(args...)
		if after, _ := os.ReadFile(file); code != exitOK || normal(got) != normal(want) || string(after) != string(text) {
			t.Errorf("%s: expected the same output and file, found exit code %d: %s\n%s", c.reason, code, errs, got)
		}
	}
	for _, c := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"other seeds", []string{"textbook", "--seeds", "500", "--out", file}, "the file is of another search: expected results of seeds"},
		{"no result file", []string{"textbook", "--out", "testdata/good.jsonl"}, "staleproof.results/1"},
		{"what learns cannot be shared out", []string{"--out", file, "--strategy", "portfolio"}, "expected mix"},
		{"every seed is run", []string{"--shard", "0/2", "--until", "1"}, "--until: expected 0"},
		{"no such shard", []string{"--shard", "2/2"}, "expected K/N"},
		{"no shards", []string{"--shard", "x"}, "expected K/N"},
		{"no folder", []string{"--out", "nowhere/x"}, "make it first"},
	} {
		before, _ := os.ReadFile("testdata/good.jsonl")
		code, out, errs := invoke(append([]string{"fuzz"}, c.args...)...)
		if after, _ := os.ReadFile("testdata/good.jsonl"); string(after) != string(before) {
			t.Fatal("the file was changed")
		}
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: expected exit code 2 and one line with %q, found %d: %s%s", c.reason, c.want, code, errs, out)
		}
	}
}
