package history

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestJepsenJSONFiles(t *testing.T) {
	const (
		a = `{"type":"invoke","f":"write","value":3,"process":4,"time":7,"index":1}`
		b = `{"index": 2, "type": "ok", "f": "write", "value": 3, "process": 4, "time": 9}`
	)
	want := []Event{
		{Index: 1, Time: 7, Process: "4", Type: Invoke, F: Write, Op: 1, Value: IntValue(3)},
		{Index: 2, Time: 9, Process: "4", Type: OK, F: Write, Op: 1, Value: IntValue(3)},
	}
	deep := strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000)
	tests := []struct{ name, file string }{
		{"lines", a + "\n" + b + "\n"},
		{"CRLF", a + "\r\n" + b},
		{"no white space", a + b},
		{"array", "[" + a + "," + b + "]"},
		{"array over lines", " [\n" + strings.ReplaceAll(a, ",", ",\n\t") + "\r\n,\n" + strings.ReplaceAll(b, "{", "{\n") + "\n]\n"},
		{"byte order mark", "\xef\xbb\xbf[" + a + "," + b + "]"},
		{"index first", strings.Replace(a, "{", `{"index":1,`, 1)[:len(`{"index":1,`)] + strings.Replace(a, `,"index":1`, "", 1)[1:] + b},
		{"fields that nobody reads", strings.Replace(a, "{", `{"debug":{"a":[1,{"b":"]}\""}]},"latency":99999999999999999999,"note":"`+"\xff"+`\q","via":`+deep+`,"start":NaN,`, 1) + b},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := readFrom(strings.NewReader(test.file), "jepsen-json")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, h.Events); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			h, err = readFrom(iotest.OneByteReader(strings.NewReader(test.file)), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, h.Events); diff != "" {
				t.Errorf("recognised, byte by byte (-want +got)\n%s", diff)
			}
		})
	}
	if h, err := readFrom(strings.NewReader("[ ]"), ""); err != nil || len(h.Events) != 0 {
		t.Errorf("empty array: %v, %v; expected a history without events", h, err)
	}
}

func TestJepsenJSONValues(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }
	for _, test := range []struct {
		text string
		want Value
	}{
		{`-7`, IntValue(-7)},
		{`null`, NilValue},
		{`"a\u00e9"`, TextValue("aé")},
		{`true`, raw("true")},
		{`1.50`, raw("1.50")},
		{`9223372036854775808`, TextValue("9223372036854775808")},
		{`-99999999999999999999`, TextValue("-99999999999999999999")},
		{` { "b" : [ ] , "a" : 1e5 } `, raw(`{"b":[],"a":1e5}`)},
		{`[1,2]`, raw(`[1,2]`)},
		{deep(maxDepth), raw(deep(maxDepth))},
		{deep(maxDepth + 1), TextValue(deep(maxDepth + 1))},
		{deep(100_000), TextValue(deep(100_000))},
	} {
		h, err := readFrom(strings.NewReader(`{"type":"invoke","f":"write","process":1,"value":`+test.text+`}`), "jepsen-json")
		if err != nil {
			t.Errorf("%.40s: %v", test.text, err)
		} else if diff := cmp.Diff(test.want, h.Events[0].Value); diff != "" {
			t.Errorf("%.40s (-want +got)\n%s", test.text, diff)
		}
	}
}

func TestJepsenJSONRefuses(t *testing.T) {
	const (
		cut   = "; the file seems cut off: copy it again, or record the history again"
		entry = "; correct the entry, or record the history again"
		rfc   = "; write each operation as a JSON object (RFC 8259)"
	)
	op := func(fields string) string {
		return "[\n{\"type\":\"invoke\",\"f\":\"write\",\"process\":1," + fields + "}]"
	}
	tests := []struct{ name, file, want string }{
		{"empty file", "", "run.jsonl: expected a history, found a file without operations; record the history again"},
		{"cut in the array", "\n[" + jsonInvoke + "\n", "run.jsonl:3: expected ']' to close the '[' of line 2, found the end of the file" + cut},
		{"cut after a comma", "\n[" + jsonInvoke + ",\n", "run.jsonl:3: expected ']' to close the '[' of line 2, found the end of the file" + cut},
		{"cut in an object", "[\n{\"type\":\n", "run.jsonl:3: expected '}' to close the '{' of line 2, found the end of the file" + cut},
		{"cut in a value", "[\n{\"type\":\n[\"]", "run.jsonl:3: expected the end of the string that begins on line 3, found the end of the file" + cut},
		{"wrong bracket", "[{\"a\":\n[1}]", "run.jsonl:2: expected ']' to close the '[' of line 2, found '}'; correct the brackets, or record the history again"},
		{"no comma", "[" + jsonInvoke + "\n" + jsonInvoke + "]", "run.jsonl:2: expected a comma or ']' after an operation, found an object" + entry},
		{"comma too much", "[" + jsonInvoke + ",\n]", "run.jsonl:2: expected an operation after the comma, found ']'" + entry},
		{"comma between lines", jsonInvoke + ",\n" + jsonInvoke, `run.jsonl:1: expected an operation, such as {"type":"invoke","f":"read","process":0}, found ','; write each operation as an object`},
		{"array of numbers", "[\n1,2]", `run.jsonl:2: expected an operation, such as {"type":"invoke","f":"read","process":0}, found the number 1; write each operation as an object`},
		{"array of arrays", "[[1]]", `run.jsonl:1: expected an operation, such as {"type":"invoke","f":"read","process":0}, found an array; write each operation as an object`},
		{"something after the array", "[]\n[]", "run.jsonl:2: expected the end of the file after the end of the '[' of line 1, found an array; put all operations into one vector or array, or one on each line"},
		{"no colon", op("\n\"value\" 1"), `run.jsonl:3: expected a colon after the name "value", found the number 1` + rfc},
		{"no value", op("\"value\":\n"), `run.jsonl:3: expected a value, found '}'` + rfc},
		{"two values", op("\"node\":1\n2"), `run.jsonl:3: expected a comma or the end of the object, found the number 2` + rfc},
		{"field twice", op("\n\"process\":2"), `run.jsonl:3: expected each field once, found the field "process" again` + entry},
		{"no type", "\n{\"f\":\"read\",\n\"process\":1}", `run.jsonl:2: expected a type in field "type", found an operation without it; every operation has a type, an f and a process, such as {"process":0,"type":"invoke","f":"write","value":1}`},
		{"misspelt type", "{\"f\":\"read\",\"process\":1,\n\"type\":\"invok\"}", `run.jsonl:2: expected a type in field "type", found the string "invok"; did you mean invoke?`},
		{"unknown operation", "{\"type\":\"invoke\",\"process\":1,\n\"f\":\"txn\"}", `run.jsonl:2: expected an operation on a register or a lock (read write cas delete acquire release renew), or a read-operation in field "f", found the string "txn"; this is a history of transactions, which Elle judges, and is not judged here: only registers, locks, leases and tokens are`},
		{"no process", "{\"f\":\"read\",\"type\":\"ok\",\"process\":null}", `run.jsonl:1: expected the number of a process, from 0, or its name in field "process", found null` + entry},
		{"number with something behind it", op(`"value":1!`), `run.jsonl:2: expected the end of the value in field "value", found '!'` + rfc},
		{"number with a byte in it", op("\"value\":1,\"time\":6\xb61"), `run.jsonl:2: expected the end of the value in field "time", found "\xb61}"` + rfc},
		{"event without a header", "{\"process\":\"A\",\"type\":\"invoke\",\"f\":\"write\",\"op\":1,\"value\":1}", `run.jsonl:1: expected an operation of Jepsen's, which has no field "op", found an event of staleproof.history/1; put its header {"format":"staleproof.history/1"} before the first event`},
		{"nemesis only", `{"type":"info","f":"heal","process":"nemesis"}`, `run.jsonl:1: expected operations of clients, found none among 1 entries; give the history of a test`},
		{"process below 0", "{\"f\":\"read\",\"type\":\"invoke\",\n\"process\":-5}", `run.jsonl:2: expected the number of a process, from 0, or its name in field "process", found the number -5` + entry},
		{"read of no value", "{\"f\":\"read\",\"type\":\"invoke\",\"process\":1}\n{\"f\":\"read\",\"type\":\"ok\",\"process\":1}", `run.jsonl:2: expected the value of the read in field "value", found an operation without it; say nil, or null in JSON, where there is none`},
		{"write of no value", "{\"f\":\"write\",\"type\":\"invoke\",\"process\":1}", `run.jsonl:1: expected the value of the write in field "value", found an operation without it; say nil, or null in JSON, where there is none`},
		{"text for a time", op(`"time":"soon"`), `run.jsonl:2: expected an integer that fits in 64 bits in field "time", found the string "soon"` + entry},
		{"time beyond 64 bits", op(`"time":9223372036854775808`), `run.jsonl:2: expected an integer that fits in 64 bits in field "time", found the number 9223372036854775808` + entry},
		{"value that is no JSON", op("\"value\":\n[1,nil]"), `run.jsonl:3: expected a JSON value in field "value", found nil` + rfc},
		{"value with a bad escape", op("\"value\":\"\\q\""), `run.jsonl:2: expected a JSON escape in field "value", found "\\q"; write a backslash as \\`},
		{"cas of one value", "{\"type\":\"invoke\",\"f\":\"cas\",\"process\":1,\"value\":[1]}", `run.jsonl:1: expected [old new] for a cas in field "value", found an array` + entry},
		{"registers by key and without", "{\"type\":\"invoke\",\"f\":\"read\",\"process\":1,\"value\":[1,null]}\n{\"type\":\"ok\",\"f\":\"read\",\"process\":1,\"value\":1}", `run.jsonl:2: expected [key value] for a read, found 1; operations before have keys, as those of jepsen.independent: write all values so, or say --independent no`},
		{"ok without invoke", "[\n{\"type\":\"ok\",\n\"f\":\"write\",\"process\":1}]", `run.jsonl:2: expected an invoke of write by process "1" before its end, found the ok alone; record each operation's beginning too, in the order in which things happened`},
		{"entry without end", "[{\"a\":\"" + strings.Repeat("x", MaxEntry), "run.jsonl:1: expected an operation of at most 16777216 bytes, found a longer one; write long values as a digest of them"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := readFrom(strings.NewReader(test.file), "jepsen-json")
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

// A small file, cut at every byte.
func TestJepsenJSONCutOff(t *testing.T) {
	const small = `[{"type":"invoke","f":"cas","value":[1,2],"process":0,"link":["a\"]"]},
 {"type":"info","f":"start","process":"nemesis"},
 {"type":"ok","f":"cas",
  "value":[1, 2],"process":0}]`
	if h, err := readFrom(strings.NewReader(small), ""); err != nil || len(h.Events) != 2 {
		t.Fatalf("%v, %v; want 2 events", h, err)
	}
	for n := range len(small) {
		for _, format := range []string{"jepsen-json", ""} {
			_, err := readFrom(strings.NewReader(small[:n]), format)
			if err == nil {
				t.Fatalf("cut at byte %d: no error", n)
			}
			mustBeSyntaxError(t, err)
			if format != "" && n > 0 && !strings.Contains(err.Error(), "found the end of the file") {
				t.Errorf("cut at byte %d: %v", n, err)
			}
		}
	}
}

func FuzzJepsenJSON(f *testing.F) {
	for _, file := range []string{
		jsonInvoke, "[" + jsonInvoke + "]", jsonInvoke + "\n" + `{"type":"ok","f":"write","process":4}`,
		`[{"type":"invoke","f":"cas","value":[{"a":[]},1.5],"process":"p"} , {"type":"info","f":"cas","process":"p","error":["x"]}]`,
		`{"type":"invoke","f":"lock","value":"r","process":1}{"type":"ok","f":"lock","value":{"fence":3},"process":1}`,
		`{"type":"info","f":"kill","process":"nemesis","value":[[]]}`, `[{"x":nan,"y":"\q`, "\xef\xbb\xbf[", "[,]", `{"a":{}`,
		`{"type":"invoke","f":"write","process":1,"value":99999999999999999999}`,
		`{"type":"invoke","f":"write","process":1,"value":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`,
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		readBack(t, file, "jepsen-json")
		readInPieces(t, file, "jepsen-json")
	})
}
