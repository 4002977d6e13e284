package checker

import (
	"slices"

	"staleproof/model/history"
)

// Config says how to judge. The zero Config judges a recorded history without
// notes, one fence per resource, every resource nil at first.
type Config struct {
	// Header is that of the histories to judge; Scopes "global" declares that
	// one fence covers every scope.
	Header history.Header
	// View says whose notes the histories hold.
	View View
	// Memory bounds the search for a linearization, in bytes per scope; 0 means
	// DefaultMemory.
	Memory int64
	// Init is the value of every resource before the first event.
	Init history.Value
	// Source, when set, replays the whole history that will be observed: the
	// suite then keeps no operations of its own for the search for a
	// linearization, and its memory does not grow with the history.
	Source Events
	// FreeReads: the store may serve reads whatever token they present, and then they
	// lift no fence.
	FreeReads bool
	// Forget keeps no operations either and has no source: where the witness of
	// linearizability fails, the verdict stays inconclusive. For an exhaustive
	// search, which judges a suspicious path by running it again.
	Forget bool
	// grants, when set, may justify a refusal.
	grants   *grants
	evidence evidence
}

// Suite is a set of monitors and the observer of the "sometimes" facts. It
// allocates nothing in the steady state. Its methods are for one goroutine.
type Suite struct {
	config   Config
	names    *names
	monitors []Monitor
	facts    facts
	watchers []observer // the monitors, and the facts last
	wanted   *wanted
	in       Input
	broken   []int32 // the monitors violated so far, in order
	results  []Result
	found    []Violation
}

type observer interface{ Observe(*Input) bool }

// wanted says who wants which events: by type and verb, places among a suite's
// watchers. It never changes after New, and clones share it.
type wanted [history.Note + 1][256][]int32

func (w *wanted) add(watcher int, kinds []interest) {
	for _, k := range kinds {
		w[k.t][k.f] = append(w[k.t][k.f], int32(watcher))
	}
}

// New makes a suite of the named properties for histories of the simulator,
// which hold every server's notes. See [Config.New] for other histories.
func New(properties []string, h history.Header) (*Suite, error) {
	return Config{Header: h, View: View{Coordinator: true, Store: true}}.New(properties)
}

// New makes a suite of the named properties. An unknown name is an error that
// suggests the nearest one. A name given twice counts once.
func (c Config) New(properties []string) (*Suite, error) {
	if c.Memory <= 0 {
		c.Memory = DefaultMemory
	}
	s := &Suite{config: c, names: newNames(c.Header.Scopes == "global"), wanted: &wanted{}}
	s.in.names = s.names
	e := &env{names: s.names, config: c}
	for i, name := range properties {
		p, err := Lookup(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(properties[:i], name) {
			continue
		}
		s.wanted.add(len(s.monitors), p.watch(c.View))
		s.monitors = append(s.monitors, p.monitor(e))
	}
	s.facts = facts{view: c.View, untimed: e.untimed()}
	s.wanted.add(len(s.monitors), factual(c.View))
	s.watch()
	return s, nil
}

// watch lists the watchers, each of which wanted knows by its place.
func (s *Suite) watch() {
	s.watchers = make([]observer, 0, len(s.monitors)+1)
	for _, m := range s.monitors {
		s.watchers = append(s.watchers, m)
	}
	s.watchers = append(s.watchers, &s.facts)
}

// Observe takes the next event. It does not keep e.
func (s *Suite) Observe(e *history.Event) {
	if e.Type > history.Note {
		return
	}
	wanted := s.wanted[e.Type][e.F]
	if len(wanted) == 0 {
		return
	}
	s.in.take(e)
	for _, i := range wanted {
		if s.watchers[i].Observe(&s.in) {
			s.broken = append(s.broken, i)
		}
	}
}

// Monitors returns the monitors, in the order of their properties' names at
// New. An exhaustive search that interns the state of each feeds them through
// [Suite.Observe] of a clone.
func (s *Suite) Monitors() []Monitor { return s.monitors }

// Violated reports whether an event so far broke a property. What only
// [Suite.Finish] can tell is not in it; see [Suite.Suspicious].
func (s *Suite) Violated() bool { return len(s.broken) > 0 }

// Suspicious reports whether a monitor cannot yet tell and Finish has to: the
// witness of linearizability failed.
func (s *Suite) Suspicious() bool {
	for _, m := range s.monitors {
		if o, _ := m.Verdict(); o == Inconclusive {
			return true
		}
	}
	return false
}

// Violations returns the first violation of each broken property, in the order
// of their occurrence; those that Finish found come last.
func (s *Suite) Violations() []Violation {
	s.found = s.found[:0]
	for _, i := range s.broken {
		if _, v := s.monitors[i].Verdict(); v != nil {
			s.found = append(s.found, *v)
		}
	}
	return s.found
}

// finisher is a monitor that judges some histories only at their end.
type finisher interface {
	// finish returns the final outcome and the steps that it took.
	finish() (Outcome, *Violation, int64)
}

// Finish ends the history and returns one result per property, in the order of
// the names given to New. A search for a linearization runs here. The slice is
// valid until the next Finish.
func (s *Suite) Finish() []Result {
	s.results = s.results[:0]
	for i, m := range s.monitors {
		o, v := m.Verdict()
		var steps int64
		if f, ok := m.(finisher); ok {
			o, v, steps = f.finish()
		}
		if o == Violated && !slices.Contains(s.broken, int32(i)) {
			s.broken = append(s.broken, int32(i))
		}
		s.results = append(s.results, Result{m.Name(), o, v, steps})
	}
	return s.results
}

// Sometimes returns how often each fact occurred so far.
func (s *Suite) Sometimes() Counts { return s.facts.counts() }

// AppendKey appends the state of all monitors: equal keys behave alike on equal
// events. The sometimes facts are global to a search and not in it.
func (s *Suite) AppendKey(b []byte) []byte {
	for _, m := range s.monitors {
		b = append(b, 0)
		b = m.AppendKey(b)
	}
	return b
}

// Clone returns a suite that shares nothing with s that either may change: the
// two may go on in different goroutines.
func (s *Suite) Clone() *Suite {
	c := *s
	c.names = s.names.clone()
	c.in = Input{names: c.names}
	c.broken = slices.Clone(s.broken)
	c.results, c.found = nil, nil
	c.facts = s.facts.clone()
	c.monitors = make([]Monitor, len(s.monitors))
	for i, m := range s.monitors {
		c.monitors[i] = m.Clone()
		if r, ok := c.monitors[i].(interface{ rebind(*names) }); ok {
			r.rebind(c.names)
		}
	}
	c.watch()
	return &c
}

// Reset returns the suite to its first state and keeps its memory.
func (s *Suite) Reset() {
	for _, m := range s.monitors {
		m.Reset()
	}
	s.names.reset()
	s.facts.reset()
	s.broken = s.broken[:0]
}
