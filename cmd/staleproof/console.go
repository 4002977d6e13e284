package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/mattn/go-isatty"

	"staleproof/model/history"
)

// width is how wide text for people is at most; replay commands, which must be
// copied whole, may be longer.
const width = 80

// console prints: text for people, and lines for machines.
type console struct {
	stdout, stderr *stream
	json, quiet    bool
	color          colorFlag
	status         *status
	colored        bool
}

func newConsole(stdout, stderr io.Writer) console {
	c := console{stdout: &stream{w: stdout}, stderr: &stream{w: stderr}, color: "auto"}
	c.status = &status{w: stderr, tty: isTerminal(stderr)}
	return c
}

// open settles how to print once the flags are known.
func (c *console) open() error {
	c.status.off = c.quiet
	switch c.color {
	case "always":
		c.colored = true
	case "auto":
		c.colored = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(c.text().w)
	}
	return nil
}

// text is where text for people goes.
func (c *console) text() *stream {
	if c.json {
		return c.stderr
	}
	return c.stdout
}

// printf prints text for people. It escapes control characters, as names and values of
// a history may hold any, and keeps the styles where output is colored.
func (c *console) printf(format string, args ...any) {
	c.status.clear()
	io.WriteString(c.text(), c.printable(fmt.Sprintf(format, args...)))
}

var styles = regexp.MustCompile(`\x1b\[(0|1|2|31|32|33)m`)

// printable is [history.Printable] that leaves styles alone where there are any.
func (c *console) printable(text string) string {
	if !c.colored {
		return history.Printable(text)
	}
	var b strings.Builder
	end := 0
	for _, at := range styles.FindAllStringIndex(text, -1) {
		b.WriteString(history.Printable(text[end:at[0]]) + text[at[0]:at[1]])
		end = at[1]
	}
	return b.String() + history.Printable(text[end:])
}

// onLine makes a text printable on one line, without a change of its spaces.
func onLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(history.Printable(text))
}

// gap leaves a line blank before what comes next, unless one is.
func (c *console) gap() {
	if s := c.text(); s.lines > 0 && !s.blank {
		c.printf("\n")
	}
}

// fail prints an error.
func (c *console) fail(err error) {
	c.status.clear()
	fmt.Fprintf(c.stderr, "staleproof: %s\n", message(err))
}

// brokenStream returns the first error of writing to stdout.
func (c *console) brokenStream() error {
	if c.stdout.err != nil {
		return usagef("expected to write to the standard output: %w", cause(c.stdout.err))
	}
	return nil
}

// stream remembers the first error of writing, and whether it ends with a blank
// line.
type stream struct {
	w     io.Writer
	err   error
	lines int
	blank bool
}

func (s *stream) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.lines += bytes.Count(b, []byte("\n"))
	s.blank = bytes.HasSuffix(b, []byte("\n\n")) || string(b) == "\n"
	if s.err == nil {
		s.err = err
	}
	return n, err
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// colorFlag is --color.
type colorFlag string

func (c *colorFlag) String() string { return string(*c) }
func (c *colorFlag) Type() string   { return "WHEN" }

func (c *colorFlag) Set(s string) error {
	switch s {
	case "auto", "always", "never":
		*c = colorFlag(s)
		return nil
	}
	return fmt.Errorf("expected auto, always or never")
}

// Styles of text, as ANSI attributes.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// style colours text on a terminal; the text must not hold what is padded.
func (c *console) style(attribute, text string) string {
	text = onLine(text)
	if !c.colored || text == "" {
		return text
	}
	return "\x1b[" + attribute + "m" + text + "\x1b[0m"
}

// padded styles text and fills it up to n columns.
func (c *console) padded(attribute, text string, n int) string {
	return c.style(attribute, text) + strings.Repeat(" ", max(0, n-len(text)))
}

// wrap breaks text into lines of at most width columns; the first line stands
// behind first, the others behind rest.
func wrap(first, rest, text string) string { return wrapWords(first, rest, words(text)) }

// words returns the words of a text. Only spaces, tabs and line feeds end a word.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
}

// wrapWords breaks between words, which may hold spaces, and makes them printable.
func wrapWords(first, rest string, words []string) string {
	var b strings.Builder
	line := first
	begun := false
	for _, word := range words {
		word = onLine(word)
		if begun && columns(line)+1+columns(word) > width {
			b.WriteString(line + "\n")
			line, begun = rest, false
		}
		if begun {
			line += " "
		}
		line += word
		begun = true
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

func columns(s string) int { return len([]rune(s)) }

// count writes a number with a comma between thousands.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

var longNumber = regexp.MustCompile(`\b[0-9]{4,18}\b`)

// grouped writes the numbers of a text as count does.
func grouped(text string) string {
	return longNumber.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return s
		}
		return count(n)
	})
}

// number writes a number and a noun, in the plural unless it is 1.
func number(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return count(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return count(n) + " " + noun + "s"
}
