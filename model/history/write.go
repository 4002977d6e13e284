package history

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// WriteAll writes the history as JSON Lines: one object a line, the header
// first, as in
//
//	{"format":"staleproof.history/1","scenario":"textbook","timing":"timed","ttl":10000000000,"rho":200,"epsilon":0,"scopes":"per-resource"}
//	{"index":12,"time":30500000,"process":"B","type":"invoke","f":"write","op":5,"resource":"orders/7","token":42,"value":9}
//	{"index":15,"time":31700000,"process":"store","type":"note","f":"apply","op":5,"resource":"orders/7","token":42,"highest":42}
//	{"index":17,"time":32000000,"process":"B","type":"ok","f":"write","op":5,"resource":"orders/7","token":42,"value":9}
//
// The fields are those of [Event], in one fixed order: index, time, process,
// type, f, op, resource, scope, token, highest, lease, owner, generation,
// value, expect, seq, prepared, basis, expires, until, rejections, error,
// client, to, message, copy, text. The first five are always there, the others
// where they are not zero. A value is a JSON number, string or null, or any
// other JSON value ([Raw]). An end names the resource and the scope that its
// invoke names; see [Validator]. The fields of the header are those of [Header], the
// format first; the others may be left out. The same history gives the same bytes.
//
// Text is written as UTF-8; a byte that is none becomes U+FFFD.
//
// An event without a known type and f, a raw value that is no JSON and a line
// above [MaxLine] are errors; nothing of that event is written.
func WriteAll(w io.Writer, h *History) error {
	out := NewWriter(w, h.Header)
	for i := range h.Events {
		if err := out.Write(&h.Events[i]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Writer writes a history one event at a time; see [WriteAll] for the format.
type Writer struct {
	w    *bufio.Writer
	line []byte
	json parser // of raw values
	err  error  // the first one; every later call returns it
}

// NewWriter returns a writer that begins with the header, whose Format may be
// left empty. The errors of the header come with the next call.
func NewWriter(w io.Writer, header Header) *Writer {
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	if header.Format == "" {
		header.Format = Format
	}
	if header.Format != Format {
		out.err = fmt.Errorf("expected a header of format %q, found %q", Format, header.Format)
		return out
	}
	out.line = appendHeader(out.line, &header)
	if len(out.line) > MaxLine {
		out.err = fmt.Errorf("expected a header of at most %d bytes, found %d", MaxLine, len(out.line))
		return out
	}
	out.writeLine()
	return out
}

// Write writes one event.
func (w *Writer) Write(e *Event) error {
	if w.err != nil {
		return w.err
	}
	w.line, w.err = w.appendEvent(w.line[:0], e)
	if w.err == nil && len(w.line) > MaxLine {
		w.err = fmt.Errorf("event %d: expected a line of at most %d bytes, found %d; write a digest of long values", e.Index, MaxLine, len(w.line))
	}
	if w.err == nil {
		w.writeLine()
	}
	return w.err
}

// Flush passes on what is still in memory, and returns the first error there was.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

func (w *Writer) writeLine() {
	w.line = append(w.line, '\n')
	_, w.err = w.w.Write(w.line)
}

// appendHeader leaves zero fields out, but not the bounds of a simulated run,
// where 0 is a declaration.
func appendHeader(b []byte, h *Header) []byte {
	b = append(b, `{"format":`...)
	b = appendString(b, h.Format)
	b = appendText(b, `,"scenario":`, h.Scenario)
	b = appendText(b, `,"replay":`, h.Replay)
	b = appendText(b, `,"timing":`, h.Timing)
	if simulated := h.Timing != ""; simulated {
		b = strconv.AppendInt(append(b, `,"ttl":`...), h.TTL, 10)
		b = strconv.AppendInt(append(b, `,"rho":`...), h.Rho, 10)
		b = strconv.AppendInt(append(b, `,"epsilon":`...), h.Epsilon, 10)
	} else {
		b = appendInt(b, `,"ttl":`, h.TTL)
		b = appendInt(b, `,"rho":`, h.Rho)
		b = appendInt(b, `,"epsilon":`, h.Epsilon)
	}
	b = appendText(b, `,"scopes":`, h.Scopes)
	b = appendText(b, `,"fence":`, h.Fence)
	return append(b, '}')
}

func (w *Writer) appendEvent(b []byte, e *Event) ([]byte, error) {
	typ, f := nameOf(typeNames[:], uint8(e.Type)), nameOf(fNames[:], uint8(e.F))
	if typ == "" || f == "" {
		return b, fmt.Errorf("event %d: expected a known type and f, found %v %v", e.Index, e.Type, e.F)
	}
	b = strconv.AppendInt(append(b, `{"index":`...), e.Index, 10)
	b = strconv.AppendInt(append(b, `,"time":`...), e.Time, 10)
	b = appendString(append(b, `,"process":`...), e.Process)
	b = append(append(b, `,"type":"`...), typ...)
	b = append(append(b, `","f":"`...), f...)
	b = append(b, '"')
	b = appendInt(b, `,"op":`, e.Op)
	b = appendText(b, `,"resource":`, e.Resource)
	b = appendText(b, `,"scope":`, e.Scope)
	b = appendInt(b, `,"token":`, int64(e.Token))
	b = appendInt(b, `,"highest":`, int64(e.Highest))
	b = appendText(b, `,"lease":`, e.Lease)
	b = appendText(b, `,"owner":`, e.Owner)
	b = appendInt(b, `,"generation":`, e.Generation)
	b, err := w.appendValue(b, `,"value":`, &e.Value)
	if err != nil {
		return b, fmt.Errorf("event %d: value: %w", e.Index, err)
	}
	if b, err = w.appendValue(b, `,"expect":`, &e.Expect); err != nil {
		return b, fmt.Errorf("event %d: expect: %w", e.Index, err)
	}
	b = appendInt(b, `,"seq":`, e.Seq)
	b = appendInt(b, `,"prepared":`, int64(e.Prepared))
	b = appendInt(b, `,"basis":`, e.Basis)
	b = appendInt(b, `,"expires":`, e.Expires)
	b = appendInt(b, `,"until":`, e.Until)
	b = appendInt(b, `,"rejections":`, e.Rejections)
	b = appendText(b, `,"error":`, e.Error)
	b = appendText(b, `,"client":`, e.Client)
	b = appendText(b, `,"to":`, e.To)
	b = appendInt(b, `,"message":`, e.Message)
	b = appendInt(b, `,"copy":`, e.Copy)
	b = appendText(b, `,"text":`, e.Text)
	return append(b, '}'), nil
}

func (w *Writer) appendValue(b []byte, name string, v *Value) ([]byte, error) {
	switch v.Kind {
	case Absent:
		return b, nil
	case Nil:
		return append(append(b, name...), "null"...), nil
	case Int:
		return strconv.AppendInt(append(b, name...), v.Num, 10), nil
	case Text:
		return appendString(append(b, name...), v.Str), nil
	case Raw:
		raw, err := w.json.compact(v.Str)
		return append(append(b, name...), raw...), err
	}
	return b, fmt.Errorf("expected a known kind, found kind %d", v.Kind)
}

// appendInt appends the field unless it is zero. The name comes as it stands
// in the file: `,"op":`.
func appendInt(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, name...), n, 10)
}

// appendText appends the field unless it is empty.
func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, name...), s)
}

// appendString appends s as a JSON string. It escapes what JSON demands and
// nothing else.
func appendString[T string | []byte](b []byte, s T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	done := 0 // everything before has been appended
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		b = append(b, s[done:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&15])
		default:
			b = utf8.AppendRune(b, utf8.RuneError)
		}
		i += size
		done = i
	}
	return append(append(b, s[done:]...), '"')
}
