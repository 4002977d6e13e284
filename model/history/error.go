package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a history cannot be read, what stands there, and what
// to do. It prints as one line:
//
//	run.jsonl:812: expected an integer in field "time", found the string "soon"; ...
type SyntaxError struct {
	File     string // as it was named to the reader; may be empty
	Line     int    // from 1; 0 when the error is about the whole file
	Expected string
	Found    string
	Hint     string // what to do; may be empty
	Err      error  // the cause, when there is one, for errors.Is
}

func (e *SyntaxError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(oneLine(e.File))
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	}
	b.WriteString("expected " + e.Expected + ", found " + e.Found)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause, so that errors.Is finds fs.ErrNotExist.
func (e *SyntaxError) Unwrap() error { return e.Err }

// at says where the error is, unless it is no SyntaxError or knows already.
func at(err error, file string, line int) error {
	if e, ok := err.(*SyntaxError); ok && e.File == "" && e.Line == 0 {
		e.File, e.Line = file, line
	}
	return err
}

// oneLine keeps a file's name from breaking the error's one line.
func oneLine(name string) string {
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

// quote returns the beginning of the text in quotes, on one line.
func quote[T string | []byte](text T) string {
	const most = 40
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return strconv.Quote(string(text[:n])) + "..."
}
