package main

import (
	"fmt"
	"io"
	"strings"
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
	s.what, s.since = onLine(what), time.Now()
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
	s.tell(func(count func(int64) string) []string {
		rate := float64(schedules) / time.Since(s.since).Seconds()
		return []string{plural(schedules, count, "schedule"), count(int64(rate)) + "/s"}
	})
}

// tell writes the items that list returns behind the name of the work, if it is
// time to: on a terminal as many as fit, with short numbers.
func (s *status) tell(list func(count func(int64) string) []string) {
	now := time.Now()
	next := s.next.Load()
	if s.off || now.UnixNano() < next || !s.next.CompareAndSwap(next, now.Add(s.interval(everyStatus)).UnixNano()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty {
		fmt.Fprintf(s.w, "\r\x1b[K%s", s.fit(list(brief)))
		s.shown = true
		return
	}
	fmt.Fprintf(s.w, "%s: %s\n", s.what, strings.Join(list(count), ", "))
}

// fit puts items on one line that does not wrap.
func (s *status) fit(items []string) string {
	const columns = width - 1 // the last column makes some terminals wrap
	line := fmt.Sprintf("%.*s: %s", columns/2, s.what, items[0])
	for _, item := range items[1:] {
		if len(line)+len(", ")+len(item) > columns {
			break
		}
		line += ", " + item
	}
	return line
}

// brief writes a number in at most four characters.
func brief(n int64) string {
	unit := ""
	x := float64(n)
	for _, u := range []string{"k", "M", "G", "T"} {
		if x < 999.5 {
			break
		}
		x, unit = x/1000, u
	}
	if unit != "" && x < 9.95 {
		return fmt.Sprintf("%.1f%s", x, unit)
	}
	return fmt.Sprintf("%.0f%s", x, unit)
}

// plural writes a number and a noun.
func plural(n int64, count func(int64) string, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
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
