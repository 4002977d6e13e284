package checker

import "slices"

// forced is a call that ends and has to be put in order: a mutation that has not
// taken effect, or a read that nothing explains yet.
//
// It goes to a place with a walk over values by open mutations, each of which had
// begun by the moment of the place. A write does not care which value it
// overwrites; a cas does. So there are four places:
//
//   - now: from the value to any other, which becomes the value;
//   - just before the last write: a walk that begins with a write, and ends
//     anywhere;
//   - just before any write: a walk that begins at the value which that overwrote,
//     and ends anywhere;
//   - while a value was current: a walk from it and back to it.
//
// A shortest walk will do: of a longer one the rest can be added later. So it has a
// write at most as its first step, before the call and after it.
type forced struct {
	*call
	kind   int32 // of a mutation; -1 of a read
	q      int32 // what a read asks
	before int64 // only earlier places are tried
}

// meets reports whether the call can take place at a value.
func (w *registerWalk) meets(f *forced, slot int32) bool {
	if f.kind < 0 {
		return (slot == f.q/2) == (f.q%2 == 0)
	}
	from := w.kinds[f.kind].from
	return from == anyValue || from == slot
}

// visit goes on with a walk that has come to a value.
type visit func(c conf, slot int32)

// force adds what a configuration can become so that a call that ends is in order.
func (w *registerWalk) force(c *conf, f *forced) {
	if f.ended < f.before {
		n := w.fork(c)
		w.current(&n, c.value, f.ended)
		w.reach(n, c.value, f.ended, f, func(n conf, slot int32) {
			n.value = w.own(&n, slot, f.ended, f)
			w.add(n)
		})
	}
	if f.invoked <= c.last && c.last < f.before {
		w.beforeLast(c, f)
	}
	if f.kind < 0 || w.kinds[f.kind].from != anyValue {
		w.beforeWrites(c, f)
	}
	for _, m := range c.seen {
		if m.key%2 == 0 && f.invoked <= m.at && m.at < f.before {
			w.while(c, m.key/2, m.at, f)
		}
	}
}

// beforeLast puts a call just before the last write.
func (w *registerWalk) beforeLast(c *conf, f *forced) {
	if f.kind >= 0 && w.kinds[f.kind].from == anyValue {
		n := w.fork(c)
		w.step(&n, anyValue, f.kind, c.last)
		n.soften(w.kinds[f.kind].to, c.last)
		w.add(n)
		return
	}
	w.write(c, anyValue, c.last, f, func(n conf, slot int32) {
		n.soften(w.own(&n, slot, c.last, f), c.last)
		w.add(n)
	})
}

// beforeWrites puts a call just before a write, after the value which that
// overwrote.
func (w *registerWalk) beforeWrites(c *conf, f *forced) {
	for i, m := range c.soft {
		if m.at < f.invoked || m.at >= f.before || i > 0 && c.soft[i-1] == m {
			continue
		}
		n := w.fork(c)
		n.soft = slices.Delete(n.soft, i, i+1)
		w.paths(n, m.key, m.at, f, nil, func(n conf, slot int32) {
			n.soften(w.own(&n, slot, m.at, f), m.at)
			w.add(n)
		})
	}
}

// while puts a call at a moment at which a value was current, to which the walk
// comes back.
func (w *registerWalk) while(c *conf, home int32, at int64, f *forced) {
	back := &forced{kind: -1, q: 2 * home}
	andBack := func(n conf, slot int32) {
		slot = w.own(&n, slot, at, f)
		w.reach(n, slot, at, back, func(n conf, _ int32) { w.add(n) })
	}
	switch n := w.fork(c); {
	case at > c.last:
		w.reach(n, home, at, f, andBack)
	case f.kind < 0 || w.kinds[f.kind].from != anyValue: // a write comes before the last one as well
		w.paths(n, home, at, f, nil, andBack)
	}
}

// own makes the mutation of a call take effect, and returns the value after it.
func (w *registerWalk) own(c *conf, slot int32, at int64, f *forced) int32 {
	if f.kind >= 0 {
		w.step(c, slot, f.kind, at)
		slot = w.kinds[f.kind].to
	}
	return slot
}

// step is a mutation of a kind that overwrites a value, any value where that is
// known to be so anyway.
func (w *registerWalk) step(c *conf, slot, kind int32, at int64) {
	k := &w.kinds[kind]
	if k.from == anyValue && slot != anyValue {
		c.soften(slot, at)
	}
	w.current(c, k.to, at)
}

// soften notes that a value was overwritten by a write.
func (c *conf) soften(slot int32, at int64) {
	c.last = max(c.last, at)
	i := 0
	for i < len(c.soft) && (c.soft[i].key < slot || c.soft[i].key == slot && c.soft[i].at > at) {
		i++
	}
	c.soft = slices.Insert(c.soft, i, mark{slot, at})
}

// reach goes from a value to those that a call can take place at.
func (w *registerWalk) reach(c conf, from int32, at int64, f *forced, then visit) {
	w.paths(c, from, at, f, nil, then)
	if !w.meets(f, from) {
		w.write(&c, from, at, f, then)
	}
}

// paths goes from a value, by mutations that expect the value before them, to those
// that a call can take place at.
func (w *registerWalk) paths(c conf, from int32, at int64, f *forced, passed []int32, then visit) {
	if w.meets(f, from) {
		then(w.fork(&c), from)
		return
	}
	if w.beam > 0 && len(passed) > 0 {
		return // some configurations were dropped: longer walks are not tried
	}
	passed = append(passed, from)
	for _, kind := range w.cas {
		k := &w.kinds[kind]
		if k.from != from || !w.usable(k) || slices.Contains(passed, k.to) {
			continue
		}
		if n := w.fork(&c); w.take(&n, kind, at) {
			w.step(&n, from, kind, at)
			w.paths(n, k.to, at, f, passed, then)
		}
	}
}

// write goes to the values that a call can take place at from an open write, which
// overwrites a value.
func (w *registerWalk) write(c *conf, from int32, at int64, f *forced, then visit) {
	begin := func(kind int32) {
		if n := w.fork(c); w.usable(&w.kinds[kind]) && w.take(&n, kind, at) {
			w.step(&n, from, kind, at)
			w.paths(n, w.kinds[kind].to, at, f, nil, then)
		}
	}
	if f.kind < 0 && f.q%2 == 1 {
		for i := range w.kinds {
			if k := &w.kinds[i]; k.from == anyValue && len(k.begun[0])+len(k.begun[1]) > 0 && w.meets(f, k.to) {
				begin(int32(i))
			}
		}
		return
	}
	goal := f.q / 2
	if f.kind >= 0 {
		goal = w.kinds[f.kind].from
	}
	if kind, ok := w.kindOf[[2]int32{anyValue, goal}]; ok {
		begin(kind)
	}
	var tried []int32
	for _, i := range w.cas {
		if from := w.kinds[i].from; from != goal && !slices.Contains(tried, from) {
			tried = append(tried, from)
			if kind, ok := w.kindOf[[2]int32{anyValue, from}]; ok {
				begin(kind)
			}
		}
	}
}
