package history

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
)

// headSize is how much of a file is looked at to recognise its format.
const headSize = 1 << 16

// format is one way to write a history down.
type format struct {
	name string // for --format
	what string // for messages
	// recognise looks at the beginning of a file, without byte order mark and
	// leading white space.
	recognise func(head []byte) bool
	// open begins to read.
	open func(r io.Reader, file string, how *Reading) (Source, error)
}

// formats has every format, each recognised before the ones below it. A new
// format is a line here and a Source.
var formats = []format{
	{"staleproof", "JSON Lines of " + Format, isStaleproof, openReader},
	{"edn", "EDN of Jepsen", isEDN, openEDN},
	{"jepsen-json", "JSON of Jepsen", isJepsenJSON, openJepsenJSON},
	{"jepsen-log", "log lines of Jepsen", isJepsenLog, openJepsenLog},
}

func openReader(r io.Reader, file string, _ *Reading) (Source, error) {
	source, err := NewReader(r, file)
	if err != nil {
		return nil, err // not a Source that holds a nil *Reader
	}
	return source, nil
}

// Formats returns the names of the formats that can be read:
//
//	staleproof    the lines of [WriteAll]
//	edn           EDN of Jepsen and Knossos: a vector or a list of maps, or one map after another
//	jepsen-json   JSON with the same fields: an array of objects, or one object after another
//	jepsen-log    the lines that Jepsen logs about its operations
//
// The operations of Jepsen's tests become these events:
//
//	:read :write :cas :delete      the same; [old new] of a :cas is Expect and Value
//	:acquire :lock                 Acquire
//	:renew :refresh                Renew
//	:release :unlock               Release
//	:read-operation                Acquire, whose Token is the answer
//
// A read's value is its answer; of an invoke, a fail or an info it means
// nothing. The ok of a read and the invoke of a write must have a value, even
// if it is nil: one that lacks it is damaged, and so is the line of a log that
// ends before its value. Values are integers, texts (strings, keywords, symbols) and nil; any
// other is [Raw]. In EDN equal values have one form: vectors and lists are
// arrays; maps are objects, in the order of their keys; a set #{2 1} is
// {"#set":[1,2]}, and a tagged #inst "x" is {"#inst":"x"}. An integer beyond 64
// bits, a ratio, ##NaN, a pattern and a character are texts, and so is, as it
// stands in the file, a value nested more than 100 deep.
//
// Beside the value an operation may have these fields, under other names too:
//
//	:token, :fence, :fencing-token   Token: an integer from 1
//	:lease, :lease-id                Lease
//	:key, :resource, :name           Resource
//	:lock, :lock-name                the Resource of an operation on a lock, the Scope of another
//	:owner, :client, :holder         Client, of what follows too; of what failed, Owner: who has the lock
//	:highest                         Highest: the greatest token that the store had accepted
//
// Hyphens, underscores and capitals do not count. Its end need not repeat what the
// invoke says. Fields that say nothing of what an operation did are skipped
// (:node :latency :debug :exception :link and some more), and so are those that
// [Reading] names. Any other field of a client's operation is an error: it may
// change the verdict.
//
// The value of an operation on a lock names the lock when it is invoked, unless a
// field does: that is the Resource, of its end too. It may be a map of the fields
// above. What an ok answers is
//   - nothing, nil, true, "true" or the lock's name again: it was done;
//   - false, "false" or "": it was refused, which is a Fail with the Error
//     "refused" (AtlasDB's clients answer so when the lease is lost);
//   - an integer above 0: the fencing token;
//   - another text: the identity of the lease;
//   - a map of the fields above (Hazelcast's clients answer so).
//
// The values of jepsen.independent's tests are [key value], of a cas [key [old new]]:
// key is the Resource. A history is read so when a read that is invoked with [key
// nil], or the tag of a MapEntry, tells. Then all operations must be so; see
// [Reading]. Where the value of an operation
// on a lock is [name nil] it is that of [name answer] too.
//
// Data that name no resource have the Scope of the first lock that was named
// before them: it is taken to protect them. Where there are several locks, data
// with tokens have to name what they are about.
//
// A :read-operation takes the next timestamp of a timestamp service. Each is
// handed out once, as a lease manager hands out tokens, and so it is an
// Acquire: of no lease that anybody gives back, and of no resource. Its Token
// must obey what the token of any acquisition must. (The Token of a Read is one
// that the client presents, which this is not.)
//
// What a nemesis does is a Note where its name or its value says what it is,
// and is skipped where not. The same holds for an info of a process that is no
// number and has no operation open: it needs no invoke.
//
// Index is :index, or where there is none the number of the entry from 0, as
// Jepsen gives it; in a log it is the number of the line. Time is :time, in
// nanoseconds. Error is :error, or what a failed operation has in the place of
// its value. Jepsen gives a client whose operation ended in an info another
// process number, so Process names who runs one operation at a time, and Client
// stays empty unless a field names it.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Detect recognises a history's format from the beginning of the file (64 KiB
// are enough) and returns its name. The error is a *SyntaxError without a file.
func Detect(head []byte) (string, error) {
	f, err := detect(head)
	if err != nil {
		return "", err
	}
	return f.name, nil
}

func detect(head []byte) (*format, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n")
	if len(text) == 0 {
		return nil, &SyntaxError{Expected: "a history", Found: "an empty file", Hint: "record the history again"}
	}
	for i := range formats {
		if f := &formats[i]; f.recognise(text) {
			return f, nil
		}
	}
	found, hint := "a file that begins with "+quote(firstLine(text)), "write the beginning and the end of each operation on a line, as "+exampleJSON+"; staleproof check --help shows more, and --format names a format"
	switch {
	case InUTF16(head):
		found, hint = inUTF16, asUTF8
	case bytes.IndexByte(head, 0) >= 0:
		found, hint = "binary data", "unpack the file if it is an archive, or record the history again"
	}
	return nil, &SyntaxError{Expected: "a history (" + readable() + ")", Found: found, Hint: hint}
}

// readable lists the formats that are read, for messages.
func readable() string {
	text := ""
	for _, f := range formats {
		if text != "" {
			text += ", or "
		}
		text += f.name + ": " + f.what
	}
	return text
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// Reading says how to read a history. The zero Reading recognises the format.
type Reading struct {
	// Format is the name of a format (see [Formats]); empty or "auto" recognises it
	// from the content.
	Format string
	// Ignore names fields of Jepsen's operations that are not read.
	Ignore []string
	// Independent says whether the values of Jepsen's operations are [key value],
	// as jepsen.independent has them: yes, no, or empty to find out.
	Independent string
}

// NewSource begins to read a history. The file's name is for errors.
func NewSource(r io.Reader, file string, how Reading) (Source, error) {
	b := bufio.NewReaderSize(r, headSize)
	f, err := chooseFormat(b, how.Format)
	if err != nil {
		if e, ok := err.(*SyntaxError); ok {
			e.File = file
			return nil, err
		}
		return nil, fmt.Errorf("%s: cannot read: %w", oneLine(file), err)
	}
	return f.open(b, file, &how)
}

func chooseFormat(b *bufio.Reader, name string) (*format, error) {
	if name == "" || name == "auto" {
		head, err := b.Peek(headSize)
		if err != nil && err != io.EOF {
			return nil, err
		}
		return detect(head)
	}
	var names []string
	for i := range formats {
		if formats[i].name == name {
			if head, _ := b.Peek(4); InUTF16(head) {
				return nil, &SyntaxError{Expected: "a history", Found: inUTF16, Hint: asUTF8}
			}
			return &formats[i], nil
		}
		names = append(names, formats[i].name)
	}
	hint := ""
	if near := nearest(name, names); near != "" {
		hint = "did you mean " + strconv.Quote(near) + "?"
	}
	return nil, &SyntaxError{Expected: "a format (" + list(names) + ")", Found: quote(name), Hint: hint}
}

// File is a history that is being read from a file.
type File struct {
	Source
	file *os.File
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// OpenFile opens a file for reading event by event. A file that is missing, is a
// directory or is no history is a *SyntaxError.
func OpenFile(path string, how Reading) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		found := "a file that cannot be opened (" + err.Error() + ")"
		if os.IsNotExist(err) {
			found = "no such file"
		}
		return nil, &SyntaxError{File: path, Expected: "a history", Found: found, Hint: "check the path", Err: err}
	}
	source, err := newFileSource(file, path, how)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &File{Source: source, file: file}, nil
}

func newFileSource(file *os.File, path string, how Reading) (Source, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &SyntaxError{File: path, Expected: "a history", Found: "a directory", Hint: "name a file in it"}
	}
	return NewSource(file, path, how)
}

// Open reads a whole history from a file; see [OpenFile].
func Open(path string, how Reading) (*History, error) {
	file, err := OpenFile(path, how)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Gather(file)
}

// isStaleproof looks for a JSON object whose first field is the header's or an
// event's own: without a header the reader says so better than a guess would.
// Jepsen's operations may begin with an index too, but their processes are
// numbers.
func isStaleproof(head []byte) bool {
	return firstKey(head, `"format"`) || firstKey(head, `"index"`) && !numberedProcess.Match(firstLine(head))
}

var numberedProcess = regexp.MustCompile(`"process"\s*:\s*-?[0-9]`)

// firstKey says whether the text is an object that begins with that name.
func firstKey(head []byte, name string) bool {
	rest, ok := bytes.CutPrefix(head, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(name))
}

// isJepsenLog looks for one line that is an operation.
func isJepsenLog(head []byte) bool {
	for len(head) > 0 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\n"))
		if _, ok := findLogOperation(line); ok {
			return true
		}
	}
	return false
}

// isEDN looks for a map of keywords, alone or in a vector or a list, below
// comments and after what may stand before it: a tag, metadata, or something taken out.
func isEDN(head []byte) bool {
	brackets := 0
	for len(head) > 0 {
		switch c := head[0]; {
		case c == ';':
			_, head, _ = bytes.Cut(head, newline)
		case ednClass[c] == ednBlank || c == '\n':
			head = head[1:]
		case ednClass[c] == ednOpen:
			brackets++
			head = head[1:]
		case c == ')':
			return brackets == 1 // an empty history
		case c == ':':
			return brackets > 0
		case c == '^':
			return true
		case c == '#' && len(head) > 1 && (head[1] == '_' || head[1] == ':' || head[1]|0x20 >= 'a' && head[1]|0x20 <= 'z'):
			return true
		default:
			return false
		}
	}
	return false
}

// isJepsenJSON looks for an object of names, alone or in an array.
func isJepsenJSON(head []byte) bool {
	if rest, ok := bytes.CutPrefix(head, []byte("[")); ok {
		head = bytes.TrimLeft(rest, " \t\r\n")
		if bytes.HasPrefix(head, []byte("]")) {
			return true // an empty history
		}
	}
	rest, ok := bytes.CutPrefix(head, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"`))
}
