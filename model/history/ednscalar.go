package history

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string that begins here, with Clojure's escapes. The bytes are
// valid until the next call.
func (p *ednParser) str() []byte {
	from := p.at + 1
	for i, c := range p.buf[from:] {
		if c == '"' {
			p.at = from + i + 1
			return p.buf[from : from+i]
		}
		if c == '\\' {
			break
		}
	}
	p.text = p.text[:0]
	for i := from; ; i++ {
		switch c := p.buf[i]; c {
		case '"':
			p.at = i + 1
			return p.text
		case '\\':
			i += p.unescape(p.buf[i:]) - 1
		default:
			p.text = append(p.text, c)
		}
	}
}

// unescape appends what the escape at the beginning of the text means, and
// returns its length. One that Clojure does not know stays as it is.
func (p *ednParser) unescape(text []byte) int {
	switch c := text[1]; c {
	case '"', '\\':
		p.text = append(p.text, c)
	case 'n':
		p.text = append(p.text, '\n')
	case 'r':
		p.text = append(p.text, '\r')
	case 't':
		p.text = append(p.text, '\t')
	case 'b':
		p.text = append(p.text, '\b')
	case 'f':
		p.text = append(p.text, '\f')
	case 'u':
		r, ok := hexRune(text)
		if !ok {
			p.text = append(p.text, text[:2]...)
			return 2
		}
		if utf16.IsSurrogate(r) {
			low, ok := hexRune(text[6:])
			if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
				p.text = utf8.AppendRune(p.text, r)
				return 12
			}
		}
		p.text = utf8.AppendRune(p.text, r)
		return 6
	default:
		p.text = append(p.text, text[:2]...)
	}
	return 2
}

// ednCharacter returns what a character such as \a, \newline or \u0041 stands
// for.
func ednCharacter(word []byte) []byte {
	switch name := string(word[1:]); name {
	case "newline":
		return []byte("\n")
	case "space":
		return []byte(" ")
	case "tab":
		return []byte("\t")
	case "return":
		return []byte("\r")
	case "backspace":
		return []byte("\b")
	case "formfeed":
		return []byte("\f")
	}
	if r, ok := hexRune(word); ok && len(word) == len(`\u0041`) {
		return utf8.AppendRune(nil, r)
	}
	return word[1:]
}

// number reads the word as a number of EDN, or of Clojure, and returns false
// when it is none.
func (p *ednParser) number(word []byte, to *Value) bool {
	p.text = append(p.text[:0], bytes.TrimPrefix(word, []byte("+"))...)
	digits := bytes.TrimPrefix(p.text, []byte("-"))
	whole := bytes.TrimSuffix(bytes.TrimSuffix(digits, []byte("N")), []byte("M"))
	switch {
	case allDigits(whole) && (len(whole) == 1 || whole[0] != '0'):
		*to = p.wholeNumber(p.text[:len(p.text)-len(digits)+len(whole)])
		return true
	case bytes.IndexByte(digits, '/') > 0:
		return p.ratio(to)
	case isDecimal(whole):
		*to = Value{Kind: Raw, Str: p.strings.get(p.jsonNumber(p.text[:len(p.text)-len(digits)], whole))}
		return true
	}
	return p.radix(whole, to)
}

func allDigits(text []byte) bool {
	for _, c := range text {
		if !isDigit(c) {
			return false
		}
	}
	return len(text) > 0
}

// wholeNumber returns the integer, or its digits as a text beyond 64 bits.
func (p *ednParser) wholeNumber(text []byte) Value {
	p.json.reset(text)
	if n, ok, err := p.json.whole(); ok && err == nil {
		return IntValue(n)
	}
	return TextValue(p.valid(text))
}

// ratio reads p.text as a ratio, which it reduces where both numbers fit.
func (p *ednParser) ratio(to *Value) bool {
	over, under, _ := bytes.Cut(p.text, []byte("/"))
	if !allDigits(bytes.TrimPrefix(over, []byte("-"))) || !allDigits(under) {
		return false
	}
	*to = TextValue(p.valid(p.text))
	n, err := strconv.ParseInt(string(over), 10, 64)
	d, err2 := strconv.ParseInt(string(under), 10, 64)
	if err != nil || err2 != nil || d == 0 || n == -1<<63 {
		return true
	}
	g := d // of the absolute values, by Euclid
	for m := max(n, -n); m != 0; {
		g, m = m, g%m
	}
	if n, d = n/g, d/g; d == 1 {
		*to = IntValue(n)
		return true
	}
	*to = TextValue(strconv.FormatInt(n, 10) + "/" + strconv.FormatInt(d, 10))
	return true
}

// isDecimal says whether the text has a fraction, an exponent or both after its
// digits.
func isDecimal(text []byte) bool {
	rest := bytes.TrimLeft(text, "0123456789")
	if after, ok := bytes.CutPrefix(rest, []byte(".")); ok {
		if rest = bytes.TrimLeft(after, "0123456789"); len(rest) == 0 {
			return true
		}
	}
	if len(rest) == 0 || rest[0]|0x20 != 'e' {
		return false
	}
	rest = rest[1:]
	if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return allDigits(rest)
}

// jsonNumber writes a decimal number in the way that JSON demands: without
// zeros in front, and with digits after the point.
func (p *ednParser) jsonNumber(sign, text []byte) []byte {
	for len(text) > 1 && text[0] == '0' && isDigit(text[1]) {
		text = text[1:]
	}
	p.decimal = append(append(p.decimal[:0], sign...), text...)
	point := bytes.IndexByte(p.decimal, '.') + 1
	if point > 0 && (point == len(p.decimal) || !isDigit(p.decimal[point])) {
		p.decimal = slices.Insert(p.decimal, point, '0')
	}
	return p.decimal
}

// radix reads what Clojure has beyond EDN: 0x1F, 017 and 2r101.
func (p *ednParser) radix(digits []byte, to *Value) bool {
	text, base := digits, 8
	before, after, found := bytes.Cut(bytes.ToLower(digits), []byte("r"))
	switch {
	case digits[0] == '0' && len(digits) > 2 && digits[1]|0x20 == 'x':
		text, base = digits[2:], 16
	case found:
		b, err := strconv.Atoi(string(before))
		if err != nil || b < 2 || b > 36 {
			return false
		}
		text, base = after, b
	case digits[0] != '0':
		return false
	}
	u, err := strconv.ParseUint(string(text), base, 63)
	if errors.Is(err, strconv.ErrRange) {
		*to = TextValue(p.valid(p.text))
		return true
	}
	if n := int64(u); p.text[0] == '-' {
		*to = IntValue(-n)
	} else {
		*to = IntValue(n)
	}
	return err == nil
}

// ednFound names what stands at the beginning of the text.
func ednFound(text []byte) string {
	if len(text) == 0 {
		return "nothing"
	}
	switch c := text[0]; {
	case c == '{':
		return "a map"
	case c == '[':
		return "a vector"
	case c == '(':
		return "a list"
	case c == '#' && len(text) > 1 && text[1] == '{':
		return "a set"
	case c == '#' && len(text) > 1 && text[1] == '"':
		return "a pattern"
	case c == '"':
		return "the string " + quote(text[1:stringEnd(text)])
	case ednClass[c] != ednWord:
		return strconv.QuoteRune(rune(c))
	}
	n := 0
	for n < len(text) && ednClass[text[n]] == ednWord {
		n++
	}
	return quote(text[:n])
}

// stringEnd returns where the string at the beginning of the text has its end,
// or the text has.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(text)
}
