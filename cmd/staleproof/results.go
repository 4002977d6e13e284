package main

import (
	"bytes"
	"errors"
	"io"
	"os"

	"staleproof/reports/lock"
	"staleproof/scenarios/search"
)

// keeper makes a search keep its blocks, and spares it those that are known.
type keeper func(*search.Fuzz)

// resultFile is --out: a block is written as soon as it has been run. The zero
// resultFile is none.
type resultFile struct {
	file  *os.File
	known *search.Results
}

// header says what is run.
func (o *fuzzOptions) header(trials []trial) search.ResultHeader {
	h := search.ResultHeader{Format: search.ResultFormat, Version: version, Strategy: string(o.strategy),
		From: o.seeds.from, To: o.seeds.to, Shards: max(1, o.shard.n)}
	if o.open {
		h.To = 0
	}
	for _, t := range trials {
		h.Trials = append(h.Trials, search.ResultTrial{Scenario: t.scenario.Name, Revision: t.scenario.Revision, Defect: t.defect()})
	}
	return h
}

// openResults opens --out for this search alone, reads what is in it and makes it end with a whole line.
func openResults(o *fuzzOptions, trials []trial) (*resultFile, error) {
	if o.out == "" {
		return &resultFile{}, nil
	}
	if info, err := os.Stat(o.out); err == nil && !info.Mode().IsRegular() {
		return nil, usagef("--out: expected a file that can be gone on with, found %s", kindOf(info.Mode()))
	}
	f, err := os.OpenFile(o.out, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, usage(err)
	}
	if !lock.File(f) { // until the process ends, however it does
		f.Close()
		return nil, usagef("--out: expected a file that no other search writes, found %s in use; wait for the other to end, or name another file", o.out)
	}
	r := &resultFile{file: f, known: search.NewResults(o.header(trials))}
	if err := r.resume(o.out); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

// resume reads the file, or begins it.
func (r *resultFile) resume(name string) error {
	text, err := io.ReadAll(r.file)
	if err != nil {
		return usage(err)
	}
	whole := int64(0)
	if first := bytes.IndexByte(text, '\n'); first >= 0 { // else it was killed before it wrote a line
		known, n, err := search.ReadResults(name, bytes.NewReader(text))
		if err != nil {
			return usage(err)
		}
		if err := r.known.Match(&known.Header); err != nil {
			return usagef("%s: the file is of another search: %w; name another file", name, err)
		}
		r.known, whole = known, n
	} else if len(text) > 0 && !bytes.HasPrefix(text, []byte(`{"format":"`+search.ResultFormat)) {
		return usagef("%s: expected a file of results, or none, found something else; name another file", name)
	}
	if err := r.file.Truncate(whole); err != nil {
		return usagef("%s: expected a file that can be continued: %w", name, err)
	}
	if _, err := r.file.Seek(whole, io.SeekStart); err != nil {
		return usage(err)
	}
	if whole > 0 {
		return nil
	}
	return r.write(r.known.Header.Line())
}

// write adds a line. What is left of one on a full disk, [resultFile.resume] cuts off.
func (r *resultFile) write(line []byte) error {
	_, err := r.file.Write(line)
	return unwritten(r.file.Name(), err)
}

// of keeps the blocks of a trial.
func (r *resultFile) of(trial int) keeper {
	return func(f *search.Fuzz) {
		if r.file == nil {
			return
		}
		f.Known = func(index int64) *search.Block { return r.known.Known(trial, f.Shard, index) }
		f.Block = func(b *search.Block) error { return r.write(search.ResultOf(trial, f, b).Line()) }
	}
}

// close may be called twice.
func (r *resultFile) close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return unwritten(r.file.Name(), err)
}
