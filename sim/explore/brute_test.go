package explore_test

import (
	"flag"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"staleproof/sim"
	"staleproof/sim/explore"
)

// brute enumerates the schedules of a tiny system: it runs the ordinary world
// again and again, and takes the next answer at the last choice that has one.
type brute struct {
	t       *tiny
	answers []int // the answers of this run, and how many there were to choose from
	options []int
	at      int

	// Of this run.
	procs  []*live
	clocks []int
	faults int
	used   map[sim.Site]int
	steps  int
	mon    tally
	hit    bool
	reads  []bool // the processes that read their clock
	again  bool
	state  string
	edge   []byte
	text   []byte

	// Of all runs.
	states   map[string]bool
	edges    map[string]bool
	terminal map[string]bool
	best     [2]int // faults and steps of the cheapest violation
	runs     int
}

const none = 1 << 30

// enumerate runs every schedule, or gives up after limit runs.
func enumerate(t *tiny, limit int) (*brute, bool) {
	b := &brute{t: t, states: map[string]bool{}, edges: map[string]bool{}, terminal: map[string]bool{}, best: [2]int{none, none}}
	b.reads = make([]bool, len(t.programs))
	w := sim.NewWorld(t.cfg, b, b)
	defer w.Close()
	for {
		if b.runs++; b.runs > limit {
			return b, false
		}
		if b.run(w); b.again { // a clock matters: begin again with it in the states
			b.again, b.answers, b.options = false, nil, nil
			b.states, b.edges, b.terminal = map[string]bool{}, map[string]bool{}, map[string]bool{}
			continue
		}
		for len(b.options) > 0 && b.answers[len(b.answers)-1]+1 >= b.options[len(b.options)-1] {
			b.answers, b.options = b.answers[:len(b.answers)-1], b.options[:len(b.options)-1]
		}
		if len(b.options) == 0 {
			return b, true
		}
		b.answers[len(b.answers)-1]++
	}
}

func (b *brute) run(w *sim.World) {
	n := len(b.t.programs)
	b.at, b.faults, b.steps, b.hit = 0, 0, 0, false
	b.used = map[sim.Site]int{}
	b.procs, b.clocks = make([]*live, n), make([]int, n)
	b.mon, b.state = tally{bad: b.t.bad}, ""
	b.edge = b.edge[:0]
	w.Reset(b.t.cfg, b, b)
	b.t.build(w, false, func(l *live) {
		b.procs[l.id] = l
		l.clock = func() int { return b.clocks[l.id] }
		l.reads = func() {
			b.again = b.again || !b.reads[l.id]
			b.reads[l.id] = true
		}
	})
	r := w.Run()
	b.arrive(nil)
	if r.End == sim.EndDone || r.End == sim.EndIdle {
		b.terminal[b.state] = true
	}
}

// arrive is told that the world is at rest, and what can happen.
func (b *brute) arrive(events []sim.Event) {
	if b.state != "" {
		b.edges[b.state+" -> "+string(b.edge)] = true
	}
	b.edge = b.edge[:0]
	b.state = b.describe(events)
	b.states[b.state] = true
	if cost := [2]int{b.faults, b.steps}; b.hit && slices.Compare(cost[:], b.best[:]) < 0 {
		b.best = cost
	}
}

// describe writes down all that the future depends on.
func (b *brute) describe(events []sim.Event) string {
	t := b.text[:0]
	num := func(xs ...int) {
		for _, x := range xs {
			t = append(t, byte(x)+1)
		}
	}
	for i, l := range b.procs {
		num(l.mem.State, l.mem.Fuel, l.mem.Clock, l.up, l.disk.Torn(), len(l.log))
		num(l.log...)
		if len(l.log) > 0 {
			num(l.base.State, l.base.Fuel, l.base.Clock)
		}
		num(len(l.unsynced))
		num(l.unsynced...)
		num(l.durable[:]...)
		num(len(l.due))
		if b.timeless(i) {
			for _, due := range l.due {
				t = append(t, '0'+byte(due%2))
			}
			slices.Sort(t[len(t)-len(l.due):])
		} else {
			num(b.clocks[i])
			num(l.due...)
		}
		for _, m := range l.box {
			t = append(append(t, m...), '|')
		}
		if l.over {
			t = append(t, "over"...)
		}
		for k := range l.disk.Keys {
			v, _ := l.disk.Get(k)
			t = append(t, k...)
			num(v.(int))
		}
	}
	for _, site := range faults {
		num(b.used[site])
	}
	var list []string
	for i := range events {
		list = append(list, string(b.eventText(nil, events[i])))
	}
	slices.Sort(list)
	for _, e := range list {
		t = append(t, e...)
	}
	b.text = t
	return string(t)
}

// faults are the sites of the faults of tiny systems.
var faults = []sim.Site{sim.SiteDrop, sim.SiteDuplicate, sim.SiteCrash, sim.SitePause}

// timeless says that the clock of a process and its deadlines do not matter.
func (b *brute) timeless(proc int) bool { return b.t.cfg.Timing == sim.Untimed && !b.reads[proc] }

func (b *brute) eventText(t []byte, e sim.Event) []byte {
	if b.timeless(max(0, int(e.Proc))) {
		e.From, e.Until = 0, 0
	}
	m := &e.Message
	body, _ := m.Body.(int)
	for _, x := range []int{int(e.Kind), int(e.Proc), int(e.Task), int(e.Step), int(e.From), int(e.Until), int(m.From), int(m.To), body} {
		t = append(t, byte(x)+1)
	}
	return append(t, ';')
}

func (b *brute) Sites() sim.SiteSet {
	set := sim.SiteSet(0).With(sim.SiteNext, sim.SiteUser, sim.SiteDisk, sim.SiteTask)
	for site, n := range b.t.cfg.Budget {
		if n > 0 {
			set = set.With(site)
		}
	}
	return set
}

func (b *brute) answer(options int) int {
	if b.at == len(b.answers) {
		b.answers, b.options = append(b.answers, 0), append(b.options, options)
	}
	k := b.answers[b.at]
	b.at++
	return k
}

func (b *brute) Choose(c sim.Choice) int {
	k := b.answer(c.Options)
	b.edge = append(b.edge, ' ', '0'+byte(c.Site), '0'+byte(c.Proc), '0'+byte(k))
	if k > 0 && c.Site != sim.SiteUser && c.Site != sim.SiteDisk && c.Site != sim.SiteTask {
		b.faults++
		b.used[c.Site]++
	}
	return k
}

func (b *brute) Next(events []sim.Event) int {
	b.arrive(events)
	k := b.answer(len(events))
	b.steps++
	b.edge = b.eventText(b.edge, events[k])
	e := events[k]
	if b.t.cfg.Timing == sim.Untimed && e.From > 0 {
		b.clocks[e.Proc] = max(b.clocks[e.Proc], int(e.From))
	}
	if l := b.procs[max(0, e.Proc)]; e.Kind == sim.EventDeliver || e.Kind == sim.EventAfter {
		l.arrived(&e)
	}
	if e.Kind == sim.EventTick {
		for i := range b.clocks {
			if e.Proc < 0 || int(e.Proc) == i {
				b.clocks[i]++
			}
		}
	}
	return k
}

func (b *brute) Notes() sim.NoteSet { return b.mon.Notes() }
func (b *brute) Note(n sim.Note) {
	if n.Kind == sim.NoteCrash { // nothing is left of it but its disk
		b.procs[n.Proc] = &live{id: int(n.Proc), disk: b.procs[n.Proc].disk, up: -1}
	}
	b.mon.Note(n)
	b.hit = b.hit || b.mon.Broken() != ""
}
func (b *brute) Observe(o sim.Observation) {
	b.mon.Observe(o)
	b.hit = b.hit || b.mon.Broken() != ""
}

var systems = flag.Int("systems", 0, "compare so many generated systems with brute force (10,000 take half a minute)")

// generated is how many systems a test generates: most, unless a flag says something
// else.
func generated(most int) int {
	switch {
	case *systems > 0:
		return *systems
	case testing.Short() || raced:
		return most / 5
	}
	return most
}

// TestBruteForce compares the search of thousands of generated systems with the
// enumeration of all their schedules in ordinary worlds.
func TestBruteForce(t *testing.T) {
	defer explore.SetEffort(64)()
	want := generated(2000)
	const shards = 4
	var total [3]atomic.Int64 // systems, violated, with faults
	t.Run("all", func(t *testing.T) {
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				compared := 0
				for seed := uint64(1 + shard); compared < want/shards && !t.Failed(); seed += shards {
					x := generate(seed)
					b, ok := enumerate(x, 60)
					if !ok {
						continue
					}
					compared++
					if same(t, seed, x, b) {
						total[1].Add(1)
					}
					if len(x.cfg.Budget) > 0 {
						total[2].Add(1)
					}
				}
				total[0].Add(int64(compared))
			})
		}
	})
	systems, violated, faulty := total[0].Load(), total[1].Load(), total[2].Load()
	t.Logf("%d systems, %d of them violated, %d with faults", systems, violated, faulty)
	if violated < systems/10 || faulty < systems/4 {
		t.Errorf("the systems are too tame: %d violated, %d with faults", violated, faulty)
	}
}

// same compares one system, and reports whether it violates its property.
func same(t *testing.T, seed uint64, x *tiny, b *brute) bool {
	free, err := explore.Run(x.system(false, false), explore.Options{})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if int(free.States) != len(b.states) || int(free.Terminal) != len(b.terminal) || int(free.Generated) != len(b.edges)+b.starts() {
		t.Errorf("seed %d: %d states, %d terminal, %d generated; want %d, %d, %d", seed, free.States, free.Terminal, free.Generated,
			len(b.states), len(b.terminal), len(b.edges)+b.starts())
		return false
	}
	for _, bare := range []bool{false, true} {
		if bare && seed%3 > 0 {
			break
		}
		judged, err := explore.Run(x.system(bare, true), explore.Options{Workers: 1 + int(seed%2)})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got := [2]int{none, none}
		if v := judged.Violation; v != nil {
			got = [2]int{v.Faults, v.Steps}
		}
		if got != b.best {
			t.Errorf("seed %d, without checkpoints %v: cheapest violation %v faults and steps, want %v", seed, bare, got, b.best)
		}
	}
	return b.best[0] != none
}

// starts is how many initial states there are: a tiny process starts in one way.
func (b *brute) starts() int { return 1 }
