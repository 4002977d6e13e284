package checker

import (
	"slices"

	"staleproof/model/history"
)

// A registerWalk judges one register over the beginnings and ends of its operations, in
// order. It keeps every configuration that an order of the operations so far can
// have led to, and branches only where an operation ends: a register forgets
// everything but its value, so that an effect which nobody needs yet can wait.
//
// An operation that ends and has not been put in order is put there either before
// a moment that has passed or now:
//
//   - A read of v is explained if v is the value, or was at a moment since the read
//     began. Else an open write of v took effect, hidden just before the register
//     was last written, or now.
//   - A write that ends took effect hidden before the last write, or now.
//
// Hidden is what was overwritten at once: the register's value stays. Both the
// operation that ends and the write must have begun by then. Nothing is lost by
// waiting: a later place keeps every hidden place that an earlier one had, for the
// last write only moves on, and it serves every read that is still open.
//
// Which of several open writes of one value took effect need not be said. A
// configuration counts them, with the moments at which they took effect; a write
// that ends is taken for one of those, if it had begun by such a moment. So it is
// the write that ends first which took effect: the others can take a later place,
// and it cannot.
type registerWalk struct {
	values  map[history.Value]int32 // places in slots
	slots   []slot
	kindOf  map[[2]int32]int32 // places in kinds
	kinds   []kind
	spare   [2][]int32 // places in slots and in kinds that are not in use
	open    []int64    // the beginnings of what is open and will end, in order
	lost    []int64    // the beginnings of the mutations of unknown outcome, in order
	doubted []int32    // slots with open reads of another value
	confs   []conf
	next    []conf
	marks   [2][]mark // memory of confs and of next
	spends  [2][]spent
	swept   int  // slots and kinds in use after the last sweep
	widest  int  // the most configurations so far
	doubt   bool // a configuration may be missing
}

// slot is a value that an open operation or a configuration names.
type slot struct {
	value history.Value
	reads [2][]int64 // the beginnings of the open reads of it, and of those of any other value
	keep  bool       // in a sweep: it is in use
}

// kind is the mutations that do the same: those that turn one value, or any, into
// another.
type kind struct {
	from, to int32      // slots
	begun    [2][]int64 // the beginnings of the open ones, and of those of unknown outcome, in order
}

const anyValue = -1

// conf is a configuration: a way in which the register may have come to its value,
// as far as the future depends on it.
type conf struct {
	value int32
	last  int64 // the moment of the last write
	// seen is when a value was current last, where an open read may have to know: by
	// 2*slot that of the slot, by 2*slot+1 any other value.
	seen []mark
	// taken is the open mutations that will end and have taken effect: by kind, with the
	// moment at which each did.
	taken []mark
	spent []spent // the mutations of unknown outcome that have taken effect, by kind
}

// spent counts the mutations of a kind and of unknown outcome that have taken
// effect. A configuration stands for others that differ in this: least is the
// number in the one that has the fewest.
type spent struct {
	kind        int32
	most, least int
}

// mark is a number that is known of a thing.
type mark struct {
	key int32
	at  int64
}

func newRegisterWalk(init history.Value) *registerWalk {
	w := &registerWalk{values: map[history.Value]int32{}, kindOf: map[[2]int32]int32{}}
	w.confs = []conf{{value: w.slot(init), last: beforeAll}}
	return w
}

// slot returns the place of a value in slots.
func (w *registerWalk) slot(v history.Value) int32 {
	i, ok := w.values[v]
	if !ok {
		i = newPlace(&w.slots, &w.spare[0])
		w.slots[i].value = v
		w.values[v] = i
	}
	return i
}

// kind returns the place in kinds of what a call does.
func (w *registerWalk) kind(c *call) int32 {
	k := [2]int32{anyValue, w.slot(nilFor(c.value))}
	if c.f == history.CAS {
		k[0] = w.slot(nilFor(c.expect))
	}
	i, ok := w.kindOf[k]
	if !ok {
		i = newPlace(&w.kinds, &w.spare[1])
		w.kinds[i].from, w.kinds[i].to = k[0], k[1]
		w.kindOf[k] = i
	}
	return i
}

// newPlace finds room for an element.
func newPlace[T any](s *[]T, spare *[]int32) int32 {
	if n := len(*spare); n > 0 {
		i := (*spare)[n-1]
		*spare = (*spare)[:n-1]
		return i
	}
	var zero T
	*s = append(*s, zero)
	return int32(len(*s) - 1)
}

// question is what a read asks of the register: the value of a slot, or any other.
func (w *registerWalk) question(c *call) int32 {
	if c.outcome == refused {
		return 2*w.slot(nilFor(c.expect)) + 1
	}
	return 2 * w.slot(nilFor(c.answer))
}

// isRead reports whether a call changes nothing: a read, or a cas that found
// another value than it expected.
func (c *call) isRead() bool { return c.f == history.Read || c.outcome == refused }

// begin takes the beginning of a call whose outcome is known.
func (w *registerWalk) begin(c *call) {
	switch {
	case c.isRead():
		q := w.question(c)
		if s := &w.slots[q/2]; q%2 == 1 && len(s.reads[1]) == 0 {
			w.doubted = append(w.doubted, q/2)
		}
		reads := &w.slots[q/2].reads[q%2]
		*reads = append(*reads, c.invoked)
		w.open = append(w.open, c.invoked)
	case c.outcome == unknown:
		begun := &w.kinds[w.kind(c)].begun[1]
		*begun = append(*begun, c.invoked)
		w.lost = append(w.lost, c.invoked)
	default:
		begun := &w.kinds[w.kind(c)].begun[0]
		*begun = append(*begun, c.invoked)
		w.open = append(w.open, c.invoked)
	}
}

// end takes the end of a call that took effect, or read. It reports whether a
// configuration is left: if not, no order explains the call.
func (w *registerWalk) end(c *call) bool {
	w.open = without(w.open, c.invoked)
	if c.isRead() {
		q := w.question(c)
		s := &w.slots[q/2]
		if s.reads[q%2] = without(s.reads[q%2], c.invoked); q%2 == 1 && len(s.reads[1]) == 0 {
			w.doubted = slices.DeleteFunc(w.doubted, func(i int32) bool { return i == q/2 })
		}
		if len(w.confs) == 1 && w.confs[0].explains(q, c.invoked) {
			return true
		}
		for i := range w.confs {
			w.read(&w.confs[i], q, c)
		}
	} else {
		i := w.kind(c)
		w.kinds[i].begun[0] = without(w.kinds[i].begun[0], c.invoked)
		for j := range w.confs {
			w.mutate(&w.confs[j], i, c)
		}
	}
	w.confs, w.next = w.next, w.confs[:0]
	w.marks[0], w.marks[1] = w.marks[1], w.marks[0][:0]
	w.spends[0], w.spends[1] = w.spends[1], w.spends[0][:0]
	w.widest = max(w.widest, len(w.confs))
	if len(w.slots)-len(w.spare[0])+len(w.kinds)-len(w.spare[1]) > 2*w.swept+64 {
		w.sweep()
	}
	return len(w.confs) > 0
}

// without removes a number from a list of them in order.
func without(list []int64, n int64) []int64 {
	i, _ := slices.BinarySearch(list, n)
	return append(list[:i], list[i+1:]...)
}

// explains reports whether the answer to a question was current at a moment or
// later.
func (c *conf) explains(q int32, since int64) bool {
	return (c.value == q/2) == (q%2 == 0) || value(c.seen, q) >= since
}

// value returns the number marked for a key, beforeAll when there is none.
func value(marks []mark, key int32) int64 {
	for _, m := range marks {
		if m.key == key {
			return m.at
		}
	}
	return beforeAll
}

// read adds what a configuration becomes when a read ends.
func (w *registerWalk) read(c *conf, q int32, by *call) {
	if c.explains(q, by.invoked) {
		w.add(w.fork(c))
		return
	}
	if q%2 == 0 {
		if k, ok := w.kindOf[[2]int32{anyValue, q / 2}]; ok {
			w.answer(c, k, by)
		}
		return
	}
	for i := range w.kinds {
		if k := &w.kinds[i]; k.from == anyValue && k.to != q/2 {
			w.answer(c, int32(i), by)
		}
	}
}

// answer adds what a configuration becomes when an open write of a kind is what a
// read saw that ends.
func (w *registerWalk) answer(c *conf, kind int32, by *call) {
	if by.invoked <= c.last {
		w.put(c, kind, c.last, true)
	}
	w.put(c, kind, by.ended, false)
}

// put adds what a configuration becomes when an open mutation takes effect.
func (w *registerWalk) put(c *conf, kind int32, at int64, hidden bool) {
	if n := w.fork(c); w.take(&n, kind, at) {
		w.effect(&n, w.kinds[kind].to, at, hidden)
		w.add(n)
	}
}

// mutate adds what a configuration becomes when a mutation ends.
func (w *registerWalk) mutate(c *conf, kind int32, by *call) {
	n := w.fork(c)
	for i, m := range n.taken {
		if m.key == kind && m.at >= by.invoked {
			n.taken = append(n.taken[:i], n.taken[i+1:]...)
			w.add(n)
			return
		}
	}
	if by.invoked <= c.last {
		w.effect(&n, w.kinds[kind].to, c.last, true)
		w.add(n)
		n = w.fork(c)
	}
	w.effect(&n, w.kinds[kind].to, by.ended, false)
	w.add(n)
}

// take notes that one of the open mutations of a kind has taken effect at a
// moment, and reports whether there is one left: of those that will end, or else
// of those of unknown outcome.
func (w *registerWalk) take(c *conf, kind int32, at int64) bool {
	k := &w.kinds[kind]
	first, end := c.takenOf(kind)
	if by(k.begun[0], at) > end-first {
		c.taken = slices.Insert(c.taken, end, mark{kind, at})
		return true
	}
	s, left := c.spentOn(kind), by(k.begun[1], at)
	if left <= s.most {
		w.doubt = w.doubt || left > s.least
		return false
	}
	s.most++
	s.least++
	c.spend(s)
	return true
}

// takenOf returns where the marks of a kind are in taken.
func (c *conf) takenOf(kind int32) (first, end int) {
	for end < len(c.taken) && c.taken[end].key <= kind {
		if c.taken[end].key < kind {
			first++
		}
		end++
	}
	return first, end
}

// spentOn returns what has been spent of a kind.
func (c *conf) spentOn(kind int32) spent {
	for _, s := range c.spent {
		if s.kind == kind {
			return s
		}
	}
	return spent{kind: kind}
}

// spend notes what has been spent of a kind.
func (c *conf) spend(s spent) {
	i := 0
	for i < len(c.spent) && c.spent[i].kind < s.kind {
		i++
	}
	if i == len(c.spent) || c.spent[i].kind != s.kind {
		c.spent = slices.Insert(c.spent, i, s)
	}
	c.spent[i] = s
}

// by is how many of some beginnings were not later than a moment.
func by(begun []int64, at int64) int {
	i, found := slices.BinarySearch(begun, at)
	if found {
		i++
	}
	return i
}

// effect writes a value: just before the last write, or now.
func (w *registerWalk) effect(c *conf, to int32, at int64, hidden bool) {
	if !hidden {
		w.current(c, c.value, at)
		c.value, c.last = to, at
	}
	w.current(c, to, at)
}

// current notes that a value was current at a moment.
func (w *registerWalk) current(c *conf, slot int32, at int64) {
	if len(w.slots[slot].reads[0]) > 0 {
		c.see(2*slot, at)
	}
	for _, other := range w.doubted {
		if other != slot {
			c.see(2*other+1, at)
		}
	}
}

func (c *conf) see(q int32, at int64) {
	i := 0
	for i < len(c.seen) && c.seen[i].key < q {
		i++
	}
	if i < len(c.seen) && c.seen[i].key == q {
		c.seen[i].at = max(c.seen[i].at, at)
		return
	}
	c.seen = slices.Insert(c.seen, i, mark{q, at})
}

// fork copies a configuration.
func (w *registerWalk) fork(c *conf) conf {
	return conf{c.value, c.last, duplicate(&w.marks[1], c.seen), duplicate(&w.marks[1], c.taken), duplicate(&w.spends[1], c.spent)}
}

// duplicate copies a list into memory, with room for a few more.
func duplicate[T any](memory *[]T, list []T) []T {
	var room [2]T
	m := append(append(*memory, list...), room[:]...)
	*memory = m
	n := len(m)
	return m[n-len(room)-len(list) : n-len(room) : n]
}

// add adds a configuration to the next ones, unless one of those stands for it. Its
// moments are rounded down to beginnings that open operations can tell apart.
func (w *registerWalk) add(c conf) {
	c.last = max(floor(w.open, c.last), floor(w.lost, c.last))
	kept := c.seen[:0]
	for _, m := range c.seen {
		if m.at = floor(w.slots[m.key/2].reads[m.key%2], m.at); m.at != beforeAll && !c.explains(m.key, never) {
			kept = append(kept, m)
		}
	}
	c.seen = kept
	for i := range c.taken {
		m := &c.taken[i]
		m.at = floor(w.kinds[m.key].begun[0], m.at)
	}
	for i := range w.next {
		o := &w.next[i]
		if !w.standsFor(o, &c) {
			continue
		}
		o.absorb(&c)
		return
	}
	left := w.next[:0]
	for i := range w.next {
		if o := &w.next[i]; w.standsFor(&c, o) {
			c.absorb(o)
		} else {
			left = append(left, *o)
		}
	}
	w.next = append(left, c)
}

// floor is the latest of some beginnings that is not later than a moment,
// beforeAll when there is none.
func floor(begun []int64, at int64) int64 {
	if i := by(begun, at); i > 0 {
		return begun[i-1]
	}
	return beforeAll
}

// ample is how many unused mutations of unknown outcome a configuration must have
// of a kind to stand for others that have used fewer.
var ample = 8

// standsFor reports whether whatever explains the future after o explains it after c
// too. A write that has taken effect in o alone does not matter: in c it can be
// hidden before the last write when it ends. Nor does one that has taken effect in
// c alone, where many of unknown outcome are left to do the same.
func (w *registerWalk) standsFor(c, o *conf) bool {
	if c.value != o.value || c.last < o.last {
		return false
	}
	for _, m := range o.seen {
		if value(c.seen, m.key) < m.at {
			return false
		}
	}
	for i, m := range c.taken {
		if (i == 0 || c.taken[i-1].key != m.key) && !w.affords(c, o, m.key) {
			return false
		}
	}
	for _, s := range c.spent {
		if !w.affords(c, o, s.kind) {
			return false
		}
	}
	return true
}

// affords reports whether c can do with what is left of a kind whatever o can.
func (w *registerWalk) affords(c, o *conf, kind int32) bool {
	most := c.spentOn(kind).most
	more := c.early(o, kind) + most - o.spentOn(kind).most
	return more <= 0 || c.total() <= o.total() && by(w.kinds[kind].begun[1], c.last)-most >= ample
}

// early counts the mutations of a kind that have taken effect in c, and in o have
// not or later.
func (c *conf) early(o *conf, kind int32) int {
	i, end := c.takenOf(kind)
	j, last := o.takenOf(kind)
	n := 0
	for ; i < end; i++ {
		if j < last && o.taken[j].at <= c.taken[i].at {
			j++
		} else {
			n++
		}
	}
	return n
}

// total is how many mutations of unknown outcome have been spent.
func (c *conf) total() int {
	n := 0
	for _, s := range c.spent {
		n += s.most
	}
	return n
}

// absorb notes in c, which stands for o, how little was spent in o.
func (c *conf) absorb(o *conf) {
	for i, m := range c.taken {
		if i == 0 || c.taken[i-1].key != m.key {
			c.lower(o, m.key)
		}
	}
	for i := range c.spent {
		c.lower(o, c.spent[i].kind)
	}
	for _, s := range o.spent {
		c.lower(o, s.kind)
	}
}

func (c *conf) lower(o *conf, kind int32) {
	s := c.spentOn(kind)
	if least := o.spentOn(kind).least - c.early(o, kind); least < s.least {
		s.least = least
		c.spend(s)
	}
}

// sweep gives back the places of values and kinds that nothing names any more, and
// forgets the mutations of unknown outcome that took effect in every configuration.
func (w *registerWalk) sweep() {
	for i := range w.kinds {
		w.settle(int32(i))
		k := &w.kinds[i]
		_, used := w.kindOf[[2]int32{k.from, k.to}]
		switch {
		case !used || w.kindOf[[2]int32{k.from, k.to}] != int32(i):
		case len(k.begun[0])+len(k.begun[1]) == 0:
			delete(w.kindOf, [2]int32{k.from, k.to})
			w.spare[1] = append(w.spare[1], int32(i))
		default:
			w.slots[k.to].keep = true
			if k.from != anyValue {
				w.slots[k.from].keep = true
			}
		}
	}
	for i := range w.confs {
		w.slots[w.confs[i].value].keep = true
	}
	for i := range w.slots {
		s := &w.slots[i]
		if place, used := w.values[s.value]; used && place == int32(i) && !s.keep && len(s.reads[0])+len(s.reads[1]) == 0 {
			delete(w.values, s.value)
			w.spare[0] = append(w.spare[0], int32(i))
		}
		s.keep = false
	}
	w.swept = len(w.values) + len(w.kindOf)
}

// settle forgets the mutations of a kind and of unknown outcome that took effect in
// every configuration.
func (w *registerWalk) settle(kind int32) {
	k := &w.kinds[kind]
	fewest := len(k.begun[1])
	for i := range w.confs {
		fewest = min(fewest, w.confs[i].spentOn(kind).most)
	}
	if fewest == 0 {
		return
	}
	k.begun[1] = slices.Delete(k.begun[1], 0, fewest)
	for i := range w.confs {
		c := &w.confs[i]
		for j := range c.spent {
			if s := &c.spent[j]; s.kind == kind {
				s.most -= fewest
				s.least -= fewest
			}
		}
		c.spent = slices.DeleteFunc(c.spent, func(s spent) bool { return s.most == 0 && s.least == 0 })
	}
}
