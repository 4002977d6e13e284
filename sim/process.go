package sim

import (
	"runtime/debug"
	"slices"
)

// Runner is a process that is one line of execution from start to end. The world
// is over when every Runner has returned and no message is on its way.
type Runner interface{ Run(p *Proc) }

// Handler is a process that serves messages, each in a task of its own, as real
// servers do: where one request yields, sleeps or calls, another may go on.
// A Handler that is also a [Starter] is started first.
type Handler interface{ Handle(p *Proc, m Message) }

// Starter is a [Handler] that has work to do, such as reading its disk, before it
// serves the first message of an incarnation.
type Starter interface{ Start(p *Proc) }

// Tested is a [Handler] of code under test. Each of its calls that block (Sleep, Call,
// Mutex.Lock) is a place as a [Proc.Yield] is, where a task may stall or crash.
type Tested interface {
	Handler
	// Stepped is called at the end of each step of one of its tasks, p: just before
	// others may go on, or a crash takes the memory.
	Stepped(p *Proc)
}

// process is a machine: memory, tasks, clocks, a disk, a network address.
type process struct {
	w    *World
	id   ID
	name string

	newRunner  func() Runner
	newHandler func() Handler
	handler    Handler
	tested     Tested  // the handler, if it is one
	spared     SiteSet // faults that never strike it

	up          bool
	frozen      bool
	brief       bool // its handler is Brief
	starting    bool // a Starter has not finished: messages wait
	queued      bool // in World.runnable
	forced      bool // ready[0] was chosen already
	finished    bool // its Runner has returned
	incarnation int32
	// yieldsAtMost is what a Brief handler declares.
	yieldsAtMost uint32
	life         uint64 // the number of this incarnation among all of the world's runs
	thaw         int64  // when it resumes, while frozen

	clock   clock
	disk    Disk
	tasks   []*Proc
	ready   []*Proc
	mailbox []Message

	// Counts of choices met, by what the sites of a group share.
	sends, yields, picks, users, reads, crashes uint32
	calls, serials                              int64

	ledger any // see Proc.Ledger
}

// unwind is the panic value that takes a task of a dead process off its stack.
type unwind struct{ p *Proc }

// Error is what is printed if nothing recovers from it: on a goroutine that is
// none of the simulator's.
func (u unwind) Error() string { return u.p.lastWords(u.p.straying()).Error() }

// waitKind says what a blocked task waits for.
type waitKind uint8

const (
	waitNothing waitKind = iota
	waitMail
	waitCall
	waitTime
	waitLock
)

// newTask returns a ready task of n; the caller says what it runs.
func (n *process) newTask(name string) *Proc {
	w := n.w
	var p *Proc
	if k := len(w.freeTasks); k > 0 {
		p = w.freeTasks[k-1]
		w.freeTasks = w.freeTasks[:k-1]
		p.reused = true
	} else {
		p = &Proc{w: w, slot: int32(len(w.slots))}
		p.ctx.p = p
		w.slots = append(w.slots, p)
	}
	w.tasks++
	p.n, p.name, p.number = n, name, w.tasks
	if c := w.cell(); c != nil {
		c.newTask(p)
	}
	n.tasks = append(n.tasks, p)
	n.makeReady(p)
	return p
}

func (n *process) makeReady(p *Proc) {
	n.ready = append(n.ready, p)
	if !n.queued {
		n.enqueue()
	}
}

// enqueue puts n among the processes that can run, if it can.
func (n *process) enqueue() {
	if !n.queued && n.up && !n.frozen && len(n.ready) > 0 {
		n.queued = true
		n.w.runnable = append(n.w.runnable, n)
	}
}

// start begins an incarnation. It runs on the stack of whoever drives the world:
// a panic of the factory is the process's own all the same.
func (n *process) start() {
	if n.w.over {
		return
	}
	made := false
	defer func() {
		if r := recover(); r != nil || !made {
			n.w.panicked(n, "factory", nil, r, debug.Stack())
		}
	}()
	n.w.pulse(n)
	n.up = true
	n.w.lives++
	n.life = n.w.lives
	if c := n.w.cell(); c != nil && !c.begins(n) {
		made = true
		return
	}
	if n.newRunner != nil {
		r := n.newRunner()
		made = true
		n.newTask("main").runner = r
		return
	}
	n.handler = n.newHandler()
	made = true
	n.tested, _ = n.handler.(Tested)
	if b, ok := n.handler.(Brief); ok {
		n.brief, n.yieldsAtMost = true, uint32(max(b.Yields(), 0))
	}
	if s, ok := n.handler.(Starter); ok {
		n.starting = true
		n.newTask("start").starter = s
	}
}

// started lets the messages in that waited for a Starter.
func (n *process) started() {
	n.starting = false
	for i := range n.mailbox {
		n.handle(&n.mailbox[i])
	}
	n.mailbox = n.mailbox[:0]
}

// handle serves m in a task of its own. Nothing else runs at the moment that a
// message arrives, so that a task which cannot block may run at once.
func (n *process) handle(m *Message) {
	if n.w.runsHere(n) {
		n.handleHere(m)
		return
	}
	n.newTask("handle").msg = *m
}

// accept hands an arrived message to whoever waits for it.
func (n *process) accept(m *Message) {
	switch {
	case m.Reply:
		for _, p := range n.tasks {
			if p.waiting == waitCall && p.call == m.Call {
				p.got = *m
				p.wakeAlone(true)
				return
			}
		} // nobody waits any more: a late reply or a copy
	case n.handler != nil && !n.starting:
		n.handle(m)
	case n.handler != nil:
		n.mailbox = append(n.mailbox, *m)
	default:
		for _, p := range n.tasks {
			if p.waiting == waitMail {
				p.got = *m
				p.wakeAlone(true)
				return
			}
		}
		n.mailbox = append(n.mailbox, *m)
	}
}

// wake ends p's wait; ok says that what it waited for came.
func (p *Proc) wake(ok bool) {
	p.waiting = waitNothing
	p.gotIt = ok
	p.n.makeReady(p)
}

// wakeAlone is wake for a task that an event of the world wakes: no task is ready
// then, and this one runs at once if its process can run.
func (p *Proc) wakeAlone(ok bool) {
	if p.n.frozen || p.n.w.script != nil {
		p.wake(ok)
		return
	}
	p.waiting = waitNothing
	p.gotIt = ok
	p.n.w.alone = p
}

// kill ends all tasks of n but self, which ends itself.
func (n *process) kill(self *Proc) {
	for _, p := range n.tasks {
		p.die()
		p.waiting = waitNothing
		switch {
		case p == self:
		case p.c == nil: // never ran
			n.w.free(p)
		default:
			n.w.doomed = append(n.w.doomed, p)
			n.w.unusual = true
		}
	}
	n.tasks = n.tasks[:0]
	n.ready = n.ready[:0]
	n.mailbox = n.mailbox[:0]
	n.starting = false
}

// die makes p a dead task.
func (p *Proc) die() { p.killed, p.living = true, nil }

// free returns the record of a task that has ended.
func (w *World) free(p *Proc) {
	p.living, p.c, p.fn, p.ctxFn, p.runner, p.starter = nil, nil, nil, nil, nil, nil // p.n still tells whose it was
	p.got, p.mark, p.lock = Message{}, nil, nil                                      // of a wait that a crash ended
	p.killed, p.resting, p.driving, p.returned, p.unwinds = false, false, false, false, 0
	p.steps = p.steps[:0]
	p.alarm, p.later = 0, 0
	if w.wary > 0 {
		w.resting = append(w.resting, p)
		return
	}
	w.freeTasks = append(w.freeTasks, p)
}

// main runs the task on its coroutine.
func (p *Proc) main() {
	defer p.end()
	switch {
	case p.runner != nil:
		p.runner.Run(p)
	case p.starter != nil:
		p.starter.Start(p)
		if !p.killed {
			p.n.started()
		}
	case p.fn != nil:
		p.fn(p)
	case p.ctxFn != nil:
		p.ctxFn(&p.ctx)
	default:
		p.n.handler.Handle(p, p.msg)
	}
	if p.n.tested != nil && !p.killed {
		p.n.tested.Stepped(p)
	}
	p.returned = true
	if p.runner != nil && !p.killed {
		p.n.finished = true
		p.w.running--
	}
	if p.driving {
		panic("a panic of the observer or chooser was recovered from by a process")
	}
}

// end takes the task off its process; a panic that is not the unwinding of a
// dead process becomes the run's outcome, and so does runtime.Goexit.
func (p *Proc) end() {
	w, n := p.w, p.n
	r := recover()
	switch {
	case r == nil && p.returned:
	case p.driving && r != nil:
		w.breakDown(p, r)
	case !p.killed:
		w.panicked(n, p.name, p, r, debug.Stack())
	}
	if r == nil && !p.returned {
		w.leave(p)
		return
	}
	if !p.killed {
		n.forget(p)
		n.leftLocked(p)
	}
	w.free(p)
}

// forget takes p off the tasks of n: mostly it is the last.
func (n *process) forget(p *Proc) {
	last := len(n.tasks) - 1
	if last >= 0 && n.tasks[last] == p {
		n.tasks = n.tasks[:last]
	} else if i := slices.Index(n.tasks, p); i >= 0 {
		n.tasks = slices.Delete(n.tasks, i, i+1)
	}
}

// freeze stops n until it thaws after d.
func (n *process) freeze(d int64, suspend bool, label string) {
	w := n.w
	kind := NotePause
	if suspend {
		kind = NoteSuspend
		n.clock.piece(w.now)
		n.clock.stopped = true
	}
	n.frozen = true
	n.thaw = w.now + d
	w.note(Note{Kind: kind, Proc: n.id, For: d, Label: label})
	w.schedule(entry{at: n.thaw, kind: atResume, proc: n.id})
}

// thawed ends a freeze; a clock that stood still goes on from where it stood.
func (n *process) thawed() {
	n.frozen = false
	if n.clock.stopped && n.w.cfg.Timing == Timed {
		n.clock.since = n.w.now
		n.clock.stopped = false
	}
}

func (n *process) resume() {
	n.thawed()
	n.w.note(Note{Kind: NoteResume, Proc: n.id})
	n.enqueue()
}

// crash loses memory, tasks and what the disk had not synced; the process
// starts again after d. self is its task that is running, if one is.
func (n *process) crash(d int64, self *Proc, label string) {
	w := n.w
	n.up = false
	n.incarnation++
	n.thawed()
	w.note(Note{Kind: NoteCrash, Proc: n.id, For: d, Label: label})
	if n.finished {
		n.finished = false
		w.running++
	}
	n.kill(self)
	n.disk.crash(w.choose(n, SiteDisk, n.crashes, len(n.disk.pending)+1, label))
	n.crashes++
	n.handler, n.tested = nil, nil
	if w.cell() != nil {
		n.ledger = nil // what a search knows of a process is its disk
	}
	w.schedule(entry{at: w.now + d, kind: atRestart, proc: n.id})
}
