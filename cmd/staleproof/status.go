package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// status tells how long work goes on: one line that is written over on a
// terminal, a line every ten seconds elsewhere. It goes to stderr.
type status struct {
	w   io.Writer
	tty bool
	off bool

	mu    sync.Mutex
	what  string
	since time.Time // when this work began
	next  time.Time // when to say something again
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
	if s.next.IsZero() || s.tty {
		s.next = s.since.Add(s.interval(firstStatus))
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
	if s.off {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Before(s.next) {
		return
	}
	s.next = now.Add(s.interval(everyStatus))
	took := now.Sub(s.since)
	line := fmt.Sprintf("%s: %s, %s/s", s.what, number(schedules, "schedule"), count(int64(float64(schedules)/took.Seconds())))
	if s.tty {
		fmt.Fprintf(s.w, "\r\x1b[K%.79s", line)
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
