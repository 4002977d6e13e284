// Package reports turns results into what a person, a CI server or another
// program reads.
//
//	results -> Document -+-> Write: index.html, a page for each scenario and finding
//	                     +-> JUnit: one suite for each scenario
//	                     +-> Annotations, Summary: for GitHub Actions
//	                     +-> Encode, Decode: a file of results, see Schema
//	two runs -----------------> WriteDiff: where they part, and what became of it
//
// A [Document] is plain data and knows nothing of the simulator, so that a
// finding in a recorded history is shown exactly like one in a simulated run.
//
// Output is a function of the document: the same document gives the same
// bytes. Nothing in it tells the time of day, a path or a machine. Every name,
// value and error that comes from a history is escaped. A page is one file that
// asks nobody for anything, and its content policy holds it to that. What is
// decisive is on it without a script: the words, a drawing, a bounded table. The
// page of a finding has a script besides, with which the whole run can be walked
// through; see templates/page.js, and payload.go for what it is given.
package reports

import (
	"fmt"
	"strings"

	"staleproof/model/history"
)

// Format is the value of [Document.Format] that this package reads.
const Format = "staleproof.report/1"

// Document is everything that a report tells.
type Document struct {
	Format  string `json:"format"`            // must be [Format]
	Version string `json:"version,omitempty"` // of the tool that made the results; may be empty
	Title   string `json:"title,omitempty"`   // heading of the suite page; empty means "Staleproof"
	Runs    []Run  `json:"runs"`              // in the order in which they were asked for
}

// Status is the verdict of a run.
type Status string

const (
	Satisfied    Status = "satisfied"
	Violated     Status = "violated"
	Inconclusive Status = "inconclusive" // never counts as a pass
)

// Run is one scenario judged under one defect, over all of its schedules.
type Run struct {
	Scenario string `json:"scenario"`
	Defect   string `json:"defect"`        // empty or "none" for the control
	Doc      string `json:"doc,omitempty"` // one sentence: what the scenario or the defect is
	Status   Status `json:"status"`
	// Expected says whether Status is what the scenario asks of the defect.
	Expected bool `json:"expected"`
	// Schedules is how many were run; 0 for a recorded history, and for an
	// exhaustive search, which counts States instead.
	Schedules int64 `json:"schedules"`
	States    int64 `json:"states,omitempty"`
	// Covered says in words what an exhaustive search covered; may be empty.
	Covered string `json:"covered,omitempty"`
	Events  int64  `json:"events"`
	// First is the number of the schedule, from 0, that first broke a property;
	// it means something only when Status is Violated.
	First  int64    `json:"first"`
	Breaks []string `json:"breaks"` // properties that the defect must break
	Broken []string `json:"broken"` // properties that were broken
	// Reason says why a run is inconclusive or not as expected; may be empty.
	Reason string `json:"reason,omitempty"`
	// Sometimes says how often each danger was exercised, in display order.
	Sometimes []Count    `json:"sometimes"`
	Params    []KeyValue `json:"params"`
	// Properties are those that were judged, in the order of their catalogue;
	// may be empty.
	Properties []Property `json:"properties,omitempty"`
	// Skipped are the properties that were not judged, or of which nothing that
	// they forbid was tried, each with the reason. They are no passes. May be empty.
	Skipped []KeyValue `json:"skipped,omitempty"`
	// Kills says how many schedules it took until each property was first
	// broken; may be empty.
	Kills    []Count   `json:"kills,omitempty"`
	Findings []Finding `json:"findings"`
}

// Count is a name and how often it happened.
type Count struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// KeyValue is a parameter and its value, as text.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Property is a property and the sentence that it promises.
type Property struct {
	Name      string `json:"name"`
	Guarantee string `json:"guarantee,omitempty"`
}

// Finding is one broken property with its smallest counterexample.
type Finding struct {
	Property  string `json:"property"`
	Guarantee string `json:"guarantee,omitempty"` // what the property promises, one sentence
	Message   string `json:"message"`             // what broke it, one sentence
	// Harm is what came of it, without a full stop, and Cause what made it
	// possible, in sentences; both may be empty.
	Harm  string `json:"harm,omitempty"`
	Cause string `json:"cause,omitempty"`
	// Events are the indexes of the events that the message quotes.
	Events []int64 `json:"events"`
	// At is the index of the violation itself, around which the pages are laid
	// out; 0 means the last of Events.
	At int64 `json:"at,omitempty"`
	// Chain is the cause, step by step: granted, paused, expired, granted
	// again, late write.
	Chain []Link `json:"chain"`
	// Decisions are the choices of the schedule that differ from the calm run,
	// in words: "A paused for 35s before its write".
	Decisions []string `json:"decisions"`
	// Work is how much less of it there is than in the scenario, in words:
	// "2 of 3 clients". Empty where that is not so.
	Work []string `json:"work,omitempty"`
	// Found says how it was found and made small, in words; may be empty.
	Found  string `json:"found,omitempty"`
	Replay string `json:"replay,omitempty"` // the command that reproduces it, for a recorded history the one that judges it again
	// Broken are all properties that the run of this finding breaks, and Digest
	// is the run's, which its replay prints. Both are empty for a recorded history.
	Broken []string `json:"broken,omitempty"`
	Digest string   `json:"digest,omitempty"`
	// Partial are porcupine's partial linearizations, for a history that it
	// judged: orders, none of which can be made longer, in which the
	// specification explains as many operations as possible, each named by its
	// number. The longest come first. May be empty.
	Partial [][]int64 `json:"partial,omitempty"`
	// NoPartial says of a recorded history why there are none.
	NoPartial string `json:"noPartial,omitempty"`
	// Fingerprint is shared by findings of one cause. Empty means that the page
	// takes the property and the kinds of the events of the chain.
	Fingerprint string `json:"fingerprint,omitempty"`
	// History is the run. It may be nil: the page then has neither lanes nor
	// events, unless Open gives them.
	History *history.History `json:"-"`
	// Total and Holes say of a History that is an excerpt how many events the run
	// has and where it leaves some out; Total is 0 when nothing is left out.
	Total int64  `json:"total,omitempty"`
	Holes []Hole `json:"holes,omitempty"`
	// Open opens the history from its first event, where History is nil. It is
	// called once or twice for a page, which holds a bounded number of events
	// whatever the length.
	Open func() (history.Source, error) `json:"-"`
}

// Hole says how many events are left out before the one at a position of an
// excerpt; a position is counted from 0, and the number of events is the end.
type Hole struct {
	Before int   `json:"before"`
	Events int64 `json:"events"`
}

// Link is one step of a causal chain.
type Link struct {
	Index int64  `json:"index"` // of the event in the history
	Time  int64  `json:"time"`  // in the unit of the history's times
	Text  string `json:"text"`
}

// Short is what came of the finding and what made it possible, in sentences; empty
// where the message says it all.
func (f *Finding) Short() string {
	harm := f.Harm
	if harm != "" {
		harm += "."
	}
	return strings.TrimSpace(harm + " " + f.Cause)
}

// validate reports the first reason why doc cannot be shown.
func (d *Document) validate() error {
	if d == nil {
		return fmt.Errorf("report: expected a document, found nil; fill a reports.Document from the results")
	}
	if d.Format != Format {
		return fmt.Errorf("report: expected format %q, found %q; use a version of this tool that reads it", Format, d.Format)
	}
	for i := range d.Runs {
		switch r := &d.Runs[i]; r.Status {
		case Satisfied, Violated, Inconclusive:
		default:
			return fmt.Errorf("report: run %d (%s, defect %s): expected status %q, %q or %q, found %q",
				i, r.Scenario, r.defect(), Satisfied, Violated, Inconclusive, r.Status)
		}
	}
	return nil
}

// control says whether the run has no defect planted.
func (r *Run) control() bool { return r.Defect == "" || r.Defect == "none" }

// recorded says whether the run is a history that somebody recorded, which has
// no schedule and no defect, not even "none".
func (r *Run) recorded() bool { return r.Schedules == 0 && r.States == 0 && r.Defect == "" }

// effort says how much was run or searched; empty for a recorded history.
func (r *Run) effort() string {
	switch {
	case r.States > 0:
		return plural(int(r.States), "state")
	case r.recorded():
		return ""
	}
	return plural(int(r.Schedules), "schedule")
}

func (r *Run) defect() string {
	if r.control() {
		return "none"
	}
	return r.Defect
}

// own says whether a planted defect was judged as a system of the user's own: it
// was not there to be caught.
func (r *Run) own() bool {
	return !r.control() && r.Status == Violated && !r.Expected && len(missed(r)) == 0
}

// passed says whether the run counts as a pass: an inconclusive one never does,
// whatever its results claim to have expected.
func (r *Run) passed() bool { return r.Expected && r.Status != Inconclusive }
