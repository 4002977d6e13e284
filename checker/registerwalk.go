package checker

import (
	"cmp"
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
	values   map[history.Value]int32 // places in slots
	slots    []slot
	kindOf   map[[2]int32]int32 // places in kinds
	kinds    []kind
	spare    [2][]int32 // places in slots and in kinds that are not in use
	open     []int64    // the beginnings of what is open and will end, in order
	lost     []int64    // the beginnings of the mutations of unknown outcome, in order
	doubted  []int32    // slots with open reads of another value
	cas      []int32    // the kinds of open mutations that expect a value
	oldest   int64      // where the first of those began; never when there is none
	confs    []conf
	next     []conf
	marks    [2][]mark // memory of confs and of next
	spends   [2][]spent
	swept    int  // slots and kinds in use after the last sweep
	widest   int  // the most configurations so far
	width    int  // how many configurations may be kept; 0 is any number
	beam     int  // the width once configurations were dropped; 0 before
	doubt    bool // one may be missing that would explain more
	calm     calm
	tried    int  // configurations added at this end
	thrifty  bool // mutations of unknown outcome are not used now
	searches bool // a cas was seen: porcupine has to confirm a violation
}

// calm is the last moment at which nothing was open and there was one configuration.
type calm struct {
	at    int64 // the end of an operation, or beforeAll
	value history.Value
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
	// seen is when a value was current last, where an open operation may have to know:
	// by 2*slot that of the slot, by 2*slot+1 any other value.
	seen []mark
	// soft is the values that were overwritten by a write, which would have overwritten
	// any other as well, and when: by slot and moment.
	soft []mark
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

// mark is a moment, or a number, of a slot or a kind.
type mark struct {
	key int32
	at  int64
}

func newRegisterWalk(init history.Value) *registerWalk {
	w := &registerWalk{values: map[history.Value]int32{}, kindOf: map[[2]int32]int32{}, oldest: never}
	w.confs = []conf{{value: w.slot(init), last: beforeAll}}
	w.calm = calm{beforeAll, init}
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

// newPlace returns the index of an unused element of s, which it extends if need be.
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
	w.searches = w.searches || c.f == history.CAS
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
		w.opens(w.kind(c), 1, c.invoked)
		w.lost = append(w.lost, c.invoked)
	default:
		w.opens(w.kind(c), 0, c.invoked)
		w.open = append(w.open, c.invoked)
	}
}

// opens adds a mutation to its kind: among those that will end, or 1, those of
// unknown outcome.
func (w *registerWalk) opens(kind int32, which int, invoked int64) {
	k := &w.kinds[kind]
	if k.from != anyValue && len(k.begun[0])+len(k.begun[1]) == 0 {
		w.cas = append(w.cas, kind)
	}
	k.begun[which] = append(k.begun[which], invoked)
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
			w.rest(c)
			return true
		}
		w.casOpen()
		w.branch(func(o *conf) {
			if o.explains(q, c.invoked) {
				w.add(w.fork(o))
			} else {
				w.force(o, &forced{call: c, kind: -1, q: q, before: never})
			}
		})
	} else {
		kind := w.kind(c)
		w.kinds[kind].begun[0] = without(w.kinds[kind].begun[0], c.invoked)
		w.casOpen()
		w.branch(func(o *conf) { w.mutate(o, kind, c) })
	}
	w.widest = max(w.widest, len(w.next))
	w.narrow()
	w.confs, w.next = w.next, w.confs[:0]
	w.marks[0], w.marks[1] = w.marks[1], w.marks[0][:0]
	w.spends[0], w.spends[1] = w.spends[1], w.spends[0][:0]
	w.rest(c)
	if len(w.slots)-len(w.spare[0])+len(w.kinds)-len(w.spare[1]) > 2*w.swept+64 {
		w.sweep()
	}
	return len(w.confs) > 0
}

// branch adds what each configuration becomes. Once some were dropped, mutations of
// unknown outcome are used where nothing else will do.
func (w *registerWalk) branch(become func(*conf)) {
	w.tried = 0
	for _, w.thrifty = range []bool{w.beam > 0, false} {
		for i := range w.confs {
			become(&w.confs[i])
		}
		if len(w.next) > 0 {
			break
		}
	}
	w.thrifty = false
}

// usable reports whether a mutation of a kind may be used.
func (w *registerWalk) usable(k *kind) bool {
	return len(k.begun[0]) > 0 || len(k.begun[1]) > 0 && !w.thrifty
}

// rest notes the end of a call as a calm moment if it is one.
func (w *registerWalk) rest(c *call) {
	if len(w.open)+len(w.lost) == 0 && len(w.confs) == 1 && !w.doubt {
		w.calm = calm{c.ended, w.slots[w.confs[0].value].value}
	}
}

// narrow drops configurations where there are too many, or they take too long: those in which most
// operations have taken effect early. What is left still shows that the history can
// be put in order, if it can; no longer that it cannot.
func (w *registerWalk) narrow() {
	width := cmp.Or(w.beam, w.width)
	if width == 0 || len(w.next) <= width && (w.beam > 0 || w.tried <= 4*width) {
		return
	}
	slices.SortStableFunc(w.next, func(a, b conf) int { return cmp.Compare(a.total()+len(a.taken), b.total()+len(b.taken)) })
	w.beam, w.doubt = narrowed, true
	w.next = w.next[:min(len(w.next), narrowed/2)]
}

// narrowed is how many configurations are kept once some were dropped.
var narrowed = 32

// casOpen finds which kinds expect a value and are open, and since when.
func (w *registerWalk) casOpen() {
	w.cas = slices.DeleteFunc(w.cas, func(i int32) bool { return len(w.kinds[i].begun[0])+len(w.kinds[i].begun[1]) == 0 })
	w.oldest = never
	for _, i := range w.cas {
		w.oldest = min(w.oldest, w.kinds[i].oldest())
	}
}

// oldest is where the first of the open mutations of a kind began, never when there
// is none.
func (k *kind) oldest() int64 {
	first := int64(never)
	for _, begun := range k.begun {
		if len(begun) > 0 {
			first = min(first, begun[0])
		}
	}
	return first
}

// by is how many of the open mutations of a kind had begun at a moment.
func (k *kind) by(at int64) int { return by(k.begun[0], at) + by(k.begun[1], at) }

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

// mutate adds what a configuration becomes when a mutation ends. It is the one that
// took effect, if one of its kind has. But if another of the kind may be that one
// as well, and began later than a place where this one fits, it may be there.
func (w *registerWalk) mutate(c *conf, kind int32, by *call) {
	k, f := &w.kinds[kind], forced{call: by, kind: kind, before: never}
	first, end := c.takenOf(kind)
	for i := first; i < end; i++ {
		if c.taken[i].at >= by.invoked {
			n := w.fork(c)
			n.taken = slices.Delete(n.taken, i, i+1)
			w.add(n)
			if k.from == anyValue || !w.feasible(c, kind) {
				return
			}
			f.before = max(floor(k.begun[0], never), floor(k.begun[1], never))
			break
		}
	}
	w.force(c, &f)
}

// take notes that one of the open mutations of a kind has taken effect at a
// moment, and reports whether there can have been as many at each moment.
func (w *registerWalk) take(c *conf, kind int32, at int64) bool {
	_, i := c.takenOf(kind)
	for i > 0 && c.taken[i-1].key == kind && c.taken[i-1].at > at {
		i--
	}
	c.taken = slices.Insert(c.taken, i, mark{kind, at})
	return w.feasible(c, kind)
}

// feasible reports whether of the open mutations of a kind as many had begun by each
// moment as have taken effect by then.
func (w *registerWalk) feasible(c *conf, kind int32) bool {
	k, s := &w.kinds[kind], c.spentOn(kind)
	first, end := c.takenOf(kind)
	spare := 0 // how many more would be needed
	for i := first; i < end; i++ {
		spare = max(spare, i-first+1+s.most-k.by(c.taken[i].at))
	}
	w.doubt = w.doubt || spare > 0 && spare <= s.most-s.least
	return spare == 0
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

// current notes that a value was current at a moment.
func (w *registerWalk) current(c *conf, slot int32, at int64) {
	if len(w.slots[slot].reads[0]) > 0 || len(w.cas) > 0 || at > c.last {
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
	return conf{c.value, c.last, duplicate(&w.marks[1], c.seen), duplicate(&w.marks[1], c.soft), duplicate(&w.marks[1], c.taken), duplicate(&w.spends[1], c.spent)}
}

// duplicate copies a list into memory, with room for a few more.
func duplicate[T any](memory *[]T, list []T) []T {
	var room [2]T
	m := append(append(*memory, list...), room[:]...)
	*memory = m
	n := len(m)
	return m[n-len(room)-len(list) : n-len(room) : n]
}

// add adds a configuration to the next ones, unless one of those stands for it.
func (w *registerWalk) add(c conf) {
	w.tried++
	w.round(&c)
	for i := range w.next {
		if o := &w.next[i]; w.standsFor(o, &c) {
			o.absorb(&c)
			return
		}
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

// round rounds the moments of a configuration down to beginnings that open
// operations can tell apart, and drops what none of them can need.
func (w *registerWalk) round(c *conf) {
	c.last = w.floor(c.last)
	kept := c.seen[:0]
	for _, m := range c.seen {
		any := w.floor(m.at)
		m.at = floor(w.slots[m.key/2].reads[m.key%2], m.at)
		if m.key%2 == 0 && (any > c.last || any >= w.oldest) { // it can be left and come back to
			m.at = any
		}
		if m.at != beforeAll && !c.explains(m.key, never) {
			kept = append(kept, m)
		}
	}
	c.seen = kept
	w.roundSoft(c)
	taken := c.taken[:0]
	for _, m := range c.taken {
		k := &w.kinds[m.key]
		if m.at = max(floor(k.begun[0], m.at), floor(k.begun[1], m.at)); len(w.open) == 0 || m.at < w.open[0] {
			s := c.spentOn(m.key)
			s.most++
			s.least++
			c.spend(s)
		} else {
			taken = append(taken, m)
		}
	}
	c.taken = taken
}

// roundSoft keeps of each value that was overwritten as many moments as there are
// open mutations that expect it: the latest.
func (w *registerWalk) roundSoft(c *conf) {
	kept, n := c.soft[:0], 0
	for i, m := range c.soft {
		if i == 0 || c.soft[i-1].key != m.key {
			n = 0
		}
		usable, first := 0, int64(never)
		for _, k := range w.cas {
			if w.kinds[k].from == m.key {
				usable += len(w.kinds[k].begun[0]) + len(w.kinds[k].begun[1])
				first = min(first, w.kinds[k].oldest())
			}
		}
		if rounded := w.floor(m.at); rounded >= first && n < usable {
			m.at = rounded
			kept = append(kept, m)
			n++
		}
	}
	c.soft = kept
}

// floor is the latest beginning of what is open that is not later than a moment.
// Where nothing that will end had begun, nothing will be put in order.
func (w *registerWalk) floor(at int64) int64 {
	if len(w.open) == 0 || at < w.open[0] {
		return beforeAll
	}
	return max(floor(w.open, at), floor(w.lost, at))
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
	if c.value != o.value || c.last < o.last || len(c.soft) < len(o.soft) {
		return false
	}
	for _, m := range o.seen {
		if value(c.seen, m.key) < m.at {
			return false
		}
	}
	i := 0
	for _, m := range o.soft { // the latest of a value come first
		for i < len(c.soft) && c.soft[i].key < m.key {
			i++
		}
		if i == len(c.soft) || c.soft[i].key != m.key || c.soft[i].at < m.at {
			return false
		}
		i++
	}
	for i, m := range c.taken {
		if (i == 0 || c.taken[i-1].key != m.key) && !w.affords(c, o, m.key) {
			return false
		}
	}
	for i, m := range o.taken {
		if (i == 0 || o.taken[i-1].key != m.key) && w.kinds[m.key].from != anyValue && !w.affords(c, o, m.key) {
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

// affords reports whether c has as many unused mutations of a kind left as o can need.
func (w *registerWalk) affords(c, o *conf, kind int32) bool {
	k, most, at := &w.kinds[kind], c.spentOn(kind).most, c.last
	first, end := c.takenOf(kind)
	early := c.early(o, kind)
	if k.from != anyValue {
		if i, j := o.takenOf(kind); end-first != j-i || early > 0 {
			return false
		}
		if len(w.open) > 0 {
			at = w.open[0]
		}
	}
	more := early + most - o.spentOn(kind).most
	return more <= 0 || c.total() <= o.total() && by(k.begun[1], at)-most-(end-first) >= ample
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
	}
	w.casOpen()
	for i := range w.kinds {
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
		c := &w.confs[i]
		w.slots[c.value].keep = true
		for _, m := range c.seen {
			w.slots[m.key/2].keep = true
		}
		for _, m := range c.soft {
			w.slots[m.key].keep = true
		}
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
