package sim

import (
	"math/bits"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// Stater is a [Runner] or [Handler] that declares its memory to an exhaustive
// search: State returns a plain comparable value on which, with the disk and the
// positions of its tasks, everything depends that the process does. A Handler
// needs it, or a [Proc.Checkpoint] in Handle, for two of its histories to meet.
// State is called between events and must change nothing.
type Stater interface{ State() any }

// Name is a call in the hands of a process that has not replied to it.
type Name struct {
	Caller ID
	Call   int64
}

// Effect is something that a process did: a note or an observation; with a
// NoteSend comes the message.
type Effect struct {
	Note        Note
	Observation Observation // nil for a note
	Message     Message
}

// Answer is a choice that a process met and what it was answered.
type Answer struct {
	Choice
	Option int
	Label  string
}

// Local is what is known of a process between two events.
type Local struct {
	// Key identifies the local state: equal keys, equal futures, but for a
	// checkpoint that forgets something.
	Key uint64
	// Value is the last checkpoint's value, or the State of a Stater.
	Value any
	// Events are what the process can do of itself, in the order of scheduling.
	Events []Event
	// Running says that it has a Runner that has not returned.
	Running bool
	// Held are the calls to which it has not replied.
	Held []Name
}

// Input is what an event finds in the world around the process.
type Input struct {
	Clock   int64  // what the process's clock reads, under Bounded
	Calls   uint32 // bit k: number k names one of its calls, outside of it
	Answers []int  // to the choices, in the order in which they are met; then 0
}

// maxCall is the greatest number of a call in a Cell.
const maxCall = 31

// Cell is one process of a world by itself, run one event at a time: what it
// sends goes nowhere, and what it is told comes from the caller. Its process
// code is the same, on the same kernel, as in the world. Message numbers are 0
// there and call numbers the smallest free, so that equal states meet.
type Cell struct {
	w     *World
	build func(*World)
	cfg   Config
	sites SiteSet
	// Clocked puts the clock of an untimed process, and the deadlines of its
	// timers, into the key: it must be set if the process reads its clock.
	Clocked bool
	// Traced makes Lines and Line be set, which takes time.
	Traced bool

	part
	others  []part // of the other processes, by number, once Turn was called
	cur     *Proc  // the task that runs
	calls   uint32
	answers []int
	pcs     [64]uintptr
	checked bool // the last event came to a checkpoint
	left    bool // the process is no longer in the line

	// What the last event brought.
	Effects []Effect
	Choices []Answer
	// Turns says how many Effects there were each time that the process came back to
	// the end of the line in which processes wait for their turn. It matters when all
	// of them start at once.
	Turns []int
	// Lines are where each of Effects stands in the process's own code, and Line is
	// where its last checkpoint does, or else what it did last; "" is not known.
	Lines []string
	Line  string
	// ReadClock says that what happened depended on Input.Clock, or under Untimed
	// that the process read its clock; NamedCall that it depended on Input.Calls.
	ReadClock, NamedCall bool
	// Panic is not nil if the process panicked; nothing can follow.
	Panic *Panic
}

// part is what a Cell knows of one process.
type part struct {
	proc    ID
	n       *process
	started bool
	stater  Stater
	mem     uint64 // what determines the process's memory, if it is no Stater
	value   any
	held    []Name
	locks   []*Mutex // that a task came to in this incarnation; free ones may be missing
	disk    bool     // Proc.Disk was called in this incarnation
}

// NewCell returns process proc of the world that build makes, asked only the
// choices of the given sites. Close it when it is not used any more.
func NewCell(build func(*World), cfg Config, proc ID, sites SiteSet) *Cell {
	c := &Cell{build: build, cfg: cfg, sites: sites &^ netSites, part: part{proc: proc}}
	c.cfg.Budget = nil
	c.w = NewWorld(c.cfg, c, c)
	return c
}

// Close frees the coroutines of c.
func (c *Cell) Close() {
	c.rest()
	c.w.Close()
}

// rest takes what runs off its stack.
func (c *Cell) rest() {
	c.w.finish(EndDone, nil)
	c.w.driveBase()
}

// Reset takes c back to before the start of its process.
func (c *Cell) Reset() {
	w := c.w
	c.rest()
	w.Reset(c.cfg, c, c)
	w.script, w.unusual = &script{w: w, cell: c}, true
	c.started, c.cur = false, nil
	c.held = c.held[:0]
	c.renew()
	c.build(w)
	c.n = w.processes[c.proc]
	c.Panic, c.Line, c.others = nil, "", nil
}

// Turn makes c run process proc of the same world from now on, beside the one that
// it ran: what the two share in memory, each sees of the other.
func (c *Cell) Turn(proc ID) {
	if c.others == nil {
		c.others = make([]part, c.w.count)
	}
	c.others[c.proc] = c.part
	if c.part = c.others[proc]; c.n == nil {
		c.part = part{proc: proc, n: c.w.processes[proc]}
	}
}

// Feed lets one event happen to the process, which runs until it blocks.
// EventStart is the first after a Reset.
func (c *Cell) Feed(ev Event, in Input) {
	w, n := c.w, c.n
	c.Effects, c.Choices, c.Lines, c.Turns = c.Effects[:0], c.Choices[:0], c.Lines[:0], c.Turns[:0]
	c.ReadClock, c.NamedCall, c.checked, c.left = false, false, false, false
	c.answers, c.calls, c.cur = in.Answers, in.Calls, nil
	w.events++
	w.steps = 0
	if c.cfg.Timing == Bounded {
		w.now, n.clock.mono = in.Clock, in.Clock
	}
	switch ev.Kind {
	case EventStart:
		c.started = true
		n.start()
	case EventDeliver:
		if m := ev.Message; n.up && m.Call != 0 && !m.Reply {
			c.held = append(c.held, Name{m.From, m.Call})
		}
		w.flying++
		w.deliver(n, &ev.Message)
	default:
		w.listEvents(n)
		if i := c.find(ev); i >= 0 {
			at := w.ids[i]
			e := w.queue[at]
			w.queue = slices.Delete(w.queue, at, at+1)
			w.occur(e)
		}
	}
	if ev.Kind == EventStart || ev.Kind == EventRestart {
		c.findStater()
	}
	w.driveBase()
	c.cur = nil
	if c.Traced && c.Line == "" && n.handler != nil {
		c.Line = declared(n.handler)
	}
	c.forget()
	if w.panic != nil {
		c.Panic = w.panic
	} else if w.over {
		c.Panic = &Panic{Process: n.name, Task: "main", Value: Misuse("the process runs on and on without blocking")}
	}
}

// forget drops what nobody can come back to.
func (c *Cell) forget() {
	n := c.n
	if !n.up {
		c.renew()
		if len(n.disk.synced)+len(n.disk.pending)+len(n.disk.log) == 0 {
			c.held = c.held[:0]
		}
	}
	if n.newRunner != nil && len(n.tasks) == 0 {
		n.mailbox = n.mailbox[:0]
	}
}

// find returns where ev is among the events just listed.
func (c *Cell) find(ev Event) int {
	found := -1
	for i, e := range c.w.enabled {
		if e.Kind != ev.Kind || e.Task != ev.Task || e.Step != ev.Step || e.Message.Body != ev.Message.Body {
			continue
		}
		if e.From == ev.From {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// begins is told that n begins an incarnation, and whether it may.
func (c *Cell) begins(n *process) bool {
	if n.id != c.proc || !c.started {
		return false
	}
	c.renew()
	return true
}

// renew clears what an incarnation had in its memory.
func (c *Cell) renew() {
	c.mem, c.value, c.stater = 0, nil, nil
	c.disk, c.locks = false, c.locks[:0]
}

// newTask says where a new task stands: where the one that started it does.
func (c *Cell) newTask(p *Proc) {
	p.pos, p.took, p.gotIt = 0, -1, false
	if c.cur != nil {
		c.cur.pos = mix(c.cur.pos, 1)
		p.pos = mix(c.cur.pos, 2)
	}
}

// slice is told that p goes on, or starts: what it found is an input of p's,
// and of the memory that it shares.
func (c *Cell) slice(p *Proc) {
	if c.left {
		c.Turns = append(c.Turns, len(c.Effects))
	}
	c.left = !c.n.queued
	c.enter(p, found(p))
}

// found hashes what a ready task finds when it goes on: the message that it is to
// handle, the one that ended its wait, or the step that did.
func found(p *Proc) uint64 {
	switch {
	case p.c == nil && p.runner == nil && p.starter == nil && p.fn == nil && p.ctxFn == nil:
		return foldMessage(2, &p.msg)
	case p.gotIt:
		return foldMessage(3, &p.got)
	}
	return mix(4, uint64(p.took))
}

// enter adds what made p go on, and what it found, to where it stands.
func (c *Cell) enter(p *Proc, x uint64) {
	p.pos = mix(mix(p.pos, c.seen()), x)
	c.mem = mix(c.mem, p.pos)
	c.cur = p
}

// findStater looks whether what has just started declares its memory.
func (c *Cell) findStater() {
	if s, ok := c.n.handler.(Stater); ok {
		c.stater = s
	}
	for _, p := range c.n.tasks {
		if s, ok := p.runner.(Stater); ok {
			c.stater = s
		}
	}
}

// seen is what a task finds when it goes on, but for what it asks for later:
// messages, the disk, the clock.
func (c *Cell) seen() uint64 {
	h := c.memory()
	if c.disk { // a task may have kept what Proc.Disk returned
		h = c.storage(h)
	}
	return h
}

func (c *Cell) memory() uint64 {
	if c.stater == nil {
		return c.mem
	}
	v := c.stater.State()
	c.w.checkBody(v)
	return foldExact(0, v)
}

func (c *Cell) storage(h uint64) uint64 {
	d := &c.n.disk
	h = mix(mix(h, uint64(len(d.synced))), uint64(len(d.log)))
	h = mix(h, uint64(d.torn))
	for _, r := range d.synced {
		h = foldExact(mixString(h, r.key), r.value)
	}
	for _, v := range d.log {
		h = foldExact(h, v)
	}
	for _, r := range d.pending {
		kind := uint64(0)
		if r.log {
			kind |= 1
		}
		if r.gone {
			kind |= 2
		}
		h = foldExact(mix(mixString(h, r.key), kind), r.value)
	}
	return h
}

func (c *Cell) inbox(h uint64) uint64 {
	h = mix(h, uint64(len(c.n.mailbox)))
	for i := range c.n.mailbox {
		h = foldMessage(h, &c.n.mailbox[i])
	}
	return h
}

func foldMessage(h uint64, m *Message) uint64 {
	flags := uint64(0)
	if m.Reply {
		flags |= 1
	}
	if m.Timer {
		flags |= 2
	}
	return foldExact(mix(mix(h, uint64(m.Call)<<2|flags), uint64(m.From)), m.Body)
}

// foldExact folds v by its content, whatever its own Fold leaves out.
func foldExact(h uint64, v any) uint64 {
	if v == nil {
		return mix(h, 5)
	}
	t := reflect.TypeOf(v)
	return foldValue(mixString(mixString(h, t.PkgPath()), t.String()), reflect.ValueOf(v))
}

// stands notes where the running task stands, and returns it.
func (c *Cell) stands() string {
	if !c.Traced || c.cur == nil {
		return ""
	}
	line := strings.Join(ownLines(3), ", called at ")
	if !c.checked && line != "" {
		c.Line = line
	}
	return line
}

// declared returns where the method of a handler is declared that serves messages.
func declared(h Handler) string {
	m, ok := reflect.TypeOf(h).MethodByName("Handle")
	if !ok {
		return ""
	}
	f, _ := runtime.CallersFrames([]uintptr{m.Func.Pointer() + 1}).Next()
	return lineText(&f)
}

// fold adds an input to the running task's.
func (c *Cell) fold(x uint64) {
	c.stands()
	c.mem = mix(c.mem, x)
	if c.cur != nil {
		c.cur.pos = mix(c.cur.pos, x)
	}
}

// popped is told that the running task took m out of the mailbox, which is the
// same as to wait for it, or looked and found none.
func (c *Cell) popped(m *Message) {
	if m == nil {
		c.fold(6)
		return
	}
	c.enter(c.cur, foldMessage(3, m))
}

// loaded is told that the running task read a value off the disk, or found none;
// looked, that it may read anything there.
func (c *Cell) loaded(v any, ok bool) {
	if !ok {
		c.fold(13)
		return
	}
	c.fold(foldExact(7, v))
}

func (c *Cell) looked() {
	c.disk = true
	c.fold(c.storage(8))
}

// numbered is told that the running task got the serial number k of the process.
func (c *Cell) numbered(k int64) { c.fold(mix(10, uint64(k))) }

func (c *Cell) read(t int64) {
	c.ReadClock = true
	c.fold(uint64(t))
}

func (c *Cell) armed() {
	if c.cfg.Timing == Bounded {
		c.ReadClock = true
	}
}

// name returns the smallest number that is free.
func (c *Cell) name() int64 {
	c.NamedCall = true
	used := c.calls | 1
	for _, p := range c.n.tasks {
		if p.waiting == waitCall {
			used |= 1 << p.call
		}
	}
	for _, x := range c.held {
		if x.Caller == c.proc {
			used |= 1 << x.Call
		}
	}
	k := bits.TrailingZeros32(^used)
	if k > maxCall {
		panic(Misuse("too many calls at once for an exhaustive search: a process that never replies to some calls keeps their numbers in use; reply to them, or use Send"))
	}
	c.calls |= 1 << k
	return int64(k)
}

// send notes a message; it goes nowhere.
func (c *Cell) send(m Message) {
	if m.Reply {
		i := slices.Index(c.held, Name{m.To, m.Call})
		if i < 0 {
			panic(Misuse("a second Reply to the same message: an exhaustive search cannot tell whose call it belongs to; use Send"))
		}
		c.held = slices.Delete(c.held, i, i+1)
		if m.To == c.proc { // its number is in use, in this event too
			c.calls |= 1 << m.Call
		}
	}
	m.ID = 0
	c.Effects[len(c.Effects)-1].Message = m
}

// checkpoint forgets how p came to where it stands.
func (c *Cell) checkpoint(p *Proc, v any) {
	n := runtime.Callers(3, c.pcs[:])
	h := uint64(n)
	for _, pc := range c.pcs[:n] {
		h = mix(h, uint64(pc-textBase))
	}
	h = foldExact(h, v)
	p.pos, c.mem = h, h
	p.gotIt = false
	c.value = v
	c.checked = false // what counts is where the last one stands
	c.stands()
	c.checked = true
}

// textBase is an address of the program's text, which may be loaded anywhere.
var textBase = reflect.ValueOf(NewCell).Pointer()

// Sites are those that the cell is asked about.
func (c *Cell) Sites() SiteSet { return c.sites }

// Choose answers from Input.Answers.
func (c *Cell) Choose(ch Choice) int {
	k := 0
	if i := len(c.Choices); i < len(c.answers) {
		k = c.answers[i]
	}
	c.Choices = append(c.Choices, Answer{Choice: ch, Option: k})
	c.fold(uint64(k))
	return k
}

// Notes are all of them.
func (c *Cell) Notes() NoteSet { return AllNotes }

// Note records n without what only names it.
func (c *Cell) Note(n Note) {
	n.Index, n.Time, n.Message, n.Copy = 0, 0, 0, false
	c.effect(Effect{Note: n})
}

func (c *Cell) effect(x Effect) {
	c.Effects, c.Lines = append(c.Effects, x), append(c.Lines, c.stands())
}

// Observe records a copy of o.
func (c *Cell) Observe(o Observation) {
	o = CopyObservation(o)
	o.Stamp(0, 0, c.n.name)
	c.effect(Effect{Note: Note{Proc: c.proc}, Observation: o})
}

// CopyObservation returns a copy of what o points to: observations may be
// reused by who reports them.
func CopyObservation(o Observation) Observation {
	v := reflect.ValueOf(o)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return o
	}
	twin := reflect.New(v.Type().Elem())
	twin.Elem().Set(v.Elem())
	return twin.Interface().(Observation)
}

// Local returns the process's state.
func (c *Cell) Local() Local {
	w, n := c.w, c.n
	slices.SortFunc(c.held, func(a, b Name) int {
		return int(a.Caller-b.Caller)<<6 + int(a.Call-b.Call)
	})
	l := Local{Value: c.value, Running: n.newRunner != nil && !n.finished, Held: slices.Clone(c.held)}
	if c.stater != nil && n.up {
		l.Value = c.stater.State()
	}
	w.listEvents(n)
	for _, e := range w.enabled {
		if c.cfg.Timing == Untimed && !c.Clocked {
			e.From, e.Until = 0, 0
		}
		if !slices.Contains(l.Events, e) {
			l.Events = append(l.Events, e)
		}
	}
	l.Key = c.key(&l)
	return l
}

// key hashes all that the process's future depends on.
func (c *Cell) key(l *Local) uint64 {
	n := c.n
	flags := uint64(0)
	for i, b := range []bool{n.up, n.frozen, n.starting, n.finished, n.forced} {
		if b {
			flags |= 1 << i
		}
	}
	h := mix(mix(flags, uint64(n.incarnation)), uint64(n.serials))
	h = c.inbox(c.storage(c.memory())) ^ scramble(h)
	for _, p := range n.tasks {
		h = mix(mix(h, p.pos), uint64(p.waiting))
		if p.waiting == waitCall {
			h = mix(h, uint64(p.call))
		}
	}
	for _, p := range n.ready { // of a frozen process: they go on when it resumes
		h = mix(mix(h, uint64(c.w.place(p))), found(p))
	}
	for _, x := range l.Held {
		h = mix(h, uint64(x.Caller)<<32|uint64(x.Call))
	}
	h = mix(h, uint64(n.clock.offset))
	if c.Clocked {
		h = mix(h, uint64(n.clock.mono))
	}
	return scramble(h + c.timers() + c.mutexes())
}

// lock is told that the running task comes to m.
func (c *Cell) lock(m *Mutex) {
	free := uint64(0)
	if m.owner == 0 {
		free = 1
	}
	c.fold(mix(9, free))
	if !slices.Contains(c.locks, m) {
		c.locks = append(c.locks, m)
	}
}

// mutexes hashes those that are locked, and who waits for each, in their order.
// Which one it is says where the owner stood when it came to it.
func (c *Cell) mutexes() uint64 {
	c.locks = slices.DeleteFunc(c.locks, func(m *Mutex) bool { return m.owner == 0 || m.life != c.n.life || !c.n.up })
	sum := uint64(0)
	for _, m := range c.locks {
		h := mix(m.at, 11)
		for i, p := range c.n.tasks {
			if p.number == m.owner { // it has not ended
				h = mix(h, uint64(i))
			}
		}
		for _, p := range m.waiters {
			if p.waiting == waitLock { // its deadline has not passed
				h = mix(h, uint64(c.w.place(p))+12)
			}
		}
		sum += scramble(h)
	}
	return sum
}

// timers hashes what is armed; its order does not matter.
func (c *Cell) timers() uint64 {
	sum := uint64(0)
	for _, e := range c.w.enabled {
		if c.cfg.Timing == Untimed && !c.Clocked {
			e.From, e.Until = 0, 0
		}
		h := mix(uint64(e.Kind)<<32|uint64(uint16(e.Task))<<16|uint64(uint16(e.Step)), uint64(e.From))
		sum += scramble(foldExact(mix(h, uint64(e.Until)), e.Message.Body))
	}
	return sum
}
