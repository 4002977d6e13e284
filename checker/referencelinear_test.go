package checker_test

import (
	"encoding/binary"
	"maps"
	"slices"

	"staleproof/model/history"
)

// linearizable: each scope of the store behaves as one fenced register: there is an
// order of the operations, which respects that one ended before another one began, in
// which each was answered as the register answers it.
func linearizable(p *past) opinion {
	if o := contradicted(p); o.outcome == violated {
		return o
	}
	seen := opinion{}
	var done []string
	ops := append(slices.Clone(p.ops), p.unrecorded()...)
	for _, o := range ops {
		fence := p.fence(&o.Event)
		if !o.F.IsStore() || slices.Contains(done, fence) {
			continue
		}
		done = append(done, fence)
		s := &orders{past: p, seen: map[string]bool{}}
		for _, o := range ops {
			if o.F.IsStore() && p.fence(&o.Event) == fence && (!o.failed() || o.stale() || o.differed()) {
				s.ops = append(s.ops, o)
			}
		}
		s.done = make([]bool, len(s.ops))
		switch found := s.search(register{values: map[string]history.Value{}}); {
		case s.steps > maxSteps:
			return opinion{why: "too many orders"}
		case !found:
			return broken("no order of the operations on %s", fence)
		}
		seen = holds
	}
	return seen
}

// contradicted judges a server's note against its client's answer: what failed had no
// effect.
func contradicted(p *past) opinion {
	for i := range p.events {
		n := &p.events[i]
		if o := p.op(n.Op); o != nil && noted(n, history.Apply, history.Raised) && o.failed() {
			return broken("#%d took effect, #%d says that it failed", n.Index, o.end.Index)
		}
	}
	return holds
}

// unrecorded returns what the store noted of operations that were not recorded: each
// took effect where its note is.
func (p *past) unrecorded() []*operation {
	var list []*operation
	for i := range p.events {
		n := p.events[i]
		if !noted(&n, history.Apply, history.Raised) || n.Op != 0 {
			continue
		}
		if n.F == history.Apply {
			n.F = history.Write
		} else {
			n.F = history.Raise
		}
		n.Type = history.OK
		list = append(list, &operation{Event: n, at: i, until: i, end: &n})
	}
	return list
}

// register is a fenced register: what each resource of a scope holds, the greatest
// token and the lease that brought it.
type register struct {
	highest history.Token
	lease   string
	values  map[string]history.Value
}

// refuses reports whether the fence refuses o.
func (r *register) refuses(o *operation) bool {
	return o.Token < r.highest || o.Token == r.highest && r.highest > 0 && o.Lease != r.lease
}

// orders searches for an order.
type orders struct {
	*past
	ops   []*operation
	done  []bool
	seen  map[string]bool // done and register, from where no order was found
	steps int
}

// maxSteps bounds the search; beyond it nothing is judged.
const maxSteps = 100_000

// search reports whether the operations that are left have an order from r on.
func (s *orders) search(r register) bool {
	if s.steps++; s.steps > maxSteps {
		return false
	}
	first := len(s.events) + 1 // until when some operation must have had its place
	complete := true
	for i, o := range s.ops {
		if !s.done[i] && o.end != nil && o.end.Type != history.Info {
			first, complete = min(first, o.until), false
		}
	}
	key := s.key(&r)
	if complete || s.seen[key] {
		return complete
	}
	s.seen[key] = true
	for i, o := range s.ops {
		if s.done[i] || o.at > first {
			continue
		}
		s.done[i] = true
		for _, next := range s.after(r, o) {
			if s.search(next) {
				return true
			}
		}
		s.done[i] = false
	}
	return false
}

// differed reports whether a cas found another value than it expected.
func (o *operation) differed() bool {
	return o.F == history.CAS && o.failed() && o.end.Error == "mismatch"
}

func (s *orders) key(r *register) string {
	var b []byte
	for _, d := range s.done {
		if d {
			b = append(b, '1')
		} else {
			b = append(b, '0')
		}
	}
	b = binary.AppendVarint(b, int64(r.highest))
	b = append(append(b, r.lease...), 0)
	for _, resource := range slices.Sorted(maps.Keys(r.values)) {
		v := r.values[resource]
		b = append(append(append(b, resource...), 0, byte(v.Kind)), v.String()...)
		b = append(b, 0)
	}
	return string(b)
}

// after returns the registers to which o leads, none if r does not answer as o was
// answered.
func (s *orders) after(r register, o *operation) []register {
	if o.stale() {
		// The format: "highest" of a stale fail is judged by the specification.
		agrees := o.end.Highest == 0 || o.end.Highest == r.highest
		if r.refuses(o) && agrees || s.knownGrant(&o.Event, o.until) {
			return []register{r}
		}
		return nil
	}
	if o.differed() {
		if value, ok := r.values[o.Resource]; ok && value == o.Expect || !ok && s.init == o.Expect {
			return nil
		}
		if r.refuses(o) {
			return []register{r}
		}
		return []register{r, {o.Token, o.Lease, r.values}} // a store may choose
	}
	if r.refuses(o) {
		return nil // one of unknown outcome may have had none
	}
	lifted := register{o.Token, o.Lease, r.values}
	value, ok := r.values[o.Resource]
	if !ok {
		value = s.init
	}
	switch o.F {
	case history.Raise:
		return []register{lifted}
	case history.Read:
		if o.ok() && o.end.Value.Kind != history.Absent && value.Kind != history.Absent && o.end.Value != value {
			return nil
		}
		return []register{r, lifted} // a store may choose that a read lifts its fence
	case history.CAS:
		if value.Kind != history.Absent && value != o.Expect {
			return nil
		}
		value = o.Value
	case history.Write:
		value = o.Value
	case history.Delete:
		value = s.init
	}
	lifted.values = maps.Clone(r.values)
	lifted.values[o.Resource] = value
	return []register{lifted}
}
