package checker

import (
	"math/bits"
	"slices"
)

// opTable holds what is known of the operations that are open, by their number.
// It finds, adds and removes in constant time and keeps its memory.
type opTable[T any] struct {
	// keep: records outlive their operations, in the order of their additions. They
	// are found by number no more.
	keep  bool
	slots []int32 // a hash table of places in ops, plus one; 0 is empty
	shift uint8   // makes a place in slots of a hash
	ops   []opEntry[T]
	free  []int32 // places in ops that are not in use
	count int
}

type opEntry[T any] struct {
	op   int64
	open bool
	rec  T
}

// home returns the slot where the search for an operation begins. Numbers that
// follow one another lie far apart (Knuth, 6.4, Fibonacci hashing).
func (t *opTable[T]) home(op int64) int {
	return int(uint64(op) * 0x9e3779b97f4a7c15 >> (t.shift & 63))
}

// find returns the operation of that number, nil when it is not open.
func (t *opTable[T]) find(op int64) *T {
	if t.count == 0 {
		return nil
	}
	for i := t.home(op); t.slots[i] != 0; i = (i + 1) & (len(t.slots) - 1) {
		if o := &t.ops[t.slots[i]-1]; o.op == op {
			return &o.rec
		}
	}
	return nil
}

// add makes room for an operation that is not in the table. The result is valid
// until the next add.
func (t *opTable[T]) add(op int64) *T {
	if 2*t.count >= len(t.slots) {
		t.rehash()
	}
	place := len(t.ops)
	if n := len(t.free); n > 0 {
		place, t.free = int(t.free[n-1]), t.free[:n-1]
		t.ops[place] = opEntry[T]{}
	} else {
		t.ops = append(t.ops, opEntry[T]{})
	}
	o := &t.ops[place]
	o.op, o.open = op, true
	t.insert(int32(place))
	t.count++
	return &o.rec
}

func (t *opTable[T]) insert(place int32) {
	i := t.home(t.ops[place].op)
	for t.slots[i] != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = place + 1
}

func (t *opTable[T]) rehash() {
	old := t.slots
	t.slots = make([]int32, max(16, 2*len(old)))
	t.shift = uint8(64 - bits.Len(uint(len(t.slots)-1)))
	for _, p := range old {
		if p != 0 {
			t.insert(p - 1)
		}
	}
}

// remove drops the operation of that number, if it is there.
func (t *opTable[T]) remove(op int64) {
	if t.count == 0 {
		return
	}
	i := t.home(op)
	for ; ; i = (i + 1) & (len(t.slots) - 1) {
		if t.slots[i] == 0 {
			return
		}
		if t.ops[t.slots[i]-1].op == op {
			break
		}
	}
	place := t.slots[i] - 1
	t.ops[place].open = false
	if !t.keep {
		t.free = append(t.free, place)
	}
	t.count--
	t.closeGap(i)
}

// closeGap empties slot i and moves back the entries after it that would no
// longer be found (Knuth, 6.4, algorithm R).
func (t *opTable[T]) closeGap(i int) {
	mask := len(t.slots) - 1
	for j := i; ; {
		t.slots[i] = 0
		for {
			j = (j + 1) & mask
			if t.slots[j] == 0 {
				return
			}
			home := t.home(t.ops[t.slots[j]-1].op)
			if (j-home)&mask >= (j-i)&mask {
				break
			}
		}
		t.slots[i] = t.slots[j]
		i = j
	}
}

func (t *opTable[T]) clone() opTable[T] {
	c := *t
	c.slots, c.ops, c.free = slices.Clone(t.slots), slices.Clone(t.ops), slices.Clone(t.free)
	return c
}

// reset empties the table in time that depends on its use, not on its size.
func (t *opTable[T]) reset() {
	if t.count > 0 {
		clear(t.slots)
	}
	t.ops, t.free, t.count = t.ops[:0], t.free[:0], 0
}
