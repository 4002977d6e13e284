package checker

import (
	"testing"

	"pgregory.net/rapid"
)

func TestOpTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := opTable[int]{keep: rapid.Bool().Draw(t, "keep")}
		want := make(map[int64]int)
		var kept []int
		for step := range rapid.IntRange(0, 200).Draw(t, "steps") {
			op := rapid.Int64Range(-2, 40).Draw(t, "op")
			if o := table.find(op); o != nil && rapid.IntRange(0, 9).Draw(t, "again") > 0 {
				table.remove(o)
				delete(want, op)
			} else {
				_, open := want[op]
				o, twice := table.add(op)
				if twice != open || o.rec != 0 {
					t.Fatalf("operation %d added: %v, %d, want %v and nothing known", op, twice, o.rec, open)
				}
				o.rec = step
				want[op] = step
				kept = append(kept, step)
			}
			if !table.keep && table.used != len(want) {
				t.Fatalf("%d operations, want %d", table.used, len(want))
			}
			open := 0
			for i := range table.ops {
				if table.ops[i].open {
					open++
				}
			}
			if open != len(want) {
				t.Fatalf("%d operations are open, want %d", open, len(want))
			}
			for op := int64(-2); op <= 41; op++ {
				got := table.find(op)
				if v, ok := want[op]; ok != (got != nil) || ok && got.rec != v {
					t.Fatalf("operation %d: found %v, want %v, %v", op, got, v, ok)
				}
			}
			if rapid.IntRange(0, 50).Draw(t, "reset") == 0 {
				table.reset()
				clear(want)
				kept = kept[:0]
			}
		}
		for i, step := range kept {
			if table.keep && table.ops[i].rec != step {
				t.Fatalf("record %d is %d, want %d", i, table.ops[i].rec, step)
			}
		}
	})
}
