package scenarios

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/sim"
)

// wrongStore is a store with a fault, and the properties of which it breaks one in one
// of the scenarios.
type wrongStore struct {
	namedStore
	breaks string
}

// halves is a store on a disk in two keys, wrong in one way or another.
type halves struct {
	mu                          sim.Mutex
	unsynced, memory, dataFirst bool
	fence                       model.Token
}

func (s *halves) Start(p *sim.Proc) {
	if v, ok := p.Get("fence"); ok && !s.memory {
		s.fence, _ = v.(model.Token)
	}
}

func (s *halves) Write(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	if r.Token < s.fence {
		return model.Stale(s.fence)
	}
	if s.dataFirst {
		p.Put("data", r.Value)
		p.Sync()
		p.Put("fence", r.Token)
	} else {
		p.Put("fence", r.Token)
		p.Put("data", r.Value)
	}
	if !s.unsynced {
		p.Sync()
	}
	s.fence = r.Token
	return model.OK(r.Value)
}

func (s *halves) Raise(p *sim.Proc, r model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	if r.Token < s.fence {
		return model.Stale(s.fence)
	}
	s.fence = r.Token
	p.Put("fence", r.Token)
	if !s.unsynced {
		p.Sync()
	}
	return model.OK(0)
}

func (s *halves) Read(p *sim.Proc, _ model.Request) model.Reply {
	s.mu.Lock(p.Context())
	defer s.mu.Unlock(p.Context())
	v, _ := p.Get("data")
	n, _ := v.(int64)
	return model.OK(n)
}

// noRaise is one that cannot raise its fence.
type noRaise struct{ h halves }

func (s *noRaise) Start(p *sim.Proc)                              { s.h.Start(p) }
func (s *noRaise) Write(p *sim.Proc, r model.Request) model.Reply { return s.h.Write(p, r) }
func (s *noRaise) Read(p *sim.Proc, r model.Request) model.Reply  { return s.h.Read(p, r) }

// grouped collects writes and applies them together; it checks when they arrive.
type grouped struct {
	kept
	batch   []*job
	waiting bool
}

func (s *grouped) Write(p *sim.Proc, r model.Request) model.Reply {
	if s.refuses(r) {
		return model.Stale(s.fence)
	}
	j := &job{r: r}
	if s.batch = append(s.batch, j); !s.waiting {
		s.waiting = true
		p.Go("flush", s.flush)
	}
	for !j.done {
		p.Sleep(25 * time.Millisecond)
	}
	return model.OK(r.Value)
}

func (s *grouped) flush(p *sim.Proc) {
	p.Sleep(20 * time.Millisecond)
	for _, j := range s.batch {
		s.lift(j.r)
		s.value, j.done = j.r.Value, true
	}
	s.batch, s.waiting = nil, false
}

func (s *grouped) Raise(p *sim.Proc, r model.Request) model.Reply {
	if s.refuses(r) {
		return model.Stale(s.fence)
	}
	s.lift(r)
	return model.OK(0)
}

func (s *grouped) Read(p *sim.Proc, r model.Request) model.Reply { return model.OK(s.value) }

func wrongStores() []wrongStore {
	var list []wrongStore
	add := func(name, breaks string, f func(s *hooks)) {
		list = append(list, wrongStore{namedStore{name: name, store: func() model.StoreServer { s := &hooks{}; f(s); return s }}, breaks})
	}
	// writes adds a store whose write is f, which is given the resource's record.
	writes := func(name, breaks string, f func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply) {
		add(name, breaks, func(s *hooks) {
			s.note = map[string]int64{}
			s.write = func(s *hooks, p *sim.Proc, r model.Request) model.Reply { return f(s, p, s.cell(r), r) }
		})
	}
	put := func(c *kept, r model.Request) model.Reply {
		c.lift(r)
		c.value = r.Value
		return model.OK(r.Value)
	}
	const stale, unordered = "no-stale-write", "no-stale-write linearizable"

	writes("never looks", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply { return put(c, r) })
	writes("checks a yield earlier", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		p.Yield("now write")
		return put(c, r)
	})
	writes("checks a second earlier", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		p.Sleep(time.Second)
		return put(c, r)
	})
	writes("checks, counts, and writes", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		s.note["accepted"]++
		p.Yield("counted")
		return put(c, r)
	})
	writes("checks outside of the lock", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		s.mu.Lock(p.Context())
		defer s.mu.Unlock(p.Context())
		return put(c, r)
	})
	writes("leaves the lock between check and write", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		s.mu.Lock(p.Context())
		refused := c.refuses(r)
		s.mu.Unlock(p.Context())
		if refused {
			return model.Stale(c.fence)
		}
		p.Yield("unlocked")
		s.mu.Lock(p.Context())
		defer s.mu.Unlock(p.Context())
		return put(c, r)
	})
	writes("lifts the fence, and writes later", unordered, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		c.lift(r)
		p.Yield("fenced")
		c.value = r.Value
		return model.OK(r.Value)
	})
	writes("is slow by chance between check and write", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		if p.Choose("page fault", 2) == 1 {
			p.Sleep(3 * time.Second)
		}
		return put(c, r)
	})
	writes("skips the check by chance", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if p.Choose("error path", 8) != 7 && c.refuses(r) {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("compares identities", unordered, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.lease != "" && c.lease != r.Lease && r.Token <= 1 {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("a fence for each client", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if fence := s.note[r.Client]; int64(r.Token) < fence {
			return model.Stale(model.Token(fence))
		}
		s.note[r.Client] = int64(r.Token)
		return put(c, r)
	})
	writes("a fence for each lease", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if fence := s.note[r.Lease]; int64(r.Token) < fence {
			return model.Stale(model.Token(fence))
		}
		s.note[r.Lease] = int64(r.Token)
		return put(c, r)
	})
	writes("one token of slack", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if r.Token < c.fence-1 {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("an expiry on its own clock", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if until := s.note["until"]; r.Token < c.fence && int64(p.Now()) < until {
			return model.Stale(c.fence)
		}
		s.note["until"] = int64(p.Now() + time.Second)
		return put(c, r)
	})
	writes("a fence of 32 bits", "no-stale-write no-false-fencing linearizable", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if int32(r.Token) < int32(c.fence) {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("a fence of 31 bits", "no-stale-write no-false-fencing linearizable", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if r.Token&(1<<31-1) < c.fence&(1<<31-1) {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("a fence in floating point", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if float32(r.Token) < float32(c.fence) {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("compares tokens as text", "no-stale-write no-false-fencing linearizable", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.fence != 0 && strconv.FormatInt(int64(r.Token), 16) < strconv.FormatInt(int64(c.fence), 16) &&
			len(strconv.FormatInt(int64(r.Token), 16)) == len(strconv.FormatInt(int64(c.fence), 16)) && r.Token%2 == 0 {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("remembers the last token, not the greatest", unordered, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		last := s.note["last"]
		if s.note["last"] = int64(r.Token); int64(r.Token) < last {
			return model.Stale(model.Token(last))
		}
		return put(c, r)
	})
	writes("refuses the holder's second write", "no-false-fencing linearizable scope-isolation", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if r.Token <= c.fence && s.note["wrote"] == int64(r.Token) {
			return model.Stale(c.fence)
		}
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		s.note["wrote"] = int64(r.Token)
		return put(c, r)
	})
	writes("refuses what it writes", "linearizable no-false-fencing", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		put(c, r)
		if s.note["n"]++; s.note["n"]%3 == 0 {
			return model.Stale(c.fence)
		}
		return model.OK(r.Value)
	})
	writes("writes and then takes it back", "no-stale-write linearizable", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		old, wrong := *c, c.refuses(r)
		c.value = r.Value
		p.Yield("written")
		if wrong {
			c.value = old.value
			return model.Stale(old.fence)
		}
		c.lift(r)
		return model.OK(r.Value)
	})
	writes("answers ok and drops the write", "linearizable", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		c.lift(r)
		if s.note["n"]++; s.note["n"]%4 != 0 {
			c.value = r.Value
		}
		return model.OK(r.Value)
	})
	writes("answers ok and writes later", "linearizable no-stale-write no-lost-update", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		c.lift(r)
		p.Go("behind", func(p *sim.Proc) {
			p.Sleep(200 * time.Millisecond)
			c.value = r.Value
		})
		return model.OK(r.Value)
	})
	writes("keeps stale writes for later", "linearizable no-stale-write no-lost-update", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			p.Go("retry", func(p *sim.Proc) {
				p.Sleep(50 * time.Millisecond)
				c.value = r.Value
			})
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("forgets its fence after three writes", unordered, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		put(c, r)
		if s.note["n"]++; s.note["n"]%3 == 0 {
			c.fence, c.lease = 0, ""
		}
		return model.OK(r.Value)
	})
	writes("collects its fence when idle", unordered, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		if int64(p.Now())-s.note["used"] > int64(2*time.Second) {
			c.fence, c.lease = 0, ""
		}
		s.note["used"] = int64(p.Now())
		if c.refuses(r) {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	writes("trusts a check of the last second", stale, func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		key := "checked " + r.Lease
		if at := s.note[key]; at == 0 || int64(p.Now())-at > int64(30*time.Second) {
			if c.refuses(r) {
				return model.Stale(c.fence)
			}
			s.note[key] = int64(p.Now()) + 1
		}
		return put(c, r)
	})
	writes("checks the token of the request before", "no-stale-write no-false-fencing linearizable", func(s *hooks, p *sim.Proc, c *kept, r model.Request) model.Reply {
		before := s.note["token"]
		s.note["token"] = int64(r.Token)
		if before != 0 && model.Token(before) < c.fence {
			return model.Stale(c.fence)
		}
		return put(c, r)
	})
	add("a raise that does nothing", "no-lost-update no-stale-write linearizable fence-survives", func(s *hooks) {
		s.raise = func(s *hooks, p *sim.Proc, r model.Request) model.Reply { return model.OK(0) }
	})
	add("a raise that lowers", "no-stale-write linearizable fence-survives no-lost-update", func(s *hooks) {
		s.raise = func(s *hooks, p *sim.Proc, r model.Request) model.Reply { s.cell(r).lift(r); return model.OK(0) }
	})
	add("a raise that takes effect later", "no-lost-update no-stale-write linearizable", func(s *hooks) {
		s.raise = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
			c := s.cell(r)
			if c.refuses(r) {
				return model.Stale(c.fence)
			}
			p.Go("later", func(p *sim.Proc) {
				p.Sleep(5 * time.Second)
				if !c.refuses(r) {
					c.lift(r)
				}
			})
			return model.OK(0)
		}
	})
	add("a delete without a check", "no-stale-write linearizable", func(s *hooks) {
		s.remove = func(s *hooks, p *sim.Proc, r model.Request) model.Reply { s.cell(r).value = 0; return model.OK(0) }
	})
	add("a delete that forgets the fence", unordered, func(s *hooks) {
		s.remove = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
			c := s.cell(r)
			if c.refuses(r) {
				return model.Stale(c.fence)
			}
			*c = kept{}
			return model.OK(0)
		}
	})
	add("a delete that keeps the value", "linearizable", func(s *hooks) {
		s.remove = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
			c := s.cell(r)
			if c.refuses(r) {
				return model.Stale(c.fence)
			}
			c.lift(r)
			return model.OK(0)
		}
	})
	add("reads from a cache", "linearizable no-stale-read", func(s *hooks) {
		s.note = map[string]int64{}
		s.read = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
			if s.note["n"]++; s.note["n"]%2 == 1 {
				s.note[r.Resource] = s.cell(r).value
			}
			return model.OK(s.note[r.Resource])
		}
	})
	add("reads what was written long ago", "linearizable", func(s *hooks) {
		s.read = func(s *hooks, p *sim.Proc, r model.Request) model.Reply {
			if len(s.log) == 0 {
				return model.OK(s.cell(r).value)
			}
			return model.OK(s.log[0].Value)
		}
		s.after = func(s *hooks, p *sim.Proc, r model.Request) {
			if r.F.String() == "write" {
				s.log = append(s.log, r)
			}
		}
	})
	list = append(list,
		wrongStore{namedStore{name: "a group whose members were checked before", store: func() model.StoreServer { return &grouped{} }}, "no-stale-write linearizable"},
		wrongStore{namedStore{name: "answers before the disk has it", store: func() model.StoreServer { return &halves{unsynced: true} }, crashes: true}, "fence-survives linearizable no-stale-write"},
		wrongStore{namedStore{name: "a fence in memory alone", store: func() model.StoreServer { return &halves{memory: true} }, crashes: true}, "fence-survives linearizable no-stale-write"},
		wrongStore{namedStore{name: "the data first, the fence after", store: func() model.StoreServer { return &noRaise{halves{dataFirst: true}} }, crashes: true}, "fence-survives linearizable no-stale-write"},
	)
	return list
}

// TestWrongStores: each store with a fault breaks a property that its fault breaks, in
// one scenario at least, and whatever it breaks is one of those.
func TestWrongStores(t *testing.T) {
	stores := wrongStores()
	if len(stores) < 40 {
		t.Errorf("expected forty stores, found %d", len(stores))
	}
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			found := ""
			for _, sc := range storeScenarios {
				options := []Option{WithStore(s.store), WithSeeds(max(2000, *seedsOfStores))}
				if s.crashes {
					options = append(options, WithStoreCrashes())
				} else if sc == "store-forgets" {
					continue
				}
				v, err := outcomeIn(t, sc, options...)
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(v.failure, "broke ") {
					found = v.failure
					if !slices.Contains(strings.Fields(s.breaks), brokenIn(found)) {
						t.Errorf("%s: expected one of %s to be broken, found %s", sc, s.breaks, found)
					}
					break
				}
			}
			if found == "" {
				t.Errorf("expected one of %s to be broken in some scenario, found nothing", s.breaks)
			}
			if testing.Verbose() {
				t.Log(found)
			}
		})
	}
}
