package checker

import (
	"slices"

	"staleproof/model/history"
)

var fenceSurvives = Property{
	Name:      "fence-survives",
	Guarantee: "The store's greatest token, and every acknowledged write, survive its crash, failover and restore.",
	Doc: "Watches what the store notes as its greatest token, which never decreases nor vanishes from notes that told it, " +
		"and what it serves after a restart: " +
		"the last acknowledged write, a later one, or one without an answer, where the notes tell the values. Without the store's notes, linearizable judges it.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "through linearizable",
	watch: func(v View) []interest {
		if !v.Store {
			return nil
		}
		list := notes(history.Apply, history.Raised, history.Reject, history.Served, history.Restart)
		return append(append(list, events(history.Invoke, mutations...)...), ends(mutations...)...)
	},
	monitor: func(e *env) Monitor { return &survival{base: e.base("fence-survives")} },
}

// survival keeps the greatest token of each fence, the last writes of each
// resource, and the writes that may yet be applied.
type survival struct {
	base
	store     string // the process that notes what the store does
	fences    []accepted
	tells     [2]bool // notes of reads, and of mutations, told a greatest token
	resources []lastWrites
	open      opTable[unapplied]
}

// lastWrites are the last write that was acknowledged and those that were
// applied after it: what a restart may leave.
type lastWrites struct {
	acked     written
	later     []written             // the latest last
	maybe     opTable[maybeWritten] // values of writes of unknown outcome that were not applied, by their hash
	restarted int64                 // the restart since the last one was applied; 0: none
}

// maybeWritten is a value that a restart may have left.
type maybeWritten struct {
	value history.Value
	count int // of writes
}

// unapplied is a write that may yet be applied.
type unapplied struct {
	resource int32
	value    history.Value
	applied  bool
	unknown  bool // its outcome is unknown
}

type written struct {
	op    int64
	value history.Value // Absent where the note does not tell, and of a delete
	at    int64
}

// acknowledge notes that a write must survive, and so none before it need.
func (r *lastWrites) acknowledge(op int64) {
	for i := range r.later {
		if r.later[i].op == op {
			r.acked = r.later[i]
			r.later = slices.Delete(r.later, 0, i+1)
			return
		}
	}
}

// may changes how many writes of unknown outcome may leave a value.
func (r *lastWrites) may(v history.Value, by int) {
	e := r.maybe.find(int64(hashValue(v)))
	if e == nil {
		e, _ = r.maybe.add(int64(hashValue(v)))
		e.rec.value = v
	}
	if e.rec.count += by; e.rec.count == 0 {
		r.maybe.remove(e)
	}
}

// explains reports whether a restart may have left the value.
func (m *survival) explains(resource int32, v history.Value) bool {
	r := &m.resources[resource]
	may := func(wrote history.Value) bool { return wrote.Kind == history.Absent || sameValue(wrote, v) }
	if r.acked.op == 0 || may(r.acked.value) || slices.ContainsFunc(r.later, func(w written) bool { return may(w.value) }) ||
		r.maybe.find(int64(hashValue(v))) != nil || r.maybe.find(int64(hashValue(history.Value{}))) != nil {
		return true
	}
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open && !o.rec.unknown && o.rec.resource == resource && may(o.rec.value) {
			return true
		}
	}
	return false
}

func (m *survival) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	if in.F == history.Restart {
		if in.Process != m.store {
			return false
		}
		for i := range m.resources {
			m.resources[i].restarted = in.Index
		}
		return false
	}
	if m.sinks(in) {
		return true
	}
	resource := m.names.resources.id(in.Resource)
	r := at(&m.resources, resource)
	switch {
	case in.Type == history.Invoke:
		o, _ := m.open.add(in.Op)
		o.rec = unapplied{resource: resource, value: in.Value}
	case in.Type != history.Note:
		m.ends(in, r)
	case in.F == history.Apply:
		m.applies(in, r)
	case in.F == history.Served:
		return m.served(in, r, resource)
	}
	return false
}

// applies takes a write that was applied.
func (m *survival) applies(in *Input, r *lastWrites) {
	m.store, r.restarted = in.Process, 0
	r.later = append(r.later, written{in.Op, in.Value, in.Index})
	if o := m.open.find(in.Op); o != nil {
		if o.rec.applied = true; o.rec.unknown {
			at(&m.resources, o.rec.resource).may(o.rec.value, -1)
			m.open.remove(o)
		}
	}
}

// ends takes the end of a client's wait for a write.
func (m *survival) ends(in *Input, r *lastWrites) {
	if in.Type == history.OK {
		r.acknowledge(in.Op)
	}
	o := m.open.find(in.Op)
	switch {
	case o == nil:
	case in.Type == history.Info && !o.rec.applied:
		o.rec.unknown = true
		at(&m.resources, o.rec.resource).may(o.rec.value, 1)
	default:
		m.open.remove(o)
	}
}

// sinks judges the greatest token that the store notes.
func (m *survival) sinks(in *Input) bool {
	if in.Type != history.Note {
		return false
	}
	f := at(&m.fences, in.fence())
	tells := &m.tells[0]
	if in.F != history.Served {
		tells = &m.tells[1]
	}
	switch {
	case in.Highest == 0 && (f.token == 0 || !*tells || in.F == history.Reject || in.F != history.Served && in.Token != 0):
		// Neither tells the fence: a refusal need not name the greatest token, and an
		// accepted operation raises the fence to its own.
	case in.Highest == 0:
		return m.violate([]int64{f.at, in.Index}, "the store's greatest token was %d at #%d and it has none at #%d%s",
			f.token, f.at, in.Index, inside(in.Resource))
	case in.Highest < f.token:
		return m.violate([]int64{f.at, in.Index}, "the store's greatest token was %d at #%d and is %d at #%d%s",
			f.token, f.at, in.Highest, in.Index, inside(in.Resource))
	default:
		if *tells = true; in.Highest > f.token {
			f.token, f.at = in.Highest, in.Index
		}
	}
	return false
}

// served judges a read after a restart; a write that was not acknowledged may be
// gone.
func (m *survival) served(in *Input, r *lastWrites, resource int32) bool {
	if r.restarted == 0 || in.Value.Kind == history.Absent || m.explains(resource, in.Value) {
		return false
	}
	return m.violate([]int64{r.acked.at, r.restarted, in.Index},
		"the store served %s at #%d after its restart at #%d, and had acknowledged %s, written at #%d%s",
		in.Value, in.Index, r.restarted, r.acked.value, r.acked.at, inside(in.Resource))
}

func (m *survival) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	b = appendBool(appendBool(b, m.tells[0]), m.tells[1])
	fences := m.names.fences()
	for _, i := range fences.order() {
		if int(i) < len(m.fences) && m.fences[i].token != 0 {
			b = appendText(b, fences.list[i])
			b = appendInt(b, int64(m.fences[i].token))
		}
	}
	b = append(b, 0)
	for _, i := range m.names.resources.order() {
		if int(i) < len(m.resources) && !m.resources[i].empty() {
			b = m.resources[i].appendKey(appendText(b, m.names.resources.list[i]))
		}
	}
	keys := make([][]byte, 0, m.open.used)
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open {
			k := appendText(appendInt(nil, o.op), m.names.resources.list[o.rec.resource])
			k = appendBool(appendBool(k, o.rec.applied), o.rec.unknown)
			keys = append(keys, appendValue(k, o.rec.value))
		}
	}
	return appendSorted(append(b, 0), keys)
}

func (r *lastWrites) empty() bool {
	return r.acked.op == 0 && r.restarted == 0 && len(r.later) == 0 && r.maybe.used == 0
}

func (r *lastWrites) appendKey(b []byte) []byte {
	b = appendBool(appendBool(b, r.acked.op != 0), r.restarted != 0)
	b = appendInt(appendValue(b, r.acked.value), int64(len(r.later)))
	for _, w := range r.later {
		b = appendValue(b, w.value)
	}
	return b
}

func (m *survival) Clone() Monitor {
	c := *m
	c.fences, c.resources, c.open = slices.Clone(m.fences), slices.Clone(m.resources), m.open.clone()
	for i := range c.resources {
		r := &c.resources[i]
		r.later, r.maybe = slices.Clone(r.later), r.maybe.clone()
	}
	return &c
}

func (m *survival) Reset() {
	m.broken, m.store, m.tells = nil, "", [2]bool{}
	clear(m.fences)
	m.open.reset()
	for i := range m.resources {
		r := &m.resources[i]
		r.maybe.reset()
		*r = lastWrites{later: r.later[:0], maybe: r.maybe}
	}
}
