//go:build !race

package explore_test

const raced = false
