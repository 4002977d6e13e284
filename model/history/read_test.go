package history

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	header  = `{"format":"staleproof.history/1"}` + "\n"
	invoke  = `{"index":1,"time":0,"process":"A","type":"invoke","f":"write","op":1}` + "\n"
	okWrite = `{"index":2,"time":0,"process":"A","type":"ok","f":"write","op":1}` + "\n"
)

// Each row is a file that somebody has, or will have: one line says what is
// wrong with it, where, and what to do.
func TestReadRefuses(t *testing.T) {
	long := `{"index":3,"time":0,"process":"A","type":"note","f":"heal","text":"` + strings.Repeat("x", 2<<20) + `"}` + "\n"
	tests := []struct{ name, file, want string }{
		{"empty file", "", `run.jsonl: expected a history, found an empty file; record the history again`},
		{"blank file", "\n\n  \n", `run.jsonl: expected a history, found an empty file; record the history again`},
		{"truncated line", header + invoke + okWrite[:30],
			`run.jsonl:3: expected a string in field "process", found the end of the line; the line seems cut off: delete it, or record the history again`},
		{"truncated after a comma", header + `{"index":1,`,
			`run.jsonl:2: expected the name of a field, found the end of the line; the line seems cut off: delete it, or record the history again`},
		{"truncated header", `{"format":"staleproof.hist`,
			`run.jsonl:1: expected the end of the string in field "format", found the end of the line; the line seems cut off: delete it, or record the history again`},
		{"text for a number", header + invoke + strings.Replace(okWrite, `"time":0`, `"time":"soon"`, 1),
			`run.jsonl:3: expected an integer in field "time", found the string "soon"; correct the line, or record the history again`},
		{"number for a text", header + strings.Replace(invoke, `"A"`, `4`, 1),
			`run.jsonl:2: expected a string in field "process", found the number 4; correct the line, or record the history again`},
		{"fraction for a number", header + strings.Replace(invoke, `"time":0`, `"time":1.5`, 1),
			`run.jsonl:2: expected an integer in field "time", found the number 1.5; correct the line, or record the history again`},
		{"leading zero", header + strings.Replace(invoke, `"time":0`, `"time":01`, 1),
			`run.jsonl:2: expected an integer in field "time", found the number 01; correct the line, or record the history again`},
		{"null for a number", header + strings.Replace(invoke, `"time":0`, `"time":null`, 1),
			`run.jsonl:2: expected an integer in field "time", found null; correct the line, or record the history again`},
		{"object for a text", header + strings.Replace(invoke, `"A"`, `{}`, 1),
			`run.jsonl:2: expected a string in field "process", found an object; correct the line, or record the history again`},
		{"unknown f", header + strings.Replace(invoke, `"write"`, `"wriet"`, 1),
			`run.jsonl:2: expected the name of an operation or a note in field "f", found the string "wriet"; did you mean "write"?`},
		{"unlike any f", header + strings.Replace(invoke, `"write"`, `"transaction"`, 1),
			`run.jsonl:2: expected the name of an operation or a note in field "f", found the string "transaction"; the names are acquire renew release raise write delete read cas batch grant renewed released expire apply reject raised served believe disbelieve send deliver drop pause resume crash restart partition heal clock quiet`},
		{"unknown type", header + strings.Replace(invoke, `"invoke"`, `"call"`, 1),
			`run.jsonl:2: expected a type in field "type", found the string "call"; the names are invoke ok fail info note`},
		{"unknown version", `{"format":"staleproof.history/2","new":1}` + "\n",
			`run.jsonl:1: expected "staleproof.history/1" in field "format", found the string "staleproof.history/2"; use the version of staleproof that wrote the file, or record the history again`},
		{"no header", invoke,
			`run.jsonl:1: expected a header {"format":"staleproof.history/1"}, found the field "index"; put the header before the first event, its format first`},
		{"header with a misspelt field", `{"format":"staleproof.history/1","scenarios":"x"}`,
			`run.jsonl:1: expected a known field, found the field "scenarios"; did you mean "scenario"?`},
		{"header with an unknown timing", `{"format":"staleproof.history/1","timing":"real"}`,
			`run.jsonl:1: expected "timed" or "untimed" or "bounded" in field "timing", found the string "real"; correct the line, or record the history again`},
		{"ok without invoke", header + okWrite,
			`run.jsonl:2: expected an invoke of write by process "A" before its end, found the ok alone; record each operation's beginning too, in the order in which things happened`},
		{"fail without invoke", header + strings.Replace(okWrite, `"ok"`, `"fail"`, 1),
			`run.jsonl:2: expected an invoke of write by process "A" before its end, found the fail alone; record each operation's beginning too, in the order in which things happened`},
		{"info of a client without invoke", header + strings.Replace(okWrite, `"ok"`, `"info"`, 1),
			`run.jsonl:2: expected an invoke of write by process "A" before its end, found the info alone; record each operation's beginning too, in the order in which things happened`},
		{"two ends", header + invoke + okWrite + strings.Replace(okWrite, `"index":2`, `"index":3`, 1),
			`run.jsonl:4: expected an invoke of write by process "A" before its end, found the ok alone; record each operation's beginning too, in the order in which things happened`},
		{"two open operations", header + invoke + strings.NewReplacer(`"index":1`, `"index":2`, `"op":1`, `"op":2`).Replace(invoke),
			`run.jsonl:3: expected the end of the write (op 1, invoked at index 1) before process "A" invokes another operation, found an invoke of write; a process runs one operation at a time: record each client's concurrent operations under processes of their own`},
		{"end of another f", header + invoke + strings.Replace(okWrite, `"write"`, `"read"`, 1),
			`run.jsonl:3: expected the end of the write (op 1, invoked at index 1) on process "A", found the ok of a read; correct the line, or record the history again`},
		{"end of another op", header + invoke + strings.Replace(okWrite, `"op":1`, `"op":7`, 1),
			`run.jsonl:3: expected the end of the write (op 1, invoked at index 1) on process "A", found the ok of op 7; correct the line, or record the history again`},
		{"end on another resource", header + about(invoke, `"resource":"x"`) + about(okWrite, `"resource":"y"`),
			`run.jsonl:3: expected the resource "x" of the write (op 1, invoked at index 1) on process "A", found the ok with the resource "y"; ` + sayAgain},
		{"end on no resource", header + about(invoke, `"resource":"x"`) + okWrite,
			`run.jsonl:3: expected the resource "x" of the write (op 1, invoked at index 1) on process "A", found the ok with the resource ""; ` + sayAgain},
		{"fail on another resource", header + about(invoke, `"resource":"x"`) + about(strings.Replace(okWrite, `"ok"`, `"fail"`, 1), `"resource":"y"`),
			`run.jsonl:3: expected the resource "x" of the write (op 1, invoked at index 1) on process "A", found the fail with the resource "y"; ` + sayAgain},
		{"info on another resource", header + about(invoke, `"resource":"x"`) + about(strings.Replace(okWrite, `"ok"`, `"info"`, 1), `"resource":"y"`),
			`run.jsonl:3: expected the resource "x" of the write (op 1, invoked at index 1) on process "A", found the info with the resource "y"; ` + sayAgain},
		{"end in another scope", header + about(invoke, `"resource":"x","scope":"s"`) + about(okWrite, `"resource":"x"`),
			`run.jsonl:3: expected the scope "s" of the write (op 1, invoked at index 1) on process "A", found the ok with the scope "x"; ` + sayAgain},
		{"end under another token", header + about(invoke, `"token":7`) + about(okWrite, `"token":8`),
			`run.jsonl:3: expected the token 7 of the write (op 1, invoked at index 1) on process "A", found the ok with the token 8; ` + sayAgain},
		{"fail under another token", header + about(invoke, `"token":7`) + about(strings.Replace(okWrite, `"ok"`, `"fail"`, 1), `"token":8`),
			`run.jsonl:3: expected the token 7 of the write (op 1, invoked at index 1) on process "A", found the fail with the token 8; ` + sayAgain},
		{"token in the end alone", header + invoke + about(okWrite, `"token":7`),
			`run.jsonl:3: expected the token 0 of the write (op 1, invoked at index 1) on process "A", found the ok with the token 7; ` + sayAgain},
		{"release of another token", header + about(strings.Replace(invoke, `"write"`, `"release"`, 1), `"token":7`) + about(strings.Replace(okWrite, `"write"`, `"release"`, 1), `"token":8`),
			`run.jsonl:3: expected the token 7 of the release (op 1, invoked at index 1) on process "A", found the ok with the token 8; ` + sayAgain},
		{"ok of another value", header + about(invoke, `"value":1`) + about(okWrite, `"value":"1"`),
			`run.jsonl:3: expected the value 1 of the write (op 1, invoked at index 1) on process "A", found the ok with the value "1"; ` + sayAgain},
		{"value in the ok alone", header + invoke + about(okWrite, `"value":1`),
			`run.jsonl:3: expected the value nil of the write (op 1, invoked at index 1) on process "A", found the ok with the value 1; ` + sayAgain},
		{"ok of a long value", header + about(invoke, `"value":1`) + about(okWrite, `"value":"`+strings.Repeat("v", 2000)+`"`),
			`run.jsonl:3: expected the value 1 of the write (op 1, invoked at index 1) on process "A", found the ok with the value "` + strings.Repeat("v", 40) + `"...; ` + sayAgain},
		{"ok of a cas from another value", header + about(strings.Replace(invoke, `"write"`, `"cas"`, 1), `"expect":1,"value":2`) + about(strings.Replace(okWrite, `"write"`, `"cas"`, 1), `"expect":3,"value":2`),
			`run.jsonl:3: expected the old value 1 of the cas (op 1, invoked at index 1) on process "A", found the ok with the old value 3; ` + sayAgain},
		{"ok of a cas to another value", header + about(strings.Replace(invoke, `"write"`, `"cas"`, 1), `"expect":1,"value":2`) + about(strings.Replace(okWrite, `"write"`, `"cas"`, 1), `"expect":1,"value":3`),
			`run.jsonl:3: expected the value 2 of the cas (op 1, invoked at index 1) on process "A", found the ok with the value 3; ` + sayAgain},
		{"ok of a delete of another value", header + about(strings.Replace(invoke, `"write"`, `"delete"`, 1), `"value":1`) + about(strings.Replace(okWrite, `"write"`, `"delete"`, 1), `"value":2`),
			`run.jsonl:3: expected the value 1 of the delete (op 1, invoked at index 1) on process "A", found the ok with the value 2; ` + sayAgain},
		{"EDN ok of another value", "{:process 0 :type :invoke :f :write :value 1}\n{:process 0 :type :ok :f :write :value 2}\n",
			`run.jsonl:2: expected the value 1 of the write (op 1, invoked at index 0) on process "0", found the ok with the value 2; ` + sayAgain},
		{"index repeated", header + invoke + strings.Replace(okWrite, `"index":2`, `"index":1`, 1),
			`run.jsonl:3: expected an index above 1, found 1; number the events in the order in which they happened`},
		{"index out of order", header + invoke + strings.Replace(okWrite, `"index":2`, `"index":-5`, 1),
			`run.jsonl:3: expected an index above 1, found -5; number the events in the order in which they happened`},
		{"op repeated", header + invoke + okWrite + strings.Replace(invoke, `"index":1`, `"index":3`, 1),
			`run.jsonl:4: expected a number of its own for each operation, found op 1 again; a retry is an operation of its own`},
		{"op below 1", header + strings.Replace(invoke, `"op":1`, `"op":-1`, 1),
			`run.jsonl:2: expected a number from 0 in field "op", found -1; correct the line, or record the history again`},
		{"op missing later", header + invoke + `{"index":2,"time":0,"process":"B","type":"invoke","f":"read"}`,
			`run.jsonl:3: expected a number in field "op", as operations before have one, found an operation without; number all operations or none`},
		{"op later only", header + `{"index":0,"time":0,"process":"B","type":"invoke","f":"read"}` + "\n" + invoke,
			`run.jsonl:3: expected no number in field "op", as operations before have none, found 1; number all operations or none`},
		{"term below 0", strings.Replace(header, "}", `,"ttl":-1}`, 1),
			`run.jsonl:1: expected a term from 0 to 4611686018427387903 in field "ttl", found -1; correct the header, or record the history again`},
		{"term without end", strings.Replace(header, "}", `,"ttl":9223372036854775807}`, 1),
			`run.jsonl:1: expected a term from 0 to 4611686018427387903 in field "ttl", found 9223372036854775807; correct the header, or record the history again`},
		{"drift below 0", strings.Replace(header, "}", `,"rho":-200}`, 1),
			`run.jsonl:1: expected parts per million from 0 to 999999 in field "rho", found -200; correct the header, or record the history again`},
		{"drift of more than a clock", strings.Replace(header, "}", `,"rho":2000000000}`, 1),
			`run.jsonl:1: expected parts per million from 0 to 999999 in field "rho", found 2000000000; correct the header, or record the history again`},
		{"skew below 0", strings.Replace(header, "}", `,"epsilon":-1}`, 1),
			`run.jsonl:1: expected a bound on the skew of clocks from 0 to 4611686018427387903 in field "epsilon", found -1; correct the header, or record the history again`},
		{"header with a field twice", strings.Replace(header, "}", `,"ttl":1,"ttl":2}`, 1),
			`run.jsonl:1: expected each field once, found the field "ttl" again; correct the line, or record the history again`},
		{"index below 0", header + strings.Replace(invoke, `"index":1`, `"index":-1`, 1),
			`run.jsonl:2: expected a number from 0 in field "index", found -1; correct the line, or record the history again`},
		{"time below 0", header + strings.Replace(invoke, `"time":0`, `"time":-1`, 1),
			`run.jsonl:2: expected a number from 0 in field "time", found -1; correct the line, or record the history again`},
		{"time without end", header + strings.Replace(invoke, `"time":0`, `"time":4611686018427387904`, 1),
			`run.jsonl:2: expected a time up to 4611686018427387903, found 4611686018427387904; correct the line, or record the history again`},
		{"token below 0", header + about(invoke, `"token":-1`),
			`run.jsonl:2: expected a number from 0 in field "token", found -1; correct the line, or record the history again`},
		{"generation below 0", header + invoke + about(okWrite, `"generation":-1`),
			`run.jsonl:3: expected a number from 0 in field "generation", found -1; correct the line, or record the history again`},
		{"expiry below 0", header + about(noted("grant"), `"expires":-1`),
			`run.jsonl:2: expected a number from 0 in field "expires", found -1; correct the line, or record the history again`},
		{"EDN token below 0", "{:process 0 :type :invoke :f :lock}\n{:process 0 :type :ok :f :lock :value {:fence -3}}\n",
			`run.jsonl:2: expected a map with the lock's name, a token, a lease and an owner, each once under :value, found a map; correct the entry, or record the history again`},
		{"time runs backwards under a term", strings.Replace(header, "}", `,"ttl":10}`, 1) + strings.Replace(invoke, `"time":0`, `"time":9`, 1) + strings.Replace(okWrite, `"time":0`, `"time":5`, 1),
			`run.jsonl:3: expected a time from 9 on, found 5; time runs backwards: deadlines are judged by it, so take all times from one clock`},
		{"time runs backwards in a simulation", strings.Replace(header, "}", `,"timing":"untimed"}`, 1) + strings.Replace(invoke, `"time":0`, `"time":9`, 1) + okWrite,
			`run.jsonl:3: expected a time from 9 on, found 0; time runs backwards: deadlines are judged by it, so take all times from one clock`},
		{"time runs backwards after a deadline", header + strings.Replace(invoke, `"time":0`, `"time":9`, 1) + about(strings.NewReplacer(`"time":0`, `"time":9`, `"index":1`, `"index":2`).Replace(noted("grant")), `"expires":20`) +
			strings.NewReplacer(`"time":0`, `"time":5`, `"index":2`, `"index":3`).Replace(okWrite),
			`run.jsonl:4: expected a time from 9 on, found 5; time runs backwards: deadlines are judged by it, so take all times from one clock`},
		{"believe without until", header + noted("believe"),
			`run.jsonl:2: expected the time in field "until" that ends the belief, found a believe without; correct the line, or record the history again`},
		{"note of an operation that is not there", header + about(noted("apply"), `"op":1`),
			`run.jsonl:2: expected the apply of an operation that was invoked before, found op 1; leave op out of a note about an operation that was not recorded`},
		{"note with a number where operations have none", header + strings.Replace(invoke, `,"op":1`, ``, 1) + about(strings.Replace(noted("apply"), `"index":1`, `"index":2`, 1), `"op":1`),
			`run.jsonl:3: expected the apply of an operation that was invoked before, found op 1; leave op out of a note about an operation that was not recorded`},
		{"basis that is not there", header + about(invoke, `"basis":7`),
			`run.jsonl:2: expected a basis that was invoked before, found op 7; name the operation whose value was used, or leave the basis out`},
		{"basis that is itself", header + about(invoke, `"basis":1`),
			`run.jsonl:2: expected a basis that was invoked before, found op 1; name the operation whose value was used, or leave the basis out`},
		{"answer without a value among values", header + about(invoke, `"value":1`) + okWrite +
			`{"index":3,"process":"A","type":"invoke","f":"read","op":2}` + "\n" + `{"index":4,"process":"A","type":"ok","f":"read","op":2}` + "\n",
			`run.jsonl:5: expected a value, as operations before have one, found the ok of a read without; ` + allValued},
		{"write without a value among values", header + about(invoke, `"value":1`) + okWrite +
			`{"index":3,"process":"A","type":"invoke","f":"write","op":2}` + "\n",
			`run.jsonl:4: expected a value, as operations before have one, found the invoke of a write without; ` + allValued},
		{"value among operations without", header + invoke + okWrite +
			`{"index":3,"process":"A","type":"invoke","f":"read","op":2}` + "\n" + `{"index":4,"process":"A","type":"ok","f":"read","op":2,"value":null}` + "\n",
			`run.jsonl:5: expected no value, as operations before have none, found nil; ` + allValued},
		{"cas of one value", header + about(strings.Replace(invoke, `"write"`, `"cas"`, 1), `"value":2`),
			`run.jsonl:2: expected the old value and the new one of a cas, found one of them; correct the line, or record the history again`},
		{"stale and ok", header + invoke + about(okWrite, `"error":"stale"`),
			`run.jsonl:3: expected an ok without an error, found the error "stale"; an operation that was refused ends in a fail`},
		{"note about nothing", header + about(strings.Replace(invoke, `"index":1`, `"index":0`, 1), `"resource":"x"`) + about(noted("apply"), `"op":1`),
			`run.jsonl:3: expected a resource, as operations have one, found the note apply without; correct the line, or record the history again`},
		{"grant without a token", header + about(noted("grant"), `"token":7`) + strings.Replace(noted("grant"), `"index":1`, `"index":2`, 1),
			`run.jsonl:3: expected a token in every grant or in none, found a grant without; tokens count from 1: record that of every grant`},
		{"grant with a token after others without", header + noted("grant") + about(strings.Replace(noted("grant"), `"index":1`, `"index":2`, 1), `"token":7`),
			`run.jsonl:3: expected a token in every grant or in none, found the token 7; tokens count from 1: record that of every grant`},
		{"invoke of a note", header + strings.Replace(invoke, `"write"`, `"apply"`, 1),
			`run.jsonl:2: expected an operation after invoke, found f apply; what a server, a holder or the world saw is of type note`},
		{"ok of a note", header + strings.Replace(okWrite, `"write"`, `"apply"`, 1),
			`run.jsonl:2: expected an operation after ok, found f apply; what a server, a holder or the world saw is of type note`},
		{"note of an operation", header + strings.Replace(invoke, `"invoke"`, `"note"`, 1),
			`run.jsonl:2: expected a note of what a server, a holder or the world saw, found a note of f write; operations are invoke, ok, fail or info; the store's notes are apply, reject, raised and served`},
		{"operation of nobody", header + strings.Replace(invoke, `"A"`, `""`, 1),
			`run.jsonl:2: expected the process of an operation, found an empty name; correct the line, or record the history again`},
		{"2 MB on one line", header + invoke + long,
			`run.jsonl:3: expected a line of at most 1048576 bytes, found a longer one; write one event a line, and long values as a digest of them`},
		{"2 MB on the first line", `{"format":"` + long,
			`run.jsonl:1: expected a line of at most 1048576 bytes, found a longer one; write one event a line, and long values as a digest of them`},
		{"binary garbage", "\x7fELF\x02\x01\x01\x00\x00\x00",
			`run.jsonl: expected a history (staleproof: JSON Lines of staleproof.history/1, or edn: EDN of Jepsen, or jepsen-json: JSON of Jepsen, or jepsen-log: log lines of Jepsen), found binary data; unpack the file if it is an archive, or record the history again`},
		{"binary garbage inside", header + "\x89PNG\r\n\x1a\n",
			`run.jsonl:2: expected a JSON object, found "\x89PNG"; write each line as one JSON object (RFC 8259)`},
		{"UTF-16", "\xff\xfe{\x00\"\x00",
			`run.jsonl: expected a history (staleproof: JSON Lines of staleproof.history/1, or edn: EDN of Jepsen, or jepsen-json: JSON of Jepsen, or jepsen-log: log lines of Jepsen), found text in UTF-16; save the file as UTF-8`},
		{"prose", "Dear all,\r\nplease find attached\r\n",
			`run.jsonl: expected a history (staleproof: JSON Lines of staleproof.history/1, or edn: EDN of Jepsen, or jepsen-json: JSON of Jepsen, or jepsen-log: log lines of Jepsen), found a file that begins with "Dear all,"; write the beginning and the end of each operation on a line, as {"process":0,"type":"invoke","f":"write","value":1}; staleproof check --help shows more, and --format names a format`},
		{"misspelt field", header + strings.Replace(invoke, `"op"`, `"resorce":"r","op"`, 1),
			`run.jsonl:2: expected a known field, found the field "resorce"; did you mean "resource"?`},
		{"unlike any field", header + strings.Replace(invoke, `"op"`, `"thread_id":7,"op"`, 1),
			`run.jsonl:2: expected a known field, found the field "thread_id"; the fields are index time process type f op resource scope token highest lease owner generation value expect seq prepared basis expires until rejections error client to message copy text`},
		{"field twice", header + strings.Replace(invoke, `"op":1`, `"op":1,"op":1`, 1),
			`run.jsonl:2: expected each field once, found the field "op" again; correct the line, or record the history again`},
		{"no index", header + `{"time":0,"process":"A","type":"invoke","f":"write"}`,
			`run.jsonl:2: expected the field "index", found an event without it; every event has index, time, process, type and f`},
		{"empty object", header + `{}`,
			`run.jsonl:2: expected the field "index", found an event without it; every event has index, time, process, type and f`},
		{"NUL bytes", header + invoke + "\x00\x00\x00\x00",
			`run.jsonl:3: expected a JSON object, found a NUL byte; write each line as one JSON object (RFC 8259)`},
		{"NUL in a string", header + strings.Replace(invoke, `"A"`, "\"A\x00\"", 1),
			`run.jsonl:2: expected a string without control characters in field "process", found a NUL byte; write them as \u00XX`},
		{"number beyond 64 bits", header + strings.Replace(invoke, `"op":1`, `"op":9223372036854775808`, 1),
			`run.jsonl:2: expected an integer that fits in 64 bits in field "op", found the number 9223372036854775808; write a greater one as a string`},
		{"value beyond 64 bits", header + strings.Replace(invoke, `"op":1`, `"op":1,"value":-9223372036854775809`, 1),
			`run.jsonl:2: expected an integer that fits in 64 bits in field "value", found the number -9223372036854775809; write a greater one as a string`},
		{"number that is 1 in 64 bits", header + strings.Replace(invoke, `"op":1`, `"op":18446744073709551617`, 1),
			`run.jsonl:2: expected an integer that fits in 64 bits in field "op", found the number 18446744073709551617; write a greater one as a string`},
		{"number of 400 digits", header + strings.Replace(invoke, `"time":0`, `"time":`+strings.Repeat("9", 400), 1),
			`run.jsonl:2: expected an integer that fits in 64 bits in field "time", found the number 9999999999999999999999999999999999999999...; write a greater one as a string`},
		{"two objects on a line", header + strings.TrimSpace(invoke) + okWrite,
			`run.jsonl:2: expected the end of the line after the object, found an object; write each line as one JSON object (RFC 8259)`},
		{"array of events", header + "[" + strings.TrimSpace(invoke) + "]",
			`run.jsonl:2: expected a JSON object, found an array; write each line as one JSON object (RFC 8259)`},
		{"no colon", header + `{"index" 1}`,
			`run.jsonl:2: expected a colon after the name "index", found the number 1; write each line as one JSON object (RFC 8259)`},
		{"no comma", header + `{"index":1 "time":0}`,
			`run.jsonl:2: expected a comma or the end of the object, found the string "time"; write each line as one JSON object (RFC 8259)`},
		{"bad escape", header + strings.Replace(invoke, `"A"`, `"\x41"`, 1),
			`run.jsonl:2: expected a JSON escape in field "process", found "\\x"; write a backslash as \\`},
		{"bad code point", header + strings.Replace(invoke, `"A"`, `"\u12"`, 1),
			`run.jsonl:2: expected four hexadecimal digits after \u in field "process", found "\\u"; correct the line, or record the history again`},
		{"no UTF-8", header + strings.Replace(invoke, `"A"`, "\"\xc3\x28\"", 1),
			`run.jsonl:2: expected text in UTF-8 in field "process", found "\xc3(\",\"type\":\"invoke\",\"f\":\"write\",\"op\":1}"; save the file as UTF-8`},
		{"value nested without end", header + strings.Replace(invoke, `"op":1`, `"value":`+strings.Repeat("[", 1000), 1),
			`run.jsonl:2: expected a value nested at most 100 deep in field "value", found an array; write it as a string`},
		{"value that is no JSON", header + strings.Replace(invoke, `"op":1`, `"value":nil`, 1),
			`run.jsonl:2: expected a JSON value in field "value", found nil; write each line as one JSON object (RFC 8259)`},
		{"EDN", "[{:process 4, :type :invoke, :f :write, :value 2}\n",
			`run.jsonl:2: expected ']' to close the '[' of line 1, found the end of the file; the file seems cut off: copy it again, or record the history again`},
		{"JSON array", "[\n  {\n    \"type\": \"invoke\",\n",
			`run.jsonl:4: expected '}' to close the '{' of line 2, found the end of the file; the file seems cut off: copy it again, or record the history again`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := readFrom(strings.NewReader(test.file), "")
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

// sayAgain is what to do about an end that is not about what its invoke was.
const sayAgain = "repeat in the end what the invoke says, or leave a token and a value out"

// allValued is what to do about a history in which some values are missing.
const allValued = "give a value to all writes and all answers of reads, null where there is none, or to none"

// noted is the line of a note.
func noted(f string) string {
	return `{"index":1,"time":0,"process":"w","type":"note","f":"` + f + `"}` + "\n"
}

// about adds fields to the line of an event.
func about(line, fields string) string { return strings.Replace(line, "}\n", ","+fields+"}\n", 1) }

// An end need not repeat everything, and some things it says first.
func TestEndsThatAreAccepted(t *testing.T) {
	tests := []struct{ name, f, end, invoked, ended string }{
		{"the same", "write", "ok", `"resource":"x","scope":"s","token":7,"value":1`, `"resource":"x","scope":"s","token":7,"value":1`},
		{"the scope that is the resource by its name", "write", "ok", `"resource":"x"`, `"resource":"x","scope":"x"`},
		{"neither token nor value", "write", "ok", `"token":7,"value":1`, `"time":1`},
		{"nil for no value", "write", "ok", `"value":1`, `"value":null`},
		{"a reason in the place of the value", "write", "fail", `"value":1`, `"value":"timeout"`},
		{"an unknown outcome in the place of the value", "cas", "info", `"expect":1,"value":2`, `"value":"timed-out"`},
		{"what was read", "read", "ok", `"resource":"x"`, `"resource":"x","value":1`},
		{"what was deleted", "delete", "ok", `"resource":"x"`, `"resource":"x","value":1`},
		{"the token that an acquire got", "acquire", "ok", `"resource":"x","token":6`, `"resource":"x","token":7`},
		{"the token that a renew got", "renew", "ok", `"resource":"x","token":6`, `"resource":"x","token":7`},
	}
	for _, test := range tests {
		of := strings.NewReplacer(`"write"`, `"`+test.f+`"`, `"ok"`, `"`+test.end+`"`, `"time":0,`, "")
		file := header + about(of.Replace(invoke), test.invoked) + about(of.Replace(okWrite), test.ended)
		if _, err := readFrom(strings.NewReader(file), ""); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// readFrom reads a history named run.jsonl.
func readFrom(r io.Reader, format string) (*History, error) {
	return readAs(r, Reading{Format: format})
}

func readAs(r io.Reader, how Reading) (*History, error) {
	source, err := NewSource(r, "run.jsonl", how)
	if err != nil {
		return nil, err
	}
	return Gather(source)
}

func mustBeSyntaxError(t *testing.T, err error) {
	t.Helper()
	mustBeSyntaxErrorOf(t, err, "run.jsonl")
}

func mustBeSyntaxErrorOf(t *testing.T, err error, file string) {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%T, want *SyntaxError: %v", err, err)
	}
	if syntax.File != file || syntax.Expected == "" || syntax.Found == "" {
		t.Errorf("incomplete error %#v", syntax)
	}
	if text := err.Error(); strings.ContainsAny(text, "\n\r\x00\x1b") || len(text) > 1000 {
		t.Errorf("not one line: %q", text)
	}
}

func TestReadAccepts(t *testing.T) {
	write := Event{Index: 1, Process: "A", Type: Invoke, F: Write, Op: 1}
	ok := Event{Index: 2, Process: "A", Type: OK, F: Write, Op: 1}
	note := func(edit func(e *Event)) Event {
		e := Event{Index: 1, Process: "w", Type: Note, F: Heal}
		edit(&e)
		return e
	}
	const begin = `{"index":1,"time":0,"process":"w","type":"note","f":"heal",`
	tests := []struct {
		name, file string
		want       []Event
	}{
		{"header only", header, nil},
		{"header without line end", strings.TrimSpace(header), nil},
		{"two events", header + invoke + okWrite, []Event{write, ok}},
		{"last line without its end", header + invoke + strings.TrimSpace(okWrite), []Event{write, ok}},
		{"CRLF", strings.ReplaceAll(header+invoke+okWrite, "\n", "\r\n"), []Event{write, ok}},
		{"byte order mark", "\xef\xbb\xbf" + header + invoke + okWrite, []Event{write, ok}},
		{"blank lines", "\n" + header + "\n" + invoke + "  \n" + okWrite + "\n\n", []Event{write, ok}},
		{"time that runs backwards, where nothing is judged by it", header + strings.Replace(invoke, `"time":0`, `"time":9`, 1) + okWrite,
			[]Event{{Index: 1, Time: 9, Process: "A", Type: Invoke, F: Write, Op: 1}, ok}},
		{"belief without deadlines", strings.Replace(header, "}", `,"timing":"untimed"}`, 1) + noted("believe"),
			[]Event{{Index: 1, Process: "w", Type: Note, F: Believe}}},
		{"operation that stays open", header + invoke, []Event{write}},
		{"white space", header + ` { "index" : 1 , "time" : 0 , "process" : "A" , "type" : "invoke" , "f" : "write" , "op" : 1 } `, []Event{write}},
		{"fields in another order, time missing", header + `{"op":1,"f":"write","type":"invoke","process":"A","index":1}`, []Event{write}},
		{"info of the nemesis", header + `{"index":1,"time":0,"process":"nemesis","type":"info","f":"partition"}`,
			[]Event{{Index: 1, Process: "nemesis", Type: Info, F: Partition}}},
		{"info of the nemesis under an operation's name", header + `{"index":1,"time":0,"process":"nemesis","type":"info","f":"release"}`,
			[]Event{{Index: 1, Process: "nemesis", Type: Info, F: Release}}},
		{"operations without numbers", header +
			`{"index":1,"time":0,"process":"A","type":"invoke","f":"write"}` + "\n" +
			`{"index":2,"time":0,"process":"B","type":"invoke","f":"read"}` + "\n" +
			`{"index":3,"time":0,"process":"A","type":"info","f":"write"}` + "\n" +
			`{"index":4,"time":0,"process":"B","type":"ok","f":"read"}` + "\n" +
			`{"index":5,"time":0,"process":"A2","type":"invoke","f":"write"}` + "\n",
			[]Event{
				{Index: 1, Process: "A", Type: Invoke, F: Write, Op: 1},
				{Index: 2, Process: "B", Type: Invoke, F: Read, Op: 2},
				{Index: 3, Process: "A", Type: Info, F: Write, Op: 1},
				{Index: 4, Process: "B", Type: OK, F: Read, Op: 2},
				{Index: 5, Process: "A2", Type: Invoke, F: Write, Op: 3},
			}},
		{"escapes", header + begin + `"text":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83d!é"}`,
			[]Event{note(func(e *Event) { e.Text = "a\"\\/\b\f\n\r\té\U0001F600\uFFFD!é" })}},
		{"value number", header + begin + `"value":-7,"expect":0}`,
			[]Event{note(func(e *Event) { e.Value, e.Expect = IntValue(-7), IntValue(0) })}},
		{"value greatest numbers", header + begin + `"value":9223372036854775807,"expect":-9223372036854775808}`,
			[]Event{note(func(e *Event) { e.Value, e.Expect = IntValue(1<<63-1), IntValue(-1<<63) })}},
		{"value text", header + begin + `"value":"9","expect":""}`,
			[]Event{note(func(e *Event) { e.Value, e.Expect = TextValue("9"), TextValue("") })}},
		{"value null", header + begin + `"value":null}`, []Event{note(func(e *Event) { e.Value = NilValue })}},
		{"value fraction", header + begin + `"value":1.50,"expect":-1e+9}`,
			[]Event{note(func(e *Event) { e.Value, e.Expect = Value{Kind: Raw, Str: "1.50"}, Value{Kind: Raw, Str: "-1e+9"} })}},
		{"value of any JSON, in one form", header + begin + `"value": [1, {"a" : "\u0041\n" , "b": [ ]} , true,null] ,"expect":false}`,
			[]Event{note(func(e *Event) {
				e.Value, e.Expect = Value{Kind: Raw, Str: `[1,{"a":"A\n","b":[]},true,null]`}, Value{Kind: Raw, Str: "false"}
			})}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, err := readFrom(strings.NewReader(test.file), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, h.Events); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadHeader(t *testing.T) {
	const line = `{"format":"staleproof.history/1","scenario":"textbook","replay":"sp1:x","timing":"timed","ttl":10000000000,"rho":200,"epsilon":0,"scopes":"per-resource","fence":"granted"}` + "\n"
	want := Header{Format, "textbook", "sp1:x", "timed", 10000000000, 200, 0, "per-resource", "granted"}
	h, err := ReadAll(strings.NewReader(line), "run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, h.Header); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var again bytes.Buffer
	if err := WriteAll(&again, h); err != nil || again.String() != line {
		t.Errorf("written: %s (%v)", again.String(), err)
	}
}

// A reader that goes on after an error would judge half a history.
func TestReaderStopsAtTheFirstError(t *testing.T) {
	r, err := NewReader(strings.NewReader(header+"?\n"+invoke), "run.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var e Event
	first := r.Next(&e)
	if second := r.Next(&e); first == nil || second != first {
		t.Errorf("first error %v, second %v", first, second)
	}
}

// A line without end, as a device or a broken pipe gives one.
func TestReadGivesUpALongLine(t *testing.T) {
	const size = 64 << 20
	for _, format := range []string{"", "staleproof", "jepsen-log"} {
		file := &io.LimitedReader{R: repeat('x'), N: size}
		if format == "" {
			file.R = io.MultiReader(strings.NewReader(header), repeat('x'))
		}
		_, err := readFrom(file, format)
		if err == nil {
			t.Fatalf("format %q: no error", format)
		}
		mustBeSyntaxError(t, err)
		if read := size - file.N; read > 2*MaxLine {
			t.Errorf("format %q: read %d bytes of a line before giving up", format, read)
		}
	}
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

type brokenReader struct{ io.Reader }

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("the disk is gone")
	}
	return n, err
}

func TestReadErrorsOfTheFile(t *testing.T) {
	tests := []struct{ format, file string }{
		{"", header + invoke}, {"staleproof", header + invoke}, {"jepsen-log", header + invoke},
		{"edn", ednInvoke}, {"edn", ednInvoke[:20]}, {"edn", "[" + ednInvoke}, {"edn", ednInvoke + "#_"}, {"edn", ednInvoke + ";"},
		{"jepsen-json", jsonInvoke}, {"jepsen-json", jsonInvoke[:20]}, {"jepsen-json", "[" + jsonInvoke},
	}
	for _, test := range tests {
		_, err := readFrom(brokenReader{strings.NewReader(test.file)}, test.format)
		if err == nil || !strings.Contains(err.Error(), "run.jsonl: cannot read line 1") && test.format == "edn" || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("format %q: %v", test.format, err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.jsonl")
	if err := os.WriteFile(good, []byte(header+invoke), 0o666); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.jsonl")
	tests := []struct {
		name, path, format, want string
		is                       error
	}{
		{"directory", dir, "", dir + ": expected a history, found a directory; name a file in it", nil},
		{"missing file", missing, "", missing + ": expected a history, found no such file; check the path", fs.ErrNotExist},
		{"unknown format", good, "jepsen-logs", good + `: expected a format (staleproof edn jepsen-json jepsen-log), found "jepsen-logs"; did you mean "jepsen-log"?`, nil},
		{"JSON as EDN", good, "edn", good + `:1: expected a value for the key "\"staleproof.history/1\"", found '}'; correct the entry, or record the history again`, nil},
		{"another format than the file's", good, "jepsen-log", good + `: expected operations, such as "INFO  jepsen.util - 4 :invoke :write 3", found none in 2 lines; give the jepsen.log or the history of a test`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(test.path, Reading{Format: test.format})
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is no %v", err, test.is)
			}
		})
	}
	for _, format := range []string{"", "auto", "staleproof"} {
		h, err := Open(good, Reading{Format: format})
		if err != nil || len(h.Events) != 1 {
			t.Errorf("format %q: %v, %v", format, h, err)
		}
	}
}

func TestDetect(t *testing.T) {
	tests := []struct{ head, want string }{
		{header, "staleproof"},
		{" {\n \"format\" : \"x\"", "staleproof"},
		{invoke, "staleproof"},
		{"\xef\xbb\xbf" + header, "staleproof"},
		{"INFO  jepsen.util - 4\t:invoke\t:write\t3\n", "jepsen-log"},
		{"INFO [2017-11-13 18:45:24,246] main - jepsen.cli hello\nINFO [2017-11-13] jepsen worker 0 - jepsen.util 0 :ok :read nil", "jepsen-log"},
		{"[{:process 4, :type :invoke", "edn"},
		{"; a comment\n({:type :invoke, :f :write", "edn"},
		{"{:type :invoke :f :release :process 1}", "edn"},
		{"#jepsen.history.Op{:index 0", "edn"},
		{"[#jepsen.history.Op{:index 0", "edn"},
		{"[\n  {\n    \"type\": \"invoke\"", "jepsen-json"},
		{"[]", "jepsen-json"},
		{`{"type":"invoke","f":"read"}`, "jepsen-json"},
		{"#_{:type :ok} {:type :invoke", "edn"},
		{"#:jepsen{:type :invoke", "edn"},
		{"#knossos.op.Op {:type :invoke", "edn"},
		{"\xef\xbb\xbf; a comment\r\n[\r\n,#jepsen.history.Op{:index 0", "edn"},
		{"()", "edn"},
		{")", ""},
		{":keyword", ""},
		{"#!/bin/sh", ""},
		{`{"index":0,"time":1,"type":"invoke","process":3,"f":"read"}`, "jepsen-json"},
		{`[{"index": 0`, "jepsen-json"},
		{"\xef\xbb\xbf[{\"index\": 0", "jepsen-json"},
		{"", ""},
		{"hello", ""},
		{"12 13", ""},
		{"{", ""},
		{"[", ""},
	}
	for _, test := range tests {
		got, err := Detect([]byte(test.head))
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("Detect(%q) = %q, %v; want %q", test.head, got, err, test.want)
		}
	}
	if diff := cmp.Diff([]string{"staleproof", "edn", "jepsen-json", "jepsen-log"}, Formats()); diff != "" {
		t.Errorf("Formats (-want +got)\n%s", diff)
	}
}
