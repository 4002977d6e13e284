package checker

import (
	"slices"

	"staleproof/model/history"
)

var fencedModel = Model{
	Name:      "fenced",
	Guarantee: "A lease manager and a fenced store keep every property that the history lets us judge.",
	Doc: "Every property is judged by the servers' notes where the history holds them, else from the clients' view alone. " +
		"A property that needs notes which are not there is left out. A cas that failed under a token found another value " +
		"where cas-register says so; it may have lifted the fence.",
	needs:  func(*survey) string { return "" },
	judges: func(history.F) bool { return true },
	judge:  judgeFenced,
}

func judgeFenced(s *survey, opt Options, r *Report) error {
	var properties []string
	for _, p := range registry {
		if p.judgedIn(s.header.Timing) && p.watch(s.view) != nil && s.tells(p) {
			properties = append(properties, p.Name)
		}
	}
	c := Config{Header: s.header, View: s.view, Memory: opt.Memory, Init: opt.Init, Source: withEnds(s.events), evidence: evidence{opt.FailedCAS}}
	suite, err := c.judge(properties, s.header.Fence == "granted")
	if err != nil {
		return err
	}
	results := slices.Clone(suite.Finish())
	if s.header.Fence == "" && s.header.Scenario == "" && refusedWrongly(results) {
		lenient, err := c.judge(properties, true)
		if err != nil {
			return err
		}
		if again := lenient.Finish(); !refusedWrongly(again) {
			suite, results = lenient, again
			r.note(`the store refused tokens before it had accepted a greater one, but after one was granted: taken for a fence that knows the lease table ("fence":"accepted" in the header forbids it)`)
		}
	}
	r.Results = results
	r.Violations = suite.Violations()
	r.Sometimes = suite.Sometimes()
	return nil
}

// judge runs a suite over the source; byGrants says that a grant justifies a refusal.
func (c Config) judge(properties []string, byGrants bool) (*Suite, error) {
	if byGrants {
		var err error
		if c.grants, err = grantsOf(c.Source, c.Header.Scopes == "global"); err != nil {
			return nil, err
		}
	}
	suite, err := c.New(properties)
	if err != nil {
		return nil, err
	}
	return suite, c.Source(suite.Observe)
}

// refusedWrongly reports whether a property is broken that judges refusals.
func refusedWrongly(results []Result) bool {
	return slices.ContainsFunc(results, func(r Result) bool {
		return r.Outcome == Violated && (r.Property == linearizable.Name || r.Property == scopeIsolation.Name)
	})
}

// tells reports whether the history has the tokens that a property is about: one
// that holds because there are none was not judged.
func (s *survey) tells(p *Property) bool {
	switch p {
	case &tokenOrder, &renewalKeepsToken:
		return s.granted
	case &noStaleWrite, &noFalseFencing, &fenceSurvives:
		return s.tokens
	}
	return true
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

// withEnds copies to the end of an operation, and to the store's notes of it, what only
// the invoke says: many recorders do not repeat the token, the lease or the resource.
func withEnds(events Events) Events {
	return func(yield func(*history.Event)) error {
		var c completer
		return events(func(e *history.Event) { yield(c.complete(e)) })
	}
}

// completer keeps the fields of open operations that their ends and notes may lack.
type completer struct {
	open opTable[invokeFields]
	copy history.Event
}

// invokeFields are the fields of an invoke that an end or a note may lack.
type invokeFields struct {
	resource, scope, lease, client string
	token                          history.Token
}

func (c *completer) complete(e *history.Event) *history.Event {
	switch {
	case e.Op == 0 || e.F == 0:
		return e
	case e.Type == history.Note:
		return c.note(e)
	case e.Type == history.Invoke:
		inv, _ := c.open.add(e.Op)
		inv.rec = invokeFields{e.Resource, e.Scope, e.Lease, e.ClientName(), e.Token}
		return e
	}
	inv := c.open.find(e.Op)
	if inv == nil {
		return e
	}
	done := c.filled(e, &inv.rec)
	if e.Type != history.Info {
		c.open.remove(inv)
	}
	return done
}

// note completes what a server noted of an operation that is open or of unknown
// outcome. A lease manager's note tells of its own lease, which it grants to the client
// that asked.
func (c *completer) note(e *history.Event) *history.Event {
	inv := c.open.find(e.Op)
	switch {
	case inv == nil:
		return e
	case e.F == history.Grant && e.Owner == "":
		c.copy = *e
		c.copy.Owner = inv.rec.client
	case e.F >= history.Apply && e.F <= history.Served:
		return c.filled(e, &inv.rec)
	default:
		return e
	}
	return &c.copy
}

// filled returns a copy of e with the fields of its invoke where it has none. The copy is
// valid until the next call.
func (c *completer) filled(e *history.Event, from *invokeFields) *history.Event {
	c.copy = *e
	from.fill(&c.copy)
	return &c.copy
}

func (l *invokeFields) fill(e *history.Event) {
	if e.Resource == "" {
		e.Resource = l.resource
	}
	if e.Scope == "" {
		e.Scope = l.scope
	}
	if e.Token == 0 {
		e.Token = l.token
	}
	if e.Lease == "" && e.Token == l.token {
		e.Lease = l.lease
	}
}
