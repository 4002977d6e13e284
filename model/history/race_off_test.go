//go:build !race

package history

const underRace = false
