package history

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text in which everything that a terminal interprets or does not
// show is written as Go escapes it: control characters except line feeds and tabs,
// marks that change the direction of text, characters without a glyph, bytes that are
// not UTF-8. Names and values in a history may hold any of these.
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
