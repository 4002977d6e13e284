package scenarios

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/sim"
)

// TestRerun: one run in twenty is run twice, among the seeds of every shard.
func TestRerun(t *testing.T) {
	for _, shards := range []uint64{1, 2, 8, 20, 64, 100} {
		for k := range shards {
			n := 0
			for i := range uint64(4000) {
				if rerun(k + i*shards) {
					n++
				}
			}
			if n < 140 || n > 260 {
				t.Errorf("shard %d/%d: expected about 200 of 4000 seeds, found %d", k, shards, n)
			}
		}
	}
}

// TestNoDigest: the runs of a search are those of a Runner with digests, and those
// that Recheck looks at get theirs.
func TestNoDigest(t *testing.T) {
	runner := func(none bool) *Runner {
		r, err := NewRunner(&textbook, Options{Defects: model.StoreChecksApart, NoDigest: none})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		return r
	}
	with, without := runner(false), runner(true)
	var broke, none, sampled int
	for seed := range uint64(3000) {
		p := PlanAt(&textbook, seed)
		a := with.Run(&p)
		text := fmt.Sprintf("%v %v %v", a.Result, a.Violations, a.Sometimes)
		b := without.Run(&p)
		bare := b.Result.Digest == 0
		if err := without.Recheck(seed, &p.Params, &b); err != nil {
			t.Fatal(err)
		}
		switch {
		case b.Result.Digest == 0:
			none++
			b.Result.Digest = a.Result.Digest
		case len(b.Violations) > 0:
			broke++
		case !bare:
			sampled++
		}
		if got := fmt.Sprintf("%v %v %v", b.Result, b.Violations, b.Sometimes); got != text {
			t.Fatalf("seed %d: expected %s, found %s", seed, text, got)
		}
	}
	if broke < 20 || none < 1000 || sampled < 40 {
		t.Errorf("expected each kind of run, found %d that broke something, %d without a digest, %d of the sample", broke, none, sampled)
	}
}

// TestRecheck: a store that answers later in each run is found, whether the first
// run has a digest or not.
func TestRecheck(t *testing.T) {
	for _, none := range []bool{false, true} {
		runs := 0
		r, err := NewRunner(&textbook, Options{NoDigest: none, NewStore: func() sim.Handler { return model.Serve(&late{&runs}) }})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		broke := 0
		for seed := range uint64(1000) {
			runs = 0
			p := PlanAt(&textbook, seed)
			o := r.Run(&p)
			if len(o.Violations) == 0 && !o.sample || runs == 0 {
				continue
			}
			broke += len(o.Violations)
			var other *NondeterminismError
			if err := r.Recheck(seed, &p.Params, &o); !errors.As(err, &other) {
				t.Errorf("without digest %v, seed %d: expected a *NondeterminismError, found %v", none, seed, err)
			}
		}
		if broke == 0 {
			t.Errorf("without digest %v: expected a run that breaks something", none)
		}
	}
}

// late is a store without a fence that keeps state across runs.
type late struct{ runs *int }

func (s *late) Write(p *sim.Proc, r model.Request) model.Reply {
	*s.runs++
	p.Sleep(time.Duration(*s.runs) * time.Microsecond)
	return model.OK(r.Value)
}
