//go:build !race

package simulate_test

// How many worlds run by default, and how many of them run twice.
const (
	usual    = enough
	repeated = 500
)
