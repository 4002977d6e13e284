package checker

import (
	"slices"

	"staleproof/model/history"
)

// DefaultBudget is how many steps the search for a linearization of one scope
// may take when [Config.Budget] is 0: about ten seconds. The hardest of the 102
// etcd histories that porcupine ships needs 578,153, half of them under 250.
const DefaultBudget = 10_000_000

// Config says how to judge. The zero Config judges a recorded history without
// notes, one fence per resource, every resource nil at first.
type Config struct {
	// Header is that of the histories to judge; Scopes "global" declares that
	// one fence covers every scope.
	Header history.Header
	// View says whose notes the histories hold.
	View View
	// Budget bounds the search for a linearization, in steps per scope; 0 means
	// DefaultBudget.
	Budget int64
	// Init is the value of every resource before the first event.
	Init history.Value
	// Source, when set, replays the whole history that will be observed: the
	// suite then keeps no operations of its own for the search for a
	// linearization, and its memory does not grow with the history.
	Source Events
	// Forget keeps no operations either and has no source: where the witness of
	// linearizability fails, the verdict stays inconclusive. For an exhaustive
	// search, which judges a suspicious path by running it again.
	Forget bool
}

// Suite is a set of monitors and the observer of the "sometimes" facts. It
// allocates nothing in the steady state. Its methods are for one goroutine.
type Suite struct {
	config   Config
	names    *names
	monitors []Monitor
	wanted   [256][]int32 // the monitors that want an event, by kind
	facts    facts
	in       Input
	broken   []int32 // the monitors violated so far, in order
	results  []Result
	found    []Violation
}

// New makes a suite of the named properties for histories of the simulator,
// which hold every server's notes. See [Config.New] for other histories.
func New(properties []string, h history.Header) (*Suite, error) {
	return Config{Header: h, View: View{Coordinator: true, Store: true}}.New(properties)
}

// New makes a suite of the named properties. An unknown name is an error that
// suggests the nearest one. A name given twice counts once.
func (c Config) New(properties []string) (*Suite, error) {
	if c.Budget <= 0 {
		c.Budget = DefaultBudget
	}
	s := &Suite{config: c, names: newNames(c.Header.Scopes == "global")}
	e := &env{names: s.names, config: c}
	for i, name := range properties {
		p, err := Lookup(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(properties[:i], name) {
			continue
		}
		n := int32(len(s.monitors))
		s.monitors = append(s.monitors, p.monitor(e))
		for _, w := range p.watch(c.View) {
			k := kind(w.t, w.f)
			s.wanted[k] = append(s.wanted[k], n)
		}
	}
	s.facts = facts{view: c.View, untimed: e.untimed()}
	return s, nil
}

// kind numbers what an event is about; 0 is none of interest.
func kind(t history.Type, f history.F) uint8 {
	switch {
	case t == history.Note && f >= history.Grant && f < 128:
		return uint8(f)
	case t >= history.Invoke && t <= history.Info && f < 16:
		return 128 + uint8(t-history.Invoke)<<4 | uint8(f)
	}
	return 0
}

// Observe takes the next event. It does not keep e.
func (s *Suite) Observe(e *history.Event) {
	k := kind(e.Type, e.F)
	wanted, factual := s.wanted[k], factKinds[k]
	if len(wanted) == 0 && !factual {
		return
	}
	s.resolve(e)
	for _, i := range wanted {
		if s.monitors[i].Observe(&s.in) {
			s.broken = append(s.broken, i)
		}
	}
	if factual {
		s.facts.observe(&s.in)
	}
}

func (s *Suite) resolve(e *history.Event) {
	in := &s.in
	in.Event, in.names = e, s.names
	if e.F >= history.Send {
		return // the world's notes concern no scope
	}
	scope, who := e.ScopeName(), e.Owner
	if who == "" || e.Type != history.Note {
		who = e.ClientName()
	}
	r := &s.names.recent[(lastByte(who)^lastByte(e.Lease)<<2)%uint8(len(s.names.recent))]
	if !history.Identical(r.scope, scope) || !history.Identical(r.who, who) || !history.Identical(r.lease, e.Lease) || !r.known {
		s.look(r, scope, who, e.Lease)
	}
	in.Scope, in.Fence, in.Client, in.Lease = r.scopeID, r.fence, r.client, r.identity
}

// resolved is what was made of the names of an event. Those of a simulation come
// again and again, and lie in the same place each time.
type resolved struct {
	scope, who, lease      string
	known                  bool
	scopeID, fence, client int32
	identity               Lease
}

func (s *Suite) look(r *resolved, scope, who, lease string) {
	*r = resolved{scope: scope, who: who, lease: lease, known: true, scopeID: s.names.scopes.id(scope),
		client: s.names.clients.id(who), identity: leaseOf(lease)}
	if r.fence = r.scopeID; s.names.global {
		r.fence = 0
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
	c := *s // the wanted lists never change after New
	c.names = s.names.clone()
	c.in = Input{}
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
