package checker

import (
	"cmp"
	"slices"

	"staleproof/model/history"
)

// grants are the tokens that a lease manager granted, by what a fence covers. A
// store whose fence is the lease table (a conditional write on the lease's row, an
// ETag) may refuse a token as soon as a greater one was granted; see
// [history.Header].
type grants struct {
	global bool
	names  table
	fences [][]granting // by name
}

// granting is the greatest token granted by operations that began up to an index.
type granting struct {
	at    int64
	token history.Token
}

// grantsOf collects the grants that a history tells of, by the lease manager's notes
// and by its answers. A grant is as old as the acquire that it answers may make it.
func grantsOf(events Events, global bool) (*grants, error) {
	g := &grants{global: global}
	var begun opTable[int64]
	err := events(func(e *history.Event) {
		begins := e.Index
		switch {
		case e.F == history.Acquire && e.Type == history.Invoke:
			o, _ := begun.add(e.Op)
			o.rec = e.Index
			return
		case e.F == history.Acquire:
			if o := begun.find(e.Op); o != nil {
				begins = o.rec
				begun.remove(o)
			}
			if e.Type != history.OK {
				return
			}
		case e.F != history.Grant:
			return
		}
		list := g.of(e.ScopeName())
		*list = append(*list, granting{begins, e.Token})
	})
	g.sort()
	return g, err
}

// sort makes each token the greatest so far, in the order of the indexes.
func (g *grants) sort() {
	for _, list := range g.fences {
		slices.SortFunc(list, func(a, b granting) int { return cmp.Compare(a.at, b.at) })
		greatest := history.Token(0)
		for i := range list {
			greatest = max(greatest, list[i].token)
			list[i].token = greatest
		}
	}
}

// of returns the list of the fence that covers a scope.
func (g *grants) of(scope string) *[]granting {
	if g.global {
		scope = ""
	}
	return at(&g.fences, g.names.id(scope))
}

// excuse reports whether a refusal of a token at an index is justified because a
// greater one may have been granted by then. Nil excuses nothing.
func (g *grants) excuse(scope string, t history.Token, index int64) bool {
	if g == nil {
		return false
	}
	list := *g.of(scope)
	i, _ := slices.BinarySearchFunc(list, index, func(a granting, index int64) int { return cmp.Compare(a.at, index) })
	return i > 0 && list[i-1].token > t
}
