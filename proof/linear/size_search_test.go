//go:build search

package linear_test

// How many histories of runs are recorded on each store by default, and the seed of the first world:
// 0 draws one.
const (
	recordedRuns = 168
	seeded       = 0
)
