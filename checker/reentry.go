package checker

import (
	"fmt"

	"staleproof/model/history"
)

// reentry recognises a re-entrant lock: one that a client which holds it acquires
// again, and then releases as often. A model of a plain lock would judge it wrongly,
// because the first release does not free it.
type reentry struct {
	names names
	open  opTable[int32]    // the scopes of open operations
	held  map[seatKey]int   // acquisitions that no other client's followed, less releases
	last  []int32           // by scope, who acquired it last
	twice map[seatKey]int64 // where it was acquired again
	token map[seatKey]history.Token
	found error
}

func (r *reentry) observe(e *history.Event) {
	if r.found != nil || !e.F.IsLease() || e.Type == history.Note || e.F == history.Renew {
		return
	}
	if e.Type == history.Invoke {
		o, _ := r.open.add(e.Op)
		o.rec = r.names.scopes.id(e.ScopeName())
		return
	}
	o := r.open.find(e.Op)
	if o == nil {
		return
	}
	scope := o.rec
	r.open.remove(o)
	if r.held == nil {
		r.held, r.twice, r.token = make(map[seatKey]int), make(map[seatKey]int64), make(map[seatKey]history.Token)
	}
	k := seatKey{scope, r.names.clients.id(e.ClientName())}
	last := at(&r.last, scope)
	switch {
	case e.Type != history.OK:
	case e.F == history.Acquire && (*last != k.client+1 || e.Token != r.token[k]):
		*last = k.client + 1
		r.held[k], r.token[k] = 1, e.Token
		delete(r.twice, k)
	case e.F == history.Acquire:
		if r.held[k]++; r.held[k] > 1 {
			r.twice[k] = e.Index
		}
		if r.held[k] > 1 && e.Token != 0 {
			r.found = fmt.Errorf("%s acquired at #%d what it held, with the same token %d%s: %s",
				clientText(e.ClientName()), e.Index, e.Token, inside(r.names.scopes.list[scope]), notReentrant)
		}
	case r.held[k] > 0:
		if r.held[k]--; r.held[k] == 0 && r.twice[k] != 0 {
			r.found = fmt.Errorf("%s acquired at #%d what it held, and released it as often, until #%d%s: %s",
				clientText(e.ClientName()), r.twice[k], e.Index, inside(r.names.scopes.list[scope]), notReentrant)
		}
	}
}

const notReentrant = "this is the history of a re-entrant lock, which is not judged here; if it is none, name the model (--model)"
