package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stdinName is the argument that means the standard input.
const stdinName = "-"

// mustBeFile refuses what is no regular file: the reading of a pipe that nobody
// writes to never ends, nor does that of some devices. what is what the file
// should be, with its article.
func mustBeFile(path, what string) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return usagef("expected the name of %s, found \"\"", what)
	case errors.Is(err, fs.ErrNotExist):
		return usagef("%s: expected %s, found no such file; check the path", path, what)
	case err != nil:
		return usagef("%s: expected %s, found a file that cannot be opened (%v); check the path", path, what, cause(err))
	}
	if found := kindOf(info.Mode()); found != "" {
		return usagef("%s: expected %s, found %s", path, what, found)
	}
	return nil
}

// kindOf says what a file is that is no regular one, and what to do instead.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return ""
	case m.IsDir():
		return "a directory; name a file in it"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe; write it to a file first (check reads the standard input as -)"
	case m&fs.ModeSocket != 0:
		return "a socket; name a file"
	}
	return "a device; name a file"
}

// cause is what the system says, without the name of the call and of the file.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// openInput opens a file to be read as a whole; see mustBeFile.
func openInput(path, what string) (*os.File, error) {
	if err := mustBeFile(path, what); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("%s: expected %s, found a file that cannot be opened (%v); check its permissions", path, what, cause(err))
	}
	return f, nil
}

// noBlanks refuses flags that were given a blank value, as a script does whose
// variable is not set. Only --init may be an empty text.
func noBlanks(cmd *cobra.Command) error {
	var bad error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if bad == nil && f.Name != "init" && strings.TrimSpace(v) == "" {
				bad = usagef("--%s: expected a value, found %q", f.Name, v)
			}
		}
	})
	return bad
}

// eachOnce makes flags refuse a second value, but those that are lists.
func eachOnce(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if _, list := f.Value.(pflag.SliceValue); !list {
			f.Value = &single{Value: f.Value}
		}
	})
}

// single is the value of a flag that may be given once.
type single struct {
	pflag.Value
	given *string
}

func (s *single) Set(text string) error {
	if s.given != nil {
		return &givenTwice{*s.given}
	}
	s.given = &text
	return s.Value.Set(text)
}

// givenTwice is the error of a flag that has a value already.
type givenTwice struct{ first string }

func (e *givenTwice) Error() string { return fmt.Sprintf("expected it once, found %q before", e.first) }

// once refuses what is named twice.
func once(where, what string, names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return usagef("%s: expected each %s once, found %s twice", where, what, name)
		}
	}
	return nil
}
