package sim

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"staleproof/sim/watchdog"
)

// Config says what a world can do to its processes. The zero Config is a world
// without latency and without faults. Options of a choice are listed from the
// mildest on: option k of a site takes element k-1.
type Config struct {
	// Timing is the semantics of time. Under Untimed and Bounded the lists of
	// durations do not matter: each site has the one option 1, and what it began
	// ends by an event of its own, at any time.
	Timing     Timing
	Latency    time.Duration   // one way, of every message
	Delays     []time.Duration // on top of Latency
	Holds      []time.Duration // on top of Latency: longer than a lease
	Pauses     []time.Duration
	Suspends   []time.Duration
	Stalls     []time.Duration
	Restarts   []time.Duration // from a crash to the restart
	Partitions []time.Duration
	Drifts     []int64 // ppm
	Jumps      []time.Duration
	// Budget is how many decisions a site may take in a run. An absent site has
	// no limit.
	Budget map[Site]int
	// Quiet is the true time from which no fault is injected; 0: never.
	Quiet time.Duration
	// Horizon ends the run at this true time; 0: never. Under Bounded no clock
	// passes it, and the run goes on without ticks.
	Horizon time.Duration
	// Epsilon is, under Bounded, how many ticks two clocks may be apart.
	Epsilon int64
	// MaxEvents ends a run that does not end; 0 means 100,000.
	MaxEvents int64
	// NoDigest leaves Result.Digest 0 and changes nothing else. It is for a run that
	// is compared with no other: hashing what processes report is a tenth of the work.
	NoDigest bool
}

const defaultMaxEvents = 100_000

// maxSteps is how many tasks may go on, and yields be passed, between two
// events: a loop that polls without sleeping never comes to the next one.
const maxSteps = 100_000

// End says why a run ended.
type End uint8

const (
	EndDone    End = iota + 1 // every Runner returned and no message is on its way
	EndIdle                   // nothing can happen any more, and a Runner still waits
	EndHorizon                // Config.Horizon was reached
	EndLimit                  // Config.MaxEvents was reached, or 100,000 steps between two events
	EndPanic                  // a process panicked
)

var endNames = [...]string{"", "done", "idle", "horizon", "limit", "panic"}

func (e End) String() string { return endNames[e] }

// Panic is a panic in a process: a finding, not a crash of the tool.
type Panic struct {
	Process string
	Task    string
	Value   any    // nil: not a panic but runtime.Goexit
	Stack   string // differs from one run to the next
}

func (p *Panic) Error() string {
	if p.Value == nil {
		return fmt.Sprintf("process %s (task %s) ended its goroutine (runtime.Goexit, as t.FailNow, t.Fatal and t.Skip do): return instead, or panic to report what is wrong", p.Process, p.Task)
	}
	if d, ok := p.Value.(*Deadlock); ok {
		return fmt.Sprintf("deadlock in process %s: %v", p.Process, d)
	}
	return fmt.Sprintf("process %s (task %s) panicked: %v", p.Process, p.Task, p.Value)
}

// Result is what a run came to.
type Result struct {
	End       End
	Digest    uint64   // of everything that happened; 0 under Config.NoDigest
	Events    int64    // simulated events: deliveries, timers, faults coming to their time
	Notes     int64    // the index of the last note or observation
	Time      int64    // true time at the end, in nanoseconds
	Decisions Schedule // the choices that were not 0; valid until the next Reset
	Panic     *Panic   // nil unless End is EndPanic
	Limit     *Limit   // nil unless End is EndLimit
}

// World is a simulated world. It may be reused: Reset makes it as new and keeps
// its memory. The zero World is not ready for use: see [NewWorld].
type World struct {
	cfg      Config
	chooser  Chooser
	seeded   *Seeded  // the chooser, if it is one: the fast path
	untier   Untier   // the chooser, if it is one
	foreseer Foreseer // the chooser, if it is one
	observer Observer
	wants    NoteSet
	script   *script

	now       int64
	digest    uint64
	index     int64
	events    int64
	maxEvents int64
	horizon   int64
	steps     int // since the last event
	messages  int64
	sites     SiteSet // those at which something else than 0 may come
	budget    [siteCount]int32
	decisions Schedule

	queue    queue
	near     [8]entry // under Timed: the next ones, before all of the queue; the very next is the last
	nears    int      // of them are in use
	seq      uint64
	flights  []flight
	freeSlot []int32
	enabled  []Event // under Untimed and Bounded: what can happen next
	ids      []int   // where in the queue each of them is
	flying   int     // messages on their way
	running  int     // Runners that have not returned
	cuts     []cut
	receiver ID      // of the message that the network is asked about
	ties     []entry // of the same time, as they were taken
	whom     []ID    // the processes of those that are not stale
	worldPicks,
	worldTies,
	worldNexts uint32

	processes []*process // all ever made; the first count are in use
	count     int
	runnable  []*process
	alone     *Proc // the task that the last event woke, if it runs at once
	doomed    []*Proc
	lives     uint64 // incarnations and tasks there have been, in all runs
	tasks     uint64
	slots     []*Proc
	guest     *Proc // runs where it stands; see Brief
	freeTasks []*Proc

	idle  []*coro
	coros []*coro
	turn  *coro // whose turn it is, while the stack is being handed over
	live  *coro // the one that last got its turn: whose code runs
	base  coro

	broken  error // a panic of the observer or chooser, on its way to Run
	over    bool
	unusual bool // over, or some are doomed, or there is a script
	end     End
	panic   *Panic
	limits  *Limit // that were reached
	closed  bool
	// wary is for how many more runs strays are looked for with effort, and the records
	// of tasks rest, so that a stray finds its own: such a mistake shows soon.
	wary    int
	resting []*Proc

	elsewhere bool // no task runs on a borrowed stack: for tests of equality
	plain     []uintptr
	slotted   *[manySlots]Slot
	boxed     *Slot // the last one that a value was taken from
	beat      watchdog.Beat
	watched   bool // somebody asked for it
}

// NewWorld returns a world without processes. Close it when it is not used any
// more.
func NewWorld(cfg Config, chooser Chooser, observer Observer) *World {
	w := &World{}
	w.base.onChain = true
	w.guest = &Proc{w: w, name: "handle", here: true}
	w.guest.ctx.p = w.guest
	w.Reset(cfg, chooser, observer)
	return w
}

// Reset makes w a world without processes, as new; a run that has not ended is
// given up. observer may be nil.
func (w *World) Reset(cfg Config, chooser Chooser, observer Observer) {
	if err := cfg.Validate(); err != nil {
		panic(Misuse(err.Error()))
	}
	w.giveUp()
	w.trust()
	w.cfg, w.chooser, w.observer, w.script = cfg, chooser, observer, nil
	w.seeded, _ = chooser.(*Seeded)
	w.untier, _ = chooser.(Untier)
	if w.foreseer, _ = chooser.(Foreseer); w.foreseer != nil && !w.foreseer.Foresees() {
		w.foreseer = nil
	}
	w.wants = 0
	if observer != nil {
		w.wants = observer.Notes()
	}
	w.sites = chooser.Sites()
	for i := range w.budget {
		w.budget[i] = -1
		if !w.sites.Has(Site(i)) {
			continue // nothing may come there
		}
		if limit, ok := cfg.Budget[Site(i)]; ok {
			w.budget[i] = int32(limit)
		}
	}
	w.maxEvents = cfg.MaxEvents
	if w.maxEvents <= 0 {
		w.maxEvents = defaultMaxEvents
	}
	w.now, w.digest, w.index, w.events, w.messages, w.seq = 0, 0, 0, 0, 0, 0
	w.steps = 0
	w.horizon = never
	if cfg.Horizon > 0 {
		w.horizon = int64(cfg.Horizon)
	}
	w.decisions = w.decisions[:0]
	w.queue, w.nears = w.queue[:0], 0
	clear(w.flights)
	w.flights, w.freeSlot, w.flying = w.flights[:0], w.freeSlot[:0], 0
	w.running, w.count = 0, 0
	w.worldPicks, w.worldTies, w.worldNexts = 0, 0, 0
	w.cuts, w.runnable, w.alone = w.cuts[:0], w.runnable[:0], nil
	w.over, w.end, w.panic, w.limits = false, 0, nil, nil
	w.unusual = false
	if cfg.Quiet > 0 && cfg.Timing == Timed {
		w.schedule(entry{at: int64(cfg.Quiet), kind: atQuietTime})
	}
}

// Close frees the coroutines of w, which must not be used any more.
func (w *World) Close() {
	if w.closed {
		return
	}
	w.giveUp()
	w.closed = true
	for _, c := range w.coros {
		c.stop()
	}
}

// giveUp ends a run that has not ended, so that its coroutines are free again.
func (w *World) giveUp() {
	if w.count > 0 && !w.over || len(w.doomed) > 0 {
		w.finish(EndDone, nil)
		w.driveBase()
	}
}

// Spawn adds a process that runs what factory returns: afresh at every restart,
// so factory must not hand out state that outlives an incarnation. Names are
// unique; letters, digits, '.', '_' and '-'.
func (w *World) Spawn(name string, factory func() Runner) ID {
	n := w.newProcess(name)
	n.newRunner = factory
	w.running++
	n.start()
	return n.id
}

// Serve adds a process that handles messages with what factory returns.
func (w *World) Serve(name string, factory func() Handler) ID {
	n := w.newProcess(name)
	n.newHandler = factory
	n.start()
	return n.id
}

func (w *World) newProcess(name string) *process {
	w.checkName(name)
	if w.count == len(w.processes) {
		w.processes = append(w.processes, &process{})
	}
	n := w.processes[w.count]
	old := *n
	*n = process{w: w, id: ID(w.count), name: name, disk: old.disk,
		tasks: old.tasks[:0], ready: old.ready[:0], mailbox: old.mailbox[:0]}
	n.disk.reset()
	w.count++
	if w.cfg.Timing != Timed {
		n.clock.stopped = true // ticks and timers move it
		return n
	}
	k := w.choose(n, SiteDrift, 0, len(w.cfg.Drifts)+1, "")
	if k > 0 {
		n.clock.ppm = w.cfg.Drifts[k-1]
		w.note(Note{Kind: NoteDrift, Proc: n.id, For: n.clock.ppm})
	}
	return n
}

func (w *World) checkName(name string) {
	ok := name != ""
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	if !ok {
		panic(Misuse(fmt.Sprintf("process name %q: expected letters, digits, '.', '_' and '-'", name)))
	}
	for _, n := range w.processes[:w.count] {
		if n.name == name {
			panic(Misuse(fmt.Sprintf("two processes are called %q: give each a name of its own", name)))
		}
	}
}

// Lookup returns the number of the process called name. It panics if there is
// none.
func (w *World) Lookup(name string) ID {
	for _, n := range w.processes[:w.count] {
		if n.name == name {
			return n.id
		}
	}
	panic(Misuse(fmt.Sprintf("no process is called %q: spawn it before the others start", name)))
}

// Spare makes the sites never strike a process: a store that keeps nothing on a
// disk, say, is spared crashes. Call it right after spawning the process.
func (w *World) Spare(id ID, sites ...Site) {
	n := w.processes[id]
	n.spared = n.spared.With(sites...)
}

// Spares reports whether the site never strikes a process.
func (w *World) Spares(id ID, site Site) bool { return w.processes[id].spared.Has(site) }

// Names returns the names of the processes, in the order of spawning.
func (w *World) Names() []string {
	names := make([]string, w.count)
	for i := range names {
		names[i] = w.processes[i].name
	}
	return names
}

// Name returns the name of a process.
func (w *World) Name(id ID) string { return w.processes[id].name }

// Yields returns how many yields the tasks of a process have come to in this run.
func (w *World) Yields(id ID) int { return int(w.processes[id].yields) }

// Now returns the true time, in nanoseconds from the start of the run.
func (w *World) Now() int64 { return w.now }

// TrueTime returns the true time at which the monotonic clock of a process will
// read clock, as it runs now; a time already past is the present.
func (w *World) TrueTime(id ID, clock time.Duration) int64 {
	n := w.processes[id]
	switch w.cfg.Timing {
	case Untimed: // the two have nothing to do with each other
		return int64(clock)
	case Bounded:
		return max(w.now, w.now+int64(clock)-n.clock.mono)
	}
	if n.clock.stopped {
		return n.thaw
	}
	return n.clock.when(w.now, int64(clock))
}

// Run runs the world to its end. A panic of its observer or chooser is a panic
// of Run; a panic of a process is a [Result].
func (w *World) Run() Result {
	w.driveBase()
	if w.cfg.NoDigest {
		w.digest = 0
	}
	return Result{End: w.end, Digest: w.digest, Events: w.events, Notes: w.index,
		Time: w.now, Decisions: w.decisions, Panic: w.panic, Limit: w.limits}
}

// driveBase drives the world from its caller's stack.
func (w *World) driveBase() {
	w.drive(&w.base)
	if err := w.broken; err != nil {
		w.broken = nil
		panic(err)
	}
}

// breakDown ends the run after a panic of the world itself, which came up the
// stack of the task that happened to drive it; Run panics with it.
func (w *World) breakDown(driver *Proc, value any) {
	w.broken = fmt.Errorf("sim: the world's observer or chooser panicked: %v\n%s", value, debug.Stack())
	driver.die()
	w.finish(EndPanic, driver)
}

// next lets the world go on until it is a coroutine's turn, and returns it.
func (w *World) next() *coro {
	for {
		if w.unusual {
			if c := w.unusually(); c != nil {
				return c
			}
		}
		if len(w.runnable) > 0 {
			if c := w.pick(); c != nil {
				return c
			}
			continue
		}
		w.happen()
		if p := w.alone; p != nil {
			w.alone = nil
			w.steps++
			w.pulse(p.n)
			return p.c
		}
	}
}

// unusually returns the coroutine of a task that has to be unwound, or the base if
// the world comes to rest.
func (w *World) unusually() *coro {
	if last := len(w.doomed) - 1; last >= 0 {
		p := w.doomed[last]
		w.doomed = w.doomed[:last]
		w.pulse(p.n)
		return p.c
	}
	if w.over || w.script != nil && w.script.still() {
		return &w.base
	}
	w.unusual = w.script != nil
	return nil
}

// spins counts a step and reports whether there were too many since the last event.
func (w *World) spins() bool {
	w.steps++
	return w.steps > maxSteps
}

// pick takes a ready task off the first runnable process.
func (w *World) pick() *coro {
	n := w.runnable[0]
	if !n.up || n.frozen || len(n.ready) == 0 {
		w.unqueue(n)
		return nil
	}
	if w.spins() {
		w.tooManySteps(n.ready[0], nil)
		return nil
	}
	k := 0
	if len(n.ready) > 1 && !n.forced {
		k = w.choose(n, SiteTask, n.picks, len(n.ready), "")
		n.picks++
	}
	n.forced = false
	p := n.ready[k]
	if len(n.ready) == 1 {
		n.ready = n.ready[:0]
		w.unqueue(n)
	} else {
		n.ready = slices.Delete(n.ready, k, k+1)
	}
	if c := w.cell(); c != nil {
		c.slice(p)
	}
	if p.c == nil {
		w.mount(p)
	}
	w.pulse(n)
	return p.c
}

// unqueue takes n, the first runnable process, off the list.
func (w *World) unqueue(n *process) {
	n.queued = false
	if len(w.runnable) == 1 {
		w.runnable = w.runnable[:0]
		return
	}
	copy(w.runnable, w.runnable[1:])
	w.runnable = w.runnable[:len(w.runnable)-1]
}

// mount gives p a coroutine.
func (w *World) mount(p *Proc) {
	for k := len(w.idle); k > 0 && p.c == nil; k-- {
		if c := w.idle[k-1]; !c.dead {
			p.c = c
		}
		w.idle = w.idle[:k-1]
	}
	if p.c == nil {
		p.c = w.newCoro()
		w.coros = append(w.coros, p.c)
	}
	p.c.task, p.living = p, p.c
}

// finish ends the run and unwinds every task but self, which is running, if one
// is, and unwinds itself.
func (w *World) finish(end End, self *Proc) {
	if w.over {
		return
	}
	w.over, w.end, w.unusual = true, end, true
	if self != nil {
		self.die()
	}
	w.runnable = w.runnable[:0]
	for _, n := range w.processes[:w.count] {
		n.kill(self)
		n.queued = false
	}
}

// panicked makes a panic in a task of n the outcome of the run; self is the task
// that is running, unless it was the factory that panicked.
func (w *World) panicked(n *process, task string, self *Proc, value any, stack []byte) {
	if w.panic != nil {
		return
	}
	w.panic = &Panic{Process: n.name, Task: task, Value: value}
	label := fmt.Sprint(value)
	switch value.(type) {
	case nil:
		label = "runtime.Goexit"
	case *Deadlock:
		label = "deadlock" // who waits where is not known yet
	}
	if stack != nil {
		w.panic.Stack = ownStack(string(stack))
	}
	w.note(Note{Kind: NotePanic, Proc: n.id, Label: label})
	w.finish(EndPanic, self)
	w.end = EndPanic // even if it was over, and unwinding
}

// abandon leaves a dead task behind that cannot be ended.
func (w *World) abandon(p *Proc) {
	w.panicked(p.n, p.name, p, Misuse("a crashed task recovers from the panic that ends it, and goes on: let panics through that your code did not raise"), debug.Stack())
	w.leave(p)
}

// leave drives the world on from the stack of a task that must not come to its
// end, as it would take others with it: its coroutine never gets a turn again, and
// is not stopped by Close.
func (w *World) leave(p *Proc) {
	w.coros = slices.DeleteFunc(w.coros, func(c *coro) bool { return c == p.c })
	for {
		w.drive(p.c)
	}
}

// note numbers n, folds it into the digest and tells the observer.
func (w *World) note(n Note) {
	x := mix(mix(uint64(n.Message), uint64(n.For)), uint64(n.Peer))
	if n.Both {
		x++
	}
	if w.tally(n.Kind, n.Proc, x) || n.Copy && w.wants != 0 {
		n.Index, n.Time = w.index, w.now
		w.observer.Note(n)
	}
}

// tally is the cheap part of note: it numbers a note, folds it into the digest
// and reports whether the observer wants to hear of it.
func (w *World) tally(kind NoteKind, proc ID, x uint64) bool {
	w.index++
	w.digest = mix(w.digest^x, uint64(kind)<<56^uint64(uint32(proc))<<48^uint64(w.now))
	return w.wants.Has(kind)
}

// choose answers one choice. Every nondeterministic decision comes through here.
// It is small, so that a site where nothing may come costs a test and no call.
func (w *World) choose(n *process, site Site, count uint32, options int, label string) int {
	if w.sites>>site&1 == 0 {
		return 0
	}
	return w.ask(n, site, count, options, label)
}

func (w *World) ask(n *process, site Site, count uint32, options int, label string) int {
	if options < 2 || w.budget[site] == 0 || w.over {
		return 0
	}
	key := Key{Proc: -1, Site: site, Count: count}
	if n != nil {
		if n.spared.Has(site) {
			return 0
		}
		key.Proc = int32(n.id)
	}
	var k int
	if w.seeded != nil {
		k = w.seeded.answer(key, options)
	} else {
		c := Choice{Key: key, Options: options}
		if netSites.Has(site) {
			c.Peer = w.receiver
		}
		k = w.chooser.Choose(c)
	}
	if k <= 0 {
		return 0
	}
	return w.took(Choice{Key: key, Options: options}, k, label)
}

// took records the answer k to c.
func (w *World) took(c Choice, k int, label string) int {
	if k <= 0 || k >= c.Options {
		return 0
	}
	if w.budget[c.Site] > 0 {
		w.budget[c.Site]--
	}
	w.decisions = append(w.decisions, Decision{Key: c.Key, Option: k, Time: w.now, Label: label})
	return k
}

func (w *World) schedule(e entry) {
	w.seq++
	e.seq = w.seq
	if w.cfg.Timing != Timed {
		e.at = 0 // the order of scheduling is the only one
		w.queue.push(e)
		return
	}
	w.enter(&e)
}
