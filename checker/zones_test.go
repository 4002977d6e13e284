package checker

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"staleproof/model/history"
)

// drawHistory makes a small history: clients do one operation after another,
// under another process once an outcome was unknown.
func drawHistory(t *rapid.T, operations int, begin func(*history.Event), end func(*history.Event)) *history.History {
	h := &history.History{}
	clients := []string{"A", "B", "C"}[:rapid.IntRange(2, 3).Draw(t, "clients")]
	open := make([]*history.Event, len(clients))
	op := int64(0)
	for step := 0; step < 4*operations; step++ {
		c := rapid.IntRange(0, len(clients)-1).Draw(t, "client")
		e := history.Event{Index: int64(step + 1), Client: clients[c], Process: fmt.Sprint(clients[c], op), Resource: "r"}
		if o := open[c]; o != nil {
			e.Op, e.F, e.Process, e.Value, e.Lease = o.Op, o.F, o.Process, o.Value, o.Lease
			e.Type = rapid.SampledFrom([]history.Type{history.OK, history.OK, history.OK, history.OK, history.Fail, history.Info}).Draw(t, "end")
			end(&e)
			open[c] = nil
		} else if op < int64(operations) {
			op++
			e.Op, e.Type = op, history.Invoke
			begin(&e)
			open[c] = &e
		} else {
			continue
		}
		h.Events = append(h.Events, e)
	}
	return h
}

func listing(h *history.History) string {
	var b strings.Builder
	for _, e := range h.Events {
		fmt.Fprintf(&b, "#%d %s %v %v value=%v lease=%s\n", e.Index, e.Client, e.Type, e.F, e.Value, e.Lease)
	}
	return b.String()
}

// TestTimelineForgets holds a timeline that forgets at every step against one
// that never does.
func TestTimelineForgets(t *testing.T) {
	found, forgotten := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		lenient := rapid.Bool().Draw(t, "lenient")
		all, few := timeline{lenient: lenient}, timeline{lenient: lenient}
		var a, b []*zone
		for now := int64(10); now < 400; now += 10 {
			start := now - rapid.Int64Range(1, 30).Draw(t, "long")
			alive := make([]int, 0, len(a))
			for i, z := range a {
				if !z.dead {
					alive = append(alive, i)
				}
			}
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				owner := rapid.Int32Range(0, 2).Draw(t, "owner")
				a, b = append(a, &zone{owner: owner}), append(b, &zone{owner: owner})
				all.open(a[len(a)-1], start, now)
				few.open(b[len(b)-1], start, now)
			case 2:
				if len(alive) == 0 {
					continue
				}
				i := rapid.SampledFrom(alive).Draw(t, "zone")
				x, y := all.extend(a[i], start, now), few.extend(b[i], start, now)
				if (x == nil) != (y == nil) {
					t.Fatalf("at %d: %+v in all zones, %+v among those kept", now, x, y)
				}
				if x != nil {
					found++
					forgotten += len(all.zones) - len(few.zones)
					return
				}
			case 3:
				if len(alive) == 0 {
					continue
				}
				i := rapid.SampledFrom(alive).Draw(t, "zone")
				all.close(a[i])
				few.close(b[i])
			}
			few.forget()
			for i, z := range few.zones {
				if z.at != i {
					t.Fatalf("a zone at %d is thought to be at %d", i, z.at)
				}
			}
		}
		forgotten += len(all.zones) - len(few.zones)
		for _, z := range b {
			if z.at < 0 && few.extend(z, 500, 510) != nil {
				t.Fatal("a forgotten zone excludes another")
			}
		}
	})
	if found == 0 || forgotten == 0 {
		t.Errorf("%d zones excluded each other, %d were forgotten", found, forgotten)
	}
}

// ordered tries every order of the operations, and for an unknown outcome also
// that it never took effect. A state is text; step returns false for what is
// not possible.
func ordered(calls []call, state string, step func(string, *call) (string, bool)) bool {
	seen := make(map[string]bool)
	var try func(left uint, state string) bool
	try = func(left uint, state string) bool {
		k := fmt.Sprint(left, state)
		if seen[k] {
			return false
		}
		seen[k] = true
		first, known := int64(never), false
		for i := range calls {
			if left&(1<<i) != 0 && calls[i].outcome == done {
				first, known = min(first, calls[i].ended), true
			}
		}
		if !known {
			return true
		}
		for i := range calls {
			if left&(1<<i) == 0 || calls[i].invoked > first {
				continue
			}
			if next, ok := step(state, &calls[i]); ok && try(left&^(1<<i), next) {
				return true
			}
		}
		return false
	}
	return try(1<<len(calls)-1, state)
}

// lockCalls collects the calls on a lock, without those that failed.
func lockCalls(h *history.History) []call {
	n := newNames(false)
	var calls []call
	places := make(map[int64]int)
	for _, e := range h.Events {
		if e.Type == history.Invoke {
			places[e.Op] = len(calls)
			calls = append(calls, call{f: e.F, client: n.clients.id(e.ClientName()), lease: leaseOf(e.Lease), invoked: e.Index, ended: never})
			continue
		}
		c := &calls[places[e.Op]]
		if e.Type == history.OK {
			c.outcome, c.ended, c.lease = done, e.Index, leaseOf(e.Lease)
		}
		if e.Type == history.Fail {
			c.outcome = failed
		}
	}
	kept := calls[:0]
	for _, c := range calls {
		if c.outcome != failed && (c.outcome != unknown || c.f != history.Renew) {
			kept = append(kept, c)
		}
	}
	return kept
}

// reenters reports whether a client acquires what it may hold: then leases are
// judged leniently.
func reenters(h *history.History) bool {
	holds := make(map[string]bool)
	for _, e := range h.Events {
		switch {
		case e.Type != history.OK:
		case e.F == history.Acquire && holds[e.Client]:
			return true
		default:
			holds[e.Client] = e.F != history.Release
		}
	}
	return false
}

func mutexStep(state string, c *call) (string, bool) {
	me := fmt.Sprint(c.client)
	switch {
	case c.f == history.Acquire:
		return me, state == "free"
	case c.f == history.Release:
		return "free", state == me
	}
	return state, state == me
}

// leaseStep is a lease that may be lost at any time: the state is who was
// granted it last, and how often since.
func leaseStep(state string, c *call) (string, bool) {
	me := fmt.Sprint(c.client) + " "
	switch {
	case c.f == history.Acquire && strings.HasPrefix(state, me):
		return state + "+", true
	case c.f == history.Acquire:
		return me, true
	case state == "anybody":
		state = me
	}
	if !strings.HasPrefix(state, me) {
		return "", false
	}
	if c.f == history.Release {
		if state == me {
			return "free", true
		}
		return strings.TrimSuffix(state, "+"), true
	}
	return state, true
}

func TestLocksAgreeWithSearch(t *testing.T) {
	models := []struct {
		name  string
		start string
		step  func(string, *call) (string, bool)
	}{{"mutex", "free", mutexStep}, {"lease", "anybody", leaseStep}}
	for _, m := range models {
		bad, good := 0, 0
		t.Run(m.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := drawHistory(t, rapid.IntRange(1, 9).Draw(t, "operations"), func(e *history.Event) {
					e.F = rapid.SampledFrom([]history.F{history.Acquire, history.Renew, history.Release, history.Release}).Draw(t, "f")
				}, func(*history.Event) {})
				if len(h.Events) == 0 {
					return
				}
				got, err := Check(h, Options{Model: m.name})
				if err != nil {
					t.Fatal(err)
				}
				want := Satisfied
				if good++; !ordered(lockCalls(h), m.start, m.step) {
					want = Violated
					good--
					bad++
				}
				doubt := reenters(h) || slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Type == history.Info })
				if got.Outcome != want && (got.Outcome == Violated || !doubt) {
					t.Fatalf("got %s, all orders say %s: %+v\n%s", got.Outcome, want, got.Violations, listing(h))
				}
			})
		})
		if bad == 0 || good == 0 {
			t.Errorf("%s: %d histories were good and %d bad", m.name, good, bad)
		}
	}
}

// BenchmarkLeaseMillion is the same for about a million operations on a lock.
func BenchmarkLeaseMillion(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		m := newLocks("lease", false, history.Header{})
		n := emitLocks(260_000, m.observe)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if _, v := m.verdict(); v != nil {
			b.Fatal(v.Message)
		}
		b.ReportMetric(float64(int64(after.HeapInuse)-int64(before.HeapInuse))/1024, "KiB-kept")
		b.ReportMetric(float64(n), "operations")
	}
}

func allScopes(int32, int64) bool { return true }
