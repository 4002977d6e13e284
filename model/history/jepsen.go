package history

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jepsen turns the operations of Jepsen's tests into events, as [Formats] says,
// from whatever notation they are written in.
type jepsen struct {
	pairs Validator
	found bool   // whether there was an operation
	json  parser // of answers that are maps
	// names has the numbers of processes.
	names  interner
	digits []byte
	// asked has what the open operations on locks were invoked with.
	asked map[string]Value
}

// jepsenField numbers the fields of an entry that are read.
type jepsenField uint8

const (
	jepsenIndex jepsenField = iota
	jepsenTime
	jepsenProcess
	jepsenType
	jepsenF
	jepsenValue
	jepsenError
	jepsenFieldCount
)

var jepsenFieldNames = [jepsenFieldCount]string{
	jepsenIndex: "index", jepsenTime: "time", jepsenProcess: "process", jepsenType: "type", jepsenF: "f",
	jepsenValue: "value", jepsenError: "error",
}

func jepsenFieldOf(name []byte) (jepsenField, bool) {
	for f := range jepsenFieldNames {
		if jepsenFieldNames[f] == string(name) {
			return jepsenField(f), true
		}
	}
	return 0, false
}

// jepsenEntry is one operation as it is written down.
type jepsenEntry interface {
	// read returns what the field holds: Absent when there is no such field.
	read(f jepsenField) (Value, error)
	// pair reads :value as [old new], and returns false when it is none.
	pair(old, value *Value) (bool, error)
	// isKeyword says whether :value is a keyword, which a reason for a failure is.
	isKeyword() bool
	// source returns :value as it is written.
	source() string
	// mistake is the error that the field holds something else than expected.
	mistake(f jepsenField, expected, hint string) error
}

// jepsenOperations are the verbs of Jepsen's tests that this package has too.
var jepsenOperations = map[string]F{
	"read": Read, "write": Write, "cas": CAS, "delete": Delete,
	"acquire": Acquire, "lock": Acquire, "renew": Renew, "refresh": Renew, "release": Release, "unlock": Release,
	readOperation: Acquire,
}

// jepsenNames are the verbs in the order in which errors propose them.
var jepsenNames = []string{
	"read", "write", "cas", "delete", "acquire", "lock", "renew", "refresh", "release", "unlock", readOperation,
}

const readOperation = "read-operation"

// jepsenFaults are what a nemesis does, under the names that say it. Its plain
// :start and :stop do not.
var jepsenFaults = map[string]F{
	"partition": Partition, "start-partition": Partition, "heal": Heal, "stop-partition": Heal,
	"kill": Crash, "crash": Crash, "restart": Restart, "pause": Pause, "resume": Resume,
	"bump": Clock, "strobe": Clock, "bump-clock": Clock, "strobe-clock": Clock, "reset-clock": Clock,
}

// jepsenFault finds out what a nemesis did, by its own verb or by what
// Jepsen's partitioner says of a :start or a :stop. 0 means nothing that an
// event could say.
func jepsenFault(f, text string) F {
	switch {
	case f == "start" && (strings.HasPrefix(text, "Cut off") || strings.HasPrefix(text, "[:isolated")):
		return Partition
	case f == "stop" && (text == "fully connected" || text == ":network-healed"):
		return Heal
	}
	return jepsenFaults[f]
}

// event reads entry number n of a history, from 0. It returns false for one
// that is no event. What the entries before it left open decides with it.
func (j *jepsen) event(e *Event, n int64, entry jepsenEntry) (bool, error) {
	*e = Event{Index: n}
	client, err := j.process(e, entry)
	if err != nil {
		return false, err
	}
	if err := e.jepsenNumbers(entry); err != nil {
		return false, err
	}
	if err := e.jepsenType(entry); err != nil {
		return false, err
	}
	f, err := jepsenName(entry, jepsenF, "the name of an operation")
	if err != nil {
		return false, err
	}
	if _, busy := j.pairs.open[e.Process]; e.Process == Nemesis || !client && !busy && e.Type == Info {
		e.Type, e.Text = Note, brief(entry.source())
		e.F = jepsenFault(f, e.Text)
		return e.F != 0, nil
	}
	if e.F = jepsenOperations[f]; e.F == 0 {
		hint := "judge histories of other objects with the tests that recorded them"
		if near := nearest(f, jepsenNames); near != "" {
			hint = "did you mean " + near + "?"
		}
		return false, entry.mistake(jepsenF,
			"an operation on a register or a lock (read write cas delete acquire release renew), or a read-operation", hint)
	}
	j.found = true
	return true, j.values(e, f, entry)
}

// end is what a reader returns after the last of n entries.
func (j *jepsen) end(err error, n int64) error {
	if err != io.EOF || j.found || n == 0 {
		return err
	}
	return &SyntaxError{
		Expected: "operations of clients", Found: "none among " + strconv.FormatInt(n, 10) + " entries", Hint: "give the history of a test",
	}
}

// process reads who it was, and whether that is a number, as the
// processes of clients are.
func (j *jepsen) process(e *Event, entry jepsenEntry) (client bool, err error) {
	v, err := entry.read(jepsenProcess)
	if err != nil {
		return false, err
	}
	if e.Process = v.plain(); v.Kind == Int {
		j.digits = strconv.AppendInt(j.digits[:0], v.Num, 10)
		e.Process = j.names.get(j.digits)
	}
	if v.Kind != Int && v.Kind != Text || v.Num < 0 || e.Process == "" {
		return false, entry.mistake(jepsenProcess, "the number of a process, from 0, or its name", hintEntry)
	}
	return v.Kind == Int, nil
}

// jepsenNumbers reads the index and the time. Both may be missing, nil, or -1
// as in an operation that Jepsen has not stamped yet.
func (e *Event) jepsenNumbers(entry jepsenEntry) error {
	for f, to := range [...]*int64{jepsenIndex: &e.Index, jepsenTime: &e.Time} {
		v, err := entry.read(jepsenField(f))
		if err != nil {
			return err
		}
		switch {
		case v.Kind == Absent || v.Kind == Nil || v == IntValue(-1):
		case v.Kind != Int:
			return entry.mistake(jepsenField(f), "an integer that fits in 64 bits", hintEntry)
		default:
			*to = v.Num
		}
	}
	return nil
}

func (e *Event) jepsenType(entry jepsenEntry) error {
	name, err := jepsenName(entry, jepsenType, "a type")
	if err != nil {
		return err
	}
	if e.Type = typeByName[name]; e.Type != 0 && e.Type != Note {
		return nil
	}
	names := typeNames[:Note]
	hint := "the types are " + list(names)
	if near := nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return entry.mistake(jepsenType, "a type", hint)
}

// jepsenName reads a field that holds a name.
func jepsenName(entry jepsenEntry, f jepsenField, what string) (string, error) {
	v, err := entry.read(f)
	if err != nil {
		return "", err
	}
	if v.Kind != Text {
		return "", entry.mistake(f, what, hintEntry)
	}
	return v.Str, nil
}

// values reads what the operation was about and why it failed.
func (j *jepsen) values(e *Event, f string, entry jepsenEntry) error {
	v, err := entry.read(jepsenError)
	if err != nil {
		return err
	}
	e.Error = v.plain()
	failed := e.Type == Fail || e.Type == Info
	switch reason := failed && e.Error == "" && entry.isKeyword(); {
	case reason:
		if v, err = entry.read(jepsenValue); err != nil {
			return err
		}
		e.Error = v.plain()
		if !e.F.IsLease() {
			return nil
		}
	case e.F == Read && e.Type != OK:
		return unkeyed(e, entry)
	case e.F == CAS:
		return cas(e, entry)
	case e.F.IsLease() && failed: // its invoke names the lock
	default:
		if e.Value, err = entry.read(jepsenValue); err != nil {
			return err
		}
		if e.Value.Kind == Absent && (e.Type == OK && e.F == Read || e.Type == Invoke && e.F == Write) {
			return entry.mistake(jepsenValue, "the value of the "+e.F.String(), "say nil, or null in JSON, where there is none")
		}
	}
	if e.F.IsLease() && !j.lease(e, f) {
		return entry.mistake(jepsenValue, expectedToken, hintEntry)
	}
	return nil
}

const expectedToken = "the token that was read, an integer from 1"

// unkeyed refuses a read of [key nil], as jepsen.independent invokes one: the
// registers of all keys, judged as one, would be found violated.
func unkeyed(e *Event, entry jepsenEntry) error {
	var key, value Value
	if ok, err := entry.pair(&key, &value); e.Type != Invoke || err != nil || !ok || value != NilValue {
		return err
	}
	return entry.mistake(jepsenValue, "nil, as a read of one register is invoked with",
		"write the operations on each key of jepsen.independent to a file of their own")
}

// cas reads the [old new] of a compare-and-set. Its end need not repeat it.
func cas(e *Event, entry jepsenEntry) error {
	ok, err := entry.pair(&e.Expect, &e.Value)
	if err != nil || ok || e.Type != Invoke {
		return err
	}
	return entry.mistake(jepsenValue, "[old new] for a cas", hintEntry)
}

// lease moves the value of an operation on a lock to where it belongs. It
// returns false for a read-operation without a token.
func (j *jepsen) lease(e *Event, f string) bool {
	value := e.Value
	e.Value = Value{}
	if e.Type == Invoke {
		if f != readOperation && (value.Kind == Int || value.Kind == Text) {
			if j.asked == nil {
				j.asked = make(map[string]Value)
			}
			j.asked[e.Process] = value
			e.Resource = value.plain()
		}
		return true
	}
	asked := j.asked[e.Process]
	delete(j.asked, e.Process)
	e.Resource = asked.plain()
	switch {
	case e.Type != OK:
	case f == readOperation:
		e.Token = Token(value.Num)
		return value.Kind == Int && value.Num > 0
	case value != asked:
		j.answer(e, value)
	}
	return true
}

// answer says what the ok of an operation on a lock means.
func (j *jepsen) answer(e *Event, value Value) {
	switch {
	case value == TextValue("") || value == TextValue("false") || value == Value{Kind: Raw, Str: "false"}:
		e.Type, e.Error = Fail, "refused"
	case e.F == Release || value == TextValue("true"):
	case value.Kind == Text:
		e.Lease = value.Str
	case value.Kind == Int:
		e.Token = Token(value.Num)
	case value.Kind == Raw && value.Str[0] == '{':
		e.Token = Token(j.fence(value.Str))
	}
}

// fence returns the fencing token of an answer that is a map, 0 if it has none.
func (j *jepsen) fence(answer string) int64 {
	p := &j.json
	p.reset([]byte(answer))
	for first := p.take('{'); ; first = false {
		key, more, err := p.key(first)
		if err != nil || !more {
			return 0
		}
		fence := string(key) == "fence" || string(key) == "token"
		var v Value
		if p.value(&v) != nil {
			return 0
		}
		if fence && v.Kind == Int {
			return v.Num
		}
	}
}

// plain returns the value as a name: without the quotes of a text, and empty
// for nil.
func (v Value) plain() string {
	switch v.Kind {
	case Text:
		return v.Str
	case Nil:
		return ""
	}
	return v.String()
}

const (
	hintEntry     = "correct the entry, or record the history again"
	hintOperation = "every operation has a type, an f and a process"
)

// hintMissing is what to do about a field that is not there.
func hintMissing(f jepsenField, hint string) string {
	if f == jepsenValue {
		return hint
	}
	return hintOperation
}

// brief returns the text as it is, or its beginning when it is long: what a
// nemesis says may have any length.
func brief(text string) string {
	const most = 1000
	if len(text) <= most {
		return text
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}
