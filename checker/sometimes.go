package checker

import (
	"slices"

	"staleproof/model/history"
)

// Fact is something that must happen sometimes for a run to have tried the
// danger at all. A suite whose danger never occurred proves nothing.
type Fact uint8

const (
	// StaleWriteAttempted: a mutation reached the store below its accepted maximum.
	StaleWriteAttempted Fact = iota
	// StaleWriteRejected: the store refused one.
	StaleWriteRejected
	// TwoBelievers: two clients believed in leases of one scope at one time.
	TwoBelievers
	// UnknownApplied: a mutation took effect whose client never learnt of it.
	UnknownApplied
	// UnknownLost: a mutation of unknown outcome had no effect to the end.
	UnknownLost
	// TokenCrossedRestart: a lease manager granted anew after a restart.
	TokenCrossedRestart
	// FenceCrossedRestart: a store judged a token after a restart.
	FenceCrossedRestart
	// LateButUnfenced: a mutation of a superseded holder was accepted, the newer
	// token not having arrived. Allowed, and worth counting.
	LateButUnfenced
	// DuplicateArrived: a second copy of a message was delivered.
	DuplicateArrived
	// LeaseRenewed and LeaseReleased: the lease manager did so.
	LeaseRenewed
	LeaseReleased

	// FactCount is the number of facts.
	FactCount
)

var factNames = [FactCount]string{
	"stale-write-attempted", "stale-write-rejected", "two-believers", "unknown-applied", "unknown-lost",
	"token-crossed-restart", "fence-crossed-restart", "late-but-unfenced", "duplicate-arrived", "renewed", "released",
}

// String returns the fact's key in reports.
func (f Fact) String() string {
	if f < FactCount {
		return factNames[f]
	}
	return "unknown fact"
}

// LookupFact returns the fact of that name.
func LookupFact(name string) (Fact, bool) {
	i := slices.Index(factNames[:], name)
	return Fact(max(i, 0)), i >= 0
}

// Counts says how often each fact occurred.
type Counts [FactCount]int64

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	for i := range c {
		c[i] += o[i]
	}
}

// facts observes what happened sometimes. It judges nothing.
type facts struct {
	view    View
	untimed bool
	seen    Counts
	lost    int64 // mutations of unknown outcome without effect so far

	mutations opTable[mutation]
	sent      opTable[history.Token] // without the store's notes: what was accepted before
	accepted  []history.Token        // by fence: the store's greatest, as far as known
	granted   []history.Token        // by fence: the coordinator's latest
	believers [][]belief             // by scope
	restarted []string               // processes that were not seen to act since
}

// mutation is an operation that may yet change the store.
type mutation struct{ applied, unknown, rejected bool }

type belief struct {
	client int32
	until  int64 // 0: until it is given up
}

// factual returns the events that facts observes.
func factual(v View) []interest {
	list := append(ends(mutations...), notes(history.Grant, history.Renewed, history.Released, history.Apply, history.Reject,
		history.Raised, history.Believe, history.Disbelieve, history.Deliver, history.Restart)...)
	list = append(list, events(history.Invoke, mutations...)...)
	if !v.Store { // no note tells what was accepted
		list = append(list, events(history.OK, history.Raise)...)
	}
	if !v.Coordinator { // no note tells
		list = append(list, events(history.OK, history.Renew, history.Release)...)
	}
	return list
}

// mutations are the operations that change what the store holds.
var mutations = []history.F{history.Write, history.Delete, history.CAS, history.Batch}

// Observe breaks nothing, whatever happens.
func (f *facts) Observe(in *Input) bool {
	if in.Type != history.Note {
		f.client(in)
		return false
	}
	switch in.F {
	case history.Grant:
		f.grant(in)
	case history.Renewed:
		f.seen[LeaseRenewed]++
	case history.Released:
		f.seen[LeaseReleased]++
	case history.Apply, history.Reject, history.Raised:
		f.store(in)
	case history.Believe:
		f.believe(in)
	case history.Disbelieve:
		f.disbelieve(in)
	case history.Deliver:
		if in.Copy > 0 {
			f.seen[DuplicateArrived]++
		}
	case history.Restart:
		f.restart(in)
	}
	return false
}

func (f *facts) grant(in *Input) {
	g := at(&f.granted, in.fence())
	if *g > 0 && f.restartedNow(in) {
		f.seen[TokenCrossedRestart]++
	}
	*g = max(*g, in.Token)
}

func (f *facts) store(in *Input) {
	accepted := at(&f.accepted, in.fence())
	if *accepted > 0 && f.restartedNow(in) {
		f.seen[FenceCrossedRestart]++
	}
	switch in.F {
	case history.Reject:
		f.reject(in, *accepted)
		return
	case history.Apply:
		switch {
		case in.Token < *accepted:
			f.seen[StaleWriteAttempted]++
		case in.Token < *at(&f.granted, in.fence()):
			f.seen[LateButUnfenced]++
		}
		if m := f.mutations.find(in.Op); m != nil {
			if m.rec.applied = true; m.rec.unknown {
				f.late(m)
			}
		}
	}
	*accepted = max(*accepted, in.Token)
}

func (f *facts) reject(in *Input, accepted history.Token) {
	m := f.mutations.find(in.Op)
	if m == nil {
		return
	}
	m.rec.rejected = true
	if in.Token < max(accepted, in.Highest) {
		f.seen[StaleWriteAttempted]++
		f.seen[StaleWriteRejected]++
	}
}

// late takes a mutation that was applied when nobody waited for it any more.
func (f *facts) late(m *opEntry[mutation]) {
	f.seen[UnknownApplied]++
	f.lost--
	f.mutations.remove(m)
}

// client follows the mutations, and counts what no note tells.
func (f *facts) client(in *Input) {
	switch {
	case !f.view.Store && in.F != history.Renew && in.F != history.Release:
		f.answer(in)
	case in.Type == history.Invoke:
		f.mutations.add(in.Op)
	case in.F == history.Renew:
		f.seen[LeaseRenewed]++
	case in.F == history.Release:
		f.seen[LeaseReleased]++
	default:
		f.end(in)
	}
}

// answer counts the stale writes that clients saw: those that were refused, and
// those that were accepted although a greater token had been before they began.
func (f *facts) answer(in *Input) {
	accepted := at(&f.accepted, in.fence())
	switch {
	case in.Type == history.Invoke:
		m, _ := f.sent.add(in.Op)
		m.rec = *accepted
		return
	case in.Type == history.Fail && in.Error == history.Stale:
		f.seen[StaleWriteAttempted]++
		f.seen[StaleWriteRejected]++
		*accepted = max(*accepted, in.Highest)
	case in.Type == history.OK:
		if m := f.sent.find(in.Op); m != nil && in.Token < m.rec {
			f.seen[StaleWriteAttempted]++
		}
		*accepted = max(*accepted, in.Token)
	}
	if m := f.sent.find(in.Op); m != nil {
		f.sent.remove(m)
	}
}

func (f *facts) end(in *Input) {
	if m := f.mutations.find(in.Op); m != nil && (in.Type != history.Info || !f.stays(m)) {
		f.mutations.remove(m)
	}
}

// stays takes the end of a client's wait, and reports whether the mutation may
// still be applied.
func (f *facts) stays(m *opEntry[mutation]) bool {
	if m.rec.applied {
		f.seen[UnknownApplied]++
		return false
	}
	f.lost++
	m.rec.unknown = true
	return !m.rec.rejected
}

func (f *facts) believe(in *Input) {
	r := in.resolve()
	list := at(&f.believers, r.scopeID)
	two, mine := false, -1
	for i := range *list {
		switch b := &(*list)[i]; {
		case b.client == r.clientID:
			mine = i
		case f.untimed || b.until == 0 || b.until > in.Time:
			two = true
		}
	}
	if mine < 0 {
		mine = len(*list)
		*list = append(*list, belief{client: r.clientID})
	}
	(*list)[mine].until = in.Until
	if two {
		f.seen[TwoBelievers]++
	}
}

func (f *facts) disbelieve(in *Input) {
	r := in.resolve()
	list := at(&f.believers, r.scopeID)
	*list = slices.DeleteFunc(*list, func(b belief) bool { return b.client == r.clientID })
}

// manyRestarts bounds what is kept of processes that turn out to be no servers.
const manyRestarts = 64

func (f *facts) restart(in *Input) {
	if slices.Contains(f.restarted, in.Process) {
		return
	}
	if len(f.restarted) == manyRestarts {
		f.restarted = slices.Delete(f.restarted, 0, 1)
	}
	f.restarted = append(f.restarted, in.Process)
}

// restartedNow reports whether this is the first note of a process since its
// restart.
func (f *facts) restartedNow(in *Input) bool { return len(f.restarted) > 0 && f.firstNote(in) }

func (f *facts) firstNote(in *Input) bool {
	i := slices.Index(f.restarted, in.Process)
	if i < 0 {
		return false
	}
	f.restarted = slices.Delete(f.restarted, i, i+1)
	return true
}

func (f *facts) counts() Counts {
	c := f.seen
	c[UnknownLost] += f.lost
	return c
}

func (f *facts) clone() facts {
	c := *f
	c.mutations, c.sent = f.mutations.clone(), f.sent.clone()
	c.accepted, c.granted, c.restarted = slices.Clone(f.accepted), slices.Clone(f.granted), slices.Clone(f.restarted)
	c.believers = make([][]belief, len(f.believers))
	for i, list := range f.believers {
		c.believers[i] = slices.Clone(list)
	}
	return c
}

func (f *facts) reset() {
	f.seen, f.lost = Counts{}, 0
	f.mutations.reset()
	f.sent.reset()
	clear(f.accepted)
	clear(f.granted)
	for i := range f.believers {
		f.believers[i] = f.believers[i][:0]
	}
	f.restarted = f.restarted[:0]
}
