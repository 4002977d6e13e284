package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// clerk waits to be told what to write, and says how that went.
func clerk(p *Proc) {
	for {
		m, _ := p.Wait(0)
		say(p, "told %v", m.Body)
		p.Yield("before the write")
		reply, err := p.Call(p.Peer("store"), m.Body, 50*milli)
		say(p, "%v %v", reply, err)
	}
}

// store keeps the last value in memory and on its disk, and counts the seconds.
type keeper struct{ last any }

func (k *keeper) Start(p *Proc) {
	k.last, _ = p.Get("last")
	say(p, "open with %v", k.last)
	p.After(time.Second, "second")
}

func (k *keeper) Handle(p *Proc, m Message) {
	if m.Timer {
		say(p, "%v", m.Body)
		return
	}
	say(p, "write %v over %v", m.Body, k.last)
	k.last = m.Body
	p.Put("last", m.Body)
	p.Sync()
	p.Reply(m, "ok")
}

func is(body any) func(any) bool { return func(b any) bool { return b == body } }

// TestScript: a directed scenario, step by step.
func TestScript(t *testing.T) {
	heard := &tape{kinds: NoteSet(0).With(NoteDrop, NoteCrash, NoteRestart, NotePause, NoteResume)}
	w := NewWorld(Config{Latency: milli}, Calm{}, heard)
	defer w.Close()
	s := w.Script()
	a, b := spawn(w, "A", clerk), spawn(w, "B", clerk)
	st := w.Serve("store", func() Handler { return &keeper{} })
	step := func(lines string) {
		t.Helper()
		if lines == "" {
			if len(heard.lines) > 0 {
				t.Fatalf("heard %q, want nothing", heard)
			}
			return
		}
		diffTape(t, heard, lines)
		heard.lines = nil
		if t.Failed() {
			t.FailNow()
		}
	}

	s.Settle()
	step(`0 store: open with <nil>`)
	s.Tell(a, 10)
	step(`
		0 A: told 10
		1 store: write 10 over <nil>
		2 A: ok <nil>`)

	s.Hold(a, st, is(11))
	s.Tell(a, 11)
	step(`2 A: told 11`)
	if !s.Holding(a, is(11)) || s.Holding(b, is(11)) || s.Holding(a, is(12)) {
		t.Error("Holding does not know what is held")
	}
	s.Tell(b, 20)
	step(`
		2 B: told 20
		3 store: write 20 over 10
		4 B: ok <nil>`)
	if s.Deliver(b, is(11)) || s.Deliver(a, is(20)) {
		t.Error("delivered a message that is not held")
	}
	if !s.Deliver(a, is(11)) || s.Holding(a, is(11)) || s.Deliver(a, is(11)) {
		t.Error("the held message was not delivered once")
	}
	step(`
		5 store: write 11 over 20
		6 A: ok <nil>`)
	s.Tell(a, 11) // a hold holds once
	step(`
		6 A: told 11
		7 store: write 11 over 11
		8 A: ok <nil>`)

	s.PauseAt(b, "before the write")
	s.Tell(b, 21)
	step(`
		8 B: told 21
		8 1 pause at before the write`)
	if !s.Paused(b) || s.Paused(a) {
		t.Error("Paused does not know who is paused")
	}
	s.Advance(100 * milli)
	if w.Now() != int64(108*milli) {
		t.Errorf("after 100 ms it is %d", w.Now())
	}
	step(``)
	s.Tell(a, 12)
	step(`
		108 A: told 12
		109 store: write 12 over 11
		110 A: ok <nil>`)
	s.Resume(b)
	s.Resume(b) // it is running: nothing
	step(`
		110 1 resume
		111 store: write 21 over 12
		112 B: ok <nil>`)

	s.Hold(b, st, is(22))
	s.Tell(b, 22)
	s.Advance(49 * milli)
	step(`112 B: told 22`)
	s.Advance(milli)
	step(`162 B: <nil> sim: no reply in time`)

	s.Crash(st, 500*milli)
	s.Crash(st, time.Millisecond) // down already
	step(`162 2 crash for 500000000`)
	s.Tell(st, "unheard")
	s.Tell(a, 13)
	step(`
		162 A: told 13
		163 0 drop 2 13 at down`)
	s.Advance(400 * milli)
	step(`212 A: <nil> sim: no reply in time`)
	s.Advance(100 * milli)
	step(`
		662 2 restart
		662 store: open with 21`)
	s.Tell(st, "heard")
	step(`663 store: heard`)
	s.Deliver(b, is(22)) // from before the crash
	step(`664 store: write 22 over 21`)
	s.Advance(time.Hour)
	step(`1662 store: second`)

	r := s.End()
	if r.End != EndDone || r.Time != int64(time.Hour+665*milli) || r.Digest == 0 {
		t.Errorf("ended with %+v", r)
	}
	s.Tell(a, 99)
	s.Crash(a, milli)
	s.Resume(b)
	s.Advance(time.Second)
	step(``)
	if again := s.End(); again.Digest != r.Digest {
		t.Error("a script goes on after its end")
	}
}

// TestScriptTimersOnTheWay: timers ring in a step only if they come before a
// message that is on its way.
func TestScriptTimersOnTheWay(t *testing.T) {
	heard := remarks()
	w := NewWorld(Config{Latency: 10 * milli}, Calm{}, heard)
	defer w.Close()
	s := w.Script()
	spawn(w, "P", func(p *Proc) {
		p.Go("ticker", func(p *Proc) {
			for {
				p.Sleep(4 * milli)
				say(p, "tick")
			}
		})
		for {
			m, _ := p.Wait(0)
			p.Send(p.ID(), "to myself")
			say(p, "%v", m.Body)
			m, _ = p.Wait(0)
			say(p, "%v", m.Body)
		}
	})
	s.Settle()
	if len(heard.lines) > 0 {
		t.Errorf("a timer rang while nothing was on its way: %s", heard)
	}
	s.Tell(0, "go")
	diffTape(t, heard, `
		0 P: go
		4 P: tick
		8 P: tick
		10 P: to myself`)
	s.End()
}

// TestScriptPauseKeepsTheClock: a pause and a crash during it leave the monotonic
// clock running.
func TestScriptPauseKeepsTheClock(t *testing.T) {
	heard := remarks()
	w := NewWorld(Config{}, Calm{}, heard)
	defer w.Close()
	s := w.Script()
	p := spawn(w, "P", func(p *Proc) {
		say(p, "%v", p.Now())
		p.Sleep(milli)
		p.Yield("here")
		say(p, "%v", p.Now())
	})
	s.PauseAt(p, "here")
	s.Advance(30 * milli)
	s.Crash(p, 5*milli)
	if s.Paused(p) {
		t.Error("paused while it is down")
	}
	s.Advance(10 * milli)
	diffTape(t, heard, `
		0 P: 0s
		35 P: 35ms
		36 P: 36ms`)
	s.End()
}

// TestOldThaw: the end of a freeze that a crash cut short does not end the next.
func TestOldThaw(t *testing.T) {
	heard := &tape{kinds: NoteSet(0).With(NotePause, NoteResume, NoteCrash, NoteRestart)}
	cfg := Config{Pauses: []time.Duration{20 * milli, 40 * milli}}
	w := NewWorld(cfg, replaying(t, "P/pause#0=1 P/pause#1=2", "P"), heard)
	defer w.Close()
	s := w.Script()
	p := spawn(w, "P", func(p *Proc) {
		p.Yield("here")
		say(p, "on")
	})
	s.Settle()
	s.Advance(5 * milli)
	s.Crash(p, milli)
	s.Advance(time.Second)
	s.End()
	diffTape(t, heard, `
		0 0 pause for 20000000 at here
		5 0 crash for 1000000
		6 0 restart
		6 0 pause for 40000000 at here
		46 0 resume
		46 P: on`)
}

// TestScriptFindings: a panic and a limit end a script's run.
func TestScriptFindings(t *testing.T) {
	w := NewWorld(Config{MaxEvents: 10}, Calm{}, nil)
	defer w.Close()
	for _, x := range []struct {
		f    func(p *Proc)
		want End
	}{
		{func(p *Proc) { p.Wait(0); panic("told") }, EndPanic},
		{func(p *Proc) {
			for {
				p.Sleep(milli)
			}
		}, EndLimit},
	} {
		w.Reset(Config{MaxEvents: 10}, Calm{}, nil)
		s := w.Script()
		id := spawn(w, "P", x.f)
		s.Settle()
		s.Tell(id, 1)
		s.Advance(time.Second)
		if r := s.End(); r.End != x.want {
			t.Errorf("ended with %s, want %s", r.End, x.want)
		}
	}
}

// TestScriptOfAnyTiming: a script loses nothing that happens in a world where time
// does not say what is next.
func TestScriptOfAnyTiming(t *testing.T) {
	for _, timing := range []Timing{Timed, Untimed, Bounded} {
		w := NewWorld(Config{Timing: timing, Latency: milli}, Calm{}, nil)
		defer w.Close()
		var told []string
		spawn(w, "A", func(p *Proc) {
			for i := range 3 {
				v, err := p.Call(1, i, time.Second)
				told = append(told, fmt.Sprint(v, " ", err))
			}
			p.Sleep(time.Second)
			told = append(told, "slept")
		})
		serve(w, "S", func(p *Proc, m Message) { p.Reply(m, 10+m.Body.(int)) })
		s := w.Script()
		s.Settle()
		want := []string{"10 <nil>", "11 <nil>", "12 <nil>"}
		if !slices.Equal(told, want) {
			t.Errorf("%s, settled: expected %q, found %q", timing, want, told)
		}
		if timing == Bounded {
			continue // it ticks for ever
		}
		s.Advance(2 * time.Second)
		if want = append(want, "slept"); !slices.Equal(told, want) {
			t.Errorf("%s, later: expected %q, found %q", timing, want, told)
		}
	}
}
