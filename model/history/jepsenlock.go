package history

import (
	"strconv"
	"strings"
)

// lock reads the value of an operation on a lock: of an invoke the name of the
// lock, of an ok the answer.
func (j *jepsen) lock(e *Event, f string, asked *request, entry jepsenEntry) error {
	v, err := entry.read(jepsenValue)
	switch {
	case err != nil:
		return err
	case f == readOperation && e.Type == Invoke:
		return nil
	case f == readOperation:
		if v.Kind != Int || v.Num < 1 {
			return entry.mistake(jepsenValue, expectedToken, hintEntry)
		}
		e.Token = Token(v.Num)
		return nil
	case e.Type == Invoke:
		asked.value = v
		if name, rest, ok := j.keys.pair(v); ok && rest == NilValue { // as jepsen.independent has it
			asked.keyed, v = true, name
		}
		return j.name(e, v, entry)
	case v == asked.value:
		return nil // what the invoke said, again
	}
	if name, answer, ok := j.keys.pair(v); ok && asked.keyed && name.name() == e.Resource {
		v = answer
	}
	return j.answer(e, v, entry)
}

const expectedToken = "the token that was read, an integer from 1"

// name reads the name of the lock.
func (j *jepsen) name(e *Event, v Value, entry jepsenEntry) error {
	switch {
	case !v.some():
		return nil
	case v.isMap():
		return j.parts(e, v, entry)
	case !e.named(v):
		return entry.mistake(jepsenValue, "the lock "+quote(e.Resource)+", or no name", "leave one of the two names out")
	}
	return nil
}

// isMap reports whether the value is a map: a set, or what has a tag, is written as one.
func (v Value) isMap() bool {
	return v.Kind == Raw && v.Str[0] == '{' && !strings.HasPrefix(v.Str, `{"#`)
}

// name is v as the name of a resource: of two values that differ, the names differ.
func (v Value) name() string {
	if v.Kind == Text && v.Str != "" && strings.IndexByte("-0123456789[{", v.Str[0]) >= 0 {
		if n, err := strconv.ParseInt(v.Str, 10, 64); err == nil && strconv.FormatInt(n, 10) == v.Str || v.Str[0] > '9' {
			return strconv.Quote(v.Str)
		}
	}
	return v.plain()
}

// named sets the name of the lock to v if it has none, and reports whether v is its name.
func (e *Event) named(v Value) bool {
	name := v.name()
	if e.Resource == "" {
		e.Resource = name
	}
	return e.Resource == name
}

// answer reads what the ok of an operation on a lock means.
func (j *jepsen) answer(e *Event, v Value, entry jepsenEntry) error {
	switch {
	case !v.some() || v == TextValue("true") || v == Value{Kind: Raw, Str: "true"}:
	case v == TextValue("") || v == TextValue("false") || v == Value{Kind: Raw, Str: "false"}:
		e.Type, e.Error = Fail, "refused"
	case v.Kind == Text && v.name() == e.Resource || e.F == Release && v.Kind != Raw:
	case v.Kind == Text && (e.Lease == "" || e.Lease == v.Str):
		e.Lease = v.Str
	case v.Kind == Int && (e.Token == 0 || e.Token == Token(v.Num)):
		e.Token = Token(v.Num)
	case v.isMap():
		return j.parts(e, v, entry)
	default:
		return entry.mistake(jepsenValue, "nil, true, false, the lock's name, a token, an identity, or a map of these", hintEntry)
	}
	return nil
}

// parts reads the fields of a value that is a map. They mean what fields beside
// it mean.
func (j *jepsen) parts(e *Event, v Value, entry jepsenEntry) error {
	p := &j.json
	p.reset([]byte(v.Str))
	for first := p.take('{'); ; first = false {
		key, more, err := p.key(first)
		if err != nil || !more {
			return err
		}
		f, known := entry.named().field(key)
		if name := entry.named().unread; name != "" {
			return unreadField(name)
		}
		var part Value
		if err := p.value(&part); err != nil {
			return err
		}
		if known && part.some() && !e.part(f, part) {
			return entry.mistake(jepsenValue, "a map with the lock's name, a token, a lease and an owner, each once", hintEntry)
		}
	}
}

// part reads one field of a value that is a map, and reports whether it belongs there
// and agrees with what the event says already.
func (e *Event) part(f jepsenField, v Value) bool {
	name := v.plain()
	switch f {
	case jepsenToken:
		ok := v.Kind == Int && v.Num > 0 && (e.Token == 0 || e.Token == Token(v.Num))
		e.Token = Token(v.Num)
		return ok
	case jepsenResource, jepsenLock:
		return e.named(v)
	case jepsenLease:
		ok := e.Lease == "" || e.Lease == name
		e.Lease = name
		return ok
	case jepsenOwner:
		ok := e.Client == "" || e.Client == name
		if e.Type == Invoke {
			e.Client = name
		}
		return ok
	}
	return false
}
