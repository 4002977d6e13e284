package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestQueue: against a sorted list, whatever is pushed and removed from whatever
// index, the entries come in the order of time, then of scheduling.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []entry
		seq := uint64(0)
		take := func(i int) {
			e := q.remove(i)
			at := slices.Index(model, e)
			if at < 0 {
				t.Fatalf("removed %+v, which was not there", e)
			}
			model = slices.Delete(model, at, at+1)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				seq++
				e := entry{at: rapid.Int64Range(0, 20).Draw(t, "at"), seq: seq, kind: entryKind(rapid.IntRange(0, 6).Draw(t, "kind")), proc: 3, ref: int32(seq)}
				q.push(e)
				model = append(model, e)
			},
			"pop": func(t *rapid.T) {
				if len(q) == 0 {
					t.Skip("empty")
				}
				first := slices.MinFunc(model, order)
				if q[0] != first {
					t.Fatalf("first is %+v, want %+v", q[0], first)
				}
				take(0)
			},
			"remove any": func(t *rapid.T) {
				if len(q) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(q)-1).Draw(t, "index")
				want := q[i]
				take(i)
				if slices.Contains(q, want) {
					t.Fatalf("%+v is still there", want)
				}
			},
			"": func(t *rapid.T) {
				for i := 1; i < len(q); i++ {
					if q[i].before(&q[(i-1)/2]) {
						t.Fatalf("entry %d is before its parent", i)
					}
				}
				if len(q) != len(model) {
					t.Fatalf("%d entries, want %d", len(q), len(model))
				}
			},
		})
		slices.SortFunc(model, order)
		for i, want := range model {
			if got := q.remove(0); got != want {
				t.Fatalf("entry %d is %+v, want %+v", i, got, want)
			}
		}
	})
}

// TestQueueRemove: an entry taken out of the middle of a large queue.
func TestQueueRemove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		for i, at := range rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 80).Draw(t, "times") {
			q.push(entry{at: at, seq: uint64(i)})
		}
		for len(q) > 0 {
			q.remove(rapid.IntRange(0, len(q)-1).Draw(t, "index"))
			for i := 1; i < len(q); i++ {
				if q[i].before(&q[(i-1)/2]) {
					t.Fatalf("entry %d is before its parent", i)
				}
			}
		}
	})
}

func order(a, b entry) int {
	if a.at != b.at {
		return int(a.at - b.at)
	}
	return int(a.seq) - int(b.seq)
}

// TestNear: against a sorted list, the entries of a timed world come in the order of
// time, then of scheduling, however many are near, and putting the first ones back
// changes nothing.
func TestNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &World{}
		var model []entry
		now := int64(0)
		take := func() entry {
			w.peek()
			return w.take()
		}
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				e := entry{at: now + rapid.Int64Range(0, 20).Draw(t, "after"), kind: atWake, ref: int32(w.seq)}
				w.schedule(e)
				e.seq = w.seq
				model = append(model, e)
			},
			"fly": func(t *rapid.T) {
				w.now = now
				after := rapid.Int64Range(0, 20).Draw(t, "after")
				w.fly(&Message{To: 3}, after)
				model = append(model, entry{at: now + after, seq: w.seq, proc: 3, ref: int32(len(w.flights) - 1), kind: atDelivery})
			},
			"take": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				first := slices.MinFunc(model, order)
				if e := take(); e != first {
					t.Fatalf("first is %+v, want %+v", e, first)
				}
				model = slices.DeleteFunc(model, func(e entry) bool { return e == first })
				now = first.at
			},
			"put back": func(t *rapid.T) {
				var taken []entry
				for range rapid.IntRange(0, min(len(model), 12)).Draw(t, "count") {
					taken = append(taken, take())
				}
				for _, e := range slices.Backward(taken) {
					w.putBack(&e)
				}
			},
			"": func(t *rapid.T) {
				if n := w.nears + len(w.queue); n != len(model) {
					t.Fatalf("%d entries, want %d", n, len(model))
				}
				for i := 1; i < w.nears; i++ {
					if !w.near[i].before(&w.near[i-1]) {
						t.Fatalf("near entry %d is not before the one further on", i)
					}
				}
				if w.nears > 0 && len(w.queue) > 0 && !w.near[0].before(&w.queue[0]) {
					t.Fatal("the queue begins before the last of what is near")
				}
			},
		})
	})
}
