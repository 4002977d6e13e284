package explore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// TestKeyHoldsAll compares, as TestTraces does, systems in each of which two
// histories of a process differ in one thing alone, which decides later. A search
// that leaves the thing out of its keys misses a history.
func TestKeyHoldsAll(t *testing.T) {
	untimed := sim.Config{Timing: sim.Untimed}
	for _, x := range []struct {
		thing string
		build func(*sim.World)
		cfg   sim.Config
	}{
		{"the messages that came to a frozen server", besieged, faulty(sim.SitePause)},
		{"the messages that came to a suspended server", besieged, faulty(sim.SiteSuspend)},
		{"the messages that came while a task of the server stalled", besieged, faulty(sim.SiteStall)},
		{"the order in which a frozen server got them", threefold, faulty(sim.SitePause)},
		{"the same, with ticks", besieged, ticking(sim.SitePause)},
		{"the same of a suspended server", besieged, ticking(sim.SiteSuspend)},
		{"the same of one whose task stalls", besieged, ticking(sim.SiteStall)},
		{"the message that ended the wait of a frozen task", spawn(frozenWait, chooser), faulty(sim.SitePause)},
		{"the messages that wait while a task sleeps", spawn(sleeper, chooser), untimed},
		{"the step that a frozen task took", spawn(frozenStep), faulty(sim.SitePause)},
		{"whether a frozen task got its reply in time", frozenCall, faulty(sim.SitePause)},
		{"who waits for a mutex", queueing, untimed},
		{"which mutex a task left locked", lockedOut, untimed},
		{"whose turn it was at a mutex", overtaking, untimed},
		{"the reply that a server's task got", relayed, untimed},
		{"whether a server's call timed out", impatient, untimed},
		{"whose reply a server that calls itself has sent", selfish, untimed},
		{"the numbers that two tasks got", numberedTasks, untimed},
		{"what a task read through the Disk that it kept", keepingDisk, untimed},
		{"what a task read off the clock before a timer rang", clocking, untimed},
		{"whether a key was there, with no value", missing, untimed},
	} {
		t.Run(x.thing, func(t *testing.T) { compareHistories(t, alive(x.build), x.cfg) })
	}
}

// ticking is a bounded world in which the site may strike once.
func ticking(site sim.Site) sim.Config {
	return sim.Config{Timing: sim.Bounded, Horizon: 1, Budget: map[sim.Site]int{site: 1}}
}

// TestKeyAmongNoise adds a process that takes no part and makes the audit of
// checkpoints look elsewhere: the server has the values that it has without the noise.
func TestKeyAmongNoise(t *testing.T) {
	for _, x := range []struct {
		reason string
		build  func(*sim.World)
		cfg    sim.Config
	}{
		{"a frozen server", besieged, faulty(sim.SitePause)},
		{"a mutex", queueing, sim.Config{Timing: sim.Untimed}},
	} {
		t.Run(x.reason, func(t *testing.T) {
			quiet := values(t, alive(x.build), x.cfg)
			loud := values(t, func(w *sim.World) { alive(x.build)(w); noise(w) }, x.cfg)
			if diff := cmp.Diff(quiet, loud); diff != "" {
				t.Errorf("values of the server (-alone +with noise):\n%s", diff)
			}
		})
	}
}

// values returns the values that process 0 has in a complete search.
func values(t *testing.T, build func(*sim.World), cfg sim.Config) map[any]bool {
	t.Helper()
	found := map[any]bool{}
	r, err := explore.Run(explore.System{Build: build, Config: cfg, Invariants: []explore.Invariant{{Name: "any", Holds: func(v *explore.View) string {
		found[v.Value(0)] = true
		return ""
	}}}}, explore.Options{})
	if err != nil || !r.Complete() {
		t.Fatalf("%s, %v", r.Covered(), err)
	}
	return found
}

// alive adds a process that waits for ever: a world in which all have returned is
// over, whatever its servers have left to do.
func alive(build func(*sim.World)) func(*sim.World) {
	return func(w *sim.World) {
		build(w)
		w.Spawn("last", func() sim.Runner { return runner(func(p *sim.Proc) { p.Wait(0) }) })
	}
}

// noise has many histories that come to few checkpoints.
func noise(w *sim.World) {
	id := w.Spawn("noise", func() sim.Runner {
		return runner(func(p *sim.Proc) {
			for i := range 5 {
				p.Checkpoint(i)
				p.Choose("", 60)
				p.Sleep(1)
			}
		})
	})
	w.Spare(id, sim.SitePause)
}

// TestSparedInSearch has a sender whose messages are exempt from loss, and a
// server that is exempt from crashes: the search strikes neither.
func TestSparedInSearch(t *testing.T) {
	build := func(w *sim.World) {
		for i := range 2 {
			w.Spawn(fmt.Sprint("s", i), func() sim.Runner {
				return runner(func(p *sim.Proc) {
					p.Yield("first")
					p.Send(2, p.Name())
				})
			})
		}
		w.Spare(0, sim.SiteDrop, sim.SiteDuplicate)
		w.Spare(1, sim.SiteCrash)
		w.Spawn("r", func() sim.Runner {
			return runner(func(p *sim.Proc) {
				for {
					m, _ := p.Wait(0)
					say(p, "%v", m.Body)
				}
			})
		})
	}
	compareHistories(t, build, faulty(sim.SiteDrop, sim.SiteCrash))
	compareHistories(t, build, faulty(sim.SiteDuplicate))
}

// TestForbidden has a budget of 0 for what is no fault: writes are never torn.
func TestForbidden(t *testing.T) {
	cfg := faulty(sim.SiteCrash)
	cfg.Budget[sim.SiteDisk] = 0
	compareHistories(t, alive(spawn(storing)), cfg)
}

// TestDependsOnMoreLater has a process whose next transition depends on its clock
// alone at one time, and on the numbers of its calls too at another.
func TestDependsOnMoreLater(t *testing.T) {
	build := func(w *sim.World) {
		w.Spawn("a", func() sim.Runner {
			return runner(func(p *sim.Proc) {
				p.Call(1, "first", -1)
				p.Await(sim.Step{})
				if p.Now() == 0 {
					say(p, "early")
					return
				}
				v, _ := p.Call(1, "second", 0)
				say(p, "%v", v)
			})
		})
		w.Serve("b", func() sim.Handler { return &echo{} })
	}
	compareHistories(t, build, sim.Config{Timing: sim.Bounded, Horizon: 2})
}

// journal is a server that declares all its memory, and takes a while.
type journal struct{ text string }

func (j *journal) State() any { return j.text }
func (j *journal) Handle(p *sim.Proc, m sim.Message) {
	j.text += fmt.Sprint(m.Body)
	p.Yield("between")
	j.text += fmt.Sprintf("(%v)", m.Body)
	say(p, "%s", j.text)
}

// besieged is a journal that gets three messages, one of them chosen.
func besieged(w *sim.World) {
	w.Serve("s", func() sim.Handler { return &journal{} })
	w.Spawn("a", func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, "a") }) })
	w.Spawn("b", func() sim.Runner { return runner(chooser) })
}

// threefold is a journal that gets three messages, in any order.
func threefold(w *sim.World) {
	w.Serve("s", func() sim.Handler { return &journal{} })
	for i := range 3 {
		w.Spawn(fmt.Sprint("a", i), func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, i) }) })
	}
}

// chooser sends process 0 one of two messages and forgets which.
func chooser(p *sim.Proc) {
	p.Send(0, p.Choose("", 2))
	p.Checkpoint("sent")
	p.Wait(0)
}

// frozenWait may freeze in one task while another waits for a message.
func frozenWait(p *sim.Proc) {
	p.Go("other", func(p *sim.Proc) {
		p.Sleep(1)
		p.Yield("here")
		p.Checkpoint("other")
		p.Wait(0)
	})
	p.Checkpoint("waits")
	m, _ := p.Wait(0)
	say(p, "%v", m.Body)
}

// sleeper sleeps while messages come.
func sleeper(p *sim.Proc) {
	p.Checkpoint("sleeps")
	p.Sleep(1)
	p.Checkpoint("waits")
	m, _ := p.Wait(0)
	say(p, "%v", m.Body)
}

// frozenStep may freeze in one task while another takes one of two steps.
func frozenStep(p *sim.Proc) {
	p.Go("other", func(p *sim.Proc) {
		p.Yield("here")
		p.Checkpoint("other")
		p.Wait(0)
	})
	p.Checkpoint("waits")
	_, k := p.Await(sim.Step{}, sim.Step{})
	say(p, "%d", k)
}

// frozenCall has a caller that may freeze in another task.
func frozenCall(w *sim.World) {
	w.Spawn("a", func() sim.Runner {
		return runner(func(p *sim.Proc) {
			p.Go("other", func(p *sim.Proc) {
				p.Sleep(1)
				p.Yield("here")
				p.Checkpoint("other")
				p.Wait(0)
			})
			_, err := p.Call(1, 0, 5)
			p.Checkpoint(fmt.Sprint(err))
			say(p, "%v", err)
		})
	})
	w.Serve("b", func() sim.Handler { return steady{} })
}

// lockedLog lets its requests in one by one. The first holds the lock for long.
type lockedLog struct {
	lock sim.Mutex
	log  string
}

func (l *lockedLog) State() any { return l.log }
func (l *lockedLog) Handle(p *sim.Proc, m sim.Message) {
	if m.Body != 0 {
		p.Sleep(1)
	}
	l.lock.Lock(p.Context())
	if m.Body == 0 {
		p.Sleep(1)
	} else {
		l.log += fmt.Sprint(m.Body)
	}
	l.lock.Unlock(p.Context())
	say(p, "%s", l.log)
}

// queueing has two requests that wait for the third, in either order.
func queueing(w *sim.World) {
	w.Serve("s", func() sim.Handler { return &lockedLog{} })
	for i := range 3 {
		w.Spawn(fmt.Sprint("a", i), func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, i) }) })
	}
}

// locks are two mutexes; what locks one of them ends without Unlock.
type locks [2]sim.Mutex

func (l *locks) State() any { return 0 }
func (l *locks) Handle(p *sim.Proc, m sim.Message) {
	if m.Body == "lock" {
		l[p.Choose("", 2)].Lock(p.Context())
		return
	}
	p.Sleep(1)
	ctx, _ := sim.WithTimeout(p.Context(), 1)
	locked := l[0].Lock(ctx) == nil
	say(p, "%v", locked)
	if locked {
		l[0].Unlock(ctx)
	}
}

func lockedOut(w *sim.World) {
	w.Serve("s", func() sim.Handler { return &locks{} })
	w.Spawn("a", func() sim.Runner {
		return runner(func(p *sim.Proc) {
			p.Send(0, "lock")
			p.Send(0, "try")
		})
	})
}

// overtaking has two tasks that hold a lock in turn, the one that comes first
// twice.
func overtaking(w *sim.World) {
	w.Spawn("a", func() sim.Runner {
		return runner(func(p *sim.Proc) {
			var lock sim.Mutex
			task := func(name string, turns int) func(p *sim.Proc) {
				return func(p *sim.Proc) {
					for i := range turns {
						p.Sleep(1)
						lock.Lock(p.Context())
						say(p, "%s%d", name, i)
						p.Sleep(1)
						lock.Unlock(p.Context())
					}
				}
			}
			p.Go("x", task("x", 1))
			p.Go("y", task("y", 2))
		})
	})
}

// relay asks process 1 and says later what it was told.
type relay struct{ timeout time.Duration }

func (r relay) State() any { return 0 }
func (r relay) Handle(p *sim.Proc, m sim.Message) {
	v, err := p.Call(1, 0, r.timeout)
	p.Sleep(1)
	say(p, "%v %v", v, err == nil)
}

// oracle answers as it chooses.
type oracle struct{}

func (oracle) State() any                        { return 0 }
func (oracle) Handle(p *sim.Proc, m sim.Message) { p.Reply(m, p.Choose("", 3)) }

func relayed(w *sim.World)   { relaying(w, 0) }
func impatient(w *sim.World) { relaying(w, 1) }

func relaying(w *sim.World, timeout time.Duration) {
	w.Serve("s", func() sim.Handler { return relay{timeout} })
	w.Serve("o", func() sim.Handler { return oracle{} })
	w.Spawn("a", func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, 0) }) })
}

// selfCaller calls itself: when the first call has timed out, and its late reply is on
// its way, a task makes the second.
type selfCaller struct{}

func (selfCaller) State() any { return 0 }
func (selfCaller) Handle(p *sim.Proc, m sim.Message) {
	switch m.Body {
	case "go":
		_, err := p.Call(0, "first", 1)
		say(p, "first %v", err == nil)
	case "first":
		p.Go("task", func(p *sim.Proc) {
			v, _ := p.Call(0, "second", 0)
			say(p, "second %v", v)
		})
		p.Reply(m, "reply to the first")
	default:
		p.Reply(m, "reply to the second")
	}
}

func selfish(w *sim.World) {
	w.Serve("s", func() sim.Handler { return selfCaller{} })
	w.Spawn("a", func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, "go") }) })
}

// clocked reads its clock before or after its timer rings, and says it later.
type clocked struct{}

func (clocked) State() any        { return 0 }
func (clocked) Start(p *sim.Proc) { p.After(5, "ring") }
func (clocked) Handle(p *sim.Proc, m sim.Message) {
	if !m.Timer {
		now := p.Now()
		p.Call(1, 0, 0)
		say(p, "%d", int64(now))
	}
}

func clocking(w *sim.World) {
	w.Serve("s", func() sim.Handler { return clocked{} })
	w.Serve("b", func() sim.Handler { return steady{} })
	w.Spawn("a", func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, 0) }) })
}

// names hands out serial numbers, each of which is said later.
type names struct{}

func (names) State() any { return 0 }
func (names) Handle(p *sim.Proc, m sim.Message) {
	k := p.Serial()
	p.Sleep(1)
	say(p, "%v is %d", m.Body, k)
}

func numberedTasks(w *sim.World) {
	w.Serve("s", func() sim.Handler { return names{} })
	for _, name := range []string{"a", "b"} {
		w.Spawn(name, func() sim.Runner { return runner(func(p *sim.Proc) { p.Send(0, p.Name()) }) })
	}
}

// diskKeeper has a task that reads its disk through what Proc.Disk returned long
// ago, when the one that wrote has ended.
type diskKeeper struct{}

func (d diskKeeper) State() any { return 0 }
func (d diskKeeper) Run(p *sim.Proc) {
	disk := p.Disk()
	p.Go("writer", func(p *sim.Proc) {
		p.Put("x", p.Choose("", 2))
		p.Sync()
	})
	p.Sleep(1)
	x, _ := disk.Get("x")
	p.Put("x", 9)
	p.Sync()
	p.Sleep(1)
	say(p, "%v", x)
}

func keepingDisk(w *sim.World) {
	w.Spawn("a", func() sim.Runner { return diskKeeper{} })
}

// absentKey looks for a key that has no value, puts it, and says later whether it
// was there.
type absentKey struct{}

func (absentKey) State() any { return 0 }
func (absentKey) Run(p *sim.Proc) {
	p.Go("writer", func(p *sim.Proc) {
		if p.Choose("", 2) == 1 {
			p.Put("x", nil)
		}
	})
	p.Sleep(1)
	_, ok := p.Get("x")
	p.Put("x", nil)
	p.Sync()
	p.Sleep(1)
	say(p, "%v", ok)
}

func missing(w *sim.World) { w.Spawn("a", func() sim.Runner { return absentKey{} }) }
