package explore_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// machine is a generated system of a few processes that use all that a process may:
// tasks, mutexes, timers, calls, a disk, checkpoints, declared memory. It is small
// enough to run all its schedules in ordinary worlds.
type machine struct {
	cfg   sim.Config
	units []unit
}

// unit is a process of a machine: a server, each of whose requests runs the first of
// its programs, or a Runner that runs it. The others are for further tasks.
type unit struct {
	serves, stater, starts bool
	programs               [][]line
	spared                 []sim.Site
}

// line is a line of a program.
type line struct {
	kind lineKind
	a, b int
	body []line // what is done while a mutex is locked
}

type lineKind int

const (
	doSend       lineKind = iota // send x to process a
	doSay                        // report x and the shared memory
	doStore                      // the shared memory becomes 2*it + x, modulo 4
	doLoad                       // x becomes the shared memory
	doLock                       // lock mutex a: b is 1 with a timeout, 2 for good
	doGo                         // start program a as a task
	doCheckpoint                 // that holds everything
	doChoose                     // x becomes 0 or 1
	doYield                      // where a fault may strike
	doSleep                      // until a timer rings
	doCall                       // call process a; b is 1 with a timeout
	doWait                       // for a message; b is 1 with a timeout
	doAwait                      // take one of two steps, or get a message
	doAfter                      // get x from oneself later
	doPut                        // put x under key a
	doGet                        // x becomes what is under key a
	doAppend                     // append x to the log
	doCount                      // x becomes a digest of the log
	doSync                       // make the disk durable
	doNow                        // x becomes the clock
	doWall                       // x becomes 1 if the wall clock has jumped
	doNumber                     // report a serial number
	doDoze                       // sleep, under a deadline
	lineKinds
)

// shared is what the tasks of a unit share.
type shared struct {
	u     *unit
	fuel  int // how many requests are served
	sum   int
	locks [2]sim.Mutex
	disk  *sim.Disk
}

func (s *shared) Run(p *sim.Proc) { (&task{shared: s, p: p}).run() }
func (s *shared) Handle(p *sim.Proc, m sim.Message) {
	x, _ := m.Body.(int)
	if s.fuel > 0 {
		s.fuel--
		t := &task{shared: s, p: p, request: m, x: x}
		t.run()
		x = t.x
	}
	if m.Call != 0 {
		p.Reply(m, x)
	}
}

// declared is a shared that is a Stater.
type declared struct{ shared }

func (d *declared) State() any { return [2]int{d.fuel, d.sum} }

// prepared is a declared that runs its last program before it serves.
type prepared struct{ declared }

func (s *prepared) Start(p *sim.Proc) {
	(&task{shared: &s.shared, p: p, program: len(s.u.programs) - 1}).run()
}

// task runs one program.
type task struct {
	*shared
	p       *sim.Proc
	program int
	request sim.Message
	at      []int // where it stands in the program
	x       int
}

func (t *task) run() { t.lines(t.u.programs[t.program]) }

func (t *task) lines(lines []line) {
	t.at = append(t.at, 0)
	for i := range lines {
		t.at[len(t.at)-1] = i
		t.line(&lines[i])
	}
	t.at = t.at[:len(t.at)-1]
}

// line runs one that has to do with other tasks, or says something.
func (t *task) line(l *line) {
	p := t.p
	switch l.kind {
	case doCheckpoint:
		p.Checkpoint(fmt.Sprint(t.program, t.at, t.x, t.fuel, t.sum, t.request.From, t.request.Call))
	case doGo:
		if l.a > t.program && l.a < len(t.u.programs) {
			other := &task{shared: t.shared, program: l.a, x: t.x}
			p.Go(strconv.Itoa(l.a), func(p *sim.Proc) { other.p = p; other.run() })
		}
	case doLock:
		t.lock(l)
	case doSay:
		say(p, "%d.%d", t.x, t.sum)
	case doChoose:
		t.x = p.Choose("", 2)
	case doLoad:
		t.x = t.sum
	case doStore:
		t.sum = (2*t.sum + t.x) % 4
	case doNumber:
		n := p.Serial()
		p.Yield("numbered")
		say(p, "number %d", n)
	case doPut, doGet, doAppend, doCount, doSync:
		t.store(l)
	default:
		t.block(l)
	}
}

// lock runs the body of l while a mutex is locked.
func (t *task) lock(l *line) {
	ctx, mutex := t.p.Context(), &t.locks[l.a%2]
	if l.b == 1 {
		ctx, _ = sim.WithTimeout(ctx, 1)
	}
	if mutex.Lock(ctx) != nil {
		t.x = 3
		return
	}
	t.lines(l.body)
	if l.b != 2 {
		mutex.Unlock(t.p.Context())
	}
}

// store runs a line about the disk.
func (t *task) store(l *line) {
	p, key := t.p, strconv.Itoa(l.a%2)
	switch l.kind {
	case doPut:
		p.Put(key, t.x)
	case doGet:
		v, ok := p.Get(key)
		if t.x = 3; ok {
			t.x = v.(int)
		}
	case doAppend:
		p.Append(t.x)
	case doSync:
		p.Sync()
	case doCount:
		if t.disk == nil {
			t.disk = p.Disk()
		}
		t.x = t.disk.Torn()
		t.disk.Log(func(v any) bool { t.x = 3*t.x + 1 + v.(int); return true })
	}
}

// block runs a line that may block, or has to do with time.
func (t *task) block(l *line) {
	p, timeout := t.p, time.Duration(l.b%2)
	switch l.kind {
	case doSend:
		p.Send(sim.ID(l.a), t.x)
	case doYield:
		p.Yield("here")
	case doSleep:
		p.Sleep(1)
	case doAfter:
		p.After(1, t.x)
	case doNow:
		t.x = int(p.Now())
	case doWall:
		t.x = b2i(p.Wall().UnixNano() >= int64(leap))
	case doDoze:
		ctx, _ := sim.WithTimeout(p.Context(), 1+timeout)
		t.x = b2i(sim.Sleep(ctx, 1) == nil && sim.Rest(p.Context(), 1))
	case doCall:
		v, err := p.Call(sim.ID(l.a), t.x, timeout)
		if t.x = 2; err == nil {
			t.x = v.(int)
		}
	case doWait:
		if !t.u.serves {
			m, ok := p.Wait(timeout)
			if t.x = 2; ok {
				t.x = m.Body.(int)
			}
		}
	case doAwait:
		if !t.u.serves {
			m, k := p.Await(sim.Step{Until: timeout}, sim.Step{From: time.Duration(l.a % 2)})
			if t.x = k; k < 0 {
				t.x = m.Body.(int)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// build spawns the processes.
func (m *machine) build(w *sim.World) {
	for i := range m.units {
		u, name := &m.units[i], string(rune('a'+i))
		var id sim.ID
		switch fresh := func() shared { return shared{u: u, fuel: 2} }; {
		case u.serves && u.stater && u.starts:
			id = w.Serve(name, func() sim.Handler { return &prepared{declared{fresh()}} })
		case u.serves && u.stater:
			id = w.Serve(name, func() sim.Handler { return &declared{fresh()} })
		case u.serves:
			id = w.Serve(name, func() sim.Handler { s := fresh(); return &s })
		case u.stater:
			id = w.Spawn(name, func() sim.Runner { return &declared{fresh()} })
		default:
			id = w.Spawn(name, func() sim.Runner { s := fresh(); return &s })
		}
		w.Spare(id, u.spared...)
	}
}

// struck are the faults of machines.
var struck = []sim.Site{sim.SitePause, sim.SiteSuspend, sim.SiteStall, sim.SiteCrash, sim.SiteDrop, sim.SiteDuplicate, sim.SiteJump}

// leap is how far a wall clock jumps.
const leap = time.Hour

// assemble makes the machine of a seed.
func assemble(seed uint64) *machine {
	d := dice(seed * 104729)
	m := &machine{cfg: sim.Config{Timing: sim.Untimed, Budget: map[sim.Site]int{}, Jumps: []time.Duration{leap}}}
	if d.roll(4) == 0 {
		m.cfg.Timing = sim.Bounded
		m.cfg.Horizon, m.cfg.Epsilon = time.Duration(1+d.roll(2)), int64(d.roll(2))
	}
	for range d.roll(3) {
		m.cfg.Budget[struck[d.roll(len(struck))]] = 1
	}
	n := 1 + d.roll(3)
	for range n {
		u := unit{serves: d.roll(2) == 0, stater: d.roll(2) == 0, starts: d.roll(3) == 0}
		for range 1 + d.roll(3) {
			u.programs = append(u.programs, append(lines(&d, n, 1+d.roll(4), false), line{kind: doSay}))
		}
		if d.roll(6) == 0 {
			u.spared = struck[d.roll(len(struck)):]
		}
		m.units = append(m.units, u)
	}
	return m
}

// lines makes a program, or part of one, for one of n processes.
func lines(d *dice, n, count int, locked bool) []line {
	var all []line
	for range count {
		l := line{kind: lineKind(d.roll(int(lineKinds))), a: d.roll(n), b: d.roll(2)}
		if d.roll(3) == 0 {
			l.kind = lineKind(d.roll(int(doChoose))) // those that bring processes and tasks together
		}
		switch l.kind {
		case doGo:
			l.a = 1 + d.roll(2)
		case doLock:
			if l.a, l.b = d.roll(2), d.roll(8); locked {
				l.b = 1 // or it waits for itself
			}
			l.body = lines(d, n, 1+d.roll(2), true)
		}
		all = append(all, l)
	}
	return all
}

// alike compares the histories of a machine in the search with those in the world,
// unless it has too many schedules, or only one history. Where a schedule of the world
// ends in a panic, the search finds one.
func alike(t *testing.T, seed uint64, m *machine) (compared, panicking bool) {
	sys := explore.System{Build: alive(m.build), Config: m.cfg}
	want, panicked := histories(sys, 1000)
	if panicked == nil && len(want) < 2 {
		return false, false
	}
	sys.Monitors = []func() explore.Monitor{func() explore.Monitor { return &listener{} }}
	r, err := explore.Run(sys, explore.Options{Workers: 1 + int(seed%2)})
	if err != nil || (r.Violation != nil) != (panicked != nil) || r.Violation == nil && !r.Complete() {
		t.Errorf("seed %d: %s, %v, %+v, in the world %v", seed, r.Covered(), err, r.Violation, panicked)
	}
	if panicked != nil {
		return true, true
	}
	heard := map[string]bool{}
	for _, h := range r.Sometimes {
		heard[h] = true
	}
	if diff := cmp.Diff(want, whole(heard)); diff != "" {
		t.Errorf("seed %d: histories (-world +search):\n%s", seed, diff)
	}
	return true, false
}

// TestFeatures compares the histories of generated machines with those of all their
// schedules in ordinary worlds.
func TestFeatures(t *testing.T) {
	defer explore.SetEffort(64)()
	want := int64(generated(500))
	const shards = 4
	var seeds, panics, faulty, ticking [shards]int
	var uses [shards][lineKinds]int
	t.Run("all", func(t *testing.T) {
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				for n := int64(0); n < want/shards && !t.Failed(); {
					seed := uint64(1 + shard + shards*seeds[shard])
					seeds[shard]++
					m := assemble(seed)
					compared, panicking := alike(t, seed, m)
					if !compared {
						continue
					}
					n++
					panics[shard] += b2i(panicking)
					faulty[shard] += b2i(len(m.cfg.Budget) > 0)
					ticking[shard] += b2i(m.cfg.Timing == sim.Bounded)
					m.count(&uses[shard])
				}
			})
		}
	})
	sum := func(a [shards]int) (n int64) {
		for _, x := range a {
			n += int64(x)
		}
		return n
	}
	t.Logf("%d machines of %d: %d with faults, %d with ticks, %d that panic", want, sum(seeds), sum(faulty), sum(ticking), sum(panics))
	if sum(faulty) < want/4 || sum(ticking) < want/10 || sum(panics) > want/4 {
		t.Error("the machines are too tame, or too wild")
	}
	for kind := range lineKinds {
		n := 0
		for shard := range shards {
			n += uses[shard][kind]
		}
		if int64(n) < want/20 {
			t.Errorf("the machines are too tame: %d lines of kind %d in %d of them", n, kind, want)
		}
	}
}

// count adds up the kinds of a machine's lines.
func (m *machine) count(uses *[lineKinds]int) {
	for _, u := range m.units {
		for _, program := range u.programs {
			for i := range program {
				uses[program[i].kind]++
			}
		}
	}
}
