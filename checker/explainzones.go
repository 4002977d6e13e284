package checker

import (
	"fmt"

	"staleproof/model/history"
)

// held is the time in which a register certainly held a value, or within which
// it held it at some moment; see zones.go.
type held struct {
	value   history.Value
	zone        // in positions
	written int // position of the write's invoke; -1 when there is none
	claimed int // position of the end of an operation that shows it; -1 when there is none
}

// apart tells, of a register that was judged without a search for an order,
// which two values cannot both have been held: the times in which it certainly
// held them overlap, or one lies within the other.
func (x *explainer) apart() string {
	resource := x.events[x.last].Resource
	values, ok := x.values(resource)
	if !ok {
		return ""
	}
	mine := nilFor(x.events[x.last].Value)
	if i := x.invocation(x.events[x.last].Op); x.events[x.last].F == history.Write && i >= 0 {
		mine = nilFor(x.events[i].Value)
	}
	v := values[mine]
	switch {
	case v == nil || v.claimed < 0:
		return ""
	case v.written < 0 && mine.Kind != history.Nil:
		return sentences(fmt.Sprintf("nobody had begun to write %s by then", mine))
	}
	for _, e := range x.events[:x.last+1] { // in the order of the writes
		if w := values[nilFor(e.Value)]; e.Type == history.Invoke && e.F == history.Write && e.Resource == resource && w != v && w.claimed >= 0 {
			if text := x.clash(v, w); text != "" {
				return sentences(text)
			}
		}
	}
	return ""
}

// values collects the zones of a register's values; ok is false where they do
// not tell: a value was written twice, or changed by other means.
func (x *explainer) values(resource string) (values map[history.Value]*held, ok bool) {
	values = map[history.Value]*held{history.NilValue: {value: history.NilValue, written: -1, claimed: -1, zone: zone{first: beforeAll, last: beforeAll}}}
	invoked := map[int64]int{}
	for i := range x.events[:x.last+1] {
		e := &x.events[i]
		if e.Type == history.Note || e.Resource != resource || !e.F.IsStore() {
			continue
		}
		v := values[nilFor(e.Value)]
		switch {
		case e.F != history.Write && e.F != history.Read && e.F != history.Raise:
			return nil, false
		case e.Type == history.Invoke:
			invoked[e.Op] = i
			if e.F == history.Write && v != nil {
				return nil, false
			}
			if e.F == history.Write {
				values[nilFor(e.Value)] = &held{value: nilFor(e.Value), written: i, claimed: -1, zone: zone{first: never, last: int64(i)}}
			}
		case e.Type == history.OK && e.F != history.Raise:
			begin, known := invoked[e.Op]
			if !known {
				continue
			}
			if e.F == history.Write {
				if v = values[nilFor(x.events[begin].Value)]; v == nil {
					return nil, false // it began as something else
				}
			} else if v == nil {
				v = &held{value: nilFor(e.Value), written: -1, zone: zone{first: never}}
				values[v.value] = v
			}
			v.first, v.last, v.claimed = min(v.first, int64(i)), max(v.last, int64(begin)), i
		}
	}
	return values, true
}

// clash tells why two values exclude each other; empty when they do not.
func (x *explainer) clash(v, w *held) string {
	switch {
	case v.certain() && w.certain() && max(v.first, w.first) < min(v.last, w.last):
		return fmt.Sprintf("the register certainly held %s and certainly held %s at once", x.span(v), x.span(w))
	case v.certain() && v.first < w.last && w.first < v.last:
		return x.within(v, w)
	case w.certain() && w.first < v.last && v.first < w.last:
		return x.within(w, v)
	}
	return ""
}

func (x *explainer) within(outer, inner *held) string {
	return fmt.Sprintf("the register certainly held %s, but %s has to lie in between, from #%d to #%d",
		x.span(outer), inner.value, x.events[inner.last].Index, x.events[inner.first].Index)
}

// span names a value with the time in which it was certainly held.
func (x *explainer) span(v *held) string {
	from := "the beginning"
	if v.first != beforeAll {
		from = fmt.Sprintf("#%d", x.events[v.first].Index)
	}
	return fmt.Sprintf("%s from %s to #%d", v.value, from, x.events[v.last].Index)
}

// replaced tells of a read whose answer had been overwritten before it began, and
// which write was missing. Empty where other things may have made the value, and
// where not all events are there.
func (x *explainer) replaced() string {
	e, begun := &x.events[x.last], x.invocation(x.events[x.last].Op)
	if e.F != history.Read || e.Type != history.OK || begun < 0 || x.events[x.last].Index-x.events[0].Index != int64(x.last) {
		return ""
	}
	written, newer := -1, -1 // the last to end of the writes of it, the last to begin of others
	for i := range x.events[:x.last] {
		o, end := &x.events[i], x.endOf(i)
		if o.Type != history.Invoke || o.Resource != e.Resource || !o.F.IsMutation() {
			continue
		}
		known := end >= 0 && x.events[end].Type != history.Info
		switch same := sameValue(o.Value, e.Value); {
		case known && x.events[end].Type == history.Fail:
		case o.F != history.Write, same && !known:
			return ""
		case same && (written < 0 || end > x.endOf(written)):
			written = i
		case !same && known && end < begun:
			newer = i
		}
	}
	if written < 0 || newer <= x.endOf(written) {
		return ""
	}
	w, n := &x.events[x.endOf(written)], &x.events[newer]
	return sentences(fmt.Sprintf("the last write of %s had ended at #%d, and %s wrote %s from #%d to #%d, after that and before the read began",
		valueText(e.Value), w.Index, clientText(n.ClientName()), valueText(n.Value), n.Index, x.events[x.endOf(newer)].Index),
		fmt.Sprintf("the order lacks a write of %s that took effect after #%d", valueText(e.Value), n.Index))
}

// stuck tells how far the longest order gets that explains other operations of a
// register.
func (x *explainer) stuck() string {
	if len(x.v.Partial) == 0 {
		return ""
	}
	order, value := x.v.Partial[0], ""
	for _, op := range order {
		i := x.invocation(op)
		if i < 0 {
			return ""
		}
		switch e := &x.events[i]; e.F {
		case history.Write, history.CAS:
			if x.tookEffect(i) {
				value = valueText(e.Value)
			}
		case history.Delete:
			value = ""
		}
	}
	if value == "" {
		return ""
	}
	return sentences(fmt.Sprintf("the longest order that explains other operations has %d of them and ends with the register at %s", len(order), value))
}

// tookEffect reports whether an operation that is in an order changed anything: a
// cas that failed did not.
func (x *explainer) tookEffect(invoked int) bool {
	end := x.endOf(invoked)
	return end < 0 || x.events[end].Type != history.Fail
}
