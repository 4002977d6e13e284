package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"staleproof/model/history"
	"staleproof/reports"
	"staleproof/sim/watchdog"
)

// hostile is a name that a terminal would obey: a colour, a title, a carriage return,
// a bell, an escape in one character, a mark of direction, and a line of its own.
const hostile = "x\x1b[32m\x1b[1my\x1b]0;owned\a\rz\u009b31m\u202egnp\ufeff\x7f\u0085q"

// disguised puts hostile behind every name and text of a history in JSON.
func disguised(t *testing.T, text string) string {
	t.Helper()
	name, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	fields := regexp.MustCompile(`"(process|resource|lease|client|owner)":"([^"]*)"`)
	text = fields.ReplaceAllString(text, `"${1}":"${2}`+strings.ReplaceAll(string(name[1:len(name)-1]), "$", "$$")+`"`)
	return regexp.MustCompile(`"value":(\d+)`).ReplaceAllString(text, `"value":"${1} `+strings.ReplaceAll(string(name[1:len(name)-1]), "$", "$$")+`"`)
}

// mustBePrintable fails the test where a terminal would obey or hide something.
func mustBePrintable(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
			t.Errorf("%s: expected %q to be escaped, found it in %q", what, r, text[max(0, i-40):min(len(text), i+40)])
			return
		}
	}
}

// TestEscape: the only control sequences in any output are the command's own colours.
func TestEscape(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	texts := map[string]string{
		"acquire.edn": fmt.Sprintf("{:process 0 :type :invoke :f :acquire :value %q}\n{:process 0 :type :ok :f :acquire :value %[1]q}\n", "x\x1b[32m\u009b\u202e\r"),
		"junk":        "junk" + hostile + "\n",
		"junk.jsonl":  `{"format":"staleproof.history/1"}` + "\n" + `{"index":1,"process":"A","type":"invoke","f":"wr` + strings.Trim(strconv.Quote(hostile), `"`) + `","op":1}` + "\n",
	}
	for _, name := range []string{"good.jsonl", "bad.jsonl", "lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = disguised(t, string(text))
	}
	register, err := os.ReadFile(filepath.Join("testdata", "register.log"))
	if err != nil {
		t.Fatal(err)
	}
	texts["register.log"] = string(register)
	tok := token(t, "store-ignores-token")
	t.Chdir(t.TempDir())
	if err := os.Mkdir("d"+hostile, 0o755); err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for name, text := range texts {
		for _, name := range []string{name, name + hostile} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, model := range []string{"", "fenced", "lease", "mutex", "register"} {
				args := []string{"check", "--explain", "--junit", "junit.xml", name}
				if model != "" {
					args = append(args, "--model", model)
				}
				commands = append(commands, args)
			}
			commands = append(commands, []string{"replay", name}, []string{"report", name}, []string{"merge", name}, []string{"diff", name})
		}
	}
	commands = append(commands, []string{hostile}, []string{"run", hostile}, []string{"run", "--seeds", hostile}, []string{"run", "--" + hostile}, []string{"check", "missing" + hostile},
		[]string{"run", "textbook", "--defect", "none", "--seeds", "1", "--regressions", hostile}, []string{"run", "textbook", "--defect", "none", "--seeds", "1", "--regressions", "d" + hostile}, []string{"fuzz", "--defect", hostile}, []string{"help", hostile},
		[]string{"check", "--model", hostile, "good.jsonl"}, []string{"check", "--init", hostile, "register.log"}, []string{"explore", hostile},
		[]string{"replay", "sp1:" + hostile}, []string{"replay", tok, "--history", "h" + hostile, "--schedule", "s" + hostile, "--report", "r" + hostile},
		[]string{"replay", tok, "--junit", "none" + hostile + "/x"})
	for _, args := range commands {
		code, out, errs := invoke(append(args, "--color", "never")...)
		mustBePrintable(t, fmt.Sprintf("%q", args), out)
		mustBePrintable(t, fmt.Sprintf("%q", args), errs)
		junit, _ := os.ReadFile("junit.xml")
		mustBePrintable(t, fmt.Sprintf("JUnit of %q", args), string(junit))
		if code == exitUsage && strings.Count(errs, "\n") != 1 {
			t.Errorf("%q: expected one line, found %q", args, errs)
		}
		again, coloured, errs2 := invoke(append(args, "--color", "always")...)
		out, coloured = textSeconds.ReplaceAllString(out, ""), textSeconds.ReplaceAllString(coloured, "")
		if bare := styles.ReplaceAllString(coloured, ""); again != code || bare != out || errs2 != errs {
			t.Errorf("%q: expected colours alone to differ, found exit code %d for %d and\n%q\nfor\n%q", args, again, code, bare, out)
		}
		_, lines, _ := invoke(append(args, "--json")...)
		mustBePrintable(t, fmt.Sprintf("%q --json", args), lines)
		for line := range strings.Lines(lines) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q: expected JSON, found %q", args, line)
			}
		}
	}
}

// TestEscapeSays: what was escaped can be read, and JSON means the text as it was.
func TestEscapeSays(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "bad.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bad.jsonl", []byte(disguised(t, string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out, errs := invoke("check", "--explain", "bad.jsonl", "--color", "always")
	for _, want := range []string{history.Printable(hostile), `orders/7x\x1b[32m\x1b[1my`} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("expected %s in the output, found\n%s%s", want, out, errs)
		}
	}
	_, lines, _ := invoke("check", "bad.jsonl", "--json")
	found := false
	for line := range strings.Lines(lines) {
		var l struct{ Message string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		found = found || strings.Contains(l.Message, "orders/7"+hostile)
	}
	if !found {
		t.Errorf("expected a message with the name as it is, found\n%s", lines)
	}
}

// TestEscapeOfCode: nor does what code under test says: the names of its processes, its
// panics and their stacks.
func TestEscapeOfCode(t *testing.T) {
	for _, c := range []struct {
		name  string
		print func(*app)
	}{
		{"printf", func(a *app) { a.printf("%s: %s\n", hostile, a.style(red, hostile)) }},
		{"an error", func(a *app) { a.fail(errors.New(hostile)) }},
		{"a process that blocks", func(a *app) { a.fail(&watchdog.Blocked{Process: hostile, Stack: "goroutine 1\n\t" + hostile}) }},
		{"a panic", func(a *app) {
			a.findings([]told{{Finding: reports.Finding{Message: hostile, Decisions: []string{hostile}, Chain: []reports.Link{{Text: hostile}}}, stack: "goroutine 1\n\t" + hostile}}, true)
		}},
		{"the status line", func(a *app) {
			a.status.tty = false
			a.status.begin(hostile)
			a.status.next.Store(1)
			a.status.progress(1, 1)
		}},
	} {
		var got [2]string
		for i, colored := range []bool{false, true} {
			var out, errs bytes.Buffer
			a := newApp(&out, &errs)
			a.colored = colored
			c.print(a)
			got[i] = styles.ReplaceAllString(out.String()+errs.String(), "")
		}
		mustBePrintable(t, c.name, got[0])
		if !strings.Contains(got[0], `owned\a`) || c.name != "printf" && c.name != "the status line" && got[0] != got[1] {
			t.Errorf("%s: expected the text escaped, and the same with colours, found %q and %q", c.name, got[0], got[1])
		}
	}
}
