package scenarios

import "testing"

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
