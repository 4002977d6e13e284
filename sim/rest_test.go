package sim

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestRest: Rest is Sleep, but where the task is dead it returns false, once;
// what the task does after that does not reach the world.
func TestRest(t *testing.T) {
	var ended []string
	build := func(w *World, rest func(context.Context, time.Duration) bool) {
		spawn(w, "A", func(p *Proc) {
			p.Go("keeper", func(p *Proc) {
				for rest(p.Context(), 3*milli) {
					say(p, "renewed")
				}
				ended = append(ended, fmt.Sprintf("%s in life %d", ms(p.w.now), p.Incarnation()))
				say(p, "from the grave")
				rest(p.Context(), time.Hour)
				ended = append(ended, "it goes on")
			})
			p.Sleep(10 * milli)
			p.Yield("working")
			p.Sleep(10 * milli)
		})
	}
	run := func(rest func(context.Context, time.Duration) bool, s Schedule) (Result, []string) {
		ended = nil
		tape := &tape{kinds: AllNotes}
		w := NewWorld(Config{Restarts: []time.Duration{5 * milli}}, NewReplay(s), tape)
		defer w.Close()
		build(w, rest)
		return w.Run(), tape.lines
	}
	sleep := func(ctx context.Context, d time.Duration) bool { return Sleep(ctx, d) == nil }
	crash := Decision{Key: Key{Proc: 0, Site: SiteCrash}, Option: 1}
	for _, c := range []struct {
		name  string
		s     Schedule
		ended []string
	}{
		{"the end of the run", nil, []string{"20 in life 0"}},
		{"a crash, then the end", Schedule{crash}, []string{"10 in life 1", "35 in life 1"}},
	} {
		want, heard := run(sleep, c.s)
		if len(ended) > 0 {
			t.Errorf("%s: expected Sleep not to return, found %q", c.name, ended)
		}
		got, told := run(Rest, c.s)
		if got.Digest != want.Digest || fmt.Sprint(told) != fmt.Sprint(heard) {
			t.Errorf("%s: expected the run that Sleep gives, %q, found %q", c.name, heard, told)
		}
		if fmt.Sprint(ended) != fmt.Sprint(c.ended) {
			t.Errorf("%s: expected the keepers to end so: %q, found %q", c.name, c.ended, ended)
		}
	}
}

// TestNoDigest: a run without a digest is the same but for that.
func TestNoDigest(t *testing.T) {
	for seed := range uint64(200) {
		run := func(none bool) (Result, []string) {
			tape := &tape{kinds: AllNotes}
			cfg := richConfig
			cfg.NoDigest = none
			w := NewWorld(cfg, rich(seed), tape)
			defer w.Close()
			richWorld(w)
			r := w.Run()
			r.Decisions = append(Schedule(nil), r.Decisions...)
			return r, tape.lines
		}
		want, heard := run(false)
		got, told := run(true)
		if got.Digest != 0 || want.Digest == 0 {
			t.Fatalf("seed %d: expected a digest and none, found %x and %x", seed, want.Digest, got.Digest)
		}
		want.Digest = 0
		if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(told) != fmt.Sprint(heard) {
			t.Fatalf("seed %d: expected %+v, found %+v", seed, want, got)
		}
	}
}
