package history

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// ednSource reads histories in EDN (github.com/edn-format/edn) as Jepsen and
// Knossos write them: a vector or a list of maps, or one map after another.
//
//	{:type :invoke, :f :write, :value 3, :process 4, :time 120, :index 0}
//	#jepsen.history.Op{:type :ok, :f :write, :value 3, :process 4, :time 155, :index 1}
//
// [Formats] says what an operation means, and what becomes of values.
type ednSource struct {
	entries entryReader
	parser  ednParser
	jepsen  jepsen
	n       int64 // entries read
	err     error
}

func openEDN(r io.Reader, file string, how *Reading) (Source, error) {
	s := &ednSource{entries: newEntryReader(r, file)}
	s.parser.names.ignore = how.Ignore
	s.jepsen.keys.say(how.Independent)
	return s, nil
}

func (s *ednSource) Header() Header { return Header{Format: Format} }

func (s *ednSource) Next(e *Event) error {
	if s.err == nil {
		s.err = s.jepsen.next(e, s.entries.file, s.read)
	}
	return s.err
}

func (s *ednSource) remarks() []string {
	return append(s.jepsen.remarks(), s.parser.names.remarks()...)
}

// read reads the next entry. It returns false for one that is no event.
func (s *ednSource) read(e *Event) (line int, ok bool, err error) {
	text, line, err := s.entries.nextEDN()
	if err != nil {
		return 0, false, at(s.jepsen.end(err, s.n), s.entries.file, s.entries.line)
	}
	p := &s.parser
	p.onEntry(text)
	if err = p.operation(); err == nil {
		ok, err = s.jepsen.event(e, s.n, p)
	}
	s.n++
	return line, ok, at(err, s.entries.file, line+bytes.Count(text[:p.at], newline))
}

// ednParser reads one entry. It may rely on what the scanner found out: the
// entry's brackets match, and its strings end.
type ednParser struct {
	entryReader // on the entry
	fields      [jepsenFieldCount]span
	names       jepsenNamed
	json        parser
	strings     interner
	text        []byte // the string or number read last
	decimal     []byte // the decimal number read last, as JSON
	raw         []byte // the value read last, as JSON
	starts      []int  // where the members of raw's open collections begin
	sorted      []byte // raw's last collection, before it is put in order
}

// span is where a field's value stands in the entry; the zero span is nowhere.
type span struct{ from, to int }

// operation finds the fields of an operation.
func (p *ednParser) operation() error {
	p.fields = [jepsenFieldCount]span{}
	p.names.reset()
	namespace, err := p.prefixes()
	if err != nil {
		return err
	}
	if p.peek() != '{' {
		return p.ednExpected("an operation, such as {:type :invoke, :f :read, :process 0}", "write each operation as a map")
	}
	for p.at++; ; {
		if err := p.ednSpace(); err != nil {
			return err
		}
		if p.peek() == '}' {
			p.at++
			return nil
		}
		name := p.at
		if err := p.ednForm(); err != nil {
			return err
		}
		key := p.buf[name:p.at]
		if err := p.ednSpace(); err != nil {
			return err
		}
		from := p.at
		if p.peek() == '}' {
			return p.ednExpected("a value for the key "+quote(key), hintEntry)
		}
		if err := p.ednForm(); err != nil {
			return err
		}
		if f, ok := p.field(key, namespace); ok {
			if p.fields[f] != (span{}) {
				p.at = name
				return p.ednExpected("each key once", hintEntry)
			}
			p.fields[f] = span{from, p.at}
		}
	}
}

// field returns the field of that key. Jepsen's own namespace may stand before
// it, or before the map.
func (p *ednParser) field(key []byte, namespace string) (jepsenField, bool) {
	name, ok := bytes.CutPrefix(key, []byte(":"))
	switch {
	case !ok && (key[0] == '"' || key[0]|0x20 >= 'a' && key[0]|0x20 <= 'z'):
		return p.names.field(bytes.Trim(key, `"`))
	case !ok: // a number, say, names nothing
		return 0, false
	}
	if short, ok := bytes.CutPrefix(name, []byte("jepsen/")); ok {
		name = short
	} else if namespace != "" && namespace != "jepsen" {
		name = append([]byte(namespace+"/"), name...)
	}
	return p.names.field(name)
}

func (p *ednParser) named() *jepsenNamed { return &p.names }

// prefixes skips metadata and tags, and returns the namespace of the map that
// follows.
func (p *ednParser) prefixes() (namespace string, err error) {
	for {
		if err := p.ednSpace(); err != nil {
			return "", err
		}
		switch c := p.peek(); {
		case c == '^':
			p.at++
			if err := p.ednForm(); err != nil {
				return "", err
			}
		case c == '#' && p.has(2) && ednClass[p.buf[p.at+1]] == ednWord && p.buf[p.at+1] != '#':
			from := p.at
			p.ednToken()
			if tag := p.buf[from:p.at]; tag[1] == ':' {
				namespace = string(bytes.Trim(tag, "#:"))
			}
		default:
			return namespace, nil
		}
	}
}

func (p *ednParser) read(f jepsenField) (v Value, err error) {
	if p.fields[f] == (span{}) {
		return v, nil
	}
	p.at = p.fields[f].from
	if err = p.value(&v); err == nil && f != jepsenError {
		err = p.encoded(f)
	}
	return v, err
}

// encoded refuses a field in another encoding: different values would look alike.
func (p *ednParser) encoded(f jepsenField) error {
	if text := p.buf[p.fields[f].from:p.fields[f].to]; !utf8.Valid(text) {
		return &SyntaxError{Expected: "text in UTF-8", Found: quote(text), Hint: "save the file as UTF-8"}
	}
	return nil
}

func (p *ednParser) pair(old, value *Value) (bool, error) {
	field := p.fields[jepsenValue]
	if p.at = field.from; field == (span{}) {
		return false, nil
	}
	if err := p.mapEntry(); err != nil {
		return false, err
	}
	if c := p.peek(); c != '[' && c != '(' {
		return false, nil
	}
	p.at++
	for _, to := range [...]*Value{old, value} {
		if err := p.ednSpace(); err != nil {
			return false, err
		}
		if ednClass[p.peek()] == ednClose {
			return false, nil
		}
		if err := p.value(to); err != nil {
			return false, err
		}
	}
	if err := p.ednSpace(); err != nil || ednClass[p.peek()] != ednClose {
		return false, err
	}
	return true, p.encoded(jepsenValue)
}

// mapEntry skips the tag that says of a vector that it is a key and its value.
func (p *ednParser) mapEntry() error {
	from := p.at
	if p.peek() != '#' || !p.has(2) || ednClass[p.buf[p.at+1]] != ednWord {
		return nil
	}
	p.ednToken()
	if !isMapEntry(p.buf[from:p.at]) {
		p.at = from
		return nil
	}
	p.names.mapEntry = true
	return p.ednSpace()
}

func isMapEntry(tag []byte) bool {
	return bytes.HasPrefix(tag, []byte("#jepsen.independent")) || bytes.HasSuffix(tag, []byte("MapEntry"))
}

func (p *ednParser) isKeyword() bool {
	field := p.fields[jepsenValue]
	return field != (span{}) && p.buf[field.from] == ':'
}

func (p *ednParser) source() string {
	field := p.fields[jepsenValue]
	text := p.buf[field.from:field.to]
	if p.at = field.from; len(text) > 0 && text[0] == '"' {
		text = p.str()
	}
	return p.valid(text)
}

func (p *ednParser) mistake(f jepsenField, what, hint string) error {
	if p.fields[f] == (span{}) {
		p.at = 0
		return &SyntaxError{Expected: what + " under :" + jepsenFieldNames[f], Found: "an operation without it", Hint: hintMissing(f, hint, p.names.hint(exampleEDN))}
	}
	p.at = p.fields[f].from
	return p.ednExpected(what+" under :"+jepsenFieldNames[f], hint)
}

// value reads the form that stands here.
func (p *ednParser) value(to *Value) error {
	from := p.at
	if err := p.metadata(); err != nil {
		return err
	}
	if !p.atCollection() {
		return p.scalar(to)
	}
	p.raw, p.starts = p.raw[:0], p.starts[:0]
	err := p.appendForm(0)
	if err == errUnwieldy {
		p.at = from
		err = p.ednForm()
		*to = TextValue(p.valid(p.buf[from:p.at]))
		return err
	}
	*to = Value{Kind: Raw, Str: p.valid(p.raw)}
	return err
}

// metadata skips the metadata before a form.
func (p *ednParser) metadata() error {
	for p.peek() == '^' {
		p.at++
		if err := p.ednForm(); err != nil {
			return err
		}
		if err := p.ednSpace(); err != nil {
			return err
		}
	}
	return nil
}

// atCollection says whether the form is one, or has a tag.
func (p *ednParser) atCollection() bool {
	c := p.peek()
	return ednClass[c] == ednOpen || c == '#' && p.has(2) && p.buf[p.at+1] != '"' && p.buf[p.at+1] != '#'
}

// scalar reads a form that is no collection.
func (p *ednParser) scalar(to *Value) error {
	from := p.at
	switch c := p.peek(); {
	case p.atEnd() || ednClass[c] == ednClose:
		return p.ednExpected("a value", hintEntry)
	case c == '"':
		*to = TextValue(p.valid(p.str()))
		return nil
	case c == '\\':
		p.ednChar()
		*to = TextValue(p.valid(ednCharacter(p.buf[from:p.at])))
		return nil
	case c == '#' && p.buf[p.at+1] == '"':
		p.at++
		err := p.string()
		*to = TextValue(p.valid(p.buf[from:p.at]))
		return err
	}
	p.ednToken()
	word := p.buf[from:p.at]
	switch {
	case string(word) == "nil":
		*to = NilValue
	case string(word) == "true" || string(word) == "false":
		*to = Value{Kind: Raw, Str: p.valid(word)}
	case isDigit(word[0]) || len(word) > 1 && (word[0] == '-' || word[0] == '+') && isDigit(word[1]):
		if !p.number(word, to) {
			p.at = from
			return p.ednExpected("a number", hintEntry)
		}
	default:
		*to = TextValue(p.valid(bytes.TrimPrefix(word, []byte(":"))))
	}
	return nil
}

// valid returns the text as valid UTF-8, which is what an event holds.
func (p *ednParser) valid(text []byte) string {
	return strings.ToValidUTF8(p.strings.get(text), "\uFFFD")
}

// errUnwieldy says that a value is too deep, or too long, to bring in order.
var errUnwieldy = errors.New("unwieldy value")

// appendForm reads the form that stands here and appends it to p.raw as JSON,
// equal forms as equal texts.
func (p *ednParser) appendForm(depth int) error {
	if err := p.metadata(); err != nil {
		return err
	}
	if depth > maxDepth || len(p.raw) > MaxLine {
		return errUnwieldy
	}
	if !p.atCollection() {
		var v Value
		if err := p.scalar(&v); err != nil {
			return err
		}
		switch v.Kind {
		case Text:
			p.raw = appendString(p.raw, v.Str)
		case Nil:
			p.raw = append(p.raw, "null"...)
		default:
			p.raw = append(p.raw, v.String()...)
		}
		return nil
	}
	switch p.peek() {
	case '{':
		return p.appendMap(depth, "")
	case '#':
		return p.appendTagged(depth)
	}
	return p.appendMembers(depth, '[', p.appendForm)
}

// appendTagged reads a set, a map with a namespace, or a form with a tag.
func (p *ednParser) appendTagged(depth int) error {
	p.at++
	if p.peek() == '{' {
		p.raw = append(p.raw, `{"#set":`...)
		base := len(p.starts)
		if err := p.appendMembers(depth+1, '[', p.appendForm); err != nil {
			return err
		}
		p.sort(base)
		p.raw = append(p.raw, '}')
		return nil
	}
	from := p.at - 1
	p.ednToken()
	tag := p.buf[from:p.at]
	if err := p.ednSpace(); err != nil {
		return err
	}
	if namespace, ok := bytes.CutPrefix(tag, []byte("#:")); ok && p.peek() == '{' {
		return p.appendMap(depth, string(bytes.TrimPrefix(namespace, []byte(":"))))
	}
	if isMapEntry(tag) && (p.peek() == '[' || p.peek() == '(') {
		p.names.mapEntry = p.names.mapEntry || depth == 0
		return p.appendForm(depth)
	}
	p.raw = append(appendString(append(p.raw, '{'), tag), ':')
	err := p.appendForm(depth + 1)
	p.raw = append(p.raw, '}')
	return err
}

// appendMap reads a map, whose keys get the namespace unless they have one.
func (p *ednParser) appendMap(depth int, namespace string) error {
	base := len(p.starts)
	err := p.appendMembers(depth, '{', func(depth int) error {
		if err := p.appendKey(depth, namespace); err != nil {
			return err
		}
		if err := p.ednSpace(); err != nil {
			return err
		}
		if p.peek() == '}' {
			return p.ednExpected("a value for each key of a map", hintEntry)
		}
		p.raw = append(p.raw, ':')
		return p.appendForm(depth)
	})
	if err == nil {
		p.sort(base)
	}
	return err
}

// appendKey reads a key, which in JSON must be a string.
func (p *ednParser) appendKey(depth int, namespace string) error {
	if err := p.metadata(); err != nil {
		return err
	}
	if !p.atCollection() {
		keyword := p.peek() == ':'
		var v Value
		if err := p.scalar(&v); err != nil {
			return err
		}
		name := v.plain()
		switch {
		case v.Kind == Nil:
			name = "nil"
		case keyword && namespace != "" && strings.HasPrefix(name, "_/"): // says that it has none
			name = name[len("_/"):]
		case keyword && namespace != "" && !strings.Contains(name, "/"):
			name = namespace + "/" + name
		}
		p.raw = appendString(p.raw, name)
		return nil
	}
	from := len(p.raw)
	if err := p.appendForm(depth); err != nil {
		return err
	}
	text := string(p.raw[from:])
	p.raw = appendString(p.raw[:from], text)
	return nil
}

// appendMembers reads the members of a collection, and leaves in p.starts
// where each begins in p.raw, for sort.
func (p *ednParser) appendMembers(depth int, open byte, member func(depth int) error) error {
	p.raw = append(p.raw, open)
	base := len(p.starts)
	for p.at++; ; {
		if err := p.ednSpace(); err != nil {
			return err
		}
		if ednClass[p.peek()] == ednClose {
			break
		}
		if len(p.starts) > base {
			p.raw = append(p.raw, ',')
		}
		p.starts = append(p.starts, len(p.raw))
		within := len(p.starts)
		if err := member(depth + 1); err != nil {
			return err
		}
		p.starts = p.starts[:within]
	}
	p.at++
	p.raw = append(p.raw, bracket{c: open}.end())
	return nil
}

// sort puts the members of the collection that was read last in order, those
// from base on in p.starts.
func (p *ednParser) sort(base int) {
	starts := p.starts[base:]
	if len(starts) < 2 {
		return
	}
	from, end := starts[0], len(p.raw)-1
	p.sorted = append(p.sorted[:0], p.raw[from:end]...)
	members := make([][]byte, len(starts))
	for i, start := range starts {
		stop := end
		if i+1 < len(starts) {
			stop = starts[i+1] - 1 // the comma
		}
		members[i] = p.sorted[start-from : stop-from]
	}
	if slices.IsSortedFunc(members, bytes.Compare) {
		return
	}
	slices.SortFunc(members, bytes.Compare)
	copy(p.raw[from:end], bytes.Join(members, []byte(",")))
}
