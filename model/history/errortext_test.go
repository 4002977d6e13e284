package history

import "testing"

func TestErrorText(t *testing.T) {
	for _, test := range []struct{ reason, text, want string }{
		{"a text stays", "timeout", "timeout"},
		{"a list is joined", `["not-found","etcdserver: requested lease not found"]`, "not-found: etcdserver: requested lease not found"},
		{"an empty list is no error", "[]", ""},
		{"what only looks like one", "[:not-found", "[:not-found"},
		{"a list of other things", "[1,2]", "[1,2]"},
	} {
		if got := ErrorText(test.text); got != test.want {
			t.Errorf("%s: want %q, found %q", test.reason, test.want, got)
		}
	}
}
