//go:build race

package simulate_test

// The race detector makes a world ten times as slow, and sees in few of them what there is to see.
const (
	usual    = 300
	repeated = 30
)
