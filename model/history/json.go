package history

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep the arrays and objects of a raw value may nest.
const maxDepth = 100

const (
	hintCut   = "the line seems cut off: delete it, or record the history again"
	hintValue = "correct the line, or record the history again"
	hintJSON  = "write each line as one JSON object (RFC 8259)"
)

// parser reads one line of JSON. It is written out because encoding/json costs
// ten times as much and cannot say which field of which line is wrong.
type parser struct {
	line    []byte
	at      int
	field   string // the one being read, for errors; empty between fields
	strings interner
	text    []byte // the string read last, when it had escapes
	raw     []byte // the raw value read last
}

// reset begins a line.
func (p *parser) reset(line []byte) {
	p.line, p.at, p.field = line, 0, ""
}

// expected returns the error that something else stands at this place.
func (p *parser) expected(what, hint string) error {
	if p.field != "" {
		what += " in field " + strconv.Quote(p.field)
	}
	if p.at >= len(p.line) {
		hint = hintCut
	}
	return &SyntaxError{Expected: what, Found: p.found(), Hint: hint}
}

// found names what stands at this place.
func (p *parser) found() string {
	rest := p.line[min(p.at, len(p.line)):]
	if len(rest) == 0 {
		return "the end of the line"
	}
	switch c := rest[0]; {
	case c == '"':
		if s, err := (&parser{line: rest}).string(); err == nil {
			return "the string " + quote(s)
		}
		return "a string without an end"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == 0:
		return "a NUL byte"
	case c == '\\':
		return quote(rest[:min(len(rest), 2)])
	case c == '-' || isDigit(c):
		return "the number " + word(rest)
	case c >= 'a' && c <= 'z':
		return word(rest)
	case c < utf8.RuneSelf:
		return strconv.QuoteRune(rune(c))
	}
	return quote(rest)
}

// word returns the letters, digits and signs at the beginning of the text,
// cut where they get long.
func word(text []byte) string {
	const most = 40
	n := 0
	for n < len(text) && (isDigit(text[n]) || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z' ||
		text[n] == '-' || text[n] == '+' || text[n] == '.') {
		if n == most {
			return string(text[:n]) + "..."
		}
		n++
	}
	return string(text[:n])
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// peek skips white space and returns the byte at this place, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.line) {
		switch c := p.line[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
	return 0
}

// take skips the byte c, if that is what comes.
func (p *parser) take(c byte) bool {
	if p.peek() != c || p.at >= len(p.line) {
		return false
	}
	p.at++
	return true
}

// open reads the beginning of an object.
func (p *parser) open() error {
	if !p.take('{') {
		return p.expected("a JSON object", hintJSON)
	}
	return nil
}

// key reads the name of the next field and stands before its value. It returns
// false after the object's end. first is true before the first field.
func (p *parser) key(first bool) (key []byte, more bool, err error) {
	p.field = ""
	if p.take('}') {
		if p.peek(); p.at < len(p.line) {
			return nil, false, p.expected("the end of the line after the object", hintJSON)
		}
		return nil, false, nil
	}
	if !first && !p.take(',') {
		return nil, false, p.expected("a comma or the end of the object", hintJSON)
	}
	if p.peek() != '"' {
		return nil, false, p.expected("the name of a field", hintJSON)
	}
	if key, err = p.string(); err != nil {
		return nil, false, err
	}
	if !p.take(':') {
		return nil, false, p.expected("a colon after the name "+quote(key), hintJSON)
	}
	p.peek()
	return key, true, nil
}

// integer reads a number that must be a whole one and fit in 64 bits.
func (p *parser) integer(to *int64) error {
	n, ok, err := p.whole()
	if err == nil && !ok {
		err = p.expected("an integer", hintValue)
	}
	*to = n
	return err
}

// whole reads an integer. Where there is something else, or a fraction, it
// returns false and reads nothing.
func (p *parser) whole() (n int64, ok bool, err error) {
	i := p.at
	negative := i < len(p.line) && p.line[i] == '-'
	if negative {
		i++
	}
	digits := i
	var u uint64
	for ; i < len(p.line) && isDigit(p.line[i]); i++ {
		u = u*10 + uint64(p.line[i]-'0')
	}
	if i == digits || p.line[digits] == '0' && i > digits+1 {
		return 0, false, nil // no digit, or a leading zero
	}
	if i < len(p.line) && (p.line[i] == '.' || p.line[i]|0x20 == 'e') {
		return 0, false, nil
	}
	const safe = 19 // so many digits always fit in u
	switch {
	case i-digits <= safe && negative && u <= 1<<63:
		n = -int64(u)
	case i-digits <= safe && !negative && u < 1<<63:
		n = int64(u)
	default:
		return 0, false, p.expected("an integer that fits in 64 bits", "write a greater one as a string")
	}
	p.at = i
	return n, true, nil
}

// textValue reads a string.
func (p *parser) textValue(to *string) error {
	if p.peek() != '"' {
		return p.expected("a string", hintValue)
	}
	s, err := p.string()
	if err != nil {
		return err
	}
	*to = p.strings.get(s)
	return nil
}

// string reads the string that begins here. The bytes are valid until the next
// call.
func (p *parser) string() ([]byte, error) {
	for i := p.at + 1; i < len(p.line); i++ {
		switch c := p.line[i]; {
		case c == '"':
			s := p.line[p.at+1 : i]
			p.at = i + 1
			return s, nil
		case c == '\\' || c < ' ' || c >= utf8.RuneSelf:
			return p.stringSlow(i)
		}
	}
	p.at = len(p.line)
	return nil, p.expected("the end of the string", hintCut)
}

// stringSlow reads the rest of the string that begins here, from i on: it has
// escapes, or characters beyond ASCII, or errors.
func (p *parser) stringSlow(i int) ([]byte, error) {
	p.text = append(p.text[:0], p.line[p.at+1:i]...)
	p.at = i
	for p.at < len(p.line) {
		switch c := p.line[p.at]; {
		case c == '"':
			p.at++
			return p.text, nil
		case c == '\\':
			if err := p.escape(); err != nil {
				return nil, err
			}
		case c < ' ':
			return nil, p.expected("a string without control characters", "write them as \\u00XX")
		case c < utf8.RuneSelf:
			p.text = append(p.text, c)
			p.at++
		default:
			r, size := utf8.DecodeRune(p.line[p.at:])
			if r == utf8.RuneError && size == 1 {
				return nil, p.expected("text in UTF-8", "save the file as UTF-8")
			}
			p.text = append(p.text, p.line[p.at:p.at+size]...)
			p.at += size
		}
	}
	return nil, p.expected("the end of the string", hintCut)
}

// escape reads one escape sequence into p.text.
func (p *parser) escape() error {
	rest := p.line[p.at:]
	if len(rest) < 2 {
		p.at = len(p.line)
		return p.expected("the end of the string", hintCut)
	}
	c := rest[1]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return p.escapeRune()
	default:
		return p.expected("a JSON escape", "write a backslash as \\\\")
	}
	p.text = append(p.text, c)
	p.at += 2
	return nil
}

// escapeRune reads \uXXXX, and a second one where the two are a surrogate
// pair. Half a pair is U+FFFD.
func (p *parser) escapeRune() error {
	r, ok := hexRune(p.line[p.at:])
	if !ok {
		return p.expected("four hexadecimal digits after \\u", hintValue)
	}
	p.at += 6
	if utf16.IsSurrogate(r) {
		low, ok := hexRune(p.line[p.at:])
		if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
			p.at += 6
		}
	}
	p.text = utf8.AppendRune(p.text, r)
	return nil
}

// hexRune returns the number in \uXXXX, when that is how the text begins.
func hexRune(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// value reads any JSON value.
func (p *parser) value(to *Value) error {
	switch c := p.peek(); {
	case c == '"':
		to.Kind = Text
		return p.textValue(&to.Str)
	case c == '-' || isDigit(c):
		n, ok, err := p.whole()
		if err != nil {
			return err
		}
		if ok {
			*to = IntValue(n)
			return nil
		}
	}
	p.raw = p.raw[:0]
	if err := p.any(0); err != nil {
		return err
	}
	if string(p.raw) == "null" {
		*to = NilValue
		return nil
	}
	*to = Value{Kind: Raw, Str: p.strings.get(p.raw)}
	return nil
}

// compact returns the JSON text in the one form that the reader gives it too.
func (p *parser) compact(text string) ([]byte, error) {
	p.reset([]byte(text))
	p.raw = p.raw[:0]
	p.peek()
	if err := p.any(0); err != nil {
		return nil, err
	}
	if p.peek(); p.at < len(p.line) {
		return nil, p.expected("one JSON value", hintJSON)
	}
	return p.raw, nil
}

// any reads the value that begins here and appends it to p.raw, without white
// space and with its strings escaped as the writer does, so that equal values
// are equal texts. Objects keep the order of their fields.
func (p *parser) any(depth int) error {
	if depth > maxDepth {
		return p.expected("a value nested at most "+strconv.Itoa(maxDepth)+" deep", "write it as a string")
	}
	switch c := p.peek(); {
	case c == '"':
		s, err := p.string()
		p.raw = appendString(p.raw, s)
		return err
	case c == '{':
		return p.members(depth, '}')
	case c == '[':
		return p.members(depth, ']')
	case c == '-' || isDigit(c):
		return p.number()
	}
	for _, literal := range [...]string{"null", "true", "false"} {
		if word(p.line[p.at:]) == literal {
			p.raw = append(p.raw, literal...)
			p.at += len(literal)
			return nil
		}
	}
	return p.expected("a JSON value", hintJSON)
}

// members reads an array or an object.
func (p *parser) members(depth int, end byte) error {
	p.raw = append(p.raw, p.line[p.at])
	p.at++
	for first := true; !p.take(end); first = false {
		if !first {
			if !p.take(',') {
				return p.expected("a comma or "+strconv.QuoteRune(rune(end)), hintJSON)
			}
			p.raw = append(p.raw, ',')
		}
		if end == '}' {
			if p.peek() != '"' {
				return p.expected("a name in quotes", hintJSON)
			}
			name, err := p.string()
			if err != nil {
				return err
			}
			p.raw = append(appendString(p.raw, name), ':')
			if !p.take(':') {
				return p.expected("a colon", hintJSON)
			}
		}
		if err := p.any(depth + 1); err != nil {
			return err
		}
	}
	p.raw = append(p.raw, end)
	return nil
}

// number reads a number as RFC 8259 writes one, and keeps its text.
func (p *parser) number() error {
	text := p.line[p.at:]
	i := 0
	digits := func() bool {
		from := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		return i > from
	}
	if text[i] == '-' {
		i++
	}
	zero := i < len(text) && text[i] == '0'
	from := i
	ok := digits() && !(zero && i > from+1)
	if ok && i < len(text) && text[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(text) && text[i]|0x20 == 'e' {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		return p.expected("a JSON number", hintJSON)
	}
	p.raw = append(p.raw, text[:i]...)
	p.at += i
	return nil
}

// interner gives equal short texts one string, so that a reader allocates for
// a name once in a while and not at each event. Its memory is bounded: a new
// text takes the place of an older one.
type interner struct {
	slots [1 << 10]string
}

func (t *interner) get(text []byte) string {
	const longest = 64
	if len(text) == 0 || len(text) > longest {
		return string(text)
	}
	h := uint32(2166136261) // FNV-1a
	for _, c := range text {
		h = (h ^ uint32(c)) * 16777619
	}
	slot := &t.slots[(h^h>>16)%uint32(len(t.slots))]
	if *slot != string(text) {
		*slot = string(text)
	}
	return *slot
}
