package reports

import (
	"strconv"

	"staleproof/model/history"
)

// A page tells this many partial linearizations, and of each the last steps,
// which are where it got stuck.
const (
	maxPartial     = 5
	maxPartialTail = 40
)

// linearization is one order in which a specification explains many operations.
type linearization struct {
	Count   int
	Skipped int // operations at the beginning that are not told
	Steps   []linearizationStep
	Left    []linearizationStep // that fit nowhere
	More    int                 // of those
}

type linearizationStep struct {
	Op   int64
	Who  string
	What string
	Href string
}

// partial tells the finding's partial linearizations.
func (v *view) partial() []linearization {
	var out []linearization
	for _, ops := range v.finding.Partial[:min(maxPartial, len(v.finding.Partial))] {
		l := linearization{Count: len(ops), Skipped: max(0, len(ops)-maxPartialTail)}
		in := map[int64]bool{}
		for _, op := range ops {
			in[op] = true
		}
		for _, op := range ops[l.Skipped:] {
			l.Steps = append(l.Steps, v.linearizationStep(op))
		}
		l.Left, l.More = v.leftOver(in)
		out = append(out, l)
	}
	return out
}

// leftOver lists the operations that were judged, begun by the violation,
// completed, and are not in an order.
func (v *view) leftOver(in map[int64]bool) (left []linearizationStep, more int) {
	for pos := range v.h.Events {
		e := &v.h.Events[pos]
		if s := v.ops[e.Op]; s == nil || s.invoke > v.violation || s.end != pos || in[e.Op] || kindOf(e).Name != "ok" || !v.judgedWith(e) {
			continue
		}
		if len(left) < maxPartialTail {
			left = append(left, v.linearizationStep(e.Op))
		} else {
			more++
		}
	}
	return left, more
}

// judgedWith says whether an operation was judged together with the violation's:
// it is one on the same register, or under the same fence.
func (v *view) judgedWith(e *history.Event) bool {
	broken := &v.h.Events[v.violation]
	switch {
	case !e.F.IsStore():
		return false
	case v.finding.Property == "register" || v.finding.Property == "cas-register":
		return e.Resource == broken.Resource
	}
	return v.h.Header.Scopes == "global" || e.ScopeName() == broken.ScopeName()
}

func (v *view) linearizationStep(op int64) linearizationStep {
	step := linearizationStep{Op: op, What: "operation " + strconv.FormatInt(op, 10)}
	s := v.ops[op]
	if s == nil {
		return step
	}
	e := &v.h.Events[s.invoke]
	step.Who, step.What, step.Href = e.Process, operation(e), v.href(s.invoke)
	if s.end >= 0 {
		step.What += v.outcome(&v.h.Events[s.end])
	}
	return step
}
