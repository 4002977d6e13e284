package history

import "testing"

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"nothing", "", ""},
		{"plain text", "orders/7 'a' \"b\" \\n", "orders/7 'a' \"b\" \\n"},
		{"line feeds and tabs stay", "a\n\tb", "a\n\tb"},
		{"letters of other languages stay", "größe 日本語 é\u0301 ½ €", "größe 日本語 é\u0301 ½ €"},
		{"spaces stay", "a\u00a0b\u3000c", "a\u00a0b\u3000c"},
		{"the escape of a colour", "a\x1b[31mred", `a\x1b[31mred`},
		{"the title of the window", "\x1b]0;owned\a", `\x1b]0;owned\a`},
		{"a carriage return", "real\rfake", `real\rfake`},
		{"what deletes", "a\b\x7f", `a\b\x7f`},
		{"NUL", "a\x00b", `a\x00b`},
		{"an escape in one character", "a\u009b31m", `a\u009b31m`},
		{"the next line", "a\u0085b\u2028c\u2029d", `a\u0085b\u2028c\u2029d`},
		{"the direction of text", "\u202egnp.exe\u2066\u200f", `\u202egnp.exe\u2066\u200f`},
		{"what has no shape", "a\u200bb\ufeffc\U000e0041", `a\u200bb\ufeffc\U000e0041`},
		{"what is nobody's", "\ue000\U0010ffff", `\ue000\U0010ffff`},
		{"bytes that are no UTF-8", "a\xff\x9b\x0cé", `a\xff\x9b\fé`},
		{"the replacement character itself", "\ufffd", "\ufffd"},
	} {
		if got := Printable(c.text); got != c.want {
			t.Errorf("%s: expected %q, found %q", c.reason, c.want, got)
		}
		if got := Printable(c.want); got != c.want {
			t.Errorf("%s: expected the same when escaped again, found %q", c.reason, got)
		}
	}
}
