package lock

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestFile: one holds the lock until it closes the file, whatever the name by which
// the others open it.
func TestFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks on this system")
	}
	path := filepath.Join(t.TempDir(), "x")
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first := open(path)
	if !File(first) {
		t.Error("expected the lock of a file that nobody holds")
	}
	if err := os.Link(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	second := open(path + "2")
	if File(second) {
		t.Error("expected no lock while the first has it")
	}
	first.Close()
	if !File(second) {
		t.Error("expected the lock once the first is closed")
	}
}

// TestFolder: a folder's lock is had again once it is given back.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		f, err := Folder(dir)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if _, err := Folder(filepath.Join(dir, "none")); err == nil {
		t.Error("expected an error of a folder that is not there")
	}
}
