package checker

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"staleproof/model/history"
)

// etcdVerdicts finds the Jepsen logs of etcd that porcupine's own module ships,
// and the verdicts that its test file states: true for linearizable.
func etcdVerdicts(t testing.TB) (dir string, verdicts map[int]bool) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		t.Fatalf("go list -m github.com/anishathalye/porcupine: %v", err)
	}
	module := strings.TrimSpace(string(out))
	source, err := os.ReadFile(filepath.Join(module, "porcupine_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	verdicts = make(map[int]bool)
	for _, m := range regexp.MustCompile(`checkJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(source), -1) {
		n, _ := strconv.Atoi(m[1])
		verdicts[n] = m[2] == "true"
	}
	if len(verdicts) != 102 {
		t.Fatalf("%s states %d verdicts, want 102", module, len(verdicts))
	}
	return filepath.Join(module, "test_data", "jepsen"), verdicts
}

func openEtcd(t testing.TB, dir string, n int) *history.History {
	h, err := history.Open(filepath.Join(dir, fmt.Sprintf("etcd_%03d.log", n)), history.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestEtcdVerdicts(t *testing.T) {
	dir, verdicts := etcdVerdicts(t)
	most := int64(0)
	for n := range 103 {
		linearizable, stated := verdicts[n]
		if !stated {
			continue
		}
		want := Violated
		if linearizable {
			want = Satisfied
		}
		r, err := Check(openEtcd(t, dir, n), Options{})
		if err != nil {
			t.Errorf("log %d: %v", n, err)
			continue
		}
		if r.Outcome != want || r.Model != "cas-register" {
			t.Errorf("log %d: got %s as %s, want %s as cas-register", n, r.Outcome, r.Model, want)
		}
		if want == Violated && len(r.Violations) == 1 && len(r.Violations[0].Events) != 2 {
			t.Errorf("log %d: %q names %d events, want the operation's two", n, r.Violations[0].Message, len(r.Violations[0].Events))
		}
		if want == Violated {
			shortest(t, n, openEtcd(t, dir, n), r.Violations[0])
		}
		most = max(most, r.Results[0].Steps)
	}
	t.Logf("the longest search took %d steps", most)
	if most > 100_000 {
		t.Errorf("the longest search took %d steps: the walk settles less than it did", most)
	}
}

// shortest checks that the history has a linearization up to just before the
// last event that a violation names, and none with it.
func shortest(t *testing.T, n int, h *history.History, v Violation) {
	names := newNames(false)
	calls, _ := registerCalls(EventsOf(h), evidence{}, names, math.MaxInt, allScopes)
	s := search{names: names, config: Config{Memory: DefaultMemory}}
	end := v.Events[1]
	if ok, _ := s.check(registerSpec(history.NilValue), calls, end-1); !ok {
		t.Errorf("log %d: %q, and yet it breaks before #%d", n, v.Message, end)
	}
	if ok, _ := s.check(registerSpec(history.NilValue), calls, end); ok {
		t.Errorf("log %d: %q, and yet an order exists up to #%d", n, v.Message, end)
	}
}
