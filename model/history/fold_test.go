package history

import (
	"math/bits"
	"reflect"
	"strings"
	"testing"
)

// typicalEvent is what a simulation emits most: a handful of fields.
func typicalEvent() Event {
	return Event{
		Index: 12, Time: 30500000, Process: "B", Type: Invoke, F: Write, Op: 5,
		Resource: "orders/7", Token: 42, Lease: "91cd", Value: IntValue(9), Prepared: 42, Basis: 7,
	}
}

// fullEvent has every field set.
func fullEvent() Event {
	return Event{
		Index: 1, Time: 2, Process: "process", Client: "client", Type: Note, F: Reject, Op: 3,
		Resource: "resource", Scope: "scope", Token: 4, Highest: 5, Lease: "lease", Owner: "owner",
		Generation: 6, Value: TextValue("value"), Expect: TextValue("expect"), Seq: 7, Prepared: 8,
		Basis: 9, Expires: 10, Until: 11, Rejections: 12, Error: "error", To: "to",
		Message: 13, Copy: 14, Text: "text",
	}
}

// leaves calls visit with each field of the event that is no struct, and its
// name: a field that is added to Event is tested without a change here.
func leaves(e *Event, visit func(name string, v reflect.Value)) {
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for i := range v.NumField() {
			name := prefix + v.Type().Field(i).Name
			if v.Field(i).Kind() == reflect.Struct {
				walk(name+".", v.Field(i))
				continue
			}
			visit(name, v.Field(i))
		}
	}
	walk("", reflect.ValueOf(e).Elem())
}

// setLeaf sets a field to its nth value; the 0th is the zero value.
func setLeaf(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", n))
	case reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint8:
		v.SetUint(uint64(n))
	default:
		t.Fatalf("a field of kind %s: teach Fold, the writer, the reader and this test", v.Kind())
	}
}

// The golden values hold on every machine: a digest made on one is compared
// with a digest made on another. A change here invalidates every replay token.
func TestFoldGolden(t *testing.T) {
	typical, full := typicalEvent(), fullEvent()
	tests := []struct {
		name  string
		event *Event
		from  uint64
		want  uint64
	}{
		{"zero event", &Event{}, 0, 0xa0694f5abef0ea88},
		{"zero event from another state", &Event{}, 1, 0xe0bbd1efc3113f99},
		{"typical", &typical, 1, 0xf258fae67e467e59},
		{"full", &full, 1, 0xcdd14704faab1359},
		{"long text", &Event{Text: "a message that is longer than a few words of eight bytes"}, 1, 0x1f58e57127316e99},
		{"negative numbers", &Event{Time: -1, Token: -1 << 63}, 1, 0x3c69bf1e5b3e2a50},
	}
	for _, test := range tests {
		if got := test.event.Fold(test.from); got != test.want {
			t.Errorf("%s: Fold(%d) = %#016x, want %#016x", test.name, test.from, got, test.want)
		}
	}
}

func TestFoldCountsEveryFieldButIndex(t *testing.T) {
	for _, base := range []Event{{}, typicalEvent(), fullEvent()} {
		before := base.Fold(7)
		changed := base
		leaves(&changed, func(name string, v reflect.Value) {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			for n := range 20 {
				setLeaf(t, v, n)
				same := v.Equal(old)
				if after := changed.Fold(7); (after == before) != (same || name == "Index") {
					t.Errorf("%s = %v (was %v): hash %#x, was %#x", name, v, old, after, before)
				}
			}
			v.Set(old)
		})
	}
}

// One value in each field in turn, so that a hash which forgets where a value
// stood, or how long a text was, meets itself.
func TestFoldTellsFieldsApart(t *testing.T) {
	seen := make(map[uint64]string)
	var e Event
	leaves(&e, func(name string, v reflect.Value) {
		if name == "Index" {
			return
		}
		for n := 1; n < 40; n++ {
			setLeaf(t, v, n)
			h := e.Fold(0)
			if other, ok := seen[h]; ok {
				t.Errorf("%s (%d) and %s have the hash %#x", name, n, other, h)
			}
			seen[h] = name
		}
		v.SetZero()
	})
	if len(seen) < 25*39 {
		t.Errorf("%d hashes, expected at least 25 fields of 39 values each", len(seen))
	}
}

// A text that differs in one byte, at each place of each length: the loads of
// short texts overlap.
func TestFoldSeesEveryByte(t *testing.T) {
	for n := 1; n <= 40; n++ {
		text := []byte(strings.Repeat("a", n))
		before := (&Event{Text: string(text)}).Fold(0)
		for i := range text {
			for bit := range 8 {
				text[i] ^= 1 << bit
				after := (&Event{Text: string(text)}).Fold(0)
				text[i] ^= 1 << bit
				if d := bits.OnesCount64(before ^ after); d < 8 {
					t.Errorf("length %d, byte %d, bit %d: only %d bits of the hash changed", n, i, bit, d)
				}
			}
		}
	}
}

func TestFoldOrder(t *testing.T) {
	a, b := typicalEvent(), fullEvent()
	if ab, ba := b.Fold(a.Fold(0)), a.Fold(b.Fold(0)); ab == ba {
		t.Errorf("the order of two events does not change the hash %#x", ab)
	}
}

func TestFoldAllocatesNothing(t *testing.T) {
	e := fullEvent()
	if n := testing.AllocsPerRun(100, func() { sink = e.Fold(sink) }); n != 0 {
		t.Errorf("%v allocations an event, expected none", n)
	}
}

var sink uint64

func BenchmarkFold(b *testing.B) {
	message := Event{Time: 5, Process: "store", Type: Note, F: Deliver, Message: 17, To: "A"}
	write, full := typicalEvent(), fullEvent()
	for _, bench := range []struct {
		name  string
		event *Event
	}{{"message", &message}, {"write", &write}, {"every-field", &full}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = bench.event.Fold(sink)
			}
		})
	}
}
