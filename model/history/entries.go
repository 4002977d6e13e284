package history

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// MaxEntry is the most bytes that one operation of a Jepsen history may have.
// With [MaxLine] it bounds the memory of a reader, whatever the file.
const MaxEntry = 16 << 20

// maxNesting is how many brackets of one entry may be open at once. Whatever a
// field holds is skipped without recursion, so this bounds memory and no stack.
const maxNesting = 1 << 20

const hintFileCut = "the file seems cut off: copy it again, or record the history again"

// bracket is one that is open.
type bracket struct {
	c    byte
	line int32 // where it stands
}

// end returns the bracket that closes this one.
func (b bracket) end() byte {
	if b.c == '(' {
		return ')'
	}
	return b.c + 2 // so it is in ASCII: [ and ], { and }
}

// entryReader finds the entries of a file in which an entry has as many lines
// as it likes: they stand in one vector or array, or one after another. It
// holds one entry at a time. What an entry looks like, its user says.
type entryReader struct {
	r    io.Reader
	file string

	buf  []byte
	from int   // buf[from:at] is the entry so far
	at   int   // of the next byte
	line int   // of the next byte, from 1
	drop bool  // nobody wants to see what is being read
	err  error // of r, io.EOF at its end; a *SyntaxError where an entry is too long

	open  []bracket // of the entry, outermost first
	place entryPlace
	outer bracket // the one around all entries
}

// entryPlace says where in the file the reader stands.
type entryPlace uint8

const (
	beforeEntries entryPlace = iota
	insideOuter              // of the vector or array around all entries
	betweenLines             // of a file without one
	afterOuter
)

func newEntryReader(r io.Reader, file string) entryReader {
	return entryReader{r: r, file: file, line: 1, buf: make([]byte, 0, headSize)}
}

// onEntry makes the reader read one entry that is in memory.
func (r *entryReader) onEntry(text []byte) {
	r.buf, r.from, r.at, r.err, r.open = text, 0, 0, io.EOF, r.open[:0]
}

// start makes ready for the next entry.
func (r *entryReader) start() {
	if r.place == beforeEntries && r.has(len(bom)) && bytes.HasPrefix(r.buf, bom) {
		r.at = len(bom)
	}
	r.open = r.open[:0]
}

// fill reads on, and returns false at the end of the file or of all bounds.
func (r *entryReader) fill() bool {
	if r.err != nil {
		return false
	}
	if r.drop {
		r.from = r.at
	}
	if r.from > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.from:])]
		r.at, r.from = r.at-r.from, 0
	}
	if len(r.buf) == cap(r.buf) {
		if cap(r.buf) >= MaxEntry {
			r.err = &SyntaxError{
				Expected: "an operation of at most " + strconv.Itoa(MaxEntry) + " bytes", Found: "a longer one",
				Hint: "write long values as a digest of them",
			}
			return false
		}
		r.buf = append(make([]byte, 0, min(2*cap(r.buf), MaxEntry)), r.buf...)
	}
	const patience = 100 // reads without a byte and without an error
	for range patience {
		n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if r.err = err; err != nil && err != io.EOF {
			r.err = fmt.Errorf("%s: cannot read line %d: %w", oneLine(r.file), r.line+bytes.Count(r.buf[r.at:], newline), err)
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
	r.err = fmt.Errorf("%s: cannot read line %d: %w", oneLine(r.file), r.line, io.ErrNoProgress)
	return false
}

var newline = []byte("\n")

// has says whether n more bytes are there.
func (r *entryReader) has(n int) bool {
	for len(r.buf)-r.at < n {
		if !r.fill() {
			return false
		}
	}
	return true
}

// peek returns the next byte, 0 at the end. Then r.err says why.
func (r *entryReader) peek() byte {
	if r.at == len(r.buf) && !r.fill() {
		return 0
	}
	return r.buf[r.at]
}

// ahead returns what comes, for an error: as much for every way in which the
// file arrives.
func (r *entryReader) ahead() []byte {
	const most = 4096
	r.has(most)
	return r.buf[r.at:min(len(r.buf), r.at+most)]
}

// next skips the byte that comes, and counts the lines.
func (r *entryReader) next() {
	if r.buf[r.at] == '\n' {
		r.line++
	}
	r.at++
}

// atEnd says whether nothing more comes, for whatever reason.
func (r *entryReader) atEnd() bool { return r.at == len(r.buf) && !r.fill() }

// push opens the bracket that comes.
func (r *entryReader) push() error {
	if len(r.open) == maxNesting {
		return &SyntaxError{
			Expected: "a value nested at most " + strconv.Itoa(maxNesting) + " deep", Found: "a deeper one",
			Hint: "write it as a string",
		}
	}
	r.open = append(r.open, bracket{r.buf[r.at], int32(r.line)})
	r.at++
	return nil
}

// pop closes the innermost bracket with the one that comes.
func (r *entryReader) pop() error {
	last := r.open[len(r.open)-1]
	if c := r.buf[r.at]; c != last.end() {
		return &SyntaxError{
			Expected: last.String(), Found: strconv.QuoteRune(rune(c)),
			Hint: "correct the brackets, or record the history again",
		}
	}
	r.open = r.open[:len(r.open)-1]
	r.at++
	return nil
}

// String says what would close the bracket.
func (b bracket) String() string {
	return fmt.Sprintf("%q to close the %q of line %d", b.end(), b.c, b.line)
}

// string skips the string that begins here.
func (r *entryReader) string() error {
	line := r.line
	for r.at++; !r.atEnd(); {
		switch r.buf[r.at] {
		case '"':
			r.at++
			return nil
		case '\\': // whatever follows ends no string
			if r.at++; !r.atEnd() {
				r.next()
			}
		case '\n':
			r.next()
		default:
			for r.at < len(r.buf) && !inString[r.buf[r.at]] {
				r.at++
			}
		}
	}
	return r.cut("the end of the string that begins on line " + strconv.Itoa(line))
}

// inString has the bytes that mean something inside a string.
var inString = [256]bool{'"': true, '\\': true, '\n': true}

// comment skips the rest of the line.
func (r *entryReader) comment() {
	for !r.atEnd() {
		if i := bytes.IndexByte(r.buf[r.at:], '\n'); i >= 0 {
			r.at += i
			return
		}
		r.at = len(r.buf)
	}
}

// cut is the error of a file that ends here, where that was expected.
func (r *entryReader) cut(what string) error {
	if r.err != io.EOF {
		return r.err
	}
	return &SyntaxError{Expected: what, Found: "the end of the file", Hint: hintFileCut}
}

// end is what the reader returns at the end of the file.
func (r *entryReader) end() error {
	switch {
	case r.err != io.EOF:
		return r.err
	case r.place == insideOuter:
		return r.cut(r.outer.String())
	case r.place == beforeEntries:
		return &SyntaxError{File: r.file, Expected: "a history", Found: "a file without operations", Hint: "record the history again"}
	}
	return io.EOF
}

// enter begins the vector or array around all entries, whose bracket comes.
func (r *entryReader) enter() {
	r.outer, r.place = bracket{r.buf[r.at], int32(r.line)}, insideOuter
	r.at++
}

// leave ends it with the bracket that comes.
func (r *entryReader) leave() error {
	r.open = append(r.open[:0], r.outer)
	r.place = afterOuter
	return r.pop()
}

// tooMuch is the error of what follows all entries.
func (r *entryReader) tooMuch(found string) error {
	return &SyntaxError{
		Expected: fmt.Sprintf("the end of the file after the end of the %q of line %d", r.outer.c, r.outer.line),
		Found:    found, Hint: "put all operations into one vector or array, or one on each line",
	}
}
