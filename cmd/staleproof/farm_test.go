package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"staleproof/scenarios/search"
)

// asCommand is set where the test program is to be the command.
const asCommand = "STALEPROOF_TEST_COMMAND"

// command is staleproof as a process of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// shell runs a shell command in dir, where staleproof is the test program, and
// returns its exit code and output.
func shell(t *testing.T, dir, line string, env ...string) (int, string) {
	t.Helper()
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "staleproof"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// recipe reads a file of the repository.
func recipe(t *testing.T, path string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// only is the part of a recipe that matches, its lines folded as YAML's > does.
func only(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("expected %s in the recipe, found:\n%s", pattern, text)
	}
	return strings.Join(strings.Fields(m[1]), " ")
}

// unsharded is what one run of the seeds into a file says at last.
func unsharded(t *testing.T, seeds string, scenarios ...string) string {
	t.Helper()
	code, out, errs := invoke(append([]string{"fuzz", "--seeds", seeds, "--out", filepath.Join(t.TempDir(), "whole.results")}, scenarios...)...)
	if code != exitOK {
		t.Fatalf("exit code %d:\n%s%s", code, out, errs)
	}
	return normal(out)
}

// TestFarmWorkflow runs the commands of the GitHub workflow as its jobs would, and
// the verdict is that of one run of all seeds.
func TestFarmWorkflow(t *testing.T) {
	if raceDetector {
		t.Skip("a hundred times slower")
	}
	text := strings.ReplaceAll(recipe(t, ".github/workflows/farm.yml"), "go run ./cmd/staleproof", "staleproof")
	fuzz := only(t, text, `(?s)- run: >\n(.*?)\n +env:`)
	merge := only(t, text, `- run: (staleproof merge .*)`)
	shards := strings.Split(only(t, text, `shard: \[(.*)\]`), ", ")
	for _, x := range []string{"SEEDS: ${{ inputs.seeds }}", "SHARD: ${{ matrix.shard }}", "SHARDS: ${{ strategy.job-total }}", `path: "*.results"`, "path: results, merge-multiple: true"} {
		if !strings.Contains(text, x) {
			t.Fatalf("expected %q in the recipe", x)
		}
	}
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	if err := os.Mkdir(results, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, shard := range shards { // each on a machine of its own; artifacts are put together
		if code, out := shell(t, results, fuzz, "SEEDS=160", "SHARD="+shard, fmt.Sprint("SHARDS=", len(shards))); code != exitOK {
			t.Fatalf("shard %s: exit code %d:\n%s", shard, code, out)
		}
	}
	code, out := shell(t, dir, merge)
	if diff := cmp.Diff(unsharded(t, "160"), normal(out)); code != exitOK || diff != "" {
		t.Errorf("exit code %d (-one run +merged):\n%s", code, diff)
	}
	if err := os.Remove(filepath.Join(results, "3.results")); err != nil {
		t.Fatal(err)
	}
	if code, out := shell(t, dir, merge); code != exitInconclusive || !strings.Contains(out, "missing: shard 3/8") {
		t.Errorf("expected a missing shard to be inconclusive, found exit code %d:\n%s", code, out)
	}
}

// TestFarmJob runs the command of the Kubernetes job for each of its 64 indexes.
func TestFarmJob(t *testing.T) {
	if raceDetector {
		t.Skip("a hundred times slower")
	}
	text := recipe(t, ".github/farm/job.yaml")
	fuzz := only(t, text, `(?s)args:\n +- >\n(.*?)\n +resources:`)
	if only(t, text, `completions: (\d+)`) != "64" || !strings.Contains(fuzz, "/64") {
		t.Fatalf("expected 64 completions and as many shards, found %s", fuzz)
	}
	dir := t.TempDir()
	fuzz = strings.NewReplacer("/results/", dir+"/", "100000000", "192", "staleproof fuzz", "staleproof fuzz textbook --quiet").Replace(fuzz)
	for i := range 64 {
		if code, out := shell(t, dir, fuzz, fmt.Sprint("JOB_COMPLETION_INDEX=", i)); code != 0 {
			t.Fatalf("index %d: exit code %d:\n%s", i, code, out)
		}
	}
	code, out := shell(t, dir, "staleproof merge ./*.results")
	if diff := cmp.Diff(unsharded(t, "192", "textbook"), normal(out)); code != exitOK || diff != "" {
		t.Errorf("exit code %d (-one run +merged):\n%s", code, diff)
	}
}

// TestEndedFromOutside: what a search has when it is interrupted or killed stands in
// its file, and the same command goes on from there, but not before it has ended.
func TestEndedFromOutside(t *testing.T) {
	if raceDetector {
		t.Skip("a hundred times slower")
	}
	file := filepath.Join(t.TempDir(), "x.results")
	args := []string{"fuzz", "textbook", "--seeds", "10000000", "--strategy", "aimed", "--out", file}
	blocks := func() int {
		text, _ := os.ReadFile(file)
		r, _, err := search.ReadResults("x", bytes.NewReader(text))
		if err != nil {
			return 0
		}
		return len(r.Blocks())
	}
	had := 0
	for _, c := range []struct {
		signal syscall.Signal
		code   int // -1: it dies of the signal
		says   string
	}{
		{syscall.SIGKILL, -1, ""},
		{syscall.SIGINT, exitInconclusive, "interrupted after "},
		{syscall.SIGTERM, exitInconclusive, "interrupted after "},
	} {
		cmd := command(t, args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); blocks() == had && time.Since(began) < time.Minute; {
			time.Sleep(10 * time.Millisecond)
		}
		if code, _, errs := invoke(args...); code != exitUsage || !oneLineOf(errs, "staleproof: --out: expected a file that no other search writes, found "+file) {
			t.Errorf("expected that the file is refused to a second search, found exit code %d: %s", code, errs)
		}
		cmd.Process.Signal(c.signal)
		cmd.Wait()
		now := blocks()
		if code := cmd.ProcessState.ExitCode(); code != c.code || now <= had || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: expected exit code %d, more than %d blocks and %q, found %d, %d:\n%s", c.signal, c.code, had, c.says, code, now, out.String())
		}
		had = now
	}
}
