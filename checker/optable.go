package checker

import (
	"math/bits"
	"slices"
)

// opTable holds what is known of the operations that are open, by their number.
// It finds, adds and removes in constant time and keeps its memory.
type opTable[T any] struct {
	// keep: what was known of an operation that is over stays in ops, in the order
	// of their beginnings. The table then grows with the history.
	keep  bool
	shift uint8    // makes a place in slots of a hash
	used  int      // how many slots are not empty
	slots []uint32 // a hash table of places in ops, plus one; 0 is empty
	ops   []opEntry[T]
	free  []uint32 // places in ops that are not in use
}

type opEntry[T any] struct {
	op   int64
	open bool
	rec  T
}

// slot returns the slot of an operation, or the empty one where it belongs.
// Numbers that follow one another lie far apart (Knuth, 6.4, Fibonacci hashing).
func (t *opTable[T]) slot(op int64) uint {
	i := t.home(op)
	for t.slots[i] != 0 && t.ops[t.slots[i]-1].op != op {
		i = (i + 1) & uint(len(t.slots)-1)
	}
	return i
}

func (t *opTable[T]) home(op int64) uint {
	return uint(uint64(op) * 0x9e3779b97f4a7c15 >> (t.shift & 63))
}

// find returns the operation of that number, nil when it is not open.
func (t *opTable[T]) find(op int64) *opEntry[T] {
	for i := t.home(op); i < uint(len(t.slots)) && t.slots[i] != 0; i = (i + 1) & uint(len(t.slots)-1) {
		if o := &t.ops[t.slots[i]-1]; o.op == op && o.open {
			return o
		}
	}
	return nil
}

// add opens an operation, and reports whether one of that number was open: it no
// longer is. The result is valid until the next add.
func (t *opTable[T]) add(op int64) (o *opEntry[T], twice bool) {
	if 2*t.used >= len(t.slots) || len(t.ops) == cap(t.ops) {
		t.grow()
	}
	i := t.slot(op)
	if p := t.slots[i]; p != 0 {
		twice, t.ops[p-1].open = t.ops[p-1].open, false
		t.vacate(i)
		i = t.slot(op)
	}
	t.used++
	place := len(t.ops)
	if n := len(t.free); n > 0 {
		place, t.free = int(t.free[n-1]), t.free[:n-1]
	} else {
		t.ops = t.ops[:place+1]
	}
	t.slots[i] = uint32(place + 1)
	o = &t.ops[place]
	*o = opEntry[T]{} // in place: a literal with fields is made elsewhere and copied
	o.op, o.open = op, true
	return o, twice
}

// grow makes room in the hash table, and in ops.
func (t *opTable[T]) grow() {
	t.ops = slices.Grow(t.ops, 1)
	if 2*t.used < len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]uint32, max(16, 2*len(old)))
	t.shift = uint8(64 - bits.Len(uint(len(t.slots)-1)))
	for _, p := range old {
		if p != 0 {
			t.slots[t.slot(t.ops[p-1].op)] = p
		}
	}
}

// remove closes an operation that is open.
func (t *opTable[T]) remove(o *opEntry[T]) {
	if o.open = false; !t.keep {
		t.vacate(t.slot(o.op))
	}
}

// vacate gives slot i back, and the place that it names unless that is kept.
func (t *opTable[T]) vacate(i uint) {
	if !t.keep {
		t.free = append(t.free, t.slots[i]-1)
	}
	t.used--
	t.closeGap(i)
}

// closeGap empties slot i and moves back the entries after it that would no
// longer be found (Knuth, 6.4, algorithm R).
func (t *opTable[T]) closeGap(i uint) {
	mask := uint(len(t.slots) - 1)
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

// reset empties the table, at no cost where it is empty, and keeps its memory.
func (t *opTable[T]) reset() {
	if t.used > 0 {
		clear(t.slots)
	}
	t.ops, t.free, t.used = t.ops[:0], t.free[:0], 0
}
