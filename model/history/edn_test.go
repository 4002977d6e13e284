package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func raw(text string) Value { return Value{Kind: Raw, Str: text} }

// Every form of EDN, and what else Clojure prints: as a value, as a value in a
// vector, and in fields that nobody reads.
func TestEDNForms(t *testing.T) {
	deep := func(n int, inner string) string {
		return strings.Repeat("[", n) + inner + strings.Repeat("]", n)
	}
	tests := []struct {
		form string
		want Value
	}{
		{`0`, IntValue(0)},
		{`-0`, IntValue(0)},
		{`+7`, IntValue(7)},
		{`-12`, IntValue(-12)},
		{`42N`, IntValue(42)},
		{`-42N`, IntValue(-42)},
		{`42M`, IntValue(42)},
		{`9223372036854775807`, IntValue(1<<63 - 1)},
		{`-9223372036854775808`, IntValue(-1 << 63)},
		{`9223372036854775808`, TextValue("9223372036854775808")},
		{`-170141183460469231731687303715884105728N`, TextValue("-170141183460469231731687303715884105728")},
		{strings.Repeat("9", 400) + "N", TextValue(strings.Repeat("9", 400))},
		{`1.5`, raw("1.5")},
		{`+1.50`, raw("1.50")},
		{`-0.0`, raw("-0.0")},
		{`1.`, raw("1.0")},
		{`007.25`, raw("7.25")},
		{`1e3`, raw("1e3")},
		{`1.e3`, raw("1.0e3")},
		{`-1.5E-7`, raw("-1.5E-7")},
		{`3.14159265358979323846M`, raw("3.14159265358979323846")},
		{`1/3`, TextValue("1/3")},
		{`-4/6`, TextValue("-2/3")},
		{`4/2`, IntValue(2)},
		{`0/5`, IntValue(0)},
		{`1/0`, TextValue("1/0")},
		{`-9223372036854775808/6`, TextValue("-9223372036854775808/6")},
		{`99999999999999999999/3`, TextValue("99999999999999999999/3")},
		{`0x1F`, IntValue(31)},
		{`-0XffN`, IntValue(-255)},
		{`0xFFFFFFFFFFFFFFFF`, TextValue("0xFFFFFFFFFFFFFFFF")},
		{`017`, IntValue(15)},
		{`2r101`, IntValue(5)},
		{`36Rzz`, IntValue(1295)},
		{`##NaN`, TextValue("##NaN")},
		{`##Inf`, TextValue("##Inf")},
		{`##-Inf`, TextValue("##-Inf")},
		{`nil`, NilValue},
		{`true`, raw("true")},
		{`false`, raw("false")},
		{`:a`, TextValue("a")},
		{`:a.b/c-d`, TextValue("a.b/c-d")},
		{`::a/b`, TextValue(":a/b")},
		{`sym`, TextValue("sym")},
		{`clojure.core/+`, TextValue("clojure.core/+")},
		{`-`, TextValue("-")},
		{`-a`, TextValue("-a")},
		{`a#b'c`, TextValue("a#b'c")},
		{`nil?`, TextValue("nil?")},
		{`""`, TextValue("")},
		{`"a b"`, TextValue("a b")},
		{`"\"\\\n\r\t\b\f\u00e9\ud83d\ude00\ud83d"`, TextValue("\"\\\n\r\t\b\fé\U0001F600\uFFFD")},
		{`"\d\u12"`, TextValue(`\d\u12`)},
		{"\"two\nlines ; ] } \"", TextValue("two\nlines ; ] } ")},
		{`\a`, TextValue("a")},
		{`\"`, TextValue(`"`)},
		{`\\`, TextValue(`\`)},
		{`\[`, TextValue("[")},
		{`\;`, TextValue(";")},
		{`\,`, TextValue(",")},
		{`\é`, TextValue("é")},
		{`\newline`, TextValue("\n")},
		{`\space`, TextValue(" ")},
		{`\tab`, TextValue("\t")},
		{`\return`, TextValue("\r")},
		{`\backspace`, TextValue("\b")},
		{`\formfeed`, TextValue("\f")},
		{`\u0041`, TextValue("A")},
		{`\o101`, TextValue("o101")},
		{`#"a\"[b"`, TextValue(`#"a\"[b"`)},
		{`[]`, raw("[]")},
		{`()`, raw("[]")},
		{`{}`, raw("{}")},
		{`#{}`, raw(`{"#set":[]}`)},
		{`[1 :a "b" nil true 1.5 \c 1/2 ##NaN]`, raw(`[1,"a","b",null,true,1.5,"c","1/2","##NaN"]`)},
		{`(1,2 ,, 3)`, raw("[1,2,3]")},
		{`{:b 1, :a [2]}`, raw(`{"a":[2],"b":1}`)},
		{`{:a [2] :b 1}`, raw(`{"a":[2],"b":1}`)},
		{`{1 2 nil 3 "s" 4 [1 "x"] 5 2.5 6 true 7}`, raw(`{"1":2,"2.5":6,"[1,\"x\"]":5,"nil":3,"s":4,"true":7}`)},
		{`#{3 1 #{2 1}}`, raw(`{"#set":[1,3,{"#set":[1,2]}]}`)},
		{`#inst "2020-01-01"`, raw(`{"#inst":"2020-01-01"}`)},
		{`#a #b [1]`, raw(`{"#a":{"#b":[1]}}`)},
		{`#foo.Bar{:x 1}`, raw(`{"#foo.Bar":{"x":1}}`)},
		{`#object[java.lang.Object 0x1f "java.lang.Object@1f"]`, raw(`{"#object":["java.lang.Object",31,"java.lang.Object@1f"]}`)},
		{`#:jepsen{:a 1 :b/c 2 :_/d 3 "e" 4 f 5}`, raw(`{"b/c":2,"d":3,"e":4,"f":5,"jepsen/a":1}`)},
		{`#:a {:b #:c{:d 1}}`, raw(`{"a/b":{"c/d":1}}`)},
		{`{:a ; a comment } ] "` + "\n" + `1 #_ :b #_ #_ [2] {:c 3}}`, raw(`{"a":1}`)},
		{`[#_#_1 2 3 #_ #tag [4]]`, raw("[3]")},
		{`[#_#_[[1] [2]] 3 4]`, raw("[4]")},
		{`^{:line 1} [^:b c]`, raw(`["c"]`)},
		{`^:a 3`, IntValue(3)},
		{deep(maxDepth, "1"), raw(deep(maxDepth, "1"))},
		{deep(maxDepth+1, "1"), TextValue(deep(maxDepth+1, "1"))},
		{deep(100_000, "\"a\""), TextValue(deep(100_000, "\"a\""))},
		{strings.Repeat("#a ", 1000) + "1", TextValue(strings.Repeat("#a ", 1000) + "1")},
		{strings.Repeat("{", 60) + "1 2" + strings.Repeat("} 3", 59) + "}", // quotes of keys in keys double, 60 times
			TextValue(strings.Repeat("{", 60) + "1 2" + strings.Repeat("} 3", 59) + "}")},
	}
	for _, test := range tests {
		name := test.form[:min(len(test.form), 60)]
		t.Run(name, func(t *testing.T) {
			h := readEDN(t, `{:type :invoke :f :write :value `+test.form+` :process 1}`)
			if diff := cmp.Diff(test.want, h.Events[0].Value); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var file bytes.Buffer
			if err := WriteAll(&file, h); err != nil && len(test.form) < MaxLine/2 {
				t.Fatal(err)
			}
			if again, err := ReadAll(&file, ""); err != nil {
				t.Error(err)
			} else if diff := cmp.Diff(h, again); diff != "" {
				t.Errorf("written and read (-want +got)\n%s", diff)
			}

			h = readEDN(t, `[{:type :invoke, :debug `+test.form+` :f :write, :value 5 [`+test.form+`] {`+test.form+` #{`+test.form+`}}, :process 1}]`)
			if diff := cmp.Diff([]Event{{Process: "1", Type: Invoke, F: Write, Op: 1, Value: IntValue(5)}}, h.Events); diff != "" {
				t.Errorf("in fields that are skipped (-want +got)\n%s", diff)
			}
			h = readEDN(t, `{:type :ok :f :read :value [`+test.form+`] :process 1}`, `{:type :invoke :f :read :value nil :process 1}`)
			if test.want.Kind != Raw && len(test.form) < 10000 && !strings.HasPrefix(test.form, "[[") && !strings.HasPrefix(test.form, "#a #a") && !strings.HasPrefix(test.form, "{{") {
				if diff := cmp.Diff(raw("["+asJSON(test.want)+"]"), h.Events[1].Value); diff != "" {
					t.Errorf("in a vector (-want +got)\n%s", diff)
				}
			}
		})
	}
}

// asJSON writes a value that is no Raw as encoding/json would.
func asJSON(v Value) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var any any
	switch v.Kind {
	case Int:
		any = v.Num
	case Text:
		any = strings.NewReplacer("\b", "\\b~", "\f", "\\f~").Replace(v.Str) // see below
	}
	if err := e.Encode(any); err != nil {
		panic(err)
	}
	// This package writes \b and \f as \u00XX.
	return strings.TrimSuffix(strings.NewReplacer(`\\b~`, `\u0008`, `\\f~`, `\u000c`).Replace(b.String()), "\n")
}

// readEDN reads one map, after another when there is one.
func readEDN(t *testing.T, file string, before ...string) *History {
	t.Helper()
	h, err := readFrom(strings.NewReader(strings.Join(append(before, file), "\n")), "edn")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Equal values are written in more than one way.
func TestEDNEqualValues(t *testing.T) {
	for _, same := range [][]string{
		{`{:a 1 :b 2}`, `{:b 2, :a 1}`, `{"b" 2N a +1}`, `#:x{:_/a 1 :_/b 2}`},
		{`#{1 2 3}`, `#{3 2 1}`, `#{ 2,1 3 }`},
		{`[1 [2]]`, `(1 (2))`, `[1 #_ 5 [2 ; two` + "\n" + `]]`},
		{`{:x/a 1}`, `#:x{:a 1}`, `#:x{:x/a 1}`},
		{`{#{1 2} [1/2]}`, `{#{2 1} [2/4]}`},
	} {
		want := readEDN(t, `{:type :invoke :f :write :process 1 :value `+same[0]+`}`).Events[0].Value
		for _, form := range same[1:] {
			if got := readEDN(t, `{:type :invoke :f :write :process 1 :value `+form+`}`).Events[0].Value; got != want {
				t.Errorf("%s is %v, but %s is %v", form, got, same[0], want)
			}
		}
	}
}

// Whatever a file looks like around its operations, they are the same two.
func TestEDNFiles(t *testing.T) {
	const (
		a = `{:type :invoke, :f :write, :value 3, :process 4, :time 7, :index 1}`
		b = `{:type :ok, :f :write, :value 3, :process 4, :time 9, :index 2}`
	)
	want := []Event{
		{Index: 1, Time: 7, Process: "4", Type: Invoke, F: Write, Op: 1, Value: IntValue(3)},
		{Index: 2, Time: 9, Process: "4", Type: OK, F: Write, Op: 1, Value: IntValue(3)},
	}
	tests := []struct{ name, file string }{
		{"lines", a + "\n" + b + "\n"},
		{"CRLF", a + "\r\n" + b + "\r\n"},
		{"no white space at all", a + b},
		{"vector", "[" + a + " " + b + "]"},
		{"vector with commas", "[" + a + ", " + b + ",]\n\n"},
		{"list", "(" + a + "\n" + b + ")"},
		{"byte order mark", "\xef\xbb\xbf[" + a + b + "]"},
		{"records", "#jepsen.history.Op" + a + "\n#jepsen.history.Op " + b},
		{"vector of records", "[#knossos.op.Op" + a + " #op " + b + "]"},
		{"tagged vector", "#jepsen.history.DenseHistory [" + a + b + "]"},
		{"tagged list behind a comment", "#h ; a comment\n#_ 1 (" + a + b + ")"},
		{"namespaced maps", "#:jepsen" + a + "\n#:jepsen " + b},
		{"namespaced keys", strings.ReplaceAll(a, ":type", ":jepsen/type") + b},
		{"another's key of the same name", strings.Replace(a, ":type", ":db/node :node :type", 1) + b},
		{"metadata", "^{:a 1} " + a + "^:b ^c #d " + b},
		{"comments", "; one\n[;two\n" + a + "; }{\n" + strings.ReplaceAll(b, ",", "; \" three\n") + "; ]\n] ; end"},
		{"taken out", "#_ foo #_{:a \\[}" + "#_[#_1 2]" + "[#_ #_ 1 2 " + a + " #_ #tag \"x\" " + strings.ReplaceAll(b, ",", " #_ [1] #_ #_ :a :b") + "#_nil] #_ 5"},
		{"operation without end taken out", a + b + "#_{:type :invoke}"},
		{"strings and symbols for names", strings.NewReplacer(":invoke", `"invoke"`, ":write", "write").Replace(a) + b},
		{"process names", strings.ReplaceAll(a, "4", `"4"`) + b},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := readFrom(strings.NewReader(test.file), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, h.Events); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			h, err = readFrom(iotest.OneByteReader(strings.NewReader(test.file)), "edn")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, h.Events); diff != "" {
				t.Errorf("byte by byte (-want +got)\n%s", diff)
			}
		})
	}
	for _, file := range []string{"[]", "()", "[ ; nothing\n]"} {
		if h, err := readFrom(strings.NewReader(file), "edn"); err != nil || len(h.Events) != 0 {
			t.Errorf("%s: %v, %v; expected a history without events", file, h, err)
		}
	}
}

func TestEDNRefuses(t *testing.T) {
	const cut = "; the file seems cut off: copy it again, or record the history again"
	op := func(fields string) string { return "[\n{:type :invoke :f :write :process 1 " + fields + "}]" }
	tests := []struct{ name, file, want string }{
		{"empty file", "", "run.jsonl: expected a history, found a file without operations; record the history again"},
		{"comments only", "; nothing\n#_ 1\n", "run.jsonl: expected a history, found a file without operations; record the history again"},
		{"cut in the vector", "\n[" + ednInvoke + "\n", "run.jsonl:3: expected ']' to close the '[' of line 2, found the end of the file" + cut},
		{"cut in a map", "[\n" + ednInvoke + "\n\n{:type\n:ok\n", "run.jsonl:6: expected '}' to close the '{' of line 4, found the end of the file" + cut},
		{"cut in a value", "{:type :ok\n:value #{1\n[2\n\"]\" ", "run.jsonl:4: expected ']' to close the '[' of line 3, found the end of the file" + cut},
		{"cut in a string", "[{:type\n\"a\\\"\nb", "run.jsonl:3: expected the end of the string that begins on line 2, found the end of the file" + cut},
		{"cut in an escape", "[{:type \"a\\", "run.jsonl:1: expected the end of the string that begins on line 1, found the end of the file" + cut},
		{"cut in a pattern", "[{:type #\"a", "run.jsonl:1: expected the end of the string that begins on line 1, found the end of the file" + cut},
		{"cut in a character", "[{:type \\", "run.jsonl:1: expected '}' to close the '{' of line 1, found the end of the file" + cut},
		{"cut after a tag", "#jepsen.history.Op", "run.jsonl:1: expected a value after a tag, ^ or #_, found the end of the file" + cut},
		{"cut after a tag in the vector", "[\n#jepsen.history.Op ", "run.jsonl:2: expected a value after a tag, ^ or #_, found the end of the file" + cut},
		{"cut after #_", ednInvoke + "\n#_", "run.jsonl:2: expected a value after a tag, ^ or #_, found the end of the file" + cut},
		{"wrong bracket", "[{:type :ok,\n:value [1 2)}]", "run.jsonl:2: expected ']' to close the '[' of line 2, found ')'; correct the brackets, or record the history again"},
		{"wrong bracket around all", "[\n" + ednInvoke + ")", "run.jsonl:2: expected ']' to close the '[' of line 1, found ')'; correct the brackets, or record the history again"},
		{"bracket too much", ednInvoke + "]", "run.jsonl:1: expected a value, found ']'; correct the entry, or record the history again"},
		{"something after the vector", "[" + ednInvoke + "]\n[1]", "run.jsonl:2: expected the end of the file after the end of the '[' of line 1, found a vector; put all operations into one vector or array, or one on each line"},
		{"vector of a vector", "[[" + ednInvoke + "]]", "run.jsonl:1: expected an operation, such as {:type :invoke, :f :read, :process 0}, found a vector; write each operation as a map"},
		{"vector of numbers", "[1 2]", `run.jsonl:1: expected an operation, such as {:type :invoke, :f :read, :process 0}, found "1"; write each operation as a map`},
		{"a set", "#{1}", "run.jsonl:1: expected an operation, such as {:type :invoke, :f :read, :process 0}, found a set; write each operation as a map"},
		{"a string", `"a\"b" 1`, `run.jsonl:1: expected an operation, such as {:type :invoke, :f :read, :process 0}, found the string "a\\\"b"; write each operation as a map`},
		{"key without a value", "[{:type :ok\n :f\n}]", `run.jsonl:3: expected a value for the key ":f", found '}'; correct the entry, or record the history again`},
		{"tag without a value", "{:type :ok\n :f #tag}", `run.jsonl:2: expected a value, found '}'; correct the entry, or record the history again`},
		{"#_ without a value", "{:type :ok\n #_ }", `run.jsonl:2: expected a value, found '}'; correct the entry, or record the history again`},
		{"key twice", op("\n:type :ok"), `run.jsonl:3: expected each key once, found ":type"; correct the entry, or record the history again`},
		{"no type", "\n{:f :read\n:process 1}", `run.jsonl:2: expected a type under :type, found an operation without it; every operation has a type, an f and a process, such as {:process 0, :type :invoke, :f :write, :value 1}`},
		{"no f", "{:type :ok :process 1}", `run.jsonl:1: expected the name of an operation under :f, found an operation without it; every operation has a type, an f and a process, such as {:process 0, :type :invoke, :f :write, :value 1}`},
		{"no process", "{:f :read :type :ok}", `run.jsonl:1: expected the number of a process, from 0, or its name under :process, found an operation without it; every operation has a type, an f and a process, such as {:process 0, :type :invoke, :f :write, :value 1}`},
		{"empty map", "{}", `run.jsonl:1: expected the number of a process, from 0, or its name under :process, found an operation without it; every operation has a type, an f and a process, such as {:process 0, :type :invoke, :f :write, :value 1}`},
		{"process of another kind", "{:type :ok :f :read\n:process [1]}", `run.jsonl:2: expected the number of a process, from 0, or its name under :process, found a vector; correct the entry, or record the history again`},
		{"process without a name", "{:type :ok :f :read\n:process nil}", `run.jsonl:2: expected the number of a process, from 0, or its name under :process, found "nil"; correct the entry, or record the history again`},
		{"value in another encoding", "{:type :invoke :f :write :process 1\n:value \"caf\xe9\"}", `run.jsonl:2: expected text in UTF-8, found "\"caf\xe9\""; save the file as UTF-8`},
		{"cas in another encoding", "{:type :invoke :f :cas :process 1\n:value [1 \"caf\xe9\"]}", `run.jsonl:2: expected text in UTF-8, found "[1 \"caf\xe9\"]"; save the file as UTF-8`},
		{"nemesis only", "[{:type :info :f :start :process :nemesis}\n{:type :info :f :heal :process :nemesis}]", `run.jsonl:2: expected operations of clients, found none among 2 entries; give the history of a test`},
		{"process below 0", "{:type :invoke :f :read :value nil\n:process -5}", `run.jsonl:2: expected the number of a process, from 0, or its name under :process, found "-5"; correct the entry, or record the history again`},
		{"read of no value", "{:type :invoke :f :read :process 1}\n{:type :ok :f :read :process 1}", `run.jsonl:2: expected the value of the read under :value, found an operation without it; say nil, or null in JSON, where there is none`},
		{"write of no value", "{:type :invoke :f :write :process 1}", `run.jsonl:1: expected the value of the write under :value, found an operation without it; say nil, or null in JSON, where there is none`},
		{"misspelt f", "{:type :invoke :f :raed :process 1}", `run.jsonl:1: expected an operation on a register or a lock (read write cas delete acquire release renew), or a read-operation under :f, found ":raed"; did you mean read?`},
		{"misspelt type", "{:type :invoked :f :read :process 1}", `run.jsonl:1: expected a type under :type, found ":invoked"; did you mean invoke?`},
		{"unknown type", "{:type :x/begin :f :read :process 1}", `run.jsonl:1: expected a type under :type, found ":x/begin"; the types are invoke ok fail info`},
		{"note", "{:type :note :f :heal :process 1}", `run.jsonl:1: expected a type under :type, found ":note"; the types are invoke ok fail info`},
		{"number for a type", "{:type 1 :f :read :process 1}", `run.jsonl:1: expected a type under :type, found "1"; correct the entry, or record the history again`},
		{"unknown operation", "{:type :invoke\n:f :txn :process 1}", `run.jsonl:2: expected an operation on a register or a lock (read write cas delete acquire release renew), or a read-operation under :f, found ":txn"; this is a history of transactions, which Elle judges, and is not judged here: only registers, locks, leases and tokens are`},
		{"text for a time", op(":time \"soon\""), `run.jsonl:2: expected an integer that fits in 64 bits under :time, found the string "soon"; correct the entry, or record the history again`},
		{"fraction for an index", op(":index 1.5"), `run.jsonl:2: expected an integer that fits in 64 bits under :index, found "1.5"; correct the entry, or record the history again`},
		{"time beyond 64 bits", op(":time 9223372036854775808"), `run.jsonl:2: expected an integer that fits in 64 bits under :time, found "9223372036854775808"; correct the entry, or record the history again`},
		{"no number", op(":value\n1x"), `run.jsonl:3: expected a number, found "1x"; correct the entry, or record the history again`},
		{"no octal number", op(":value 08"), `run.jsonl:2: expected a number, found "08"; correct the entry, or record the history again`},
		{"no radix", op(":value 1r0"), `run.jsonl:2: expected a number, found "1r0"; correct the entry, or record the history again`},
		{"no ratio", op(":value 1/-2"), `run.jsonl:2: expected a number, found "1/-2"; correct the entry, or record the history again`},
		{"map of three", op(":value {:a\n1 :b}"), `run.jsonl:3: expected a value for each key of a map, found '}'; correct the entry, or record the history again`},
		{"tag without a value inside", op(":value [#a]"), `run.jsonl:2: expected a value, found ']'; correct the entry, or record the history again`},
		{"cas of one value", "{:type :invoke :f :cas :process 1\n:value 3}", `run.jsonl:2: expected [old new] for a cas under :value, found "3"; correct the entry, or record the history again`},
		{"cas of three values", "{:type :invoke :f :cas :process 1 :value [1 2 3]}", `run.jsonl:1: expected [old new] for a cas under :value, found a vector; correct the entry, or record the history again`},
		{"cas of nothing", "{:type :invoke :f :cas :process 1}", `run.jsonl:1: expected [old new] for a cas under :value, found an operation without it; correct the entry, or record the history again`},
		{"registers by key and without", "{:type :invoke :f :write :process 1 :value 1}\n{:type :invoke :f :read :process 2 :value [7 nil]}", `run.jsonl:2: expected nil, as a read of one register is invoked with, found "[7,null]"; name the register under key, or say --independent yes or no where some values are [key value]`},
		{"registers without a key", "{:type :invoke :f :read :process 2 :value [7 nil]}\n{:type :invoke :f :write :process 1 :value 1}", `run.jsonl:2: expected [key value] for a write, found 1; operations before have keys, as those of jepsen.independent: write all values so, or say --independent no`},
		{"another key in the end", "{:type :invoke :f :read :process 2 :value [7 nil]}\n{:type :ok :f :read :process 2 :value [8 1]}", `run.jsonl:2: expected the key "7" of the invoke, found "8"; correct the line, or record the history again`},
		{"nothing tells whether it is a key", "{:type :invoke :f :read :process 2 :value [7 1]}\n{:type :ok :f :read :process 2 :value [7 1]}", `run.jsonl: expected an operation that tells whether [a b] is a value, or a key and its value, found none; say --independent yes or --independent no`},
		{"timestamp of nothing", "{:type :invoke :f :read-operation :process 1}\n{:type :ok :f :read-operation :process 1\n:value 0}", `run.jsonl:3: expected the token that was read, an integer from 1 under :value, found "0"; correct the entry, or record the history again`},
		{"ok without invoke", "[\n{:type :ok\n:f :write :process 1}]", `run.jsonl:2: expected an invoke of write by process "1" before its end, found the ok alone; record each operation's beginning too, in the order in which things happened`},
		{"index not greater", ednInvoke + "\n" + strings.Replace(ednInvoke, ":process 4", ":process 5", 1), "run.jsonl:2: expected an index above 0, found 0; number the events in the order in which they happened"},
		{"brackets without end", "[{:a " + strings.Repeat("[", maxNesting), "run.jsonl:1: expected a value nested at most 1048576 deep, found a deeper one; write it as a string"},
		{"entry without end", "[{:a \"" + strings.Repeat("x", MaxEntry), "run.jsonl:1: expected an operation of at most 16777216 bytes, found a longer one; write long values as a digest of them"},
		{"NUL bytes", "[\x00\x00]", `run.jsonl:1: expected an operation, such as {:type :invoke, :f :read, :process 0}, found "\x00\x00"; write each operation as a map`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := readFrom(strings.NewReader(test.file), "edn")
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

// What nobody reads may be as long and as deep as the reader's memory allows,
// and outside operations longer.
func TestEDNSkipsAnything(t *testing.T) {
	const many = 200_000
	words := strings.Repeat(strings.Repeat("x", 1000)+" ", MaxEntry/1000)
	for name, file := range map[string]string{
		"deep":          "[" + strings.Replace(ednInvoke, ":f", ":debug "+strings.Repeat("[", many)+strings.Repeat("]", many)+" :f", 1) + "]",
		"many tags":     "[" + strings.Replace(ednInvoke, ":f", ":debug "+strings.Repeat("#a ", many)+" 1 :f", 1) + "]",
		"many #_":       strings.Repeat("#_ ", many) + strings.Repeat("x ", many) + ednInvoke,
		"#_ one by one": strings.Repeat("#_{} ", many) + ednInvoke,
		"long string":   strings.Replace(ednInvoke, ":f", ":debug \""+strings.Repeat("ab;\\\"[\n", many)+"\" :f", 1),
		"long comment":  ";" + strings.Repeat("[", MaxEntry) + "\n" + ednInvoke,
		"long #_":       "#_ [" + words + "]" + ednInvoke,
	} {
		h, err := readFrom(strings.NewReader(file), "edn")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(h.Events) != 1 || h.Events[0].F != Write {
			t.Errorf("%s: %+v", name, h.Events)
		}
	}
}

// A small file, cut at every byte.
func TestEDNCutOff(t *testing.T) {
	const small = `[#jepsen.history.Op{:type :invoke, :f :cas, :value [1 2], :process 0, :link #{"a\"" \] #"b"}} ; one
 {:type :info, :f :start, :process :nemesis #_ #_ 1 [2]}
 #:jepsen{:type :ok, :f :cas, :value [1 2], :process 0,
  :via {1/2 ##NaN, #inst "x" (1N 2.5M)}}]`
	if h := readEDN(t, small); len(h.Events) != 2 {
		t.Fatalf("%d events, want 2", len(h.Events))
	}
	for n := range len(small) {
		for _, format := range []string{"edn", ""} {
			_, err := readFrom(strings.NewReader(small[:n]), format)
			if err == nil {
				t.Fatalf("cut at byte %d: no error", n)
			}
			mustBeSyntaxError(t, err)
			if n > 1 && !strings.HasPrefix(err.Error(), "run.jsonl:"+fmt.Sprint(1+strings.Count(small[:n], "\n"))+": ") {
				if format == "edn" || !strings.Contains(err.Error(), "expected a history (") {
					t.Errorf("cut at byte %d, format %q: the error names another line: %v", n, format, err)
				}
			}
		}
	}
	// Lines may end after each operation, and nowhere else.
	lines := small[1:strings.LastIndex(small, "]")]
	if h := readEDN(t, lines); len(h.Events) != 2 {
		t.Fatalf("%d events, want 2", len(h.Events))
	}
	good := 0
	for n := range len(lines) {
		h, err := readFrom(strings.NewReader(lines[:n]), "edn")
		if err != nil {
			mustBeSyntaxError(t, err)
			continue
		}
		good++
		if len(h.Events) != 1 {
			t.Errorf("cut at byte %d: %+v", n, h.Events)
		}
	}
	if want := len(" ; one\n ") + 1 + len("\n ") + 1; good != want {
		t.Errorf("%d prefixes are histories, want %d", good, want)
	}
}

// drawForm draws a form, and the JSON that it must become.
func drawForm(t *rapid.T, depth int) (edn string, value any) {
	kinds := 7
	if depth > 2 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		n := rapid.Int64().Draw(t, "number")
		return fmt.Sprint(n) + rapid.SampledFrom([]string{"", "N"}).Draw(t, "big"), n
	case 1:
		return "nil", nil
	case 2:
		s := rapid.StringOf(rapid.SampledFrom([]rune("ab\\\"\n\t[]{}();#é\U0001F600 "))).Draw(t, "text")
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`).Replace(s) + `"`, s
	case 3:
		s := rapid.StringMatching(`[a-z][a-z0-9]{0,5}`).Draw(t, "name")
		return ":" + s, s
	case 4:
		b := rapid.Bool().Draw(t, "bool")
		return fmt.Sprint(b), b
	case 5:
		c := rapid.SampledFrom([]string{"a", "[", "}", "\"", ";", "\\", "é"}).Draw(t, "character")
		return `\` + c, c
	case 6:
		var forms []string
		values := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			form, value := drawForm(t, depth+1)
			forms, values = append(forms, form), append(values, value)
		}
		open := rapid.SampledFrom([]string{"[", "("}).Draw(t, "bracket")
		return open + strings.Join(forms, drawSpace(t)) + map[string]string{"[": "]", "(": ")"}[open], values
	}
	text, values := "{", map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "keys") {
		key := rapid.StringMatching(`[a-z][a-z0-9]{0,3}`).Draw(t, "key")
		if _, ok := values[key]; ok {
			continue
		}
		var form string
		form, values[key] = drawForm(t, depth+1)
		text += drawSpace(t) + rapid.SampledFrom([]string{":" + key, `"` + key + `"`}).Draw(t, "written") + drawSpace(t) + form
	}
	return text + drawSpace(t) + "}", values
}

// drawSpace draws what may stand between two forms.
func drawSpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{" ", " ", " ", ", ", "\n", "\r\n", " ; } \" [\n", " #_ {:a [1 \\]]} ", "\t#_#_ 1 #t 2 "}).Draw(t, "space")
}

// valueOf returns the value that a form must become.
func valueOf(t *rapid.T, value any) Value {
	switch v := value.(type) {
	case nil:
		return NilValue
	case int64:
		return IntValue(v)
	case string:
		return TextValue(v)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // sorts by key
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return raw(strings.TrimSpace(b.String()))
}

// Random operations, written in every way that drawForm and drawSpace know,
// are read as what they are.
func TestEDNWrittenAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Event
		var forms []string
		open := make(map[string]Event)
		mutations := make(map[string]string) // the values of the open ones, as they are written
		for i := range rapid.IntRange(1, 10).Draw(t, "operations") {
			e := Event{Index: int64(i), Time: rapid.Int64Range(0, 1<<60).Draw(t, "time"), Process: fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "process"))}
			begun, busy := open[e.Process]
			value := "nil"
			if busy {
				e.Type, e.F, e.Op = rapid.SampledFrom([]Type{OK, Fail, Info}).Draw(t, "end"), begun.F, begun.Op
				delete(open, e.Process)
			} else {
				e.Type, e.F, e.Op = Invoke, rapid.SampledFrom([]F{Read, Write, CAS}).Draw(t, "f"), int64(len(want)+1)
			}
			reason := ""
			switch {
			case e.Type == OK && e.F != Read:
				value, e.Expect, e.Value = mutations[e.Process], begun.Expect, begun.Value
			case e.F == CAS:
				old, oldValue := drawForm(t, 0)
				form, formValue := drawForm(t, 0)
				e.Expect, e.Value = valueOf(t, oldValue), valueOf(t, formValue)
				value = "[" + drawSpace(t) + old + drawSpace(t) + form + drawSpace(t) + "]"
			case e.F == Write || e.Type == OK:
				var v any
				value, v = drawForm(t, 0)
				e.Value = valueOf(t, v)
			}
			if e.Type == Fail || e.Type == Info { // without it a keyword would be the reason
				e.Error, reason = "full", ":error"+drawSpace(t)+":full"
			}
			mutations[e.Process] = value
			unknown, _ := drawForm(t, 0)
			fields := []string{
				":type" + drawSpace(t) + ":" + e.Type.String(), ":f" + drawSpace(t) + ":" + e.F.String(), ":value" + drawSpace(t) + value,
				":process" + drawSpace(t) + e.Process, fmt.Sprint(":time ", e.Time), fmt.Sprint(":index ", e.Index), reason, ":debug " + unknown,
			}
			fields = rapid.Permutation(fields).Draw(t, "order")
			forms = append(forms, rapid.SampledFrom([]string{"", "#jepsen.history.Op", "#op ", "#:jepsen"}).Draw(t, "tag")+
				"{"+strings.Join(fields, drawSpace(t))+drawSpace(t)+"}")
			if !busy {
				e.Op = 0
				for _, before := range want {
					if before.Type == Invoke {
						e.Op++
					}
				}
				e.Op++
				open[e.Process] = e
			}
			want = append(want, e)
		}
		file := strings.Join(forms, drawSpace(t))
		if rapid.Bool().Draw(t, "vector") {
			file = drawSpace(t) + "[" + file + "]" + drawSpace(t)
		}
		for _, r := range []string{"whole", "byte by byte"} {
			var h *History
			var err error
			if r == "whole" {
				h, err = readAs(strings.NewReader(file), Reading{Format: "edn", Independent: "no"})
			} else {
				h, err = readAs(iotest.OneByteReader(strings.NewReader(file)), Reading{Format: "edn", Independent: "no"})
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", r, err, file)
			}
			if diff := cmp.Diff(want, h.Events); diff != "" {
				t.Fatalf("%s (-want +got)\n%s\n%s", r, diff, file)
			}
		}
	})
}

func FuzzEDN(f *testing.F) {
	for _, file := range []string{
		ednInvoke, "[" + ednInvoke + "]", "#jepsen.history.Op" + ednInvoke + "\n{:type :ok :f :write :process 4}",
		`({:type :invoke :f :cas :value [#{1 2} {:a 1/2}] :process "p"} #_ x)`,
		`{:type :invoke :f :lock :value "r" :process 1}{:type :ok :f :lock :value {:fence 3} :process 1}`,
		`#:jepsen{:type :invoke :f :write :value #:a{:b #inst "x" [1] \a} :process 1 :error [:a "b"]}`,
		`{:type :info :f :kill :process :nemesis :value ##NaN};`, `[{:type :invoke :f :write :value #"a\"" :process 0 :note ^{:a 1} [0x1F 1.5M 36rZ 08]}]`,
		`{:type :invoke :f :read-operation :process 1}{:type :ok :f :read-operation :value 7N :process 1}`,
		"\xef\xbb\xbf[\\", "#_", "#", "{:a #_}", `{"\u00e9" {{1 2} 3}}`, strings.Repeat("{", 200),
	} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		readBack(t, file, "edn")
		readInPieces(t, file, "edn")
	})
}

// readInPieces holds that a reader does not depend on how its file arrives.
func readInPieces(t *testing.T, file []byte, format string) {
	if _, err := Detect(file); err != nil {
		mustBeSyntaxErrorOf(t, err, "")
	}
	whole, err := readFrom(bytes.NewReader(file), format)
	pieces, errOfPieces := readFrom(iotest.OneByteReader(bytes.NewReader(file)), format)
	if fmt.Sprint(err) != fmt.Sprint(errOfPieces) {
		t.Fatalf("whole: %v\nin pieces: %v", err, errOfPieces)
	}
	if diff := cmp.Diff(whole, pieces); diff != "" {
		t.Fatalf("(-whole +pieces)\n%s", diff)
	}
}
