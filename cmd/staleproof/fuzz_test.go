package main

import (
	"strings"
	"testing"
)

// TestFuzzOutput holds what fuzz prints against golden files.
func TestFuzzOutput(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		exit         int
		args         []string
	}{
		{"help-fuzz", "the flags and the strategies", 0, []string{"fuzz", "--help"}},
		{"fuzz", "a control in which nothing breaks", 0, []string{"fuzz", "textbook", "--seeds", "300"}},
		{"fuzz-defect", "a defect", 1, []string{"fuzz", "check-apart", "--defect", "store-checks-apart"}},
		{"fuzz-json", "the same for machines, up to the second property", 1, []string{"fuzz", "check-apart", "--defect", "store-checks-apart", "--until", "2", "--json"}},
		{"fuzz-untried", "a danger that never occurred is no pass", 3, []string{"fuzz", "textbook", "--seeds", "1-1", "--strategy", "swarm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := invoke(c.args...)
			if code != c.exit {
				t.Errorf("%s: expected exit code %d, found %d: %s", c.reason, c.exit, code, errs)
			}
			golden(t, c.name+".golden", normal(out))
		})
	}
}

func TestFuzzBadArguments(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
		want   string
	}{
		{"no scenario", []string{"textbok"}, "did you mean textbook?"},
		{"no strategy", []string{"--strategy", "luck"}, "expected one of portfolio, mix, storm"},
		{"no time", []string{"--for", "soon"}, "expected a time above 0, such as 60s or 10m"},
		{"time runs forwards", []string{"--for", "-1s"}, "expected a time above 0"},
		{"a number of findings", []string{"--until", "-1"}, "--until: expected"},
		{"no defect of the scenario", []string{"textbook", "--defect", "replica-lags"}, "defect \"replica-lags\" is not one that textbook exposes: fuzz it in "},
	} {
		code, out, errs := invoke(append([]string{"fuzz"}, c.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: expected exit code 2 and one line with %q, found %d: %s%s", c.reason, c.want, code, errs, out)
		}
	}
}

// TestFuzzFor: time ends a search as cleanly as seeds do. How much is done by then
// depends on the machine.
func TestFuzzFor(t *testing.T) {
	code, out, errs := invoke("fuzz", "textbook", "check-apart", "--for", "400ms")
	if code != exitOK && code != exitInconclusive || !strings.Contains(out, "textbook: ") || !strings.Contains(out, "check-apart: ") || strings.Contains(out, "interrupted") {
		t.Errorf("expected a verdict on both scenarios, found %d:\n%s%s", code, out, errs)
	}
}
