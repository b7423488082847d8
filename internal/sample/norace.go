//go:build !race

package sample

// Race says that the race detector watches.
const Race = false
