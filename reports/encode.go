package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"staleproof/model/history"
)

// Encode writes doc as JSON, which [Decode] reads: the file in which results
// wait for their report. It is described by [Schema], under "document". A
// history is a string in the format of [history.WriteAll]; of one that only
// [Finding.Open] gives, what its page shows of it. The same document gives the
// same bytes.
func Encode(w io.Writer, doc *Document) error {
	if err := doc.validate(); err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Decode reads what [Encode] wrote. The name is the file's, for errors. It
// refuses fields that it does not know and documents of another format.
func Decode(r io.Reader, name string) (*Document, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	doc := &Document{}
	if err := d.Decode(doc); err != nil {
		return nil, fmt.Errorf("%s: expected a report in JSON, as %s writes it: %w; run the command again that wrote it with --result", name, Format, place(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: expected the end of the file after the report; keep one report a file", name)
	}
	if err := doc.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return doc, nil
}

// place adds where in the file an error is.
func place(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w at byte %d", err, e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("expected a %s in field %s, found a %s at byte %d", e.Type, e.Field, e.Value, e.Offset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the file is cut off")
	}
	return err
}

// bare is a Finding without its methods.
type bare Finding

// encodedFinding is a Finding in JSON.
type encodedFinding struct {
	*bare
	History string `json:"history,omitempty"`
}

// MarshalJSON writes the history as text, the rest field by field.
func (f Finding) MarshalJSON() ([]byte, error) {
	e := encodedFinding{bare: (*bare)(&f)}
	if f.History == nil && f.Open != nil {
		x, err := f.excerpt(maxWhole, maxWindows)
		if err != nil {
			return nil, err
		}
		if f.History = x.history; len(x.gaps) > 0 {
			f.Total, f.Holes = x.total, x.gaps
		}
	}
	if f.History != nil {
		var b bytes.Buffer
		if err := history.WriteAll(&b, f.History); err != nil {
			return nil, err
		}
		e.History = b.String()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return b.Bytes(), err
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Finding) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	e := encodedFinding{bare: (*bare)(f)}
	if err := d.Decode(&e); err != nil || e.History == "" {
		return err
	}
	read := history.ReadAll
	if f.Total > 0 {
		read = history.ReadExcerpt
	}
	h, err := read(strings.NewReader(e.History), "history")
	if err != nil {
		return err
	}
	f.History = h
	return f.checkHoles()
}

// checkHoles holds an excerpt to what it says that it leaves out.
func (f *Finding) checkHoles() error {
	n, last := int64(len(f.History.Events)), -1
	for _, h := range f.Holes {
		if h.Before <= last || h.Before > len(f.History.Events) || h.Events <= 0 {
			return fmt.Errorf("holes: expected places in a history of %d events, in order, each with the events left out there, found %d before event %d", len(f.History.Events), h.Events, h.Before)
		}
		n, last = n+h.Events, h.Before
	}
	if f.Total > 0 && n != f.Total || f.Total == 0 && len(f.Holes) > 0 {
		return fmt.Errorf("total: expected the %d events that the history has and leaves out, found %d", n, f.Total)
	}
	return nil
}
