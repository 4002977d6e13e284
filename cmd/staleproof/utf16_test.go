package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestUTF16: every file that is read says so when it was saved in UTF-16, with a byte
// order mark or without.
func TestUTF16(t *testing.T) {
	t.Chdir(t.TempDir())
	texts := map[string]string{"schedule": "staleproof.schedule/1\nscenario: textbook\n", "history": "{\"format\":\"staleproof.history/1\"}\n"}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, mark := range []string{"", "\ufeff"} {
			for name, text := range texts {
				var b []byte
				for _, unit := range utf16.Encode([]rune(mark + text)) {
					b = order.AppendUint16(b, unit)
				}
				if err := os.WriteFile(name, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{{"replay", "schedule"}, {"diff", "schedule"}, {"check", "history"}, {"check", "--format", "staleproof", "history"},
				{"check", "--format", "edn", "history"}, {"check", "--format", "jepsen-json", "history"}, {"check", "--format", "jepsen-log", "history"},
				{"report", "history"}, {"merge", "history"}} {
				code, out, errs := invoke(args...)
				if code != exitUsage || out != "" || !oneLineOf(errs, "staleproof: "+args[len(args)-1]) || !strings.HasSuffix(errs, ", found text in UTF-16; save the file as UTF-8\n") {
					t.Errorf("%v of %v with %q: expected exit code 2 and one line that says so, found %d: %s%s", args, order, mark, code, out, errs)
				}
			}
		}
	}
	if files, _ := filepath.Glob("*"); len(files) != len(texts) {
		t.Errorf("expected no other file, found %v", files)
	}
}
