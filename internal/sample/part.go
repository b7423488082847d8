//go:build race && !search

package sample

// Raced returns parts: under the race detector .ci/run plays one case in this many where other
// tests check the concurrency. ./test.sh plays all of them without the detector, and .ci/search
// with it.
func Raced(parts int) int { return parts }
