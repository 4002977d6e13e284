//go:build race

package history

// underRace makes the tests that only repeat themselves repeat less: the
// detector slows a reader down twenty times.
const underRace = true
