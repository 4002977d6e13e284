package history

import "strings"

// keys splits the values of jepsen.independent's tests, each [key value], into the
// resource and the value on it. Nothing but the operations tells such a history
// from one on a single register that holds vectors, and a first write of [1 2]
// does not tell, nor a cas of [1 [2 3]]: then events are held until an operation does.
//
//	a read invoked with [key nil]                               keys
//	a read invoked with nil, a write of 3, a cas of [old new]   none
//
// All operations have to agree.
type keys struct {
	mode   keysMode
	said   bool // the user did
	tagged bool // the value of the next event is marked as [key value]
	held   []heldEvent
	next   int               // of held, to be released
	open   map[string]string // the keys of open operations, by process
	json   parser
}

type keysMode uint8

const (
	keysUnknown keysMode = iota
	keysDoubtful
	keysTaken
	keysNone
)

// heldEvent is an event that waits until it is known whether values have keys.
type heldEvent struct {
	event Event
	line  int
}

// manyHeld bounds the events that are held.
const manyHeld = 100_000

// say takes what the user says: yes, no, or nothing.
func (k *keys) say(independent string) {
	switch independent {
	case "yes":
		k.mode, k.said = keysTaken, true
	case "no":
		k.mode, k.said = keysNone, true
	}
}

// hold keeps the event while it is not known whether values have keys, and reports
// whether it kept it.
func (k *keys) hold(e *Event, line int) bool {
	if k.mode > keysDoubtful {
		return false
	}
	if e.Type == Invoke && e.F.IsStore() && e.Resource == "" {
		k.weigh(e)
	}
	if k.mode == keysUnknown || k.mode > keysDoubtful && len(k.held) == 0 {
		return false
	}
	if len(k.held) >= manyHeld && k.mode == keysDoubtful {
		k.mode = keysNone
	}
	k.held = append(k.held, heldEvent{*e, line})
	return true
}

// weigh looks at the beginning of an operation on data.
func (k *keys) weigh(e *Event) {
	_, rest, ok := k.pair(e.Value)
	switch {
	case !ok:
		k.mode = keysNone
	case k.tagged || e.F != Write && e.F != CAS && rest == NilValue:
		k.mode = keysTaken
	default:
		k.mode = keysDoubtful
	}
}

// release hands out the events that were held, once it is known what they mean.
func (k *keys) release(e *Event) (line int, ok bool) {
	switch {
	case k.mode <= keysDoubtful || k.held == nil:
		return 0, false
	case k.next == len(k.held):
		k.held = nil
		return 0, false
	}
	h := &k.held[k.next]
	k.next++
	*e = h.event
	return h.line, true
}

// finish decides at the end of the history. Writes alone mean the same either way.
func (k *keys) finish() error {
	for i := range k.held {
		if h := &k.held[i]; h.event.Type == Invoke && h.event.F != Write && h.event.F.IsStore() {
			return &SyntaxError{
				Expected: "an operation that tells whether [a b] is a value, or a key and its value", Found: "none",
				Hint: "say --independent yes or --independent no",
			}
		}
	}
	k.mode = keysNone
	return nil
}

// split moves the key of an event's value to its resource.
func (k *keys) split(e *Event) error {
	switch {
	case !e.F.IsStore() || e.Type == Note:
		return nil
	case k.mode == keysTaken:
		return k.take(e)
	case e.F != Read || e.Type != Invoke:
		return nil
	case e.Value.Kind == Raw && strings.IndexByte("[{", e.Value.Str[0]) >= 0 && !k.said:
		return &SyntaxError{
			Expected: "nil, as a read of one register is invoked with", Found: e.Value.excerpt(),
			Hint: "name the register under key, or say --independent yes or no where some values are [key value]",
		}
	}
	e.Value = Value{}
	return nil
}

// take takes an event's value for [key value].
func (k *keys) take(e *Event) error {
	key, v, ok := k.pair(e.Value)
	var old Value
	if e.F == CAS {
		key = e.Expect
		old, v, ok = k.pair(e.Value)
	}
	switch {
	case e.Type == Invoke && ok && e.Resource == "":
		if k.open == nil {
			k.open = make(map[string]string)
		}
		k.open[e.Process] = key.name()
	case e.Type == Invoke || e.Type == OK && e.F == Read && !ok:
		return k.disagrees(e)
	case !ok: // the invoke has them
		v, old = Value{}, Value{}
	case key.name() != k.open[e.Process]:
		return &SyntaxError{Expected: "the key " + quote(k.open[e.Process]) + " of the invoke", Found: quote(key.name()), Hint: hintValue}
	}
	if e.Resource = k.open[e.Process]; e.Type != Invoke {
		delete(k.open, e.Process)
	}
	if e.Value, e.Expect = v, old; e.F == Read && e.Type != OK {
		e.Value = Value{}
	}
	return nil
}

func (k *keys) disagrees(e *Event) error {
	found, hint := e.Value.excerpt(), "operations before have keys, as those of jepsen.independent: write all values so"
	if k.said {
		hint = "leave --independent yes out"
	} else {
		hint += ", or say --independent no"
	}
	if e.Resource != "" {
		found = "the key " + quote(e.Resource) + " beside it"
	}
	if e.F == CAS {
		return &SyntaxError{Expected: "[key [old new]] for a cas", Found: "[" + e.Expect.excerpt() + " " + found + "]", Hint: hint}
	}
	return &SyntaxError{Expected: "[key value] for a " + e.F.String(), Found: found, Hint: hint}
}

// pair returns the members of a vector of two.
func (k *keys) pair(v Value) (first, second Value, ok bool) {
	if v.Kind != Raw || v.Str[0] != '[' {
		return first, second, false
	}
	p := &k.json
	p.reset([]byte(v.Str))
	ok = p.take('[') && p.peek() != ']' && p.value(&first) == nil && p.take(',') && p.value(&second) == nil && p.take(']')
	return first, second, ok
}

// isTransaction reports whether the value is a list of operations, such as
// [[:r 1 nil] [:append 1 2]].
func (v Value) isTransaction() bool {
	for _, f := range [...]string{"r", "w", "append"} {
		if v.Kind == Raw && (strings.HasPrefix(v.Str, `[["`+f+`",`) || strings.HasPrefix(v.Str, `[[":`+f+`",`)) {
			return true
		}
	}
	return false
}

// Remarks says how the history that a source has read to its end was understood,
// where it might have been understood in another way.
func Remarks(s Source) []string {
	if f, ok := s.(*File); ok {
		s = f.Source
	}
	if r, ok := s.(interface{ remarks() []string }); ok {
		return r.remarks()
	}
	return nil
}

func (j *jepsen) remarks() []string {
	switch {
	case j.keys.mode == keysTaken && !j.keys.said:
		return []string{"values are [key value], as those of jepsen.independent: judged key by key (--independent no takes them as they stand)"}
	case j.keys.mode == keysTaken:
		return []string{"values are taken for [key value] and judged key by key"}
	}
	return nil
}
