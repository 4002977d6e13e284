package explore_test

import (
	"math/bits"
	"slices"
	"time"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// A tiny system is two or three processes with random rules, small enough to
// enumerate every schedule of it in ordinary worlds, without any cache.

// op is one line of a process.
type op struct {
	kind opKind
	a, b int
}

type opKind int

const (
	opSend    opKind = iota // send b to process a
	opObserve               // observe a
	opChoose                // choose; 1 skips the next op
	opYield                 // where it may crash or freeze
	opPut                   // put b under key a
	opSync
	opAfter // b comes back to the process's own mailbox
	opClock // read the clock into memory
	opCount
)

// rule is what an event makes a process do.
type rule struct {
	ops         []op
	next        int
	from, until int // of a step, under Bounded
}

// program is what a process does in each of its states.
type program struct {
	steps [][]rule // what it may do of itself
	mail  [][]rule // what it does with message 0 and 1
	fuel  int      // how many events it reacts to
}

// tiny is a system.
type tiny struct {
	programs []program
	cfg      sim.Config
	bad      [2]int // the system is broken when processes 0 and 1 are in these states
}

// memory is all that a process's future depends on at its checkpoint.
type memory struct{ State, Fuel, Clock int }

// observed is what a tiny process reports.
type observed struct {
	Process string
	What    int
}

func (o *observed) Stamp(_, _ int64, process string) { o.Process = process }
func (o *observed) Fold(h uint64) uint64             { return sim.MixString(sim.Mix(h, uint64(o.What)), o.Process) }

// live is a process as the test sees it: where it is, exactly.
type live struct {
	t        *tiny
	id       int
	mem      memory
	base     memory // at its checkpoint
	log      []int  // what it was told since its checkpoint
	over     bool
	unsynced []int
	durable  [2]int     // what is on the disk, synced
	box      []string   // messages that arrived and were not received yet
	due      []int      // what it sent itself and has not received, and when
	clock    func() int // for the test alone, as is reads
	reads    func()
	disk     *sim.Disk
	up       int
	bare     bool
}

func (l *live) Run(p *sim.Proc) {
	l.disk, l.up = p.Disk(), p.Incarnation()
	l.durable = l.stored()
	pr := &l.t.programs[l.id]
	l.mem = memory{Fuel: pr.fuel}
	if v, ok := p.Get("0"); ok {
		l.mem.State = v.(int)
	}
	for {
		l.log, l.base = l.log[:0], l.mem
		if !l.bare {
			p.Checkpoint(l.mem)
		}
		if l.mem.State >= len(pr.mail) {
			l.over, l.box = true, nil
			return
		}
		var steps []sim.Step
		if l.mem.Fuel > 0 {
			for _, r := range pr.steps[l.mem.State] {
				steps = append(steps, sim.Step{From: time.Duration(r.from), Until: time.Duration(r.until)})
			}
		}
		m, k := p.Await(steps...)
		l.log = append(l.log, k)
		if k >= 0 {
			l.do(p, &pr.steps[l.mem.State][k])
			continue
		}
		v := m.Body.(int)
		l.received()
		l.log = append(l.log, int(letter(&m)[0]))
		if l.mem.Fuel > 0 {
			l.do(p, &pr.mail[l.mem.State][v])
		}
	}
}

// stored reads both keys.
func (l *live) stored() (values [2]int) {
	for i, key := range []string{"0", "1"} {
		if v, ok := l.disk.Get(key); ok {
			values[i] = 1 + v.(int)
		}
	}
	return values
}

// arrived and received keep book of the mailbox.
func (l *live) arrived(e *sim.Event) {
	m := &e.Message
	if i := slices.Index(l.due, m.Body.(int)+2*int(e.From-1)); m.Timer && i >= 0 {
		l.due = slices.Delete(l.due, i, i+1)
	}
	if !l.over && l.up >= 0 {
		l.box = append(l.box, letter(m))
	}
}

// letter writes a received message as one letter.
func letter(m *sim.Message) string {
	x := 'A' + 4*m.Body.(int) + int(m.From)
	if m.Timer {
		x += 8
	}
	return string(rune(x))
}

func (l *live) received() {
	if len(l.box) > 0 {
		l.box = l.box[1:]
	}
}

func (l *live) do(p *sim.Proc, r *rule) {
	l.mem.Fuel--
	for i := 0; i < len(r.ops); i++ {
		switch o := r.ops[i]; o.kind {
		case opSend:
			p.Send(sim.ID(o.a), o.b)
		case opObserve:
			p.Observe(&observed{What: o.a})
		case opChoose:
			k := p.Choose("", 2)
			l.log = append(l.log, k)
			i += k
		case opYield:
			p.Yield("")
			l.log = append(l.log, 7)
		case opPut:
			p.Put([]string{"0", "1"}[o.a], o.b)
			l.unsynced = append(l.unsynced, 2*o.a+o.b)
		case opSync:
			p.Sync()
			l.unsynced, l.durable = nil, l.stored()
			l.log = append(l.log, 8)
		case opAfter:
			p.After(1, o.b)
			if l.clock != nil {
				l.due = append(l.due, o.b+2*l.clock())
				slices.Sort(l.due)
			}
		case opClock:
			l.mem.Clock = int(p.Now())
			if l.reads != nil {
				l.reads()
			}
			l.log = append(l.log, l.mem.Clock)
		}
	}
	l.mem.State = r.next
}

// dice are the random numbers of a seed: SplitMix64.
type dice uint64

func (d *dice) roll(n int) int {
	*d += 0x9E3779B97F4A7C15
	x := uint64(*d)
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	hi, _ := bits.Mul64(x^x>>31, uint64(n))
	return int(hi)
}

// generate makes the tiny system of a seed.
func generate(seed uint64) *tiny {
	d := dice(seed * 7919)
	t := &tiny{bad: [2]int{1 + d.roll(3)/2, d.roll(2)}}
	t.cfg.Timing = sim.Untimed
	if d.roll(3) == 0 {
		t.cfg.Timing = sim.Bounded
		t.cfg.Horizon = time.Duration(1 + d.roll(2))
		t.cfg.Epsilon = int64(d.roll(2))
	}
	t.cfg.MaxEvents = 200
	t.cfg.Budget = map[sim.Site]int{}
	if d.roll(2) == 0 {
		site := []sim.Site{sim.SiteDrop, sim.SiteDuplicate, sim.SiteCrash, sim.SitePause}
		t.cfg.Budget[site[d.roll(4)]] = 1
		if d.roll(3) == 0 {
			t.cfg.Budget[site[d.roll(4)]] = 1 + d.roll(2)
		}
	}
	n := 2 + d.roll(5)/4
	for range n {
		t.programs = append(t.programs, t.program(&d, n))
	}
	return t
}

func (t *tiny) program(d *dice, n int) program {
	states := 1 + d.roll(3)
	pr := program{fuel: 1 + d.roll(2)}
	for range states {
		var steps []rule
		for range d.roll(3) {
			steps = append(steps, t.rule(d, n, states))
		}
		pr.steps = append(pr.steps, steps)
		pr.mail = append(pr.mail, []rule{t.rule(d, n, states), t.rule(d, n, states)})
	}
	return pr
}

func (t *tiny) rule(d *dice, n, states int) rule {
	r := rule{next: d.roll(states + 1)}
	if r.next == states && d.roll(2) == 0 {
		r.next = 0
	}
	if t.cfg.Timing == sim.Bounded {
		r.from = d.roll(2)
		if d.roll(2) == 0 {
			r.until = r.from + 1
		}
	}
	for range 1 + d.roll(3) {
		o := op{kind: opKind(d.roll(int(opCount))), a: d.roll(n), b: d.roll(2)}
		switch d.roll(8) {
		case 0, 1, 2:
			o.kind = opSend
		case 3, 4:
			o.kind = opObserve
		}
		if o.kind == opPut {
			o.a = d.roll(2)
		}
		r.ops = append(r.ops, o)
	}
	return r
}

// build spawns the processes; told, if not nil, is shown each as it starts.
func (t *tiny) build(w *sim.World, bare bool, told func(*live)) {
	for i := range t.programs {
		w.Spawn(string(rune('a'+i)), func() sim.Runner {
			l := &live{t: t, id: i, bare: bare}
			if told != nil {
				told(l)
			}
			return l
		})
	}
}

// system is what the explorer gets.
func (t *tiny) system(bare, judged bool) explore.System {
	s := explore.System{Build: func(w *sim.World) { t.build(w, bare, nil) }, Config: t.cfg}
	if judged {
		s.Monitors = []func() explore.Monitor{func() explore.Monitor { return &tally{bad: t.bad} }}
	}
	return s
}

// tally is a monitor: it breaks when process a observed 1 twice more than b did 0, or so.
type tally struct {
	bad  [2]int
	seen [2]int
}

func (m *tally) Notes() sim.NoteSet { return sim.NoteSet(0).With(sim.NoteCrash, sim.NoteDeliver) }
func (m *tally) Note(n sim.Note) {
	if n.Kind == sim.NoteDeliver && n.Body == 1 || n.Kind == sim.NoteCrash {
		m.seen[1] = min(m.seen[1]+1, 3)
	}
}
func (m *tally) Observe(o sim.Observation) {
	if o.(*observed).What == m.bad[1] {
		m.seen[0] = min(m.seen[0]+1, 3)
	}
}
func (m *tally) Clone() explore.Monitor { c := *m; return &c }
func (m *tally) Key() any               { return m.seen }
func (m *tally) Broken() string {
	if m.seen[0] >= m.bad[0] && m.seen[1] > 0 {
		return "tally"
	}
	return ""
}
