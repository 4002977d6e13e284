package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecorder(t *testing.T) {
	var r Recorder
	e := typicalEvent()
	r.Append(&e)
	e.Process = "C" // the recorder has a copy
	r.Append(&e)
	want := []Event{typicalEvent(), e}
	if diff := cmp.Diff(want, r.Events()); diff != "" || r.Len() != 2 {
		t.Errorf("%d events (-want +got)\n%s", r.Len(), diff)
	}
	r.Reset()
	if r.Len() != 0 || len(r.Events()) != 0 {
		t.Errorf("%d events after Reset", r.Len())
	}
	if n := testing.AllocsPerRun(10, func() { r.Reset(); r.Append(&e); r.Append(&e) }); n != 0 {
		t.Errorf("%v allocations in a second run, expected none", n)
	}
}

func BenchmarkRecorder(b *testing.B) {
	var r Recorder
	e := typicalEvent()
	b.ReportAllocs()
	for b.Loop() {
		if r.Len() == 100 {
			r.Reset()
		}
		r.Append(&e)
	}
}
