package history

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The rows of TestReadRefuses and TestReadAccepts go through the validator
// too; these are what no reader lets through.
func TestValidatorInMemory(t *testing.T) {
	tests := []struct {
		name string
		e    Event
		want string
	}{
		{"no type", Event{F: Heal}, "expected a type (invoke ok fail info note), found type(0); set the event's Type"},
		{"unknown f", Event{Type: Info, F: 199}, "expected the name of an operation or a note, found f(199); set the event's F"},
		{"good", Event{Type: Invoke, F: Read, Process: "A"}, "<nil>"},
	}
	for _, test := range tests {
		var v Validator
		if got := fmt.Sprint(v.Check(&test.e)); got != test.want {
			t.Errorf("%s: got  %s\nwant %s", test.name, got, test.want)
		}
	}
}

func TestNumberSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s numberSet
		seen := make(map[int64]bool)
		for _, n := range rapid.SliceOf(rapid.Int64Range(1, 20)).Draw(t, "numbers") {
			if got := s.add(n); got == seen[n] {
				t.Fatalf("add(%d) = %v", n, got)
			}
			seen[n] = true
		}
		for n := range seen {
			if _, other := s.others[n]; n > s.full && !other {
				t.Fatalf("%d is lost: all up to %d, others %v", n, s.full, s.others)
			}
		}
	})
}

func TestNumberSetForgetsWhatIsFull(t *testing.T) {
	var s numberSet
	for n := int64(1000); n > 0; n-- {
		s.add(n)
	}
	if s.full != 1000 || len(s.others) != 0 {
		t.Errorf("all up to %d, and %d others; expected all up to 1000", s.full, len(s.others))
	}
}

// endless writes operations for as long as somebody reads.
type endless struct {
	left, index int
	line        []byte
}

func (g *endless) Read(p []byte) (int, error) {
	for len(g.line) == 0 {
		if g.left == 0 {
			return 0, io.EOF
		}
		g.left--
		op := g.index/2 + 1
		g.line = fmt.Appendf(g.line,
			`{"index":%d,"time":%d,"process":"A","type":"invoke","f":"write","op":%d,"resource":"r%d","value":"v%d"}`+"\n"+
				`{"index":%d,"time":%d,"process":"A","type":"ok","f":"write","op":%d,"resource":"r%d"}`+"\n",
			g.index, g.index, op, op, op, g.index+1, g.index, op, op)
		g.index += 2
	}
	n := copy(p, g.line)
	g.line = g.line[:copy(g.line, g.line[n:])]
	return n, nil
}

// Every operation has a resource and a value of its own, and still the reader
// keeps none of them.
func TestReaderMemoryIsBounded(t *testing.T) {
	const operations = 40_000
	r, err := NewReader(io.MultiReader(strings.NewReader(header), &endless{left: operations}), "run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var e Event
	heap := func(events int) uint64 {
		for range events {
			if err := r.Next(&e); err != nil {
				t.Fatal(err)
			}
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	early := heap(operations / 5)
	late := heap(2*operations - operations/5)
	if err := r.Next(&e); err != io.EOF {
		t.Fatalf("%v, expected the end", err)
	}
	if late > early+256<<10 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	runtime.KeepAlive(r)
}
