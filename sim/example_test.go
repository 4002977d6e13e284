package sim_test

import (
	"fmt"
	"time"

	"staleproof/sim"
)

// greeter asks a server for its greeting, and is patient for a second.
type greeter struct{ server string }

func (g greeter) Run(p *sim.Proc) {
	reply, err := p.Call(p.Peer(g.server), p.Name(), time.Second)
	if err != nil {
		fmt.Printf("%v %s: %v\n", p.Now(), p.Name(), err)
		return
	}
	fmt.Printf("%v %s: %v\n", p.Now(), p.Name(), reply)
}

// host is a server that greets whoever calls.
type host struct{ greeted int }

func (h *host) Handle(p *sim.Proc, m sim.Message) {
	h.greeted++
	p.Reply(m, fmt.Sprintf("hello %v, number %d", m.Body, h.greeted))
}

// A world of two clients and a server: first its calm run, then one in which
// the first message of ann is lost.
func ExampleWorld() {
	cfg := sim.Config{Latency: 10 * time.Millisecond}
	w := sim.NewWorld(cfg, sim.Calm{}, nil)
	defer w.Close()
	run := func() sim.Result {
		w.Spawn("ann", func() sim.Runner { return greeter{"host"} })
		w.Spawn("bob", func() sim.Runner { return greeter{"host"} })
		w.Serve("host", func() sim.Handler { return &host{} })
		return w.Run()
	}
	r := run()
	fmt.Println("ended:", r.End, "after", time.Duration(r.Time))

	lost, err := sim.ParseSchedule("ann/drop#0=1", w.Names())
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Reset(cfg, sim.NewReplay(lost), nil)
	r = run()
	fmt.Println("ended:", r.End, "after", time.Duration(r.Time), "because", w.Describe(r.Decisions[0]))
	// Output:
	// 20ms ann: hello ann, number 1
	// 20ms bob: hello bob, number 2
	// ended: done after 20ms
	// 20ms bob: hello bob, number 1
	// 1s ann: sim: no reply in time
	// ended: done after 1s because message 1 of ann was lost
}

// holder believes in its lease until a deadline on its own clock.
type holder struct{}

func (holder) Run(p *sim.Proc) {
	until := p.Now() + 5*time.Second
	p.Go("renewal", func(p *sim.Proc) { // a second line of execution, with a Proc of its own
		p.Sleep(2 * time.Second)
		until = p.Now() + 5*time.Second
	})
	p.Sleep(4 * time.Second)
	if p.Now() < until {
		p.Yield("between the check and the write") // a pause may strike here
		fmt.Printf("writes at %v, the lease is good until %v\n", p.Now(), until)
	}
}

// Process code is blocking code; where a pause may strike is a yield, and a
// schedule says whether it does.
func ExampleProc() {
	cfg := sim.Config{Pauses: []time.Duration{10 * time.Second}}
	for _, schedule := range []string{"", "A/pause#0=1"} {
		s, err := sim.ParseSchedule(schedule, []string{"A"})
		if err != nil {
			fmt.Println(err)
			return
		}
		w := sim.NewWorld(cfg, sim.NewReplay(s), nil)
		w.Spawn("A", func() sim.Runner { return holder{} })
		w.Run()
		w.Close()
	}
	// Output:
	// writes at 4s, the lease is good until 7s
	// writes at 14s, the lease is good until 7s
}

// ledger is a server whose requests overlap: each is served in a task of its own.
type ledger struct {
	mu  *sim.Mutex
	sum int
}

func (l *ledger) Handle(p *sim.Proc, m sim.Message) {
	ctx := p.Context()
	if err := l.mu.Lock(ctx); err != nil {
		return
	}
	defer l.mu.Unlock(ctx)
	sum := l.sum
	p.Sleep(time.Millisecond) // without the lock another request would read the same sum
	l.sum = sum + m.Body.(int)
	fmt.Printf("%v sum %d\n", p.Now(), l.sum)
}

type payer struct{}

func (payer) Run(p *sim.Proc) {
	for i := range 3 {
		p.Send(p.Peer("ledger"), i+1)
	}
	p.Sleep(time.Second)
}

func ExampleMutex() {
	w := sim.NewWorld(sim.Config{}, sim.Calm{}, nil)
	defer w.Close()
	w.Serve("ledger", func() sim.Handler { return &ledger{mu: sim.NewMutex()} })
	w.Spawn("payer", func() sim.Runner { return payer{} })
	w.Run()
	// Output:
	// 1ms sum 1
	// 2ms sum 3
	// 3ms sum 6
}

// writer writes what it is told to.
type writer struct{}

func (writer) Run(p *sim.Proc) {
	for {
		m, _ := p.Wait(0)
		p.Send(p.Peer("register"), m.Body)
	}
}

type register struct{}

func (register) Handle(p *sim.Proc, m sim.Message) { fmt.Println("register:", m.Body) }

// A directed scenario: the old writer's message arrives after the new one's.
func ExampleScript() {
	w := sim.NewWorld(sim.Config{Latency: time.Millisecond}, sim.Calm{}, nil)
	defer w.Close()
	s := w.Script()
	a := w.Spawn("A", func() sim.Runner { return writer{} })
	b := w.Spawn("B", func() sim.Runner { return writer{} })
	reg := w.Serve("register", func() sim.Handler { return register{} })

	any := func(body any) bool { return true }
	s.Hold(a, reg, any)
	s.Tell(a, "written by A")
	s.Advance(10 * time.Second)
	s.Tell(b, "written by B")
	s.Deliver(a, any)
	fmt.Println("ended:", s.End().End, "after", time.Duration(w.Now()))
	// Output:
	// register: written by B
	// register: written by A
	// ended: done after 10.002s
}

// A schedule is text that a person can read, write and shorten.
func ExampleParseSchedule() {
	names := []string{"A", "store"}
	s, err := sim.ParseSchedule("*/tie#0=1 A/pause#2=3 store/crash#0=1", names)
	fmt.Println(len(s), err)
	fmt.Println(s[:2].Text(names))
	_, err = sim.ParseSchedule("A/pause#2=3 B/drop#0=1", names)
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// */tie#0=1 A/pause#2=3
	// schedule entry "B/drop#0=1": expected one of the processes A, store, found "B"
}
