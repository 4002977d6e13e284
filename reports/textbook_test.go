package reports

import (
	"fmt"

	"staleproof/model/history"
)

const (
	ms  = int64(1_000_000)
	sec = 1000 * ms
)

// script writes a history by hand. Its messages are numbered by the caller.
type script struct {
	now    int64
	events []history.Event
}

func (s *script) add(after int64, e history.Event) *script {
	s.now += after
	e.Index, e.Time = int64(len(s.events)+1), s.now
	if e.Type == 0 {
		e.Type = history.Note
	}
	if e.F < history.Send && e.Resource == "" {
		e.Resource = "orders/7"
	}
	s.events = append(s.events, e)
	return s
}

func (s *script) send(from, to string, message int64, text string) *script {
	return s.add(0, history.Event{Process: from, F: history.Send, To: to, Message: message, Text: text})
}

func (s *script) deliver(after int64, to string, message int64) *script {
	return s.add(after, history.Event{Process: to, F: history.Deliver, To: to, Message: message})
}

// acquire grants a lease of ten seconds by way of messages m and m+1.
func (s *script) acquire(client string, op, m int64, token history.Token, lease string) *script {
	s.add(2*ms, history.Event{Process: client, Type: history.Invoke, F: history.Acquire, Op: op})
	sent := s.now
	s.send(client, "coordinator", m, "acquire orders/7")
	s.deliver(ms, "coordinator", m)
	s.add(0, history.Event{Process: "coordinator", F: history.Grant, Op: op, Token: token, Lease: lease, Owner: client, Generation: int64(token) - 40, Expires: s.now + 10*sec})
	s.send("coordinator", client, m+1, "granted")
	s.deliver(ms, client, m+1)
	s.add(0, history.Event{Process: client, Type: history.OK, F: history.Acquire, Op: op, Token: token, Lease: lease})
	return s.add(0, history.Event{Process: client, F: history.Believe, Token: token, Lease: lease, Generation: int64(token) - 40, Until: sent + 10*sec - 4*ms})
}

// write is accepted by way of messages m and m+1.
func (s *script) write(client string, op, m int64, token, highest history.Token, lease string, value history.Value) *script {
	s.add(ms, history.Event{Process: client, Type: history.Invoke, F: history.Write, Op: op, Token: token, Lease: lease, Value: value, Prepared: token})
	s.send(client, "store", m, "write")
	s.deliver(ms, "store", m)
	s.add(0, history.Event{Process: "store", F: history.Apply, Op: op, Token: token, Lease: lease, Highest: highest, Value: value})
	s.send("store", client, m+1, "ok")
	s.deliver(ms, client, m+1)
	return s.add(0, history.Event{Process: client, Type: history.OK, F: history.Write, Op: op, Token: token, Highest: highest, Value: value})
}

// textbook is the case that everybody draws on the board: A pauses between its
// check and its write, B is granted and writes, A's write is applied.
func textbook() *Document {
	var s script
	s.acquire("A", 1, 1, 41, "a1f3")
	s.write("A", 2, 3, 41, 41, "a1f3", history.IntValue(9))
	s.add(3*ms, history.Event{Process: "A", F: history.Pause, Text: "for 35s"})
	s.add(10*sec-6*ms, history.Event{Process: "coordinator", F: history.Expire, Token: 41, Lease: "a1f3", Owner: "A", Generation: 1})
	s.acquire("B", 3, 5, 42, "91cd")
	s.write("B", 4, 7, 42, 42, "91cd", history.IntValue(20))
	s.add(25*sec, history.Event{Process: "A", F: history.Resume})
	s.write("A", 5, 9, 41, 42, "a1f3", history.IntValue(10))
	find := func(process string, f history.F, op int64) *history.Event {
		for i := range s.events {
			if e := &s.events[i]; e.Process == process && e.F == f && e.Op == op {
				return e
			}
		}
		panic("the script has no such event")
	}
	link := func(process string, f history.F, op int64, text string) Link {
		e := find(process, f, op)
		return Link{Index: e.Index, Time: e.Time, Text: text}
	}
	chain := []Link{
		link("coordinator", history.Grant, 1, "coordinator granted orders/7 to A: token 41, generation 1, for 10s"),
		link("A", history.Pause, 0, "A paused for 35s, between its check of the lease and its write"),
		link("coordinator", history.Expire, 0, "A's lease expired while A was paused"),
		link("coordinator", history.Grant, 3, "coordinator granted orders/7 to B: token 42, generation 2"),
		link("store", history.Apply, 4, "store accepted B's write of 20 with token 42: from here on, 41 is stale"),
		link("store", history.Apply, 5, "store applied A's write of 10 with token 41, over B's 20"),
	}
	return &Document{
		Format:  Format,
		Version: "0.1.0",
		Runs: []Run{
			{
				Scenario: "textbook", Doc: "A holder pauses past the end of its lease and then writes.", Status: Satisfied, Expected: true,
				Schedules: 1000, Events: 98211, Sometimes: []Count{{"stale-write-attempted", 214}, {"stale-write-rejected", 214}},
				Params: []KeyValue{{"clients", "2"}, {"ttl", "10s"}},
			},
			{
				Scenario: "textbook", Defect: "store-ignores-token", Doc: "The store applies every write, whatever its token.",
				Status: Violated, Expected: true, Schedules: 17, Events: 1711, First: 16,
				Breaks: []string{"no-stale-write"}, Broken: []string{"no-stale-write"},
				Sometimes: []Count{{"stale-write-attempted", 3}, {"two-believers", 0}},
				Params:    []KeyValue{{"clients", "2"}, {"ttl", "10s"}, {"timing", "timed"}},
				Findings: []Finding{{
					Property:  "no-stale-write",
					Guarantee: "In a scope, once a mutation with token t was accepted, no mutation with a lower token is ever applied.",
					Message:   fmt.Sprintf("token 41 was applied at #%d after token 42 was accepted at #%d (orders/7)", find("store", history.Apply, 5).Index, find("store", history.Apply, 4).Index),
					Events:    []int64{find("store", history.Apply, 4).Index, find("store", history.Apply, 5).Index},
					Chain:     chain,
					Decisions: []string{"A/pause#2=3: A paused for 35s before its write"},
					Replay:    "staleproof replay sp1:KLUv_SQAEXRleHRib29rLTEKAS9BL3BhdXNlIzI9Mw",
					History:   &history.History{Header: history.Header{Format: history.Format, Scenario: "textbook", Timing: "timed", TTL: 10 * sec, Rho: 200}, Events: s.events},
				}},
			},
		},
	}
}
