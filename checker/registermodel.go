package checker

import (
	"slices"

	"staleproof/model/history"
)

var registerModel = Model{
	Name:      "register",
	Guarantee: "Each resource behaves as one atomic register: a read returns the last value written.",
	Doc: "Reads and writes, resource by resource, in one pass. A write of unknown outcome may take effect at any " +
		"later time, or never; a failed operation had no effect.",
	needs:  needsRegister,
	judges: onRegister,
	judge:  func(s *survey, opt Options, r *Report) error { return judgeRegister("register", s, opt, r) },
}

var casRegisterModel = Model{
	Name:      "cas-register",
	Guarantee: "Each resource behaves as one atomic register with compare-and-set.",
	Doc: "Like register, with cas; porcupine has to confirm a violation. A cas that failed had no effect, whatever it " +
		"found. It found another value than it expected, when its error is \"mismatch\", or when it gives no error and " +
		"[Options.FailedCAS] says so.",
	needs:  needsRegister,
	judges: onRegister,
	judge: func(s *survey, opt Options, r *Report) error {
		return judgeRegister("cas-register", s, opt, r)
	},
}

func needsRegister(s *survey) string {
	if s.seen[history.Read] || s.seen[history.Write] || s.seen[history.CAS] || s.seen[history.Delete] {
		return ""
	}
	return "reads and writes"
}

// judgeRegister judges in one pass what a walk can judge, and searches for an order of
// the rest.
func judgeRegister(name string, look *survey, opt Options, r *Report) error {
	j := registerJudge{
		registers: newRegisters(name, newNames(false), opt.Init, evidence{compares: opt.FailedCAS}, look.endless),
		events:    look.events, operations: look.operations,
	}
	j.search = search{property: name, names: j.names, config: Config{Init: opt.Init, Memory: opt.Memory}, partial: true}
	j.width = int(max(64, opt.Memory/bytesPerConfiguration))
	if err := look.events(j.observe); err != nil {
		return err
	}
	o, v, err := j.judge()
	if err != nil {
		return err
	}
	r.Results = []Result{{Property: name, Outcome: o, Violation: v, Steps: j.search.steps}}
	if o == Violated {
		r.Violations = []Violation{*v}
	}
	return nil
}

// bytesPerConfiguration is what a configuration of a walk may cost, with all that is
// tried from it when an operation ends.
const bytesPerConfiguration = 2 << 20

// registerJudge judges registers by walks and, where those do not tell, by
// searches.
type registerJudge struct {
	*registers
	search     search
	events     Events
	operations int // of the whole history
}

func (j *registerJudge) judge() (Outcome, *Violation, error) {
	unclear := false
	for _, place := range j.violated() {
		r := &j.scopes[place]
		confirmed, err := j.confirmed(r, place)
		if err != nil {
			return Inconclusive, nil, err
		}
		if confirmed {
			return Violated, r.found, j.tellPartials(r, place)
		}
		r.unclear = true
	}
	for i := range j.scopes {
		unclear = unclear || j.scopes[i].unclear
	}
	if !unclear {
		return Satisfied, nil, nil
	}
	calls, err := j.calls(j.search.config.calls()+1, func(scope int32, _ int64) bool { return j.scopes[scope].unclear })
	if err != nil {
		return Inconclusive, nil, err
	}
	if c := unwritten(calls, j.init); c != nil {
		v := c.unexplained(j.property, j.names)
		mine := slices.DeleteFunc(calls, func(o call) bool { return o.fence != c.fence })
		j.search.tellPartials(v, registerSpec(j.init), mine)
		return Violated, v, nil
	}
	o, v := j.search.judgeScopes(calls, func([]call) []spec { return []spec{registerSpec(j.init)} })
	return o, v, nil
}

// unwritten returns a read that answers what nobody had begun to write when it
// ended, for which no search is needed; nil when there is none.
func unwritten(calls []call, init history.Value) *call {
	type written struct {
		scope int32
		value history.Value
	}
	begun := make(map[written]int64)
	for i := range calls {
		c := &calls[i]
		w := written{c.fence, nilFor(c.value)}
		if _, known := begun[w]; !known && !c.isRead() && c.f != history.Delete && c.outcome != failed {
			begun[w] = c.invoked
		}
	}
	for i := range calls {
		c := &calls[i]
		at, known := begun[written{c.fence, nilFor(c.answer)}]
		if c.f == history.Read && c.outcome == done && nilFor(c.answer) != init && (!known || at > c.ended) {
			found := *c
			return &found
		}
	}
	return nil
}

// confirmed reports whether porcupine finds no order either, of what came after the
// last calm moment, where there is a cas. Of reads and writes alone the walk is
// known to miss none.
func (j *registerJudge) confirmed(r *register, place int32) (bool, error) {
	if !r.walk.searches {
		return true, nil
	}
	until := r.found.Events[1]
	calls, err := j.calls(j.search.config.calls()+1, func(scope int32, at int64) bool {
		return scope == place && at > r.walk.calm.at && at <= until
	})
	if err != nil || len(calls) > j.search.config.calls() {
		return false, err
	}
	for i := range calls {
		if c := &calls[i]; c.outcome == refused && c.ended > until {
			c.outcome = failed // the walk knows that it will have no effect
		}
	}
	ok, spent := j.search.check(registerSpec(j.init).from(r.walk.calm.value), calls, until)
	return !ok && !spent, nil
}

// longPartial is of how many calls an explanation starts at the last calm moment.
const longPartial = 200

// tellPartials tells how far an explanation gets of a register that is violated: from
// the beginning, or of a longer history from the last calm moment.
func (j *registerJudge) tellPartials(r *register, place int32) error {
	if j.search.steps > partialSteps { // as many as it took to confirm that there is no order
		r.found.NoPartial = noPartial()
		return nil
	}
	sp, since := registerSpec(j.init), int64(beforeAll)
	if j.operations > longPartial {
		sp, since = sp.from(r.walk.calm.value), r.walk.calm.at
	}
	most := partialCalls
	if j.operations > partialCalls {
		most = longPartial
	}
	calls, err := j.calls(most+1, func(scope int32, at int64) bool { return scope == place && at > since })
	if len(calls) > most {
		r.found.NoPartial = noPartial()
	} else if err == nil {
		j.search.tellPartials(r.found, sp, calls)
	}
	return err
}

func (j *registerJudge) calls(most int, wanted func(scope int32, at int64) bool) ([]call, error) {
	return registerCalls(j.events, j.evidence, j.names, most, wanted)
}

// registerCalls collects the calls on registers, of each at most so many of the
// first; the resource is the scope. Some are wanted, by scope and beginning.
func registerCalls(events Events, ev evidence, n *names, most int, wanted func(scope int32, at int64) bool) ([]call, error) {
	var calls []call
	var open opTable[int] // places in calls
	var seen []int        // calls, by scope
	err := events(func(e *history.Event) {
		switch scope := n.scopes.id(e.Resource); {
		case !onRegister(e.F):
		case e.Type == history.Invoke:
			o, _ := open.add(e.Op)
			seen := at(&seen, scope)
			if !wanted(scope, e.Index) || *seen == most {
				open.remove(o)
				return
			}
			*seen++
			o.rec = len(calls)
			calls = append(calls, call{op: e.Op, f: e.F, fence: scope, client: n.clients.id(e.ClientName()),
				value: e.Value, expect: e.Expect, invoked: e.Index, ended: never})
		case e.Type.IsEnd():
			if o := open.find(e.Op); o != nil {
				calls[o.rec].end(e, ev)
				open.remove(o)
			}
		}
	})
	return calls, err
}

func onRegister(f history.F) bool {
	return f == history.Read || f == history.Write || f == history.CAS || f == history.Delete
}

// evidence is how a history is to be read. Recorders differ: in some a cas fails
// when it finds another value, in others, as any operation does, when a node is
// down.
type evidence struct {
	compares bool // a cas that failed without a reason found another value
}

// mismatch is the error of a cas that found another value than it expected.
const mismatch = "mismatch"

// differs reports whether an operation that failed is a cas that found another value.
func (ev evidence) differs(e *history.Event) bool {
	return e.F == history.CAS && (e.Error == mismatch || e.Error == "" && ev.compares)
}

// end records the outcome of a call on a register.
func (c *call) end(e *history.Event, ev evidence) {
	switch {
	case e.Type == history.OK:
		c.outcome, c.answer = done, e.Value
	case e.Type == history.Fail && ev.differs(e):
		c.outcome = refused
	case e.Type == history.Fail:
		c.outcome = failed
	default:
		return
	}
	c.ended = e.Index
}

// registerSpec is the sequential specification of a register with cas.
func registerSpec(init history.Value) spec {
	return spec{
		init: init,
		step: func(state any, c *call, o outcome) (bool, any) {
			v, ok := state.(history.Value)
			if !ok {
				return false, state
			}
			possible, next := registerStep(v, c, o, init)
			return possible && (o != unknown || next != v), next
		},
		equal: func(a, b any) bool { return a == b },
		hash: func(a any) uint64 {
			v, _ := a.(history.Value)
			return hashValue(v)
		},
	}
}

// from is the specification of what goes on in a state.
func (sp spec) from(state any) spec {
	sp.init = state
	return sp
}

func registerStep(v history.Value, c *call, o outcome, init history.Value) (bool, history.Value) {
	equal := sameValue(c.expect, v)
	switch {
	case c.f == history.Read:
		return sameValue(c.answer, v), v
	case c.f == history.Write:
		return true, nilFor(c.value)
	case c.f == history.Delete:
		return true, init
	case o == refused:
		return !equal, v
	}
	return equal, nilFor(c.value)
}
