package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"staleproof/checker"
	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
	"staleproof/sim/explore"
)

// Bounds are the size at which a scenario is searched exhaustively.
type Bounds struct {
	Params Params
	// Faults is how often each fault may strike in one run.
	Faults map[sim.Site]int
}

// Bounds returns the scenario at a size that an exhaustive search completes: two
// clients that each ask once for a lease and write once under it, without
// renewals, waiting for each reply as long as it takes, and one each of the
// faults drop, duplicate and crash.
func (sc *Scenario) Bounds() Bounds {
	p := sc.Params
	if sc.Searched {
		return Bounds{Params: p}
	}
	p.Clients, p.Acquisitions, p.Writes, p.Renew = 2, 1, 1, 0
	p.Tries, p.Timeout = 1, 0
	return Bounds{Params: p, Faults: map[sim.Site]int{sim.SiteDrop: 1, sim.SiteDuplicate: 1, sim.SiteCrash: 1}}
}

// System returns the scenario as a system for exhaustive search, untimed: any
// message may arrive next, any timer may ring. All properties that can be judged
// so are monitors of the search.
func (sc *Scenario) System(b Bounds, d model.Defects) (explore.System, error) {
	if sc.Search != nil {
		return sc.Search(b, d)
	}
	setup := b.Params.setup(d)
	cfg := sc.configFor(&b.Params, sim.Untimed)
	cfg.Budget = b.Faults
	sys := explore.System{Config: cfg, Build: func(w *sim.World) { sc.Build(w, setup) }}
	names := namesOf(&sys)
	header := history.Header{Format: history.Format, Scenario: sc.Name, Timing: "untimed", Scopes: "per-resource"}
	for _, name := range sc.Judged(sim.Untimed) {
		config := checker.Config{Header: header, View: checker.View{Coordinator: true, Store: true}, Init: InitialValue}
		suite, err := config.New([]string{name})
		if err != nil {
			return sys, err
		}
		byOp := slices.Contains(matchOperations, name)
		sys.Monitors = append(sys.Monitors, func() explore.Monitor {
			return &watch{suite: suite.Clone(), names: names, byOp: byOp}
		})
	}
	return sys, nil
}

// matchOperations are the properties that match the servers' notes with the
// clients' operations by number: for them, states in which the same things are
// called by other numbers are not the same.
var matchOperations = []string{"linearizable", "lease-identity", "no-lost-update", "fence-survives"}

// Explored is what an exhaustive search of a scenario came to.
type Explored struct {
	explore.Result
	// Property is the broken one, and Run replays the counterexample; nil if
	// nothing was broken.
	Property string
	Run      *Recorded
}

// Explore searches the scenario exhaustively within bounds.
func (sc *Scenario) Explore(b Bounds, d model.Defects, opt explore.Options) (*Explored, error) {
	sys, err := sc.System(b, d)
	if err != nil {
		return nil, err
	}
	r, err := explore.Run(sys, opt)
	if err != nil {
		return nil, err
	}
	x := &Explored{Result: r}
	if r.Violation != nil {
		x.Property = sc.brokenBy(r.Violation)
		x.Run = &Recorded{Scenario: sc.Name, Revision: sc.Revision, Defects: d, Timing: sys.Config.Timing,
			Params: b.Params, Schedule: r.Violation.Schedule, Digest: r.Violation.Digest}
	}
	return x, nil
}

// brokenBy names the property that a violation of the search broke: an invariant
// by its own name, a monitor by its place.
func (sc *Scenario) brokenBy(v *explore.Violation) string {
	var i int
	judged := sc.Judged(sim.Untimed)
	if _, err := fmt.Sscanf(v.Property, "monitor %d", &i); err == nil && i < len(judged) {
		return judged[i]
	}
	return v.Property
}

// namesOf returns the names of a system's processes.
func namesOf(sys *explore.System) []string {
	w := sim.NewWorld(sys.Config, sim.Calm{}, nil)
	defer w.Close()
	sys.Build(w)
	return w.Names()
}

// watch is one property as a monitor of the search. Where the witness of
// linearizability fails, porcupine judges what was seen on the way there; from
// then on every history counts as a state of its own.
type watch struct {
	suite *checker.Suite
	names []string
	index int64
	trail uint64 // of all events
	byOp  bool
	open  []numbered // operations that have not ended, or not surely, with byOp
	last  []int64    // the last operation of each client
	e     history.Event
	found string
}

// numbered is an operation by its number.
type numbered struct {
	op int64
	f  history.F
}

// Notes are those that a property may take.
func (w *watch) Notes() sim.NoteSet {
	return sim.NoteSet(0).With(sim.NoteCrash, sim.NoteRestart)
}

// Note hands a note of the world on.
func (w *watch) Note(n sim.Note) {
	f := history.Crash
	if n.Kind == sim.NoteRestart {
		f = history.Restart
	}
	w.e = history.Event{Type: history.Note, F: f, Process: w.names[n.Proc]}
	w.observe()
}

// Observe hands an event of the protocol on. Its times mean nothing here.
func (w *watch) Observe(o sim.Observation) {
	if e, ok := o.(*history.Event); ok {
		w.e = *e
		w.e.Time, w.e.Expires, w.e.Until = 0, 0, 0
		w.observe()
	}
}

func (w *watch) observe() {
	w.index++
	w.e.Index = w.index
	w.suite.Observe(&w.e)
	w.trail = w.e.Fold(w.trail)
	if w.byOp && w.e.Type != history.Note {
		w.number(&w.e)
	}
	if w.found != "" {
		return
	}
	if v := w.suite.Violations(); len(v) > 0 {
		w.found = v[0].Message
	} else if w.e.Type.IsEnd() && w.suite.Suspicious() {
		w.judge()
	}
}

// number keeps the numbers of operations that later notes may name.
func (w *watch) number(e *history.Event) {
	switch e.Type {
	case history.Invoke:
		w.open = append(w.open, numbered{e.Op, e.F})
		slices.SortFunc(w.open, func(a, b numbered) int { return cmp.Compare(a.op, b.op) })
	case history.OK, history.Fail:
		w.open = slices.DeleteFunc(w.open, func(n numbered) bool { return n.op == e.Op })
	}
	i := slices.Index(w.names, e.ClientName())
	for len(w.last) <= i {
		w.last = append(w.last, 0)
	}
	if i >= 0 {
		w.last[i] = e.Op
	}
}

// judge asks porcupine.
func (w *watch) judge() {
	last := w.suite.Clone()
	last.Finish()
	if v := last.Violations(); len(v) > 0 {
		w.found = v[0].Message
	}
}

// Clone copies the monitor.
func (w *watch) Clone() explore.Monitor {
	c := *w
	c.suite, c.open, c.last = w.suite.Clone(), slices.Clone(w.open), slices.Clone(w.last)
	return &c
}

// watchKey is the state of a watch.
type watchKey struct {
	key   string
	ops   string
	trail uint64
}

// Key is the monitor's state.
func (w *watch) Key() any {
	k := watchKey{key: string(w.suite.AppendKey(nil))}
	if w.byOp {
		k.ops = fmt.Sprint(w.open, w.last)
	}
	if w.suite.Suspicious() {
		k.trail = w.trail
	}
	return k
}

// Broken says what broke.
func (w *watch) Broken() string { return w.found }
