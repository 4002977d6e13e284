package model

import (
	"errors"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"staleproof/model/history"
	"staleproof/sim"
)

const ttl = 10 * time.Second

func config(d Defects) Config {
	return Config{Defects: d, TTL: ttl, RhoPPM: 200, Timeout: 4 * time.Second}
}

// play is a client whose code is a function.
type play func(p *sim.Proc)

func (f play) Run(p *sim.Proc) { f(p) }

// world runs code as client A, and B if given, beside a lease manager and a
// store, without faults but for those of the schedule.
func world(t *testing.T, cfg Config, schedule sim.Schedule, clients ...func(p *sim.Proc)) (sim.Result, []history.Event) {
	t.Helper()
	w := sim.NewWorld(sim.Config{}, sim.Calm{}, nil)
	defer w.Close()
	var log history.Recorder
	rec := &Recorder{World: w, Sink: SinkFunc(log.Append), Full: true}
	w.Reset(sim.Config{Latency: time.Millisecond, Delays: []time.Duration{time.Second}, Restarts: []time.Duration{time.Second}},
		sim.NewReplay(schedule), rec)
	w.Serve("manager", func() sim.Handler { return NewLeaseManager(cfg) })
	w.Serve("store", func() sim.Handler { return NewFencedStore(cfg) })
	for i, code := range clients {
		w.Spawn(string(rune('A'+i)), func() sim.Runner { return play(code) })
	}
	res := w.Run()
	if res.Panic != nil {
		t.Fatalf("%v\n%s", res.Panic, res.Panic.Stack)
	}
	return res, log.Events()
}

// client returns the client of p's process.
func client(p *sim.Proc, cfg Config) *Client {
	return NewClient(p, cfg, p.Peer("manager"), p.Peer("store"), "")
}

// TestTerm: the term is ttl·(1−ρ)/(1+ρ), rounded down, in exact arithmetic.
func TestTerm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ttl := rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "ttl")
		rho := rapid.Int64Range(0, 999_999).Draw(t, "rho")
		want := new(big.Int).Mul(big.NewInt(ttl), big.NewInt(1_000_000-rho))
		want.Div(want, big.NewInt(1_000_000+rho))
		cfg := Config{RhoPPM: rho}
		if got := cfg.Term(time.Duration(ttl)); int64(got) != want.Int64() {
			t.Fatalf("term of %d with rho %d: expected %v, found %d", ttl, rho, want, got)
		}
	})
}

func TestLeaseIdentities(t *testing.T) {
	seen := map[string]bool{}
	for n := range int64(200_000) {
		id := leaseID(n)
		if seen[id] {
			t.Fatalf("lease %d has the identity %s of another", n, id)
		}
		seen[id] = true
	}
	if got := leaseID(0); got != "91cd" {
		t.Errorf("expected the first identity to be 91cd, found %s", got)
	}
}

func TestDefects(t *testing.T) {
	var all Defects
	for _, d := range AllDefects() {
		if all.Has(d.Set) || d.Doc == "" || !strings.HasPrefix(d.Case, "https://") {
			t.Errorf("%s: expected a bit of its own, a text and a case, found %+v", d.Name, d)
		}
		all |= d.Set
		if got, err := ParseDefects(d.Set.String()); err != nil || got != d.Set {
			t.Errorf("%s: does not round-trip: %v, %v", d.Name, got, err)
		}
	}
	if all != defectsEnd-1 {
		t.Errorf("expected every defect in the table, found %v", all)
	}
	if got, err := ParseDefects(all.String()); err != nil || got != all {
		t.Errorf("the whole set does not round-trip: %v, %v", got, err)
	}
	if _, err := ParseDefects("store-ignores-tokens"); err == nil {
		t.Error("expected an error for an unknown defect")
	}
}

// TestHas: a set has another one when it has all of it, and some of it when it has one.
func TestHas(t *testing.T) {
	const a, b, c = StoreIgnoresToken, StoreChecksApart, DeadlineFromReceipt
	for _, x := range []struct {
		set, of  Defects
		all, any bool
	}{
		{0, 0, true, false},
		{a, 0, true, false},
		{0, a, false, false},
		{a, a, true, true},
		{a, b, false, false},
		{a | b, b, true, true},
		{a, a | b, false, true},
		{a | b, a | b, true, true},
		{a | b, a | b | c, false, true},
		{c, a | b, false, false},
	} {
		if got := x.set.Has(x.of); got != x.all {
			t.Errorf("%v.Has(%v): expected %t, found %t", x.set, x.of, x.all, got)
		}
		if got := x.set.hasAny(x.of); got != x.any {
			t.Errorf("%v.hasAny(%v): expected %t, found %t", x.set, x.of, x.any, got)
		}
	}
}

// change gives a zero field another value.
func change(f reflect.Value) {
	switch f.Kind() {
	case reflect.String:
		f.SetString("x")
	case reflect.Bool:
		f.SetBool(true)
	case reflect.Uint8:
		f.SetUint(1)
	default:
		f.SetInt(1)
	}
}

// TestFoldsSeeEveryField: no field of a message is outside the digest.
func TestFoldsSeeEveryField(t *testing.T) {
	for _, body := range []interface{ Fold(uint64) uint64 }{Request{}, Reply{}} {
		zero := body.Fold(1)
		for i := range reflect.TypeOf(body).NumField() {
			changed := reflect.New(reflect.TypeOf(body)).Elem()
			change(changed.Field(i))
			name := reflect.TypeOf(body).Field(i).Name
			if name == "Op" || name == "Basis" {
				continue // they only name operations
			}
			if changed.Interface().(interface{ Fold(uint64) uint64 }).Fold(1) == zero {
				t.Errorf("%T: field %s is not in the digest", body, name)
			}
		}
	}
}

// TestTwinsSeeEveryField: values that differ in one field, whichever, are no twins, and
// values that do not are, but for the places of their texts.
func TestTwinsSeeEveryField(t *testing.T) {
	for _, c := range []struct {
		value any
		twin  func(a, b any) bool
	}{
		{Request{}, func(a, b any) bool { return sim.Peek[Request](a).twin(sim.Peek[Request](b)) }},
		{Reply{}, func(a, b any) bool { return sim.Peek[Reply](a).twin(sim.Peek[Reply](b)) }},
		{granted{}, func(a, b any) bool { return sim.Peek[granted](a).twin(sim.Peek[granted](b)) }},
	} {
		if !c.twin(c.value, c.value) {
			t.Errorf("%T: expected equal values to be twins", c.value)
		}
		for _, f := range reflect.VisibleFields(reflect.TypeOf(c.value)) {
			changed := reflect.New(reflect.TypeOf(c.value))
			place := changed.Elem().FieldByIndex(f.Index).Addr().UnsafePointer()
			change(reflect.NewAt(f.Type, place).Elem()) // unexported ones too
			if other := changed.Elem().Interface(); other == c.value || c.twin(c.value, other) || c.twin(other, c.value) {
				t.Errorf("%T: values with another %s are twins", c.value, f.Name)
			}
		}
	}
}

// TestFence: the store's rule, one row a sequence of (token, lease) writes.
func TestFence(t *testing.T) {
	type write struct {
		token Token
		lease string
		ok    bool
	}
	for _, c := range []struct {
		reason  string
		defects Defects
		writes  []write
	}{
		{"a holder writes again and again", 0, []write{{1, "a", true}, {1, "a", true}}},
		{"a greater token is accepted, then the old one refused", 0, []write{{1, "a", true}, {2, "b", true}, {1, "a", false}, {2, "b", true}}},
		{"tokens may skip", 0, []write{{3, "a", true}, {9, "b", true}, {8, "c", false}}},
		{"an equal token of another lease is refused", 0, []write{{1, "a", true}, {1, "b", false}, {1, "a", true}}},
		{"no fence", StoreIgnoresToken, []write{{2, "b", true}, {1, "a", true}}},
		{"identity without order", StoreComparesIdentity, []write{{2, "b", true}, {1, "a", true}}},
		{"token <= highest is refused", StoreRefusesEqual, []write{{1, "a", true}, {1, "a", false}, {2, "b", true}}},
	} {
		cfg := config(c.defects)
		world(t, cfg, nil, func(p *sim.Proc) {
			cl := client(p, cfg)
			for i, w := range c.writes {
				err := cl.Write(p.Context(), "r", Lease{Token: w.token, ID: w.lease}, int64(i))
				var stale *StaleTokenError
				if w.ok != (err == nil) || !w.ok && !errors.As(err, &stale) {
					t.Errorf("%s: write %d with token %d of lease %s: expected ok %v, found %v", c.reason, i, w.token, w.lease, w.ok, err)
				}
			}
		})
	}
}

func TestRaiseAndRead(t *testing.T) {
	cfg := config(0)
	world(t, cfg, nil, func(p *sim.Proc) {
		c, ctx := client(p, cfg), p.Context()
		a, b := Lease{Token: 1, ID: "a"}, Lease{Token: 2, ID: "b"}
		steps := []struct {
			reason string
			err    error
			ok     bool
		}{
			{"A writes", c.Write(ctx, "r", a, 10), true},
			{"B raises", c.Raise(ctx, "r", b), true},
			{"A's write is stale though B has written nothing", c.Write(ctx, "r", a, 11), false},
			{"A's raise is stale", c.Raise(ctx, "r", a), false},
			{"A's delete is stale", c.Delete(ctx, "r", a), false},
			{"another resource has a fence of its own", c.Write(ctx, "other", a, 12), true},
		}
		for _, s := range steps {
			if s.ok != (s.err == nil) {
				t.Errorf("%s: expected ok %v, found %v", s.reason, s.ok, s.err)
			}
		}
		if v, err := c.Read(ctx, "r", b); v != 10 || err != nil {
			t.Errorf("B reads: expected 10, found %d, %v", v, err)
		}
		if _, err := c.Read(ctx, "r", a); err == nil {
			t.Error("A's read under a stale token: expected a refusal")
		}
		if err := c.Delete(ctx, "r", b); err != nil {
			t.Error(err)
		}
		if v, _ := c.Read(ctx, "r", b); v != 0 {
			t.Errorf("after the delete: expected 0, found %d", v)
		}
	})
}

func TestLeaseManager(t *testing.T) {
	cfg := config(0)
	cfg.FirstToken = 41
	world(t, cfg, nil, func(p *sim.Proc) {
		c, ctx := client(p, cfg), p.Context()
		first, err := c.Acquire(ctx, "r", ttl)
		if err != nil || first.Token != 41 || first.Generation != 1 {
			t.Errorf("expected token 41 of generation 1, found %+v, %v", first, err)
		}
		var held *HeldError
		if _, err := c.Acquire(ctx, "r", ttl); !errors.As(err, &held) || held.RetryAfter <= 0 || held.RetryAfter > ttl {
			t.Errorf("a second acquire: expected *HeldError, found %v", err)
		}
		if l, err := c.Acquire(ctx, "other", ttl); err != nil || l.Token != 41 {
			t.Errorf("another resource: expected a lease of its own, found %+v, %v", l, err)
		}
		p.Sleep(ttl / 2)
		renewed, err := c.Renew(ctx, first)
		if err != nil || renewed.Token != first.Token || renewed.ID != first.ID || !renewed.Deadline.After(first.Deadline) {
			t.Errorf("a renewal: expected the same token and a later deadline, found %+v, %v", renewed, err)
		}
		stranger := first
		stranger.ID = "ffff"
		if _, err := c.Renew(ctx, stranger); !errors.Is(err, ErrNotHolder) {
			t.Errorf("a renewal with another identity: expected ErrNotHolder, found %v", err)
		}
		if err := c.Release(ctx, stranger); !errors.Is(err, ErrNotHolder) {
			t.Errorf("a release with another identity: expected ErrNotHolder, found %v", err)
		}
		p.Sleep(ttl + time.Second)
		if _, err := c.Renew(ctx, first); !errors.Is(err, ErrNotHolder) {
			t.Errorf("a renewal after expiry: expected ErrNotHolder, found %v", err)
		}
		second, err := c.Acquire(ctx, "r", ttl)
		if err != nil || second.Token != 42 || second.ID == first.ID {
			t.Errorf("after expiry: expected token 42 and a new identity, found %+v, %v", second, err)
		}
		if err := c.Release(ctx, second); err != nil {
			t.Errorf("a release: %v", err)
		}
		if third, err := c.Acquire(ctx, "r", ttl); err != nil || third.Token != 43 {
			t.Errorf("after a release: expected token 43, found %+v, %v", third, err)
		}
	})
}

// TestRecovery: tokens, leases, fences, values and replies survive the crash of
// the servers; the crash strikes at their n-th yield.
func TestRecovery(t *testing.T) {
	cfg := config(0)
	cfg.Timeout = time.Second
	for _, server := range []int32{0, 1} {
		for yield := range uint32(3) {
			for torn := range 2 {
				schedule := sim.Schedule{
					{Key: sim.Key{Proc: server, Site: sim.SiteCrash, Count: yield}, Option: 1},
					{Key: sim.Key{Proc: server, Site: sim.SiteDisk}, Option: torn},
				}
				_, events := world(t, cfg, schedule, func(p *sim.Proc) {
					c, ctx := client(p, cfg), p.Context()
					var last Token
					for try := 0; last < 3 && try < 20; try++ {
						l, err := c.Acquire(ctx, "r", ttl)
						if err != nil {
							p.Sleep(2 * time.Second)
							continue
						}
						if l.Token <= last {
							t.Errorf("crash of process %d at yield %d: expected a token above %d, found %d", server, yield, last, l.Token)
						}
						last = l.Token
						for c.Write(ctx, "r", l, int64(l.Token)) != nil {
							p.Sleep(time.Second)
						}
						if v, err := c.Read(ctx, "r", l); err != nil || v != int64(l.Token) {
							t.Errorf("crash of process %d at yield %d: expected to read %d, found %d, %v", server, yield, l.Token, v, err)
						}
						c.Release(ctx, l)
					}
					if last < 3 {
						t.Errorf("crash of process %d at yield %d: expected three leases, found %d", server, yield, last)
					}
				})
				checkCrashed(t, events)
			}
		}
	}
}

func checkCrashed(t *testing.T, events []history.Event) {
	t.Helper()
	for _, e := range events {
		if e.F == history.Restart {
			return
		}
	}
	t.Error("expected a crash")
}

// TestCopies: a duplicated request takes effect once.
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		defects Defects
		applies int
	}{{0, 2}, {StoreReappliesCopies, 3}} {
		cfg := config(c.defects)
		schedule := sim.Schedule{{Key: sim.Key{Proc: 2, Site: sim.SiteDuplicate, Count: 0}, Option: 1}}
		_, events := world(t, cfg, schedule, func(p *sim.Proc) {
			cl := client(p, cfg)
			l := Lease{Token: 1, ID: "a"}
			cl.Write(p.Context(), "r", l, 1)
			cl.Write(p.Context(), "r", l, 2)
			p.Sleep(2 * time.Second)
		})
		applies := 0
		for _, e := range events {
			if e.F == history.Apply {
				applies++
			}
		}
		if applies != c.applies {
			t.Errorf("defects %s: expected %d applies, found %d", c.defects, c.applies, applies)
		}
	}
}

// TestUnknownOutcome: after a lost reply the client goes on under a new process
// name, and its identity stays.
func TestUnknownOutcome(t *testing.T) {
	cfg := config(0)
	schedule := sim.Schedule{{Key: sim.Key{Proc: 0, Site: sim.SiteDrop, Count: 0}, Option: 1}}
	_, events := world(t, cfg, schedule, func(p *sim.Proc) {
		c := client(p, cfg)
		if _, err := c.Acquire(p.Context(), "r", ttl); !errors.Is(err, ErrUnknownOutcome) {
			t.Errorf("expected ErrUnknownOutcome, found %v", err)
		}
		c.Release(p.Context(), Lease{Resource: "r"})
	})
	var got []string
	for _, e := range events {
		if e.Type != history.Note {
			got = append(got, e.Type.String()+" "+e.F.String()+" by "+e.Process+" of "+e.ClientName())
		}
	}
	want := "invoke acquire by A of A, info acquire by A of A, invoke release by A/1 of A, fail release by A/1 of A"
	if strings.Join(got, ", ") != want {
		t.Errorf("expected %s\nfound %s", want, strings.Join(got, ", "))
	}
}

// TestHolder: what a holder does when its lease ends, is refused, or is renewed.
func TestHolder(t *testing.T) {
	cfg := HolderConfig{Config: config(0), Resource: "r"}
	world(t, cfg.Config, nil, func(p *sim.Proc) {
		h, ctx := NewHolder(p, cfg), p.Context()
		if err := h.Write(ctx, 1); !errors.Is(err, ErrExpired) {
			t.Errorf("a write without a lease: expected ErrExpired, found %v", err)
		}
		if err := h.Acquire(ctx); err != nil {
			t.Error(err)
			return
		}
		p.Sleep(cfg.Term(ttl) - 100*time.Millisecond)
		if err := h.Write(ctx, 1); err != nil {
			t.Errorf("just before the deadline: %v", err)
		}
		if err := h.Renew(ctx); err != nil {
			t.Errorf("a renewal: %v", err)
		}
		p.Sleep(time.Second)
		if err := h.Write(ctx, 2); err != nil {
			t.Errorf("after a renewal: %v", err)
		}
		p.Sleep(ttl)
		if err := h.Write(ctx, 3); !errors.Is(err, ErrExpired) {
			t.Errorf("after the deadline: expected ErrExpired, found %v", err)
		}
	})
}

// TestKeepAlive: the renewal task keeps the lease while the work goes on, and
// ends with it.
func TestKeepAlive(t *testing.T) {
	cfg := HolderConfig{Config: config(0), Resource: "r", Acquisitions: 1, Writes: 6, Work: 4 * time.Second, Renew: true}
	_, events := world(t, cfg.Config, nil, func(p *sim.Proc) { NewHolder(p, cfg).Run(p.Context()) })
	count := map[history.F]int{}
	for _, e := range events {
		if e.Type == history.Note {
			count[e.F]++
		}
	}
	if count[history.Apply] != 6 || count[history.Renewed] < 5 || count[history.Expire] != 0 || count[history.Released] != 1 {
		t.Errorf("expected 6 writes under one lease, renewed at least 5 times and released, found %v", count)
	}
}

// TestInit: a holder in the memory of another one, of another process and another
// config, does what a new one does.
func TestInit(t *testing.T) {
	long := HolderConfig{Config: config(0), Resource: "r", Acquisitions: 1, Writes: 6, Work: 4 * time.Second, Renew: true}
	short := HolderConfig{Config: config(0), Resource: "s", Acquisitions: 2, Writes: 1, Work: time.Second, Modify: true}
	crash := sim.Schedule{{Key: sim.Key{Proc: 3, Site: sim.SiteCrash, Count: 1}, Option: 1}}
	var used Holder
	run := func(h *Holder, cfg HolderConfig) []history.Event {
		idle := func(*sim.Proc) {}
		_, events := world(t, cfg.Config, crash, idle, func(p *sim.Proc) {
			h.Init(p, cfg)
			h.Run(p.Context())
		})
		return events
	}
	for _, cfg := range []HolderConfig{long, short, long} {
		want := run(&Holder{}, cfg)
		if !slices.ContainsFunc(want, func(e history.Event) bool { return e.Process == "B.1" }) {
			t.Error("expected B to have a second life")
		}
		if got := run(&used, cfg); !reflect.DeepEqual(got, want) {
			t.Errorf("expected %v\nfound %v", want, got)
		}
	}
	world(t, short.Config, nil, func(p *sim.Proc) { used.Init(p, short); used.Run(p.Context()) })
	if got := used.clients[0]; got.base != "A" || got.process != "A" {
		t.Errorf("in a first life of A: expected operations of A, found %s on line %s", got.base, got.process)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&StaleTokenError{"orders/7", 41, 42, "B"}, "model: stale token 41 for orders/7: the store has accepted token 42 of B"},
		{&HeldError{"orders/7", 3 * time.Second}, "model: the lease of orders/7 is held; it may be free in 3s"},
	} {
		if c.err.Error() != c.want {
			t.Errorf("expected %q, found %q", c.want, c.err)
		}
	}
}

// syncing is a user's store that is durable: the write takes effect, then the
// disk is synced, then it answers.
type syncing struct {
	highest Token
	says    bool
}

func (s *syncing) Write(p *sim.Proc, r Request) Reply {
	if r.Token < s.highest {
		return Stale(s.highest)
	}
	s.highest = r.Token
	if s.says {
		Applied(p, r)
	}
	p.Sleep(time.Second)
	return OK(r.Value)
}

// TestApplied: a store that goes on after its write took effect says when.
func TestApplied(t *testing.T) {
	for _, says := range []bool{false, true} {
		w := sim.NewWorld(sim.Config{}, sim.Calm{}, nil)
		var log history.Recorder
		rec := &Recorder{World: w, Sink: SinkFunc(log.Append)}
		w.Reset(sim.Config{}, sim.Calm{}, rec)
		w.Serve("store", func() sim.Handler { return Serve(&syncing{says: says}) })
		w.Spawn("A", func() sim.Runner {
			return play(func(p *sim.Proc) {
				p.Call(0, Request{F: history.Write, Op: 1, Resource: "r", Token: 1, Lease: "a", Value: 7}, 0)
			})
		})
		w.Run()
		w.Close()
		want := int64(time.Second)
		if says {
			want = 0
		}
		if e := log.Events(); len(e) != 1 || e[0].F != history.Apply || e[0].Time != want {
			t.Errorf("says %v: expected one apply at %d, found %+v", says, want, e)
		}
	}
}
