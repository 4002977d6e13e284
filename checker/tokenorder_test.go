package checker

import (
	"fmt"
	"strings"
	"testing"
)

// TestTokensOfOverlappingAcquisitionsAreRemembered: while an acquisition is open, no
// token is forgotten that may answer it.
func TestTokensOfOverlappingAcquisitionsAreRemembered(t *testing.T) {
	var b strings.Builder
	b.WriteString("A invoke acquire op=1\n")
	const n = 2000
	for i := range n {
		fmt.Fprintf(&b, "B invoke acquire op=%d\nB ok acquire op=%d token=%d lease=l%d\n", i+2, i+2, i+1, i)
	}
	for _, tt := range []struct{ reason, end, want string }{
		{"the first of them", "A ok acquire op=1 token=1 lease=a", "violated: token 1 granted at #4002 was granted before at #3 (orders/7)"},
		{"the last of them", "A ok acquire op=1 token=2000 lease=a", "violated: token 2000 granted at #4002 was granted before at #4001 (orders/7)"},
		{"one that nobody has", "A ok acquire op=1 token=2001 lease=a", "satisfied"},
	} {
		if got := ask(t, "token-order", b.String()+tt.end); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}

// TestRefusedTokensAreRemembered: a client may try again under any token that was
// refused before.
func TestRefusedTokensAreRemembered(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "A fail write op=%d token=%d stale=9999\n", i+1, i+1)
	}
	want := "violated: A invoked write with token 1 at #2001 after that token was rejected as stale at #1 (orders/7)"
	if got := ask(t, "gives-up", b.String()+"A invoke write op=9999 token=1"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
