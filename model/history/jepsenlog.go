package history

import (
	"bytes"
	"io"
	"strconv"
	"strings"
)

// jepsenLog reads the lines that Jepsen logs about its operations,
//
//	INFO  jepsen.util - 4	:invoke	:write	3
//	INFO  jepsen.util - 4	:ok	:write	3
//	INFO  jepsen.util - 7	:info	:cas	:timed-out
//
// and skips every other line of the log. What stands before the process number
// does not matter. An event's index is the number of its line; there are no
// times and no resources. After an :info Jepsen gives the client another
// process number. Operations without an end stay open. [Formats]
// says what an operation means.
type jepsenLog struct {
	lines  *lineReader
	json   parser // of numbers
	jepsen jepsen
	found  bool // whether there was an operation
	err    error
}

func openJepsenLog(r io.Reader, file string) (Source, error) {
	return &jepsenLog{lines: newLineReader(r, file)}, nil
}

func (l *jepsenLog) Header() Header { return Header{Format: Format} }

func (l *jepsenLog) Next(e *Event) error {
	if l.err == nil {
		l.err = l.next(e)
	}
	return l.err
}

func (l *jepsenLog) next(e *Event) error {
	for {
		line, err := l.lines.next()
		if err == io.EOF && !l.found {
			return l.nothing()
		}
		if err != nil {
			return err
		}
		parts, ok := cutLogLine(line)
		if !ok {
			continue
		}
		ok, err = l.event(e, parts)
		if err == nil && !ok {
			continue
		}
		l.found = l.found || e.Type != Note
		if err == nil {
			err = l.jepsen.pairs.Check(e)
		}
		return at(err, l.lines.file, l.lines.n)
	}
}

// nothing is the error of a log without an operation.
func (l *jepsenLog) nothing() error {
	found := "none in " + strconv.Itoa(l.lines.n) + " lines"
	if l.lines.n == 0 {
		found = "an empty file"
	}
	return &SyntaxError{
		File: l.lines.file, Expected: "operations, such as \"INFO  jepsen.util - 4 :invoke :write 3\"", Found: found,
		Hint: "give the jepsen.log or the history of a test",
	}
}

// logLine is the parts of a line about an operation: "4", ":invoke", ":write"
// and the value with whatever follows it.
type logLine struct {
	process, typ, f, rest []byte
}

// cutLogLine finds the type of an operation between a process and a verb.
func cutLogLine(line []byte) (logLine, bool) {
	process, rest := cutWord(line)
	for len(rest) > 0 {
		typ, after := cutWord(rest)
		if logType(typ) != 0 && isLogProcess(process) {
			if f, value := cutWord(after); len(f) > 1 && f[0] == ':' {
				return logLine{process, typ, f, value}, true
			}
		}
		process, rest = typ, after
	}
	return logLine{}, false
}

// cutWord returns the first word and what follows it.
func cutWord(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " \t")
	if i := bytes.IndexAny(text, " \t"); i >= 0 {
		return text[:i], text[i:]
	}
	return text, nil
}

const logNemesis = ":" + Nemesis

func logType(word []byte) Type {
	switch string(word) {
	case ":invoke":
		return Invoke
	case ":ok":
		return OK
	case ":fail":
		return Fail
	case ":info":
		return Info
	}
	return 0
}

// isLogProcess says whether the word is the number of a client's process, or
// the nemesis.
func isLogProcess(word []byte) bool {
	if string(word) == logNemesis {
		return true
	}
	for _, c := range word {
		if !isDigit(c) {
			return false
		}
	}
	return len(word) > 0
}

// event fills in the event. It returns false for a line that is none.
func (l *jepsenLog) event(e *Event, parts logLine) (bool, error) {
	f := parts.f[1:] // without the colon
	*e = Event{Index: int64(l.lines.n), Type: logType(parts.typ)}
	if string(parts.process) == logNemesis {
		e.Process, e.Type = Nemesis, Note
		e.Text = l.string(bytes.TrimSpace(parts.rest))
		e.F = jepsenFault(string(f), strings.Trim(e.Text, `"`))
		return e.F != 0, nil
	}
	e.Process, e.F = l.string(parts.process), jepsenOperations[string(f)]
	if e.F == 0 {
		return false, &SyntaxError{
			Expected: "an operation on a register or a lock (:read :write :cas :delete :acquire :release :renew), or a :read-operation",
			Found:    quote(parts.f), Hint: "judge histories of other objects with the tests that recorded them",
		}
	}
	if err := l.value(e, parts.rest); err != nil {
		return false, err
	}
	if e.F.IsLease() && !l.jepsen.lease(e, string(f)) {
		return false, &SyntaxError{Expected: expectedToken, Found: quote(bytes.TrimSpace(parts.rest)), Hint: hintValue}
	}
	return true, nil
}

// value reads what follows the verb. An operation without success has there
// what it was called with, or why it failed, or both.
func (l *jepsenLog) value(e *Event, rest []byte) error {
	form, rest := cutForm(rest)
	failed := e.Type == Fail || e.Type == Info
	if reason, ok := bytes.CutPrefix(form, []byte(":")); ok && failed {
		e.Error, form = l.string(reason), nil
	} else if failed {
		e.Error = l.string(bytes.TrimPrefix(bytes.TrimSpace(rest), []byte(":")))
	}
	switch {
	case len(form) == 0 || e.F == Read && e.Type != OK:
		return nil // of a read only the reply counts
	case e.F == CAS:
		return l.pair(e, form)
	case e.F.IsLease() && string(form) == "nil":
		return nil
	}
	return l.form(&e.Value, form)
}

// pair reads the [old new] of a compare-and-set.
func (l *jepsenLog) pair(e *Event, form []byte) error {
	inner, open := bytes.CutPrefix(form, []byte("["))
	inner, closed := bytes.CutSuffix(inner, []byte("]"))
	old, rest := cutForm(inner)
	value, rest := cutForm(rest)
	if !open || !closed || len(old) == 0 || len(value) == 0 || len(bytes.TrimSpace(rest)) > 0 {
		return &SyntaxError{Expected: "[old new] after :cas", Found: quote(form), Hint: hintValue}
	}
	if err := l.form(&e.Expect, old); err != nil {
		return err
	}
	return l.form(&e.Value, value)
}

// form reads nil, a number, a string or a keyword; any other form is a text.
func (l *jepsenLog) form(to *Value, form []byte) error {
	switch c := form[0]; {
	case string(form) == "nil":
		*to = NilValue
	case string(form) == "true" || string(form) == "false":
		*to = Value{Kind: Raw, Str: l.string(form)}
	case c == '-' && len(form) > 1 && isDigit(form[1]) || isDigit(c):
		l.json.reset(form)
		n, ok, err := l.json.whole()
		if err != nil {
			return err
		}
		if ok && l.json.at == len(form) {
			*to = IntValue(n)
			return nil
		}
		*to = TextValue(l.string(form))
	case c == '"':
		text, err := strconv.Unquote(string(form))
		if err != nil {
			text = string(form)
		}
		*to = TextValue(strings.ToValidUTF8(text, "\uFFFD"))
	default:
		*to = TextValue(l.string(bytes.TrimPrefix(form, []byte(":"))))
	}
	return nil
}

// string returns the text as valid UTF-8, which is what an event holds.
func (l *jepsenLog) string(text []byte) string {
	return strings.ToValidUTF8(l.json.strings.get(text), "\uFFFD")
}

// cutForm returns the first form of EDN and what follows it: a word, a string,
// or what stands in brackets.
func cutForm(text []byte) (form, rest []byte) {
	text = bytes.TrimSpace(text)
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '(' || c == '{':
			depth++
		case c == ']' || c == ')' || c == '}':
			depth--
		case depth == 0 && (c == ' ' || c == '\t' || c == ','):
			return text[:i], text[i:]
		}
	}
	return text, nil
}
