package checker

import "slices"

// manyLeases bounds the leases that a leaseTable remembers, at 24 to 48 bytes each.
var manyLeases = 1 << 19

// leaseTable holds what is known of the leases of each scope that are no longer the
// latest, by their identity. It never forgets one that it has: when it is full it
// takes no more, and says so.
type leaseTable[T any] struct {
	scopes []opTable[T]
	count  int  // in all scopes
	forgot bool // one was not taken
}

// find returns the entry of a lease, nil when it has none.
func (t *leaseTable[T]) find(scope int32, l identity) *opEntry[T] {
	if l == 0 {
		return nil
	}
	return at(&t.scopes, scope).find(int64(l))
}

// add returns the entry of a lease, a new one if it had none, and nil if there is no
// room or the lease has no identity.
func (t *leaseTable[T]) add(scope int32, l identity) *opEntry[T] {
	if e := t.find(scope, l); e != nil || l == 0 {
		return e
	}
	if t.count >= manyLeases {
		t.forgot = true
		return nil
	}
	t.count++
	e, _ := t.scopes[scope].add(int64(l))
	return e
}

// remove takes a lease out, if it is in the table.
func (t *leaseTable[T]) remove(scope int32, l identity) {
	if e := t.find(scope, l); e != nil {
		t.scopes[scope].remove(e)
		t.count--
	}
}

// has reports whether any lease of a scope is in the table.
func (t *leaseTable[T]) has(scope int32) bool {
	return int(scope) < len(t.scopes) && t.scopes[scope].used > 0
}

// sorted returns the leases of a scope whose entries are wanted, by identity.
func (t *leaseTable[T]) sorted(scope int32, want func(*T) bool) []*opEntry[T] {
	var list []*opEntry[T]
	for i := range t.scopes[scope].ops {
		if e := &t.scopes[scope].ops[i]; e.open && want(&e.rec) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *opEntry[T]) int {
		if uint64(a.op) < uint64(b.op) {
			return -1
		}
		return 1
	})
	return list
}

func (t *leaseTable[T]) clone() leaseTable[T] {
	c := *t
	c.scopes = make([]opTable[T], len(t.scopes))
	for i := range t.scopes {
		c.scopes[i] = t.scopes[i].clone()
	}
	return c
}

func (t *leaseTable[T]) reset() {
	t.count, t.forgot = 0, false
	for i := range t.scopes {
		t.scopes[i].reset()
	}
}
