package checker

import "staleproof/model/history"

var registerModel = Model{
	Name:      "register",
	Guarantee: "Each resource behaves as one atomic register: a read returns the last value written.",
	Doc: "Reads and writes, judged by porcupine, resource by resource. A write of unknown outcome may take effect at any " +
		"later time, or never; a failed operation had no effect. A read that answered nil where nothing could be nil is one " +
		"whose answer was not recorded.",
	judge: func(h *history.History, opt Options, r *Report) error { return judgeRegister("register", h, opt, r) },
}

var casRegisterModel = Model{
	Name:      "cas-register",
	Guarantee: "Each resource behaves as one atomic register with compare-and-set.",
	Doc: "Like register, with cas. A cas that failed had no effect. It also found another value than it expected, when its " +
		"error is \"mismatch\", or when it gives no error and the history gives one with every other failure.",
	judge: func(h *history.History, opt Options, r *Report) error {
		return judgeRegister("cas-register", h, opt, r)
	},
}

func judgeRegister(name string, h *history.History, opt Options, r *Report) error {
	n := newNames(false)
	calls := registerCalls(h, opt.Init, n)
	s := search{property: name, names: n, config: Config{Init: opt.Init, Budget: opt.Budget}}
	o, v := s.judgeScopes(calls, func([]call) []spec { return []spec{registerSpec(opt.Init)} })
	r.Results = []Result{{Property: name, Outcome: o, Violation: v, Steps: s.steps}}
	if o == Violated {
		r.Violations = []Violation{*v}
	}
	return nil
}

// registerCalls collects the calls on registers; the resource is the scope.
func registerCalls(h *history.History, init history.Value, n *names) []call {
	var calls []call
	open := make(map[int64]int)
	evidence := weigh(h, init)
	for i := range h.Events {
		e := &h.Events[i]
		if !onRegister(e.F) {
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
			calls[at].end(e, evidence)
		}
	}
	return calls
}

func onRegister(f history.F) bool {
	return f == history.Read || f == history.Write || f == history.CAS || f == history.Delete
}

// evidence is how a history is to be read. Recorders differ: in the histories
// that porcupine ships a cas fails when it finds another value, in some of
// Knossos's any operation fails when a node is down; and Knossos takes an answer
// nil for one that was not recorded.
type evidence struct {
	silentFailures bool // operations other than cas fail without saying why
	canBeNil       bool // nil is the initial value, or is written
}

func weigh(h *history.History, init history.Value) evidence {
	ev := evidence{canBeNil: nilFor(init) == history.NilValue}
	for i := range h.Events {
		e := &h.Events[i]
		switch {
		case !onRegister(e.F):
		case e.Type == history.Fail && e.F != history.CAS && e.Error == "":
			ev.silentFailures = true
		case e.Type == history.Invoke && (e.F == history.Write || e.F == history.CAS) && nilFor(e.Value) == history.NilValue:
			ev.canBeNil = true
		}
	}
	return ev
}

// end records the outcome of a call on a register.
func (c *call) end(e *history.Event, ev evidence) {
	switch {
	case e.Type == history.OK && e.F == history.Read && !ev.canBeNil && nilFor(e.Value) == history.NilValue:
		c.outcome = failed
	case e.Type == history.OK:
		c.outcome, c.answer = done, e.Value
	case e.Type == history.Fail && e.F == history.CAS && (e.Error == "mismatch" || e.Error == "" && !ev.silentFailures):
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
