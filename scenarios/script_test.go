package scenarios

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with the golden file, or rewrites it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestScripts plays every script of every scenario in its cured form and with
// every defect of the scenario: one file a script.
func TestScripts(t *testing.T) {
	for _, sc := range Scenarios() {
		for i := range sc.Scripts {
			script := &sc.Scripts[i]
			t.Run(sc.Name+"/"+script.Name, func(t *testing.T) {
				var b strings.Builder
				b.WriteString("# " + script.Doc + "\n")
				for _, x := range append([]Exposure{{}}, sc.Defects...) {
					played, err := RunScript(sc, script, Options{Defects: x.Defect})
					b.WriteString("\n== " + strings.Replace(x.Defect.String(), "none", "the cure", 1) + "\n")
					if err != nil { // the defect takes another way before the step
						b.WriteString("stopped: " + err.Error() + "\n")
						continue
					}
					b.WriteString(played.Transcript())
					if x.Defect == 0 && len(played.Outcome.Violations) > 0 {
						t.Errorf("the cure broke %v", played.Outcome.Violations)
					}
				}
				golden(t, filepath.Join("scripts", sc.Name, script.Name+".golden"), b.String())
			})
		}
	}
}

// TestStaleWriteDefectsBreakEveryScript: the defects that give up the fence let
// the old write in whatever way it is late.
func TestStaleWriteDefectsBreakEveryScript(t *testing.T) {
	for i := range textbook.Scripts {
		for _, d := range []model.Defects{model.StoreIgnoresToken, model.LocalCheckOnly, model.RenewAndTrust, model.StoreComparesIdentity} {
			played, err := RunScript(&textbook, &textbook.Scripts[i], Options{Defects: d})
			if err != nil {
				t.Fatal(err)
			}
			if broken := played.Outcome.Broken(); len(broken) == 0 || broken[0] != "no-stale-write" {
				t.Errorf("%s with %s: expected no-stale-write to break first, found %v", textbook.Scripts[i].Name, d, broken)
			}
		}
	}
}

func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ name, steps, want string }{
		{"unknown operation", "A aquire", `expected acquire, renew, release, raise, read, write or delete, found "aquire"`},
		{"no operation", "A", "expected an operation after the client"},
		{"no number", "A write", "expected a number to write"},
		{"not a number", "A write x", `parsing "x"`},
		{"no client", "expire", "expected the name of a client"},
		{"unknown manner", "A write 1, slowly", `expected ", held" or ", paused at LABEL", found "slowly"`},
		{"nothing is held", "A acquire\ndeliver A write 1", "expected a message that is held"},
		{"nobody is paused", "A acquire\nresume A", "expected a client that is paused"},
		{"never sent", "A write 1, held", "expected it to be on its way, found \"not sent"},
		{"no such yield", "A acquire\nA write 1, paused at nowhere", "expected it to be on its way"},
	} {
		_, err := RunScript(&textbook, &Script{Name: "bad", Steps: c.steps}, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected an error with %q, found %v", c.name, c.want, err)
		}
	}
}
