package checker

import (
	"slices"

	"staleproof/model/history"
)

var fenceSurvives = Property{
	Name:      "fence-survives",
	Guarantee: "The store's greatest token, and every acknowledged write, survive its crash, failover and restore.",
	Doc: "Watches what the store notes as its greatest token, which never decreases, and what it serves after a restart: " +
		"the last acknowledged write, a later one, or one without an answer, where the notes tell the values. Without the store's notes, linearizable judges it.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "through linearizable",
	watch: func(v View) []interest {
		if !v.Store {
			return nil
		}
		list := notes(history.Apply, history.Raised, history.Reject, history.Served, history.Restart)
		for _, t := range []history.Type{history.Invoke, history.OK, history.Fail} {
			list = append(list, events(t, history.Write, history.Delete, history.CAS, history.Batch)...)
		}
		return list
	},
	monitor: func(e *env) Monitor { return &survival{base: e.base("fence-survives")} },
}

// survival keeps the greatest token of each fence and the last writes of each
// resource.
type survival struct {
	base
	store     string // the process that notes what the store does
	fences    []accepted
	resources []lastWrites
}

// lastWrites are the last write that was acknowledged and those that were
// applied after it: what a restart may leave.
type lastWrites struct {
	acked     written
	later     [manyLater]written        // the latest last
	count     int                       // of later
	missed    bool                      // one of them, or of open, was forgotten
	open      unanswered[history.Value] // a crash may leave any of them
	restarted int64                     // the restart since the last one was applied; 0: none
}

// manyLater is how many writes without an acknowledgement are remembered.
const manyLater = 4

type written struct {
	op    int64
	value history.Value // Absent where the note does not tell, and of a delete
	at    int64
}

// apply adds a write.
func (r *lastWrites) apply(w written) {
	r.restarted = 0
	if r.count == manyLater {
		copy(r.later[:], r.later[1:])
		r.count--
		r.missed = true
	}
	r.later[r.count] = w
	r.count++
}

// acknowledge notes that a write must survive, and so none before it need.
func (r *lastWrites) acknowledge(op int64) {
	for i := range r.later[:r.count] {
		if r.later[i].op == op {
			r.acked = r.later[i]
			copy(r.later[:], r.later[i+1:])
			clear(r.later[r.count-i-1:])
			r.count -= i + 1
			r.missed = false
			return
		}
	}
}

// explains reports whether a restart may have left the value.
func (r *lastWrites) explains(v history.Value) bool {
	may := func(wrote history.Value) bool { return wrote.Kind == history.Absent || sameValue(wrote, v) }
	return r.acked.op == 0 || r.missed || may(r.acked.value) ||
		slices.ContainsFunc(r.later[:r.count], func(w written) bool { return may(w.value) }) ||
		slices.ContainsFunc(r.open.all(), func(o asking[history.Value]) bool { return may(o.about) })
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
	r := at(&m.resources, m.names.resources.id(in.Resource))
	switch {
	case in.Type == history.Invoke:
		if r.open.begin(in.Op, in.Value) {
			r.missed = true
		}
	case in.Type == history.OK:
		r.acknowledge(in.Op)
		r.open.end(in.Op)
	case in.Type == history.Fail:
		r.open.end(in.Op)
	case in.F == history.Apply:
		m.store = in.Process
		r.apply(written{in.Op, in.Value, in.Index})
	case in.F == history.Served:
		return m.served(in, r)
	}
	return false
}

// sinks judges the greatest token that the store notes.
func (m *survival) sinks(in *Input) bool {
	if in.Type != history.Note || in.F == history.Served || in.Highest == 0 {
		return false
	}
	f := at(&m.fences, in.fence())
	if in.Highest < f.token {
		return m.violate([]int64{f.at, in.Index}, "the store's greatest token was %d at #%d and is %d at #%d%s",
			f.token, f.at, in.Highest, in.Index, inside(in.Resource))
	}
	if in.Highest > f.token {
		f.token, f.at = in.Highest, in.Index
	}
	return false
}

// served judges a read after a restart; a write that was not acknowledged may be
// gone.
func (m *survival) served(in *Input, r *lastWrites) bool {
	if r.restarted == 0 || in.Value.Kind == history.Absent || r.explains(in.Value) {
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
	fences := m.names.fences()
	for _, i := range fences.order() {
		if int(i) < len(m.fences) && m.fences[i].token != 0 {
			b = appendText(b, fences.list[i])
			b = appendInt(b, int64(m.fences[i].token))
		}
	}
	for _, i := range m.names.resources.order() {
		if int(i) >= len(m.resources) || m.resources[i] == (lastWrites{}) {
			continue
		}
		r := &m.resources[i]
		b = appendText(b, m.names.resources.list[i])
		b = appendValue(b, r.acked.value)
		b = append(b, byte(r.count), byte(r.open.count))
		for _, w := range r.later[:r.count] {
			b = appendValue(b, w.value)
		}
		for _, o := range r.open.all() {
			b = appendValue(appendInt(b, o.op), o.about)
		}
		b = appendBool(b, r.acked.op != 0)
		b = appendBool(b, r.missed)
		b = appendBool(b, r.restarted != 0)
	}
	return b
}

func (m *survival) Clone() Monitor {
	c := *m
	c.fences, c.resources = slices.Clone(m.fences), slices.Clone(m.resources)
	return &c
}

func (m *survival) Reset() {
	m.broken = nil
	clear(m.fences)
	clear(m.resources)
}
