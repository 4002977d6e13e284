//go:build race

package lf

// raced says that the race detector makes everything ten times slower.
const raced = true
