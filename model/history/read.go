package history

import (
	"io"
	"strconv"
)

// A Source hands out the events of a history one by one, in memory that does
// not grow with the length of the history.
type Source interface {
	// Header returns the history's header. Of a format that has none, only
	// Header.Format is set.
	Header() Header
	// Next sets *e to the next event. It returns io.EOF after the last one, and
	// a *SyntaxError that names file and line where the history is wrong; after
	// an error, *e means nothing and every later call returns the same error.
	Next(e *Event) error
}

// ReadAll reads a whole history in the format of [WriteAll]. The name is the
// file's, for errors. Events whose operations have no number get one; see
// [Validator].
func ReadAll(r io.Reader, name string) (*History, error) {
	source, err := NewReader(r, name)
	if err != nil {
		return nil, err
	}
	return Gather(source)
}

// ReadExcerpt reads events that [WriteAll] wrote of a history without the others:
// an operation may end there that did not begin there.
func ReadExcerpt(r io.Reader, name string) (*History, error) {
	source, err := NewReader(r, name)
	if err != nil {
		return nil, err
	}
	source.excerpt = true
	return Gather(source)
}

// Gather reads a source to its end and keeps all of it.
func Gather(source Source) (*History, error) {
	h := &History{Header: source.Header()}
	var e Event
	for {
		switch err := source.Next(&e); err {
		case nil:
			h.Events = append(h.Events, e)
		case io.EOF:
			return h, nil
		default:
			return nil, err
		}
	}
}

// Reader reads a history in the format of [WriteAll] one event at a time.
//
// It takes LF and CRLF, a byte order mark and blank lines. It refuses unknown
// fields, so that a misspelt one is not lost in silence, and everything that
// [Validator] refuses.
type Reader struct {
	lines  *lineReader
	json   parser
	pairs  Validator
	header Header
	err    error

	excerpt bool // only the order of the events is checked
}

var _ Source = (*Reader)(nil)

// NewReader reads the header, and returns an error when it is no header of
// this format.
func NewReader(r io.Reader, name string) (*Reader, error) {
	reader := &Reader{lines: newLineReader(r, name)}
	if err := reader.readHeader(); err != nil {
		return nil, at(err, name, reader.lines.n)
	}
	return reader, nil
}

// Header returns the first line of the file.
func (r *Reader) Header() Header { return r.header }

// Next sets *e to the next event; see [Source].
func (r *Reader) Next(e *Event) error {
	if r.err == nil {
		r.err = r.next(e)
	}
	return r.err
}

func (r *Reader) next(e *Event) error {
	if err := r.nextLine(); err != nil {
		return err
	}
	err := r.event(e)
	switch {
	case err != nil:
	case r.excerpt:
		err = r.pairs.ordered(e)
	default:
		err = r.pairs.Check(e)
	}
	return at(err, r.lines.file, r.lines.n)
}

// nextLine gives the parser the next line that is not blank.
func (r *Reader) nextLine() error {
	for {
		line, err := r.lines.next()
		if err != nil {
			return err
		}
		r.json.reset(line)
		if r.json.peek(); r.json.at < len(line) {
			return nil
		}
	}
}

const expectedHeader = `a header {"format":"` + Format + `"}`

func (r *Reader) readHeader() error {
	if err := r.nextLine(); err == io.EOF {
		return &SyntaxError{Expected: expectedHeader, Found: "an empty file", Hint: "record the history again"}
	} else if err != nil {
		return err
	}
	p, h := &r.json, &r.header
	if err := p.open(); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for first := true; ; first = false {
		key, more, err := p.key(first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if seen[string(key)] {
			return fieldTwice(key)
		}
		seen[string(key)] = true
		if err := headerField(p, h, string(key)); err != nil {
			return err
		}
	}
	if h.Format == "" {
		return &SyntaxError{Expected: expectedHeader, Found: "an object without a format", Hint: "put the header before the first event"}
	}
	return r.pairs.Begin(h)
}

var headerNames = []string{"format", "scenario", "replay", "timing", "ttl", "rho", "epsilon", "scopes", "fence"}

func headerField(p *parser, h *Header, name string) error {
	p.field = name
	switch name {
	case "format":
		return p.oneOf(&h.Format, "use the version of staleproof that wrote the file, or record the history again", Format)
	case "scenario":
		return p.textValue(&h.Scenario)
	case "replay":
		return p.textValue(&h.Replay)
	case "timing":
		return p.oneOf(&h.Timing, hintValue, "timed", "untimed", "bounded")
	case "ttl":
		return p.integer(&h.TTL)
	case "rho":
		return p.integer(&h.Rho)
	case "epsilon":
		return p.integer(&h.Epsilon)
	case "scopes":
		return p.oneOf(&h.Scopes, hintValue, "per-resource", "global")
	case "fence":
		return p.oneOf(&h.Fence, hintValue, "accepted", "granted")
	}
	if h.Format == "" {
		return &SyntaxError{Expected: expectedHeader, Found: "the field " + quote(name), Hint: "put the header before the first event, its format first"}
	}
	return unknownField(name, headerNames)
}

// oneOf reads a string that must be one of the words.
func (p *parser) oneOf(to *string, hint string, words ...string) error {
	from := p.at
	if err := p.textValue(to); err != nil {
		return err
	}
	expected := ""
	for i, word := range words {
		if *to == word {
			return nil
		}
		if i > 0 {
			expected += " or "
		}
		expected += strconv.Quote(word)
	}
	p.at = from
	return p.expected(expected, hint)
}

func unknownField(name string, known []string) error {
	hint := "the fields are " + list(known)
	if near := nearest(name, known); near != "" {
		hint = "did you mean " + strconv.Quote(near) + "?"
	}
	return &SyntaxError{Expected: "a known field", Found: "the field " + quote(name), Hint: hint}
}

func fieldTwice(name []byte) error {
	return &SyntaxError{Expected: "each field once", Found: "the field " + quote(name) + " again", Hint: hintValue}
}

// event reads the line as an event.
func (r *Reader) event(e *Event) error {
	p := &r.json
	*e = Event{}
	if err := p.open(); err != nil {
		return err
	}
	var seen uint32 // bit f is set once field f was read
	last := fieldCount
	for first := true; ; first = false {
		key, more, err := p.key(first)
		if err != nil {
			return err
		}
		if !more {
			return complete(seen)
		}
		f, ok := fieldOf(key, last)
		if !ok {
			return unknownField(string(key), fieldNames[:])
		}
		if seen&(1<<f) != 0 {
			return fieldTwice(key)
		}
		seen |= 1 << f
		last = f
		p.field = fieldNames[f]
		if err := p.eventField(e, f); err != nil {
			return err
		}
	}
}

// complete says whether an event has the fields that every event must have.
// Time may be missing, as it is where nobody measured it.
func complete(seen uint32) error {
	for _, f := range [...]field{fieldIndex, fieldProcess, fieldType, fieldF} {
		if seen&(1<<f) == 0 {
			return &SyntaxError{
				Expected: "the field " + strconv.Quote(fieldNames[f]), Found: "an event without it",
				Hint: "every event has index, time, process, type and f",
			}
		}
	}
	return nil
}

func (p *parser) eventField(e *Event, f field) error {
	switch f {
	case fieldType:
		return known(p, &e.Type, typeByName, typeNames[:], "a type")
	case fieldF:
		return known(p, &e.F, fByName, fNames[:], "the name of an operation or a note")
	case fieldValue:
		return p.value(&e.Value)
	case fieldExpect:
		return p.value(&e.Expect)
	}
	if n := intField(e, f); n != nil {
		return p.integer(n)
	}
	return p.textValue(textField(e, f))
}

// known reads a string that names a type or a verb.
func known[T any](p *parser, to *T, byName map[string]T, names []string, what string) error {
	from := p.at
	if p.peek() != '"' {
		return p.expected(what, hintValue)
	}
	name, err := p.string()
	if err != nil {
		return err
	}
	value, ok := byName[string(name)]
	if !ok {
		hint := "the names are " + list(names)
		if near := nearest(string(name), names); near != "" {
			hint = "did you mean " + strconv.Quote(near) + "?"
		}
		p.at = from
		return p.expected(what, hint)
	}
	*to = value
	return nil
}
