//go:build !race

package lf

const raced = false
