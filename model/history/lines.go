package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// MaxLine is the most bytes that one line of a history may have, its end not
// counted. It bounds the memory of a reader, whatever the file.
const MaxLine = 1 << 20

// bom is the byte order mark that some editors put before UTF-8 text.
var bom = []byte("\xef\xbb\xbf")

// lineReader hands out the lines of a file, of which it holds one at a time.
type lineReader struct {
	r    *bufio.Reader
	file string
	n    int // of the line handed out last, from 1
	// whole says whether that line had an end: the last one of a file may lack it.
	whole bool
	long  []byte // holds a line that is longer than r's buffer
}

func newLineReader(r io.Reader, file string) *lineReader {
	b, ok := r.(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(r, headSize)
	}
	return &lineReader{r: b, file: file}
}

// next returns the next line without its end, LF or CRLF, valid until the next
// call. It returns io.EOF after the last line.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = l.readLong(line)
	}
	if err == errTooLong {
		return nil, l.tooLong()
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: cannot read line %d: %w", oneLine(l.file), l.n+1, err)
	}
	if err == io.EOF && len(line) == 0 {
		return nil, io.EOF
	}
	l.whole = err == nil
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.n == 0 {
		line = bytes.TrimPrefix(line, bom)
	}
	if len(line) > MaxLine {
		return nil, l.tooLong()
	}
	l.n++
	return line, nil
}

var errTooLong = errors.New("line too long")

// readLong gathers a line that the buffer cannot hold.
func (l *lineReader) readLong(head []byte) ([]byte, error) {
	l.long = append(l.long[:0], head...)
	for {
		more, err := l.r.ReadSlice('\n')
		l.long = append(l.long, more...)
		if err != bufio.ErrBufferFull {
			return l.long, err
		}
		if len(l.long) > MaxLine+2 {
			return nil, errTooLong
		}
	}
}

func (l *lineReader) tooLong() error {
	return &SyntaxError{
		File: l.file, Line: l.n + 1,
		Expected: "a line of at most " + strconv.Itoa(MaxLine) + " bytes", Found: "a longer one",
		Hint: "write one event a line, and long values as a digest of them",
	}
}
