package checker

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"staleproof/model/history"
)

var registerHistories = flag.Int("registers", 4000, "random histories on which the walk over a register is held against porcupine")

var registerOperations = flag.Int("register-operations", 1_000_000, "of each benchmark of a register")

// registerRun makes histories of a register that clients use at the same time, and
// what a wrong one would answer. A rand of a fixed seed makes the same each time.
type registerRun struct {
	*rand.Rand
	clients, values      int
	cas, unknown, failed int // of a hundred operations
	deletes, unique      bool
	observe              func(*history.Event)
	index, op            int64
	value                history.Value
	open                 []pendingCall
}

type pendingCall struct {
	process string
	invoke  history.Event
	end     history.Event // once it took effect
}

func (r *registerRun) emit(e history.Event) {
	r.index++
	e.Index = r.index
	r.observe(&e)
}

// run makes so many operations.
func (r *registerRun) run(operations int) {
	r.open = make([]pendingCall, r.clients)
	busy := 0
	for i := range r.open {
		r.open[i].process = fmt.Sprint("p", i)
	}
	for left := operations; left > 0 || busy > 0; {
		switch c := &r.open[r.IntN(r.clients)]; {
		case c.invoke.Op == 0 && left > 0:
			left--
			busy++
			r.begin(c)
		case c.invoke.Op == 0:
		case c.end.Op == 0:
			r.effect(c)
		default:
			busy--
			r.emit(c.end)
			if c.end.Type == history.Info {
				c.process = fmt.Sprint(c.process, "'")
			}
			*c = pendingCall{process: c.process}
		}
	}
}

func (r *registerRun) drawn() history.Value {
	if r.unique {
		return history.IntValue(r.op)
	}
	if v := int64(r.IntN(r.values)); v > 0 {
		return history.IntValue(v)
	}
	return history.NilValue
}

func (r *registerRun) begin(c *pendingCall) {
	r.op++
	c.invoke = history.Event{Process: c.process, Type: history.Invoke, F: history.Read, Op: r.op, Resource: "r"}
	switch e := &c.invoke; {
	case r.IntN(100) < r.cas:
		e.F, e.Expect, e.Value = history.CAS, r.drawn(), r.drawn()
	case r.IntN(2) == 0:
		e.F, e.Value = history.Write, r.drawn()
	case r.deletes && r.IntN(10) == 0:
		e.F = history.Delete
	}
	r.emit(c.invoke)
}

// effect lets an operation take effect, or not.
func (r *registerRun) effect(c *pendingCall) {
	c.end = c.invoke
	e := &c.end
	e.Type, e.Value = history.OK, history.Value{}
	lost := r.IntN(100) < r.unknown
	if lost {
		e.Type = history.Info
	}
	switch {
	case r.IntN(100) < r.failed:
		e.Type, e.Error = history.Fail, "unavailable"
		return
	case lost && r.IntN(2) == 0: // without effect
	case e.F == history.Read && !lost:
		e.Value = r.value
	case e.F == history.Write:
		r.value = c.invoke.Value
	case e.F == history.Delete:
		r.value = history.NilValue
	case e.F == history.CAS && sameValue(e.Expect, r.value):
		r.value = c.invoke.Value
	case e.F == history.CAS && !lost:
		e.Type, e.Error = history.Fail, "mismatch"
	}
}

// randomRegister makes a small history: of few values or unique ones, with or
// without unknown outcomes and failures, and often with wrong answers.
func randomRegister(seed uint64, cas bool) *history.History {
	h := &history.History{}
	r := &registerRun{Rand: rand.New(rand.NewPCG(seed, 7)), value: history.NilValue, observe: func(e *history.Event) { h.Events = append(h.Events, *e) }}
	r.clients, r.values = 1+r.IntN(10), 2+r.IntN(4)
	r.unknown, r.failed = r.IntN(2)*r.IntN(60), r.IntN(2)*r.IntN(20)
	r.deletes, r.unique = r.IntN(3) == 0, r.IntN(5) == 0
	if cas {
		r.cas = 10 + r.IntN(60)
	}
	r.run(1 + r.IntN(40))
	var reads []int
	for i, e := range h.Events {
		if e.Type == history.OK && e.F == history.Read {
			reads = append(reads, i)
		}
	}
	for n := r.IntN(3); n > 0 && len(reads) > 1; n-- {
		from, to := reads[r.IntN(len(reads))], reads[r.IntN(len(reads))]
		h.Events[to].Value = h.Events[from].Value
	}
	if r.IntN(4) == 0 { // the end of the history was not recorded
		h.Events = h.Events[:1+r.IntN(len(h.Events))]
	}
	return h
}

// TestRegistersAgreeWithPorcupine holds the walk against porcupine: the verdict, and
// the reply at which the history breaks.
func TestRegistersAgreeWithPorcupine(t *testing.T) {
	defer func(n int) { ample = n }(ample)
	count := map[Outcome]int{}
	doubted := 0
	for seed := range uint64(*registerHistories) {
		h := randomRegister(seed, seed%2 == 1)
		ample = 1 + int(seed%4)
		m := walkOver(h)
		n := newNames(false)
		calls, _ := registerCalls(EventsOf(h), evidence{}, n, math.MaxInt, allScopes)
		s := search{property: "register", names: n, config: Config{Memory: math.MaxInt64}}
		o, want := s.judgeScopes(calls, func([]call) []spec { return []spec{registerSpec(history.NilValue)} })
		count[o]++
		if m.scopes[0].unclear {
			doubted++
			continue
		}
		if slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Error == mismatch }) && (want != nil) == (m.scopes[0].found != nil) {
			continue // porcupine has it that a cas may yet succeed which the walk knows will fail
		}
		if diff := cmp.Diff(want, m.scopes[0].found); diff != "" {
			t.Fatalf("seed %d: violation (-porcupine +walk):\n%s%s", seed, diff, listing(h))
		}
	}
	if t.Log(count, doubted, "doubted"); *registerHistories > 1000 && (count[Satisfied] < *registerHistories/10 || count[Violated] < *registerHistories/10) {
		t.Errorf("%v: the histories try too little", count)
	}
}

func walkOver(h *history.History) *registers {
	survey, _ := look(history.Header{}, EventsOf(h))
	m := newRegisters("register", newNames(false), history.NilValue, evidence{}, survey.endless)
	for i := range h.Events {
		if m.observe(&h.Events[i]); i%2 == 0 && len(m.scopes) > 0 && m.scopes[0].walk != nil {
			m.scopes[0].walk.sweep() // as in a long history
		}
	}
	return m
}

// TestRegistersForget: what is kept does not grow with the history, also where a
// read of long ago never ends.
func TestRegistersForget(t *testing.T) {
	for _, c := range []registerRun{{clients: 4, values: 3}, {clients: 4, unique: true}, {clients: 12, values: 5, unique: true, failed: 5}} {
		h := history.History{Events: []history.Event{{Index: -1, Type: history.Invoke, F: history.Write, Op: -1, Resource: "r", Value: history.IntValue(-1)}}}
		m := newRegisters("register", newNames(false), history.NilValue, evidence{}, []int64{-1})
		m.observe(&h.Events[0])
		c.Rand, c.value, c.observe = rand.New(rand.NewPCG(1, 2)), history.NilValue, m.observe
		c.run(50_000)
		if m.scopes[0].found != nil || m.scopes[0].unclear {
			t.Fatalf("%+v, unclear: %v", m.scopes[0].found, m.scopes[0].unclear)
		}
		if n := m.kept(); n > 1000 {
			t.Errorf("%d clients, unique values %v: %d things are kept after 50,000 operations", c.clients, c.unique, n)
		}
	}
}

// TestRegistersApart: a register that is left to porcupine does not hold up others.
func TestRegistersApart(t *testing.T) {
	h := parse(t, history.Header{}, `
		A invoke cas op=1 r=x expect=nil value=1
		A invoke write op=2 r=x value=1
		B invoke write op=3 r=y value=1
		C invoke read op=4 r=y
		C ok read op=4 r=y value=1
		C invoke read op=5 r=y
		C ok read op=5 r=y value=2
	`)
	r, err := Check(h, Options{Model: "cas-register"})
	if err != nil || len(r.Violations) != 1 || r.Violations[0].Events[1] != 7 || r.Results[0].Steps != 0 {
		t.Errorf("expected the read of 2 violated without a search, found %v, %+v", err, r)
	}
}

// TestCalm: what comes after a calm moment begins with the value of that moment, and
// a delete restores the value that was there before the history.
func TestCalm(t *testing.T) {
	h := parse(t, history.Header{}, `
		A invoke cas op=1 expect=nil value=6
		A ok cas op=1
		B invoke write op=2 value=7
		B info write op=2
		A invoke delete op=3
		A ok delete op=3
		A invoke read op=4
		A ok read op=4 value=6
	`)
	survey, _ := look(history.Header{}, EventsOf(h))
	j := registerJudge{registers: newRegisters("register", newNames(false), history.NilValue, evidence{}, survey.endless), events: EventsOf(h)}
	j.search = search{property: "register", names: j.names, config: Config{Memory: DefaultMemory}}
	for i := range h.Events {
		j.observe(&h.Events[i])
	}
	r := &j.scopes[0]
	if want := (calm{2, history.IntValue(6)}); r.walk.calm != want || r.found == nil {
		t.Fatalf("expected the calm moment %v and a violation, found %v, %v", want, r.walk.calm, r.found)
	}
	if ok, err := j.confirmed(r, 0); !ok || err != nil {
		t.Errorf("expected porcupine to confirm %s, found %v, %v", r.found.Message, ok, err)
	}
}

// TestPlacesOfCAS: a cas takes effect at places that are used up, and by which other
// places may be reached.
func TestPlacesOfCAS(t *testing.T) {
	for _, tt := range []struct {
		reason, events string
		want           Outcome
	}{
		{"one of two effects was of the operation that began later", `
			A invoke write op=1 value=1
			B invoke cas op=2 expect=1 value=2
			C invoke cas op=3 expect=2 value=3
			A ok write op=1
			A invoke write op=4 value=1
			A ok write op=4
			D invoke cas op=5 expect=1 value=2
			E invoke read op=6
			E ok read op=6 value=2
			B ok cas op=2
			C ok cas op=3
			E invoke read op=7
			E ok read op=7 value=2
			D ok cas op=5
		`, Satisfied},
		{"a value that was overwritten once is taken away once", `
			A invoke write op=1 value=1
			A ok write op=1
			B invoke cas op=2 expect=1 value=2
			C invoke cas op=3 expect=1 value=3
			A invoke write op=4 value=9
			A ok write op=4
			B ok cas op=2
			C ok cas op=3
		`, Violated},
		{"one that was overwritten twice is taken away twice", `
			A invoke write op=1 value=1
			A ok write op=1
			B invoke cas op=2 expect=1 value=2
			C invoke cas op=3 expect=1 value=3
			A invoke write op=4 value=1
			A ok write op=4
			A invoke write op=5 value=9
			A ok write op=5
			B ok cas op=2
			C ok cas op=3
		`, Satisfied},
		{"it is left and come back to", `
			A invoke write op=1 value=1
			A ok write op=1
			B invoke cas op=2 expect=1 value=2
			C invoke cas op=3 expect=2 value=1
			D invoke cas op=4 expect=1 value=5
			D ok cas op=4
			B ok cas op=2
			C ok cas op=3
			A invoke read op=6
			A ok read op=6 value=5
		`, Satisfied},
		{"it is left and not come back to", `
			A invoke write op=1 value=1
			A ok write op=1
			B invoke cas op=2 expect=1 value=2
			D invoke cas op=4 expect=1 value=5
			D ok cas op=4
			B ok cas op=2
		`, Violated},
	} {
		h := parse(t, history.Header{}, tt.events)
		r := &walkOver(h).scopes[0]
		if got := r.found != nil; r.unclear || got != (tt.want == Violated) {
			t.Errorf("%s: unclear %v, %+v, want %s", tt.reason, r.unclear, r.found, tt.want)
		}
	}
}

// TestRepeatedValues: no search is needed where values are written again while they
// may still be read.
func TestRepeatedValues(t *testing.T) {
	again := `
		A invoke write op=1 value=1
		A ok write op=1 value=1
		A invoke write op=2 value=2
		A ok write op=2 value=2
		A invoke write op=3 value=1
		A ok write op=3 value=1
		A invoke read op=4
		A ok read op=4 value=1
	`
	hidden := `
		B invoke write op=2 value=1
		A invoke write op=1 value=1
		A ok write op=1
		C invoke read op=3
		D invoke write op=4 value=2
		B ok write op=2
		C ok read op=3 value=2
		E invoke read op=5
		E ok read op=5 value=1
	`
	for _, tt := range []struct {
		reason, events string
		want           Outcome
	}{
		{"it is gone", again, Satisfied},
		{"a read of it is under way", "B invoke read op=9\n" + again + "B ok read op=9 value=1", Satisfied},
		{"its own write is under way", "B invoke write op=9 value=1\n" + again + "B ok write op=9 value=1", Satisfied},
		{"its own write never ends", "B invoke write op=9 value=2\n" + again + "A invoke read op=5\nA ok read op=5 value=2", Satisfied},
		{"its own write failed", "B invoke write op=9 value=2\n" + again + "A invoke read op=5\nA ok read op=5 value=2\nB fail write op=9", Violated},
		{"a value is written again, so that another is hidden before it", hidden + "D ok write op=4", Satisfied},
		{"the same by a write of unknown outcome", hidden, Satisfied},
		{"the initial value", "B invoke write op=9 value=nil\nB ok write op=9 value=nil", Satisfied},
		{"one number of two operations: the first never ends", "B invoke write op=9 value=2\n" + again + "B invoke write op=9 value=3\nA invoke read op=5\nA ok read op=5 value=2\nB ok write op=9", Satisfied},
	} {
		r, err := Check(parse(t, history.Header{}, tt.events), Options{Model: "register"})
		if err != nil || r.Outcome != tt.want || r.Results[0].Steps > 0 {
			t.Errorf("%s: %v, %s after %d steps, want %s", tt.reason, err, r.Outcome, r.Results[0].Steps, tt.want)
		}
	}
}

// kept is how many things of operations and values are kept.
func (m *registers) kept() int {
	n := m.open.used + len(m.free)
	for i := range m.scopes {
		r := &m.scopes[i]
		n += len(r.waiting) + len(r.walk.slots) + len(r.walk.kinds) + len(r.walk.values) + len(r.walk.open) + len(r.walk.lost) + len(r.walk.confs)
	}
	return n
}

// BenchmarkRegisterMillion judges a million operations on a register in one pass
// and reports what stays in use.
func BenchmarkRegisterMillion(b *testing.B) {
	for _, c := range []registerRun{{clients: 5, values: 5}, {clients: 5, unique: true}, {clients: 50, values: 5}, {clients: 50, unique: true}, {clients: 5, values: 5, unknown: 2}} {
		b.Run(fmt.Sprintf("clients=%d/values=%d/unknown=%d", c.clients, c.values, c.unknown), func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				m := newRegisters("register", newNames(false), history.NilValue, evidence{}, nil)
				c.Rand, c.value, c.observe, c.op = rand.New(rand.NewPCG(1, 2)), history.NilValue, m.observe, 0
				c.run(*registerOperations)
				runtime.GC()
				runtime.ReadMemStats(&after)
				if m.scopes[0].found != nil || m.scopes[0].unclear {
					b.Fatal("it is lawful")
				}
				b.ReportMetric(float64(int64(after.HeapInuse)-int64(before.HeapInuse))/1024, "KiB-kept")
				b.ReportMetric(float64(m.kept()), "kept")
				b.ReportMetric(float64(m.scopes[0].walk.widest), "configurations")
			}
		})
	}
}

// TestRegisterJudgeAgrees holds the whole judgement against porcupine: walks, also
// those that keep few configurations and so leave the rest to a search, and the
// searches that confirm.
func TestRegisterJudgeAgrees(t *testing.T) {
	defer func(n int) { narrowed = n }(narrowed)
	narrowed = 2
	for _, width := range []int{1, 1000} {
		count, left := map[Outcome]int{}, 0
		for seed := range uint64(*registerHistories / 4) {
			h := randomRegister(1_000_000+seed, seed%4 > 0)
			survey, _ := look(history.Header{}, EventsOf(h))
			j := registerJudge{registers: newRegisters("register", newNames(false), history.NilValue, evidence{}, survey.endless), events: EventsOf(h)}
			j.search = search{property: "register", names: j.names, config: Config{Memory: math.MaxInt64}}
			j.width = width
			for i := range h.Events {
				j.observe(&h.Events[i])
			}
			got, _, err := j.judge()
			calls, _ := registerCalls(EventsOf(h), evidence{}, j.names, math.MaxInt, allScopes)
			want, _ := j.search.judgeScopes(calls, func([]call) []spec { return []spec{registerSpec(history.NilValue)} })
			if err != nil || got != want {
				t.Fatalf("width %d, seed %d: %v, got %s, want %s\n%s", width, seed, err, got, want, listing(h))
			}
			count[got]++
			if j.scopes[0].unclear {
				left++
			}
		}
		t.Logf("width %d: %v, %d left to porcupine", width, count, left)
		if *registerHistories > 1000 && (count[Violated] < 50 || (left > 0) != (width == 1)) {
			t.Errorf("width %d: %v, %d left to porcupine: the histories try too little", width, count, left)
		}
	}
}

// TestUnwritten: a read of what nobody had begun to write needs no search.
func TestUnwritten(t *testing.T) {
	for _, tt := range []struct {
		reason, events string
		want           int64 // number of the read; 0 is none
	}{
		{"written before", "A invoke write op=1 value=1\nA info write op=1\nB invoke read op=2\nB ok read op=2 value=1", 0},
		{"the initial value", "B invoke read op=2\nB ok read op=2 value=nil", 0},
		{"by a cas", "A invoke cas op=1 expect=9 value=1\nB invoke read op=2\nB ok read op=2 value=1", 0},
		{"while it read", "B invoke read op=2\nA invoke write op=1 value=1\nB ok read op=2 value=1", 0},
		{"after it had ended", "B invoke read op=2\nB ok read op=2 value=1\nA invoke write op=1 value=1", 2},
		{"by what failed", "A invoke write op=1 value=1\nB invoke read op=2\nB ok read op=2 value=1\nA fail write op=1", 2},
		{"in another register", "A invoke write op=1 value=1 r=x\nB invoke read op=2 r=y\nB ok read op=2 value=1 r=y", 2},
		{"in vain", "B invoke read op=2\nB info read op=2", 0},
	} {
		h := parse(t, history.Header{}, tt.events)
		calls, _ := registerCalls(EventsOf(h), evidence{}, newNames(false), math.MaxInt, allScopes)
		got := int64(0)
		if c := unwritten(calls, history.NilValue); c != nil {
			got = c.op
		}
		if got != tt.want {
			t.Errorf("%s: found read %d, want %d", tt.reason, got, tt.want)
		}
	}
}

// TestReplaced: the explanation of a register whose values repeat names the write that
// was missing.
func TestReplaced(t *testing.T) {
	events := `
		A invoke write op=1 value=1
		A ok write op=1
		A invoke write op=2 value=2
		B invoke write op=3 value=1
		B ok write op=3
		A ok write op=2
		A invoke write op=4 value=2
		A ok write op=4
		C invoke read op=5
		C ok read op=5 value=1
	`
	for _, tt := range []struct{ reason, events, want string }{
		{"it was overwritten", events,
			"The last write of 1 had ended at #5, and A wrote 2 from #7 to #8, after that and before the read began. The order lacks a write of 1 that took effect after #7."},
		{"somebody deletes", "A invoke delete op=9\nA ok delete op=9\n" + events, "The longest order that explains other operations has 5 of them and ends with the register at 2."},
	} {
		h := parse(t, history.Header{}, tt.events)
		r, err := Check(h, Options{Model: "register"})
		if err != nil || len(r.Violations) != 1 {
			t.Fatalf("%s: %v, %+v", tt.reason, err, r)
		}
		if got := Explain(h, r.Violations[0]); got.Cause != tt.want {
			t.Errorf("%s: got %q, want %q", tt.reason, got.Cause, tt.want)
		}
	}
}

// TestAmple: a configuration stands for one that spent others of the mutations of
// unknown outcome while enough are left, and tells when the other one could have gone
// on where it cannot.
func TestAmple(t *testing.T) {
	defer func(n int) { ample = n }(ample)
	ample = 1
	w := newRegisterWalk(history.NilValue)
	for i := range int64(6) {
		w.begin(&call{f: history.Write, value: history.IntValue(1 + i/3), invoked: 1 + i})
	}
	w.begin(&call{f: history.Read, outcome: done, answer: history.IntValue(1), invoked: 7, ended: 9})
	c := conf{last: 7, spent: []spent{{0, 2, 2}}}
	o := conf{last: 7, spent: []spent{{0, 1, 1}, {1, 1, 1}}}
	if !w.standsFor(&c, &o) {
		t.Fatal("expected one to stand for the other: a third write of 1 is left")
	}
	c.absorb(&o)
	if diff := cmp.Diff([]spent{{0, 2, 1}}, c.spent, cmp.AllowUnexported(spent{})); diff != "" {
		t.Errorf("spent (-want +got):\n%s", diff)
	}
	if !w.take(&c, 0, 8) || w.doubt {
		t.Errorf("expected the third write of 1 to be there, found doubt %v", w.doubt)
	}
	if w.take(&c, 0, 8) || !w.doubt {
		t.Errorf("expected no fourth write of 1, and doubt as the other one has a third, found doubt %v", w.doubt)
	}
	ample = 2
	if w.standsFor(&conf{last: 7, spent: []spent{{0, 2, 2}}}, &o) {
		t.Error("expected that one write is not ample where it takes two")
	}
}
