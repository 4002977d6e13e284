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
// does not matter. A line that begins as an operation does, in a message of
// jepsen.util or at the beginning of the line, must be one, and whole: Jepsen
// writes nil where there is no value. An event's index is the number of its
// line; there are no times and no resources. After an :info Jepsen gives the
// client another process number. Operations without an end stay open. [Formats]
// says what an operation means.
type jepsenLog struct {
	lines  *lineReader
	entry  logEntry
	jepsen jepsen
	err    error
}

func openJepsenLog(r io.Reader, file string, how *Reading) (Source, error) {
	l := &jepsenLog{lines: newLineReader(r, file)}
	l.jepsen.keys.say(how.Independent)
	return l, nil
}

func (l *jepsenLog) Header() Header { return Header{Format: Format} }

func (l *jepsenLog) Next(e *Event) error {
	if l.err == nil {
		l.err = l.jepsen.next(e, l.lines.file, l.read)
	}
	return l.err
}

func (l *jepsenLog) remarks() []string { return l.jepsen.remarks() }

// read reads the next line. It returns false for one that is no event.
func (l *jepsenLog) read(e *Event) (n int, ok bool, err error) {
	line, err := l.lines.next()
	if err == io.EOF && !l.jepsen.found {
		return 0, false, l.nothing()
	}
	if err != nil {
		return 0, false, err
	}
	ok, err = l.line(e, line)
	return l.lines.n, ok, at(err, l.lines.file, l.lines.n)
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

// line reads a line of the log. It returns false for one that is no event.
func (l *jepsenLog) line(e *Event, line []byte) (bool, error) {
	if bytes.IndexByte(line, 0) >= 0 {
		return false, &SyntaxError{Expected: "a line of text", Found: "a NUL byte in it", Hint: hintLogCut}
	}
	if !l.lines.whole && len(bytes.TrimSpace(line)) > 0 {
		return false, &SyntaxError{
			Expected: "the end of the line", Found: "the end of the file",
			Hint: hintLogCut + "; a last line that is whole wants its end",
		}
	}
	op, ok := findLogOperation(line)
	switch {
	case !ok:
		return false, spoiltLogOperation(line)
	case bytes.Count(line[:op.process.from], []byte(logger)) > 1:
		return false, &SyntaxError{Expected: "one operation a line", Found: "another line's beginning before it", Hint: hintLogCut}
	case op.process.of(line) == logNemesis:
		return l.fault(e, line, &op), nil
	}
	return true, l.event(e, line, &op)
}

const hintLogCut = "the log seems damaged: copy it again, or run the test again"

// logOperation is where the process, the type and the verb of an operation
// stand in a line, such as 4, :invoke and :write. The value follows.
type logOperation struct{ process, typ, f span }

// findLogOperation finds the type of an operation between a process and a verb.
func findLogOperation(line []byte) (logOperation, bool) {
	op := logOperationAt(line, 0)
	for op.f.from < op.f.to {
		if isLogProcess(op.process.of(line)) && isLogType(op.typ.of(line)) && isKeyword(op.f.of(line)) {
			return op, true
		}
		op = logOperation{op.typ, op.f, nextWord(line, op.f.to)}
	}
	return op, false
}

// logOperationAt takes the next three words for an operation.
func logOperationAt(line []byte, at int) logOperation {
	process := nextWord(line, at)
	typ := nextWord(line, process.to)
	return logOperation{process, typ, nextWord(line, typ.to)}
}

// spoiltLogOperation is the error of a line that is an operation but for one of
// its words; nil for any other line.
func spoiltLogOperation(line []byte) error {
	message := logMessage(line)
	op := logOperationAt(line, message)
	process, typ, f := op.process.of(line), op.typ.of(line), op.f.of(line)
	switch client := isLogProcess(process); {
	case process == logNemesis:
	case process == "" && message > 0:
		return logExpected("what "+logger+" says", process, "")
	case isLogType(process):
		return logExpected("the number of a process, from 0", process, "")
	case isLogType(typ) && isKeyword(f):
		return logExpected("the number of a process, from 0, before "+typ, process, "")
	case client && isLogType(typ):
		return logExpected("the name of an operation, such as :read, after "+typ, f, "")
	case client && (typ == "" || typ[0] == ':' || isKeyword(f)):
		return logExpected("a type (:invoke :ok :fail :info) after the process "+process, typ, nearest(strings.TrimPrefix(typ, ":"), typeNames[:Note]))
	}
	return nil
}

// logExpected is the error that a word of the line should be something else.
func logExpected(what, word, near string) error {
	switch {
	case word == "":
		return &SyntaxError{Expected: what, Found: "the end of the line", Hint: hintLogCut}
	case near != "":
		return &SyntaxError{Expected: what, Found: quote(word), Hint: "did you mean :" + near + "?"}
	}
	return &SyntaxError{Expected: what, Found: quote(word), Hint: hintValue}
}

// logMessage returns where in the line begins what jepsen.util says; of a line
// of somebody else, where the line begins.
func logMessage(line []byte) int {
	for word := nextWord(line, 0); word.from < word.to; word = nextWord(line, word.to) {
		if name := word.of(line); name != logger && name != logger+":" {
			continue
		}
		if dash := nextWord(line, word.to); dash.of(line) == "-" {
			return dash.to
		}
		return word.to
	}
	return 0
}

// nextWord returns where the next word of the line stands, from at on.
func nextWord(line []byte, at int) span {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	end := at
	for end < len(line) && !isBlank(line[end]) {
		end++
	}
	return span{at, end}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// of returns the text that stands there.
func (s span) of(text []byte) string { return string(text[s.from:s.to]) }

const (
	logger     = "jepsen.util" // of operations
	logNemesis = ":" + Nemesis
)

func isKeyword(word string) bool { return len(word) > 1 && word[0] == ':' }

func isLogType(word string) bool {
	return isKeyword(word) && typeByName[word[1:]] != 0 && word[1:] != typeNames[Note]
}

// isLogProcess says whether the word is the number of a client's process, or
// the nemesis.
func isLogProcess(word string) bool {
	return word == logNemesis || word != "" && strings.Trim(word, "0123456789") == ""
}

// fault fills in what the nemesis did. It returns false for nothing that an
// event could say.
func (l *jepsenLog) fault(e *Event, line []byte, op *logOperation) bool {
	*e = Event{Index: int64(l.lines.n), Process: Nemesis, Type: Note}
	e.Text = l.entry.valid(bytes.TrimSpace(line[op.f.to:]))
	e.F = jepsenFault(op.f.of(line)[1:], strings.Trim(e.Text, `"`))
	return e.F != 0
}

// event reads the line about an operation.
func (l *jepsenLog) event(e *Event, line []byte, op *logOperation) error {
	l.entry.onEntry(line)
	l.entry.fields = [jepsenFieldCount]span{jepsenProcess: op.process, jepsenType: op.typ, jepsenF: op.f}
	reason, err := l.value(op)
	if err == nil {
		_, err = l.jepsen.event(e, int64(l.lines.n), &l.entry)
	}
	if e.Error == "" {
		e.Error = reason
	}
	return err
}

// value finds the value after the verb. An operation without success has there
// what it was called with, or why it failed, or both: value returns the reason
// that is no value.
func (l *jepsenLog) value(op *logOperation) (reason string, err error) {
	p := &l.entry
	typ := typeByName[op.typ.of(p.buf)[1:]]
	failed := typ == Fail || typ == Info
	text := bytes.TrimSpace(p.buf[op.f.to:])
	if len(text) == 0 {
		return "", logExpected("a value after "+op.f.of(p.buf)+", nil where there is none", "", "")
	}
	p.at = nextWord(p.buf, op.f.to).from
	form := span{p.at, p.at}
	err = p.ednForm()
	form.to = p.at
	rest := bytes.TrimSpace(p.buf[p.at:])
	switch _, second := findLogOperation(rest); {
	case err != nil && (!failed || ednClass[text[0]] != ednWord):
		return "", &SyntaxError{Expected: "a whole value after " + op.f.of(p.buf), Found: quote(text), Hint: hintLogCut}
	case second || !failed && len(rest) > 0:
		return "", &SyntaxError{Expected: "the end of the line after the value", Found: quote(rest), Hint: hintLogCut}
	case failed && (err != nil || !p.readable(form)):
		return p.valid(text), nil
	}
	p.fields[jepsenValue] = form
	return p.valid(bytes.TrimPrefix(rest, []byte(":"))), nil
}

// logEntry reads a line as an entry of EDN in which the fields have no names.
type logEntry struct{ ednParser }

func (p *logEntry) mistake(f jepsenField, expected, hint string) error {
	if hint == hintEntry {
		hint = hintValue
	}
	return &SyntaxError{Expected: expected, Found: quote(p.fields[f].of(p.buf)), Hint: hint}
}

// readable says whether the form that stands there is a value.
func (p *logEntry) readable(form span) bool {
	var v Value
	p.at = form.from
	return p.value(&v) == nil
}
