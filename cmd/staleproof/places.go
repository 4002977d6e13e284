package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"staleproof/reports"
)

// place is where a flag wants something written; an empty path is none.
type place struct{ flag, path string }

// checkPlaces refuses, before any work is done, places that cannot be written to,
// and those that are something else that the command reads or writes. Inputs are
// the files that it reads; more are the places that only this command has.
func (a *app) checkPlaces(inputs []string, more ...place) error {
	dir := a.report.dir
	places := append([]place{{"--junit", a.report.junit}, {"--result", a.report.result}}, more...)
	for _, p := range places {
		if p.path == "" {
			continue
		}
		for _, check := range []func() error{p.check, func() error { return p.noPage(dir) }, func() error { return p.noInput(inputs) }, func() error { return p.noStream(&a.console) }} {
			if err := check(); err != nil {
				return err
			}
		}
	}
	summary := place{stepSummary, os.Getenv(stepSummary)}
	if err := summary.noInput(inputs); err != nil {
		return err
	}
	if err := apart(append(places, place{"--report", dir}, summary)); err != nil {
		return err
	}
	return checkFolder(dir, "index.html")
}

// checkFolder says whether --report can be a folder that has such a page; an empty
// path is none.
func checkFolder(dir, page string) error {
	if dir == "" {
		return nil
	}
	if err := named("--report", "a folder", dir); err != nil {
		return err
	}
	above := dir // the folder in which the first one will be made
	for {
		info, err := os.Stat(above)
		if err == nil && !info.IsDir() {
			return usagef("--report: expected a folder, found the file %s", above)
		}
		if up := filepath.Dir(above); err != nil && up != above {
			above = up
			continue
		}
		if err := mustBeWritable("--report", above, ".staleproof.*"); err != nil {
			return err
		}
		return usage(reports.Replaceable(filepath.Join(dir, page)))
	}
}

// named refuses -, which elsewhere is a standard stream: text for people, or lines
// for machines, are on the standard output already.
func named(flag, what, path string) error {
	if path == stdinName {
		return usagef("%s: expected the name of %s, found -; name one, or write ./- for one of that name", flag, what)
	}
	return nil
}

// check says whether a file can be written there.
func (p place) check() error {
	if err := named(p.flag, "a file", p.path); err != nil {
		return err
	}
	info, err := os.Stat(p.path)
	switch {
	case err == nil && info.IsDir():
		return usagef("%s: expected the name of a file, found the folder %s", p.flag, p.path)
	case err == nil && info.Mode()&os.ModeSocket != 0:
		return usagef("%s: expected the name of a file, found the socket %s", p.flag, p.path)
	case errors.Is(err, syscall.ELOOP):
		return usagef("%s: expected the name of a file, found %s: %v; name another", p.flag, p.path, cause(err))
	case err == nil && !info.Mode().IsRegular():
		return nil // written to directly
	}
	folder := filepath.Dir(target(p.path))
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return usagef("%s: expected a file in a folder that exists, found no folder %s; make it first", p.flag, folder)
	}
	return mustBeWritable(p.flag, folder, beside(p.path))
}

// noPage refuses a file that is, or will be, a page in the folder of --report.
func (p place) noPage(dir string) error {
	to := target(p.path)
	if dir != "" && reports.IsPage(filepath.Base(to)) && sameFile(filepath.Dir(to), dir) {
		return usagef("%s, --report: expected two places, found %s, which is the name of a page; name another", p.flag, p.path)
	}
	return nil
}

// noInput refuses a file that the command reads: what is written would destroy it.
func (p place) noInput(inputs []string) error {
	for _, name := range inputs {
		info, err := os.Stat(name)
		if name == stdinName {
			info, err = os.Stdin.Stat()
		}
		if err == nil && p.is(info) {
			return usagef("%s: expected a place of its own, found %s, which is read; name another", p.flag, p.path)
		}
	}
	return nil
}

// noStream refuses a file to which a standard stream goes: the one would replace
// the other.
func (p place) noStream(c *console) error {
	for _, s := range []*stream{c.stdout, c.stderr} {
		f, ok := s.w.(*os.File)
		if !ok {
			continue
		}
		if info, err := f.Stat(); err == nil && p.is(info) {
			return usagef("%s: expected a place of its own, found %s, to which the output of the command goes; name another", p.flag, p.path)
		}
	}
	return nil
}

// is says whether the place is a regular file that is there.
func (p place) is(other fs.FileInfo) bool {
	info, err := os.Stat(p.path)
	return err == nil && info.Mode().IsRegular() && os.SameFile(info, other)
}

// apart refuses two outputs at one place: the second would replace the first.
func apart(places []place) error {
	for i, p := range places {
		for _, q := range places[:i] {
			if p.path != "" && q.path != "" && sameFile(p.path, q.path) {
				return usagef("%s, %s: expected two places, found %s for both", q.flag, p.flag, p.path)
			}
		}
	}
	return nil
}

// sameFile says whether two paths are one folder, or one file that is, or will be,
// regular.
func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(x, y) && (x.Mode().IsRegular() || x.IsDir())
	}
	if err1 == nil || err2 == nil {
		return false
	}
	a, b = target(filepath.Clean(a)), target(filepath.Clean(b))
	x, err1 = os.Stat(filepath.Dir(a))
	y, err2 = os.Stat(filepath.Dir(b))
	if err1 == nil && err2 == nil {
		return os.SameFile(x, y) && filepath.Base(a) == filepath.Base(b)
	}
	return absolute(a) == absolute(b)
}

// absolute is a path from the root, as far as that can be told.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// maxLinks bounds how many symbolic links are followed.
const maxLinks = 40

// target is the file behind symbolic links, whether it is there yet or not.
func target(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(target(filepath.Dir(path)), to)
		}
		path = to
	}
	return path
}

// beside is the pattern of the name under which a file is written at first.
func beside(path string) string { return "." + filepath.Base(target(path)) + ".*" }

// mustBeWritable says whether a file can be made in a folder, by making one.
func mustBeWritable(flag, folder, pattern string) error {
	f, err := os.CreateTemp(folder, pattern)
	if err != nil {
		return usagef("%s: expected a place that can be written to, found %s: %v; name another", flag, folder, cause(err))
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}
