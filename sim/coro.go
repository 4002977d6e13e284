package sim

import "iter"

// coro is a coroutine that runs tasks, one after another. Coroutines are reused
// from task to task and from run to run.
//
// There is no scheduler of its own to switch back to: whoever blocks drives the
// world from its own stack (drive) until it is its turn again, and resumes
// others from there. The coroutines that were resumed this way and have not
// handed the stack back form a chain; the world's caller is its base. An event
// then costs about one switch instead of two, and none when the process that
// blocks is the one that goes on.
type coro struct {
	w       *World
	task    *Proc // what it runs
	resume  func() (struct{}, bool)
	stop    func()
	suspend func(struct{}) bool
	onChain bool
	dead    bool // its goroutine has ended: Close, a panic of the world's observer, or runtime.Goexit
}

// newCoro returns a coroutine that has not started.
func (w *World) newCoro() *coro {
	c := &coro{w: w}
	c.resume, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() { c.dead = true }()
		c.suspend = yield
		if w.watched {
			w.beat.Join()
		}
		w.turn, w.live = nil, c // it was its turn to start
		for {
			c.task.main()
			c.task = nil
			w.idle = append(w.idle, c)
			if !w.drive(c) {
				return
			}
		}
	})
	return c
}

// drive runs the world from the stack of self until it is self's turn. It
// returns false when the world was closed meanwhile. Proc.waitFor does the same.
func (w *World) drive(self *coro) bool {
	for {
		t := w.whose(self)
		if t == self {
			return true
		}
		if !t.onChain {
			t.onChain = true
			t.resume()
		} else if self.onChain = false; !self.suspend(struct{}{}) { // further down: hand the stack back
			return false
		}
	}
}

// whose lets the world go on until it is a coroutine's turn, and returns it;
// self, if it is that, goes on.
func (w *World) whose(self *coro) *coro {
	t := w.turn
	if t == nil {
		t = w.next()
	}
	if t != self {
		w.turn = t
		return t
	}
	w.turn, w.live = nil, self
	return t
}
