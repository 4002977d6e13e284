package reports

import "staleproof/model/history"

// hold is a stretch of the history during which a client held a lease, in the
// coordinator's knowledge or in its own belief.
type hold struct {
	client, scope, lease string
	token                history.Token
	generation           int64
	from                 int   // position at which it begins
	to                   int   // position at which it ends; -1 when none says so
	until                int64 // time at which it ends by itself; 0 when it does not
	acted                int   // position of the last operation begun under its token
	asked                int   // position at which its release was asked for; 0 when it was not
	refused              int   // position at which that was refused; 0 when it was not
	derived              bool  // read off the client's operations
}

// known returns what the coordinator knew, by its grants and ends.
func (v *view) known() []*hold {
	var all []*hold
	find := func(e *history.Event) *hold {
		for i := len(all) - 1; i >= 0; i-- {
			h := all[i]
			if h.to >= 0 || h.scope != e.ScopeName() {
				continue
			}
			if e.Lease != "" && h.lease == e.Lease || e.Lease == "" && (h.token == e.Token || e.Token == 0) {
				return h
			}
		}
		return nil
	}
	for pos := range v.h.Events {
		e := &v.h.Events[pos]
		switch e.F {
		case history.Grant:
			all = append(all, &hold{client: e.Owner, scope: e.ScopeName(), lease: e.Lease, token: e.Token,
				generation: e.Generation, from: pos, to: -1, until: v.term(e.Expires)})
		case history.Renewed:
			if h := find(e); h != nil && e.Expires != 0 {
				h.until = v.term(e.Expires)
			}
		case history.Released, history.Expire:
			if h := find(e); h != nil {
				// The end that was noted is the end, whatever was planned.
				h.to, h.until = pos, 0
			}
		}
	}
	return all
}

// term is when a lease or a belief ends by itself: never where time is the number
// of a step, for terms are lengths of time all the same.
func (v *view) term(t int64) int64 {
	if v.clock.unit == "step" {
		return 0
	}
	return t
}

// believed returns what the holders believed. A history without such notes is
// read generously: a client believes from the reply that granted to the release
// or the rejection.
func (v *view) believed() []*hold {
	derived := true
	for pos := range v.h.Events {
		if v.h.Events[pos].F == history.Believe {
			derived = false
			break
		}
	}
	b := beliefs{v: v, derived: derived, open: map[holding]*hold{}}
	for pos := range v.h.Events {
		b.observe(pos)
	}
	return b.all
}

type holding struct{ client, scope string }

// release follows a release of a lock whose holders note no beliefs: from when it
// is asked for the holder lets go, unless it is refused. Then it held on until it
// was told.
func (b *beliefs) release(h *hold, e *history.Event, pos int) {
	switch {
	case h == nil || e.F != history.Release:
	case e.Type == history.Invoke && h.to < 0:
		h.asked = pos
	case e.Type == history.Fail && h.asked > 0 && h.to == h.asked && b.v.h.Events[h.asked].Op == e.Op:
		h.to, h.refused = pos, pos
	}
}

type beliefs struct {
	v       *view
	derived bool
	open    map[holding]*hold
	all     []*hold
}

func (b *beliefs) observe(pos int) {
	e := &b.v.h.Events[pos]
	key := holding{e.ClientName(), e.ScopeName()}
	h := b.open[key]
	begins := e.F == history.Believe
	ends := e.F == history.Disbelieve
	if b.derived {
		begins = e.Type == history.OK && e.F == history.Acquire
		ends = e.F == history.Release && (e.Type == history.Invoke || e.Type == history.OK && h != nil && (e.Token == 0 || e.Token == h.token)) ||
			e.Type == history.Fail && e.Error == history.Stale
		b.release(h, e, pos)
	}
	switch {
	case e.F == history.Crash:
		for k, open := range b.open {
			if k.client == key.client && open.to < 0 {
				open.to = pos
			}
		}
	case begins && h != nil && h.to < 0 && h.token == e.Token && (h.until == 0 || e.Time <= h.until):
		h.until = b.v.term(e.Until)
	case begins:
		if h != nil && h.to < 0 {
			h.to = pos
		}
		h = &hold{client: key.client, scope: key.scope, lease: e.Lease, token: e.Token, generation: e.Generation,
			from: pos, to: -1, until: b.v.term(e.Until), acted: -1, derived: b.derived}
		b.open[key] = h
		b.all = append(b.all, h)
	case ends && h != nil && h.to < 0:
		h.to = pos
	case e.Type == history.Invoke && e.F != history.Release && h != nil && actsUnder(e, h.token):
		h.acted = pos
	}
}

// acceptance is one token at the store: accepted or refused.
type acceptance struct {
	pos      int
	scope    string
	client   string
	token    history.Token
	accepted bool
	read     bool          // not to change anything
	stale    bool          // below the greatest accepted before it
	greatest history.Token // accepted so far, this one included
	noted    history.Token // what the store says that its greatest is then; 0 when it does not
}

// acceptances returns what happened to the tokens presented, by the store's own
// notes or, where there are none, by the replies that clients saw.
func (v *view) acceptances() []acceptance {
	notes := v.storeNotes()
	var out []acceptance
	greatest := map[string]history.Token{}
	for pos := range v.h.Events {
		e := &v.h.Events[pos]
		ok, accepted := atClient(e)
		if notes {
			ok, accepted = atStore(e)
		}
		if !ok || e.Token == 0 {
			continue
		}
		a := acceptance{pos: pos, scope: e.ScopeName(), client: v.presenter(e), token: e.Token, accepted: accepted, read: !lifts(e)}
		a.stale = e.Token < greatest[a.scope]
		if accepted && lifts(e) {
			greatest[a.scope] = max(greatest[a.scope], e.Token)
		}
		a.greatest = greatest[a.scope]
		if notes {
			a.noted = e.Highest
		}
		out = append(out, a)
	}
	return out
}

// storeNotes says whether the history tells what the store did.
func (v *view) storeNotes() bool {
	for pos := range v.h.Events {
		if roleFrom(&v.h.Events[pos]) == roleStore {
			return true
		}
	}
	return false
}

// lifts says whether an accepted operation lifts the fence: a read does not.
func lifts(e *history.Event) bool { return e.F != history.Served && e.F != history.Read }

func atStore(e *history.Event) (ok, accepted bool) {
	switch e.F {
	case history.Apply, history.Raised, history.Served:
		return true, true
	case history.Reject:
		return true, false
	}
	return false, false
}

func atClient(e *history.Event) (ok, accepted bool) {
	switch e.F {
	case history.Raise, history.Write, history.Delete, history.Read, history.CAS, history.Batch:
		return e.Type == history.OK || e.Type == history.Fail && e.Error == history.Stale, e.Type == history.OK
	}
	return false, false
}
