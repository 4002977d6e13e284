package checker

import (
	"testing"

	"pgregory.net/rapid"
)

func TestOpTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table opTable[int]
		want := make(map[int64]int)
		for step := range rapid.IntRange(0, 200).Draw(t, "steps") {
			op := rapid.Int64Range(-2, 40).Draw(t, "op")
			if _, ok := want[op]; ok {
				table.remove(op)
				delete(want, op)
			} else {
				*table.add(op) = step
				want[op] = step
			}
			if table.count != len(want) {
				t.Fatalf("%d operations, want %d", table.count, len(want))
			}
			for op := int64(-2); op <= 41; op++ {
				got := table.find(op)
				if v, ok := want[op]; ok != (got != nil) || ok && *got != v {
					t.Fatalf("operation %d: found %v, want %v, %v", op, got, v, ok)
				}
			}
			if rapid.IntRange(0, 50).Draw(t, "reset") == 0 {
				table.reset()
				clear(want)
			}
		}
	})
}
