package history

import (
	"fmt"
	"strconv"
)

// The names of types and verbs are those of the file format: lower case, and
// part of its version.
var typeNames = [...]string{
	Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info", Note: "note",
}

var fNames = [...]string{
	Acquire: "acquire", Renew: "renew", Release: "release", Raise: "raise",
	Write: "write", Delete: "delete", Read: "read", CAS: "cas", Batch: "batch",

	Grant: "grant", Renewed: "renewed", Released: "released", Expire: "expire",
	Apply: "apply", Reject: "reject", Raised: "raised", Served: "served",

	Believe: "believe", Disbelieve: "disbelieve",

	Send: "send", Deliver: "deliver", Drop: "drop", Pause: "pause", Resume: "resume",
	Crash: "crash", Restart: "restart", Partition: "partition", Heal: "heal",
	Clock: "clock", Quiet: "quiet",
}

var (
	typeByName = byName[Type](typeNames[:])
	fByName    = byName[F](fNames[:])
)

func byName[T ~uint8](names []string) map[string]T {
	m := make(map[string]T, len(names))
	for i, name := range names {
		if name != "" {
			m[name] = T(i)
		}
	}
	return m
}

// String returns the type's name in the file format, or "type(9)" for a value
// that has none.
func (t Type) String() string {
	if name := nameOf(typeNames[:], uint8(t)); name != "" {
		return name
	}
	return "type(" + strconv.Itoa(int(t)) + ")"
}

// ParseType returns the type of that name: invoke, ok, fail, info or note.
func ParseType(name string) (Type, error) {
	if t, ok := typeByName[name]; ok {
		return t, nil
	}
	return 0, fmt.Errorf("expected a type (%s), found %q", list(typeNames[:]), name)
}

// IsEnd says whether the type ends an operation, with whatever outcome.
func (t Type) IsEnd() bool { return t == OK || t == Fail || t == Info }

// String returns the verb's name in the file format, or "f(200)" for a value
// that has none.
func (f F) String() string {
	if name := nameOf(fNames[:], uint8(f)); name != "" {
		return name
	}
	return "f(" + strconv.Itoa(int(f)) + ")"
}

// ParseF returns the verb of that name.
func ParseF(name string) (F, error) {
	if f, ok := fByName[name]; ok {
		return f, nil
	}
	return 0, fmt.Errorf("expected the name of an operation or a note (%s), found %q", list(fNames[:]), name)
}

// IsOperation says whether f is the verb of a client's operation.
func (f F) IsOperation() bool { return f >= Acquire && f <= Batch }

// IsLease says whether f is an operation on the lease manager.
func (f F) IsLease() bool { return f >= Acquire && f <= Release }

// IsStore says whether f is an operation on the fenced store.
func (f F) IsStore() bool { return f >= Raise && f <= Batch }

// IsMutation says whether f is an operation that changes what the store holds.
// Raise is none: it lifts the fence and leaves the data alone.
func (f F) IsMutation() bool { return f == Write || f == Delete || f == CAS || f == Batch }

// IsServerNote says whether f is what the lease manager or the store saw.
func (f F) IsServerNote() bool { return f >= Grant && f <= Served }

// IsHolderNote says whether f tells of a holder's belief in its lease.
func (f F) IsHolderNote() bool { return f == Believe || f == Disbelieve }

// IsWorldNote says whether f tells of the network, of a fault or of a clock.
func (f F) IsWorldNote() bool { return f >= Send && f <= Quiet }

// String returns the value as a sentence would quote it: 9, nil, "text", or
// the JSON text of a raw value. An absent value is the empty string.
func (v Value) String() string {
	switch v.Kind {
	case Nil:
		return "nil"
	case Int:
		return strconv.FormatInt(v.Num, 10)
	case Text:
		return strconv.Quote(v.Str)
	case Raw:
		return v.Str
	}
	return ""
}

// nameOf returns the name at i, or "" where there is none.
func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return ""
}

// list joins the names that exist, for an error message.
func list(names []string) string {
	var text string
	for _, name := range names {
		switch {
		case name == "":
		case text == "":
			text = name
		default:
			text += " " + name
		}
	}
	return text
}

// nearest returns the name closest to the misspelt one, or "" when none is
// close enough to be what was meant.
func nearest(misspelt string, names []string) string {
	const longest = 32 // no name is longer; a long input is not worth the time
	if len(misspelt) == 0 || len(misspelt) > longest {
		return ""
	}
	best, at := 1+max(1, len(misspelt)/3), ""
	for _, name := range names {
		if name == "" {
			continue
		}
		if d := distance(misspelt, name); d < best {
			best, at = d, name
		}
	}
	return at
}

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
