package checker

import (
	"slices"

	"staleproof/model/history"
)

var exclusiveBelief = Property{
	Name:      "exclusive-belief",
	Guarantee: "Within the declared clock bound, no two holders believe at the same true time.",
	Doc: "Watches the holders' believe and disbelieve notes: a belief lasts until its holder gives it up or its deadline " +
		"comes, in true time, or the process that noted it crashes. Outside the declared bounds on " +
		"clocks this is expected to break. In untimed runs deadlines mean nothing, and it is not judged.",
	Timed: true, Bounded: true,
	Unaided: "no",
	watch:   func(View) []interest { return notes(history.Believe, history.Disbelieve, history.Crash) },
	monitor: func(e *env) Monitor { return &believers{base: e.base("exclusive-belief")} },
}

// believers keeps each client's belief in the lease of each scope.
type believers struct {
	base
	scopes [][]conviction // by scope, then client
}

// conviction is what a client holds to be true; a zero until is no belief.
type conviction struct {
	until int64
	at    int64
	by    string // the process that noted it
}

func (c *conviction) holds(time int64) bool { return c.until != 0 && c.until > time }

func (m *believers) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	if in.F == history.Crash {
		m.crashes(in)
		return false
	}
	clients := at(&m.scopes, in.scope())
	mine := at(clients, in.client())
	if in.F == history.Disbelieve {
		*mine = conviction{}
		return false
	}
	*mine = conviction{until: in.Until, at: in.Index, by: in.Process}
	if i := rival(*clients, in); i >= 0 && mine.holds(in.Time) {
		b := (*clients)[i]
		return m.violate([]int64{b.at, in.Index}, "%s believes at #%d in its lease, and so does %s since #%d, until %d%s",
			m.names.clients.list[in.client()], in.Index, m.names.clients.list[i], b.at, b.until, inside(in.Resource))
	}
	return false
}

// crashes ends all beliefs of the process that crashed.
func (m *believers) crashes(in *Input) {
	for _, clients := range m.scopes {
		for i := range clients {
			if b := &clients[i]; b.until != 0 && (b.by == in.Process || m.names.clients.list[i] == in.Process) {
				*b = conviction{}
			}
		}
	}
}

// rival returns who else believes at an event, -1 if nobody does. Of several it is
// the one whose note is the oldest: how clients are numbered depends on what else
// is judged, and must not show in a message.
func rival(clients []conviction, in *Input) int {
	found := -1
	for i := range clients {
		if int32(i) != in.client() && clients[i].holds(in.Time) && (found < 0 || clients[i].at < clients[found].at) {
			found = i
		}
	}
	return found
}

func (m *believers) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	for _, s := range m.names.scopes.order() {
		if int(s) >= len(m.scopes) || !slices.ContainsFunc(m.scopes[s], func(c conviction) bool { return c.until != 0 }) {
			continue
		}
		b = appendText(b, m.names.scopes.list[s])
		for _, c := range m.names.clients.order() {
			if int(c) < len(m.scopes[s]) && m.scopes[s][c].until != 0 {
				b = appendText(b, m.names.clients.list[c])
				b = appendInt(b, m.scopes[s][c].until)
				b = appendText(b, m.scopes[s][c].by)
			}
		}
	}
	return b
}

func (m *believers) Clone() Monitor {
	c := *m
	c.scopes = make([][]conviction, len(m.scopes))
	for i := range m.scopes {
		c.scopes[i] = slices.Clone(m.scopes[i])
	}
	return &c
}

func (m *believers) Reset() {
	m.broken = nil
	for i := range m.scopes {
		clear(m.scopes[i])
	}
}
