package checker

import (
	"cmp"
	"encoding/binary"
	"slices"

	"staleproof/model/history"
)

var givesUp = Property{
	Name: "gives-up",
	Guarantee: "After a stale-token rejection a holder invokes no further mutation, raise or read under that token. " +
		"(A release, and what was already in flight, are its right.)",
	Doc: "Watches what clients invoke and are told; servers' notes add nothing. A token that the client is granted anew, " +
		"under another lease, is its right again.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "yes",
	watch: func(View) []interest {
		list := events(history.Invoke, storeVerbs...)
		list = append(list, events(history.Fail, storeVerbs...)...)
		return append(list, events(history.OK, history.Acquire)...)
	},
	monitor: func(e *env) Monitor { return &givesUpMonitor{base: e.base("gives-up")} },
}

// givesUpMonitor keeps the tokens that each client was told are stale.
type givesUpMonitor struct {
	base
	clients [][]refusals // by client, then by fence
	refused bool         // anything at all
}

// refusals are the stale tokens of a client at a fence, in increasing order.
type refusals []granted

func (m *givesUpMonitor) Observe(in *Input) bool {
	fails := in.Type == history.Fail
	if !fails && !m.refused || m.broken != nil || in.Token == 0 || fails && in.Error != history.Stale {
		return false
	}
	m.refused = true
	r := at(at(&m.clients, in.client()), in.fence())
	switch in.Type {
	case history.Invoke:
		return m.invokes(in, *r)
	case history.Fail:
		r.add(in)
	default:
		r.forgive(in)
	}
	return false
}

func (m *givesUpMonitor) invokes(in *Input, r refusals) bool {
	if len(r) == 0 || in.Token > r[len(r)-1].token {
		return false
	}
	for i := r.find(in.Token); i < len(r) && r[i].token == in.Token; i++ {
		if sameLease(r[i].lease, in.lease()) {
			return m.violate([]int64{r[i].at, in.Index}, "%s invoked %s with token %d at #%d after that token was rejected as stale at #%d%s",
				in.ClientName(), in.F, in.Token, in.Index, r[i].at, inside(in.Resource))
		}
	}
	return false
}

// find returns the place of the first entry of a token.
func (r refusals) find(t history.Token) int {
	i, _ := slices.BinarySearchFunc(r, t, func(g granted, t history.Token) int {
		return cmp.Compare(g.token, t)
	})
	return i
}

func (r *refusals) add(in *Input) {
	i := r.find(in.Token)
	for ; i < len(*r) && (*r)[i].token == in.Token; i++ {
		if (*r)[i].lease == in.lease() {
			return // the first rejection is the one to quote
		}
	}
	var g granted
	g.set(in)
	*r = slices.Insert(*r, i, g)
}

// forgive drops the refusals of a token that the client acquired: a lease
// manager that issues a token twice breaks token-order, not this client. A
// re-entry into the refused lease itself forgives nothing.
func (r *refusals) forgive(in *Input) {
	i := r.find(in.Token)
	for i < len(*r) && (*r)[i].token == in.Token {
		if g := &(*r)[i]; g.lease != 0 && g.lease == in.lease() {
			i++
			continue
		}
		*r = slices.Delete(*r, i, i+1)
	}
}

func (m *givesUpMonitor) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	fences := m.names.fences()
	for _, c := range m.names.clients.order() {
		if int(c) >= len(m.clients) {
			continue
		}
		for _, f := range fences.order() {
			if int(f) >= len(m.clients[c]) || len(m.clients[c][f]) == 0 {
				continue
			}
			b = appendText(b, m.names.clients.list[c])
			b = appendText(b, fences.list[f])
			b = m.clients[c][f].appendKey(b)
		}
	}
	return b
}

// appendKey orders leases of one token by identity: the order in which they
// were refused does not matter.
func (r refusals) appendKey(b []byte) []byte {
	keys := make([][]byte, len(r))
	for i, g := range r {
		k := binary.BigEndian.AppendUint64(nil, uint64(g.token))
		keys[i] = binary.BigEndian.AppendUint64(k, uint64(g.lease))
	}
	return appendSorted(b, keys)
}

func (m *givesUpMonitor) Clone() Monitor {
	c := *m
	c.clients = make([][]refusals, len(m.clients))
	for i, fences := range m.clients {
		c.clients[i] = make([]refusals, len(fences))
		for j, r := range fences {
			c.clients[i][j] = slices.Clone(r)
		}
	}
	return &c
}

func (m *givesUpMonitor) Reset() {
	if m.broken = nil; !m.refused {
		return
	}
	m.refused = false
	for _, fences := range m.clients {
		for i := range fences {
			fences[i] = fences[i][:0]
		}
	}
}
