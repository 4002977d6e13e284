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
