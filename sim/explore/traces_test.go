package explore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// said is an observation of the systems here.
type said struct{ Process, Text string }

func (s *said) Stamp(_, _ int64, process string) { s.Process = process }
func (s *said) Fold(h uint64) uint64             { return sim.MixString(h, s.Process+s.Text) }

// say reports a text.
func say(p *sim.Proc, format string, args ...any) {
	p.Observe(&said{Text: fmt.Sprintf(format, args...)})
}

// listener is a monitor that remembers everything that was said, so that the
// facts of a search are all beginnings of its histories.
type listener struct{ heard string }

func (l *listener) Notes() sim.NoteSet { return sim.NoteSet(0).With(sim.NoteCrash) }
func (l *listener) Note(n sim.Note) {
	if n.Kind == sim.NoteCrash {
		l.heard += fmt.Sprintf("%d crashes; ", n.Proc)
	}
}
func (l *listener) Observe(o sim.Observation) {
	s := o.(*said)
	l.heard += s.Process + " " + s.Text + "; "
}
func (l *listener) Clone() explore.Monitor { twin := *l; return &twin }
func (l *listener) Key() any               { return l.heard }
func (l *listener) Broken() string         { return "" }
func (l *listener) Sometimes() []string    { return []string{l.heard} }

// plain enumerates the schedules of a system in ordinary worlds.
type plain struct {
	listener
	cfg              sim.Config
	answers, options []int
	at               int
	heard            map[string]bool
}

func (b *plain) Sites() sim.SiteSet {
	set := sim.SiteSet(0).With(sim.SiteNext, sim.SiteUser, sim.SiteDisk, sim.SiteTask)
	for site, n := range b.cfg.Budget {
		if n > 0 {
			set = set.With(site)
		}
	}
	return set
}

func (b *plain) Choose(c sim.Choice) int {
	if b.at == len(b.answers) {
		b.answers, b.options = append(b.answers, 0), append(b.options, c.Options)
	}
	b.at++
	return b.answers[b.at-1]
}

// histories returns all that the schedules of a system do, unless there are more
// than limit of them, or one of them ends in a panic. None is the beginning of
// another.
func histories(sys explore.System, limit int) (all []string, panicked *sim.Panic) {
	b := &plain{cfg: sys.Config, heard: map[string]bool{}}
	w := sim.NewWorld(sys.Config, b, b)
	defer w.Close()
	for range limit {
		b.at, b.listener = 0, listener{}
		w.Reset(sys.Config, b, b)
		sys.Build(w)
		if r := w.Run(); r.Panic != nil {
			return nil, r.Panic
		}
		b.heard[b.listener.heard] = true
		for len(b.options) > 0 && b.answers[len(b.answers)-1]+1 >= b.options[len(b.options)-1] {
			b.answers, b.options = b.answers[:len(b.answers)-1], b.options[:len(b.options)-1]
		}
		if len(b.options) == 0 {
			return whole(b.heard), nil
		}
		b.answers[len(b.answers)-1]++
	}
	return nil, nil
}

// whole keeps those that no other continues.
func whole(set map[string]bool) []string {
	var all []string
	for h := range set {
		all = append(all, h)
	}
	slices.Sort(all)
	var kept []string
	for i, h := range all {
		if i+1 == len(all) || !strings.HasPrefix(all[i+1], h) {
			kept = append(kept, h)
		}
	}
	return kept
}

// spawn makes a Build of functions.
func spawn(runners ...func(p *sim.Proc)) func(*sim.World) {
	return func(w *sim.World) {
		for i, run := range runners {
			w.Spawn(string(rune('a'+i)), func() sim.Runner { return runner(run) })
		}
	}
}

type runner func(p *sim.Proc)

func (r runner) Run(p *sim.Proc) { r(p) }

// echo answers calls with what they say.
type echo struct{ served int }

func (e *echo) Handle(p *sim.Proc, m sim.Message) {
	e.served++
	p.Yield("between")
	p.Reply(m, m.Body)
}
func (e *echo) State() any { return e.served }

// caller calls b three times with a timeout.
func caller(p *sim.Proc) {
	for i := range 2 {
		v, err := p.Call(1, i, 5)
		say(p, "%d %v %v", i, v, err == nil)
	}
}

// TestTraces compares all histories that a search meets with all those of the
// ordinary world, for the features of processes one by one.
func TestTraces(t *testing.T) {
	untimed := sim.Config{Timing: sim.Untimed}
	jumpy := faulty(sim.SiteJump)
	jumpy.Jumps = []time.Duration{10, -10}
	server := func(w *sim.World) {
		w.Spawn("a", func() sim.Runner { return runner(caller) })
		w.Serve("b", func() sim.Handler { return &echo{} })
	}
	for _, x := range []struct {
		name  string
		build func(*sim.World)
		cfg   sim.Config
	}{
		{"calls that time out, late replies", server, untimed},
		{"calls, a lost message", server, faulty(sim.SiteDrop)},
		{"calls, a doubled message", server, faulty(sim.SiteDuplicate)},
		{"calls, a server that crashes", server, faulty(sim.SiteCrash)},
		{"calls, a server that freezes", server, faulty(sim.SitePause)},
		{"calls, a task that stalls", server, faulty(sim.SiteStall)},
		{"tasks that share memory", spawn(sharing), untimed},
		{"tasks that freeze", spawn(sharing), faulty(sim.SitePause)},
		{"tasks that freeze like a machine", spawn(sharing), faulty(sim.SiteSuspend)},
		{"a mutex", spawn(locking), untimed},
		{"a disk that loses and tears", spawn(storing), faulty(sim.SiteCrash)},
		{"a value read off the disk and overwritten", spawn(remembering), faulty(sim.SiteCrash)},
		{"a clock that is read", spawn(timing), untimed},
		{"a wall clock that jumps", spawn(wall), jumpy},
		{"ticks", spawn(timing, timing), sim.Config{Timing: sim.Bounded, Horizon: 3}},
		{"ticks apart", spawn(timing, reading), sim.Config{Timing: sim.Bounded, Horizon: 2, Epsilon: 1}},
		{"operation numbers", spawn(numbering, numbering), untimed},
		{"messages that wait for a starter", starting, untimed},
		{"a choice", spawn(choosing, choosing), untimed},
		{"tasks of two processes that start at once", spawn(greeting, greeting), untimed},
	} {
		t.Run(x.name, func(t *testing.T) { compareHistories(t, x.build, x.cfg) })
	}
}

// faulty is an untimed world in which each of the sites may strike once.
func faulty(sites ...sim.Site) sim.Config {
	c := sim.Config{Timing: sim.Untimed, Budget: map[sim.Site]int{}}
	for _, s := range sites {
		c.Budget[s] = 1
	}
	return c
}

// compareHistories compares what a search of a system meets with what the
// schedules of the ordinary world do.
func compareHistories(t *testing.T, build func(*sim.World), cfg sim.Config) {
	t.Helper()
	sys := explore.System{Build: build, Config: cfg}
	want, panicked := histories(sys, 300_000)
	if want == nil {
		t.Fatal("too many schedules for this test", panicked)
	}
	sys.Monitors = []func() explore.Monitor{func() explore.Monitor { return &listener{} }}
	r, err := explore.Run(sys, explore.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	heard := map[string]bool{}
	for _, h := range r.Sometimes {
		heard[h] = true
	}
	if diff := cmp.Diff(want, whole(heard)); diff != "" {
		t.Errorf("histories (-world +search):\n%s", diff)
	}
	if len(want) < 2 {
		t.Errorf("only %d histories: the test shows nothing", len(want))
	}
}

// sharing has two tasks that read and write one variable, apart.
func sharing(p *sim.Proc) {
	x := 0
	add := func(p *sim.Proc) {
		old := x
		p.Yield("between read and write")
		x = old + 1
		p.Sleep(1)
		say(p, "%d", x)
	}
	p.Go("other", add)
	add(p)
}

// greeting has two tasks that say something at the start, and one of them later.
func greeting(p *sim.Proc) {
	p.Go("other", func(p *sim.Proc) { say(p, "other") })
	say(p, "main")
	_, k := p.Await(sim.Step{}, sim.Step{})
	say(p, "%d", k)
}

// locking is sharing done right.
func locking(p *sim.Proc) {
	m, x := sim.NewMutex(), 0
	add := func(ctx context.Context, name string) {
		p := sim.FromContext(ctx)
		p.Sleep(1)
		if m.Lock(ctx) != nil {
			return
		}
		old := x
		p.Sleep(1)
		x = old + 1
		say(p, "%s %d", name, x)
		m.Unlock(ctx)
	}
	sim.Go(p.Context(), "other", func(ctx context.Context) { add(ctx, "other") })
	add(p.Context(), "main")
}

// storing writes twice and syncs once, and says what it finds at its start.
func storing(p *sim.Proc) {
	a, _ := p.Get("a")
	b, _ := p.Get("b")
	say(p, "finds %v %v", a, b)
	if p.Incarnation() > 0 {
		return
	}
	p.Put("a", 1)
	p.Put("b", 1)
	p.Yield("unsynced")
	p.Sync()
	p.Put("a", 2)
	p.Append(7)
	p.Sync()
	say(p, "done")
}

// remembering reads what a crash left, overwrites it, and says it later.
func remembering(p *sim.Proc) {
	x, _ := p.Get("x")
	p.Put("x", 9)
	if p.Incarnation() == 0 {
		p.Put("x", p.Choose("", 3))
	}
	p.Sync()
	p.Put("x", 9)
	p.Sync()
	p.Sleep(1)
	say(p, "%v", x)
}

// timing sets itself timers and reads the clock when they ring.
func timing(p *sim.Proc) {
	p.After(1, "x")
	p.After(2, "x")
	for range 2 {
		p.Wait(0)
		say(p, "at %v", int64(p.Now()))
	}
}

// reading reads the clock at two steps.
func reading(p *sim.Proc) {
	_, k := p.Await(sim.Step{From: 0, Until: 1}, sim.Step{From: 1})
	say(p, "%d at %v", k, int64(p.Now()))
	p.Await(sim.Step{From: 0, Until: 2}, sim.Step{From: 2})
	say(p, "at %v", int64(p.Now()))
}

func wall(p *sim.Proc) {
	for range 3 {
		say(p, "%d", p.Wall().UnixNano())
	}
}

// numbering names what it does.
func numbering(p *sim.Proc) {
	for range 2 {
		p.Send(1-p.ID(), p.Serial())
	}
	for range 2 {
		m, _ := p.Wait(0)
		say(p, "%v", m.Body)
	}
}

func choosing(p *sim.Proc) {
	if p.Choose("", 3) == 2 {
		p.Send(1-p.ID(), "x")
		say(p, "sent")
	}
	_, ok := p.Wait(time.Duration(1 - p.Choose("", 2)*2))
	say(p, "%v", ok)
}

// lazy reads its disk before it serves.
type lazy struct{ name any }

func (l *lazy) Start(p *sim.Proc) {
	p.Sleep(1)
	l.name, _ = p.Get("name")
}
func (l *lazy) Handle(p *sim.Proc, m sim.Message) {
	say(p, "%v after %v", m.Body, l.name)
	p.Put("name", m.Body)
	l.name = m.Body
}

func starting(w *sim.World) {
	w.Serve("a", func() sim.Handler { return &lazy{} })
	for _, name := range []string{"b", "c"} {
		w.Spawn(name, func() sim.Runner {
			return runner(func(p *sim.Proc) {
				p.Send(0, p.Name())
				p.Sleep(1)
				p.Send(0, p.Name()+"2")
			})
		})
	}
}
