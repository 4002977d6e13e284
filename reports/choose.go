package reports

import (
	"cmp"
	"slices"
	"sort"

	"staleproof/model/history"
)

// The drawing has room for about 30 events. A budget is in half columns, and an
// event that only carries a message takes one half, unless the finding cites it.
const (
	maxBudget = 60
	minBudget = 32
)

// choose returns the positions to draw with a budget, in order. What the finding and its
// chain cite comes first, then what belongs to it (the rest of an operation,
// the other end of a message or a pause), then the smallest holes between
// those, then what lies nearest to the violation. A long history is thus drawn
// as its few decisive moments, with the number of events left out between.
func (v *view) choose(budget int) []int {
	c := chooser{v: v, in: map[int]bool{}, left: budget}
	if v.violation < 0 {
		return nil
	}
	c.add(v.violation)
	cited := sortedKeys(v.cited)
	for i := len(cited) - 1; i >= 0 && c.left > budget/5; i-- {
		c.add(cited[i])
	}
	pairs := v.pairs()
	chosen := sortedKeys(c.in)
	for i := len(chosen) - 1; i >= 0; i-- {
		for _, pos := range v.companions(chosen[i], pairs) {
			c.add(pos)
		}
	}
	c.fillHoles()
	c.spread()
	return sortedKeys(c.in)
}

type chooser struct {
	v    *view
	in   map[int]bool
	left int
}

func (c *chooser) add(pos int) {
	if pos < 0 || pos >= len(c.v.h.Events) || c.in[pos] {
		return
	}
	if n := c.v.cost(pos); n <= c.left {
		c.in[pos] = true
		c.left -= n
	}
}

// fillHoles draws the events between two drawn ones, smallest hole first, as
// long as a whole hole fits. The smallest ones always do: to say that they are
// left out would take the same room.
func (c *chooser) fillHoles() {
	type hole struct{ from, to, cost int }
	var holes []hole
	chosen := sortedKeys(c.in)
	for i := 1; i < len(chosen); i++ {
		h := hole{from: chosen[i-1] + 1, to: chosen[i]}
		for pos := h.from; pos < h.to && h.cost <= maxBudget; pos++ {
			h.cost += c.v.cost(pos)
		}
		if h.cost > 0 {
			holes = append(holes, h)
		}
	}
	sort.SliceStable(holes, func(i, j int) bool { return holes[i].cost < holes[j].cost })
	for _, h := range holes {
		if h.cost > c.left && h.cost > 2 {
			return
		}
		for pos := h.from; pos < h.to; pos++ {
			c.in[pos] = true
		}
		c.left -= h.cost
	}
}

// spread spends what is left on the neighbours of the violation, few of them
// after it.
func (c *chooser) spread() {
	const after = 4
	for d := 1; d <= maxBudget && c.left > 0; d++ {
		if d <= after {
			c.add(c.v.violation + d)
		}
		c.add(c.v.violation - d)
	}
}

// carriesMessage says whether the event is drawn as the end of an arrow only.
func carriesMessage(e *history.Event) bool {
	return e.Type == history.Note && (e.F == history.Send || e.F == history.Deliver || e.F == history.Drop)
}

func (v *view) cost(pos int) int {
	if carriesMessage(&v.h.Events[pos]) && !v.cited[pos] {
		return 1
	}
	return 2
}

// begins says what the end of a fault ends.
var begins = map[history.F]history.F{history.Resume: history.Pause, history.Restart: history.Crash, history.Heal: history.Partition}

// pairs joins a pause to its resume, a crash to its restart and a partition to
// its healing, both ways.
func (v *view) pairs() map[int]int {
	type what struct {
		process, to string
		f           history.F
	}
	pairs, open := map[int]int{}, map[what]int{}
	for pos := range v.h.Events {
		e := &v.h.Events[pos]
		switch e.F {
		case history.Pause, history.Crash, history.Partition:
			open[what{e.Process, e.To, e.F}] = pos
		case history.Resume, history.Restart, history.Heal:
			start := what{e.Process, e.To, begins[e.F]}
			if from, ok := open[start]; ok {
				pairs[from], pairs[pos] = pos, from
				delete(open, start)
			}
		}
	}
	return pairs
}

// companions lists the positions without which the event at pos is half told.
func (v *view) companions(pos int, pairs map[int]int) []int {
	e := &v.h.Events[pos]
	var out []int
	if p, ok := pairs[pos]; ok {
		out = append(out, p)
	}
	if s := v.ops[e.Op]; s != nil {
		out = append(out, s.invoke, s.end, v.sending(s.invoke))
	}
	if carriesMessage(e) {
		if f := v.messages[copyOf{e.Message, e.Copy}]; f != nil {
			out = append(out, f.sent, f.arrived)
		}
		return out
	}
	// A server's note answers a message that arrived just before.
	for before := pos - 1; before >= 0 && before >= pos-2; before-- {
		if d := &v.h.Events[before]; d.F == history.Deliver && v.lane(v.who(d)) == v.lane(e.Process) {
			out = append(out, before, v.sent(d))
			break
		}
	}
	return append(out, v.belief(pos))
}

// sending finds the message that carries an operation, right after its invoke.
func (v *view) sending(invoke int) int {
	for pos := invoke + 1; pos < len(v.h.Events) && pos <= invoke+2; pos++ {
		if e := &v.h.Events[pos]; e.F == history.Send && e.Process == v.h.Events[invoke].Process {
			return pos
		}
	}
	return -1
}

func (v *view) sent(e *history.Event) int {
	if f := v.messages[copyOf{e.Message, e.Copy}]; f != nil {
		return f.sent
	}
	return -1
}

// belief finds the holder's belief that a grant gave rise to.
func (v *view) belief(pos int) int {
	grant := &v.h.Events[pos]
	if grant.F != history.Grant {
		return -1
	}
	for after := pos + 1; after < len(v.h.Events) && after < pos+200; after++ {
		e := &v.h.Events[after]
		if e.F == history.Believe && e.Token == grant.Token && e.ScopeName() == grant.ScopeName() {
			return after
		}
	}
	return -1
}

func sortedKeys[K cmp.Ordered](m map[K]bool) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
