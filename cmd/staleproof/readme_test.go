package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/scenarios"
)

// root is the repository as seen from this package.
const root = "../.."

// block is a part of the README whose content is produced: what produces it is
// named in a comment before it.
var block = regexp.MustCompile("(?s)<!-- (output|script|golden): ([^\n]*) -->\n```\n(.*?)```\n<!-- end -->")

// TestReadme: the outputs that the README shows are those of the command.
// -update rewrites them.
func TestReadme(t *testing.T) {
	path := filepath.Join(root, "README.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	got := block.ReplaceAllStringFunc(string(text), func(b string) string {
		found++
		m := block.FindStringSubmatch(b)
		return "<!-- " + m[1] + ": " + m[2] + " -->\n```\n" + produced(t, m[1], m[2]) + "```\n<!-- end -->"
	})
	if found < 3 {
		t.Errorf("expected at least 3 produced blocks, found %d", found)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("%s (-README +produced):\n%s", path, diff)
	}
}

// produced returns what belongs into a block.
func produced(t *testing.T, kind, what string) string {
	switch kind {
	case "golden":
		text, err := os.ReadFile(filepath.Join(root, what))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	case "script":
		scenario, name, _ := strings.Cut(what, " ")
		sc, err := scenarios.Lookup(scenario)
		if err != nil {
			t.Fatal(err)
		}
		script, err := sc.ScriptNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		played, err := scenarios.RunScript(sc, script, scenarios.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return played.Transcript()
	}
	var out, errs bytes.Buffer
	run(strings.Fields(what)[1:], &out, &errs)
	if errs.Len() > 0 {
		t.Errorf("%s: expected nothing on standard error, found %s", what, errs.String())
	}
	return "$ " + what + "\n" + seconds.ReplaceAllString(out.String(), "0.0 s")
}

// seconds is the only thing in an output that differs from run to run.
var seconds = regexp.MustCompile(`\d+\.\d+ s\b`)
