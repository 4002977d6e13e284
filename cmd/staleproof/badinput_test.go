package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"staleproof/scenarios"
)

// TestBadInput: bad input is one line on stderr that says what was expected and
// what to do, exit code 2, nothing on stdout, and no file.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	tok := badFiles(t)
	changed := []byte(tok)
	changed[len(changed)/2] ^= 1
	other := scenarios.Recorded{Scenario: "no-such-scenario"}
	untimed := scenarios.Recorded{Scenario: "textbook", Revision: 1, Timing: 7}
	if sc, err := scenarios.Lookup("textbook"); err == nil {
		untimed.Revision, untimed.Params = sc.Revision, sc.Params
	}
	elsewhere, passing := calmToken(t, "check-apart"), calmToken(t, "textbook")
	for _, c := range []struct {
		args []string
		want string // the beginning of the line
	}{
		// Histories.
		{[]string{"check", "empty"}, "empty: expected a history, found an empty file; "},
		{[]string{"check", "folder"}, "folder: expected a history, found a directory; "},
		{[]string{"check", "missing"}, "missing: expected a history, found no such file; "},
		{[]string{"check", "binary"}, "binary: expected a history ("},
		{[]string{"check", "garbage"}, "garbage: expected a history ("},
		{[]string{"check", "truncated.jsonl"}, "truncated.jsonl:2: expected "},
		{[]string{"check", "wrongtype.jsonl"}, "wrongtype.jsonl:2: expected an integer in field \"time\", found the string \"soon\""},
		{[]string{"check", "unknownf.jsonl"}, "unknownf.jsonl:2: expected the name of an operation or a note in field \"f\", found the string \"wrote\"; did you mean \"write\"?"},
		{[]string{"check", "unasked.jsonl"}, "unasked.jsonl:2: expected "},
		{[]string{"check", "twice.jsonl"}, "twice.jsonl:3: expected "},
		{[]string{"check", "moved.jsonl"}, "moved.jsonl:3: expected the resource \"r\" of the write (op 1, invoked at index 5) on process \"A\", found the ok with the resource \"q\"; "},
		{[]string{"check", "usurped.jsonl"}, "usurped.jsonl:3: expected the token 7 of the write (op 1, invoked at index 5) on process \"A\", found the ok with the token 8; "},
		{[]string{"check", "altered.jsonl"}, "altered.jsonl:3: expected the value 1 of the write (op 1, invoked at index 5) on process \"A\", found the ok with the value 2; "},
		{[]string{"check", "order.jsonl"}, "order.jsonl:3: expected "},
		{[]string{"check", "cutvalue.log"}, "cutvalue.log:2: expected a value after :read, nil where there is none, found the end of the line; the log seems damaged: "},
		{[]string{"check", "cut.log"}, "cut.log:2: expected the end of the line, found the end of the file; the log seems damaged: "},
		{[]string{"check", "unknowntype.log"}, "unknowntype.log:2: expected a type (:invoke :ok :fail :info) after the process 5, found \":okay\"; "},
		{[]string{"check", "process.log"}, "process.log:2: expected the number of a process, from 0, before :ok, found \"-5\"; "},
		{[]string{"check", "nothing.log"}, "nothing.log:2: expected a value after :write, nil where there is none, found the end of the line; the log seems damaged: "},
		{[]string{"check", "novalue.edn"}, "novalue.edn:2: expected the value of the read under :value, found an operation without it; say nil, "},
		{[]string{"check", "drift.jsonl"}, "drift.jsonl:1: expected parts per million from 0 to 999999 in field \"rho\", found -200; correct the header, "},
		{[]string{"check", "term.jsonl"}, "term.jsonl:1: expected a term from 0 to 4611686018427387903 in field \"ttl\", found -1; correct the header, "},
		{[]string{"check", "token.jsonl"}, "token.jsonl:2: expected a number from 0 in field \"token\", found -1; "},
		{[]string{"check", "backwards.jsonl"}, "backwards.jsonl:3: expected a time from 9 on, found 5; time runs backwards: "},
		{[]string{"check", "longline.jsonl"}, "longline.jsonl:2: expected a line of at most 1048576 bytes"},
		{[]string{"check", "header.jsonl"}, "header.jsonl: expected a history, found no events; "},
		{[]string{"check", ""}, "check: expected the name of a history file, found \"\""},
		{[]string{"check"}, "check: expected a history file, found no argument; see staleproof check --help"},
		{[]string{"check", "--model", "fence", "empty"}, "unknown model \"fence\": did you mean fenced?"},
		{[]string{"check", "--model", "x", "empty"}, "unknown model \"x\": "},
		{[]string{"check", "--format", "staleprof", "empty"}, "unknown format \"staleprof\": did you mean staleproof?"},
		{[]string{"check", "--max-memory", "-1", "empty"}, "--max-memory: expected 0, for no limit, to 1073741824 MiB, found -1"},
		{[]string{"check", "--max-memory", "many", "empty"}, "--max-memory: expected a whole number, found \"many\""},

		{[]string{"check", "pipe"}, "pipe: expected a history, found a pipe; write it to a file first (check reads the standard input as -)"},
		{[]string{"check", "socket"}, "socket: expected a history, found a socket; name a file"},
		{[]string{"check", "/dev/null"}, "/dev/null: expected a history, found a device; name a file"},
		{[]string{"check", "/dev/zero"}, "/dev/zero: expected a history, found a device; name a file"},
		{[]string{"check", "loop"}, "loop: expected a history, found a file that cannot be opened (too many levels of symbolic links); check the path"},
		{[]string{"check", "order.jsonl/x"}, "order.jsonl/x: expected a history, found a file that cannot be opened (not a directory); check the path"},
		{[]string{"check", "-", "-"}, "check: expected the standard input once, found - 2 times"},
		{[]string{"check", "--model", "", "empty"}, "--model: expected a value, found \"\""},
		{[]string{"check", "--max-memory", "NaN", "empty"}, "--max-memory: expected a whole number, found \"NaN\""},

		// Replay tokens and schedule files.
		{[]string{"replay", strings.Replace(tok, "sp1:", "sp2:", 1)}, "replay token: expected version sp1, found sp2: "},
		{[]string{"replay", other.Token()}, "replay token: unknown scenario \"no-such-scenario\": expected one of "},
		{[]string{"replay", untimed.Token()}, "replay token: expected timing 0 to 2, found 7"},
		{[]string{"replay", string(changed)}, "replay token: "},
		{[]string{"replay", tok[:len(tok)-3]}, "replay token: "},
		{[]string{"replay", tok[1:]}, "replay: expected a token that begins with sp1: or a schedule file, found neither: "},
		{[]string{"replay", "sp1:"}, "replay token: "},
		{[]string{"replay", "empty"}, "empty: expected \"staleproof.schedule/1\", found an empty file; "},
		{[]string{"replay", "folder"}, "folder: expected a replay token or a schedule file, found a directory; "},
		{[]string{"replay", "missing"}, "replay: expected a token that begins with sp1: or a schedule file, found neither: \"missing\"; "},
		{[]string{"replay", "binary"}, "binary:1: expected \"staleproof.schedule/1\", found "},
		{[]string{"replay", "longline.jsonl"}, "longline.jsonl: expected a schedule file of at most 1 MiB, found more; "},
		{[]string{"replay", "order.jsonl"}, "order.jsonl: expected a replay token or a schedule file, found a history; "},
		{[]string{"replay"}, "replay: expected a replay token or a schedule file, found 0 arguments; "},
		{[]string{"replay", tok, tok}, "replay: expected a replay token or a schedule file, found 2 arguments; "},

		{[]string{"replay", ""}, "replay: expected a token that begins with sp1: or a schedule file, found neither: \"\"; "},
		{[]string{"replay", "pipe"}, "pipe: expected a replay token or a schedule file, found a pipe; "},
		{[]string{"replay", "socket"}, "socket: expected a replay token or a schedule file, found a socket; "},
		{[]string{"replay", "/dev/zero"}, "/dev/zero: expected a replay token or a schedule file, found a device; "},

		// Two runs, and results.
		{[]string{"diff"}, "diff: expected one or two replay tokens or schedule files, found 0 arguments; see staleproof diff --help"},
		{[]string{"diff", tok, tok, tok}, "diff: expected one or two replay tokens or schedule files, found 3 arguments; "},
		{[]string{"diff", "missing"}, "diff: expected a token that begins with sp1: or a schedule file, found neither: \"missing\"; "},
		{[]string{"diff", tok, string(changed)}, "replay token: "},
		{[]string{"diff", tok, elsewhere}, "diff: expected two runs of one scenario, found textbook and check-apart"},
		{[]string{"diff", passing}, "diff: expected a run that fails, or another one to compare it with; found that it is satisfied"},
		{[]string{"diff", tok, "--report", "empty"}, "--report: expected a folder, found the file empty"},
		{[]string{"report"}, "report: expected a result file, found no argument; see staleproof report --help"},
		{[]string{"report", "missing"}, "missing: expected a result file, found no such file; check the path"},
		{[]string{"report", "pipe"}, "pipe: expected a result file, found a pipe; "},
		{[]string{"report", "/dev/zero"}, "/dev/zero: expected a result file, found a device; "},
		{[]string{"report", ""}, "expected the name of a result file, found \"\""},
		{[]string{"merge", "pipe"}, "pipe: expected a result file, found a pipe; "},
		{[]string{"merge", "missing"}, "missing: expected a result file, found no such file; check the path"},
		{[]string{"merge", "folder"}, "folder: expected a result file, found a directory; "},
		{[]string{"diff", tok, "--report", ""}, "--report: expected a value, found \"\""},
		{[]string{"diff", tok, "pipe"}, "pipe: expected a replay token or a schedule file, found a pipe; "},
		{[]string{"report", "folder"}, "folder: expected a result file, found a directory; "},
		{[]string{"report", "empty"}, "empty: expected a result file, found an empty one; "},
		{[]string{"report", "garbage"}, "garbage: expected a report in JSON, as staleproof.report/1 writes it: "},
		{[]string{"report", "header.jsonl"}, "header.jsonl: report: expected format \"staleproof.report/1\", found \"staleproof.history/1\"; "},
		{[]string{"report", "noruns.json"}, "noruns.json: expected the results of a run, found none; run the command again that wrote it"},
		{[]string{"replay", tok, "--result", "none/x"}, "--result: expected a file in a folder that exists, found no folder none; make it first"},

		// Arguments.
		{[]string{"rnu"}, "unknown command \"rnu\": did you mean run?"},
		{[]string{"frobnicate"}, "unknown command \"frobnicate\": see staleproof --help"},
		{[]string{"help", "rnu"}, "unknown command \"rnu\": did you mean run?"},
		{[]string{"help", "run", "fuzz"}, "help: expected one command, found run and \"fuzz\""},
		{[]string{"help", ""}, "unknown command \"\": see staleproof --help"},
		{[]string{"explore", "textbook", "--defect", "all"}, "unknown defect \"all\": see staleproof list defects"},
		{[]string{"run", "texbook"}, "unknown scenario \"texbook\": did you mean textbook?"},
		{[]string{"run", "--sedes", "5"}, "unknown flag \"--sedes\": did you mean --seeds?"},
		{[]string{"run", "-z"}, "unknown flag \"-z\": see staleproof run --help"},
		{[]string{"run", "--seeds", "few"}, "--seeds: expected a number of seeds from 1 to 2147483647, or a range A-B, found \"few\""},
		{[]string{"run", "--seeds", "9-3"}, "--seeds: expected a range A-B of seeds from 0 to 2147483647, A not above B, found \"9-3\""},
		{[]string{"run", "--seeds"}, "--seeds: expected a value, found none; see staleproof run --help"},
		{[]string{"run", "--defect", "store-ignore-token"}, "unknown defect \"store-ignore-token\": did you mean store-ignores-token?"},
		{[]string{"run", "textbook", "--defect", "x"}, "unknown defect \"x\": see staleproof list defects"},
		{[]string{"run", "--defect", ""}, "--defect: expected a value, found \"\""},
		{[]string{"run", "--defect", " "}, "--defect: expected a value, found \" \""},
		{[]string{"run", "textbook", "--defect", "none", "--defect", ""}, "--defect: expected a value, found \"\""},
		{[]string{"run", "textbook", "--defect", "+"}, "--defect: expected a defect, or several joined by +, found \"+\""},
		{[]string{"run", "textbook", "--defect", "none+store-ignores-token"}, "--defect: expected none alone, or defects joined by +, found \"none+store-ignores-token\""},
		{[]string{"run", "textbook", "--defect", "fence-collected"}, "defect \"fence-collected\" is not one that textbook exposes: run it in store-forgets"},
		{[]string{"run", "textbook", "--defect", "fence-colected"}, "unknown defect \"fence-colected\": did you mean fence-collected?"},
		{[]string{"run", "textbook", "--defect", "fence-collected+replica-lags"}, "defect \"fence-collected+replica-lags\" is not one that textbook exposes: run it in store-forgets"},
		{[]string{"run", "textbook", "--defect", "fence-collected+store-ignores-token"}, "defect \"fence-collected+store-ignores-token\" is not one that textbook exposes: no scenario does"},
		{[]string{"run", "textbook", "--defect", "fence-collected+x"}, "unknown defect \"x\": see staleproof list defects"},
		{[]string{"run", "--defect", "deadline-from-receipt"}, "defect \"deadline-from-receipt\" is not one that these scenarios expose: explore it in lf-time"},
		{[]string{"fuzz", "textbook", "check-apart", "--defect", "fence-collected"}, "defect \"fence-collected\" is not one that these scenarios expose: fuzz it in store-forgets"},
		{[]string{"explore", "lf-time", "--defect", "store-ignores-token"}, "defect \"store-ignores-token\" is not one that lf-time exposes: explore it in textbook or lf"},
		{[]string{"explore", "textbook", "--defect", "store-ignores-token+local-check-only"}, "--defect: expected one defect, found \"store-ignores-token+local-check-only\"; fuzz plants several"},
		{[]string{"run", "textbook", "--defect", "store-ignores-token+store-ignores-token"}, "--defect store-ignores-token+store-ignores-token: expected each defect once, found store-ignores-token twice"},
		{[]string{"run", "textbook", "--defect", "none", "--defect", "none"}, "--defect: expected each defect once, found none twice"},
		{[]string{"run", "textbook", "--defect", "all", "--defect", "none"}, "--defect: expected all alone, or names, found both"},
		{[]string{"run", "textbook", "textbook"}, "the command line: expected each scenario once, found textbook twice"},
		{[]string{"run", ""}, "unknown scenario \"\": expected one of "},
		{[]string{"run", "lf"}, "scenario lf is searched exhaustively, not run under seeds: use staleproof explore lf"},
		{[]string{"fuzz", "textbook", "lf-time"}, "scenario lf-time is searched exhaustively, not run under seeds: use staleproof explore lf-time"},
		{[]string{"fuzz", "--defect", ""}, "--defect: expected a value, found \"\""},
		{[]string{"run", "--seeds", "0"}, "--seeds: expected a number of seeds from 1 to "},
		{[]string{"run", "--seeds", "-1"}, "--seeds: expected a range A-B of seeds "},
		{[]string{"run", "--seeds", "NaN"}, "--seeds: expected a number of seeds from 1 to "},
		{[]string{"run", "--seeds", "5 "}, "--seeds: expected a number of seeds from 1 to "},
		{[]string{"run", "--seeds", "99999999999999999999"}, "--seeds: expected a number of seeds from 1 to "},
		{[]string{"run", "--matrix", "--defect", "none"}, "run: expected --matrix or --defect, found both"},
		{[]string{"list", "scenaros"}, "unknown list \"scenaros\": did you mean scenarios?"},
		{[]string{"list", "scenarios", "scenarios"}, "list: expected each list once, found scenarios twice"},
		{[]string{"run", "--junit", "a", "--junit", "b"}, "--junit: expected it once, found \"a\" and \"b\"; give one of them"},
		{[]string{"replay", tok, "--history", "a", "--history=a"}, "--history: expected it once, found \"a\" and \"a\"; "},
		{[]string{"explore", "lf", "--clients", "2", "--clients", "3"}, "--clients: expected it once, found \"2\" and \"3\"; "},
		{[]string{"fuzz", "--for", "1s", "--seeds", "5", "--for", "2s"}, "--for: expected it once, found \"1s\" and \"2s\"; "},
		{[]string{"-q", "list", "--quiet"}, "--quiet: expected it once, found \"true\" and \"true\"; "},
		{[]string{"diff", tok, "--report", "a", "--report", "b"}, "--report: expected it once, "},
		{[]string{"list", "--color", "sometimes"}, "--color: expected auto, always or never, found \"sometimes\""},
		{[]string{"list", "--json=maybe"}, "--json: expected true or false, found \"maybe\""},
		{[]string{"list", "--junit", "x"}, "unknown flag \"--junit\": "},

		// Places to write to.
		{[]string{"run", "--junit", "folder"}, "--junit: expected the name of a file, found the folder folder"},
		{[]string{"run", "--junit", "none/x.xml"}, "--junit: expected a file in a folder that exists, found no folder none; make it first"},
		{[]string{"run", "--junit", ""}, "--junit: expected a value, found \"\""},
		{[]string{"run", "--report", " "}, "--report: expected a value, found \" \""},
		{[]string{"run", "--regressions", ""}, "--regressions: expected a value, found \"\""},
		{[]string{"run", "--junit", "order.jsonl/x"}, "--junit: expected a file in a folder that exists, found no folder order.jsonl; make it first"},
		{[]string{"run", "--junit", "socket"}, "--junit: expected the name of a file, found the socket socket"},
		{[]string{"run", "--junit", strings.Repeat("n", 300)}, "--junit: expected a place that can be written to, found .: file name too long; name another"},
		{[]string{"run", "--junit", "x", "--result", "./x"}, "--junit, --result: expected two places, found ./x for both"},
		{[]string{"run", "--junit", "empty", "--result", "link"}, "--junit, --result: expected two places, found link for both"},
		{[]string{"run", "--junit", "x", "--report", "x"}, "--junit, --report: expected two places, found x for both"},
		{[]string{"replay", tok, "--history", "x", "--schedule", "x"}, "--history, --schedule: expected two places, found x for both"},
		{[]string{"run", "--report", "/proc/none/x"}, "--report: expected a place that can be written to, found /proc: "},
		{[]string{"run", "--report", "empty/x"}, "--report: expected a folder, found the file empty"},
		{[]string{"fuzz", "textbook", "--out", "/dev/zero", "--seeds", "64"}, "--out: expected a file that can be gone on with, found a device; "},
		{[]string{"fuzz", "textbook", "--out", "pipe", "--seeds", "64"}, "--out: expected a file that can be gone on with, found a pipe; "},
		{[]string{"run", "--report", "empty"}, "--report: expected a folder, found the file empty"},
		{[]string{"replay", tok, "--history", "none/h"}, "--history: expected a file in a folder that exists, found no folder none; make it first"},
		{[]string{"replay", tok, "--schedule", "folder"}, "--schedule: expected the name of a file, found the folder folder"},
		{[]string{"replay", string(changed), "--history", "h", "--schedule", "s", "--junit", "j", "--report", "r"}, "replay token: "},
	} {
		code, out, errs := invoke(c.args...)
		if code != exitUsage || out != "" {
			t.Errorf("%.60q: expected exit code 2 and nothing on stdout, found %d and %q", c.args, code, out)
		}
		if !oneLineOf(errs, "staleproof: "+c.want) {
			t.Errorf("%.60q: expected one line\n  staleproof: %s...\nfound\n  %s", c.args, c.want, errs)
		}
	}
	left(t, dir, badFileNames...)
}

// calmToken is that of the run of a scenario in which nothing happens.
func calmToken(t *testing.T, name string) string {
	t.Helper()
	sc, err := scenarios.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return (&scenarios.Recorded{Scenario: name, Revision: sc.Revision, Params: sc.Params}).Token()
}

// badFileNames are what badFiles makes, sorted.
var badFileNames = []string{"altered.jsonl", "backwards.jsonl", "binary", "cut.log", "cutvalue.log", "drift.jsonl", "empty", "folder", "garbage", "header.jsonl", "link", "longline.jsonl", "loop", "moved.jsonl",
	"noruns.json", "nothing.log", "novalue.edn", "order.jsonl", "pipe", "process.log", "socket", "term.jsonl", "token.jsonl", "truncated.jsonl", "twice.jsonl", "unasked.jsonl", "unknownf.jsonl", "unknowntype.log", "usurped.jsonl", "wrongtype.jsonl"}

// badFiles makes the files of the table in the working folder, and returns a good
// replay token.
func badFiles(t *testing.T) string {
	t.Helper()
	const header = `{"format":"staleproof.history/1"}` + "\n"
	const invoked = `{"index":5,"time":1,"process":"A","type":"invoke","f":"read","op":1,"resource":"r"}` + "\n"
	const write = `{"index":5,"process":"A","type":"invoke","f":"write","op":1,"resource":"r","token":7,"value":1}` + "\n"
	const read = "INFO  jepsen.util - 5\t:invoke\t:read\tnil\n"
	ended := func(as, instead string) string { // the write, with an end that differs
		return header + write + strings.NewReplacer(`"index":5`, `"index":6`, `"invoke"`, `"ok"`, as, instead).Replace(write)
	}
	for name, text := range map[string]string{
		"empty": "", "binary": "\x7fELF\x02\x01\x01\x00\x00\xff\xfe", "garbage": "hello\n", "header.jsonl": header,
		"noruns.json":     `{"format":"staleproof.report/1","runs":[]}`,
		"truncated.jsonl": header + `{"index":5,"time":1,"proc`,
		"wrongtype.jsonl": header + strings.Replace(invoked, `"time":1`, `"time":"soon"`, 1),
		"unknownf.jsonl":  header + strings.Replace(invoked, `"read"`, `"wrote"`, 1),
		"unasked.jsonl":   header + strings.Replace(invoked, `"invoke"`, `"ok"`, 1),
		"twice.jsonl":     header + invoked + strings.NewReplacer(`"index":5`, `"index":6`, `"op":1`, `"op":2`).Replace(invoked),
		"order.jsonl":     header + invoked + strings.NewReplacer(`"index":5`, `"index":4`, `"op":1`, `"op":2`, `"A"`, `"B"`).Replace(invoked),
		"moved.jsonl":     ended(`"resource":"r"`, `"resource":"q"`),
		"usurped.jsonl":   ended(`"token":7`, `"token":8`),
		"altered.jsonl":   ended(`"value":1`, `"value":2`),
		"drift.jsonl":     strings.Replace(header, "}", `,"rho":-200}`, 1) + write,
		"term.jsonl":      strings.Replace(header, "}", `,"ttl":-1}`, 1) + write,
		"token.jsonl":     header + strings.Replace(write, `"token":7`, `"token":-1`, 1),
		"backwards.jsonl": strings.Replace(header, "}", `,"ttl":10}`, 1) + strings.Replace(write, `"index":5`, `"index":5,"time":9`, 1) +
			strings.NewReplacer(`"index":5`, `"index":6,"time":5`, `"invoke"`, `"ok"`).Replace(write),
		"cutvalue.log":    read + "INFO  jepsen.util - 5\t:ok\t:read\n",
		"cut.log":         read + "INFO  jepsen.util - 5\t:ok\t:rea",
		"unknowntype.log": read + "INFO  jepsen.util - 5\t:okay\t:read\t3\n",
		"process.log":     read + "INFO  jepsen.util - -5\t:ok\t:read\t3\n",
		"nothing.log":     read + "INFO  jepsen.util - 4\t:invoke\t:write\n",
		"novalue.edn":     "{:process 5 :type :invoke :f :read}\n{:process 5 :type :ok :f :read}\n",
		"longline.jsonl":  header + `{"index":5,"text":"` + strings.Repeat("x", 2<<20) + `"}` + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	for _, err := range []error{os.Mkdir("folder", 0o755), syscall.Mkfifo("pipe", 0o644), os.Symlink("loop", "loop"), os.Symlink("empty", "link")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return token(t, "store-ignores-token")
}

// TestSeveralFiles: the exit code is that of the worst file, in any order, and bad
// input does not hide the others.
func TestSeveralFiles(t *testing.T) {
	const good, bad, missing = "testdata/good.jsonl", "testdata/bad.jsonl", "testdata/no-such-file"
	for _, c := range []struct {
		files []string
		exit  int
	}{
		{[]string{good, missing, bad}, exitUsage}, {[]string{bad, missing, good}, exitUsage}, {[]string{missing, bad, good}, exitUsage},
		{[]string{good, bad}, exitViolation}, {[]string{bad, good}, exitViolation}, {[]string{good, good}, exitOK},
	} {
		code, out, errs := invoke(append([]string{"check"}, c.files...)...)
		if code != c.exit {
			t.Errorf("%v: expected exit code %d, found %d", c.files, c.exit, code)
		}
		for _, file := range c.files {
			if judged := strings.Contains(out, file+": "); judged != (file != missing) {
				t.Errorf("%v: expected a verdict on all files but the missing one, found:\n%s", c.files, out)
			}
		}
		if want := c.exit == exitUsage; want != oneLineOf(errs, "staleproof: "+missing+": ") {
			t.Errorf("%v: found %q on stderr", c.files, errs)
		}
	}
}

// TestBadInputWritesNothing: verdicts without the file that could not be read would
// pass for all of them.
func TestBadInputWritesNothing(t *testing.T) {
	good, err := filepath.Abs("testdata/good.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GITHUB_STEP_SUMMARY", "summary")
	for _, files := range [][]string{{"none"}, {good, "none"}, {"none", good}} {
		code, out, errs := invoke(append([]string{"check", "--junit", "j.xml", "--result", "r.json", "--report", "pages"}, files...)...)
		if code != exitUsage || strings.Contains(out, "report:") || !oneLineOf(errs, "staleproof: none: ") {
			t.Errorf("%v: expected exit code 2, one line, and no page, found %d: %s%s", files, code, out, errs)
		}
		left(t, ".")
	}
}

// unordered writes a history of a fence that only clients saw, of more operations
// than a search can put in order in 1 MiB, and returns its name.
func unordered(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`{"format":"staleproof.history/1"}` + "\n")
	for op := 1; op <= 2700; op++ {
		for i, kind := range []string{"invoke", "ok"} {
			fmt.Fprintf(&b, `{"index":%d,"time":%d,"process":"A","type":%q,"f":"write","op":%d,"resource":"r","token":1,"value":%d}`+"\n", 2*op+i, 2*op+i, kind, op, op)
		}
	}
	name := filepath.Join(t.TempDir(), "unordered.jsonl")
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestMaxMemoryOfCheck: a search that is cut short is inconclusive and names the
// flag that lifts its limit; a violation weighs more than that.
func TestMaxMemoryOfCheck(t *testing.T) {
	long := unordered(t)
	for _, c := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"--max-memory", "1", long}, exitInconclusive, "raise --max-memory"},
		{[]string{"--max-memory", "2", long}, exitOK, ""},
		{[]string{"--max-memory", "0", long}, exitOK, ""},
		{[]string{long}, exitOK, ""},
		{[]string{"--max-memory", "1", long, "testdata/register.log"}, exitViolation, "raise --max-memory"},
		{[]string{"--max-memory", "1", "testdata/register.log", long}, exitViolation, "inconclusive"},
	} {
		code, out, errs := invoke(append([]string{"check"}, c.args...)...)
		if code != c.exit || !strings.Contains(strings.Join(strings.Fields(out), " "), c.says) {
			t.Errorf("%v: expected exit code %d and %q, found %d:\n%s%s", c.args, c.exit, c.says, code, out, errs)
		}
	}
}
