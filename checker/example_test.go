package checker_test

import (
	"fmt"
	"strings"

	"staleproof/checker"
	"staleproof/model/history"
)

// recorded is what two clients of a real system saw, without notes of its servers.
const recorded = `{"format":"staleproof.history/1"}
{"index":1,"time":0,"process":"A","type":"invoke","f":"acquire","op":1,"resource":"orders/7"}
{"index":2,"time":1000000,"process":"A","type":"ok","f":"acquire","op":1,"resource":"orders/7","token":41,"lease":"a1f3"}
{"index":3,"time":2000000,"process":"A","type":"invoke","f":"write","op":2,"resource":"orders/7","token":41,"lease":"a1f3","value":10}
{"index":4,"time":9000000,"process":"B","type":"invoke","f":"acquire","op":3,"resource":"orders/7"}
{"index":5,"time":9500000,"process":"B","type":"ok","f":"acquire","op":3,"resource":"orders/7","token":42,"lease":"91cd"}
{"index":6,"time":9600000,"process":"B","type":"invoke","f":"write","op":4,"resource":"orders/7","token":42,"lease":"91cd","value":20}
{"index":7,"time":9700000,"process":"B","type":"ok","f":"write","op":4,"resource":"orders/7","token":42,"lease":"91cd","value":20}
{"index":8,"time":9800000,"process":"B","type":"invoke","f":"read","op":5,"resource":"orders/7","token":42,"lease":"91cd"}
{"index":9,"time":9900000,"process":"B","type":"ok","f":"read","op":5,"resource":"orders/7","token":42,"lease":"91cd","value":10}
`

// A history that was recorded is judged, and the verdict explained.
func ExampleCheck() {
	h, err := history.ReadAll(strings.NewReader(recorded), "orders.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := checker.Check(h, checker.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Println(r.Property, r.Outcome)
		if r.Violation == nil {
			continue
		}
		f := checker.Explain(h, *r.Violation)
		fmt.Println(f.Message)
		for _, link := range f.Chain {
			fmt.Printf("  #%d %s\n", link.Index, link.Text)
		}
	}
	// Output:
	// token-order satisfied
	// renewal-keeps-token satisfied
	// exclusive-grant satisfied
	// linearizable violated
	// broke linearizable: no order of the operations explains read with token 42 -> 10 by B, #8 to #9 (orders/7)
	//   #2 A acquired token 41 (lease a1f3)
	//   #3 A began write 10 with token 41
	//   #5 B acquired token 42 (lease 91cd)
	//   #7 B was told that its write 20 with token 42 succeeded
	//   #8 B began read with token 42
	//   #9 B read 10 with token 42
	// no-false-fencing satisfied
	// gives-up satisfied
	// lease-identity satisfied
	// exclusive-belief satisfied
}

// A Suite judges a history while it happens: it keeps no event.
func ExampleSuite() {
	s, err := checker.New([]string{"no-stale-write", "token-order"}, history.Header{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, e := range []history.Event{
		{Process: "manager", F: history.Grant, Token: 41, Lease: "a1f3", Owner: "A"},
		{Process: "manager", F: history.Grant, Token: 42, Lease: "91cd", Owner: "B"},
		{Process: "store", F: history.Apply, Op: 2, Token: 42, Lease: "91cd", Owner: "B"},
		{Process: "store", F: history.Apply, Op: 1, Token: 41, Lease: "a1f3", Owner: "A"},
	} {
		e.Index, e.Type, e.Resource = int64(i+1), history.Note, "orders/7"
		s.Observe(&e)
	}
	for _, r := range s.Finish() {
		fmt.Println(r.Property, r.Outcome)
		if r.Violation != nil {
			fmt.Println(r.Violation.Message)
		}
	}
	// Output:
	// no-stale-write violated
	// broke no-stale-write: token 41 applied at #4 after token 42 was accepted at #3 (orders/7)
	// token-order satisfied
}
