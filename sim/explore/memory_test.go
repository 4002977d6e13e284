package explore

import (
	"testing"
	"unsafe"
)

// TestGrowth: what a table grows by was foreseen the last time that it was asked
// before.
func TestGrowth(t *testing.T) {
	var s set
	links, b, tab := []uint64(nil), states{}, table{}
	tab.alloc(1 << 10)
	for _, x := range []struct {
		name   string
		add    func(i uint64)
		growth func() int64
		size   func() int64
	}{
		{"a set", func(i uint64) { s.add(fingerprint{low: hash(kindSeed, i)}) }, s.growth,
			func() int64 {
				n := 0
				for i := range s.shards {
					n += len(s.shards[i].low)
				}
				return int64(n) * 8
			}},
		{"links", func(i uint64) { links = append(links, i) }, func() int64 { return grown(len(links), cap(links), 8) },
			func() int64 { return int64(cap(links)) * 8 }},
		{"states", func(i uint64) { b.add([]uint32{1, 2, 3}, fingerprint{low: i}, false, i) }, b.growth,
			func() int64 { return int64(cap(b.low)+cap(b.from))*8 + int64(cap(b.end)+cap(b.words))*4 }},
		{"a table", func(i uint64) { tab.put(slot{k1: i, flags: present}) }, tab.growth,
			func() int64 { return int64(len(tab.slots)) * int64(unsafe.Sizeof(slot{})) }},
	} {
		const few, many, batch = 1 << 16, 1 << 20, 64
		foreseen, size := int64(0), int64(0)
		times, idle := 0, 0
		for i := range uint64(many) {
			if i%batch == 0 {
				foreseen, size = x.growth(), x.size()
				if foreseen == 0 {
					idle++
				}
			}
			x.add(i + 1)
			if grew := x.size() - size; i > few && grew > foreseen {
				t.Fatalf("%s of %d grew by %d bytes, and %d were foreseen", x.name, i, grew, foreseen)
			} else if grew > 0 {
				times++
			}
		}
		if times == 0 || idle == 0 {
			t.Errorf("%s: grew %d times, and %d times no growth was foreseen", x.name, times, idle)
		}
	}
}
