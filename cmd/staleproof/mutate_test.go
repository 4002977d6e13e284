package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scraps are what a mutation puts somewhere.
var scraps = []string{"\x00", "\xff", `"`, "{", "}", ",", ":", "-", "99999999999999999999", "1e999", "\n", "\r\n", "null", "[]", "{}",
	`\u0000`, "-1", "0.5", " ", "\ufeff", "true", "#", ";", "(", "^", "=", "/", `"x"`, ":foo", "18446744073709551615"}

// mutate spoils a text in one of the ways in which files get spoilt.
func mutate(r *rand.Rand, text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	i := r.IntN(len(text))
	scrap := scraps[r.IntN(len(scraps))]
	lines := bytes.SplitAfter(text, []byte("\n"))
	x, y := r.IntN(len(lines)), r.IntN(len(lines))
	switch r.IntN(7) {
	case 0: // cut off
		return text[:i]
	case 1: // a bit is another
		out := bytes.Clone(text)
		out[i] ^= 1 << r.IntN(8)
		return out
	case 2: // something is missing
		return append(bytes.Clone(text[:i]), text[min(len(text), i+1+r.IntN(20)):]...)
	case 3: // something else is there
		return append(append(bytes.Clone(text[:i]), scrap...), text[min(len(text), i+r.IntN(4)):]...)
	case 4: // lines in another order
		lines[x], lines[y] = lines[y], lines[x]
	case 5: // a line twice
		lines[x] = append(bytes.Clone(lines[x]), lines[y]...)
	default: // a line is missing
		lines[x] = nil
	}
	return bytes.Join(lines, nil)
}

// TestMutatedInput: whatever a file holds, a command ends with a verdict, or with
// exit code 2 and one line that names the file and what was expected; an edited
// schedule may also be another run than the one recorded.
func TestMutatedInput(t *testing.T) {
	files := mutants(t)
	r := rand.New(rand.NewPCG(1, 2))
	n := 60
	if raceDetector {
		n = 10
	}
	refused := 0
	for _, c := range files {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			spoilt := mutate(r, text)
			for range r.IntN(3) {
				spoilt = mutate(r, spoilt)
			}
			name := "spoilt" + filepath.Ext(c.file)
			if err := os.WriteFile(name, spoilt, 0o644); err != nil {
				t.Fatal(err)
			}
			code, out, errs := invoke(append(c.args, name)...)
			diverged := code == exitInternal && strings.HasPrefix(errs, "staleproof: diverged") && strings.HasSuffix(name, ".schedule")
			if code > exitInconclusive && !diverged {
				t.Errorf("%v: found exit code %d, %q for\n%q", c.args, code, errs, spoilt)
			}
			if code != exitUsage {
				continue
			}
			refused++
			named := oneLineOf(errs, "staleproof: "+name) || oneLineOf(errs, "staleproof: diff: ") // which speaks of the run
			if out != "" || !named || !strings.Contains(errs, "expected ") && !strings.Contains(errs, "unknown ") || len(errs) > 500 {
				t.Errorf("%v: expected one line that names the file, found %q, %q for\n%q", c.args, out, errs, spoilt)
			}
		}
	}
	if all := n * len(files); refused < all/10 || refused > all*95/100 {
		t.Errorf("expected that some of %d are refused, and not all; %d were", all, refused)
	}
}

// mutant is a good file and the command that reads it.
type mutant struct {
	file string
	args []string
}

// mutants makes the files in a folder of its own, which is the working folder then.
func mutants(t *testing.T) []mutant {
	t.Helper()
	var list []mutant
	for _, name := range []string{"good.jsonl", "bad.jsonl", "lock.edn", "lock.json", "register.log"} {
		file, err := filepath.Abs(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, mutant{file, []string{"check", "--explain"}})
	}
	tok := token(t, "store-ignores-token")
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"replay", tok, "--schedule", "good.schedule", "--history", "good.jsonl", "--result", "good.json"},
		{"fuzz", "textbook", "check-apart", "--seeds", "64", "--shard", "0/2", "--out", "good.results"},
	} {
		if code, _, errs := invoke(args...); code == exitUsage {
			t.Fatalf("%v: %s", args, errs)
		}
	}
	return append(list, mutant{"good.jsonl", []string{"check"}}, mutant{"good.schedule", []string{"replay"}},
		mutant{"good.results", []string{"merge"}}, mutant{"good.results", []string{"report", "--report", "pages"}},
		mutant{"good.json", []string{"report", "--report", "pages"}}, mutant{"good.schedule", []string{"diff", "--report", "pages"}})
}

// TestChangedToken: a character that is missing, doubled or another makes a token
// that is refused, wherever it is.
func TestChangedToken(t *testing.T) {
	tok := token(t, "store-ignores-token")
	r := rand.New(rand.NewPCG(3, 4))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.: %"
	for i := range len(tok) {
		other := string(letters[r.IntN(len(letters))])
		for _, changed := range []string{tok[:i] + other + tok[i+1:], tok[:i] + tok[i+1:], tok[:i] + tok[i:i+1] + tok[i:], tok[:i]} {
			if changed == tok {
				continue
			}
			for _, command := range []string{"replay", "diff"} {
				code, out, errs := invoke(command, changed)
				if code != exitUsage || out != "" || !oneLineOf(errs, "staleproof: ") || len(errs) > 300 {
					t.Errorf("%s %q: expected exit code 2 and one line, found %d: %s%s", command, changed, code, out, errs)
				}
			}
		}
	}
}
