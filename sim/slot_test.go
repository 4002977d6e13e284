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
	n := 7
	if q := Peek[*int](&n); q == nil || *q != &n {
		t.Error("expected a pointer as it is")
	}
	if q := Peek[struct{ p *int }](struct{ p *int }{&n}); q == nil || q.p != &n {
		t.Error("expected a pointer in a struct as it is")
	}
	if q := Peek[any](&n); q == nil || *q != any(&n) {
		t.Error("expected an interface as it is")
	}
	if q := Peek[int64](int64(1) << 40); q == nil || *q != 1<<40 {
		t.Error("expected a number of one word")
	}
	if q := Peek[struct{}](struct{}{}); q == nil {
		t.Error("expected a value without size")
	}
	if n := testing.AllocsPerRun(100, func() { Peek[body](v) }); n > 0 {
		t.Errorf("expected no memory to be allocated, found %v objects", n)
	}
}
