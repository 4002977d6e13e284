package scenarios

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

func recordedForTest(t *testing.T) *Recorded {
	t.Helper()
	sc, err := Lookup("textbook")
	if err != nil {
		t.Fatal(err)
	}
	r := &Recorded{Scenario: sc.Name, Revision: sc.Revision, Defects: model.StoreIgnoresToken | model.TokenNotIncreased,
		Params: sc.Params, Seed: 41, Digest: 0x00c0ffee00000001,
		Schedule: sim.Schedule{
			{Key: sim.Key{Proc: 2, Site: sim.SitePause, Count: 2}, Option: 3},
			{Key: sim.Key{Proc: -1, Site: sim.SiteTie, Count: 7}, Option: 1},
			{Key: sim.Key{Proc: 0, Site: sim.SiteHold}, Option: 2},
		}}
	for name, value := range map[string]int64{"clients": 2, "writes": 1} {
		if err := r.Params.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

const scheduleText = `staleproof.schedule/1
scenario: textbook
revision: 2
defects: store-ignores-token+token-not-increased
timing: timed
params: clients=2 writes=1
seed: 41
digest: 00c0ffee00000001

A/pause#2=3              # in words
*/tie#7=1                # in words
manager/hold#0=2         # in words
`

func TestScheduleFile(t *testing.T) {
	want := recordedForTest(t)
	text, err := FormatSchedule(want, func(sim.Decision) string { return "in words" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scheduleText, text); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ reason, text string }{
		{"as it is written", text},
		{"with the line ends of Windows and a byte order mark", "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")},
		{"with comments and blank lines", "# mine\n\n" + strings.ReplaceAll(text, "\n", "\t# why\n\n")},
		{"without an end of line", strings.TrimSuffix(text, "\n")},
		{"without words", strings.ReplaceAll(text, "# in words", "")},
	} {
		got, err := ParseScheduleFile("s", c.text)
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
		if got.Token() != want.Token() {
			t.Errorf("%s: expected the same token", c.reason)
		}
	}
}

// TestScheduleDefaults: what a file does not name is the scenario's own.
func TestScheduleDefaults(t *testing.T) {
	got, err := ParseScheduleFile("s", ScheduleFormat+"\nscenario: textbook\n")
	if err != nil {
		t.Fatal(err)
	}
	sc, err := Lookup("textbook")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&Recorded{Scenario: "textbook", Revision: sc.Revision, Params: sc.Params}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := FormatSchedule(&Recorded{Scenario: "nope"}, nil); err == nil {
		t.Error("expected an unknown scenario to be an error")
	}
}

func TestScheduleErrors(t *testing.T) {
	edit := func(old, new string) string { return strings.Replace(scheduleText, old, new, 1) }
	for _, c := range []struct{ reason, text, want string }{
		{"empty", "", `s: expected "staleproof.schedule/1", found an empty file; write a schedule file with `},
		{"only comments", "# nothing\n", `s: expected "staleproof.schedule/1", found an empty file; `},
		{"another version", edit("schedule/1", "schedule/2"), `s:1: expected "staleproof.schedule/1", found "staleproof.schedule/2"; `},
		{"no scenario", ScheduleFormat + "\nseed: 1\n", `s:2: expected a line "scenario: NAME", found none; `},
		{"unknown scenario", edit("textbook", "texbook"), `s:2: expected one of the scenarios `},
		{"unknown key", edit("seed:", "sead:"), `s:7: expected one of the keys scenario, revision, defects, timing, params, seed, digest, trail, found "sead"; did you mean seed?`},
		{"a key twice", edit("seed: 41", "seed: 41\nseed: 42"), `s:8: expected each key once, found "seed" again, first on line 7; `},
		{"neither", edit("*/tie#7=1", "tie"), `s:11: expected "key: value", or a decision such as A/pause#2=3, found "tie"; `},
		{"another revision", edit("revision: 2", "revision: 0"), `s:3: expected revision 2 of scenario textbook, found "0"; `},
		{"unknown defect", edit("store-ignores-token+", "store-forgets+"), `s:4: expected "none" or names of defects joined by +, found `},
		{"another timing", edit("timed\n", "soon\n"), `s:5: expected timing timed, untimed or bounded, found "soon"; `},
		{"a parameter twice", edit("clients=2", "clients=2 clients=3"), `s:6: expected each parameter once, found "clients" again; delete one of the two`},
		{"unknown parameter", edit("clients", "client"), `s:6: expected one of the parameters clients, acquisitions, `},
		{"no value", edit("clients=2", "clients"), `s:6: expected a parameter such as clients=2, found "clients"; `},
		{"out of range", edit("clients=2", "clients=99"), `s:6: expected clients from 1 to 16, found 99; `},
		{"a bad seed", edit("41", "forty"), `s:7: expected a seed: a whole number from 0, found "forty"; `},
		{"a bad digest", edit("00c0ffee", "00c0ffeg"), `s:8: expected a digest: 16 hexadecimal digits, found `},
		{"unknown process", edit("A/pause", "Z/pause"), `s:10: expected one of the processes manager, store, A, B, found "Z/pause#2=3"; `},
		{"a client that the parameters leave out", edit("A/pause", "C/pause"), `s:10: expected one of the processes manager, store, A, B, found "C/pause#2=3"; `},
		{"unknown site", edit("A/pause", "A/paws"), `s:10: expected one of the sites tie, task, `},
		{"no count", edit("A/pause#2=3", "A/pause=3"), `s:10: expected a # before the count, found "A/pause=3"; `},
		{"a negative option", edit("A/pause#2=3", "A/pause#2=-3"), `s:10: expected an option, found "A/pause#2=-3"; `},
		{"a choice twice", edit("*/tie#7=1", "A/pause#2=1"), `s:11: expected each choice once, found "A/pause#2=1", decided on line 10 already; `},
		{"binary", "\x00\x01\xff", `s:1: expected "staleproof.schedule/1", found "\x00\x01\xff"; `},
	} {
		_, err := ParseScheduleFile("s", c.text)
		var syntax *history.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: expected one line\n  %s...\nfound\n  %v", c.reason, c.want, err)
		}
	}
}

// FuzzScheduleFile: whatever the text, it is an error or a run that can be written
// down and read again.
func FuzzScheduleFile(f *testing.F) {
	f.Add(scheduleText)
	f.Add(ScheduleFormat + "\nscenario: textbook\nparams: clients=16\nA/pause#4294967295=2147483647")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseScheduleFile("s", text)
		if err != nil {
			return
		}
		again, err := FormatSchedule(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseScheduleFile("s", again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
