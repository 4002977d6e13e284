//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lock

import (
	"os"
	"syscall"
)

// take takes the lock of f, and says whether nobody else holds it.
func take(f *os.File, wait bool) bool {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		switch syscall.Flock(int(f.Fd()), how) {
		case syscall.EINTR:
			continue
		case syscall.EWOULDBLOCK:
			return false
		}
		return true
	}
}
