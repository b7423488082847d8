//go:build !race

package simulate_test

// How many worlds run by default, and how many of them run twice. .ci/search runs more than enough.
const (
	usual    = enough / 2
	repeated = 500
)
