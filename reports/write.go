package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"staleproof/reports/lock"
)

// Write writes the report into the folder dir, which it creates when it is
// missing: index.html, a page for each finding, named
// run-<scenario>-<defect>-<property>.html, and one for each scenario. Pages that
// an earlier report left there are replaced, or removed where this one does not
// have them, so that no old verdict stands among the new ones; a page is known by
// its name and by what it says of its generator. Other files are left alone, and
// where one stands in the place of a page nothing is written: see [Replaceable].
//
// Every page is rendered before the first is written, and each is written
// beside its place and renamed, index.html last: a reader never sees half a
// page, nor a link to a page that is not there yet. Of two reports that are
// written to one folder at the same time, the second waits for the first, and
// replaces it. The error says which file could not be written.
func Write(dir string, doc *Document) error {
	if err := doc.validate(); err != nil {
		return err
	}
	pages, err := render(doc)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: expected a folder to write to: %w", err)
	}
	locked, err := lock.Folder(dir)
	if err != nil {
		return fmt.Errorf("report: expected a folder to write to: %w", err)
	}
	defer locked.Close()
	for _, p := range pages {
		if err := Replaceable(filepath.Join(dir, p.name)); err != nil {
			return err
		}
	}
	for _, p := range pages {
		if err := writeFile(filepath.Join(dir, p.name), p.body); err != nil {
			return err
		}
	}
	return sweep(dir, pages)
}

// marker is in the first lines of every page, which are at most markerWithin
// bytes.
const (
	marker       = `<meta name="generator" content="staleproof report">`
	markerWithin = 512
)

// pageName is how the pages of Write are named, index.html excepted.
var pageName = regexp.MustCompile(`^(run|scenario)-[a-z0-9-]+\.html$`)

// IsPage says whether [Write] or [WriteDiff] may give a page that name.
func IsPage(name string) bool {
	return name == "index.html" || name == "diff.html" || pageName.MatchString(name)
}

// Replaceable returns an error where a page cannot be written at path because
// something stands there that is no page of an earlier report, and so somebody's
// own.
func Replaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && marked(path) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("report: expected a place for a page: %w", err)
	}
	return fmt.Errorf("report: expected no %s, or that of an earlier report, found one that staleproof did not write; move it, or name another folder", path)
}

// sweep removes the pages of an earlier report that are not among pages.
func sweep(dir string, pages []page) error {
	keep := map[string]bool{}
	for _, p := range pages {
		keep[p.name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if keep[e.Name()] || !e.Type().IsRegular() || !pageName.MatchString(e.Name()) || !marked(path) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("report: expected to remove the page of an earlier report: %w", err)
		}
	}
	return nil
}

// marked says whether the file at path is a page of a report.
func marked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, markerWithin)
	n, _ := io.ReadFull(f, head)
	return bytes.Contains(head[:n], []byte(marker))
}

// page is a rendered file.
type page struct {
	name string
	body []byte
}

// render makes all pages of a document, index.html last.
func render(doc *Document) ([]page, error) {
	names := pageNames(doc)
	var pages []page
	for r := range doc.Runs {
		for f := range doc.Runs[r].Findings {
			var b bytes.Buffer
			if err := renderFinding(&b, doc, r, f, names[r]); err != nil {
				return nil, fmt.Errorf("report: %s: %w", names[r][f], err)
			}
			pages = append(pages, page{names[r][f], legible(b.Bytes())})
		}
	}
	scenarios := scenarioNames(doc)
	done := map[string]bool{}
	for r := range doc.Runs {
		s := doc.Runs[r].Scenario
		if done[s] {
			continue
		}
		done[s] = true
		var b bytes.Buffer
		if err := renderScenario(&b, doc, s, names); err != nil {
			return nil, fmt.Errorf("report: %s: %w", scenarios[s], err)
		}
		pages = append(pages, page{scenarios[s], legible(b.Bytes())})
	}
	var b bytes.Buffer
	if err := renderSuite(&b, doc, names); err != nil {
		return nil, fmt.Errorf("report: index.html: %w", err)
	}
	return append(pages, page{"index.html", legible(b.Bytes())}), nil
}

// legible replaces what no page should hold, however it got into a history:
// bytes that are no UTF-8, control characters, and the marks that turn the
// direction of text, with which a name could rewrite the sentence around it.
func legible(body []byte) []byte { return bytes.Map(legibleRune, body) }

// legibleText does the same to a string.
func legibleText(s string) string { return strings.Map(legibleRune, s) }

func legibleRune(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return '\uFFFD'
	}
	return r // bytes.Map and strings.Map have made U+FFFD of what is no UTF-8
}

// writeFile puts body at path as a whole or not at all.
func writeFile(path string, body []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := finish(f, path, body); err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("report: expected to write %s: %w", path, err)
	}
	return nil
}

func finish(f *os.File, path string, body []byte) error {
	_, err := io.Copy(f, bytes.NewReader(body))
	if err == nil {
		// CreateTemp makes files that only their owner reads; a report is for
		// a web server or a CI archive to read.
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// pageNames names the page of each finding of each run. Names are lower case,
// safe in any file system and URL, and differ from each other even where two
// scenarios have names that look alike once made safe.
func pageNames(doc *Document) [][]string {
	taken := map[string]bool{"index.html": true}
	names := make([][]string, len(doc.Runs))
	for i := range doc.Runs {
		run := &doc.Runs[i]
		names[i] = make([]string, len(run.Findings))
		for j := range run.Findings {
			stem := "run-" + safe(run.Scenario) + "-" + safe(run.defect()) + "-" + safe(run.Findings[j].Property)
			name := stem + ".html"
			for n := 2; taken[name]; n++ {
				name = stem + "-" + strconv.Itoa(n) + ".html"
			}
			taken[name] = true
			names[i][j] = name
		}
	}
	return names
}

// safe keeps letters, digits and single hyphens of s, at most 48 of them.
func safe(s string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 48 {
			break
		}
	}
	if out := strings.Trim(b.String(), "-"); out != "" {
		return out
	}
	return "unnamed"
}
