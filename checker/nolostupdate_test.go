package checker

import (
	"fmt"
	"testing"
)

// TestSeenOperationsAreBounded: at least as many operations on the store as the bound
// are remembered. A mutation that was based on an older one is inconclusive.
func TestSeenOperationsAreBounded(t *testing.T) {
	lower(t, &manySeen, 3)
	const late = "store apply op=90 token=1 owner=A\n"
	reads := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("store served op=%d token=2 owner=B\n", i+1)
		}
		return text + late
	}
	write := func(basis int) string {
		return fmt.Sprintf("store apply op=91 token=2 owner=B basis=%d", basis)
	}
	for _, tt := range []struct{ reason, events, want string }{
		{"all are remembered", reads(5) + write(1),
			"violated: a write with token 2 applied at #7 was based on the value of #1, which a late write of token 1 had changed at #6 (orders/7)"},
		{"the first was forgotten", reads(6) + write(1),
			"inconclusive: undecided: a write with token 2 applied at #8 was based on operation 1, and only the last 3 operations are remembered (orders/7)"},
		{"of those before, the last as many are remembered", reads(6) + write(4),
			"violated: a write with token 2 applied at #8 was based on the value of #4, which a late write of token 1 had changed at #7 (orders/7)"},
		{"one that is named again takes no second place", "store served op=1 token=2 owner=B\nstore served op=1 token=2 owner=B\n" + reads(5) + write(1),
			"violated: a write with token 2 applied at #9 was based on the value of #3, which a late write of token 1 had changed at #8 (orders/7)"},
		{"nobody asks for what was forgotten", reads(9), "satisfied"},
		{"an operation of which nothing is told", late + write(7),
			"inconclusive: undecided: a write with token 2 applied at #2 was based on operation 7, which has neither a note nor an answer (orders/7)"},
		{"a violation stays one after a doubt", late + write(7) + "\nstore served op=1 token=2 owner=B\n" + late + write(1),
			"violated: a write with token 2 applied at #5 was based on the value of #3, which a late write of token 1 had changed at #4 (orders/7)"},
	} {
		if got := ask(t, "no-lost-update", tt.events); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.reason, got, tt.want)
		}
	}
}
