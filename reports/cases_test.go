package reports

import (
	"fmt"
	"strings"

	"staleproof/model/history"
)

// oneFinding makes a document of a single finding, for a history that is read
// with header h.
func oneFinding(h history.Header, s *script, f Finding) *Document {
	h.Format = history.Format
	f.History = &history.History{Header: h, Events: s.events}
	return &Document{Format: Format, Runs: []Run{{
		Scenario: "case", Defect: "planted", Status: Violated, Expected: true, Schedules: 1,
		Breaks: []string{f.Property}, Broken: []string{f.Property}, Findings: []Finding{f},
	}}}
}

// rough has everything that the drawing knows: a held message, a lost one, a
// duplicate, one never delivered, a crash, a restart, a partition, a stepped
// clock, a stale rejection, a renewal, a release, reads, an unknown outcome.
func rough() *Document {
	var s script
	s.acquire("A", 1, 1, 41, "a1f3")
	s.add(ms, history.Event{Process: "A", Type: history.Invoke, F: history.Raise, Op: 2, Token: 41})
	s.send("A", "store", 3, "raise").deliver(ms, "store", 3)
	s.add(0, history.Event{Process: "store", F: history.Raised, Op: 2, Token: 41, Highest: 41, Lease: "a1f3"})
	s.send("store", "A", 4, "ok").deliver(ms, "A", 4)
	s.add(0, history.Event{Process: "A", Type: history.OK, F: history.Raise, Op: 2, Token: 41})
	s.add(3*sec, history.Event{Process: "A", Type: history.Invoke, F: history.Renew, Op: 3, Token: 41, Lease: "a1f3"})
	s.send("A", "coordinator", 5, "renew")
	s.deliver(ms, "coordinator", 5)
	s.add(0, history.Event{Process: "coordinator", F: history.Renewed, Op: 3, Token: 41, Lease: "a1f3", Owner: "A", Expires: s.now + 10*sec})
	s.send("coordinator", "A", 6, "renewed")
	s.add(0, history.Event{Process: "coordinator", F: history.Drop, To: "A", Message: 6})
	s.add(sec, history.Event{Process: "A", Type: history.Info, F: history.Renew, Op: 3, Token: 41, Error: "timeout"})
	s.add(0, history.Event{Process: "A", F: history.Partition, To: "coordinator", Text: "for 20s"})
	s.add(0, history.Event{Process: "A'2", Client: "A", Type: history.Invoke, F: history.Write, Op: 4, Token: 41, Lease: "a1f3", Value: history.IntValue(10)})
	s.send("A'2", "store", 7, "write 10")
	s.add(sec, history.Event{Process: "A'2", Client: "A", Type: history.Info, F: history.Write, Op: 4, Token: 41, Error: "timeout"})
	s.add(0, history.Event{Process: "A", F: history.Crash})
	s.add(9*sec, history.Event{Process: "coordinator", F: history.Expire, Token: 41, Lease: "a1f3", Owner: "A", Generation: 1})
	s.acquire("B", 5, 8, 42, "91cd")
	s.add(0, history.Event{Process: "B", F: history.Clock, Text: "jumps by +1h0m0s"})
	s.add(ms, history.Event{Process: "B", Type: history.Invoke, F: history.Read, Op: 6, Token: 42, Lease: "91cd"})
	s.send("B", "store", 10, "read").deliver(ms, "store", 10)
	s.add(0, history.Event{Process: "store", F: history.Served, Op: 6, Token: 42, Value: history.TextValue("nine")})
	s.send("store", "B", 11, "ok").deliver(ms, "B", 11)
	s.add(0, history.Event{Process: "B", Type: history.OK, F: history.Read, Op: 6, Token: 42, Value: history.TextValue("nine")})
	s.write("B", 7, 12, 42, 42, "91cd", history.IntValue(20))
	s.add(ms, history.Event{Process: "A", F: history.Heal, To: "coordinator"})
	s.add(0, history.Event{Process: "A", F: history.Restart})
	s.deliver(2*sec, "store", 7)
	s.add(0, history.Event{Process: "store", F: history.Reject, Op: 4, Token: 41, Lease: "a1f3", Highest: 42, Error: history.Stale, Rejections: 1})
	s.add(0, history.Event{Process: "store", F: history.Deliver, To: "store", Message: 12, Copy: 1})
	s.add(ms, history.Event{Process: "A'3", Client: "A", Type: history.Invoke, F: history.Delete, Op: 8, Token: 41, Lease: "a1f3"})
	s.send("A'3", "store", 14, "delete").deliver(ms, "store", 14)
	s.add(0, history.Event{Process: "store", F: history.Reject, Op: 8, Token: 41, Lease: "a1f3", Highest: 42, Error: history.Stale, Rejections: 2})
	s.send("store", "A'3", 15, "stale").deliver(ms, "A'3", 15)
	s.add(0, history.Event{Process: "A'3", Client: "A", Type: history.Fail, F: history.Delete, Op: 8, Token: 41, Highest: 42, Error: history.Stale})
	s.add(ms, history.Event{Process: "A'3", Client: "A", Type: history.Invoke, F: history.Write, Op: 9, Token: 41, Lease: "a1f3", Value: history.IntValue(11)})
	last := int64(len(s.events))
	s.send("A'3", "store", 16, "write 11")
	s.add(ms, history.Event{Process: "", F: history.Quiet})
	s.add(ms, history.Event{Process: "B", Type: history.Invoke, F: history.Release, Op: 10, Token: 42, Lease: "91cd"})
	s.add(ms, history.Event{Process: "coordinator", F: history.Released, Op: 10, Token: 42, Lease: "91cd", Owner: "B"})
	s.add(0, history.Event{Process: "B", F: history.Disbelieve, Token: 42})
	return oneFinding(history.Header{Timing: "timed"}, &s, Finding{
		Property: "gives-up", Guarantee: "After a stale-token rejection a holder invokes no further mutation, raise or read under that token.",
		Message: fmt.Sprintf("A invoked a write under token 41 at #%d after that token was refused", last),
		Events:  []int64{last - 1, last}, Chain: []Link{{Index: last - 1, Time: s.events[last-2].Time, Text: "A was told that token 41 is stale"}, {Index: last, Time: s.events[last-1].Time, Text: "A went on to write 11 under token 41"}},
		Decisions: []string{"A's write of 10 held for 12s", "A crashed after its write", "the coordinator's reply to the renewal was lost"}, Replay: "staleproof replay sp1:AAAA",
	})
}

// recorded is a history without notes, as a real system's clients tell it.
func recorded() *Document {
	var s script
	op := int64(0)
	do := func(client string, f history.F, end history.Type, token history.Token, v history.Value, e string) {
		op++
		s.add(5*ms, history.Event{Process: client, Type: history.Invoke, F: f, Op: op, Token: token, Value: v})
		s.add(3*ms, history.Event{Process: client, Type: end, F: f, Op: op, Token: token, Value: v, Error: e})
	}
	for i := range int64(60) {
		do("0", history.Write, history.OK, 7, history.IntValue(i), "")
	}
	s.events[0].F, s.events[1].F, s.events[0].Token = history.Acquire, history.Acquire, 0
	do("1", history.Acquire, history.OK, 8, history.Value{}, "")
	do("1", history.Write, history.OK, 8, history.TextValue("second"), "")
	do("0", history.Write, history.OK, 7, history.TextValue("late"), "")
	n := int64(len(s.events))
	return oneFinding(history.Header{}, &s, Finding{Property: "linearizable", Guarantee: "Each scope of the store behaves as one fenced register.",
		Message: "no order of the operations explains that a write under token 7 succeeded after one under token 8", Events: []int64{n - 2, n}})
}

// many has n writes of several clients with long names and great tokens, on
// several resources, before two leases are in force at once.
func many(n int, timing string) *Document {
	var s script
	tick := int64(1)
	if timing == "timed" {
		tick = 1_234_567
	}
	names := []string{"worker-eu-west-1a-0001", "worker-eu-west-1a-0002", "w3", "w4", "w5"}
	for i := 0; len(s.events) < n; i++ {
		who, op, tok := names[i%len(names)], int64(2*i+1), history.Token(1_000_000_000+i)
		r := fmt.Sprintf("shard/%d", i%3)
		s.add(tick, history.Event{Process: who, Type: history.Invoke, F: history.Acquire, Op: op, Resource: r})
		s.add(tick, history.Event{Process: "lease-manager", F: history.Grant, Op: op, Resource: r, Token: tok, Owner: who, Generation: int64(i + 1), Expires: s.now + 20*tick})
		s.add(tick, history.Event{Process: who, Type: history.OK, F: history.Acquire, Op: op, Resource: r, Token: tok})
		s.add(0, history.Event{Process: who, F: history.Believe, Resource: r, Token: tok, Until: s.now + 18*tick})
		s.add(tick, history.Event{Process: who, Type: history.Invoke, F: history.Write, Op: op + 1, Resource: r, Token: tok, Value: history.TextValue(strings.Repeat("payload ", 6))})
		s.add(tick, history.Event{Process: "bucket", F: history.Apply, Op: op + 1, Resource: r, Token: tok, Highest: tok})
		s.add(tick, history.Event{Process: who, Type: history.OK, F: history.Write, Op: op + 1, Resource: r, Token: tok})
	}
	at := func(back int) int64 { return s.events[len(s.events)-back].Index }
	cited := []int64{at(62), at(20), at(13)}
	f := Finding{Property: "exclusive-grant", Message: "two leases of one scope are in force at once", Events: cited[1:]}
	for _, index := range cited {
		e := s.events[index-1]
		f.Chain = append(f.Chain, Link{Index: e.Index, Time: e.Time, Text: "lease-manager granted " + e.Resource + " to " + e.Owner})
	}
	return oneFinding(history.Header{Timing: timing}, &s, f)
}
