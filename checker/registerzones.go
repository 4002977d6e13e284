package checker

import "staleproof/model/history"

// registerZones judges reads and writes of registers, in one pass and in memory
// for the values that may still be read. The zones are the values: a write and
// the reads of what it wrote. They tell only where a read names its write: a
// resource that sees a cas, or a value written again while the one before may
// still be read, is left unclear.
type registerZones struct {
	property string
	names    *names
	init     history.Value
	evidence evidence
	open     opTable[registerOp]
	begun    []begun // the operations by their beginning; those that ended are dropped from the front
	front    int
	scopes   []registerScope
	unclear  bool // a scope is
	found    *Violation
	place    int32 // the scope in which it was found
}

type registerOp struct {
	f       history.F
	scope   int32
	invoked int64
	value   *writtenValue
}

// begun is the beginning of an operation.
type begun struct{ op, at int64 }

// writtenValue is a value and its zone.
type writtenValue struct {
	zone
	value history.Value
	open  bool // its zone is in the timeline
	read  call // the first read that answered it
}

type registerScope struct {
	timeline
	unclear bool
	values  map[history.Value]*writtenValue
	fresh   []*writtenValue // those that a read which begins now may answer, by their firsts
	stale   []stale         // those that only older reads may answer
}

// stale is a value that had been overwritten at an index.
type stale struct {
	value *writtenValue
	at    int64
}

func newRegisterZones(property string, n *names, init history.Value, ev evidence) *registerZones {
	return &registerZones{property: property, names: n, init: nilFor(init), evidence: ev}
}

func (m *registerZones) scope(i int32) *registerScope {
	s := at(&m.scopes, i)
	if s.values == nil && !s.unclear {
		v := &writtenValue{value: m.init}
		s.values = map[history.Value]*writtenValue{v.value: v}
		s.add(v, beforeAll, beforeAll)
	}
	return s
}

// observe takes the next event.
func (m *registerZones) observe(e *history.Event) {
	switch {
	case e.Type == history.Note || !onRegister(e.F) || m.found != nil:
	case e.Type == history.Invoke:
		m.invoke(e)
	default:
		o := m.open.find(e.Op)
		if o == nil {
			return
		}
		op := o.rec
		m.open.remove(o)
		if s := &m.scopes[op.scope]; !s.unclear {
			m.end(e, &op, s)
			m.place = op.scope
		}
	}
}

func (m *registerZones) invoke(e *history.Event) {
	scope := m.names.scopes.id(e.Resource)
	s := m.scope(scope)
	op := registerOp{f: e.F, scope: scope, invoked: e.Index}
	v := nilFor(e.Value)
	switch {
	case s.unclear:
	case e.F == history.Read:
	case e.F != history.Write || s.values[v] != nil:
		*s = registerScope{unclear: true}
		m.unclear = true
	default:
		op.value = &writtenValue{zone: zone{last: e.Index, begun: e.Index}, value: v}
		s.values[v] = op.value
	}
	o, _ := m.open.add(e.Op)
	o.rec = op
	m.begun = append(m.begun, begun{e.Op, e.Index})
}

func (m *registerZones) end(e *history.Event, op *registerOp, s *registerScope) {
	switch {
	case op.f == history.Write && e.Type == history.OK:
		m.takes(e, op, s, op.value)
		s.overwrites(op, e.Index)
		m.retire(s)
	case op.f == history.Write && e.Type == history.Fail:
		if op.value.open { // it was read all the same
			m.found = op.value.read.unexplained(m.property, m.names)
		}
		delete(s.values, op.value.value)
	case e.Type == history.OK:
		m.reads(e, op, s)
	}
}

func (m *registerZones) reads(e *history.Event, op *registerOp, s *registerScope) {
	c := call{f: history.Read, fence: op.scope, client: m.names.clients.id(e.ClientName()), invoked: op.invoked}
	if c.end(e, m.evidence); c.outcome != done {
		return
	}
	v := s.values[nilFor(e.Value)]
	if v == nil { // never written, or overwritten long ago
		m.found = c.unexplained(m.property, m.names)
		return
	}
	if !v.open {
		v.read = c
	}
	m.takes(e, op, s, v)
}

// takes adds an operation that has ended to the zone of its value.
func (m *registerZones) takes(e *history.Event, op *registerOp, s *registerScope, v *writtenValue) {
	if !v.open {
		s.add(v, max(v.last, op.invoked), e.Index)
		return
	}
	if s.extend(&v.zone, op.invoked, e.Index) != nil {
		c := call{f: op.f, fence: op.scope, client: m.names.clients.id(e.ClientName()), value: v.value, invoked: op.invoked}
		c.end(e, m.evidence)
		m.found = c.unexplained(m.property, m.names)
	}
}

// add puts a value's zone into the timeline.
func (s *registerScope) add(v *writtenValue, start, end int64) {
	v.open = true
	s.timeline.open(&v.zone, start, end)
	s.fresh = append(s.fresh, v)
}

// overwrites finds the values that are gone for whoever reads after a write: a
// read that begins now and answers one of them cannot be explained.
func (s *registerScope) overwrites(op *registerOp, now int64) {
	n := 0
	for n < len(s.fresh) && s.fresh[n].first < op.invoked {
		s.stale = append(s.stale, stale{s.fresh[n], now})
		n++
	}
	s.fresh = s.fresh[n:]
}

// retire forgets the values that no operation can answer any more.
func (m *registerZones) retire(s *registerScope) {
	for ; m.front < len(m.begun); m.front++ {
		if b := m.begun[m.front]; m.isOpen(b) {
			break
		}
	}
	oldest := int64(never)
	if m.front < len(m.begun) {
		oldest = m.begun[m.front].at
	}
	if 2*m.front > len(m.begun) {
		m.begun = m.begun[:copy(m.begun, m.begun[m.front:])]
		m.front = 0
	}
	n := 0
	for n < len(s.stale) && s.stale[n].at < oldest {
		v := s.stale[n].value
		s.close(&v.zone)
		delete(s.values, v.value)
		n++
	}
	s.stale = s.stale[n:]
}

func (m *registerZones) isOpen(b begun) bool {
	o := m.open.find(b.op)
	return o != nil && o.rec.invoked == b.at
}

// unexplained says that no order explains a call.
func (c *call) unexplained(property string, n *names) *Violation {
	return newViolation(property, []int64{c.invoked, c.ended}, "no order of the operations explains %s by %s, #%d to #%d%s",
		c.reply(), clientText(n.clients.list[c.client]), c.invoked, c.ended, inside(n.fences().list[c.fence]))
}
