package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"staleproof/sim"
)

// faultSites are the faults that the search knows, in the order of their
// nibbles in the word of what is left of the budgets.
var faultSites = []sim.Site{
	sim.SiteDrop, sim.SiteDuplicate, sim.SiteCrash, sim.SitePause,
	sim.SiteSuspend, sim.SiteStall, sim.SiteJump,
}

// freeSites are the choices that are no faults. A budget may forbid one, and no more.
var freeSites = []sim.Site{sim.SiteTask, sim.SiteUser, sim.SiteDisk}

// maxBudget is what fits a nibble.
const maxBudget = 15

// nibble returns one unit of a fault site in the budget word; 0 for other sites.
func nibble(site sim.Site) uint32 {
	if i := slices.Index(faultSites, site); i >= 0 {
		return 1 << (4 * i)
	}
	return 0
}

// affords reports whether every nibble of budget is at least that of cost.
func affords(budget, cost uint32) bool {
	for ; cost != 0; budget, cost = budget>>4, cost>>4 {
		if budget&15 < cost&15 {
			return false
		}
	}
	return true
}

// faultsOf is the sum of the nibbles of cost.
func faultsOf(cost uint32) int {
	n := 0
	for ; cost != 0; cost >>= 4 {
		n += int(cost & 15)
	}
	return n
}

// local is the part of a local state that the inner loop reads.
type local struct {
	hash    uint64
	value   uint64 // the hash of its value, which invariants see
	events  uint32 // the first of its own events
	count   uint16
	running bool // it has a Runner that has not returned
}

// localInfo is the rest.
type localInfo struct {
	proc  int
	key   uint64
	value any
	held  []sim.Name
	panic *sim.Panic
	past  history
	depth int    // the length of past
	known []miss // transitions from it that were computed
}

// valueKey is the value of a process.
type valueKey struct {
	proc  int
	value any
}

// history is how a local state came about: one event after another local state.
type history struct {
	from    int32 // the local state before; -1: none, this is a start
	event   sim.Event
	clock   int64
	calls   uint32
	answers []int
}

// message is what the inner loop knows of a message.
type message struct {
	hash   uint64
	to     uint32
	caller int32 // whose call it belongs to; -1: none
	call   uint8
}

// outcome is one way in which a local state may go on from an event.
type outcome struct {
	delta  fingerprint // what it adds to the fingerprint, without monitors, budgets and clocks
	next   uint32
	sends  uint32 // the first in engine.sends, in rising order
	sent   uint16
	faults uint8
	cost   uint32
	notes  uint32 // its note list; 0: nothing that a monitor wants
}

// outcomeInfo is the rest.
type outcomeInfo struct {
	effects []sim.Effect
	answers []answer
	did     []sim.Effect // effects as the process had them, which knows nothing of lost messages
	chose   []sim.Answer
	turns   []int // where its turns but the first begin in effects
}

// answer is a choice that a transition made, in the order of asking at its site.
type answer struct {
	site   sim.Site
	option int
}

// engine holds the tables of a search. While workers expand, nobody writes it.
type engine struct {
	sys   *System
	opt   Options
	names []string
	procs int
	mons  int

	// Where things are in a state's vector: local states, monitors, then these,
	// then the messages in flight in rising order.
	budgetAt, clockAt, head int
	bounded                 bool
	epsilon, horizon        int64
	budget                  uint32
	maxFaults               int
	sites                   sim.SiteSet
	clocked                 []bool      // processes seen to read their clock in an untimed search
	fates                   [][3]uint32 // what each fate of a message of each process costs

	locals   []local
	info     []localInfo
	localIDs []map[uint64]uint32
	valueIDs map[valueKey]uint64
	events   []sim.Event

	messages   []message
	bodies     []sim.Message
	messageIDs map[sim.Message]uint32

	memo     table
	outcomes []outcome
	outInfo  []outcomeInfo
	sends    []uint32

	effectIDs map[any]uint32
	listIDs   map[string]uint32
	lists     [][]sim.Effect
	wants     sim.NoteSet
	judge     table // monitor steps
	monitors  [][]Monitor
	monIDs    []map[any]uint32
	broken    [][]string
	anyPanic  bool
	anyBroken bool
	sometimes map[string]bool

	audits  []suspect
	seconds int // second histories of local states
	samples []sample
	sampled int // transitions that could be among them
}

func newEngine(sys *System, opt Options, clocked []bool) *engine {
	w := sim.NewWorld(sys.Config, sim.Calm{}, nil)
	sys.Build(w)
	e := &engine{sys: sys, opt: opt, names: w.Names()}
	for id := range e.names {
		e.fates = append(e.fates, [...]uint32{arrives: 0, dropped: fate(w, id, sim.SiteDrop), doubled: fate(w, id, sim.SiteDuplicate)})
	}
	w.Close()
	e.procs, e.mons = len(e.names), len(sys.Monitors)
	e.bounded = sys.Config.Timing == sim.Bounded
	e.epsilon, e.horizon = sys.Config.Epsilon, int64(sys.Config.Horizon)
	e.clocked = clocked
	if e.clocked == nil {
		e.clocked = make([]bool, e.procs)
	}
	e.layout()
	e.localIDs = make([]map[uint64]uint32, e.procs)
	for i := range e.localIDs {
		e.localIDs[i] = map[uint64]uint32{}
	}
	e.messageIDs = map[sim.Message]uint32{}
	e.valueIDs = map[valueKey]uint64{}
	e.effectIDs, e.listIDs = map[any]uint32{}, map[string]uint32{}
	e.sometimes = map[string]bool{}
	e.lists = make([][]sim.Effect, 1)
	e.memo.alloc(64)
	e.judge.alloc(64)
	e.monIDs = make([]map[any]uint32, e.mons)
	e.monitors, e.broken = make([][]Monitor, e.mons), make([][]string, e.mons)
	for k, first := range sys.Monitors {
		m := first()
		e.wants |= m.Notes()
		e.monIDs[k] = map[any]uint32{}
		e.monitor(k, m)
	}
	return e
}

// layout decides where things are in a vector, and what may be asked.
func (e *engine) layout() {
	e.head = e.procs + e.mons
	e.budgetAt, e.clockAt = -1, -1
	for _, site := range freeSites {
		if _, never := e.sys.Config.Budget[site]; !never {
			e.sites = e.sites.With(site)
		}
	}
	for _, site := range faultSites {
		n := max(0, e.sys.Config.Budget[site])
		if n > 0 {
			e.sites = e.sites.With(site)
		}
		e.budget += uint32(n) * nibble(site)
	}
	e.maxFaults = faultsOf(e.budget)
	if e.opt.Faults != 0 {
		e.maxFaults = min(e.maxFaults, max(0, e.opt.Faults))
	}
	if e.budget != 0 {
		e.budgetAt = e.head
		e.head++
	}
	if e.bounded {
		e.clockAt = e.head
		e.head++
		if e.epsilon > 0 {
			e.head += e.procs - 1
		}
	}
}

// hash mixes a number and where in a state it stands.
func hash(kind, x uint64) uint64 {
	x += kind<<56 + 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// The kinds of things that are hashed into a fingerprint; monitor k is
// kindMonitor+k.
const (
	kindLocal = iota
	kindMessage
	kindBudget
	kindWide
	kindSeed
	kindClock
	kindValue
	kindMonitor = 128
)

// wide is the second half of a component's hash.
func wide(h uint64) uint64 { return hash(kindWide, h) }

func (f *fingerprint) plus(h uint64)  { f.low += h; f.high += wide(h) }
func (f *fingerprint) minus(h uint64) { f.low -= h; f.high -= wide(h) }

func (e *engine) monitorHash(k int, id uint32) uint64 { return hash(kindMonitor+uint64(k), uint64(id)) }
func clockHash(i int, t uint32) uint64                { return hash(kindClock, uint64(i)<<32|uint64(t)) }
func budgetHash(b uint32) uint64                      { return hash(kindBudget, uint64(b)) }

// fingerprint computes a state's from nothing.
func (e *engine) fingerprint(s []uint32) fingerprint {
	var f fingerprint
	for _, ls := range s[:e.procs] {
		f.plus(e.locals[ls].hash)
	}
	for k := range e.mons {
		f.plus(e.monitorHash(k, s[e.procs+k]))
	}
	if e.budgetAt >= 0 {
		f.plus(budgetHash(s[e.budgetAt]))
	}
	if e.clockAt >= 0 {
		for i := e.clockAt; i < e.head; i++ {
			f.plus(clockHash(i-e.clockAt, s[i]))
		}
	}
	for _, m := range s[e.head:] {
		f.plus(e.messages[m].hash)
	}
	return f
}

// clockOf returns what the clock of process p reads.
func (e *engine) clockOf(s []uint32, p int) int64 {
	switch {
	case e.clockAt < 0:
		return 0
	case e.epsilon > 0:
		return int64(s[e.clockAt+p])
	}
	return int64(s[e.clockAt])
}

// now returns the true time: the most advanced clock.
func (e *engine) now(s []uint32) int64 {
	if e.clockAt < 0 {
		return 0
	}
	return int64(slices.Max(s[e.clockAt:e.head]))
}

// over reports whether an ordinary world ends in s: no Runner left, and no
// message in flight.
func (e *engine) over(s []uint32) bool {
	if len(s) > e.head {
		return false
	}
	for _, ls := range s[:e.procs] {
		if e.locals[ls].running {
			return false
		}
	}
	return true
}

// callsOf returns the numbers in use, outside of process p, for calls of p; at is
// where the message stands that it is just given, or -1.
func (e *engine) callsOf(s []uint32, p, at int) uint32 {
	var used uint32
	for i, m := range s[e.head:] {
		if x := &e.messages[m]; x.caller == int32(p) && e.head+i != at {
			used |= 1 << x.call
		}
	}
	for q, ls := range s[:e.procs] {
		if q == p {
			continue // it knows its own
		}
		for _, name := range e.info[ls].held {
			if int(name.Caller) == p {
				used |= 1 << name.Call
			}
		}
	}
	return used
}

// internMessage numbers a message.
func (e *engine) internMessage(m sim.Message) uint32 {
	if id, ok := e.messageIDs[m]; ok {
		return id
	}
	id := uint32(len(e.messages))
	e.messageIDs[m] = id
	x := message{hash: hash(kindMessage, uint64(id)), to: uint32(m.To), caller: -1, call: uint8(m.Call)}
	if m.Call != 0 {
		x.caller = int32(m.From)
		if m.Reply {
			x.caller = int32(m.To)
		}
	}
	e.messages = append(e.messages, x)
	e.bodies = append(e.bodies, m)
	return id
}

// internList numbers what monitors want of a list of effects; 0 is nothing.
func (e *engine) internList(effects []sim.Effect) uint32 {
	if e.mons == 0 {
		return 0
	}
	var key strings.Builder
	var list []sim.Effect
	for _, x := range effects {
		if x.Observation == nil && !e.wants.Has(x.Note.Kind) {
			continue
		}
		list = append(list, x)
		fmt.Fprintf(&key, "%d,", e.effect(x))
	}
	if len(list) == 0 {
		return 0
	}
	id, ok := e.listIDs[key.String()]
	if !ok {
		id = uint32(len(e.lists))
		e.listIDs[key.String()] = id
		e.lists = append(e.lists, list)
	}
	return id
}

// effect numbers an effect by its content.
func (e *engine) effect(x sim.Effect) uint32 {
	var key any = x.Note
	if x.Observation != nil {
		key = x.Observation
		v := reflect.ValueOf(x.Observation)
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Comparable() {
			key = [2]any{x.Note.Proc, v.Interface()}
		} else {
			key = fmt.Sprintf("%#v", v.Interface())
		}
	}
	id, ok := e.effectIDs[key]
	if !ok {
		id = uint32(len(e.effectIDs))
		e.effectIDs[key] = id
	}
	return id
}

// monitor numbers a state of monitor k.
func (e *engine) monitor(k int, m Monitor) uint32 {
	key := m.Key()
	broken := m.Broken()
	if broken != "" {
		key = [2]any{key, broken}
		e.anyBroken = true
	}
	if id, ok := e.monIDs[k][key]; ok {
		return id
	}
	id := uint32(len(e.monitors[k]))
	e.monIDs[k][key] = id
	e.monitors[k] = append(e.monitors[k], m)
	e.broken[k] = append(e.broken[k], broken)
	return id
}

// internLocal numbers a local state, and reports whether it is new.
func (e *engine) internLocal(proc int, l *sim.Local, p *sim.Panic, past history) (uint32, bool) {
	key := l.Key
	if p != nil {
		key = ^hash(kindLocal, uint64(len(e.info))) // every panic is its own end
	}
	if id, ok := e.localIDs[proc][key]; ok {
		return id, false
	}
	id := uint32(len(e.locals))
	e.localIDs[proc][key] = id
	x := local{hash: hash(kindLocal, uint64(id)), events: uint32(len(e.events)), running: l.Running}
	if p == nil {
		x.count = uint16(len(l.Events))
		e.events = append(e.events, l.Events...)
	} else {
		e.anyPanic = true
	}
	vk := valueKey{proc, l.Value}
	if _, ok := e.valueIDs[vk]; !ok {
		e.valueIDs[vk] = hash(kindValue, uint64(len(e.valueIDs)))
	}
	x.value = e.valueIDs[vk]
	e.locals = append(e.locals, x)
	depth := 1
	if past.from >= 0 {
		depth += e.info[past.from].depth
	}
	e.info = append(e.info, localInfo{proc: proc, key: l.Key, value: l.Value, held: l.Held, panic: p, past: past, depth: depth})
	return id, true
}
