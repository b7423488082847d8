//go:build race && !search

package audit

// See size_test.go. Under the race detector, each log takes ten times as long.
const (
	FlipStride = 2411
	everyLog   = false
)
