package checker

import "staleproof/model/history"

var fencedModel = Model{
	Name:      "fenced",
	Guarantee: "A lease manager and a fenced store keep every property that the history lets us judge.",
	Doc: "Every property is judged by the servers' notes where the history holds them, else from the clients' view alone. " +
		"A property that needs notes which are not there is left out.",
	judge: judgeFenced,
}

func judgeFenced(h *history.History, opt Options, r *Report) error {
	view := sight(h)
	var properties []string
	for _, p := range registry {
		if p.judgedIn(h.Header.Timing) && p.watch(view) != nil {
			properties = append(properties, p.Name)
		}
	}
	suite, err := Config{Header: h.Header, View: view, Budget: opt.Budget, Init: opt.Init, Source: h}.New(properties)
	if err != nil {
		return err
	}
	c := completer{open: make(map[int64]int)}
	for i := range h.Events {
		suite.Observe(c.complete(h, i))
	}
	r.Results = suite.Finish()
	r.Violations = suite.Violations()
	r.Sometimes = suite.Sometimes()
	return nil
}

// judgedIn reports whether the property is judged under a timing; a recorded
// history, which names none, is judged as a timed one.
func (p *Property) judgedIn(timing string) bool {
	switch timing {
	case "untimed":
		return p.Untimed
	case "bounded":
		return p.Bounded
	}
	return p.Timed
}

// completer lends the end of an operation what only its invocation says: many
// recorders do not repeat the token, the lease or the resource.
type completer struct {
	open map[int64]int // positions of the invocations, by operation
	copy history.Event
}

func (c *completer) complete(h *history.History, i int) *history.Event {
	e := &h.Events[i]
	if e.Op == 0 || e.Type == history.Note {
		return e
	}
	if e.Type == history.Invoke {
		c.open[e.Op] = i
		return e
	}
	at, ok := c.open[e.Op]
	if !ok {
		return e
	}
	delete(c.open, e.Op)
	inv := &h.Events[at]
	if e.Resource == inv.Resource && e.Scope == inv.Scope && (e.Token != 0 || inv.Token == 0) && (e.Lease != "" || inv.Lease == "") {
		return e
	}
	c.copy = *e
	c.lend(inv)
	return &c.copy
}

func (c *completer) lend(inv *history.Event) {
	e := &c.copy
	if e.Resource == "" {
		e.Resource = inv.Resource
	}
	if e.Scope == "" {
		e.Scope = inv.Scope
	}
	if e.Token == 0 {
		e.Token = inv.Token
	}
	if e.Lease == "" && e.Token == inv.Token {
		e.Lease = inv.Lease
	}
}
