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
	json  parser // of values that are maps
	// names has the numbers of processes.
	names  interner
	digits []byte
	// open has what the operations that have not ended were invoked with, by process.
	open      map[string]request
	keys      keys
	owners    owners
	protected protected
}

// request is what an operation was invoked with.
type request struct {
	resource, scope, client string
	value                   Value // of an operation on a lock
	keyed                   bool  // it is [name nil]
}

// jepsenEntry is one operation as it is written down.
type jepsenEntry interface {
	// read returns what the field holds: Absent when there is no such field.
	read(f jepsenField) (Value, error)
	// pair reads :value as [old new], and returns false when it is none.
	pair(old, value *Value) (bool, error)
	// isKeyword says whether :value is a keyword, which a reason for a failure is.
	isKeyword() bool
	// named has the names of the entry's fields.
	named() *jepsenNamed
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

// next sets *e to the next event that read finds, with the line where it stands.
func (j *jepsen) next(e *Event, file string, read func(*Event) (line int, ok bool, err error)) error {
	for {
		line, ok := j.keys.release(e)
		var err error
		if !ok {
			line, ok, err = read(e)
		}
		switch {
		case err == io.EOF && j.keys.mode == keysDoubtful:
			if err := j.keys.finish(); err != nil {
				return at(err, file, line)
			}
			continue
		case err != nil:
			return err
		case !ok || j.keys.hold(e, line):
			continue
		}
		if err = j.keys.split(e); err == nil {
			err = j.protected.by(e)
		}
		if err == nil {
			err = j.pairs.Check(e)
		}
		return at(err, file, line)
	}
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
	if _, busy := j.open[e.Process]; e.Process == Nemesis || !client && !busy && e.Type == Info {
		e.Type, e.Text = Note, brief(entry.source())
		e.F = jepsenFault(f, e.Text)
		return e.F != 0, nil
	}
	if e.F = jepsenOperations[f]; e.F == 0 {
		return false, entry.mistake(jepsenF, expectedOperation, unknownOperation(f))
	}
	if name := entry.named().unread; name != "" {
		return false, unreadField(name)
	}
	j.found = true
	j.keys.tagged = entry.named().mapEntry
	return true, j.operation(e, f, entry)
}

const expectedOperation = "an operation on a register or a lock (read write cas delete acquire release renew), or a read-operation"

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

// operation reads what a client's operation was about and how it ended.
func (j *jepsen) operation(e *Event, f string, entry jepsenEntry) error {
	if err := beside(e, entry); err != nil {
		return err
	}
	v, err := entry.read(jepsenError)
	if err != nil {
		return err
	}
	e.Error = v.plain()
	asked, invoked := j.open[e.Process]
	if e.Type != Invoke {
		delete(j.open, e.Process)
		if err := e.ends(&asked, entry); invoked && err != nil {
			return err
		}
	}
	if err := j.value(e, f, &asked, entry); err != nil || e.Type != Invoke {
		return err
	}
	if err := j.owners.of(e, entry); err != nil {
		return err
	}
	if j.open == nil {
		j.open = make(map[string]request)
	}
	j.open[e.Process] = request{e.Resource, e.Scope, e.Client, asked.value, asked.keyed}
	return nil
}

// value reads :value, which says the rest: of an operation on a lock its name or
// its answer, of one on a register the value. In the place of a failed one's
// there may be the reason.
func (j *jepsen) value(e *Event, f string, asked *request, entry jepsenEntry) (err error) {
	failed := e.Type == Fail || e.Type == Info
	switch reason := failed && e.Error == "" && entry.isKeyword(); {
	case reason:
		v, err := entry.read(jepsenValue)
		e.Error = v.plain()
		return err
	case e.F.IsLease() && failed: // its invoke names the lock
		return nil
	case e.F.IsLease():
		return j.lock(e, f, asked, entry)
	case e.F == Read && failed:
		return nil
	case e.F == CAS:
		return cas(e, entry)
	}
	if e.Value, err = entry.read(jepsenValue); err != nil {
		return err
	}
	switch invoked := e.Type == Invoke; {
	case e.Value.Kind == Absent && (e.Type == OK && e.F == Read || invoked && e.F == Write):
		return entry.mistake(jepsenValue, "the value of the "+e.F.String(), "say nil, or null in JSON, where there is none")
	case e.Value.isTransaction():
		return entry.mistake(jepsenValue, "the value of one register", unknownOperation("txn"))
	case invoked && e.F == Read && e.Value.Kind != Raw: // [key nil] means something, a value nothing
		e.Value = Value{}
	}
	return nil
}

// cas reads the [old new] of a compare-and-set. Its end need not repeat it.
func cas(e *Event, entry jepsenEntry) error {
	ok, err := entry.pair(&e.Expect, &e.Value)
	if err != nil || ok {
		return err
	}
	e.Expect, e.Value = Value{}, Value{}
	if e.Type == Invoke {
		return entry.mistake(jepsenValue, "[old new] for a cas", hintEntry)
	}
	v, err := entry.read(jepsenValue)
	if err == nil && e.Type == OK && v.some() && v != TextValue("true") && v != (Value{Kind: Raw, Str: "true"}) {
		err = entry.mistake(jepsenValue, "[old new], true or nil for a cas that took effect", "one that found another value ends in a fail, with the error mismatch")
	}
	return err
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

const hintEntry = "correct the entry, or record the history again"

// hintMissing is what to do about a field that is not there.
func hintMissing(f jepsenField, hint, operation string) string {
	if f == jepsenProcess || f == jepsenType || f == jepsenF {
		return operation
	}
	return hint
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
