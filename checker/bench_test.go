package checker

import (
	"fmt"
	"runtime"
	"testing"

	"staleproof/model/history"
)

// generator makes a long lawful history: clients take turns at a lease, lift
// the fence, read, write, renew and lose the lease; now and then a write is late
// and refused, or its outcome unknown. It is deterministic.
type generator struct {
	emit  func(*history.Event)
	world bool // messages too
	e     history.Event
	index int64
	op    int64
	sent  int64

	token history.Token
}

var (
	clientNames = []string{"A", "B", "C"}
	resources   = []string{"orders/7", "orders/8"}
)

func (g *generator) event(process string, t history.Type, f history.F, op int64) *history.Event {
	g.index++
	g.e = history.Event{Index: g.index, Time: g.index * 1000, Process: process, Type: t, F: f, Op: op}
	return &g.e
}

// message is a send and its delivery, when the world's notes are wanted.
func (g *generator) message(from, to string) {
	if !g.world {
		return
	}
	g.sent++
	for _, f := range []history.F{history.Send, history.Deliver} {
		e := g.event(from, history.Note, f, 0)
		e.To, e.Message = to, g.sent
		g.emit(e)
	}
}

// turn is one client's tenure of a resource: about 30 events without messages.
func (g *generator) turn(n int) {
	client, resource := clientNames[n%3], resources[n/3%2]
	lease := fmt.Sprintf("%04x", n)
	g.token++
	token := g.token
	tell := func(process string, t history.Type, f history.F, op int64, v history.Value) {
		e := g.event(process, t, f, op)
		e.Resource, e.Token, e.Lease, e.Value = resource, token, lease, v
		if f >= history.Grant && f <= history.Expire {
			e.Owner, e.Expires = client, g.e.Time+1_000_000
		}
		g.emit(e)
	}
	call := func(server string, verb, note history.F, v, answer history.Value) {
		g.op++
		op := g.op
		tell(client, history.Invoke, verb, op, v)
		g.message(client, server)
		tell(server, history.Note, note, op, answer)
		g.message(server, client)
		tell(client, history.OK, verb, op, answer)
	}
	g.op++
	acquire := g.op
	e := g.event(client, history.Invoke, history.Acquire, acquire)
	e.Resource = resource
	g.emit(e)
	g.message(client, "L")
	tell("L", history.Note, history.Grant, acquire, history.Value{})
	g.message("L", client)
	tell(client, history.OK, history.Acquire, acquire, history.Value{})
	tell(client, history.Note, history.Believe, 0, history.Value{})
	call("store", history.Raise, history.Raised, history.Value{}, history.Value{})
	for i := range 4 {
		v := history.IntValue(int64(n + i))
		call("store", history.Write, history.Apply, v, v)
		call("store", history.Read, history.Served, history.Value{}, v)
	}
	call("L", history.Renew, history.Renewed, history.Value{}, history.Value{})
	tell(client, history.Note, history.Disbelieve, 0, history.Value{})
	tell("L", history.Note, history.Expire, acquire, history.Value{})
	g.late(n, token, resource)
}

// late is a write under the token of another client's turn before: refused.
func (g *generator) late(n int, token history.Token, resource string) {
	if n < 3 || n/3%2 != (n-1)/3%2 {
		return
	}
	g.op++
	process := fmt.Sprintf("%s/%d", clientNames[(n+2)%3], n)
	for _, t := range []history.Type{history.Invoke, history.Note, history.Fail} {
		e := g.event(process, t, history.Write, g.op)
		if t == history.Note {
			e.Process, e.F, e.Highest = "store", history.Reject, token
		}
		if t == history.Fail {
			e.Error, e.Highest = history.Stale, token
		}
		e.Client, e.Resource, e.Token, e.Lease = clientNames[(n+2)%3], resource, token-1, fmt.Sprintf("%04x", n-1)
		g.emit(e)
	}
}

func generate(events int, world bool) []history.Event {
	var list []history.Event
	g := &generator{world: world, emit: func(e *history.Event) { list = append(list, *e) }}
	for n := 0; len(list) < events; n++ {
		g.turn(n)
	}
	return list
}

var hotProperties = []string{
	"no-stale-write", "token-order", "renewal-keeps-token", "exclusive-grant", "linearizable", "no-false-fencing", "gives-up",
}

// TestGeneratedHistoryHolds proves the code that the benchmarks measure right.
func TestGeneratedHistoryHolds(t *testing.T) {
	h := &history.History{Header: timed, Events: generate(3000, true)}
	for _, view := range []View{{true, true}, {true, false}, {false, true}, {}} {
		s, err := Config{Header: timed, View: view}.New(allNames())
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Events {
			if e := &h.Events[i]; e.Type != history.Note || (e.F > history.Served) || e.F <= history.Expire && view.Coordinator || e.F > history.Expire && view.Store {
				s.Observe(e)
			}
		}
		for _, r := range s.Finish() {
			if r.Outcome != Satisfied {
				t.Errorf("%+v: %s is %s: %s", view, r.Property, r.Outcome, r.Violation.Message)
			}
			if view.Store && r.Steps > 0 {
				t.Errorf("%+v: the witness did not hold", view)
			}
		}
		if c := s.Sometimes(); c[StaleWriteRejected] == 0 || c[LeaseRenewed] == 0 {
			t.Errorf("%+v: facts %v, want rejections and renewals", view, c)
		}
	}
}

func TestSuiteAllocatesNothing(t *testing.T) {
	list := generate(100, true)
	s, err := New(hotProperties, timed)
	if err != nil {
		t.Fatal(err)
	}
	run := func() {
		s.Reset()
		for i := range list {
			s.Observe(&list[i])
		}
		s.Finish()
	}
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("a run allocates %v times after the first, want never", n)
	}
}

// BenchmarkSuite is a run of about 100 events, as a fuzzer judges it: reset,
// observe, finish.
func BenchmarkSuite(b *testing.B) {
	for _, world := range []bool{false, true} {
		b.Run(map[bool]string{false: "domain", true: "with-messages"}[world], func(b *testing.B) {
			list := generate(100, world)
			s, err := New(hotProperties, timed)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Reset()
				for i := range list {
					s.Observe(&list[i])
				}
				s.Finish()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/event")
		})
	}
}

// BenchmarkMonitor is each property alone, and none: the cost of the suite.
func BenchmarkMonitor(b *testing.B) {
	list := generate(100, false)
	for _, name := range append([]string{"none"}, hotProperties...) {
		b.Run(name, func(b *testing.B) {
			var names []string
			if name != "none" {
				names = []string{name}
			}
			s, err := New(names, timed)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s.Reset()
				for i := range list {
					s.Observe(&list[i])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/event")
		})
	}
}

// BenchmarkMillion checks a million operations with notes in one pass and
// reports how much memory stays in use.
func BenchmarkMillion(b *testing.B) {
	for b.Loop() {
		s, err := Config{Header: timed, View: View{true, true}, Source: EventsOf(&history.History{})}.New(allNames())
		if err != nil {
			b.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		g := &generator{emit: s.Observe}
		for n := 0; g.op < 1_000_000; n++ {
			g.turn(n)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		for _, r := range s.Finish() {
			if r.Outcome != Satisfied {
				b.Fatalf("%s is %s", r.Property, r.Outcome)
			}
		}
		b.ReportMetric(float64(int64(after.HeapInuse)-int64(before.HeapInuse))/1024, "KiB-kept")
		b.ReportMetric(float64(g.op), "operations")
	}
}
