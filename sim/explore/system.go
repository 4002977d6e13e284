// Package explore searches every schedule of a small system exhaustively, the
// same process code that a [sim.World] runs.
//
//	System -> cells (one process alone) -> memoised transitions
//	                                          |
//	          breadth-first search over vectors of small integers -> Result
//	                                          |
//	                     violation -> Schedule -> replayed in an ordinary World
//
// A global state is a vector: one interned local state per process, one interned
// state per monitor, what is left of the fault budgets, the clocks of a bounded
// system, and the multiset of messages in flight. Process code runs only when a
// local state meets an event for the first time ([sim.Cell]); everything else is
// table look-ups.
//
// The order of the search is that of one plain queue, whatever the number of
// workers: a batch of states is expanded in parallel against tables that nobody
// writes, what was missing in the tables is computed and numbered in the order
// of the states, and successors are numbered in the order of their first
// appearance. So counts and counterexamples do not depend on the workers, nor on
// the values of hashes.
//
// Like sim/watchdog the package is exempt from the bans on goroutines and clocks:
// it runs many cells, and decides nothing inside one.
package explore

import (
	"fmt"
	"time"

	"staleproof/sim"
)

// System is what is searched.
type System struct {
	// Build spawns the processes into an empty world. It is called often, by all
	// workers at once, and every call must build the same; what a factory captures
	// must not change. Process code must not decide by what only names a thing
	// (Message.ID, Copy), nor by anything outside of its process: transitions are run
	// again to see whether it does.
	Build func(*sim.World)
	// Config is the world's. Timing must be Untimed or Bounded. Budget gives how
	// often each fault may strike; a site that is not in it does not.
	Config sim.Config
	// Monitors make the monitors of a run in their first state.
	Monitors []func() Monitor
	// Invariants must hold in every state.
	Invariants []Invariant
}

// Monitor is a property that the search feeds with what happens. In an untimed
// search the times and in every search the indexes and message numbers of what
// it is told are 0.
type Monitor interface {
	sim.Observer
	// Clone returns a copy that shares nothing that changes.
	Clone() Monitor
	// Key returns a comparable value: monitors with equal keys judge every future
	// alike. It leaves out what only names things, or equal states never meet.
	Key() any
	// Broken says in words what broke the property, or nothing.
	Broken() string
}

// Sometimer is a Monitor that watches for facts that should occur in some run.
// They belong to the search, not to a state, and stay out of Key.
type Sometimer interface {
	// Sometimes names the facts that occurred in the last step.
	Sometimes() []string
}

// Invariant is a property of single states.
type Invariant struct {
	Name string
	// Holds returns "" or says what is wrong.
	Holds func(v *View) string
}

// View is a state as an Invariant sees it; it is valid during the call.
type View struct {
	e *engine
	s []uint32
}

// Value returns the value of a process's last checkpoint, or the State of a
// [sim.Stater].
func (v *View) Value(id sim.ID) any { return v.e.info[v.s[id]].value }

// Now returns the time: ticks, or 0 in an untimed search.
func (v *View) Now() int64 { return v.e.now(v.s) }

// Options bound a search. The zero Options search everything on one worker.
type Options struct {
	Workers   int           // 0 is 1
	Faults    int           // at most so many faults in all; 0: what the budgets allow; negative: none
	MaxStates int           // 0: no bound
	MaxBytes  int64         // of the process's memory; 0: no bound
	MaxTime   time.Duration // 0: no bound
	Wide      bool          // fingerprints of 128 bits instead of 64
	// Interrupt ends the search when it is closed or receives.
	Interrupt <-chan struct{}
	// Progress, if not nil, is called now and then.
	Progress func(Progress)
}

// Progress is how far a search has come.
type Progress struct {
	States, Generated int64
	Depth, Layer      int
	Queue             int // states that wait to be expanded
}

// Result is what a search came to.
type Result struct {
	States    int64 // distinct ones, the initial one included
	Generated int64 // the initial states once, then every transition taken
	Terminal  int64 // states without a successor
	Depth     int   // the greatest number of steps from the initial state, in its layer
	// Layers counts the layers of fault cost that were searched completely: all
	// schedules with fewer than Layers faults were.
	Layers    int
	MaxFaults int // the faults that the bounds allow
	Runs      int64
	Replayed  int64 // events that processes were fed again to come to a local state
	Locals    int   // local states of all processes
	// Transitions counts what processes were seen to do, and Again how many of these
	// were run again, with the same outcome.
	Transitions, Again int
	// Merged counts the histories of a process that came to a state that another one
	// had reached, by its checkpoints, and Compared those that were run on from there
	// beside the other: until nothing more follows, or for Ahead events at least if that
	// is not 0.
	Merged, Compared, Ahead int
	Seconds                 float64
	// Truncated says why the search ended early and what remains; "" is complete.
	Truncated string
	Violation *Violation
	Sometimes []string // the facts that occurred, sorted
}

// Complete reports whether every state within the bounds was visited.
func (r *Result) Complete() bool { return r.Truncated == "" && r.Violation == nil }

// Covered says in words what the search covered.
func (r *Result) Covered() string {
	switch {
	case r.Truncated != "":
		return r.Truncated
	case r.Violation != nil && r.Violation.Faults == 0:
		return fmt.Sprintf("every schedule without faults of fewer than %d steps", r.Violation.Steps)
	case r.Violation != nil:
		return fmt.Sprintf("every schedule with fewer than %s, and those with %d of fewer than %d steps", faultsText(r.Violation.Faults), r.Violation.Faults, r.Violation.Steps)
	case r.MaxFaults == 0:
		return "complete: every schedule without faults"
	}
	return fmt.Sprintf("complete: every schedule with at most %s", faultsText(r.MaxFaults))
}

// Checked says in words what the search did to see whether process code does the
// same whenever it finds the same, and whether checkpoints hold all that they must.
func (r *Result) Checked() string {
	text := fmt.Sprintf("%d of %d transitions run again", r.Again, r.Transitions)
	switch {
	case r.Compared == 0:
		return text
	case r.Ahead == 0:
		return text + fmt.Sprintf("; %d of %d histories that a checkpoint merged with others compared, to their end", r.Compared, r.Merged)
	}
	return text + fmt.Sprintf("; %d of %d histories that a checkpoint merged with others compared, for %d events at least", r.Compared, r.Merged, r.Ahead)
}

// Violation is the first violation in the order of faults, then steps.
type Violation struct {
	Property string
	Message  string
	Faults   int
	Steps    int
	// Schedule replays it in a World with the system's Config.
	Schedule sim.Schedule
	Digest   uint64
	Trace    []string // a line a step
}

// CheckpointError reports a checkpoint that does not hold all that the process's
// future depends on: two histories that it declared equal went on differently.
type CheckpointError struct {
	Process    string
	Line       string // where the other was when they went apart
	Difference string
	Histories  [2][]string
}

func (e *CheckpointError) Error() string {
	return fmt.Sprintf("incomplete checkpoint in process %s, seen at %s: two histories that its checkpoints declare equal go on differently (%s); put what they differ in into the value of Checkpoint, or the State of the Stater\n  one:   %v\n  other: %v",
		e.Process, e.Line, e.Difference, e.Histories[0], e.Histories[1])
}

// check refuses a system that cannot be searched.
func (s *System) check() error {
	if s.Build == nil {
		return fmt.Errorf("explore: expected a system with a Build function, found none")
	}
	if s.Config.Timing != sim.Untimed && s.Config.Timing != sim.Bounded {
		return fmt.Errorf("explore: expected untimed or bounded timing, found %s; set Config.Timing", s.Config.Timing)
	}
	for _, site := range append([]sim.Site{sim.SitePartition, sim.SiteDrift}, freeSites...) {
		if s.Config.Budget[site] > 0 {
			return fmt.Errorf("explore: expected budgets for %v, found one for %s, which exhaustive search does not know", faultSites, site)
		}
	}
	for _, site := range faultSites {
		if n := s.Config.Budget[site]; n > maxBudget {
			return fmt.Errorf("explore: expected a budget of at most %d for %s, found %d", maxBudget, site, n)
		}
	}
	if s.Config.Timing == sim.Bounded && s.Config.Horizon <= 0 {
		return fmt.Errorf("explore: expected a horizon in ticks for a bounded search, found none; set Config.Horizon")
	}
	return nil
}
