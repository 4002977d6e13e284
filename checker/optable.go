package checker

import "slices"

// opTable holds what is known of the operations that are open, by their number.
// It finds, adds and removes in constant time and keeps its memory.
type opTable[T any] struct {
	slots []int32 // a hash table of places in ops, plus one; 0 is empty
	ops   []opEntry[T]
	free  []int32 // places in ops that are not in use
	count int
}

type opEntry[T any] struct {
	op   int64
	used bool
	rec  T
}

func hashOp(op int64) uint64 {
	h := uint64(op) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// find returns the operation of that number, nil when it is not open.
func (t *opTable[T]) find(op int64) *T {
	if t.count == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := hashOp(op) & mask; t.slots[i] != 0; i = (i + 1) & mask {
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
	var place int32
	if n := len(t.free); n > 0 {
		place, t.free = t.free[n-1], t.free[:n-1]
	} else {
		place = int32(len(t.ops))
		t.ops = append(t.ops, opEntry[T]{})
	}
	t.ops[place].op, t.ops[place].used = op, true
	t.insert(place)
	t.count++
	return &t.ops[place].rec
}

func (t *opTable[T]) insert(place int32) {
	mask := uint64(len(t.slots) - 1)
	i := hashOp(t.ops[place].op) & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = place + 1
}

func (t *opTable[T]) rehash() {
	old := t.slots
	t.slots = make([]int32, max(16, 2*len(old)))
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
	mask := uint64(len(t.slots) - 1)
	i := hashOp(op) & mask
	for ; ; i = (i + 1) & mask {
		if t.slots[i] == 0 {
			return
		}
		if t.ops[t.slots[i]-1].op == op {
			break
		}
	}
	place := t.slots[i] - 1
	t.ops[place] = opEntry[T]{}
	t.free = append(t.free, place)
	t.count--
	t.closeGap(i, mask)
}

// closeGap empties slot i and moves back the entries after it that would no
// longer be found (Knuth, 6.4, algorithm R).
func (t *opTable[T]) closeGap(i, mask uint64) {
	for j := i; ; {
		t.slots[i] = 0
		for {
			j = (j + 1) & mask
			if t.slots[j] == 0 {
				return
			}
			home := hashOp(t.ops[t.slots[j]-1].op) & mask
			if (j-home)&mask >= (j-i)&mask {
				break
			}
		}
		t.slots[i] = t.slots[j]
		i = j
	}
}

func (t *opTable[T]) clone() opTable[T] {
	return opTable[T]{slices.Clone(t.slots), slices.Clone(t.ops), slices.Clone(t.free), t.count}
}

// reset empties the table in time that depends on its use, not on its size.
func (t *opTable[T]) reset() {
	if t.count > 0 {
		clear(t.slots)
		clear(t.ops)
	}
	t.ops, t.free, t.count = t.ops[:0], t.free[:0], 0
}
