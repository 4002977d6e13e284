package sim

import (
	"fmt"
	"reflect"
	"unsafe"
)

// ID names a process of a world: its index in the order of spawning.
type ID int32

// Message is what a process receives.
type Message struct {
	// ID is the message's number in the run; a duplicate has the same.
	ID       int64
	From, To ID
	// Call is the number of the caller's call, 0 for a plain message; a reply
	// carries the number of the call that it answers, and Reply is set.
	Call  int64
	Reply bool
	// Copy is set on the second of two arrivals of a duplicated message.
	Copy bool
	// Timer is set on what Proc.After sends to its own process.
	Timer bool
	// Body is a plain comparable value: it was copied when it was sent.
	Body any
}

// flight is a message on its way: what the queue's entries refer to.
type flight struct {
	msg         Message
	deadline    int64 // of a timer, on the monotonic clock
	incarnation int32 // of a timer's process: a crash clears it
}

// checkBody panics with advice unless v may be sent or stored.
func (w *World) checkBody(v any) {
	if v == nil {
		return
	}
	word := typeWord(v)
	for _, known := range w.plain {
		if known == word {
			return
		}
	}
	t := reflect.TypeOf(v)
	if bad := sharedPart(t, t.String()); bad != "" {
		panic(Misuse(fmt.Sprintf("%s cannot be sent or stored: expected a plain value, copied on sending; put what it refers to into a struct of integers, strings and arrays", bad)))
	}
	w.plain = append(w.plain, word)
}

// typeWord identifies the type of v: comparing two of them costs a tenth of
// comparing two reflect.Types, and every message is checked.
func typeWord(v any) uintptr { return *(*uintptr)(unsafe.Pointer(&v)) }

// sharedPart names the part of t through which two processes would share
// memory, or returns "".
func sharedPart(t reflect.Type, path string) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return fmt.Sprintf("%s (a %s)", path, t.Kind())
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return fmt.Sprintf("%s (a %s: floats round differently from one machine to another)", path, t.Kind())
	case reflect.Array:
		return sharedPart(t.Elem(), path+"[]")
	case reflect.Struct:
		for i := range t.NumField() {
			if bad := sharedPart(t.Field(i).Type, path+"."+t.Field(i).Name); bad != "" {
				return bad
			}
		}
	}
	return ""
}
