package explore

// set is a set of fingerprints: open addressing in shards, each of which one
// worker at a time writes.
type set struct {
	shards [shardCount]shard
	wide   bool
}

const (
	shardBits  = 6
	shardCount = 1 << shardBits
	shardStart = 1 << 4
)

type shard struct {
	low  []uint64 // 0 is an empty slot
	high []uint64 // the other half of a wide fingerprint
	n    int
	mask uint64
}

// fingerprint identifies a state; high is 0 unless fingerprints are wide.
type fingerprint struct{ low, high uint64 }

// shardOf says which shard a fingerprint belongs to.
func shardOf(low uint64) uint64 { return low >> (64 - shardBits) }

// add reports whether f is new in its shard, and adds it.
func (s *set) add(f fingerprint) bool {
	return s.shards[shardOf(f.low)].add(f, s.wide)
}

func (sh *shard) add(f fingerprint, wide bool) bool {
	if 8*sh.n >= 5*len(sh.low) {
		sh.grow(wide)
	}
	low := max(f.low, 1)
	for i := low & sh.mask; ; i = (i + 1) & sh.mask {
		switch {
		case sh.low[i] == 0:
			sh.low[i] = low
			if wide {
				sh.high[i] = f.high
			}
			sh.n++
			return true
		case sh.low[i] == low && (!wide || sh.high[i] == f.high):
			return false
		}
	}
}

// has reports whether low is in a shard that is not wide.
func (sh *shard) has(low uint64) bool {
	if len(sh.low) == 0 {
		return false
	}
	low = max(low, 1)
	for i := low & sh.mask; ; i = (i + 1) & sh.mask {
		switch sh.low[i] {
		case low:
			return true
		case 0:
			return false
		}
	}
}

// grow doubles the shard.
func (sh *shard) grow(wide bool) {
	low, high := sh.low, sh.high
	size := max(shardStart, 2*len(low))
	sh.low, sh.mask = make([]uint64, size), uint64(size-1)
	if wide {
		sh.high = make([]uint64, size)
	}
	for i, x := range low {
		if x == 0 {
			continue
		}
		j := x & sh.mask
		for sh.low[j] != 0 {
			j = (j + 1) & sh.mask
		}
		sh.low[j] = x
		if wide {
			sh.high[j] = high[i]
		}
	}
}

// table maps the pair (local state and event, context) to a transition, or any
// other pair of words to a word. Only one goroutine writes it, while no other
// reads.
type table struct {
	slots []slot
	n     int
	shift uint
}

type slot struct {
	k1, k2 uint64
	first  uint32 // the first outcome
	count  uint16 // how many
	flags  uint16 // present, and what the transition depends on
}

const (
	present    = 1 << iota // the slot is in use
	needsClock             // k2 holds the clock
	needsNames             // k2 holds the calls that have a number
)

func hashPair(k1, k2 uint64) uint64 {
	h := (k1 ^ k2*0xD6E8FEB86659FD93) * 0x9E3779B97F4A7C15
	return h
}

// get returns the slot of the pair, or nil.
func (t *table) get(k1, k2 uint64) *slot {
	mask := len(t.slots) - 1
	for i := int(hashPair(k1, k2) >> t.shift); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.k1 == k1 && s.k2 == k2 && s.flags != 0 {
			return s
		}
		if s.flags == 0 {
			return nil
		}
	}
}

// put adds a slot for a pair that the table does not have.
func (t *table) put(s slot) {
	if 2*t.n >= len(t.slots) {
		old := t.slots
		t.alloc(2 * len(old))
		for i := range old {
			if old[i].flags != 0 {
				t.place(old[i])
			}
		}
	}
	t.n++
	t.place(s)
}

func (t *table) alloc(size int) {
	t.slots = make([]slot, size)
	t.shift = 64
	for size > 1 {
		t.shift--
		size >>= 1
	}
}

func (t *table) place(s slot) {
	mask := len(t.slots) - 1
	i := int(hashPair(s.k1, s.k2) >> t.shift)
	for t.slots[i].flags != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}
