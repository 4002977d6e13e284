package scenarios

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/sim"
)

// seedsOfStores is how many seeds each store of the two catalogues runs in each scenario.
var seedsOfStores = flag.Uint64("stores", 300, "seeds of each right and wrong store in each scenario")

// storeScenarios are those in which a user's store can run.
var storeScenarios = []string{"textbook", "read-before-raise", "check-apart", "token-regress", "store-forgets", "self-fencing"}

// kept is what most stores below keep of a resource.
type kept struct {
	fence model.Token
	lease string
	value int64
}

// refuses reports whether the fence rejects a request: a lower token, or the same of
// another lease.
func (c *kept) refuses(r model.Request) bool {
	return r.Token < c.fence || r.Token == c.fence && c.lease != "" && r.Lease != c.lease
}

func (c *kept) lift(r model.Request) { c.fence, c.lease = r.Token, r.Lease }

// hooks is a store in memory of any kind: verbs that a test does not give are those of
// a right store. at is called where the named verb has nothing decided yet.
type hooks struct {
	cells                      map[string]*kept
	write, read, raise, remove func(s *hooks, p *sim.Proc, r model.Request) model.Reply
	before, after              func(s *hooks, p *sim.Proc, r model.Request)
	note                       map[string]int64 // what a kind of store keeps beside
	log                        []model.Request
	mu                         sim.Mutex
}

func (s *hooks) cell(r model.Request) *kept {
	if s.cells == nil {
		s.cells = map[string]*kept{}
	}
	c := s.cells[r.Resource]
	if c == nil {
		c = &kept{}
		s.cells[r.Resource] = c
	}
	return c
}

func (s *hooks) do(f func(s *hooks, p *sim.Proc, r model.Request) model.Reply, p *sim.Proc, r model.Request,
	otherwise func(c *kept) model.Reply) model.Reply {
	if s.before != nil {
		s.before(s, p, r)
	}
	var reply model.Reply
	if f != nil {
		reply = f(s, p, r)
	} else if c := s.cell(r); c.refuses(r) {
		reply = model.Stale(c.fence)
	} else {
		reply = otherwise(c)
	}
	if s.after != nil {
		s.after(s, p, r)
	}
	return reply
}

func (s *hooks) Write(p *sim.Proc, r model.Request) model.Reply {
	return s.do(s.write, p, r, func(c *kept) model.Reply { c.lift(r); c.value = r.Value; return model.OK(r.Value) })
}

func (s *hooks) Raise(p *sim.Proc, r model.Request) model.Reply {
	return s.do(s.raise, p, r, func(c *kept) model.Reply { c.lift(r); return model.OK(0) })
}

func (s *hooks) Delete(p *sim.Proc, r model.Request) model.Reply {
	return s.do(s.remove, p, r, func(c *kept) model.Reply { c.lift(r); c.value = 0; return model.OK(0) })
}

func (s *hooks) Read(p *sim.Proc, r model.Request) model.Reply {
	return s.do(s.read, p, r, func(c *kept) model.Reply { return model.OK(c.value) })
}

func yielding(label string) func(*hooks, *sim.Proc, model.Request) {
	return func(_ *hooks, p *sim.Proc, _ model.Request) { p.Yield(label) }
}

// copying replaces its whole state by a new one.
type copying struct{ now *kept }

func (s *copying) state() kept {
	if s.now == nil {
		return kept{}
	}
	return *s.now
}

func (s *copying) swap(p *sim.Proc, r model.Request, write bool) model.Reply {
	next := s.state()
	if next.refuses(r) {
		return model.Stale(next.fence)
	}
	next.lift(r)
	if write {
		next.value = r.Value
	}
	s.now = &next
	p.Yield("swapped")
	return model.OK(next.value)
}

func (s *copying) Write(p *sim.Proc, r model.Request) model.Reply { return s.swap(p, r, true) }
func (s *copying) Raise(p *sim.Proc, r model.Request) model.Reply { return s.swap(p, r, false) }
func (s *copying) Read(p *sim.Proc, r model.Request) model.Reply  { return model.OK(s.state().value) }

// optimist reads a version, works, and commits if nobody was faster.
type optimist struct {
	kept
	version int
}

func (s *optimist) Write(p *sim.Proc, r model.Request) model.Reply {
	for {
		seen := s.version
		if s.refuses(r) {
			return model.Stale(s.fence)
		}
		p.Sleep(time.Millisecond)
		if s.version == seen {
			s.lift(r)
			s.value = r.Value
			s.version++
			return model.OK(r.Value)
		}
	}
}

func (s *optimist) Raise(p *sim.Proc, r model.Request) model.Reply {
	if s.refuses(r) {
		return model.Stale(s.fence)
	}
	s.lift(r)
	s.version++
	return model.OK(0)
}

func (s *optimist) Read(p *sim.Proc, r model.Request) model.Reply { return model.OK(s.value) }

// entryOf is a write in a log.
type entryOf struct {
	token  model.Token
	lease  string
	value  int64
	raised bool
}

// logged keeps a log, whose last entry is the fence and whose last write the value.
type logged struct {
	entries []entryOf
	most    int // entries before a compaction; 0: none
}

func (s *logged) last() (kept, bool) {
	var c kept
	for _, e := range s.entries {
		c.fence, c.lease = e.token, e.lease
		if !e.raised {
			c.value = e.value
		}
	}
	return c, len(s.entries) > 0
}

func (s *logged) append(p *sim.Proc, r model.Request, raised bool) model.Reply {
	c, _ := s.last()
	if c.refuses(r) {
		return model.Stale(c.fence)
	}
	s.entries = append(s.entries, entryOf{r.Token, r.Lease, r.Value, raised})
	p.Yield("appended")
	if s.most > 0 && len(s.entries) > s.most {
		c, _ := s.last()
		s.entries = []entryOf{{c.fence, c.lease, c.value, false}}
	}
	return model.OK(r.Value)
}

func (s *logged) Write(p *sim.Proc, r model.Request) model.Reply { return s.append(p, r, false) }
func (s *logged) Raise(p *sim.Proc, r model.Request) model.Reply { return s.append(p, r, true) }
func (s *logged) Read(p *sim.Proc, r model.Request) model.Reply {
	c, _ := s.last()
	return model.OK(c.value)
}

// onDisk keeps a resource in one key, checked and written under a lock.
type onDisk struct {
	mu    sim.Mutex
	cache map[string]kept // nil: none
}

func (s *onDisk) get(p *sim.Proc, resource string) kept {
	if c, ok := s.cache[resource]; ok {
		return c
	}
	v, _ := p.Get(resource)
	c, _ := v.(kept)
	return c
}

func (s *onDisk) change(p *sim.Proc, r model.Request, f func(c *kept)) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	c := s.get(p, r.Resource)
	if c.refuses(r) {
		return model.Stale(c.fence)
	}
	c.lift(r)
	f(&c)
	p.Put(r.Resource, c)
	p.Sync()
	if s.cache != nil {
		s.cache[r.Resource] = c
	}
	return model.OK(c.value)
}

func (s *onDisk) Write(p *sim.Proc, r model.Request) model.Reply {
	return s.change(p, r, func(c *kept) { c.value = r.Value })
}
func (s *onDisk) Raise(p *sim.Proc, r model.Request) model.Reply {
	return s.change(p, r, func(*kept) {})
}
func (s *onDisk) Delete(p *sim.Proc, r model.Request) model.Reply {
	return s.change(p, r, func(c *kept) { c.value = 0 })
}
func (s *onDisk) Read(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	return model.OK(s.get(p, r.Resource).value)
}

// queued serves its requests one after another, in a task of its own.
type queued struct {
	kept
	queue   []*job
	running bool
}

type job struct {
	r     model.Request
	reply model.Reply
	done  bool
}

func (s *queued) ask(p *sim.Proc, r model.Request) model.Reply {
	j := &job{r: r}
	s.queue = append(s.queue, j)
	if !s.running {
		s.running = true
		p.Go("worker", s.work)
	}
	for !j.done {
		p.Sleep(time.Millisecond)
	}
	return j.reply
}

func (s *queued) work(p *sim.Proc) {
	for len(s.queue) > 0 {
		j := s.queue[0]
		s.queue = s.queue[1:]
		p.Yield("next job")
		switch {
		case j.r.F.String() == "read":
			j.reply = model.OK(s.value)
		case s.refuses(j.r):
			j.reply = model.Stale(s.fence)
		default:
			s.lift(j.r)
			if j.r.F.String() == "write" {
				s.value = j.r.Value
			}
			j.reply = model.OK(s.value)
		}
		j.done = true
	}
	s.running = false
}

func (s *queued) Write(p *sim.Proc, r model.Request) model.Reply { return s.ask(p, r) }
func (s *queued) Raise(p *sim.Proc, r model.Request) model.Reply { return s.ask(p, r) }
func (s *queued) Read(p *sim.Proc, r model.Request) model.Reply  { return s.ask(p, r) }

// tagged keeps its fence as text: an ETag of the token, the lease and a version.
type tagged struct {
	etag  string
	value int64
}

func (s *tagged) fence() (model.Token, string) {
	head, tail, _ := strings.Cut(s.etag, "/")
	n, _ := strconv.ParseInt(head, 10, 64)
	return model.Token(n), tail
}

func (s *tagged) put(r model.Request) (model.Token, bool) {
	token, lease := s.fence()
	if c := (kept{fence: token, lease: lease}); c.refuses(r) {
		return token, false
	}
	s.etag = fmt.Sprintf("%d/%s", r.Token, r.Lease)
	return r.Token, true
}

func (s *tagged) Write(p *sim.Proc, r model.Request) model.Reply {
	if fence, ok := s.put(r); !ok {
		return model.Stale(fence)
	}
	s.value = r.Value
	return model.OK(r.Value)
}
func (s *tagged) Raise(p *sim.Proc, r model.Request) model.Reply {
	if fence, ok := s.put(r); !ok {
		return model.Stale(fence)
	}
	return model.OK(0)
}
func (s *tagged) Read(p *sim.Proc, r model.Request) model.Reply { return model.OK(s.value) }

// chained keeps its versions in a list, the newest first.
type chained struct{ newest *version }

type version struct {
	kept
	older *version
}

func (s *chained) top() kept {
	if s.newest == nil {
		return kept{}
	}
	return s.newest.kept
}

func (s *chained) push(p *sim.Proc, r model.Request, value int64) model.Reply {
	c := s.top()
	if c.refuses(r) {
		return model.Stale(c.fence)
	}
	s.newest = &version{kept{r.Token, r.Lease, value}, s.newest}
	p.Yield("pushed")
	return model.OK(value)
}

func (s *chained) Write(p *sim.Proc, r model.Request) model.Reply { return s.push(p, r, r.Value) }
func (s *chained) Raise(p *sim.Proc, r model.Request) model.Reply { return s.push(p, r, s.top().value) }
func (s *chained) Read(p *sim.Proc, r model.Request) model.Reply  { return model.OK(s.top().value) }

// flipped has two slots and says which is valid.
type flipped struct {
	slots  [2]kept
	active int
}

func (s *flipped) turn(p *sim.Proc, r model.Request, write bool) model.Reply {
	c := s.slots[s.active]
	if c.refuses(r) {
		return model.Stale(c.fence)
	}
	if c.lift(r); write {
		c.value = r.Value
	}
	s.slots[1-s.active] = c
	s.active = 1 - s.active
	return model.OK(c.value)
}

func (s *flipped) Write(p *sim.Proc, r model.Request) model.Reply { return s.turn(p, r, true) }
func (s *flipped) Raise(p *sim.Proc, r model.Request) model.Reply { return s.turn(p, r, false) }
func (s *flipped) Read(p *sim.Proc, r model.Request) model.Reply {
	return model.OK(s.slots[s.active].value)
}

// reserved lifts its fence first, works, and commits only if the fence is still its own.
type reserved struct{ kept }

func (s *reserved) Write(p *sim.Proc, r model.Request) model.Reply {
	p.Yield("arrived")
	if s.refuses(r) {
		return model.Stale(s.fence)
	}
	p.Sleep(2 * time.Millisecond) // prepares what it will write
	if s.refuses(r) {
		return model.Stale(s.fence)
	}
	s.lift(r)
	s.value = r.Value
	return model.OK(r.Value)
}

func (s *reserved) Raise(p *sim.Proc, r model.Request) model.Reply {
	if s.refuses(r) {
		return model.Stale(s.fence)
	}
	s.lift(r)
	return model.OK(0)
}

func (s *reserved) Read(p *sim.Proc, r model.Request) model.Reply { return model.OK(s.value) }

// votes is a right store of three replicas under one lock, of which one may be slow.
type votes struct {
	mu sim.Mutex
	r  [3]kept
}

func (s *votes) each(p *sim.Proc, r model.Request, write bool) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	if s.r[0].refuses(r) {
		return model.Stale(s.r[0].fence)
	}
	for i := range s.r {
		p.Yield("replica")
		if s.r[i].lift(r); write {
			s.r[i].value = r.Value
		}
	}
	return model.OK(s.r[0].value)
}

func (s *votes) Write(p *sim.Proc, r model.Request) model.Reply { return s.each(p, r, true) }
func (s *votes) Raise(p *sim.Proc, r model.Request) model.Reply { return s.each(p, r, false) }
func (s *votes) Read(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	return model.OK(s.r[p.Choose("replica", 3)].value)
}

// bare has a Write and nothing else.
type bare struct{ kept }

func (s *bare) Write(p *sim.Proc, r model.Request) model.Reply {
	if s.refuses(r) {
		return model.Stale(s.fence)
	}
	s.lift(r)
	s.value = r.Value
	return model.OK(r.Value)
}

type namedStore struct {
	name    string
	store   func() model.StoreServer
	crashes bool
}

func rightStores() []namedStore {
	h := func(f func(s *hooks)) func() model.StoreServer {
		return func() model.StoreServer { s := &hooks{mu: sim.Mutex{}}; f(s); return s }
	}
	locked := func(inside func(p *sim.Proc)) func(s *hooks) {
		return func(s *hooks) {
			s.before = func(s *hooks, p *sim.Proc, r model.Request) { s.mu.Lock(p.Context()); inside(p) }
			s.after = func(s *hooks, p *sim.Proc, r model.Request) { inside(p); s.mu.Unlock(p.Context()) }
		}
	}
	refusing := func(f func(c *kept, r model.Request) model.Reply) func(s *hooks) {
		return func(s *hooks) {
			s.write = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				c := s.cell(r)
				if c.refuses(r) {
					return f(c, r)
				}
				c.lift(r)
				c.value = r.Value
				return model.OK(r.Value)
			}
		}
	}
	return []namedStore{
		{name: "plain", store: h(func(*hooks) {})},
		{name: "bare", store: func() model.StoreServer { return &bare{} }},
		{name: "yields before", store: h(func(s *hooks) { s.before = yielding("before") })},
		{name: "yields after", store: h(func(s *hooks) { s.after = yielding("after") })},
		{name: "sleeps before", store: h(func(s *hooks) {
			s.before = func(_ *hooks, p *sim.Proc, _ model.Request) { p.Sleep(5 * time.Millisecond) }
		})},
		{name: "sleeps after", store: h(func(s *hooks) {
			s.after = func(_ *hooks, p *sim.Proc, _ model.Request) { p.Sleep(5 * time.Millisecond) }
		})},
		{name: "sleeps long after", store: h(func(s *hooks) { s.after = func(_ *hooks, p *sim.Proc, _ model.Request) { p.Sleep(4 * time.Second) } })},
		{name: "yields on both sides", store: h(func(s *hooks) { s.before, s.after = yielding("before"), yielding("after") })},
		{name: "under a lock", store: h(locked(func(p *sim.Proc) { p.Yield("locked") }))},
		{name: "under a lock, slowly", store: h(locked(func(p *sim.Proc) { p.Sleep(time.Millisecond) }))},
		{name: "counts requests", store: h(func(s *hooks) {
			s.note = map[string]int64{}
			s.before = func(s *hooks, p *sim.Proc, r model.Request) { s.note["requests"]++; p.Yield("counted") }
		})},
		{name: "audits what it answered", store: h(func(s *hooks) {
			s.after = func(s *hooks, p *sim.Proc, r model.Request) { p.Yield("audit"); s.log = append(s.log, r) }
		})},
		{name: "logs what arrives", store: h(func(s *hooks) {
			s.before = func(s *hooks, p *sim.Proc, r model.Request) { s.log = append(s.log, r); p.Yield("logged") }
		})},
		{name: "keeps the last eight requests", store: h(func(s *hooks) {
			s.before = func(s *hooks, p *sim.Proc, r model.Request) {
				if s.log = append(s.log, r); len(s.log) > 8 {
					s.log = slices.Delete(s.log, 0, 1)
				}
				p.Yield("kept")
			}
		})},
		{name: "counts per client afterwards", store: h(func(s *hooks) {
			s.note = map[string]int64{}
			s.after = func(s *hooks, p *sim.Proc, r model.Request) { p.Yield("statistics"); s.note[r.Client]++ }
		})},
		{name: "checks early as well", store: h(func(s *hooks) {
			s.write = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				for range 2 {
					if c := s.cell(r); c.refuses(r) {
						return model.Stale(c.fence)
					}
					p.Yield("checked once")
				}
				c := s.cell(r)
				if c.refuses(r) {
					return model.Stale(c.fence)
				}
				c.lift(r)
				c.value = r.Value
				return model.OK(r.Value)
			}
		})},
		{name: "reserves and commits", store: func() model.StoreServer { return &reserved{} }},
		{name: "names no token", store: h(refusing(func(*kept, model.Request) model.Reply { return model.Stale(0) }))},
		{name: "names the presented token", store: h(refusing(func(_ *kept, r model.Request) model.Reply { return model.Stale(r.Token) }))},
		{name: "refuses slowly", store: h(func(s *hooks) {
			s.write = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				c := s.cell(r)
				if c.refuses(r) {
					f := c.fence
					p.Sleep(time.Millisecond)
					return model.Stale(f)
				}
				c.lift(r)
				c.value = r.Value
				return model.OK(r.Value)
			}
		})},
		{name: "sometimes slow before", store: h(func(s *hooks) {
			s.before = func(_ *hooks, p *sim.Proc, _ model.Request) {
				if p.Choose("slow", 2) == 1 {
					p.Sleep(time.Second)
				}
			}
		})},
		{name: "sometimes slow after", store: h(func(s *hooks) {
			s.after = func(_ *hooks, p *sim.Proc, _ model.Request) {
				if p.Choose("slow", 2) == 1 {
					p.Sleep(time.Second)
				}
			}
		})},
		{name: "does not know now and then", store: h(func(s *hooks) {
			s.write = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				c := s.cell(r)
				if c.refuses(r) {
					return model.Stale(c.fence)
				}
				c.lift(r)
				if p.Choose("lost before", 4) == 1 {
					return model.Unknown()
				}
				c.value = r.Value
				if p.Choose("lost after", 4) == 1 {
					return model.Unknown()
				}
				return model.OK(r.Value)
			}
		})},
		{name: "copies on write", store: func() model.StoreServer { return &copying{} }},
		{name: "optimistic", store: func() model.StoreServer { return &optimist{} }},
		{name: "a log", store: func() model.StoreServer { return &logged{} }},
		{name: "a log that is compacted", store: func() model.StoreServer { return &logged{most: 3} }},
		{name: "a list of versions", store: func() model.StoreServer { return &chained{} }},
		{name: "two slots", store: func() model.StoreServer { return &flipped{} }},
		{name: "an ETag", store: func() model.StoreServer { return &tagged{} }},
		{name: "a worker", store: func() model.StoreServer { return &queued{} }},
		{name: "replicas under a lock", store: func() model.StoreServer { return &votes{} }},
		{name: "on a disk", store: func() model.StoreServer { return &onDisk{} }, crashes: true},
		{name: "on a disk, without crashes", store: func() model.StoreServer { return &onDisk{} }},
		{name: "on a disk, with a cache", store: func() model.StoreServer { return &onDisk{cache: map[string]kept{}} }, crashes: true},
		{name: "a reserve copy after", store: h(func(s *hooks) {
			s.note = map[string]int64{}
			s.after = func(s *hooks, p *sim.Proc, r model.Request) {
				p.Sleep(time.Millisecond)
				s.note[r.Resource] = s.cell(r).value
			}
		})},
		{name: "reads in two steps", store: h(func(s *hooks) {
			s.read = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				p.Yield("look up")
				v := s.cell(r).value
				p.Yield("send")
				return model.OK(v)
			}
		})},
		{name: "fenced reads", store: h(func(s *hooks) {
			s.read = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				if c := s.cell(r); c.refuses(r) {
					return model.Stale(c.fence)
				}
				return model.OK(s.cell(r).value)
			}
		})},
		{name: "reads that lift the fence", store: h(func(s *hooks) {
			s.read = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				c := s.cell(r)
				if c.refuses(r) {
					return model.Stale(c.fence)
				}
				c.lift(r)
				return model.OK(c.value)
			}
		})},
		{name: "a write in two halves under a lock", store: h(func(s *hooks) {
			s.before = func(s *hooks, p *sim.Proc, r model.Request) { s.mu.Lock(p.Context()) }
			s.after = func(s *hooks, p *sim.Proc, r model.Request) { s.mu.Unlock(p.Context()) }
			s.write = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				c := s.cell(r)
				if c.refuses(r) {
					return model.Stale(c.fence)
				}
				c.lift(r)
				p.Yield("half")
				c.value = r.Value
				return model.OK(r.Value)
			}
		})},
		{name: "a map of what was deleted", store: h(func(s *hooks) {
			s.note = map[string]int64{}
			s.remove = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
				c := s.cell(r)
				if c.refuses(r) {
					return model.Stale(c.fence)
				}
				c.lift(r)
				c.value = 0
				s.note[r.Resource]++
				p.Yield("tombstone")
				return model.OK(0)
			}
		})},
	}
}

// TestRightStores: stores that do right pass in every scenario; -stores 20000 runs as
// many seeds as Test does.
func TestRightStores(t *testing.T) {
	stores := rightStores()
	if len(stores) < 40 {
		t.Errorf("expected forty stores, found %d", len(stores))
	}
	for _, s := range stores {
		for _, sc := range storeScenarios {
			_, raises := s.store().(model.StoreRaiser)
			if sc == "read-before-raise" && !raises || sc == "store-forgets" && !s.crashes {
				continue // the scenario is about what the store does not do
			}
			t.Run(s.name+"/"+sc, func(t *testing.T) {
				t.Parallel()
				options := []Option{WithStore(s.store), WithSeeds(*seedsOfStores)}
				if s.crashes {
					options = append(options, WithStoreCrashes())
				}
				v, err := outcomeIn(t, sc, options...)
				if err != nil {
					t.Fatal(err)
				}
				if v.failure != "" && !strings.HasPrefix(v.failure, "inconclusive: in ") {
					t.Error(v.failure)
				}
			})
		}
	}
}
