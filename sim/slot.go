package sim

import "unsafe"

// Slot is where a world keeps a plain value that was sent or stored, so that an
// equal one need not be allocated again: a long series of runs sends the same few
// messages. See [Proc.Slot].
type Slot struct {
	value any
	words [2]uintptr // of value: its type and where it lies
	hash  uint64     // of value, once it was asked for
}

// A world has manySlots, two to the power of slotBits.
const (
	slotBits  = 12
	manySlots = 1 << slotBits
)

// Slot returns the place of values with this hash: the better it tells values
// apart, the more often one is found.
//
//	s := p.Slot(hash)
//	if old := sim.Kept[Request](s); old == nil || *old != r {
//		s.Keep(p, r)
//	}
//	p.Send(to, s.Box(p))
func (p *Proc) Slot(hash uint64) *Slot {
	w := p.w
	if w.slotted == nil {
		w.slotted = new([manySlots]Slot)
	}
	return &w.slotted[hash*mixer>>(64-slotBits)]
}

// Kept returns the value that s holds, nil if it holds no T. It must not be changed.
func Kept[T any](s *Slot) *T { return Peek[T](s.value) }

// Peek returns the T that v holds, or nil if v holds no T: where it lies, which spares
// the copy of a large message body, or a copy if it has no more than two words. What
// it points to must not be changed: the message may be on a disk, on its way once
// more, or sent again in another run.
func Peek[T any](v any) *T {
	t, ok := v.(T)
	switch {
	case !ok:
		return nil
	case unsafe.Sizeof(t) <= unsafe.Sizeof(v): // v may be a pointer, and T an interface
		small := t
		return &small
	}
	return (*T)((*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1])
}

// Keep makes s hold v, a plain comparable value.
func (s *Slot) Keep(p *Proc, v any) {
	p.w.checkBody(v)
	*s = Slot{value: v, words: *wordsOf(&v)}
}

// Box returns what s holds, ready to be sent or stored.
func (s *Slot) Box(p *Proc) any {
	p.w.boxed = s
	return s.value
}

// foldBody checks and hashes the body of a message. Mostly it comes from a slot,
// just now: boxed values never change, so what has the same words is the same.
func (w *World) foldBody(v any) uint64 {
	if s, words := w.boxed, wordsOf(&v); s != nil && words[1] == s.words[1] && words[0] == s.words[0] {
		if s.hash == 0 && !w.cfg.NoDigest {
			s.hash = foldAny(0, v)
		}
		return s.hash
	}
	w.checkBody(v)
	return foldAny(0, v)
}

func wordsOf(v *any) *[2]uintptr { return (*[2]uintptr)(unsafe.Pointer(v)) }
