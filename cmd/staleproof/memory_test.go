//go:build linux

package main

import (
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// TestMaxMemory: --max-memory bounds what the process takes from the system, and what
// the search did not come to for it is said.
func TestMaxMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs memory of its own")
	}
	// A test program's code is larger than the command's.
	const limit, code = 96, 8
	cmd := command(t, "explore", "lf", "--clients", "3", "--max-memory", "96", "--for", "60s")
	cmd.Env = append(cmd.Env, "GOMEMLIMIT=off")
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != exitInconclusive {
		t.Errorf("expected exit code %d, found %d:\n%s", exitInconclusive, got, out)
	}
	if text := strings.Join(strings.Fields(string(out)), " "); !strings.Contains(text, "truncated by the bound of 96 MiB of memory") {
		t.Errorf("expected the bound of memory to be named, found:\n%s", out)
	}
	if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10; most > limit+code || most < limit/2 {
		t.Errorf("expected the process to use almost %d MiB, and %d for the code of the test at most, found %d", limit, code, most)
	}
}

// TestLimitMemory: a lower limit of the environment stays, and the limit ends with the
// search.
func TestLimitMemory(t *testing.T) {
	const mib = 1 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(512 * mib))
	for _, c := range []struct{ limit, want int64 }{{0, 512}, {1024, 512}, {256, 248}, {8, 0}, {1, 0}} {
		end := limitMemory(c.limit * mib)
		if got := debug.SetMemoryLimit(-1) / mib; got != c.want {
			t.Errorf("--max-memory %d: expected a limit of %d MiB, found %d", c.limit, c.want, got)
		}
		end()
		if got := debug.SetMemoryLimit(-1) / mib; got != 512 {
			t.Errorf("--max-memory %d: expected the limit of before, 512 MiB, found %d", c.limit, got)
		}
	}
}
