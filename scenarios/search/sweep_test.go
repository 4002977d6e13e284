package search

import (
	"testing"

	"staleproof/model"
	"staleproof/scenarios"
)

func TestQuickSweep(t *testing.T) {
	sc, _ := scenarios.Lookup("textbook")
	r, err := (&Sweep{Scenario: sc, From: 0, To: 20000}).Run()
	t.Log(r, err)
	for _, x := range sc.Defects {
		opt := scenarios.Options{Defects: x.Defect}
		r, err := (&Sweep{Scenario: sc, Options: opt, From: 0, To: 3000, Stop: x.Breaks}).Run()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Kills) == 0 {
			t.Log(x.Defect, "NOT KILLED")
			continue
		}
		k, _ := r.Kill(x.Breaks[0])
		s, err := Shrink(sc, opt, k, x.Breaks[0])
		t.Log(x.Defect, r.Schedules, len(k.Schedule), "->", len(s.Schedule), s.Runs, err)
		run, _ := scenarios.NewRunner(sc, opt)
		f, err := run.Explain(&s.Params, k.Seed, s.Schedule, s.Digest, x.Breaks[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Log(f.Message, f.Decisions)
		for _, l := range f.Chain {
			t.Log("    ", l)
		}
		t.Log(f.Run.Token())
		run.Close()
	}
	_ = model.AllDefects()
}
