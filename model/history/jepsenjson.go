package history

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jepsenJSON reads histories in JSON that have the fields of Jepsen's: an array
// of objects, or one object after another.
//
//	{"type": "invoke", "f": "lock", "value": "bob", "process": 3, "time": 30944338628}
//	{"type": "ok", "f": "lock", "value": "LockRefreshToken [tokenId=1k3w]", "process": 3, "time": 30949223140}
//
// [Formats] says what an operation means. Values are as in a file of this
// package's own, except that an integer beyond 64 bits is a text, and so is, as
// it stands in the file, a value nested more than 100 deep.
type jepsenJSON struct {
	entries entryReader
	entry   jsonEntry
	jepsen  jepsen
	n       int64 // entries read
	err     error
}

func openJepsenJSON(r io.Reader, file string, how *Reading) (Source, error) {
	s := &jepsenJSON{entries: newEntryReader(r, file)}
	s.entry.names.ignore = how.Ignore
	s.jepsen.keys.say(how.Independent)
	return s, nil
}

func (s *jepsenJSON) Header() Header { return Header{Format: Format} }

func (s *jepsenJSON) Next(e *Event) error {
	if s.err == nil {
		s.err = s.jepsen.next(e, s.entries.file, s.read)
	}
	return s.err
}

func (s *jepsenJSON) remarks() []string {
	return append(s.jepsen.remarks(), s.entry.names.remarks()...)
}

// read reads the next entry. It returns false for one that is no event.
func (s *jepsenJSON) read(e *Event) (line int, ok bool, err error) {
	text, line, err := s.entries.nextJSON()
	if err != nil {
		return 0, false, at(s.jepsen.end(err, s.n), s.entries.file, s.entries.line)
	}
	p := &s.entry
	p.reset(text)
	if err = p.operation(); err == nil {
		ok, err = s.jepsen.event(e, s.n, p)
	}
	s.n++
	return line, ok, at(err, s.entries.file, line+bytes.Count(text[:min(p.at, len(text))], newline))
}

// nextJSON finds the next entry. It is valid until the next call.
func (r *entryReader) nextJSON() (entry []byte, line int, err error) {
	first := r.place == beforeEntries
	r.start()
	for {
		r.jsonSpace()
		r.from, line = r.at, r.line
		if r.atEnd() {
			return nil, 0, r.end()
		}
		switch c := r.buf[r.at]; {
		case r.place == beforeEntries && c == '[':
			r.enter()
		case r.place == insideOuter && c == ']':
			if err := r.leave(); err != nil {
				return nil, 0, err
			}
		case r.place == afterOuter:
			return nil, 0, r.tooMuch(r.jsonFound())
		case r.place == insideOuter && !first && c != ',':
			return nil, 0, &SyntaxError{Expected: "a comma or ']' after an operation", Found: r.jsonFound(), Hint: hintEntry}
		case r.place == insideOuter && !first:
			r.at++
			first = true
			if r.jsonSpace(); r.peek() == ']' {
				return nil, 0, &SyntaxError{Expected: "an operation after the comma", Found: "']'", Hint: hintEntry}
			}
		case c != '{':
			return nil, 0, &SyntaxError{
				Expected: `an operation, such as {"type":"invoke","f":"read","process":0}`, Found: r.jsonFound(),
				Hint: "write each operation as an object",
			}
		default:
			if r.place == beforeEntries {
				r.place = betweenLines
			}
			err := r.jsonForm()
			return r.buf[r.from:r.at], line, err
		}
	}
}

func (r *entryReader) jsonSpace() {
	r.drop = true
	for !r.atEnd() && strings.IndexByte(" \t\r\n", r.buf[r.at]) >= 0 {
		r.next()
	}
	r.drop = false
}

// jsonFound names what stands here.
func (r *entryReader) jsonFound() string { return (&parser{line: r.ahead()}).found() }

// jsonForm skips the object, the array or the string that begins here, without
// recursion. It knows no more of it than where it ends.
func (r *entryReader) jsonForm() error {
	for {
		if r.atEnd() {
			return r.cut(r.open[len(r.open)-1].String())
		}
		var err error
		switch r.buf[r.at] {
		case '{', '[':
			err = r.push()
		case '}', ']':
			err = r.pop()
		case '"':
			err = r.string()
		case '\n':
			r.next()
		default:
			r.jsonWord()
		}
		if err != nil || len(r.open) == 0 {
			return err
		}
	}
}

// jsonWord skips what is neither a bracket, a string nor the end of a line.
func (r *entryReader) jsonWord() {
	for i, c := range r.buf[r.at:] {
		if jsonSpecial[c] {
			r.at += i
			return
		}
	}
	r.at = len(r.buf)
}

var jsonSpecial = [256]bool{'{': true, '}': true, '[': true, ']': true, '"': true, '\n': true}

// jsonEntry reads one entry. It may rely on what the scanner found out: the
// entry's brackets match, and its strings end.
type jsonEntry struct {
	parser
	skipper entryReader // on the entry
	fields  [jepsenFieldCount]span
	names   jepsenNamed
}

func (p *jsonEntry) named() *jepsenNamed { return &p.names }

// operation finds the fields of an operation.
func (p *jsonEntry) operation() error {
	p.fields = [jepsenFieldCount]span{}
	p.names.reset()
	if err := p.open(); err != nil {
		return err
	}
	for first := true; ; first = false {
		key, more, err := p.key(first)
		if err != nil || !more {
			return withoutLine(err)
		}
		f, known := p.names.field(key)
		if name := string(key); name == "scope" || name == "op" && isDigit(p.peek()) {
			return &SyntaxError{
				Expected: "an operation of Jepsen's, which has no field " + strconv.Quote(name), Found: "an event of " + Format,
				Hint: `put its header {"format":"` + Format + `"} before the first event`,
			}
		}
		if known && p.fields[f] != (span{}) {
			return &SyntaxError{Expected: "each field once", Found: "the field " + strconv.Quote(jepsenFieldNames[f]) + " again", Hint: hintEntry}
		}
		from := p.at
		if err := p.skip(); err != nil {
			return withoutLine(err)
		}
		if known {
			p.fields[f] = span{from, p.at}
		}
	}
}

// withoutLine replaces a hint for files of one object a line.
func withoutLine(err error) error {
	if e, ok := err.(*SyntaxError); ok && e.Hint == hintJSON {
		e.Hint = "write each operation as a JSON object (RFC 8259)"
	}
	return err
}

// skip skips a value, which can be anything.
func (p *jsonEntry) skip() error {
	switch p.peek() {
	case '{', '[', '"':
		p.skipper.onEntry(p.line)
		p.skipper.at = p.at
		err := p.skipper.jsonForm()
		p.at = p.skipper.at
		return err
	}
	from := p.at
	for p.at < len(p.line) && strings.IndexByte(",]} \t\r\n", p.line[p.at]) < 0 {
		p.at++
	}
	if p.at == from {
		return p.expected("a value", hintJSON)
	}
	return nil
}

func (p *jsonEntry) read(f jepsenField) (v Value, err error) {
	if p.fields[f] != (span{}) {
		p.at, p.field = p.fields[f].from, jepsenFieldNames[f]
		if err = p.readValue(&v); err == nil && p.at != p.fields[f].to {
			err = p.expected("the end of the value", hintJSON)
		}
	}
	return v, withoutLine(err)
}

// readValue reads the value that stands here. What cannot be brought in order
// is a text.
func (p *jsonEntry) readValue(to *Value) error {
	p.peek()
	from := p.at
	err := p.value(to)
	if err == nil {
		return nil
	}
	was := p.at
	p.at = from
	if p.skip() != nil {
		return err
	}
	text := p.line[from:p.at]
	if utf8.Valid(text) && (allDigits(bytes.TrimPrefix(text, []byte("-"))) || nesting(text) > maxDepth) {
		*to = TextValue(string(text))
		return nil
	}
	p.at = was
	return err
}

// nesting returns how deep the arrays and objects in the text nest. Brackets
// in strings may count too: it serves to excuse an error.
func nesting(text []byte) int {
	depth, deepest := 0, 0
	for _, c := range text {
		switch c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

func (p *jsonEntry) pair(old, value *Value) (bool, error) {
	if p.fields[jepsenValue] == (span{}) {
		return false, nil
	}
	p.at, p.field = p.fields[jepsenValue].from, jepsenFieldNames[jepsenValue]
	if !p.take('[') || p.peek() == ']' {
		return false, nil
	}
	if err := p.readValue(old); err != nil {
		return false, withoutLine(err)
	}
	if !p.take(',') {
		return false, nil
	}
	if err := p.readValue(value); err != nil {
		return false, withoutLine(err)
	}
	return p.take(']'), nil
}

// isKeyword returns false: JSON has none.
func (p *jsonEntry) isKeyword() bool { return false }

func (p *jsonEntry) source() string {
	if v, err := p.read(jepsenValue); err == nil && v.Kind == Text {
		return v.Str
	}
	field := p.fields[jepsenValue]
	return strings.ToValidUTF8(string(p.line[field.from:field.to]), "\uFFFD")
}

func (p *jsonEntry) mistake(f jepsenField, expected, hint string) error {
	if p.field = jepsenFieldNames[f]; p.fields[f] == (span{}) {
		p.at = 0
		return &SyntaxError{Expected: expected + " in field " + strconv.Quote(p.field), Found: "an operation without it", Hint: hintMissing(f, hint, p.names.hint(exampleJSON))}
	}
	p.at = p.fields[f].from
	return p.expected(expected, hint)
}
