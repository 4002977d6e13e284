package history

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text in which everything that a terminal obeys or hides is
// written as Go escapes it: control characters but line feeds and tabs, the marks
// that turn the direction of text, characters without a shape, bytes that are no
// UTF-8. Names and values in a history come from outside.
func Printable(text string) string {
	i := 0
	for i < len(text) && (text[i] >= ' ' && text[i] < 0x7f || text[i] == '\n' || text[i] == '\t') {
		i++
	}
	if i == len(text) {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:i])
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[i])|0x100, 16)[1:])
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			b.WriteString(text[i : i+size])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		i += size
	}
	return b.String()
}
