package history

import (
	"strings"
	"testing"
)

// TestNoteOfItsOperation: the note of a server is about what its operation was.
func TestNoteOfItsOperation(t *testing.T) {
	const write = `{"index":1,"process":"A","type":"invoke","f":"write","op":1,"resource":"r","token":6,"lease":"a","value":1}`
	const batch = `{"index":1,"process":"A","type":"invoke","f":"batch","op":1,"resource":"r","token":6}`
	const renew = `{"index":1,"process":"A","type":"invoke","f":"renew","op":1,"resource":"r","token":6,"lease":"a"}`
	const answered = write + "\n" + `{"index":2,"process":"A","type":"ok","f":"write","op":1,"resource":"r","token":6,"value":1}`
	const unknown = write + "\n" + `{"index":2,"process":"A","type":"info","f":"write","op":1,"resource":"r"}`
	for _, c := range []struct{ reason, before, note, want string }{
		{"the same", write, `"f":"apply","op":1,"resource":"r","token":6,"lease":"a"`, ""},
		{"a note need not repeat", write, `"f":"apply","op":1,"resource":"r"`, ""},
		{"another token", write, `"f":"apply","op":1,"resource":"r","token":4`, "the token 6 of the write"},
		{"another lease", write, `"f":"reject","op":1,"resource":"r","lease":"b"`, `the lease "a" of the write`},
		{"another resource", write, `"f":"apply","op":1,"resource":"q"`, `the resource "r" of the write`},
		{"another scope", write, `"f":"apply","op":1,"resource":"r","scope":"s"`, `the scope "r" of the write`},
		{"another server", write, `"f":"grant","op":1,"resource":"r","token":6`, "a note that serves the write"},
		{"a write is not served", write, `"f":"served","op":1,"resource":"r"`, "a note that serves the write"},
		{"a write may lift the fence alone", write, `"f":"raised","op":1,"resource":"r","token":6`, ""},
		{"a renewal releases nothing", renew, `"f":"released","op":1,"resource":"r"`, "a note that serves the renew"},
		{"a renewal may be granted anew", renew, `"f":"grant","op":1,"resource":"r","token":7`, ""},
		{"a store does not renew", renew, `"f":"apply","op":1,"resource":"r","token":6`, "a note that serves the renew"},
		{"a batch has several resources", batch, `"f":"apply","op":1,"resource":"q","token":6`, ""},
		{"which lease was renewed is judged", renew, `"f":"renewed","op":1,"resource":"r","token":7,"lease":"b"`, ""},
		{"an unknown outcome may be noted yet", unknown, `"f":"apply","op":1,"resource":"q"`, `the resource "r" of the write`},
		{"a note after the answer is judged", answered, `"f":"apply","op":1,"resource":"q"`, ""},
	} {
		text := `{"format":"staleproof.history/1"}` + "\n" + c.before + "\n" + `{"index":3,"process":"s","type":"note",` + c.note + "}\n"
		wantError(t, c.reason, text, c.want)
	}
}

// TestAnswerOfItsGrant: what an acquire is told is what was granted for it.
func TestAnswerOfItsGrant(t *testing.T) {
	const invoke = `{"index":1,"process":"A","type":"invoke","f":"acquire","op":1,"resource":"r"}` + "\n"
	const grant = `{"index":2,"process":"m","type":"note","f":"grant","op":1,"resource":"r","token":1,"lease":"L1","owner":"A"}` + "\n"
	const again = `{"index":3,"process":"m","type":"note","f":"grant","op":1,"resource":"r","token":2,"lease":"L2","owner":"A"}` + "\n"
	for _, c := range []struct{ reason, notes, told, want string }{
		{"the same", grant, `"token":1,"lease":"L1"`, ""},
		{"nothing", grant, `"lease":"L1"`, ""},
		{"another token", grant, `"token":4,"lease":"L1"`, "the granted token 1 of the acquire"},
		{"another lease", grant, `"token":1,"lease":"L9"`, `the granted lease "L1" of the acquire`},
		{"what a copy of the request was granted", grant + again, `"token":1,"lease":"L1"`, ""},
		{"no note", "", `"token":4,"lease":"L4"`, ""},
	} {
		text := `{"format":"staleproof.history/1"}` + "\n" + invoke + c.notes +
			`{"index":9,"process":"A","type":"ok","f":"acquire","op":1,"resource":"r",` + c.told + "}\n"
		wantError(t, c.reason, text, c.want)
	}
}

// wantError reads a history and expects an error with a text in it, none if that is "".
func wantError(t *testing.T, reason, file, want string) {
	t.Helper()
	_, err := ReadAll(strings.NewReader(file), "h.jsonl")
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: expected no error, found %v", reason, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: expected an error with %q, found %v", reason, want, err)
	}
}
