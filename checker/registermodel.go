package checker

import "staleproof/model/history"

var registerModel = Model{
	Name:      "register",
	Guarantee: "Each resource behaves as one atomic register: a read returns the last value written.",
	Doc: "Reads and writes, judged by porcupine, resource by resource. A write of unknown outcome may take effect at any " +
		"later time, or never; a failed operation had no effect.",
	judge: func(h *history.History, opt Options, r *Report) error { return judgeRegister("register", h, opt, r) },
}

var casRegisterModel = Model{
	Name:      "cas-register",
	Guarantee: "Each resource behaves as one atomic register with compare-and-set.",
	Doc: "Reads, writes and cas, judged by porcupine, resource by resource. A cas that failed without giving an error found " +
		"another value than it expected; one that failed with an error had no effect.",
	judge: func(h *history.History, opt Options, r *Report) error {
		return judgeRegister("cas-register", h, opt, r)
	},
}

func judgeRegister(name string, h *history.History, opt Options, r *Report) error {
	n := newNames(false)
	calls := registerCalls(h, n)
	s := search{property: name, names: n, config: Config{Init: opt.Init, Budget: opt.Budget}}
	o, v := s.judgeScopes(calls, func([]call) []spec { return []spec{registerSpec(opt.Init)} })
	r.Results = []Result{{Property: name, Outcome: o, Violation: v, Steps: s.steps}}
	if o == Violated {
		r.Violations = []Violation{*v}
	}
	return nil
}

// registerCalls collects the calls on registers; the resource is the scope.
func registerCalls(h *history.History, n *names) []call {
	var calls []call
	open := make(map[int64]int)
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.Read && e.F != history.Write && e.F != history.CAS && e.F != history.Delete {
			continue
		}
		if e.Type == history.Invoke {
			open[e.Op] = len(calls)
			calls = append(calls, call{f: e.F, fence: n.scopes.id(e.Resource), client: n.clients.id(e.ClientName()),
				value: e.Value, expect: e.Expect, invoked: e.Index, ended: never})
			continue
		}
		if at, ok := open[e.Op]; ok && e.Type.IsEnd() {
			delete(open, e.Op)
			calls[at].end(e)
		}
	}
	return calls
}

// end records the outcome of a call on a register. A cas that failed for no
// other reason found an unexpected value.
func (c *call) end(e *history.Event) {
	switch {
	case e.Type == history.OK:
		c.outcome, c.answer = done, e.Value
	case e.Type == history.Fail && e.F == history.CAS && e.Error == "":
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
