package checker

import (
	"slices"

	"staleproof/model/history"
)

// opTable holds the operations that have not ended, by their number. It finds,
// adds and removes in constant time and keeps its memory.
type opTable struct {
	slots []int32 // a hash table of places in ops, plus one; 0 is empty
	ops   []openOp
	free  []int32 // places in ops that are not in use
	count int
}

// openOp is an operation on the store between its invocation and its end; one
// of unknown outcome stays until its effect is seen.
type openOp struct {
	op       int64
	f        history.F
	point    point
	right    bool // a rejection that the specification gives too
	unknown  bool // its client waits no longer
	fence    int32
	resource int32
	client   int32
	call     int32 // its place in the log, -1 when none is kept
	token    history.Token
	highest  history.Token // the fence at the rejection
	lease    Lease
	value    history.Value
	expect   history.Value
	answer   history.Value // what a read must return
	invoked  int64
}

// point is where an operation took effect, or was answered without one.
type point uint8

const (
	nowhere point = iota
	applied
	raised
	rejected
	served
)

func hashOp(op int64) uint64 {
	h := uint64(op) * 0x9e3779b97f4a7c15
	return h ^ h>>32
}

// find returns the operation of that number, nil when it is not open.
func (t *opTable) find(op int64) *openOp {
	if t.count == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := hashOp(op) & mask; t.slots[i] != 0; i = (i + 1) & mask {
		if o := &t.ops[t.slots[i]-1]; o.op == op {
			return o
		}
	}
	return nil
}

// add makes room for an operation that is not in the table. The result is valid
// until the next add.
func (t *opTable) add(op int64) *openOp {
	if 2*t.count >= len(t.slots) {
		t.rehash()
	}
	var place int32
	if n := len(t.free); n > 0 {
		place, t.free = t.free[n-1], t.free[:n-1]
	} else {
		place = int32(len(t.ops))
		t.ops = append(t.ops, openOp{})
	}
	t.ops[place] = openOp{op: op}
	t.insert(place)
	t.count++
	return &t.ops[place]
}

func (t *opTable) insert(place int32) {
	mask := uint64(len(t.slots) - 1)
	i := hashOp(t.ops[place].op) & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = place + 1
}

func (t *opTable) rehash() {
	old := t.slots
	t.slots = make([]int32, max(16, 2*len(old)))
	for _, p := range old {
		if p != 0 {
			t.insert(p - 1)
		}
	}
}

// remove drops the operation of that number, if it is there.
func (t *opTable) remove(op int64) {
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
	t.ops[place] = openOp{} // drops the strings of its values
	t.free = append(t.free, place)
	t.count--
	t.closeGap(i, mask)
}

// closeGap empties slot i and moves back the entries after it that would no
// longer be found (Knuth, 6.4, algorithm R).
func (t *opTable) closeGap(i, mask uint64) {
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

func (t *opTable) clone() opTable {
	return opTable{slices.Clone(t.slots), slices.Clone(t.ops), slices.Clone(t.free), t.count}
}

// reset empties the table in time that depends on its use, not on its size.
func (t *opTable) reset() {
	if t.count > 0 {
		clear(t.slots)
		clear(t.ops)
	}
	t.ops, t.free, t.count = t.ops[:0], t.free[:0], 0
}
