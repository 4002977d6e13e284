package checker

import (
	"cmp"
	"slices"

	"staleproof/model/history"
)

// registers judges registers in one pass: each by a walk, which is told an
// operation's outcome when the operation begins. So events wait until all that
// began before them has ended; what is kept grows with the operations that are open
// at the same time, not with the history.
type registers struct {
	property string
	names    *names
	init     history.Value
	evidence evidence
	endless  []int64 // the indexes at which operations begin that never end, in order
	open     opTable[*call]
	scopes   []register
	free     []*call
	width    int // how many configurations a walk may keep
}

// register is one resource.
type register struct {
	walk    *registerWalk
	unclear bool       // porcupine has to judge it
	found   *Violation // nil if no order is missing
	over    bool       // it is unclear, or violated: the walk is not continued
	waiting []turn
	first   int // of those in waiting: the others have been taken
	settled int // the first of waiting whose outcome is not known
}

// turn is the beginning or the end of a call.
type turn struct {
	call *call
	end  bool
}

// pending is the outcome of a call that is not known yet.
const pending outcome = 255

func newRegisters(property string, n *names, init history.Value, ev evidence, endless []int64) *registers {
	return &registers{property: property, names: n, init: nilFor(init), evidence: ev, endless: endless}
}

// observe takes the next event.
func (m *registers) observe(e *history.Event) {
	switch {
	case e.Type == history.Note || !onRegister(e.F):
	case e.Type == history.Invoke:
		m.invoke(e)
	default:
		if o := m.open.find(e.Op); o != nil {
			c := o.rec
			m.open.remove(o)
			m.end(e, c)
		}
	}
}

func (m *registers) invoke(e *history.Event) {
	scope := m.names.scopes.id(e.Resource)
	r := at(&m.scopes, scope)
	endless := len(m.endless) > 0 && m.endless[0] == e.Index
	if endless {
		m.endless = m.endless[1:]
	}
	if r.over {
		return
	}
	c := m.call()
	*c = call{op: e.Op, f: e.F, fence: scope, client: m.names.clients.id(e.ClientName()), value: e.Value, expect: e.Expect,
		invoked: e.Index, ended: never, outcome: pending}
	if e.F == history.Delete {
		c.value = m.init
	}
	if endless {
		c.outcome = unknown
	} else {
		o, _ := m.open.add(e.Op)
		o.rec = c
	}
	r.waiting = append(r.waiting, turn{c, false})
	m.advance(r)
}

func (m *registers) end(e *history.Event, c *call) {
	r := &m.scopes[c.fence]
	if r.over {
		return
	}
	if c.end(e, m.evidence); c.outcome == pending {
		c.outcome = unknown
	}
	r.waiting = append(r.waiting, turn{c, true})
	m.advance(r)
}

// advance lets the walk take the turns up to the first call whose outcome is not
// known.
func (m *registers) advance(r *register) {
	for ; r.settled < len(r.waiting); r.settled++ {
		if r.waiting[r.settled].call.outcome == pending {
			break
		}
	}
	for r.first < r.settled && !r.over {
		r.first++
		m.take(r, r.waiting[r.first-1])
	}
	if r.over {
		return
	}
	if 2*r.first > len(r.waiting) {
		r.waiting = slices.Delete(r.waiting, 0, r.first)
		r.settled -= r.first
		r.first = 0
	}
}

func (m *registers) take(r *register, t turn) {
	c := t.call
	if r.walk == nil {
		r.walk = newRegisterWalk(m.init)
		r.walk.width = m.width
	}
	switch idle := c.outcome == failed || c.outcome == unknown && c.f == history.Read; {
	case !t.end && !idle:
		r.walk.begin(c)
	case !t.end || idle || c.outcome == unknown:
	case !r.walk.end(c):
		r.over, r.waiting = true, nil
		if r.unclear = r.walk.doubt; !r.unclear {
			r.found = c.unexplained(m.property, m.names)
		}
	}
	if t.end {
		m.free = append(m.free, c)
	}
}

// violated returns the scopes in which a violation was found, in the order of their
// ends.
func (m *registers) violated() []int32 {
	var list []int32
	for i := range m.scopes {
		if m.scopes[i].found != nil {
			list = append(list, int32(i))
		}
	}
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Compare(m.scopes[a].found.Events[1], m.scopes[b].found.Events[1])
	})
	return list
}

// call returns a call that is not in use.
func (m *registers) call() *call {
	n := len(m.free)
	if n == 0 {
		return &call{}
	}
	c := m.free[n-1]
	m.free = m.free[:n-1]
	return c
}
