package sim

import (
	"testing"
	"time"
)

// echoClient yields and calls, three times.
type echoClient struct{ to string }

func (c echoClient) Run(p *Proc) {
	for range 3 {
		p.Yield("before")
		p.Call(p.Peer(c.to), 1, 0)
	}
}

type echoServer struct{}

func (echoServer) Handle(p *Proc, m Message) { p.Reply(m, 2) }

func strategyWorld(c Chooser) Result {
	w := NewWorld(Config{Latency: 1000, Delays: []time.Duration{10, 2000, 30_000}, Holds: []time.Duration{1_000_000}, Pauses: []time.Duration{5, 50_000}}, c, nil)
	defer w.Close()
	w.Serve("s", func() Handler { return echoServer{} })
	for _, n := range []string{"a", "b", "c"} {
		w.Spawn(n, func() Runner { return echoClient{"s"} })
	}
	return w.Run()
}

// TestCensus: it counts the choices of a run and leaves the run as it is.
func TestCensus(t *testing.T) {
	var c Census
	counted, calm := strategyWorld(&c), strategyWorld(Calm{})
	if counted.Digest != calm.Digest {
		t.Error("expected the calm run")
	}
	want := map[Spot]bool{
		{Proc: 0, Site: SiteHold, Count: 9, Options: 2}: true, {Proc: 1, Site: SiteHold, Count: 3, Options: 2}: true,
		{Proc: 1, Site: SiteDelay, Count: 3, Options: 4}: true, {Proc: 3, Site: SitePause, Count: 3, Options: 3}: true,
	}
	for _, s := range c.Spots {
		delete(want, s)
	}
	if len(want) > 0 {
		t.Errorf("expected %v among %v", want, c.Spots)
	}
}

// TestHard: it strikes where Seeded strikes, mostly with the last option.
func TestHard(t *testing.T) {
	soft := Seeded{Seed: 5, Rates: Rates{SitePause: 1 << 14, SiteTie: 1 << 14}}
	hard := Hard{Seeded: soft, Often: 200}
	last, other, ties := 0, 0, 0
	for i := range uint32(4000) {
		ch := Choice{Key: Key{Proc: 1, Site: SitePause, Count: i}, Options: 5}
		a, b := soft.Choose(ch), hard.Choose(ch)
		switch {
		case (a == 0) != (b == 0):
			t.Fatalf("expected both to strike or none at %d, found %d and %d", i, a, b)
		case b == 4:
			last++
		case b > 0:
			other++
		}
		ch.Site = SiteTie
		if soft.Choose(ch) != hard.Choose(ch) {
			ties++
		}
	}
	if last < 700 || last > 950 || other < 100 || ties > 0 {
		t.Errorf("expected about 840 of 1000 to be the last option and ties left alone, found %d, %d others, %d ties", last, other, ties)
	}
}

// TestPriorities: ties go by priority, messages of the lowest are the latest, and
// who meets a change point is the lowest from then on.
func TestPriorities(t *testing.T) {
	key := Key{Proc: 2, Site: SitePause, Count: 4}
	c := Priorities{Changes: NewReplay(Schedule{{Key: key, Option: 1}})}
	for seed := range uint64(20) {
		c.Reset(seed, 4)
		order := func() (first, last int32) {
			for p := range int32(4) {
				if c.priority(p) > c.priority(first) {
					first = p
				}
				if c.priority(p) < c.priority(last) {
					last = p
				}
			}
			return
		}
		first, _ := order()
		c.Tied([]ID{0, 1, 2, 3})
		if k := c.Choose(Choice{Key: Key{Proc: -1, Site: SiteTie}, Options: 4}); k != int(first) {
			t.Errorf("seed %d: expected the tie to go to %d, found %d", seed, first, k)
		}
		if k := c.Choose(Choice{Key: key, Options: 3}); k != 1 {
			t.Errorf("seed %d: expected the fault at the change point, found %d", seed, k)
		}
		if _, last := order(); last != 2 {
			t.Errorf("seed %d: expected process 2 to have dropped, found %d lowest", seed, last)
		}
		if k := c.Choose(Choice{Key: Key{Proc: 2, Site: SiteDelay}, Options: 4}); k != 3 {
			t.Errorf("seed %d: expected the greatest delay for the lowest, found %d", seed, k)
		}
		if k := c.Choose(Choice{Key: Key{Proc: 2, Site: SiteDelay, Count: lateMessages}, Options: 4}); k != 0 {
			t.Errorf("seed %d: expected an end to delays, found %d", seed, k)
		}
	}
}

// TestPartialOrder: only events of one process are reordered in a tie, each of
// them comes first for some seed, and the messages to one receiver are spread.
func TestPartialOrder(t *testing.T) {
	tie, late := map[int]int{}, map[int]int{}
	for seed := range uint64(200) {
		c := PartialOrder{Seed: seed, Under: Calm{}}
		c.Tied([]ID{3, 1, 3, 3})
		tie[c.Choose(Choice{Key: Key{Proc: -1, Site: SiteTie}, Options: 4})]++
		late[c.Choose(Choice{Key: Key{Proc: 1, Site: SiteDelay}, Peer: 3, Options: 4})]++
	}
	if tie[1] > 0 || tie[0] < 40 || tie[2] < 40 || tie[3] < 40 {
		t.Errorf("expected events 0, 2 and 3, of one process, about as often, found %v", tie)
	}
	if late[0] < 20 || late[3] < 5 {
		t.Errorf("expected early and late messages, found %v", late)
	}
}

// TestPeer: a chooser is told whom a message goes to, and the processes of a tie.
func TestPeer(t *testing.T) {
	c := &spy{}
	strategyWorld(c)
	if c.wrong > 0 || c.ties == 0 || c.messages == 0 {
		t.Errorf("expected clients to send to the store and the store to clients, and ties, found %+v", c)
	}
}

type spy struct{ ties, messages, wrong int }

func (*spy) Sites() SiteSet    { return AllSites }
func (s *spy) Tied(procs []ID) { s.ties += len(procs) }
func (s *spy) Choose(c Choice) int {
	if netSites.Has(c.Site) {
		s.messages++
		if (c.Proc == 0) == (c.Peer == 0) {
			s.wrong++
		}
	}
	return 0
}
