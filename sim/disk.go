package sim

// Disk is the storage of a process: the only thing that survives a crash. Writes
// go to a cache; Sync makes all of them durable. At a crash unsynced writes are
// lost, or by choice ([SiteDisk]) the first few of them survive, in the order in
// which they were written: a torn write.
//
// A missing key reads as (nil, false). Values are plain comparable values, as
// message bodies are.
type Disk struct {
	log     []any
	torn    int // unsynced writes that survived the last crash
	synced  []record
	pending []record
	puts    int64 // records that there have been
}

// record is one write: to the log, or to a key.
type record struct {
	log   bool
	gone  bool
	key   string
	value any
	mark  *Mark // of the task that put it
}

// Get returns the latest value put under key, synced or not.
func (d *Disk) Get(key string) (any, bool) {
	for i := len(d.pending) - 1; i >= 0; i-- {
		if r := &d.pending[i]; r.key == key && !r.log {
			return r.value, !r.gone
		}
	}
	for i := range d.synced {
		if d.synced[i].key == key {
			return d.synced[i].value, true
		}
	}
	return nil, false
}

// Torn returns how many writes survived the last crash although they were not
// synced: they are the newest. It is for instrumentation, which has to report
// now what took effect then; a real system cannot know.
func (d *Disk) Torn() int { return d.torn }

// Log calls yield for each value appended, synced or not, from the oldest on.
func (d *Disk) Log(yield func(value any) bool) {
	for _, v := range d.log {
		if !yield(v) {
			return
		}
	}
	for i := range d.pending {
		if r := &d.pending[i]; r.log && !yield(r.value) {
			return
		}
	}
}

// Keys calls yield for each key, in the order in which the keys were first
// synced, then first put.
func (d *Disk) Keys(yield func(key string) bool) {
	for i := range d.synced {
		if _, ok := d.Get(d.synced[i].key); ok && !yield(d.synced[i].key) {
			return
		}
	}
	for i, r := range d.pending {
		if _, ok := d.Get(r.key); ok && !r.log && d.fresh(i) && !yield(r.key) {
			return
		}
	}
}

// fresh reports whether pending[i] is the first appearance of its key.
func (d *Disk) fresh(i int) bool {
	for j := range d.synced {
		if d.synced[j].key == d.pending[i].key {
			return false
		}
	}
	for j := range i {
		if d.pending[j].key == d.pending[i].key && !d.pending[j].log {
			return false
		}
	}
	return true
}

// put returns the next write, to be filled in, which counts for m.
func (d *Disk) put(m *Mark) *record {
	d.puts++
	d.pending = append(d.pending, record{mark: m})
	if m != nil {
		if m.Records++; m.First == 0 {
			m.First = d.puts
		}
	}
	return &d.pending[len(d.pending)-1]
}

// sync makes the first n pending writes durable.
func (d *Disk) sync(n int) {
	for i := range d.pending[:n] {
		d.apply(&d.pending[i])
	}
	if n < len(d.pending) {
		d.pending = append(d.pending[:0], d.pending[n:]...)
	} else {
		d.pending = d.pending[:0]
	}
}

func (d *Disk) apply(r *record) {
	if r.mark != nil {
		r.mark.Durable++
	}
	if r.log {
		d.log = append(d.log, r.value)
		return
	}
	for i := range d.synced {
		if d.synced[i].key != r.key {
			continue
		}
		if r.gone {
			d.synced = append(d.synced[:i], d.synced[i+1:]...)
		} else {
			d.synced[i] = *r
		}
		return
	}
	if !r.gone {
		d.synced = append(d.synced, *r)
	}
}

// crash keeps the first survive pending writes and forgets the others.
func (d *Disk) crash(survive int) {
	d.torn = survive
	d.sync(survive)
	clear(d.pending)
	d.pending = d.pending[:0]
}

func (d *Disk) reset() {
	clear(d.log)
	d.log = d.log[:0]
	d.torn, d.puts = 0, 0
	clear(d.synced)
	clear(d.pending)
	d.synced, d.pending = d.synced[:0], d.pending[:0]
}
