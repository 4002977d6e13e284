package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffOutput holds what diff prints against golden files, and looks at the
// page.
func TestDiffOutput(t *testing.T) {
	t.Cleanup(func() { os.RemoveAll("testdata/page") })
	failing := token(t, "store-ignores-token")
	for _, c := range []struct {
		name, reason string
		args         []string
		page         []string
	}{
		{"diff", "the nearest run that passes", []string{failing}, []string{"The runs part after", "the failing run", "the passing run", "only here", "violation"}},
		{"diff-calm", "another run, named", []string{failing, calmToken(t, "textbook")}, []string{"the passing run"}},
		{"diff-same", "a run and itself", []string{failing, failing}, []string{"The runs are the same"}},
		{"diff-json", "for machines", []string{failing, "--json"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := invoke(append([]string{"diff", "--report", "testdata/page"}, c.args...)...)
			if code != exitOK || c.name != "diff-json" && errs != "" {
				t.Errorf("%s: expected exit code 0, found %d: %s", c.reason, code, errs)
			}
			golden(t, c.name+".golden", out)
			fits(t, out)
			page, err := os.ReadFile("testdata/page/diff.html")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.page {
				if !strings.Contains(string(page), want) {
					t.Errorf("%s: expected %q on the page", c.reason, want)
				}
			}
		})
	}
}

// TestNearest: the run that is compared with passes, and lacks what is said.
func TestNearest(t *testing.T) {
	for _, c := range []struct {
		reason, schedule string
		want             string // what it is without; of an error, its beginning
		decisions        int    // that are left
		fails            bool
	}{
		{"one decision is to blame, another is not", "A/pause#2=2\nB/pause#0=1\n", "A/pause#2=2: ", 1, false},
		{"either alone is enough", "A/pause#2=2\nA/pause#5=2\n", "the last 2 decisions", 0, false},
		{"no decision is to blame", "", "diff: expected a run near this one that passes, found none", 0, true},
	} {
		text := "staleproof.schedule/1\nscenario: textbook\ndefects: store-ignores-token\n\n" + c.schedule
		if c.fails {
			text = strings.Replace(text, "store-ignores-token", "token-not-increased", 1)
		}
		file := filepath.Join(t.TempDir(), "x.schedule")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		failing, err := replayArgument(file)
		if err != nil {
			t.Fatalf("%s: %v", c.reason, err)
		}
		got, without, err := nearest(failing)
		switch {
		case c.fails:
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: expected an error %q, found %v", c.reason, c.want, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.reason, err)
		case !strings.HasPrefix(without, c.want) || len(got.Schedule) != c.decisions || len(got.findings) > 0:
			t.Errorf("%s: expected a passing run of %d decisions without %q, found %s with %d without %q", c.reason, c.decisions, c.want, got.verdict, len(got.Schedule), without)
		}
	}
}
