//go:build !search

package linear_test

// How many histories of runs are recorded on each store by default, and the seed of the first world.
const (
	recordedRuns = 16
	seeded       = 1
)
