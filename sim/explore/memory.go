package explore

import (
	"runtime"
	"runtime/metrics"
)

// outOfMemory reports whether the process may need more than MaxBytes for the next
// batch. The process is measured: no estimate knows the values of checkpoints,
// the garbage of tables that have grown, or what the program does besides.
func (s *search) outOfMemory(next *states) bool {
	if s.opt.MaxBytes <= 0 {
		return false
	}
	limit := s.opt.MaxBytes - s.growth(next)
	used, objects := memory()
	if used <= limit {
		return false
	}
	// Some of it is garbage. Only a collection shows how much, so that there is one when
	// much was allocated since the last.
	if objects-s.collected > s.opt.MaxBytes/32 {
		runtime.GC()
		used, s.collected = memory()
	}
	return used > limit
}

// programBytes is about what the system keeps of the program's own code in memory,
// of which the runtime does not know.
const programBytes = 8 << 20

// memory returns what the process has in use, and how much of that are objects,
// garbage included.
func memory() (used, objects int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(samples)
	n := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return n(0) - n(1) - n(2) + programBytes, n(3)
}

// growth is what the tables may ask for in the next batch: those that are almost
// full are copied to larger ones.
func (s *search) growth(next *states) int64 {
	n := grown(len(s.links), cap(s.links), 8) + s.visited.growth() + s.memo.growth() + s.judge.growth() + next.growth()
	for i := range s.pending {
		n += s.pending[i].seeded.growth()
		for j := range s.pending[i].seeds {
			n += s.pending[i].seeds[j].growth()
		}
	}
	return n
}

// almost reports whether a table of n entries may exceed its capacity soon.
func almost(n, capacity int) bool { return n >= capacity-capacity/16 }

// grown is the size of the array that append makes of one that is almost full.
func grown(n, capacity, size int) int64 {
	if !almost(n, capacity) {
		return 0
	}
	return int64(capacity+capacity/4) * int64(size)
}

func (b *states) growth() int64 {
	return grown(len(b.low), cap(b.low), 8) + grown(len(b.high), cap(b.high), 8) + grown(len(b.from), cap(b.from), 8) +
		grown(len(b.end), cap(b.end), 4) + grown(len(b.words), cap(b.words), 4)
}

// growth counts what is larger than before: shards grow one after another.
func (s *set) growth() int64 {
	n := 0
	for i := range s.shards {
		if sh := &s.shards[i]; almost(sh.n, len(sh.low)*5/8) {
			n += len(sh.low) + len(sh.high)
		}
	}
	return int64(n) * 8
}

func (t *table) growth() int64 {
	if !almost(t.n, len(t.slots)/2) {
		return 0
	}
	return int64(len(t.slots)) * 2 * 24
}
