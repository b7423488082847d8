//go:build !race

package simulate_test

// How many worlds are lived when nobody says, and how many are lived twice.
const (
	usual    = enough
	repeated = 500
)
