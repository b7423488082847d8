//go:build !race

package simulate_test

// The number of worlds that run by default, and how many of them run twice. .ci/search runs more.
const (
	usual    = enough / 6
	repeated = 150
)
