package checker

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"staleproof/model/history"
)

// identity tells one lease from another: those of equal texts are equal, and
// nothing else follows. The zero identity is none. Up to eight bytes it is
// the identity itself, beyond that a 64-bit hash of it: a table of identities
// would grow with the history, and monitors need equality only.
type identity uint64

func leaseOf(id string) identity { return identity(hashText(id)) }

// hashText returns up to eight bytes as they are, and a hash of more.
func hashText(s string) uint64 {
	if len(s) <= 8 {
		var h uint64
		for i := range len(s) {
			h |= uint64(s[i]) << (8 * i)
		}
		return h
	}
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	h ^= h >> 32
	return h*0x9e3779b97f4a7c15 | 1
}

// sameLease reports whether two events can speak of one lease: an event that
// names none does not contradict.
func sameLease(a, b identity) bool { return a == b || a == 0 || b == 0 }

// table numbers strings densely, in the order of their appearance.
type table struct {
	list   []string
	sorted []int32          // the numbers by name, once a key is asked for
	index  map[string]int32 // only once list outgrows fewNames
	recent [16]int32        // by last byte, where names of one family differ: the number found last
}

// fewNames is how many names a scan beats a map for.
const fewNames = 12

// id returns the number of s, a new one if it has none.
func (t *table) id(s string) int32 {
	recent := &t.recent[lastByte(s)&15]
	if i := int(*recent); i >= len(t.list) || t.list[i] != s {
		*recent = t.find(s)
	}
	return *recent
}

func lastByte(s string) uint8 {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

func (t *table) find(s string) int32 {
	if t.index == nil {
		for i := range t.list {
			if same(t.list[i], s) {
				return int32(i)
			}
		}
	} else if i, ok := t.index[s]; ok {
		return i
	}
	return t.add(s)
}

// same is a == b for names of one family, which differ in their last byte most
// often: orders/7, orders/8.
func same(a, b string) bool {
	n := len(a)
	return n == len(b) && (n == 0 || a[n-1] == b[n-1] && a == b)
}

func (t *table) add(s string) int32 {
	i := int32(len(t.list))
	t.list = append(t.list, s)
	if t.index != nil {
		t.index[s] = i
	} else if len(t.list) > fewNames {
		t.index = make(map[string]int32, 4*fewNames)
		for j, name := range t.list {
			t.index[name] = int32(j)
		}
	}
	return i
}

// order returns the numbers in the order of their names.
func (t *table) order() []int32 {
	if len(t.sorted) != len(t.list) {
		t.sorted = t.sorted[:0]
		for i := range t.list {
			t.sorted = append(t.sorted, int32(i))
		}
		slices.SortFunc(t.sorted, func(a, b int32) int { return strings.Compare(t.list[a], t.list[b]) })
	}
	return t.sorted
}

func (t *table) clone() table {
	c := table{list: slices.Clone(t.list), sorted: slices.Clone(t.sorted), recent: t.recent}
	if t.index != nil {
		c.index = make(map[string]int32, 2*len(t.list))
		for i, name := range t.list {
			c.index[name] = int32(i)
		}
	}
	return c
}

// names numbers the scopes, clients and resources of a suite's histories.
type names struct {
	scopes, clients, resources table
	global                     bool // one fence covers every scope: number 0
	fence                      table
	recent                     [16]resolved
}

// resolved is what was made of the names of an event. Those of a simulation come
// again and again, and lie in the same place each time.
type resolved struct {
	scope, who, lease          string
	known                      bool
	scopeID, fenceID, clientID int32
	leaseID                    identity
}

// resolve finds the names of an event. They are good until the next one.
func (n *names) resolve(e *history.Event) *resolved {
	scope, who := e.ScopeName(), e.Owner
	if who == "" || e.Type != history.Note {
		who = e.ClientName()
	}
	r := &n.recent[lastByte(who)%uint8(len(n.recent))]
	if !history.Identical(r.scope, scope) || !history.Identical(r.who, who) || !history.Identical(r.lease, e.Lease) || !r.known {
		n.look(r, scope, who, e.Lease)
	}
	return r
}

// look numbers anew what is not remembered: often the lease alone.
func (n *names) look(r *resolved, scope, who, lease string) {
	if !r.known || !history.Identical(r.scope, scope) {
		r.scope, r.scopeID = scope, n.scopes.id(scope)
		if r.fenceID = r.scopeID; n.global {
			r.fenceID = 0
		}
	}
	if !r.known || !history.Identical(r.who, who) {
		r.who, r.clientID = who, n.clients.id(who)
	}
	r.lease, r.leaseID, r.known = lease, leaseOf(lease), true
}

func newNames(global bool) *names {
	n := &names{global: global}
	n.fence.id("every scope")
	return n
}

// fences is the table that numbers what fences cover.
func (n *names) fences() *table {
	if n.global {
		return &n.fence
	}
	return &n.scopes
}

func (n *names) clone() *names {
	return &names{scopes: n.scopes.clone(), clients: n.clients.clone(), resources: n.resources.clone(), global: n.global, fence: n.fence.clone()}
}

// manyNames is when Reset forgets the names: a suite that is reset for ever on
// histories that never share a name must not grow.
const manyNames = 4096

func (n *names) reset() {
	for _, t := range []*table{&n.scopes, &n.clients, &n.resources} {
		if len(t.list) > manyNames {
			*t = table{}
			n.recent = [16]resolved{}
		}
	}
}

// at returns the element of s that i numbers, growing s as needed.
func at[T any](s *[]T, i int32) *T {
	if int(i) >= len(*s) {
		grow(s, i)
	}
	return &(*s)[i]
}

// grow is apart from at, which is then inlined where it is used.
//
//go:noinline
func grow[T any](s *[]T, i int32) {
	n := int(i) + 1
	old := len(*s)
	*s = slices.Grow(*s, n-old)[:n]
	clear((*s)[old:])
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendInt(b []byte, n int64) []byte { return binary.AppendVarint(b, n) }

func appendLease(b []byte, l identity) []byte { return binary.AppendUvarint(b, uint64(l)) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// appendSorted appends a multiset of keys in their own order.
func appendSorted(b []byte, keys [][]byte) []byte {
	slices.SortFunc(keys, bytes.Compare)
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = binary.AppendUvarint(b, uint64(len(k)))
		b = append(b, k...)
	}
	return b
}
