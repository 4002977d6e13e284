package sim

import "testing"

// TestPeek: it finds the value itself, of that type alone.
func TestPeek(t *testing.T) {
	type body struct {
		text  string
		words [20]int
	}
	var v any = body{text: "sent", words: [20]int{19: 7}}
	p := Peek[body](v)
	if p == nil || *p != v.(body) || p != Peek[body](v) {
		t.Errorf("expected where %v lies, found %v", v, p)
	}
	if Peek[string](v) != nil || Peek[body](nil) != nil {
		t.Error("expected nil for another type, and for no value")
	}
	if n := testing.AllocsPerRun(100, func() { Peek[body](v) }); n > 0 {
		t.Errorf("expected no memory to be allocated, found %v objects", n)
	}
}
