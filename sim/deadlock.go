package sim

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// Deadlock is the Value of the [Panic] of a process whose tasks wait for locks that
// will never be unlocked: each for the next, in a circle, or for a task that has ended.
type Deadlock struct{ waits []*waiting }

// waiting is a task that waits for a lock, and who has the lock.
type waiting struct {
	p       *Proc
	task    string
	where   string // it waits; empty until its stack was unwound
	holder  string
	locked  string // where the holder locked it; known in recorded runs alone
	forever bool   // the holder has ended
}

func (d *Deadlock) Error() string {
	var b strings.Builder
	for i, w := range d.waits {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s waits%s for a lock that ", w.task, at(w.where))
		switch {
		case w.forever:
			fmt.Fprintf(&b, "%s locked%s and did not unlock before it ended", w.holder, at(w.locked))
		case w.p == d.waits[(i+1)%len(d.waits)].p:
			fmt.Fprintf(&b, "it has itself%s", since(w.locked))
		default:
			fmt.Fprintf(&b, "%s has%s", w.holder, since(w.locked))
		}
	}
	return b.String()
}

func at(line string) string {
	if line == "" {
		return ""
	}
	return " at " + line
}

func since(line string) string {
	if line == "" {
		return ""
	}
	return " since " + line
}

// who names p by its task, and by what it serves.
func (p *Proc) who() string {
	name := "task " + p.name
	if body, ok := p.msg.Body.(fmt.Stringer); ok && p.name == "handle" {
		name += " of " + body.String()
	}
	return name
}

// keep notes which task locks m, and where, for the report of a run that is recorded.
func (m *Mutex) keep(p *Proc) { m.locker, m.locked = p.who(), where() }

// stuck returns why p, which waits for m without a limit, waits for ever, or nil if it may
// still get the lock.
func (p *Proc) stuck(m *Mutex) *Deadlock {
	d := &Deadlock{}
	for {
		w := &waiting{p: p, task: p.who(), holder: "a task", locked: m.locked}
		d.waits = append(d.waits, w)
		next := p.n.numbered(m.owner, d.waits[0].p)
		if next == nil {
			if w.forever = true; m.locker != "" {
				w.holder = m.locker
			}
			return d
		}
		w.holder = next.who()
		for _, before := range d.waits {
			if before.p == next {
				return d
			}
		}
		if next.waiting != waitLock || next.deadline != 0 {
			return nil
		}
		p, m = next, next.lock
	}
}

// numbered returns the task of a number if it has not ended, else nil. It may be self.
func (n *process) numbered(number uint64, self *Proc) *Proc {
	if self.number == number {
		return self
	}
	for _, p := range n.tasks {
		if p.number == number {
			return p
		}
	}
	return nil
}

// leftLocked ends the run if a task waits for a lock that p, which has ended, did not
// unlock.
func (n *process) leftLocked(p *Proc) {
	for _, q := range n.tasks {
		if q.waiting == waitLock && q.deadline == 0 && q.lock.owner == p.number {
			if d := q.stuck(q.lock); d != nil {
				n.w.locked(q, nil, d)
				return
			}
		}
	}
}

// locked makes a deadlock the outcome of the run; self is p if it is running.
func (w *World) locked(p, self *Proc, d *Deadlock) {
	w.panicked(p.n, p.name, self, d, nil)
}

// unwound completes the report of a deadlock by where p waits, whose stack is at hand.
func (w *World) unwound(p *Proc) {
	d, ok := w.panic.Value.(*Deadlock)
	if !ok {
		return
	}
	for _, x := range d.waits {
		if x.p == p && x.where == "" {
			x.where = where()
			w.panic.Stack += ownStack(string(debug.Stack()))
		}
	}
}
