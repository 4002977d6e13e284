package checker

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"text/tabwriter"
	"time"

	"testing"

	"github.com/anishathalye/porcupine"

	"staleproof/model/history"
)

var registerTable = flag.Duration("register-table", 0, "print how long registers take, beside porcupine used directly for at most so long")

// TestRegisterTable prints how long registers take beside porcupine used directly,
// right and with a wrong read at the end. What porcupine decides must be decided in
// the same way.
func TestRegisterTable(t *testing.T) {
	if *registerTable == 0 {
		t.Skip("-register-table is not given")
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer out.Flush()
	fmt.Fprintln(out, "operations\tclients\tcas %\tunknown %\tlast read\tchecker\t\tporcupine\t\t")
	for _, cas := range []int{0, 33} {
		for _, unknown := range []int{0, 2} {
			for _, clients := range []int{5, 15, 50} {
				for _, operations := range []int{1000, 10_000, 100_000} {
					for _, bad := range []bool{false, true} {
						h := longRegister(registerRun{clients: clients, values: 5, cas: cas, unknown: unknown}, operations, bad)
						began := time.Now()
						r, err := Check(h, Options{Model: "cas-register"})
						if err != nil {
							t.Fatal(err)
						}
						took := time.Since(began)
						began = time.Now()
						direct := directly(h, *registerTable)
						fmt.Fprintf(out, "%d\t%d\t%d\t%d\t%s\t%v\t%s\t%v\t%s\t\n", operations, clients, cas, unknown, map[bool]string{true: "wrong", false: "right"}[bad],
							took.Round(time.Millisecond), r.Outcome, time.Since(began).Round(time.Millisecond), direct)
						out.Flush()
						if decided := map[porcupine.CheckResult]Outcome{porcupine.Ok: Satisfied, porcupine.Illegal: Violated}; direct != porcupine.Unknown && r.Outcome != decided[direct] {
							t.Errorf("%d operations of %d clients: found %s, porcupine %s", operations, clients, r.Outcome, direct)
						}
					}
				}
			}
		}
	}
}

// longRegister is a history of a right register, with a wrong read at its end if bad.
func longRegister(r registerRun, operations int, bad bool) *history.History {
	h := &history.History{}
	r.Rand, r.value = rand.New(rand.NewPCG(1, 2)), history.NilValue
	r.observe = func(e *history.Event) { h.Events = append(h.Events, *e) }
	r.run(operations)
	if bad {
		wrong := history.IntValue(2)
		if r.unknown > 0 { // somebody may have written any other
			wrong.Num = 77
		}
		for _, e := range []history.Event{
			{Type: history.Invoke, F: history.Write, Value: history.IntValue(1)}, {Type: history.OK, F: history.Write},
			{Type: history.Invoke, F: history.Read}, {Type: history.OK, F: history.Read, Value: wrong},
		} {
			e.Process, e.Resource, e.Op = "last", "r", r.op+1
			r.emit(e)
			if e.Type == history.OK {
				r.op++
			}
		}
	}
	return h
}

// directly judges a history as somebody would who uses porcupine without this
// package.
func directly(h *history.History, limit time.Duration) porcupine.CheckResult {
	type input struct {
		f             history.F
		expect, value int64
	}
	const unknown = -1
	model := porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, in, out any) (bool, any) {
			switch i := in.(input); {
			case i.f == history.Read:
				return out.(int64) == state.(int64), state
			case i.f == history.CAS && i.expect != state.(int64):
				return out.(int64) == unknown, state
			default:
				return true, i.value
			}
		},
	}
	var events []porcupine.Event
	var open []int // of unknown outcome
	outcome := map[int64]*history.Event{}
	for i := range h.Events {
		if e := &h.Events[i]; e.Type.IsEnd() {
			outcome[e.Op] = e
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		end := outcome[e.Op]
		switch lost := end.Type == history.Info; {
		case end.Type == history.Fail, lost && e.F == history.Read:
		case e.Type == history.Invoke:
			events = append(events, porcupine.Event{Kind: porcupine.CallEvent, Id: int(e.Op), Value: input{e.F, e.Expect.Num, e.Value.Num}})
			if lost {
				open = append(open, int(e.Op))
			}
		case !lost:
			events = append(events, porcupine.Event{Kind: porcupine.ReturnEvent, Id: int(e.Op), Value: e.Value.Num})
		}
	}
	for _, id := range open {
		events = append(events, porcupine.Event{Kind: porcupine.ReturnEvent, Id: id, Value: int64(unknown)})
	}
	return porcupine.CheckEventsTimeout(model, events, limit)
}
