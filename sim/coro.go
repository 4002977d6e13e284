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
// returns false when the world was closed meanwhile.
func (w *World) drive(self *coro) bool {
	for {
		if w.turn == nil {
			w.turn = w.next()
		}
		switch t := w.turn; {
		case t == self:
			w.turn, w.live = nil, self
			return true
		case t.onChain: // further down: hand the stack back
			self.onChain = false
			if !self.suspend(struct{}{}) {
				return false
			}
		default:
			t.onChain = true
			t.resume()
		}
	}
}
