package reports

import (
	"encoding/json"
	"strconv"

	"staleproof/model/history"
)

// payload is the history as the script of a page wants it: columns, which
// compress well and of which each is one array to the script. Names, sentences
// and tokens are numbers of entries in tables. Times and indexes are
// differences from the event before, because nanoseconds since 1970 are more
// than a script's numbers hold exactly.
type payload struct {
	Unit      string     `json:"unit"`   // of times, as clock.unit
	Digits    int        `json:"digits"` // decimals of a second
	Index     string     `json:"index"`  // of the first event
	Time      string     `json:"time"`   // of the first event
	Total     int64      `json:"total"`  // events of the run
	Gaps      []int64    `json:"gaps"`   // position and events left out before it, in turn
	Violation int        `json:"violation"`
	Guilty    int        `json:"guilty"` // which of the operations the violation belongs to, or -1
	Cited     []int      `json:"cited"`
	Links     []int      `json:"links"` // position and step of the chain, in turn
	Strings   []string   `json:"strings"`
	Tokens    []string   `json:"tokens"` // in ascending order, from no token
	Kinds     []kind     `json:"kinds"`
	Lanes     []laneName `json:"lanes"`

	Events   eventColumns `json:"events"`
	States   stateColumns `json:"states"`
	Ops      spanColumns  `json:"ops"`
	Messages spanColumns  `json:"messages"`
	Shades   spanColumns  `json:"shades"`
	Knew     holdColumns  `json:"knew"`
	Believed holdColumns  `json:"believed"`
	Fence    fenceColumns `json:"fence"`
}

// kind names what sort of event one is, and the group that a filter picks.
type kind struct {
	Name  string `json:"name"`
	Group string `json:"group"`
}

type laneName struct {
	Name string `json:"name"`
	Role string `json:"role"`
}

type eventColumns struct {
	Index    []int64 `json:"index"`
	Time     []int64 `json:"time"`
	Process  []int   `json:"process"`
	Lane     []int   `json:"lane"` // from 1; 0 is none
	Kind     []int   `json:"kind"`
	Token    []int   `json:"token"`
	Highest  []int   `json:"highest"`
	Resource []int   `json:"resource"`
	Lease    []int   `json:"lease"`
	State    []int   `json:"state"`
	Words    *texts  `json:"words"`
	Change   *texts  `json:"change"`
}

// stateColumns are the states of scopes, each once.
type stateColumns struct {
	Scope      []int   `json:"scope"`
	Owner      []int   `json:"owner"`
	Lease      []int   `json:"lease"`
	Generation []int64 `json:"generation"`
	Token      []int   `json:"token"`
	Highest    []int   `json:"highest"`
	Rejections []int64 `json:"rejections"`
}

// spanColumns are what lasts from one event to another: operations, messages,
// pauses. A position is -1 where there is no such event.
type spanColumns struct {
	Class []int  `json:"class"` // a string
	Lane  []int  `json:"lane"`
	Other []int  `json:"other"` // lane of a message's receiver, of a partition's other side
	From  []int  `json:"from"`
	To    []int  `json:"to"`
	Label *texts `json:"label"`
}

// holdColumns are stretches of ownership; Until is relative to the first time,
// and 0 when the stretch does not end by itself.
type holdColumns struct {
	Lane       []int   `json:"lane"`
	Scope      []int   `json:"scope"`
	Token      []int   `json:"token"`
	Generation []int64 `json:"generation"`
	From       []int   `json:"from"`
	To         []int   `json:"to"`
	Until      []int64 `json:"until"`
	Acted      []int   `json:"acted"`
}

type fenceColumns struct {
	Scope    []int `json:"scope"`
	Pos      []int `json:"pos"`
	Token    []int `json:"token"`
	Accepted []int `json:"accepted"` // 0 or 1
	Greatest []int `json:"greatest"`
}

// packer fills a payload from a view.
type packer struct {
	*view
	p       *payload
	strings *interner
	rank    map[history.Token]int
	kinds   map[kind]int
}

// pack returns the JSON text of a history's payload.
func (v *view) pack() ([]byte, error) {
	k := packer{view: v, p: &payload{Unit: v.clock.unit, Digits: v.clock.digits, Violation: v.violation, Total: v.total},
		strings: newInterner(), kinds: map[kind]int{}}
	k.tokens()
	k.marks()
	k.events()
	k.operations()
	k.messages()
	k.shades()
	k.holds(&k.p.Knew, v.known())
	k.holds(&k.p.Believed, v.believed())
	k.fence()
	k.p.Strings = k.strings.list
	return json.Marshal(k.p)
}

// tokens ranks the tokens, which may be greater than a script's numbers.
func (k *packer) tokens() {
	seen := map[history.Token]bool{0: true}
	for i := range k.h.Events {
		seen[k.h.Events[i].Token] = true
		seen[k.h.Events[i].Highest] = true
	}
	k.rank = make(map[history.Token]int, len(seen))
	for i, t := range sortedKeys(seen) {
		k.rank[t] = i
		text := t.String()
		if t == 0 {
			text = ""
		}
		k.p.Tokens = append(k.p.Tokens, text)
	}
}

// marks writes what the finding names, the lanes and the holes.
func (k *packer) marks() {
	p := k.p
	p.Cited, p.Links, p.Gaps = sortedKeys(k.cited), []int{}, []int64{}
	for _, pos := range p.Cited {
		for _, step := range k.links[pos] {
			p.Links = append(p.Links, pos, step)
		}
	}
	for _, g := range k.holes {
		p.Gaps = append(p.Gaps, int64(g.Before), g.Events)
	}
	p.Lanes = []laneName{}
	for _, l := range k.lanes {
		p.Lanes = append(p.Lanes, laneName{legibleText(l.name), l.role})
	}
}

func (k *packer) events() {
	n := len(k.h.Events)
	c := &k.p.Events
	for _, col := range []*[]int{&c.Process, &c.Lane, &c.Kind, &c.Token, &c.Highest, &c.Resource, &c.Lease, &c.State} {
		*col = make([]int, n)
	}
	c.Index, c.Time = make([]int64, n), make([]int64, n)
	c.Words, c.Change = newTexts(k.strings), newTexts(k.strings)
	f, states := newFold(k.view), map[state]int{}
	for i := range k.h.Events {
		e := &k.h.Events[i]
		if i == 0 {
			k.p.Index, k.p.Time = strconv.FormatInt(e.Index, 10), strconv.FormatInt(e.Time, 10)
		} else {
			c.Index[i], c.Time[i] = e.Index-k.h.Events[i-1].Index, e.Time-k.h.Events[i-1].Time
		}
		c.Process[i], c.Lane[i], c.Kind[i] = k.strings.id(k.who(e)), k.lane(k.who(e))+1, k.kind(e)
		c.Token[i], c.Highest[i] = k.rank[e.Token], k.rank[e.Highest]
		c.Resource[i], c.Lease[i] = k.strings.id(e.Resource), k.strings.id(e.Lease)
		c.Words.add(k.describe(e))
		after, change := f.next(i)
		c.State[i] = k.state(states, after)
		c.Change.add(change)
	}
}

func (k *packer) state(seen map[state]int, s state) int {
	if id, ok := seen[s]; ok {
		return id
	}
	id := len(seen)
	seen[s] = id
	c := &k.p.States
	c.Scope, c.Owner, c.Lease = append(c.Scope, k.strings.id(s.scope)), append(c.Owner, k.strings.id(s.owner)), append(c.Lease, k.strings.id(s.lease))
	c.Generation, c.Token = append(c.Generation, s.generation), append(c.Token, k.rank[s.token])
	c.Highest, c.Rejections = append(c.Highest, k.rank[s.highest]), append(c.Rejections, s.rejections)
	return id
}

func (k *packer) kind(e *history.Event) int {
	key := kindOf(e)
	id, ok := k.kinds[key]
	if !ok {
		id = len(k.p.Kinds)
		k.kinds[key] = id
		k.p.Kinds = append(k.p.Kinds, key)
	}
	return id
}

func kindOf(e *history.Event) kind {
	switch {
	case e.Type == history.Fail && e.Error == history.Stale:
		return kind{"stale", "operations"}
	case e.Type != history.Note:
		return kind{e.Type.String(), "operations"}
	}
	group := "faults"
	switch {
	case roleFrom(e) == roleCoordinator:
		group = "leases"
	case roleFrom(e) == roleStore:
		group = "store"
	case e.F == history.Believe || e.F == history.Disbelieve:
		group = "beliefs"
	case carriesMessage(e):
		group = "messages"
	}
	return kind{e.F.String(), group}
}

func (k *packer) operations() {
	c := &k.p.Ops
	c.Label = newTexts(k.strings)
	k.p.Guilty = -1
	for pos := range k.h.Events {
		e := &k.h.Events[pos]
		s := k.ops[e.Op]
		if s == nil || s.invoke != pos {
			continue
		}
		class := "open"
		if s.end >= 0 {
			class = k.h.Events[s.end].Type.String()
		}
		if k.violation >= 0 && k.h.Events[k.violation].Op == e.Op {
			k.p.Guilty = len(c.From)
		}
		k.span(c, class, k.lane(e.Process), -1, pos, s.end, brief(e))
	}
}

func (k *packer) span(c *spanColumns, class string, lane, other, from, to int, label string) {
	c.Class, c.Lane, c.Other = append(c.Class, k.strings.id(class)), append(c.Lane, lane), append(c.Other, other)
	c.From, c.To = append(c.From, from), append(c.To, to)
	c.Label.add(label)
}

func (k *packer) messages() {
	c := &k.p.Messages
	c.Label = newTexts(k.strings)
	flights := k.flights()
	for _, f := range flights {
		class := "message"
		switch {
		case f.sent < 0:
			continue
		case f.dropped:
			class = "lost"
		case f.arrived < 0:
			class = "flying"
		case f.overtaken:
			class = "late"
		}
		k.span(c, class, k.lane(f.from), k.lane(f.to), f.sent, f.arrived, "")
	}
	if len(flights) > 0 {
		return
	}
	// Without messages, what a server did hangs on the operation that asked.
	for pos := range k.h.Events {
		e := &k.h.Events[pos]
		if s := k.ops[e.Op]; s != nil && e.Type == history.Note && s.invoke < pos {
			k.span(c, "served", k.lane(k.h.Events[s.invoke].Process), k.lane(e.Process), s.invoke, pos, "")
		}
	}
}

func (k *packer) shades() {
	c := &k.p.Shades
	c.Label = newTexts(k.strings)
	pairs := k.pairs()
	for pos := range k.h.Events {
		e := &k.h.Events[pos]
		to, ends := pairs[pos]
		if !ends {
			to = -1
		}
		switch {
		case e.F == history.Partition && e.Process == "":
			k.span(c, "partition", -1, -1, pos, to, "network cut")
		case e.F == history.Partition:
			k.span(c, "partition", k.lane(e.Process), k.lane(e.To), pos, to, "cut off"+prefixed(" from ", e.To))
		case e.F == history.Crash:
			k.span(c, "down", k.lane(e.Process), -1, pos, to, "down")
		case e.F == history.Pause && (ends || !k.actsAfter(pos)):
			k.span(c, "paused", k.lane(e.Process), -1, pos, to, "paused"+prefixed(" ", e.Text))
		}
	}
}

func (k *packer) holds(c *holdColumns, holds []*hold) {
	for _, h := range holds {
		until := h.until
		if until != 0 {
			until -= k.h.Events[0].Time
		}
		c.Lane, c.Scope, c.Token = append(c.Lane, k.lane(h.client)), append(c.Scope, k.strings.id(h.scope)), append(c.Token, k.rank[h.token])
		c.Generation, c.From, c.To = append(c.Generation, h.generation), append(c.From, h.from), append(c.To, h.to)
		c.Until, c.Acted = append(c.Until, until), append(c.Acted, h.acted)
	}
}

func (k *packer) fence() {
	c := &k.p.Fence
	for _, a := range k.acceptances() {
		accepted := 0
		if a.accepted {
			accepted = 1
		}
		c.Scope, c.Pos, c.Token = append(c.Scope, k.strings.id(a.scope)), append(c.Pos, a.pos), append(c.Token, k.rank[a.token])
		c.Accepted, c.Greatest = append(c.Accepted, accepted), append(c.Greatest, k.rank[a.greatest])
	}
}
