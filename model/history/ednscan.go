package history

// Classes of bytes in EDN.
const (
	ednWord  = iota // of a number, a name, a keyword
	ednBlank        // white space and the comma, but not the end of a line
	ednNewline
	ednOpen
	ednClose
	ednQuote
	ednComment // up to the end of the line
	ednEscape  // before a character
)

var ednClass = [256]uint8{
	' ': ednBlank, '\t': ednBlank, '\v': ednBlank, '\f': ednBlank, '\r': ednBlank, ',': ednBlank, '\n': ednNewline,
	'(': ednOpen, '[': ednOpen, '{': ednOpen, ')': ednClose, ']': ednClose, '}': ednClose,
	'"': ednQuote, ';': ednComment, '\\': ednEscape,
}

// ednSpace skips white space, comments, and what #_ takes out.
func (r *entryReader) ednSpace() error {
	for !r.atEnd() {
		switch c := r.buf[r.at]; {
		case ednClass[c] == ednBlank || c == '\n':
			r.next()
		case c == ';':
			r.comment()
		case c == '#' && r.has(2) && r.buf[r.at+1] == '_':
			r.at += 2
			if err := r.ednForms(1); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// ednForm skips the next form with what stands before it: tags, metadata, and
// what #_ takes out.
func (r *entryReader) ednForm() error { return r.ednForms(1) }

// ednForms skips so many forms, without recursion. It knows no more of a form
// than where it ends: what no field of an event needs can be anything.
func (r *entryReader) ednForms(n int) error {
	for n > 0 || len(r.open) > 0 {
		if r.atEnd() {
			return r.ednCut()
		}
		c := r.buf[r.at]
		var err error
		switch ednClass[c] {
		case ednWord:
			if len(r.open) > 0 {
				r.ednToken()
			} else {
				n += r.ednPrefix(c)
			}
		case ednBlank, ednNewline:
			r.next()
		case ednComment:
			r.comment()
		case ednOpen:
			err = r.push()
		case ednClose:
			if len(r.open) == 0 {
				return r.ednExpected("a value", "correct the entry, or record the history again")
			}
			if err = r.pop(); len(r.open) == 0 {
				n--
			}
		case ednQuote:
			if err = r.string(); len(r.open) == 0 {
				n--
			}
		case ednEscape:
			if r.ednChar(); len(r.open) == 0 {
				n--
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ednCut is the error of a file that ends inside a form.
func (r *entryReader) ednCut() error {
	what := "a value after a tag, ^ or #_"
	if len(r.open) > 0 {
		what = r.open[len(r.open)-1].String()
	}
	return r.cut(what)
}

// ednPrefix skips a word, or what makes a prefix of the form that follows. It
// returns by how many the forms that are still to come change.
func (r *entryReader) ednPrefix(c byte) int {
	if c == '^' { // metadata, and then the form that has it
		r.at++
		return +1
	}
	if c != '#' {
		r.ednToken()
		return -1
	}
	r.at++
	switch c := r.peek(); {
	case c == '_':
		r.at++
		return +1
	case c == '#': // ##NaN
		r.at++
		r.ednToken()
		return -1
	}
	r.ednToken() // a tag; empty before the bracket of a set and the quote of a pattern
	return 0
}

// ednToken skips the rest of a word.
func (r *entryReader) ednToken() {
	for !r.atEnd() {
		for i, c := range r.buf[r.at:] {
			if ednClass[c] != ednWord {
				r.at += i
				return
			}
		}
		r.at = len(r.buf)
	}
}

// ednChar skips a character, such as \a, \newline, \u0041 or \(.
func (r *entryReader) ednChar() {
	r.at++
	if !r.atEnd() {
		r.next()
		r.ednToken()
	}
}

// nextEDN finds the next entry. It is valid until the next call.
func (r *entryReader) nextEDN() (entry []byte, line int, err error) {
	r.start()
	tagged := false // a tag was read; it may belong to the vector of all entries
	for {
		r.drop = !tagged
		if err := r.ednSpace(); err != nil {
			return nil, 0, err
		}
		r.drop = false
		if !tagged {
			r.from, line = r.at, r.line
		}
		switch {
		case r.atEnd() && tagged:
			return nil, 0, r.ednCut()
		case r.atEnd():
			return nil, 0, r.end()
		}
		switch c := r.buf[r.at]; {
		case r.place == beforeEntries && (c == '[' || c == '('):
			r.enter()
			tagged = false
		case r.place == beforeEntries && c == '#' && !tagged:
			r.at++
			r.ednToken()
			tagged = true
		case r.place == insideOuter && ednClass[c] == ednClose:
			if err := r.leave(); err != nil {
				return nil, 0, err
			}
		case r.place == afterOuter:
			return nil, 0, r.tooMuch(ednFound(r.ahead()))
		default:
			if r.place == beforeEntries {
				r.place = betweenLines
			}
			err := r.ednForm()
			return r.buf[r.from:r.at], line, err
		}
	}
}

// ednExpected is the error that something else stands here.
func (r *entryReader) ednExpected(what, hint string) error {
	return &SyntaxError{Expected: what, Found: ednFound(r.ahead()), Hint: hint}
}
