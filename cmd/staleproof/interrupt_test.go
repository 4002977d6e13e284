package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interrupter sends this process an interrupt behind the first line of a type, when it
// waits for signals, and gives it the time to arrive.
type interrupter struct {
	bytes.Buffer
	kind string
	sent bool
}

func (w *interrupter) Write(b []byte) (int, error) {
	if !w.sent && strings.HasPrefix(string(b), `{"type":"`+w.kind+`"`) {
		w.sent = true
		syscall.Kill(os.Getpid(), syscall.SIGINT)
		time.Sleep(300 * time.Millisecond)
	}
	return w.Buffer.Write(b)
}

// TestInterruptedBetween: an interrupt between two scenarios ends the work too, and
// what had not begun is no pass.
func TestInterruptedBetween(t *testing.T) {
	for _, c := range []struct {
		kind string
		args []string
	}{
		{"run", []string{"run", "textbook", "check-apart", "--defect", "none", "--seeds", "200"}},
		{"fuzzed", []string{"fuzz", "textbook", "check-apart", "--seeds", "2000"}},
	} {
		dir := t.TempDir()
		var errs bytes.Buffer
		out := &interrupter{kind: c.kind}
		code := run(append(c.args, "--json", "--result", filepath.Join(dir, "result.json")), out, &errs)
		if code != exitInconclusive || !strings.Contains(errs.String(), "inconclusive: interrupted") || strings.Count(out.String(), `{"type":"`+c.kind+`"`) != 1 {
			t.Errorf("%v: expected exit code 3 after one scenario, found %d:\n%s%s", c.args, code, out, &errs)
		}
		// What was kept says it too.
		code, _, text := invoke("report", filepath.Join(dir, "result.json"), "--report", filepath.Join(dir, "pages"), "--junit", filepath.Join(dir, "junit.xml"))
		junit, _ := os.ReadFile(filepath.Join(dir, "junit.xml"))
		if code != exitInconclusive || !strings.Contains(string(junit), `<testsuite name="check-apart" tests="1" failures="0" errors="1"`) || !strings.Contains(string(junit), "interrupted before it began") {
			t.Errorf("%v: expected an inconclusive result of check-apart, found exit code %d: %s\n%s", c.args, code, text, junit)
		}
		if !strings.HasSuffix(out.String(), `{"type":"summary","status":"inconclusive","exit":3}`+"\n") {
			t.Errorf("%v: expected the summary at the end, found\n%s", c.args, out)
		}
	}
}
