package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"staleproof/model/history"
)

// Encode writes doc as JSON, which [Decode] reads: the file in which results
// wait for their report. It is described by [Schema], under "document". A
// history is a string in the format of [history.WriteAll]; one that only
// [Finding.Open] gives is left out. The same document gives the same bytes.
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
		return nil, fmt.Errorf("%s: expected a report in JSON, as %s writes it: %w", name, Format, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: expected the end of the file after the report; keep one report a file", name)
	}
	if err := doc.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return doc, nil
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
	h, err := history.ReadAll(strings.NewReader(e.History), "history")
	f.History = h
	return err
}
