package sim

// entryKind says what happens when an entry's time comes.
type entryKind uint8

const (
	atDelivery  entryKind = iota // ref: flight
	atWake                       // ref: task slot
	atTimer                      // ref: flight
	atResume                     // the process thaws
	atRestart                    // the process starts again
	atHeal                       // ref: link
	atQuietTime                  // faults stop
	atStep                       // ref: task slot; untimed and bounded only
)

// entry is a future event of the world.
type entry struct {
	at   int64
	seq  uint64 // order of scheduling: first in, first out among equal times
	proc ID
	ref  int32
	kind entryKind
	step int16 // of atStep
}

func (e *entry) before(o *entry) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// enter adds e, the last scheduled, to the entries of a timed world. Most of them
// come soon: what is near is a short list in order, so that few go through the heap.
func (w *World) enter(e *entry) {
	i := w.nears
	switch {
	case len(w.queue) > 0 && e.at >= w.queue[0].at, i == len(w.near) && e.at >= w.near[0].at:
		w.queue.push(*e)
		return
	case i == len(w.near):
		w.spill()
		i--
	}
	w.nears++
	near := w.near[:w.nears]
	for ; i > 0 && near[i-1].at <= e.at; i-- {
		near[i] = near[i-1]
	}
	near[i] = *e
}

// spill moves the last of what is near to the queue.
func (w *World) spill() {
	w.queue.push(w.near[0])
	copy(w.near[:], w.near[1:w.nears])
	w.nears--
}

// putBack makes e the next entry again.
func (w *World) putBack(e *entry) {
	if w.nears == len(w.near) {
		w.spill()
	}
	w.near[w.nears] = *e
	w.nears++
}

// peek returns the next entry, nil if there is none.
func (w *World) peek() *entry {
	if i := uint(w.nears - 1); i < uint(len(w.near)) {
		return &w.near[i]
	}
	return w.fetch()
}

// fetch makes the first entry of the queue near. Where time does not order them,
// nothing is near: the queue is where all of them are looked for.
func (w *World) fetch() *entry {
	switch {
	case len(w.queue) == 0:
		return nil
	case w.cfg.Timing != Timed:
		return &w.queue[0]
	}
	w.near[0], w.nears = w.queue.remove(0), 1
	return &w.near[0]
}

// take removes the next entry; there is one.
func (w *World) take() entry {
	if w.nears == 0 {
		return w.queue.remove(0)
	}
	w.nears--
	return w.near[w.nears]
}

// queue is a binary heap of entries by time, then order of scheduling.
type queue []entry

func (q *queue) push(e entry) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	*q = h
}

// remove takes out the entry at index i.
func (q *queue) remove(i int) entry {
	h := *q
	out := h[i]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if i == len(h) {
		return out
	}
	for i > 0 && last.before(&h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].before(&h[down]) {
			down++
		}
		if !h[down].before(&last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = last
	return out
}
