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
	return b.violate([]int64{g.at, in.Index}, "token %d rejected at #%d (greatest %d) though it is the latest grant, of #%d%s",
		in.Token, in.Index, in.Highest, g.at, inside(in.Resource))
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
}

// certainty is the latest grant of a fence, and what makes it doubtful.
type certainty struct {
	latest granted
	// open counts the acquisitions that have not ended, or ended unknown: each
	// may have been granted. alone is the one that began while none was open.
	open  int32
	alone int64
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
		if c.alone = 0; c.open == 0 {
			c.alone = in.Op
		}
		c.open++
	case in.Type == history.Info: // granted or not, now or later: open for ever
		c.alone = 0
	case in.Type == history.Fail:
		c.open = max(0, c.open-1)
	default:
		c.acquired(in)
	}
	return false
}

func (c *certainty) acquired(in *Input) {
	c.open = max(0, c.open-1)
	if c.latest.again(in) {
		return
	}
	if c.alone != in.Op {
		c.latest = granted{} // it overlapped another: their order is not known
		return
	}
	c.latest.set(in)
}

func (m *falseFencingUnaided) AppendKey(b []byte) []byte {
	if m.broken != nil {
		return append(b, ended)
	}
	t := m.names.fences()
	for _, i := range t.order() {
		if int(i) >= len(m.fences) || m.fences[i] == (certainty{}) {
			continue
		}
		c := &m.fences[i]
		b = appendText(b, t.list[i])
		b = appendInt(b, int64(c.latest.token))
		b = appendLease(b, c.latest.lease)
		b = appendText(b, m.names.ownerOf(&c.latest))
		b = appendInt(b, int64(c.open))
		b = appendBool(b, c.alone != 0)
	}
	return b
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
	c.fences = slices.Clone(m.fences)
	return &c
}

func (m *falseFencingUnaided) Reset() {
	m.broken = nil
	clear(m.fences)
}
