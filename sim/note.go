package sim

import (
	"math"
	"strconv"
)

// NoteKind says what a [Note] tells.
type NoteKind uint8

// What the world can note.
const (
	NoteSend      NoteKind = iota // Proc sends message Message to Peer
	NoteDeliver                   // Proc receives message Message from Peer
	NoteDrop                      // message Message from Proc to Peer is lost; For is 1 if a partition ate it
	NotePause                     // Proc freezes for For
	NoteSuspend                   // Proc is suspended for For: its clock stands still
	NoteResume                    // Proc goes on
	NoteStall                     // one task of Proc, named by Label, stalls for For
	NoteCrash                     // Proc crashes
	NoteRestart                   // Proc starts again
	NotePartition                 // the link from Proc to Peer is cut for For; Both: the other direction too
	NoteHeal                      // the link from Proc to Peer works again
	NoteDrift                     // the clocks of Proc drift by For ppm
	NoteJump                      // the wall clock of Proc jumps by For
	NoteQuiet                     // no fault is injected any more
	NotePanic                     // Proc panicked
	noteCount
)

// NoteSet is a set of kinds of notes.
type NoteSet uint32

// AllNotes holds every kind.
const AllNotes = NoteSet(1<<noteCount - 1)

// With returns the set with kinds added.
func (s NoteSet) With(kinds ...NoteKind) NoteSet {
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in the set.
func (s NoteSet) Has(k NoteKind) bool { return s>>k&1 != 0 }

// Note is what the world saw.
type Note struct {
	Kind  NoteKind
	Index int64 // its place among all notes and observations of the run, from 1
	Time  int64 // true time
	Proc  ID
	Peer  ID
	For   int64  // a duration in nanoseconds, or ppm; 0 if none
	Label string // the yield at which it struck
	Both  bool
	Copy  bool
	// Message is the number of the message and Body what it says.
	Message int64
	Body    any
}

// Observation is what a process reports with [Proc.Observe]: usually a pointer to
// an event that the process reuses; an [Observer] that keeps it copies it.
type Observation interface {
	// Stamp sets the place of the observation among all notes and observations of
	// the run (from 1), the true time and the name of the process.
	Stamp(index, time int64, process string)
	Folder
}

// Observer is told everything that happens in a world, in order. It must not
// call back into the world.
type Observer interface {
	// Notes are the kinds of notes that it wants. If it wants any, it is told of
	// the second arrival of a duplicated message too (NoteDeliver, Copy set).
	Notes() NoteSet
	Note(n Note)
	Observe(o Observation)
}

// Nanoseconds formats a duration for people: 35s, 1.5ms, 250ns.
func Nanoseconds(ns int64) string {
	switch {
	case ns == math.MinInt64: // has no negative
		return "-" + Nanoseconds(math.MaxInt64)
	case ns < 0:
		return "-" + Nanoseconds(-ns)
	}
	units := []struct {
		size int64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}
	for _, u := range units {
		if ns < u.size {
			continue
		}
		text := strconv.FormatInt(ns/u.size, 10)
		if rest := ns % u.size; rest > 0 {
			digits := strconv.FormatInt(u.size+rest, 10)[1:]
			for digits[len(digits)-1] == '0' {
				digits = digits[:len(digits)-1]
			}
			text += "." + digits
		}
		return text + u.name
	}
	return "0s"
}
