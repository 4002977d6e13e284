//go:build race

package sim

// underRace makes the tests that only repeat themselves repeat less: the detector
// slows a coroutine switch down thirty times.
const underRace = true
