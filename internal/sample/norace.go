//go:build !race

package sample

// Race reports that the race detector is active.
const Race = false
