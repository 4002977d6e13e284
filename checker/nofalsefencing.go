package checker

import (
	"slices"

	"staleproof/model/history"
)

var noFalseFencing = Property{
	Name: "no-false-fencing",
	Guarantee: "The latest grant's token is never rejected: not by its own earlier use, not by its own renewal, " +
		"not by a poisoned maximum.",
	Doc: "Watches grant and reject notes. Without notes it judges a stale answer to the holder of the last acquisition, " +
		"where no other acquisition was open that may have been granted in between.",
	Timed: true, Untimed: true, Bounded: true,
	Unaided: "yes",
	watch: func(v View) []interest {
		if v.Coordinator && v.Store {
			return notes(history.Grant, history.Reject)
		}
		list := append(events(history.Invoke, history.Acquire), ends(history.Acquire)...)
		return append(list, events(history.Fail, storeVerbs...)...)
	},
	monitor: func(e *env) Monitor {
		if v := e.config.View; v.Coordinator && v.Store {
			return &falseFencing{base: e.base("no-false-fencing")}
		}
		return &falseFencingUnaided{base: e.base("no-false-fencing")}
	},
}

// storeVerbs are the operations on the fenced store.
var storeVerbs = []history.F{history.Raise, history.Write, history.Delete, history.Read, history.CAS, history.Batch}

// falseFencing keeps the latest grant of each fence.
type falseFencing struct {
	base
	fences []granted
}

func (m *falseFencing) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	g := at(&m.fences, in.fence())
	if in.F == history.Grant {
		if !g.again(in) {
			g.set(in)
		}
		return false
	}
	return m.rejects(in, g)
}

// rejects judges a rejection against the latest grant.
func (b *base) rejects(in *Input, g *granted) bool {
	if g.token == 0 || g.token != in.Token || !sameLease(g.lease, in.lease()) {
		return false
	}
	greatest := ""
	if in.Highest != 0 {
		greatest = " (greatest " + in.Highest.String() + ")"
	}
	return b.violate([]int64{g.at, in.Index}, "token %d rejected at #%d%s though it is the latest grant, of #%d%s",
		in.Token, in.Index, greatest, g.at, inside(in.Resource))
}

func (m *falseFencing) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	return m.names.appendLatest(b, m.fences)
}

// appendLatest appends grants by fence, without their owners.
func (n *names) appendLatest(b []byte, fences []granted) []byte {
	t := n.fences()
	for _, i := range t.order() {
		if int(i) < len(fences) && fences[i].token != 0 {
			b = appendText(b, t.list[i])
			b = appendInt(b, int64(fences[i].token))
			b = appendLease(b, fences[i].lease)
		}
	}
	return b
}

func (m *falseFencing) Clone() Monitor {
	c := *m
	c.fences = slices.Clone(m.fences)
	return &c
}

func (m *falseFencing) Reset() {
	m.broken = nil
	clear(m.fences)
}

// falseFencingUnaided knows the latest grant only while it is certain.
type falseFencingUnaided struct {
	base
	fences []certainty
	open   opTable[acquiring]
}

// acquiring is an acquisition whose client waits for its end.
type acquiring struct {
	began         int64
	fence, client int32
}

// certainty is the latest grant of a fence, and what makes it doubtful.
type certainty struct {
	latest granted
	// open counts the acquisitions that have not ended, or ended unknown: each
	// may have been granted. done is the index after the end of the last one that was.
	open int32
	done int64
}

func (m *falseFencingUnaided) Observe(in *Input) bool {
	if m.broken != nil {
		return false
	}
	c := at(&m.fences, in.fence())
	switch {
	case in.F != history.Acquire:
		if in.Error != history.Stale || c.open > 0 {
			return false
		}
		return m.rejects(in, &c.latest)
	case in.Type == history.Invoke:
		o, _ := m.open.add(in.Op)
		o.rec = acquiring{in.Index, in.fence(), in.client()}
		c.open++
	default:
		m.ends(in, c)
	}
	return false
}

func (m *falseFencingUnaided) ends(in *Input, c *certainty) {
	began := int64(beforeAll)
	if o := m.open.find(in.Op); o != nil {
		began = o.rec.began
		m.open.remove(o)
	}
	if in.Type == history.Info {
		return // it may be granted at any later time: it counts as open for ever
	}
	if c.open = max(0, c.open-1); in.Type == history.Fail || c.latest.again(in) {
		return
	}
	if began >= c.done {
		c.latest.set(in)
	} else {
		c.latest = granted{} // it overlapped another: their order is not known
	}
	c.done = in.Index + 1
}

func (m *falseFencingUnaided) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	t := m.names.fences()
	for _, i := range t.order() {
		if int(i) >= len(m.fences) || m.fences[i].open == 0 && m.fences[i].latest.token == 0 {
			continue
		}
		c := &m.fences[i]
		b = appendText(b, t.list[i])
		b = appendInt(b, int64(c.latest.token))
		b = appendLease(b, c.latest.lease)
		b = appendText(b, m.names.ownerOf(&c.latest))
		b = appendInt(b, int64(c.open))
	}
	keys := make([][]byte, 0, m.open.used)
	for i := range m.open.ops {
		if o := &m.open.ops[i]; o.open {
			k := appendText(appendText(nil, t.list[o.rec.fence]), m.names.clients.list[o.rec.client])
			keys = append(keys, appendBool(k, o.rec.began >= m.fences[o.rec.fence].done))
		}
	}
	return appendSorted(append(b, 0), keys)
}

// ownerOf names the owner of a grant, "" when there is no grant.
func (n *names) ownerOf(g *granted) string {
	if g.token == 0 {
		return ""
	}
	return n.clients.list[g.owner]
}

func (m *falseFencingUnaided) Clone() Monitor {
	c := *m
	c.fences, c.open = slices.Clone(m.fences), m.open.clone()
	return &c
}

func (m *falseFencingUnaided) Reset() {
	m.broken = nil
	m.open.reset()
	clear(m.fences)
}
