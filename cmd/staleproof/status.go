package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// status tells how long work goes on: one line that is written over on a
// terminal, a line every ten seconds elsewhere. It goes to stderr.
type status struct {
	w   io.Writer
	tty bool
	off bool

	next atomic.Int64 // when to say something again, in ns of Unix time: no lock until then

	mu    sync.Mutex
	what  string
	since time.Time // when this work began
	shown bool      // a line stands on the terminal
}

const (
	firstStatus = 300 * time.Millisecond
	everyStatus = 100 * time.Millisecond
	everyLine   = 10 * time.Second
)

// begin starts to tell of one piece of work.
func (s *status) begin(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.since = what, time.Now()
	if s.next.Load() == 0 || s.tty {
		s.next.Store(s.since.Add(s.interval(firstStatus)).UnixNano())
	}
}

func (s *status) interval(onTerminal time.Duration) time.Duration {
	if s.tty {
		return onTerminal
	}
	return everyLine
}

// progress is called by several goroutines, with counts that may go back.
func (s *status) progress(schedules, events int64) {
	s.tell(79, func() string {
		took := time.Since(s.since)
		return fmt.Sprintf("%s, %s/s", number(schedules, "schedule"), count(int64(float64(schedules)/took.Seconds())))
	})
}

// tell writes what text returns behind the name of the work, if it is time to, and
// on a terminal no more than that many columns of it.
func (s *status) tell(columns int, text func() string) {
	now := time.Now()
	next := s.next.Load()
	if s.off || now.UnixNano() < next || !s.next.CompareAndSwap(next, now.Add(s.interval(everyStatus)).UnixNano()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.what + ": " + text()
	if s.tty {
		fmt.Fprintf(s.w, "\r\x1b[K%.*s", columns, line)
		s.shown = true
		return
	}
	fmt.Fprintf(s.w, "%s\n", line)
}

// clear takes the line off the terminal.
func (s *status) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// done ends what is told.
func (s *status) done() { s.clear() }
