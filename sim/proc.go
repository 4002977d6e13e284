package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrTimeout is the error of a call whose reply did not come in time. The
// request may have taken effect, or may still do so.
var ErrTimeout = errors.New("sim: no reply in time")

// Proc is a task of a process as its own code sees it: the handle for everything
// that reaches the world. A Proc is used only by the task that it was given to.
//
// Every method that blocks, and Yield, is a place where the process may crash:
// then the method does not return, and nothing that deferred calls do reaches
// the world. The task's stack is unwound by a panic: code that recovers from it
// and goes on is unwound at its next blocking call, and if it goes on even so
// its task is left behind, and the run ends with EndPanic and advice.
type Proc struct {
	w *World
	n *process
	c *coro
	// living is c as long as the task lives: it runs if that is World.live.
	living *coro
	name   string
	slot   int32
	// number is the task's own among all of the world's runs: the record is reused.
	number uint64

	// What it runs: one of these, or the process's handler on msg.
	runner  Runner
	starter Starter
	fn      func(*Proc)
	ctxFn   func(context.Context)
	msg     Message

	waiting  waitKind
	got      Message
	gotIt    bool
	killed   bool
	resting  bool   // in Rest, which returns to a dead task
	driving  bool   // it drives the world from its stack; a panic is the world's then
	returned bool   // what it runs came to its end
	reused   bool   // the record was another task's before
	here     bool   // it runs on the stack of whoever drives the world
	yieldsTo uint32 // if here: the process's count of yields that it must not pass
	unwinds  int    // how often it was unwound since it was killed
	call     int64
	steps    []Step // of this wait, under Untimed and Bounded
	took     int    // the step that ended it, or -1
	pos      uint64 // in a Cell: where the task stands
	deadline int64  // of this wait, on the monotonic clock; 0: none
	alarmAt  int64  // the true time of its entry in the queue, if alarm is not 0
	alarm    uint64 // the number of that entry; any other is stale
	laterAt  int64  // the same for another entry, behind that one
	later    uint64
	mark     *Mark  // for what it puts on the disk
	lock     *Mutex // that it waits for, or waited for last
	ctx      procContext
}

// ID returns the process's number.
func (p *Proc) ID() ID { return p.n.id }

// Name returns the process's name.
func (p *Proc) Name() string { return p.n.name }

// Handler returns the process's handler, nil if it is a [Runner].
func (p *Proc) Handler() Handler { return p.n.handler }

// Incarnation counts the restarts of the process, from 0.
func (p *Proc) Incarnation() int { return int(p.n.incarnation) }

// Peer returns the number of the process called name. It panics if there is
// none: a scenario's wiring is wrong.
func (p *Proc) Peer(name string) ID { return p.w.Lookup(name) }

// Now reads the process's monotonic clock: the time since its machine started,
// which drifts, and stands still while the machine is suspended.
func (p *Proc) Now() time.Duration {
	if p.gone() {
		return 0
	}
	return time.Duration(p.clock())
}

// clock reads the monotonic clock for the process's own code.
func (p *Proc) clock() int64 {
	t := p.n.clock.read(p.w.now)
	if c := p.w.cell(); c != nil {
		c.read(t)
	}
	return t
}

// Wall reads the process's wall clock, which also jumps.
func (p *Proc) Wall() time.Time {
	if p.gone() {
		return time.Time{}
	}
	w, n := p.w, p.n
	if k := w.choose(n, SiteJump, n.reads, len(w.cfg.Jumps)+1, ""); k > 0 {
		d := int64(w.cfg.Jumps[k-1])
		n.clock.offset += d
		w.note(Note{Kind: NoteJump, Proc: n.id, For: d})
	}
	n.reads++
	return time.Unix(0, p.clock()+n.clock.offset).UTC()
}

// Send sends body, a plain comparable value, to a process. It does not block
// and does not say whether the message arrives.
func (p *Proc) Send(to ID, body any) {
	if p.gone() {
		return
	}
	p.w.send(p.n, &Message{From: p.n.id, To: to, Body: body})
}

// Reply answers a message that came from [Proc.Call]; for any other message it is
// a plain Send to its sender.
func (p *Proc) Reply(m Message, body any) {
	if p.gone() {
		return
	}
	p.w.send(p.n, &Message{From: p.n.id, To: m.From, Call: m.Call, Reply: m.Call != 0, Body: body})
}

// Call sends body to a process and waits for its reply, for at most timeout on
// the monotonic clock; 0 means without a limit, with a negative timeout it does
// not wait. The error is [ErrTimeout]: the outcome is unknown then.
func (p *Proc) Call(to ID, body any, timeout time.Duration) (any, error) {
	p.mustLive()
	if p.n.tested != nil {
		p.Yield("call")
	}
	p.n.calls++
	p.call = p.n.calls
	if c := p.w.cell(); c != nil {
		p.call = c.name()
	}
	p.w.send(p.n, &Message{From: p.n.id, To: to, Call: p.call, Body: body})
	if timeout < 0 {
		p.step()
		return nil, ErrTimeout
	}
	if !p.waitFor(waitCall, timeout) {
		return nil, ErrTimeout
	}
	return p.got.Body, nil
}

// Wait returns the next message, waiting for it at most for timeout on the
// monotonic clock; 0 means without a limit, a negative timeout does not wait.
// ok is false when none came. The messages of a [Handler] go to Handle: it must
// not call Wait.
func (p *Proc) Wait(timeout time.Duration) (m Message, ok bool) {
	ok = p.waitFor(waitMail, timeout)
	return p.got, ok
}

// look takes a message out of the mailbox; done says that there is nothing to
// wait for.
func (p *Proc) look(timeout time.Duration) (ok, done bool) {
	p.mustLive()
	if p.n.handler != nil {
		panic(Misuse("Wait in a Handler, whose messages go to Handle: use Call for a reply, Sleep for time, After for a message of its own"))
	}
	if box := p.n.mailbox; len(box) > 0 {
		p.got = box[0]
		copy(box, box[1:])
		box[len(box)-1] = Message{}
		p.n.mailbox = box[:len(box)-1]
		if c := p.w.cell(); c != nil {
			c.popped(&p.got)
		}
		return true, true
	}
	if timeout < 0 {
		if c := p.w.cell(); c != nil {
			c.popped(nil)
		}
		p.step()
		return false, true
	}
	return false, false
}

// Step is something that a process may do of itself while it waits for
// messages, see [Proc.Await]. It is possible from From until just before Until
// on the process's monotonic clock; an Until of 0 is never.
type Step struct {
	Name        string
	From, Until time.Duration
}

// Await returns the next message, or else the index of the step that was taken
// instead, which is -1 with a message. A timed run takes the step that is
// possible first, the first in the list among equals. An untimed run takes any
// of them at any time, a bounded one at any time inside its window: that is how
// code says "one of these next, or a message, and nothing orders them".
func (p *Proc) Await(steps ...Step) (m Message, step int) {
	p.mustLive()
	if len(steps) == 0 || len(p.n.mailbox) > 0 {
		m, _ = p.Wait(0)
		return m, -1
	}
	if p.n.handler != nil {
		panic(Misuse("Await in a Handler, whose messages go to Handle: use After for a message of its own"))
	}
	if p.w.cfg.Timing != Timed {
		return p.awaitAny(steps)
	}
	now := p.n.clock.read(p.w.now)
	first, at := -1, int64(0)
	for i, s := range steps {
		from := max(int64(s.From), now)
		if (s.Until == 0 || from < int64(s.Until)) && (first < 0 || from < at) {
			first, at = i, from
		}
	}
	switch {
	case first < 0:
		m, _ = p.Wait(0)
		return m, -1
	case at == now:
		p.step()
		return Message{}, first
	}
	if m, ok := p.Wait(time.Duration(at - now)); ok {
		return m, -1
	}
	return Message{}, first
}

// Sleep blocks for d on the monotonic clock; d of 0 or less only yields.
func (p *Proc) Sleep(d time.Duration) {
	p.mustLive()
	if d <= 0 {
		p.Yield("sleep")
		return
	}
	if p.n.tested != nil {
		p.Yield("sleep")
	}
	p.waitFor(waitTime, d)
}

// waitFor blocks until what kind says comes, or the timeout. It is World.drive
// once more: after a switch of stacks a processor mispredicts every return, so
// that each frame between the switch and the process costs as much as 50
// instructions.
func (p *Proc) waitFor(kind waitKind, timeout time.Duration) bool {
	if p.here {
		p.mustNotBlock()
	}
	if p.n.tested != nil && !p.killed {
		p.n.tested.Stepped(p)
	}
	p.got = Message{}
	if kind == waitMail {
		if ok, done := p.look(timeout); done {
			return ok
		}
	}
	p.waiting, p.deadline = kind, 0
	if timeout > 0 {
		p.arm(timeout)
	}
	if p.driving { // the process recovers from a panic of the world
		p.unwind()
	}
	p.driving = true
	w, self, alive := p.w, p.c, true
	for alive {
		t := w.whose(self)
		if t == self {
			break
		}
		if !t.onChain {
			t.onChain = true
			t.resume()
		} else {
			self.onChain = false
			alive = self.suspend(struct{}{})
		}
	}
	p.driving = false
	if (!alive || p.killed) && !p.resting {
		p.unwind()
	}
	return p.gotIt
}

// arm sets the deadline of p's wait. The queue holds at most two live entries a
// task, one behind the other: one that rings too early is scheduled again, so that
// the timeouts of waits that ended in time cost nothing.
func (p *Proc) arm(timeout time.Duration) {
	w, clock := p.w, &p.n.clock
	p.deadline = after(clock.read(w.now), timeout)
	if c := w.cell(); c != nil {
		c.armed()
	}
	if p.alarm != 0 && clock.ppm == 0 && p.alarmAt <= w.now+int64(timeout) && w.cfg.Timing == Timed {
		return // as setAlarm finds, with less arithmetic
	}
	p.setAlarm()
}

// setAlarm sees to it that an entry for p comes in time for its deadline.
func (p *Proc) setAlarm() {
	if p.alarm != 0 && p.w.cfg.Timing == Timed {
		if p.alarmAt <= p.n.clock.when(p.w.now, p.deadline) {
			return
		}
		p.later, p.laterAt = p.alarm, p.alarmAt // that entry is of use again after this one
	}
	p.schedule()
}

// rang says that the entry of p's alarm is no longer in the queue.
func (p *Proc) rang() {
	p.alarm, p.alarmAt, p.later = p.later, p.laterAt, 0
}

// schedule enters p's deadline into the queue.
func (p *Proc) schedule() {
	w, n := p.w, p.n
	at := n.clock.when(w.now, p.deadline)
	w.schedule(entry{at: at, kind: atWake, proc: n.id, ref: p.slot})
	p.alarm, p.alarmAt = w.seq, at
}

// block lets the world go on until it is p's turn again.
func (p *Proc) block() { p.waitFor(waitNothing, 0) }

// mustLive takes a dead process's deferred call off its stack.
func (p *Proc) mustLive() {
	if p.w.live != p.living {
		p.mustHaveLived()
	}
}

//go:noinline
func (p *Proc) mustHaveLived() {
	if p.goneOrForeign() {
		p.unwind()
	}
}

// maxUnwinds is how often a dead task may ask for more. Each time its stack is
// unwound again; code that recovers from that in a loop would go on for ever.
const maxUnwinds = 1000

// unwind takes a dead task off its stack.
//
//go:noinline
func (p *Proc) unwind() {
	if p.w.wary > 0 || p.driving {
		p.mustBeInside()
	}
	if p.w.panic != nil {
		p.w.unwound(p)
	}
	if p.unwinds++; p.unwinds > maxUnwinds {
		p.w.abandon(p)
	}
	panic(unwind{p})
}

// gone reports whether p is dead, so that nothing that it does may reach the
// world. It refuses to serve any task but its own.
func (p *Proc) gone() bool {
	return p.w.live != p.living && p.goneOrForeign()
}

//go:noinline
func (p *Proc) goneOrForeign() bool {
	if p.killed {
		return true
	}
	p.mustBeInside()
	panic(Misuse(fmt.Sprintf("task %s was used by other code than its own: every task has a Proc and a context of its own, that its function is given; they must not be shared or kept", p.name)))
}

// Yield marks a place where the process may be paused, suspended or crash, and
// where another task of it may run first. The label names the place in
// schedules and reports.
func (p *Proc) Yield(label string) {
	p.mustLive()
	p.step()
	w, n := p.w, p.n
	count := n.yields
	if p.here && count >= p.yieldsTo {
		p.mustNotBlock()
	}
	n.yields++
	if sites := w.sites & yieldSites &^ n.spared; sites != 0 && (w.seeded == nil || w.seeded.strikesYield(n.id, count, sites)) {
		p.strike(count, label)
	}
	if w.script != nil {
		p.scripted(label)
	}
	if len(n.ready) > 0 {
		p.preempt(label)
	}
}

// step counts one step of a loop that might go on for ever without blocking.
func (p *Proc) step() {
	if p.w.spins() {
		p.limit()
	}
}

//go:noinline
func (p *Proc) limit() {
	p.w.tooManySteps(p, p)
	p.unwind()
}

const yieldSites = SiteSet(1<<SitePause | 1<<SiteSuspend | 1<<SiteStall | 1<<SiteCrash)

// strike asks what befalls p at a yield.
func (p *Proc) strike(count uint32, label string) {
	w, n := p.w, p.n
	if k := w.choose(n, SiteCrash, count, w.strikes(SiteCrash)+1, label); k > 0 {
		if n.tested != nil {
			n.tested.Stepped(p)
		}
		n.crash(w.duration(w.cfg.Restarts, k), p, label)
		panic(unwind{p})
	}
	if k := w.choose(n, SitePause, count, w.strikes(SitePause)+1, label); k > 0 {
		p.frozenFor(w.duration(w.cfg.Pauses, k), false, label)
	}
	if k := w.choose(n, SiteSuspend, count, w.strikes(SiteSuspend)+1, label); k > 0 {
		p.frozenFor(w.duration(w.cfg.Suspends, k), true, label)
	}
	if n.handler == nil && len(n.tasks) < 2 {
		return // stalling the only task is pausing the process
	}
	if k := w.choose(n, SiteStall, count, w.strikes(SiteStall)+1, label); k > 0 {
		p.mustBeInside()
		d := w.duration(w.cfg.Stalls, k)
		w.note(Note{Kind: NoteStall, Proc: n.id, For: d, Label: label})
		p.waitFor(waitTime, time.Duration(max(d, 1)))
	}
}

// frozenFor freezes the process of the running task p for d.
func (p *Proc) frozenFor(d int64, suspend bool, label string) {
	p.mustBeInside()
	p.n.freeze(d, suspend, label)
	p.gotIt = false
	p.n.ready = slices.Insert(p.n.ready, 0, p)
	p.block()
}

// preempt asks whether another ready task of the process goes first.
func (p *Proc) preempt(label string) {
	n := p.n
	k := p.w.choose(n, SiteTask, n.picks, len(n.ready)+1, label)
	n.picks++
	if k == 0 {
		return
	}
	other := n.ready[k-1]
	copy(n.ready[1:k], n.ready[:k-1])
	n.ready[0] = other
	n.makeReady(p)
	p.gotIt = false
	n.forced = true
	p.block()
}

// Choose answers a choice of the process's own, from 0 to n-1; the label is for
// people. n below 1 counts as 1.
func (p *Proc) Choose(label string, n int) int {
	if p.gone() {
		return 0
	}
	k := p.w.choose(p.n, SiteUser, p.n.users, n, label)
	p.n.users++
	return k
}

// Go starts another task of the process: a second line of execution that shares
// its memory, crash, pause and clocks. Which ready task runs next is a choice.
func (p *Proc) Go(name string, fn func(p *Proc)) {
	if p.gone() {
		return
	}
	p.n.newTask(name).fn = fn
}

// After hands body to the process's own Handler, or mailbox, after d on the
// monotonic clock, unless the process crashes first. The message has Timer set.
func (p *Proc) After(d time.Duration, body any) {
	if p.gone() {
		return
	}
	w, n := p.w, p.n
	w.checkBody(body)
	f := w.newFlight(&Message{From: n.id, To: n.id, Timer: true, Body: body})
	w.flights[f].incarnation = n.incarnation
	w.flights[f].deadline = after(n.clock.read(w.now), d)
	if c := w.cell(); c != nil {
		c.armed()
	}
	w.schedule(entry{at: n.clock.when(w.now, w.flights[f].deadline), kind: atTimer, proc: n.id, ref: f})
}

// Serial returns a number that no other call in the run gets, from 1. It depends
// on the process and its earlier calls alone. It names things, such as operations;
// nothing may be decided by it.
func (p *Proc) Serial() int64 {
	if p.gone() {
		return 0
	}
	n := p.n
	n.serials++
	if c := p.w.cell(); c != nil {
		c.numbered(n.serials)
	}
	return (n.serials-1)*int64(p.w.count) + int64(n.id) + 1
}

// Observe reports o to the world's [Observer], stamped with its place, the true
// time and the process's name.
func (p *Proc) Observe(o Observation) {
	if p.gone() {
		return
	}
	w := p.w
	w.index++
	o.Stamp(w.index, w.now, p.n.name)
	if !w.cfg.NoDigest {
		w.digest = o.Fold(mix(w.digest, uint64(p.n.id)))
	}
	if w.observer != nil {
		w.observer.Observe(o)
	}
}

// Get returns the latest value that the process put on its disk under key.
func (p *Proc) Get(key string) (any, bool) {
	if p.gone() {
		return nil, false
	}
	p.lookAtDisk()
	v, ok := p.n.disk.Get(key)
	if c := p.w.cell(); c != nil {
		c.loaded(v, ok)
	}
	return v, ok
}

// Checkpoint declares to an exhaustive search that the task's future depends on
// nothing but v, a plain comparable value, the process's disk, the messages that
// wait for it, and where the task stands: the return addresses of its stack. So
// v holds the loop variables, the arguments of callers and, where several tasks
// share memory, what they share. Two histories that come to the same checkpoint
// count as one from there on. The search runs some of them on side by side and
// reports a checkpoint that forgets something. In a run by itself
// Checkpoint does nothing.
func (p *Proc) Checkpoint(v any) {
	if p.gone() {
		return
	}
	p.w.checkBody(v)
	if c := p.w.cell(); c != nil {
		c.checkpoint(p, v)
	}
}

// Put writes a plain comparable value to the disk's cache; a crash may lose it
// until Sync.
func (p *Proc) Put(key string, value any) {
	if p.gone() {
		return
	}
	p.w.checkBody(value)
	r := p.n.disk.put(p.mark)
	r.key, r.value = key, value
}

// Remove takes key off the disk, with the same durability as Put.
func (p *Proc) Remove(key string) {
	if p.gone() {
		return
	}
	r := p.n.disk.put(p.mark)
	r.key, r.gone = key, true
}

// Append adds a plain comparable value to the end of the disk's log, with the
// same durability as Put.
func (p *Proc) Append(value any) {
	if p.gone() {
		return
	}
	p.w.checkBody(value)
	r := p.n.disk.put(p.mark)
	r.log, r.value = true, value
}

// Sync makes everything put so far durable. The process may crash just before.
func (p *Proc) Sync() {
	p.Yield("sync")
	p.n.disk.sync(len(p.n.disk.pending))
}

// Disk returns the process's disk, to be read.
func (p *Proc) Disk() *Disk {
	p.lookAtDisk()
	if c := p.w.cell(); c != nil {
		c.looked()
	}
	return &p.n.disk
}

// Explored reports whether an exhaustive search is running the process, so that
// the value of a checkpoint is built only then. Nothing else may depend on it.
func (p *Proc) Explored() bool { return p.w.cell() != nil }
