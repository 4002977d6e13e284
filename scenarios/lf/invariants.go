package lf

import (
	"fmt"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// fence holds while the store took no write of an older token.
func fence(v *explore.View) string {
	if s, ok := v.Value(storeID).(storeState); ok && s.bad {
		return fmt.Sprintf("the store took a write with an older token than %d, which it had accepted", s.highest)
	}
	return ""
}

// pairs calls f with each two clients that hold a lease, until it finds fault.
func (c Config) pairs(v *explore.View, f func(a, b *clientState) string) string {
	var held [8]clientState
	n := 0
	for i := range c.Clients {
		s, ok := v.Value(firstClient + sim.ID(i)).(clientState)
		if !ok || s.holding != holds {
			continue
		}
		for j := range n {
			if text := f(&held[j], &s); text != "" {
				return text
			}
		}
		held[n] = s
		n++
	}
	return ""
}

// tokenUnique holds while no two clients hold leases with the same token.
func (c Config) tokenUnique(v *explore.View) string {
	return c.pairs(v, func(a, b *clientState) string {
		if a.token == b.token {
			return fmt.Sprintf("two clients hold a lease with token %d", a.token)
		}
		return ""
	})
}

// exclusiveBelief holds while no two clients believe in their leases at once.
func (c Config) exclusiveBelief(v *explore.View) string {
	return c.pairs(v, func(a, b *clientState) string {
		if now := v.Now(); now < int64(a.deadline) && now < int64(b.deadline) {
			return fmt.Sprintf("two clients believe in their leases at tick %d, until %d and %d", now, a.deadline, b.deadline)
		}
		return ""
	})
}
