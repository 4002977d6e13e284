package checker

import "staleproof/model/history"

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
	Doc: "Like register, with cas; a resource that sees a cas is judged by porcupine. A cas that failed had no effect, whatever it " +
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

// judgeRegister judges in one pass what a walk can judge, and searches for the rest.
func judgeRegister(name string, look *survey, opt Options, r *Report) error {
	ev := evidence{compares: opt.FailedCAS}
	n := newNames(false)
	z := newRegisters(name, n, opt.Init, ev, look.endless)
	if err := look.events(z.observe); err != nil {
		return err
	}
	o, v, steps := Satisfied, z.found, int64(0)
	s := search{property: name, names: n, config: Config{Init: opt.Init, Budget: opt.Budget}, partial: true}
	if v != nil {
		o = Violated
		calls, err := registerCalls(look.events, ev, n, partialCalls+1, func(scope int32) bool { return scope == z.place })
		if err != nil {
			return err
		}
		s.tellPartials(v, registerSpec(opt.Init), calls)
	} else if z.unclear {
		calls, err := registerCalls(look.events, ev, n, searched+1, func(scope int32) bool { return at(&z.scopes, scope).unclear })
		if err != nil {
			return err
		}
		o, v = s.judgeScopes(calls, func([]call) []spec { return []spec{registerSpec(opt.Init)} })
		steps = s.steps
	}
	r.Results = []Result{{Property: name, Outcome: o, Violation: v, Steps: steps}}
	if o == Violated {
		r.Violations = []Violation{*v}
	}
	return nil
}

// registerCalls collects the calls on registers, of each at most so many of the
// first; the resource is the scope, of which some are wanted.
func registerCalls(events Events, ev evidence, n *names, most int, wanted func(scope int32) bool) ([]call, error) {
	var calls []call
	var open opTable[int] // places in calls
	var seen []int        // calls, by scope
	err := events(func(e *history.Event) {
		switch {
		case !onRegister(e.F):
		case !wanted(n.scopes.id(e.Resource)):
		case e.Type == history.Invoke:
			o, _ := open.add(e.Op)
			scope := at(&seen, n.scopes.id(e.Resource))
			if *scope++; *scope > most {
				open.remove(o)
				return
			}
			o.rec = len(calls)
			calls = append(calls, call{op: e.Op, f: e.F, fence: n.scopes.id(e.Resource), client: n.clients.id(e.ClientName()),
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

// end records the outcome of a call on a register.
func (c *call) end(e *history.Event, ev evidence) {
	switch {
	case e.Type == history.OK:
		c.outcome, c.answer = done, e.Value
	case e.Type == history.Fail && e.F == history.CAS && (e.Error == mismatch || e.Error == "" && ev.compares):
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
