//go:build race && !search

package sample

// Raced returns parts. Under the race detector, .ci/run plays one case in parts where other tests
// check the concurrency. ./test.sh plays all cases without the detector, and .ci/search all cases
// with it.
func Raced(parts int) int { return parts }
