package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"staleproof/model"
	"staleproof/model/history"
	"staleproof/sim"
)

// outcomeOf is what Test says of options in textbook, or of a token.
func outcomeOf(t *testing.T, token string, options ...Option) (verdict, error) {
	t.Helper()
	return outcomeOfRun(t, "textbook", token, options...)
}

// outcomeIn is what Test says of options in a scenario.
func outcomeIn(t *testing.T, scenario string, options ...Option) (verdict, error) {
	t.Helper()
	return outcomeOfRun(t, scenario, "", options...)
}

func outcomeOfRun(t *testing.T, scenario, token string, options ...Option) (verdict, error) {
	t.Helper()
	sc, err := Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	c := defaults(true)
	c.least = 3000
	for _, o := range options {
		o(&c)
	}
	return c.run(t.Name(), sc, token)
}

// cellOf is what table keeps of a resource.
type cellOf struct {
	token model.Token
	lease string
	value int64
}

// table is a right store, of any number of resources, with every method. Each field
// but the first is a mistake or an oddity.
type table struct {
	cells     map[string]cellOf
	yields    bool // before each check
	oneFence  bool // for all resources
	oneValue  bool
	number    bool // compares tokens alone, and not leases
	forgets   bool // a delete takes the fence away
	unchecked bool // a delete does not look at the token
	mixes     bool // a delete clears the value that was written last, of any resource
	last      string
	narrow    func(model.Token) model.Token
}

func (s *table) key(r model.Request) string {
	if s.oneFence {
		return ""
	}
	return r.Resource
}

// admit looks at the request's token and lifts the fence to it.
func (s *table) admit(p *sim.Proc, r model.Request) (model.Reply, bool) {
	if s.yields {
		p.Yield("before the check")
	}
	if s.cells == nil {
		s.cells = map[string]cellOf{}
	}
	c, token := s.cells[s.key(r)], r.Token
	if s.narrow != nil {
		token = s.narrow(token)
	}
	if token < c.token || !s.number && token == c.token && c.lease != r.Lease && c.lease != "" {
		return model.Stale(c.token), false
	}
	c.token, c.lease = token, r.Lease
	s.cells[s.key(r)] = c
	return model.OK(0), true
}

func (s *table) put(r model.Request, value int64) model.Reply {
	key := "value of " + r.Resource
	if s.oneValue {
		key = "value"
	}
	if s.mixes && r.F == history.Delete {
		key = s.last
	}
	s.last = key
	s.cells[key] = cellOf{value: value}
	return model.OK(value)
}

func (s *table) Write(p *sim.Proc, r model.Request) model.Reply {
	if reply, ok := s.admit(p, r); !ok {
		return reply
	}
	return s.put(r, r.Value)
}

func (s *table) Delete(p *sim.Proc, r model.Request) model.Reply {
	if s.unchecked {
		return s.put(r, 0)
	}
	if reply, ok := s.admit(p, r); !ok {
		return reply
	}
	if s.forgets {
		delete(s.cells, s.key(r))
	}
	return s.put(r, 0)
}

func (s *table) Raise(p *sim.Proc, r model.Request) model.Reply {
	reply, _ := s.admit(p, r)
	return reply
}

func (s *table) Read(p *sim.Proc, r model.Request) model.Reply {
	if s.yields {
		p.Yield("before the read")
	}
	if c := s.cells[s.key(r)]; r.Token < c.token {
		return model.Stale(c.token)
	}
	key := "value of " + r.Resource
	if s.oneValue {
		key = "value"
	}
	return model.OK(s.cells[key].value)
}

func tables(s table) Option {
	return WithStore(func() model.StoreServer { c := s; return &c })
}

// TestUsersWorkload: a user's store is sent deletes if it has them, leases of two
// resources if it tells them apart, and tokens that do not fit where others do.
func TestUsersWorkload(t *testing.T) {
	narrow := func(f func(model.Token) model.Token) table { return table{yields: true, narrow: f} }
	for _, x := range []struct {
		name   string
		store  table
		breaks string   // "" if it passes
		says   []string // in the failure, or of what the pass is worth
	}{
		{"right", table{yields: true}, "", []string{"2000 schedules of textbook: ", " stale writes attempted, ", "; inside the store ", " yields, at which ", "; Write ", "; Read ", "; Raise ", "; Delete "}},
		{"it never yields", table{}, "", []string{"inside the store 0 yields", "no interleaving inside the store was tried, as it never yields, sleeps or waits: "}},
		{"one fence", table{oneFence: true}, "", []string{"leases of one resource alone, as the calm run with two breaks no-false-fencing: " + ReplayVariable + "='sp1:"}},
		{"one fence of tokens", table{oneFence: true, number: true}, "", []string{"leases of one resource alone, as the calm run with two breaks no-false-fencing"}},
		{"one value", table{oneValue: true}, "", []string{"leases of one resource alone, as the calm run with two breaks linearizable"}},
		{"one of both", table{oneFence: true, oneValue: true}, "", []string{"leases of one resource alone"}},
		{"a delete forgets the fence", table{forgets: true}, "no-stale-write", []string{"deletes is yes, not no"}},
		{"a delete is not fenced", table{unchecked: true}, "no-stale-write", []string{"deletes is yes, not no"}},
		{"a value of another resource is lost", table{mixes: true}, "linearizable", []string{"more-resources is 1, not 0"}},
		{"int32", narrow(func(x model.Token) model.Token { return model.Token(int32(x)) }), "no-false-fencing", []string{"first-token is "}},
		{"uint32", narrow(func(x model.Token) model.Token { return model.Token(uint32(x)) }), "no-false-fencing", []string{"first-token is 4294967295, not 1"}},
		{"float64", narrow(func(x model.Token) model.Token { return model.Token(float64(x)) }), "no-false-fencing", []string{"first-token is 9007199254740992, not 1"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			v, err := outcomeOf(t, "", tables(x.store))
			if err != nil {
				t.Fatal(err)
			}
			text := v.worth
			if x.breaks != "" {
				text = v.failure
			}
			if got := brokenIn(v.failure); got != x.breaks {
				t.Errorf("expected it to break %q, found %s", x.breaks, v.failure)
			}
			for _, part := range x.says {
				if !strings.Contains(unwrapped(text), part) {
					t.Errorf("expected %q in\n%s", part, text)
				}
			}
			if strings.Contains(v.worth, "\n") {
				t.Errorf("expected one line, found\n%s", v.worth)
			}
			if token := tokenIn(text); token != "" {
				again, err := outcomeOf(t, token, tables(x.store))
				if err != nil || x.breaks != "" && again.failure != v.failure || x.breaks == "" && brokenIn(again.failure) == "" {
					t.Errorf("expected the token to show it again, found %v\n%s", err, again.failure)
				}
			}
		})
	}
}

// TestDefaultSeeds: a test runs for about a second, and -short for a tenth of it.
func TestDefaultSeeds(t *testing.T) {
	if long, short := defaults(false).seeds, defaults(true).seeds; long != 20_000 || short != 2000 {
		t.Errorf("expected 20,000 and 2,000 seeds, found %d and %d", long, short)
	}
}

// brokenIn is the property that a failure is about.
func brokenIn(failure string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(failure, "broke "), ":")
	return name
}

// tokenIn is the replay token in a text, or "".
func tokenIn(text string) string {
	_, token, _ := strings.Cut(text, ReplayVariable+"='")
	token, _, _ = strings.Cut(token, "'")
	return token
}

// TestNeverCalled: a method that the store has and that was never called is named.
func TestNeverCalled(t *testing.T) {
	v, err := outcomeOf(t, "", tables(table{}), WithSeeds(1))
	if err != nil || !strings.Contains(v.failure, "; Delete was never called") {
		t.Errorf("expected Delete to be named, found %v, %s", err, v.failure)
	}
	v, err = outcomeOf(t, "", WithStore(func() model.StoreServer { return &twoStep{atomic: true} }))
	if err != nil || strings.Contains(v.worth, "never called") {
		t.Errorf("expected only methods that the store has, found %v, %s", err, v.worth)
	}
}

// TestVacuousPass: where no stale write was attempted, or nothing ran, a test does
// not pass.
func TestVacuousPass(t *testing.T) {
	for _, seeds := range []uint64{0, 1} {
		v, err := outcomeOf(t, "", tables(table{}), WithSeeds(seeds))
		if err != nil || !strings.HasPrefix(v.failure, "inconclusive: in ") || !strings.Contains(v.failure, "never happened: stale-write-attempted") {
			t.Errorf("%d seeds: expected it to be inconclusive, found %v, %q", seeds, err, v.failure)
		}
	}
}

// TestMarkedAsFailed: t.Error in a store ends the test at that run, with the command
// that shows it again.
func TestMarkedAsFailed(t *testing.T) {
	writes, failed := 0, false
	hook := withHook(func(*sim.Proc) {
		if writes++; writes == 60 {
			failed = true
		}
	})
	marks := func(c *testConfig) { c.failed = func() bool { return failed } }
	v, err := outcomeOf(t, "", hook, marks)
	if err != nil || !strings.Contains(v.failure, "marked this test as failed (t.Error, t.Fail) in this run") {
		t.Fatalf("found %v, %q", err, v.failure)
	}
	if writes > 80 {
		t.Errorf("expected it to stop at the run of write 60, found %d writes", writes)
	}
	rec, err := ParseToken(tokenIn(v.failure))
	if err != nil || !strings.HasPrefix(v.failure, fmt.Sprintf("seed %d: ", rec.Seed)) || rec.Seed == 0 {
		t.Errorf("expected a token of its seed, found %v\n%s", err, v.failure)
	}
	writes, failed = 59, false
	if v, err = outcomeOf(t, rec.Token(), hook, marks); err != nil || !strings.Contains(v.failure, "marked this test as failed") {
		t.Errorf("expected the replay to say it again, found %v, %q", err, v.failure)
	}
	writes, failed = 100, false
	if v, err = outcomeOf(t, rec.Token(), hook, marks); err != nil || v != (verdict{"", "the schedule of the token breaks nothing"}) {
		t.Errorf("expected the replay to pass, found %v, %+v", err, v)
	}
}

// TestUsersCrashes: with WithStoreCrashes a user's store crashes in every scenario, at
// its own yields too.
func TestUsersCrashes(t *testing.T) {
	for _, sc := range Scenarios() {
		v, err := outcomeIn(t, sc.Name, WithSeeds(300), WithStoreCrashes(), WithProperties("token-order"),
			WithStore(func() model.StoreServer { return &durable{mu: sim.NewMutex()} }))
		if err != nil || v.failure != "" {
			t.Errorf("%s: %v\n%s", sc.Name, err, v.failure)
		}
		var yields, stalls, places, struck int
		_, rest, _ := strings.Cut(v.worth, "; inside the store ")
		if n, err := fmt.Sscanf(rest, "%d yields, at which %d stalls struck, and %d places of a crash, at which %d struck", &yields, &stalls, &places, &struck); n != 4 || stalls == 0 || places == 0 || struck == 0 || yields < places {
			t.Errorf("%s: %v in %s", sc.Name, err, v.worth)
		}
	}
}

// TestUsersProperties: WithProperties replaces those of the scenario.
func TestUsersProperties(t *testing.T) {
	twoSteps := WithStore(func() model.StoreServer { return &twoStep{} })
	for _, x := range []struct {
		reason, says string
		options      []Option
	}{
		{"what breaks is not judged", "", []Option{twoSteps, WithProperties("token-order", "lease-identity")}},
		{"what breaks is judged alone", "broke no-stale-write: ", []Option{twoSteps, WithProperties("no-stale-write")}},
		{"no property has that name", "no-stale-write", []Option{twoSteps, WithProperties("no-stale-wrote")}},
		{"there is none", "WithProperties: expected names of properties", []Option{twoSteps, WithProperties()}},
		{"no store may crash", "WithStoreCrashes: expected WithStore", []Option{WithStoreCrashes()}},
		{"the store is the user's", "found store-ignores-token: that is one of the model's store", []Option{twoSteps, WithDefects(model.StoreIgnoresToken | model.CounterNotDurable)}},
	} {
		v, err := outcomeOf(t, "", x.options...)
		text := v.failure
		if err != nil {
			text = err.Error()
		}
		if x.says == "" && text != "" || !strings.Contains(text, x.says) {
			t.Errorf("%s: expected %q, found %q", x.reason, x.says, text)
		}
	}
}

// TestPlantedDefects: what a planted defect breaks with a right store too is not held
// against a user's store, and what it brings to light in a wrong one is found.
func TestPlantedDefects(t *testing.T) {
	for _, scenario := range []string{"textbook", "token-regress"} {
		for _, d := range []model.Defects{model.TokenNotIncreased, model.CounterNotDurable, model.SnapshotRestored, model.ReleaseDeletesCounter} {
			for _, number := range []bool{false, true} {
				v, err := outcomeIn(t, scenario, tables(table{number: number, yields: true}), WithDefects(d), WithSeeds(1000))
				if err != nil {
					t.Fatal(err)
				}
				want := ""
				if number {
					want = "linearizable"
				}
				if got := brokenIn(v.failure); got != want {
					t.Errorf("%s with %s: expected %q to break, found %s", scenario, d, want, v.failure)
				}
				if !number && !strings.Contains(v.worth, "; not judged, as "+d.String()+" breaks it with a right store too: ") {
					t.Errorf("%s with %s: expected it to say what is not judged, found %s", scenario, d, v.worth)
				}
			}
		}
	}
	v, err := outcomeOf(t, "", tables(table{}), WithDefects(model.CounterNotDurable), WithProperties("token-order"))
	if err != nil || brokenIn(v.failure) != "token-order" {
		t.Errorf("expected a property that is asked for to be judged, found %v\n%s", err, v.failure)
	}
}

// TestSmallestIsShown: where the first failure takes many decisions and another one
// few, that is shown.
func TestSmallestIsShown(t *testing.T) {
	v, err := outcomeIn(t, "check-apart", tables(table{forgets: true, yields: true}))
	rec, parseErr := ParseToken(tokenIn(v.failure))
	if err != nil || parseErr != nil {
		t.Fatal(err, parseErr, v.failure)
	}
	if n := len(rec.Schedule); n == 0 || n > fewDecisions || rec.Seed == 0 {
		t.Errorf("expected at most %d decisions, found %d\n%s", fewDecisions, n, v.failure)
	}
}

// locking is a store under a lock of its own, and of another.
type locking struct {
	twoStep
	a, b    *sim.Mutex
	twice   bool // Write takes the first lock again
	leaves  bool // a refusal leaves it locked
	crosses bool // a raise takes the locks in the other order
}

func (s *locking) Write(p *sim.Proc, r model.Request) model.Reply {
	ctx := p.Context()
	s.a.Lock(ctx)
	if s.twice {
		s.a.Lock(ctx)
	}
	p.Yield("between the locks")
	s.b.Lock(ctx)
	reply := s.twoStep.Write(p, r)
	if s.leaves && reply.Status == model.StatusStale {
		return reply
	}
	s.b.Unlock(ctx)
	s.a.Unlock(ctx)
	return reply
}

func (s *locking) Raise(p *sim.Proc, r model.Request) model.Reply {
	ctx, first, second := p.Context(), s.a, s.b
	if s.crosses {
		first, second = second, first
	}
	first.Lock(ctx)
	p.Yield("between the locks of a raise")
	second.Lock(ctx)
	reply := s.twoStep.Write(p, r)
	second.Unlock(ctx)
	first.Unlock(ctx)
	return reply
}

// TestUsersDeadlock: tasks of a store that wait for each other for ever are a finding,
// which says who waits for whom, and where.
func TestUsersDeadlock(t *testing.T) {
	store := func(s locking) Option {
		s.atomic = true
		return WithStore(func() model.StoreServer { c := s; c.a, c.b = sim.NewMutex(), sim.NewMutex(); return &c })
	}
	for _, x := range []struct {
		reason string
		store  Option
		says   []string
	}{
		{"it locks twice", store(locking{twice: true}), []string{
			"broke no-panic: deadlock in process store: task handle of write 301 (token 1) waits at usertest_test.go:", "(scenarios.(*locking).Write) for a lock that it has itself since usertest_test.go:"}},
		{"it never unlocks", store(locking{leaves: true}), []string{
			"broke no-panic: deadlock in process store: task handle of ", " for a lock that task handle of write ", " locked at usertest_test.go:", " and did not unlock before it ended"}},
		{"it takes two in opposite order", store(locking{crosses: true}), []string{
			"broke no-panic: deadlock in process store: task handle of ", "(scenarios.(*locking).Raise) for a lock that task handle of write ", "(scenarios.(*locking).Write) for a lock that task handle of raise "}},
		{"it does none of this", store(locking{}), nil},
	} {
		v, err := outcomeOf(t, "", x.store)
		if err != nil || x.says == nil && v.failure != "" {
			t.Errorf("%s: %v\n%s", x.reason, err, v.failure)
		}
		for _, part := range x.says {
			if !strings.Contains(unwrapped(v.failure), part) {
				t.Errorf("%s: expected %q in\n%s", x.reason, part, v.failure)
			}
		}
		if x.says == nil {
			continue
		}
		if again, err := outcomeOf(t, tokenIn(v.failure), x.store); err != nil || brokenIn(again.failure) != "no-panic" {
			t.Errorf("%s: expected the replay to show it again, found %v\n%s", x.reason, err, again.failure)
		}
	}
}

// projected keeps its fence in a projection that follows its log of events.
type projected struct {
	events  []model.Request
	done    int
	working bool
}

func (s *projected) fence(n int, resource string) (token model.Token, lease string) {
	for _, e := range s.events[:n] {
		if e.Resource == resource {
			token, lease = e.Token, e.Lease
		}
	}
	return token, lease
}

func (s *projected) put(p *sim.Proc, r model.Request) model.Reply {
	if token, lease := s.fence(s.done, r.Resource); r.Token < token || r.Token == token && r.Lease != lease {
		return model.Stale(token)
	}
	s.events = append(s.events, r)
	if !s.working {
		s.working = true
		p.Go("projector", func(p *sim.Proc) {
			for s.done < len(s.events) {
				p.Sleep(3 * time.Millisecond)
				s.done++
			}
			s.working = false
		})
	}
	p.Yield("appended")
	return model.OK(r.Value)
}

func (s *projected) Write(p *sim.Proc, r model.Request) model.Reply  { return s.put(p, r) }
func (s *projected) Raise(p *sim.Proc, r model.Request) model.Reply  { return s.put(p, r) }
func (s *projected) Delete(p *sim.Proc, r model.Request) model.Reply { return s.put(p, r) }

func (s *projected) Read(_ *sim.Proc, r model.Request) model.Reply {
	value := int64(0)
	for _, e := range s.events {
		switch {
		case e.Resource != r.Resource:
		case e.F == history.Write:
			value = e.Value
		case e.F == history.Delete:
			value = 0
		}
	}
	return model.OK(value)
}

// TestFewDecisions: a failure that came of many decisions, none of which can be left
// out, is shown as one of few at other places.
func TestFewDecisions(t *testing.T) {
	v, err := outcomeIn(t, "textbook", WithStore(func() model.StoreServer { return &projected{} }), WithSeeds(4000))
	if err != nil || brokenIn(v.failure) != "no-stale-write" {
		t.Fatalf("expected no-stale-write to be broken, found %v\n%s", err, v.failure)
	}
	rec, err := ParseToken(tokenIn(v.failure))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(rec.Schedule); n == 0 || n > fewDecisions {
		t.Errorf("expected at most %d decisions, found %d\n%s", fewDecisions, n, v.failure)
	}
}
