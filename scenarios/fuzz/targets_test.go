package fuzz

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"staleproof/scenarios"
	"staleproof/sim"
)

// The targets of native, coverage-guided fuzzing, one for each scenario:
//
//	go test ./scenarios/fuzz -fuzz FuzzTextbook -fuzzminimizetime 10x
//
// (Minimizing every interesting input for a minute, as Go does by itself, leaves
// no time for others.)
//
// Their corpora, under testdata/fuzz, are plans that break the scenario if one of
// its defects is planted; they run with every go test.

func FuzzTextbook(f *testing.F)        { target(f, "textbook") }
func FuzzReadBeforeRaise(f *testing.F) { target(f, "read-before-raise") }
func FuzzCheckApart(f *testing.F)      { target(f, "check-apart") }
func FuzzTokenRegress(f *testing.F)    { target(f, "token-regress") }
func FuzzStoreForgets(f *testing.F)    { target(f, "store-forgets") }
func FuzzSelfFencing(f *testing.F)     { target(f, "self-fencing") }

func target(f *testing.F, scenario string) {
	property, done, err := Property(mustLookup(f, scenario), scenarios.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(done)
	f.Fuzz(rapid.MakeFuzz(property))
}

// targetName is that of a scenario: FuzzCheckApart for check-apart.
func targetName(scenario string) string {
	name := "Fuzz"
	for word := range strings.SplitSeq(scenario, "-") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// TestTargets: every scenario has a target and a corpus. With -update what is
// missing of the corpora is made.
func TestTargets(t *testing.T) {
	source, err := os.ReadFile("targets_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range scenarios.Scenarios() {
		name := targetName(sc.Name)
		if !strings.Contains(string(source), "func "+name+"(f *testing.F)") {
			t.Errorf("expected a target %s for scenario %s; add it beside the others", name, sc.Name)
		}
		if files, _ := filepath.Glob(filepath.Join("testdata/fuzz", name, "*")); len(files) == 0 {
			if !*update {
				t.Errorf("expected a corpus for %s; go test -update makes one", name)
				continue
			}
			makeCorpus(t, sc, filepath.Join("testdata/fuzz", name))
		}
	}
}

// makeCorpus writes inputs whose plans break sc, one for each of its first defects.
func makeCorpus(t *testing.T, sc *scenarios.Scenario, dir string) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, x := range sc.Defects[:min(3, len(sc.Defects))] {
		r, err := scenarios.NewRunner(sc, scenarios.Options{Defects: x.Defect, Properties: x.Breaks})
		if err != nil {
			t.Fatal(err)
		}
		plans, killed := Plans(sc), false
		try := rapid.MakeFuzz(func(rt *rapid.T) {
			p := plans.Draw(rt, "plan")
			o := r.Run(&p)
			killed = len(o.Violations) > 0
		})
		for seed := uint64(i * 1000); !killed; seed++ {
			input := inputOf(seed)
			t.Run("try", func(t *testing.T) { try(t, input) })
			if killed {
				text := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n", input)
				if err := os.WriteFile(filepath.Join(dir, x.Defect.String()), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if seed > uint64(i*1000)+500 {
				t.Fatalf("%s: no input breaks it", x.Defect)
			}
		}
		r.Close()
	}
}

// inputOf makes an input, which rapid reads as numbers of 64 bits.
func inputOf(seed uint64) []byte {
	var b []byte
	for i := range uint64(64) {
		b = binary.LittleEndian.AppendUint64(b, sim.Scramble(sim.Mix(seed+1, i)))
	}
	return b
}
