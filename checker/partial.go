package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Partial linearizations are kept of at most partialCalls calls, for porcupine
// copies an order for each way in which it gets stuck, and found within
// partialSteps; of those found, the partialOrders longest.
const (
	partialCalls  = 2000
	partialSteps  = 200_000
	partialOrders = 10
)

// tellPartials adds the partial linearizations of what the history holds up to
// the violation, or says why there are none.
func (s *search) tellPartials(v *Violation, sp spec, calls []call) {
	v.Partial = s.partials(sp, calls, v.Events[len(v.Events)-1])
	if v.Partial == nil {
		v.NoPartial = noPartial()
	}
}

// noPartial says why there are no partial linearizations.
func noPartial() string {
	return fmt.Sprintf("orders that explain a part of the operations are sought where there are at most %d, and told when they are found within %d steps", partialCalls, partialSteps)
}

// partials are the orders of as many calls as possible, of those that the history
// holds up to an index, that the specification explains. Nil when there are too
// many calls or the search takes too long.
func (s *search) partials(sp spec, calls []call, until int64) [][]int64 {
	events := porcupineEvents(calls, until, sp.readsCount)
	if len(events) > 2*partialCalls {
		return nil
	}
	used := int64(0)
	_, info := porcupine.CheckEventsVerbose(sp.model(partialSteps, &used), events, 0)
	if used > partialSteps {
		return nil
	}
	var begun []int64 // operations in the order in which porcupine numbers them
	for _, e := range events {
		if e.Kind == porcupine.CallEvent && e.Id < len(calls) {
			begun = append(begun, calls[e.Id].op)
		}
	}
	var orders [][]int64
	for _, partition := range info.PartialLinearizations() {
		for _, ids := range partition {
			var order []int64
			for _, id := range ids {
				if id < len(begun) { // the other is the end of the history
					order = append(order, begun[id])
				}
			}
			orders = append(orders, order)
		}
	}
	// porcupine hands them out in the order of a map.
	slices.SortFunc(orders, func(a, b []int64) int { return cmp.Or(cmp.Compare(len(b), len(a)), slices.Compare(a, b)) })
	orders = slices.CompactFunc(orders, slices.Equal[[]int64])
	return orders[:min(len(orders), partialOrders)]
}
