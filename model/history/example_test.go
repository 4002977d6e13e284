package history_test

import (
	"fmt"
	"io"
	"os"
	"strings"

	"staleproof/model/history"
)

// A client's log becomes a history, a line at a time.
func ExampleWriter() {
	w := history.NewWriter(os.Stdout, history.Header{})
	for _, e := range []history.Event{
		{Index: 1, Time: 0, Process: "A", Type: history.Invoke, F: history.Write, Op: 1, Resource: "orders/7", Token: 41, Value: history.IntValue(10)},
		{Index: 2, Time: 1_500_000, Process: "A", Type: history.Info, F: history.Write, Op: 1, Resource: "orders/7", Token: 41, Error: "timeout"},
	} {
		if err := w.Write(&e); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Flush(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"format":"staleproof.history/1"}
	// {"index":1,"time":0,"process":"A","type":"invoke","f":"write","op":1,"resource":"orders/7","token":41,"value":10}
	// {"index":2,"time":1500000,"process":"A","type":"info","f":"write","op":1,"resource":"orders/7","token":41,"error":"timeout"}
}

// What is wrong with a file is said with its line.
func ExampleReader() {
	r, err := history.NewReader(strings.NewReader(`{"format":"staleproof.history/1"}
{"index":1,"process":"A","type":"invoke","f":"write","op":1,"resource":"orders/7","value":10}
{"index":2,"process":"A","type":"ok","f":"wrote","op":1,"resource":"orders/7","value":10}
`), "orders.jsonl")
	for err == nil {
		var e history.Event
		if err = r.Next(&e); err == nil {
			fmt.Println(e.Process, e.Type, e.F, e.Value)
		}
	}
	if err != io.EOF {
		fmt.Println(err)
	}
	// Output:
	// A invoke write 10
	// orders.jsonl:3: expected the name of an operation or a note in field "f", found the string "wrote"; did you mean "write"?
}
