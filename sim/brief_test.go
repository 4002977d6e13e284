package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// teller is a Brief handler: it locks, yields, syncs and replies.
type teller struct {
	mu  *Mutex
	sum int64
}

func (b *teller) Yields() int { return 2 }

func (b *teller) Start(p *Proc) {
	if v, ok := p.Get("sum"); ok {
		b.sum = v.(int64)
	}
}

func (b *teller) Handle(p *Proc, m Message) {
	ctx := p.Context()
	if m.Timer {
		say(p, "tick at %d", b.sum)
		return
	}
	b.mu.Lock(ctx)
	p.Yield("locked")
	b.sum += m.Body.(int64)
	p.Put("sum", b.sum)
	p.Sync()
	if b.sum%3 == 0 {
		p.After(5*milli, "tick")
	}
	b.mu.Unlock(ctx)
	p.Reply(m, b.sum)
}

func tellerWorld(w *World) {
	w.Serve("teller", func() Handler { return &teller{mu: NewMutex()} })
	for i, name := range []string{"ann", "bob", "cyd"} {
		spawn(w, name, (func(p *Proc) {
			for n := range int64(8) {
				v, err := p.Call(p.Peer("teller"), n+int64(i), 40*milli)
				say(p, "%v %v", v, err)
				p.Sleep(3 * milli)
			}
		}))
	}
}

// TestBrief: a Brief handler's tasks run on the stack of whoever drives the world
// where nothing can strike, and on their own elsewhere; the runs are the same.
func TestBrief(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	run := func(c Chooser, elsewhere bool) (string, []string) {
		heard := everything()
		w.Reset(richConfig, c, heard)
		w.elsewhere = elsewhere
		tellerWorld(w)
		return summary(w.Run(), w.Names()), heard.lines
	}
	mild := func(seed uint64) Chooser {
		c := rich(seed)
		c.Rates[SiteCrash], c.Rates[SiteStall], c.Rates[SitePause] = 1500, 1500, 1500
		return c
	}
	struck := 0
	for seed := range uint64(300) {
		choosers := []Chooser{Calm{}, mild(seed), rich(seed), &Override{Schedule: NewReplay(nil), Under: mild(seed)}}
		for i, c := range choosers {
			got, heard := run(c, false)
			want, told := run(c, true)
			if got != want {
				t.Fatalf("seed %d, chooser %d:\nwhere it stands: %s\nelsewhere:       %s", seed, i, got, want)
			}
			if diff := cmp.Diff(told, heard); diff != "" {
				t.Fatalf("seed %d, chooser %d, what was heard (-elsewhere +where it stands):\n%s", seed, i, diff)
			}
			struck += strings.Count(got, "teller/crash#") + strings.Count(got, "teller/stall#")
		}
	}
	if struck < 100 {
		t.Errorf("the teller was struck %d times: expected 100 or more", struck)
	}
}

// TestBriefSavesSwitches: the guest does serve, where it can.
func TestBriefSavesSwitches(t *testing.T) {
	for name, test := range map[string]struct {
		chooser Chooser
		guest   bool
	}{
		"calm":                           {Calm{}, true},
		"a schedule":                     {NewReplay(nil), true},
		"seeded":                         {&Seeded{Seed: 1, Rates: everySite(300)}, true},
		"one that must be asked in turn": {&Census{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWorld(richConfig, test.chooser, nil)
			defer w.Close()
			tellerWorld(w)
			w.Run()
			if served := w.guest.number > 0; served != test.guest {
				t.Errorf("a task ran where it stood: %t, want %t", served, test.guest)
			}
		})
	}
}

// handling is a Brief handler of no yields.
type handling func(p *Proc, m Message)

func (h handling) Handle(p *Proc, m Message) { h(p, m) }
func (h handling) Yields() int               { return 0 }

// TestBriefMisused: a handler that does not keep its word, or fails, is the run's
// outcome, and its world can be used again.
func TestBriefMisused(t *testing.T) {
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	for name, test := range map[string]struct {
		handle func(p *Proc, m Message)
		want   string
	}{
		"sleeps": {func(p *Proc, m Message) { p.Sleep(time.Second) }, "process server is a Brief handler of at most 0 yields"},
		"yields": {func(p *Proc, m Message) { p.Yield("here") }, "process server is a Brief handler of at most 0 yields"},
		"calls":  {func(p *Proc, m Message) { p.Call(m.From, 1, 0) }, "process server is a Brief handler of at most 0 yields"},
		"panics": {func(p *Proc, m Message) { panic("no more tea") }, "no more tea"},
		"spins": {func(p *Proc, m Message) {
			for {
				p.Go("more", func(*Proc) {})
				p.step()
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w.Reset(Config{Latency: milli}, Calm{}, nil)
			w.Serve("server", func() Handler { return handling(test.handle) })
			spawn(w, "client", (func(p *Proc) { p.Call(p.Peer("server"), 1, 0) }))
			r := w.Run()
			if test.want == "" {
				if r.End != EndLimit || r.Limit == nil || r.Limit.Process != "server" {
					t.Fatalf("end %v, %v; want the limit, reached by server", r.End, r.Limit)
				}
				return
			}
			if r.Panic == nil || r.Panic.Process != "server" || !strings.Contains(fmt.Sprint(r.Panic.Value), test.want) {
				t.Fatalf("end %v, panic %v; want one of server: %s", r.End, r.Panic, test.want)
			}
			if !strings.Contains(r.Panic.Stack, "brief_test.go") {
				t.Errorf("the stack does not show the process's code:\n%s", r.Panic.Stack)
			}
		})
	}
}

// TestSlots: an equal value gives the same box, another one does not, and what is
// sent from a slot counts in the digest as if it were boxed anew.
func TestSlots(t *testing.T) {
	box := func(p *Proc, v deposit, hash uint64) any {
		s := p.Slot(hash)
		if old := Kept[deposit](s); old == nil || *old != v {
			s.Keep(p, v)
		}
		return s.Box(p)
	}
	digest := func(slots bool) uint64 {
		w := NewWorld(Config{Latency: milli}, Calm{}, nil)
		defer w.Close()
		w.Serve("sink", func() Handler { return handling(func(p *Proc, m Message) {}) })
		spawn(w, "source", (func(p *Proc) {
			for i := range int32(200) {
				v := deposit{Account: "a", Amounts: [2]int32{i % 7, i % 3}}
				body := any(v)
				if slots {
					if body = box(p, v, uint64(i%5)); body.(deposit) != v {
						t.Errorf("%d: boxed %v, want %v", i, body, v)
					}
				}
				p.Send(p.Peer("sink"), body)
				p.Send(p.Peer("sink"), int64(i)) // not of a slot
			}
		}))
		return w.Run().Digest
	}
	if a, b := digest(false), digest(true); a != b {
		t.Errorf("digest %x without slots, %x with them", a, b)
	}
	w := NewWorld(Config{}, Calm{}, nil)
	defer w.Close()
	spawn(w, "P", (func(p *Proc) {
		v := deposit{Account: "a"}
		first := box(p, v, 3)
		if n := testing.AllocsPerRun(100, func() { box(p, v, 3) }); n != 0 {
			t.Errorf("%v allocations for a value that is there", n)
		}
		if box(p, deposit{Account: "b"}, 3); first.(deposit) != v {
			t.Errorf("a box changed to %v", first)
		}
		if Kept[ball](p.Slot(3)) != nil {
			t.Error("a value of another type was found")
		}
	}))
	if r := w.Run(); r.End != EndDone {
		t.Error(r.End, r.Panic)
	}
}
