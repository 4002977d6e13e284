package checker

import (
	"strings"
	"testing"

	"staleproof/model/history"
)

// TestFenceOfTheLeaseTable: a refusal that only a grant justifies is right where the
// store knows the lease table, and the report says that this was inferred.
func TestFenceOfTheLeaseTable(t *testing.T) {
	const granted = `
		B invoke acquire op=1
		B ok acquire op=1 token=2 lease=b
	`
	const refused = `
		A invoke write op=2 token=1 lease=a value=1
		A fail write op=2 token=1 lease=a stale
	`
	const noted = `
		A invoke write op=2 token=1 lease=a value=1
		store reject op=2 token=1 lease=a highest=2
		A fail write op=2 token=1 lease=a stale=2
	`
	const late = `
		B invoke acquire op=1
		A invoke write op=2 token=1 lease=a value=1
		A fail write op=2 token=1 lease=a stale
		B ok acquire op=1 token=2 lease=b
	`
	for _, c := range []struct {
		reason, fence, events string
		want                  Outcome
		inferred              bool
	}{
		{"a greater token was granted", "", granted + refused, Satisfied, true},
		{"the same, declared", "granted", granted + refused, Satisfied, false},
		{"the same, forbidden", "accepted", granted + refused, Violated, false},
		{"by the store's note", "", granted + noted, Satisfied, true},
		{"granted before it was answered", "", late, Satisfied, true},
		{"granted after the refusal", "", refused + granted, Violated, false},
		{"granted after the refusal, declared", "granted", refused + granted, Violated, false},
		{"nothing was granted", "granted", refused, Violated, false},
		{"the granted token itself is refused", "", granted + `
			B invoke write op=3 token=2 lease=b value=1
			B fail write op=3 token=2 lease=b stale
		`, Violated, false},
		{"another scope's grant", "", strings.ReplaceAll(granted, "op=1", "op=1 r=q") + refused, Violated, false},
	} {
		h := parse(t, history.Header{Fence: c.fence}, c.events)
		r, err := Check(h, Options{Model: "fenced"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome != c.want {
			t.Errorf("%s: expected %s, found %s: %v", c.reason, c.want, r.Outcome, r.Violations)
		}
		if said := strings.Contains(strings.Join(r.Notes, " "), "lease table"); said != c.inferred {
			t.Errorf("%s: expected it said %t, found the notes %q", c.reason, c.inferred, r.Notes)
		}
	}
}
