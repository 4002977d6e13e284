package history

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJepsenLog(t *testing.T) {
	const log = `INFO  jepsen.core - Worker 0 starting
INFO  jepsen.util - 0	:invoke	:read	nil
INFO  jepsen.util - 4 :invoke :write  3
INFO [2017-11-13 18:45:24,246] jepsen worker 2 - jepsen.util 2	:invoke	:cas	[2 0]

INFO  jepsen.util - 0	:ok	:read	nil
INFO  jepsen.util - 4	:ok	:write	3
INFO  jepsen.util - 2	:info	:cas	:timed-out
INFO  jepsen.util - :nemesis	:info	:start	nil
INFO  jepsen.util - :nemesis	:info	:start-partition	"Cut off {:n1 #{:n2}}"
INFO  jepsen.util - 7	:invoke	:cas	[nil "a b"]
INFO  jepsen.util - 7	:fail	:cas	[nil "a b"]
INFO  jepsen.util - 0	:invoke	:read	nil
INFO  jepsen.util - 0	:fail	:read	:timed-out
INFO  jepsen.util - 0	:invoke	:write	-1
INFO  jepsen.util - 0	:info	:write	-1	:indeterminate: connection refused
INFO  jepsen.util - 10	:invoke	:lock	nil
INFO  jepsen.util - 10	:ok	:lock	nil
INFO  jepsen.util - 11	:invoke	:write	nil
INFO  jepsen.util - 4	:invoke	:read	nil
INFO  jepsen.util - 4	:ok	:read	:absent
WARN  jepsen.core - Process 4 :ok
INFO  jepsen.core - 7 :nodes are up
INFO  jepsen.util - Waiting for 5 :nodes
INFO  jepsen.util - 5 nodes are up
INFO  jepsen.util - :nemesis	:inf	:start
INFO  jepsen.core - {:type :ok :f :read}
`
	want := []Event{
		{Index: 2, Process: "0", Type: Invoke, F: Read, Op: 1},
		{Index: 3, Process: "4", Type: Invoke, F: Write, Op: 2, Value: IntValue(3)},
		{Index: 4, Process: "2", Type: Invoke, F: CAS, Op: 3, Expect: IntValue(2), Value: IntValue(0)},
		{Index: 6, Process: "0", Type: OK, F: Read, Op: 1, Value: NilValue},
		{Index: 7, Process: "4", Type: OK, F: Write, Op: 2, Value: IntValue(3)},
		{Index: 8, Process: "2", Type: Info, F: CAS, Op: 3, Error: "timed-out"},
		{Index: 10, Process: "nemesis", Type: Note, F: Partition, Text: `"Cut off {:n1 #{:n2}}"`},
		{Index: 11, Process: "7", Type: Invoke, F: CAS, Op: 4, Expect: NilValue, Value: TextValue("a b")},
		{Index: 12, Process: "7", Type: Fail, F: CAS, Op: 4, Expect: NilValue, Value: TextValue("a b")},
		{Index: 13, Process: "0", Type: Invoke, F: Read, Op: 5},
		{Index: 14, Process: "0", Type: Fail, F: Read, Op: 5, Error: "timed-out"},
		{Index: 15, Process: "0", Type: Invoke, F: Write, Op: 6, Value: IntValue(-1)},
		{Index: 16, Process: "0", Type: Info, F: Write, Op: 6, Value: IntValue(-1), Error: "indeterminate: connection refused"},
		{Index: 17, Process: "10", Type: Invoke, F: Acquire, Op: 7},
		{Index: 18, Process: "10", Type: OK, F: Acquire, Op: 7},
		{Index: 19, Process: "11", Type: Invoke, F: Write, Op: 8, Value: NilValue},
		{Index: 20, Process: "4", Type: Invoke, F: Read, Op: 9},
		{Index: 21, Process: "4", Type: OK, F: Read, Op: 9, Value: TextValue("absent")},
	}
	for _, name := range []struct{ name, log string }{
		{"LF", log}, {"CRLF", strings.ReplaceAll(log, "\n", "\r\n")}, {"byte order mark", "\xef\xbb\xbf" + log},
	} {
		h, err := readFrom(strings.NewReader(name.log), "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&History{Header{Format: Format}, want}, h); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name.name, diff)
		}
	}
}

func TestJepsenLogRefuses(t *testing.T) {
	const line = "INFO  jepsen.util - "
	const damaged = "the log seems damaged: copy it again, or run the test again"
	tests := []struct{ name, file, want string }{
		{"empty file", "", `run.jsonl: expected operations, such as "INFO  jepsen.util - 4 :invoke :write 3", found an empty file; give the jepsen.log or the history of a test`},
		{"no operation", "INFO starting\nINFO done\n", `run.jsonl: expected operations, such as "INFO  jepsen.util - 4 :invoke :write 3", found none in 2 lines; give the jepsen.log or the history of a test`},
		{"nemesis only", line + ":nemesis :info :heal nil\n", `run.jsonl: expected operations, such as "INFO  jepsen.util - 4 :invoke :write 3", found none in 1 lines; give the jepsen.log or the history of a test`},
		{"unknown operation", line + "4 :invoke :txn [[:r 1 nil]]\n", `run.jsonl:1: expected an operation on a register or a lock (read write cas delete acquire release renew), or a read-operation, found ":txn"; this is a history of transactions, which Elle judges, and is not judged here: only registers, locks, leases and tokens are`},
		{"ok without invoke", line + "4 :ok :write 3\n", `run.jsonl:1: expected an invoke of write by process "4" before its end, found the ok alone; record each operation's beginning too, in the order in which things happened`},
		{"two open operations", line + "4 :invoke :write 3\n" + line + "4 :invoke :read nil\n", `run.jsonl:2: expected the end of the write (op 1, invoked at index 1) before process "4" invokes another operation, found an invoke of read; a process runs one operation at a time: record each client's concurrent operations under processes of their own`},
		{"cas of one value", line + "4 :invoke :cas 3\n", `run.jsonl:1: expected [old new] for a cas, found "3"; correct the line, or record the history again`},
		{"cas of three values", line + "4 :invoke :cas [1 2 3]\n", `run.jsonl:1: expected [old new] for a cas, found "[1 2 3]"; correct the line, or record the history again`},
		{"cas cut off", line + "4 :invoke :cas [1\n", `run.jsonl:1: expected a whole value after :cas, found "[1"; ` + damaged},
		{"cas of a text cut off", line + "4 :invoke :cas [\"a b\" \"c]\n", `run.jsonl:1: expected a whole value after :cas, found "[\"a b\" \"c]"; ` + damaged},
		{"failure with a value cut off", line + "4 :invoke :write 3\n" + line + "4 :fail :write [3\n", `run.jsonl:2: expected a whole value after :write, found "[3"; ` + damaged},
		{"cut off before the value", line + "4 :invoke :read nil\n" + line + "4 :ok :read\n", `run.jsonl:2: expected a value after :read, nil where there is none, found the end of the line; ` + damaged},
		{"write of nothing", line + "4 :invoke :write \n", `run.jsonl:1: expected a value after :write, nil where there is none, found the end of the line; ` + damaged},
		{"failure of nothing", line + "4 :invoke :write 3\n" + line + "4 :info :write\n", `run.jsonl:2: expected a value after :write, nil where there is none, found the end of the line; ` + damaged},
		{"cut off in the verb", line + "4 :invoke :read nil\n" + line + "4 :ok :rea\n", `run.jsonl:2: expected a value after :rea, nil where there is none, found the end of the line; ` + damaged},
		{"misspelt operation", line + "4 :invoke :rea nil\n", `run.jsonl:1: expected an operation on a register or a lock (read write cas delete acquire release renew), or a read-operation, found ":rea"; did you mean read?`},
		{"cut off before the verb", line + "4 :ok\n", `run.jsonl:1: expected the name of an operation, such as :read, after :ok, found the end of the line; ` + damaged},
		{"cut off in the type", line + "4 :o\n", `run.jsonl:1: expected a type (:invoke :ok :fail :info) after the process 4, found ":o"; did you mean :ok?`},
		{"cut off before the type", line + "4\n", `run.jsonl:1: expected a type (:invoke :ok :fail :info) after the process 4, found the end of the line; ` + damaged},
		{"unknown type", line + "4 :okay :write 3\n", `run.jsonl:1: expected a type (:invoke :ok :fail :info) after the process 4, found ":okay"; correct the line, or record the history again`},
		{"unknown type, as logback writes it", "2017-11-13 18:45:24,246{GMT}\tINFO\t[jepsen worker 2] jepsen.util: 2\t:call\t:read\tnil\n", `run.jsonl:1: expected a type (:invoke :ok :fail :info) after the process 2, found ":call"; correct the line, or record the history again`},
		{"unknown type in a bare line", "4 :fial :write 3\n", `run.jsonl:1: expected a type (:invoke :ok :fail :info) after the process 4, found ":fial"; did you mean :fail?`},
		{"type without its colon", line + "4 ok :write 3\n", `run.jsonl:1: expected a type (:invoke :ok :fail :info) after the process 4, found "ok"; did you mean :ok?`},
		{"verb without its colon", line + "4 :ok write 3\n", `run.jsonl:1: expected the name of an operation, such as :read, after :ok, found "write"; correct the line, or record the history again`},
		{"process below 0", line + "-5 :ok :read 3\n", `run.jsonl:1: expected the number of a process, from 0, before :ok, found "-5"; correct the line, or record the history again`},
		{"no process", line + ":ok :read 3\n", `run.jsonl:1: expected the number of a process, from 0, found ":ok"; correct the line, or record the history again`},
		{"last line without its end", line + "4 :invoke :read nil\n" + line + "4 :ok :read 1", `run.jsonl:2: expected the end of the line, found the end of the file; ` + damaged + `; a last line that is whole wants its end`},
		{"last line cut off in the verb", line + "4 :invoke :read nil\n" + line + "4 :ok :rea", `run.jsonl:2: expected the end of the line, found the end of the file; ` + damaged + `; a last line that is whole wants its end`},
		{"last line cut off before the message", line + "4 :invoke :read nil\nINFO  jep", `run.jsonl:2: expected the end of the line, found the end of the file; ` + damaged + `; a last line that is whole wants its end`},
		{"two lines in one", line + "4 :invoke :write 3" + line + "5 :invoke :write 4\n", `run.jsonl:1: expected the end of the line after the value, found "jepsen.util - 5 :invoke :write 4"; ` + damaged},
		{"two lines in one after a failure", line + "4 :invoke :write 3\n" + line + "4 :fail :write 3 " + line + "5 :invoke :write 4\n", `run.jsonl:2: expected the end of the line after the value, found "INFO  jepsen.util - 5 :invoke :write 4"; ` + damaged},
		{"line begun twice", line + "4 :INFO  jepsen.util - 5 :invoke :write 4\n", `run.jsonl:1: expected one operation a line, found another line's beginning before it; ` + damaged},
		{"line begun twice before its message", "INFO  jepsen.utilINFO  jepsen.util - 5 :invoke :write 4\n", `run.jsonl:1: expected one operation a line, found another line's beginning before it; ` + damaged},
		{"colon of a type", line + "4\t:\n", `run.jsonl:1: expected a type (:invoke :ok :fail :info) after the process 4, found ":"; correct the line, or record the history again`},
		{"nothing said", "INFO  jepsen.util -\n", `run.jsonl:1: expected what jepsen.util says, found the end of the line; ` + damaged},
		{"value in another encoding", line + "4 :invoke :write \"caf\xe9\"\n", `run.jsonl:1: expected text in UTF-8, found "\"caf\xe9\""; save the file as UTF-8`},
		{"two values", line + "4 :invoke :write a b\n", `run.jsonl:1: expected the end of the line after the value, found "b"; ` + damaged},
		{"no number", line + "4 :invoke :write 3x\n", `run.jsonl:1: expected a number, found "3x"; correct the entry, or record the history again`},
		{"NUL bytes", line + "4 :invoke :write 3\n\x00\x00" + line + "4 :ok :write 3\n", `run.jsonl:2: expected a line of text, found a NUL byte in it; ` + damaged},
		{"read of a key after one without", line + "4 :invoke :read nil\n" + line + "5 :invoke :read [7 nil]\n", `run.jsonl:2: expected nil, as a read of one register is invoked with, found "[7,null]"; name the register under key, or say --independent yes or no where some values are [key value]`},
		{"2 MB on one line", "INFO\n" + strings.Repeat("x", 2<<20) + "\n", `run.jsonl:2: expected a line of at most 1048576 bytes, found a longer one; write one event a line, and long values as a digest of them`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := readFrom(strings.NewReader(test.file), "jepsen-log")
			if err == nil {
				t.Fatalf("read %d events, want the error %q", len(h.Events), test.want)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			mustBeSyntaxError(t, err)
		})
	}
}

// The histories of etcd that porcupine's module ships: 102 real logs.
func TestJepsenLogsOfEtcd(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join(moduleDir(t, "github.com/anishathalye/porcupine"), "test_data", "jepsen", "*.log"))
	if err != nil || len(logs) != 103 {
		t.Fatalf("found %d logs, expected 102 and an empty one: %v", len(logs), err)
	}
	var got tally
	for _, path := range logs {
		h, err := Open(path, Reading{})
		if filepath.Base(path) == "etcd_095.log" {
			if err == nil {
				t.Errorf("%s is empty: expected an error", path)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(content, []byte("\n")); lines != len(h.Events) {
			t.Errorf("%s: %d events in %d lines", path, len(h.Events), lines)
		}
		for i := range h.Events {
			got.count(&h.Events[i])
		}
		var file bytes.Buffer
		if err := WriteAll(&file, h); err != nil {
			t.Fatal(err)
		}
		again, err := ReadAll(&file, path)
		if err != nil {
			t.Fatal(err)
		}
		if h.Header != again.Header || !slices.Equal(h.Events, again.Events) {
			t.Errorf("%s, written and read (-want +got)\n%s", path, cmp.Diff(h, again))
		}
	}
	// Counted with grep over the same files.
	want := tally{Invoke: 8523, OK: 5475, Fail: 1765, Info: 1283, TimedOut: 1300, Nil: 203}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in %d logs (-want +got)\n%s", len(logs), diff)
	}
}

// moduleDir returns where the sources of a dependency are, and fetches them
// when no package that was built needed them so far.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	list := func() string {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatalf("cannot find %s: %v", module, err)
		}
		return strings.TrimSpace(string(out))
	}
	if dir := list(); dir != "" {
		return dir
	}
	if out, err := exec.Command("go", "mod", "download", module).CombinedOutput(); err != nil {
		t.Fatalf("cannot fetch %s: %v\n%s", module, err, out)
	}
	return list()
}

type tally struct{ Invoke, OK, Fail, Info, TimedOut, Nil int }

func (t *tally) count(e *Event) {
	switch e.Type {
	case Invoke:
		t.Invoke++
	case OK:
		t.OK++
	case Fail:
		t.Fail++
	case Info:
		t.Info++
	}
	if e.Error == "timed-out" {
		t.TimedOut++
	}
	if e.Value == NilValue {
		t.Nil++
	}
}

func FuzzJepsenLog(f *testing.F) {
	for _, line := range []string{
		"INFO  jepsen.util - 4 :invoke :write 3\n4 :ok :write 3",
		"INFO  jepsen.util - 2\t:invoke\t:cas\t[2 0]\n2\t:info\t:cas\t:timed-out",
		"1 :invoke :cas [\"a\\\"\" nil]\r\n1 :fail :cas [\"a\" nil] :x y",
		":nemesis :info :heal nil\n1 :invoke :read nil\n1 :ok :read \xff",
		"1 :invoke :write -\n", "1 :invoke :write 99999999999999999999", "1 :invoke :lock {:a [1}",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, log []byte) { readBack(t, log, "jepsen-log") })
}

func FuzzRead(f *testing.F) {
	typical, full := typicalEvent(), fullEvent()
	full.Index = 20
	var file bytes.Buffer
	if err := WriteAll(&file, &History{Events: []Event{typical, full}}); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte(header + invoke + okWrite))
	f.Add([]byte("\xef\xbb\xbf" + header + "\r\n" + invoke[:40]))
	const begin = header + `{"index":1,"time":0,"process":"w","type":"note","f":"heal",`
	for _, rest := range []string{
		`"value":[1,{"a":"\u0041\ud83d\ude00"},-1.5e+7,true,null]}`, `"value":-9223372036854775808,"expect":""}`,
		`"text":"\ud800\"\\\/\b"}`, `"value":{"a":{"b":[]}}`, `"op":99999999999999999999}`,
	} {
		f.Add([]byte(begin + rest))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		readBack(t, file, "staleproof")
		if name, err := Detect(file); (name == "") != (err != nil) {
			t.Fatalf("Detect: %q, %v", name, err)
		}
	})
}

// readBack reads the input, and holds that an error is a good one and that
// what was read is the same once it is written and read again.
func readBack(t *testing.T, input []byte, format string) {
	h, err := readFrom(bytes.NewReader(input), format)
	if err != nil {
		mustBeSyntaxError(t, err)
		return
	}
	var file, again bytes.Buffer
	if err := WriteAll(&file, h); err != nil {
		t.Fatal(err)
	}
	same, err := ReadAll(bytes.NewReader(file.Bytes()), "again")
	if err != nil {
		t.Fatalf("%v\n%s", err, file.Bytes())
	}
	if diff := cmp.Diff(h, same); diff != "" {
		t.Fatalf("written and read (-want +got)\n%s", diff)
	}
	if err := WriteAll(&again, same); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Fatalf("written twice (%v):\n%s\n%s", err, file.Bytes(), again.Bytes())
	}
}

func BenchmarkJepsenLog(b *testing.B) {
	var log bytes.Buffer
	const lines = 20000
	for i := range lines / 2 {
		fmt.Fprintf(&log, "INFO  jepsen.util - %d\t:invoke\t:cas\t[%d %d]\n", i%5, i%7, i%5)
		fmt.Fprintf(&log, "INFO  jepsen.util - %d\t:ok\t:cas\t[%d %d]\n", i%5, i%7, i%5)
	}
	b.ReportAllocs()
	var source Source
	var e Event
	n := 0
	for b.Loop() {
		if n%lines == 0 {
			var err error
			if source, err = NewSource(bytes.NewReader(log.Bytes()), "jepsen.log", Reading{}); err != nil {
				b.Fatal(err)
			}
		}
		if err := source.Next(&e); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}
