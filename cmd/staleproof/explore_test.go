package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

var searchSeconds = regexp.MustCompile(`in [0-9.]+ s\n`)

// TestExploreOutput holds what explore prints against golden files.
func TestExploreOutput(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		exit         int
		args         []string
	}{
		{"explore-lf-time", "the reference protocol, complete", 0, []string{"explore", "lf-time"}},
		{"explore-lf-json", "the golden counts, for machines", 0, []string{"explore", "lf", "--acquisitions", "1", "--renewals", "0", "--json"}},
		{"explore-lf-time-defect", "two believers, at the golden depth", 1, []string{"explore", "lf-time", "--defect", "deadline-from-receipt"}},
		{"explore-textbook", "a cure within small bounds", 0, []string{"explore", "textbook", "--faults", "0"}},
		{"explore-textbook-defect", "the shortest counterexample", 1, []string{"explore", "textbook", "--defect", "store-ignores-token", "--faults", "0"}},
		{"explore-truncated-layer", "a bound that is just the end of a layer is no pass either", 3, []string{"explore", "textbook", "--defect", "store-ignores-token", "--max-states", "3"}},
		{"explore-truncated", "a bound on states is no pass, and says what remains", 3, []string{"explore", "textbook", "--max-states", "500"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := invoke(c.args...)
			if code != c.exit {
				t.Errorf("%s: expected exit code %d, found %d: %s", c.reason, c.exit, code, errs)
			}
			golden(t, c.name+".golden", searchSeconds.ReplaceAllString(normal(out), "in 0.0 s\n"))
			if len(errs) > 0 && !strings.Contains(strings.Join(c.args, " "), "--json") {
				t.Errorf("%s: expected nothing on standard error, found %s", c.reason, errs)
			}
		})
	}
}

// TestExploredReplays: the token of a counterexample replays it, with the same
// verdict.
func TestExploredReplays(t *testing.T) {
	_, out, _ := invoke("explore", "textbook", "--defect", "local-check-only", "--faults", "0", "--json")
	var l struct{ Type, Replay, Property string }
	for line := range strings.Lines(out) {
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == "finding" {
			break
		}
	}
	if l.Replay == "" {
		t.Fatalf("expected a finding with a token, found:\n%s", out)
	}
	if code, text, errs := invoke("replay", l.Replay); code != exitViolation || !strings.Contains(text, "broke "+l.Property) {
		t.Errorf("expected exit code %d and the same violation, found %d:\n%s%s", exitViolation, code, text, errs)
	}
}

// TestExploreTellsItsOwn: the finding that is told first is the one that the search
// came to, whatever its replay breaks besides.
func TestExploreTellsItsOwn(t *testing.T) {
	for _, defect := range []string{"store-ignores-token", "local-check-only", "token-not-increased"} {
		_, out, _ := invoke("explore", "textbook", "--defect", defect, "--faults", "0")
		found := regexp.MustCompile(`counterexample breaks ([a-z-]+) `).FindStringSubmatch(out)
		told := regexp.MustCompile(`(?m)^  broke ([a-z-]+):`).FindStringSubmatch(out)
		if found == nil || told == nil || found[1] != told[1] {
			t.Errorf("%s: expected the same property, found %q and %q in\n%s", defect, found, told, out)
		}
	}
}

// TestGrouped: long numbers of a text have a comma between thousands.
func TestGrouped(t *testing.T) {
	for text, want := range map[string]string{
		"999 of 1000 states": "999 of 1,000 states", "1234567 bytes, 1ns": "1,234,567 bytes, 1ns", "a9999 0000": "a9999 0",
		"99999999999999999999999": "99999999999999999999999",
	} {
		if got := grouped(text); got != want {
			t.Errorf("%q: expected %q, found %q", text, want, got)
		}
	}
}

// TestExploreBadInput: one line, exit code 2.
func TestExploreBadInput(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"expected a scenario", nil},
		{"did you mean textbook?", []string{"textbok"}},
		{"unknown defect", []string{"textbook", "--defect", "nothing"}},
		{"--clients: expected 1 to 16, found 0", []string{"textbook", "--clients", "0"}},
		{"--faults: expected 0 to 15, found -3", []string{"textbook", "--faults", "-3"}},
		{"--workers: expected 1 to 1024", []string{"textbook", "--workers", "0"}},
		{"unknown flag \"--reductions\": see staleproof explore --help", []string{"textbook", "--reductions", "none"}},
		{"expected 1 to 8 clients, found 9", []string{"lf", "--clients", "9"}},
		{"--ttl: expected 1", []string{"lf-time", "--ttl", "0"}},
		{"--ttl: expected a scenario in which time is ticks, such as lf-time; in a search of textbook any timer may ring", []string{"textbook", "--ttl", "3"}},
		{"--horizon: expected a scenario in which time is ticks", []string{"lf", "--horizon", "3"}},
		{"--horizon: expected a tick from 1, found 0", []string{"lf-time", "--horizon", "0"}},
		{"--faults: expected a whole number, found \"99999999999999999999\"", []string{"lf", "--faults", "99999999999999999999"}},
		{"--max-states: expected a number of states, 0 for no limit, found -1", []string{"lf", "--max-states", "-1"}},
		{"--max-memory: expected 0, for no limit, to 1073741824 MiB, found 9223372036854775807", []string{"lf", "--max-memory", "9223372036854775807"}},
		{"--max-memory: expected 0, for no limit, to 1073741824 MiB, found -1", []string{"lf", "--max-memory", "-1"}},
		{"--for: expected a time above 0, such as 60s or 10m, found \"NaN\"", []string{"lf", "--for", "NaN"}},
		{"--for: expected a time above 0, such as 60s or 10m, found \"-1s\"", []string{"lf", "--for", "-1s"}},
		{"--defect: expected a value, found \"\"", []string{"lf", "--defect", ""}},
		{"--defect: expected one defect, found \"none+none\"", []string{"lf", "--defect", "none+none"}},
	} {
		code, out, errs := invoke(append([]string{"explore"}, c.args...)...)
		if code != exitUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("explore %v: expected exit code 2 and one line with %q, found %d: %s%s", c.args, c.want, code, out, errs)
		}
	}
}
