// Package lock keeps two processes from writing to one place at the same time.
//
// The locks are those of the file system, which a process holds until it closes
// the file or ends, however it ends: none is left behind. Where a system or a
// file system has none, everything is as if nobody held one.
package lock

import "os"

// Folder waits until nobody else holds the lock of the folder, and takes it until
// the result is closed.
func Folder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err == nil {
		take(f, true)
	}
	return f, err
}

// File takes the lock of an open file until it is closed, and says whether nobody
// else holds it.
func File(f *os.File) bool { return take(f, false) }
