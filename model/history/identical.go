package history

import "unsafe"

// Identical reports whether two texts are the same bytes in the same place, as the
// names in a simulation mostly are. Those that are not may be equal all the same:
// it is for what is remembered from one event to the next, and decides nothing.
func Identical(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}
