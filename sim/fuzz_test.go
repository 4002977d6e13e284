package sim

import (
	"slices"
	"testing"
)

// FuzzWorld answers every choice of a rich world from the fuzzer's bytes, under
// the timing that the first of them names: no answers break the world, and its
// decisions replay it.
func FuzzWorld(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte("\x00a crash, a pause, a drop, in whatever order they come"))
	f.Add([]byte{1, 3, 0, 2, 9, 200, 77, 1, 1, 1, 0, 0, 5, 250, 13})
	f.Add([]byte{2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	w := NewWorld(Config{}, Calm{}, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		cfg := richConfig
		cfg.Timing, cfg.Epsilon, cfg.MaxEvents = Timing(data[0]%3), int64(data[0]/3%3), 400
		run := func(c Chooser) string {
			heard := everything()
			w.Reset(cfg, c, heard)
			richWorld(w)
			r := w.Run()
			if heard.fault != "" || r.Panic != nil {
				t.Fatalf("%s, %v", heard.fault, r.Panic)
			}
			return summary(r, w.Names())
		}
		want := run(&Bytes{Data: data[1:], Where: AllSites})
		if got := run(NewReplay(slices.Clone(w.decisions))); got != want {
			t.Fatalf("run:    %s\nreplay: %s", want, got)
		}
	})
}
