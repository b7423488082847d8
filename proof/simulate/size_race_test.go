//go:build race

package simulate_test

// The race detector makes a world ten times as slow, and needs only a few worlds to find races.
const (
	usual    = 300
	repeated = 30
)
