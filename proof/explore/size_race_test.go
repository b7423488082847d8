//go:build race && !search

package explore_test

import "github.com/interlude-go/interlude/proof/explore"

// Under the race detector the tests explore only a part of the states. Each exploration runs in a
// single goroutine, so the detector can find nothing in it, and makes it ten times slower. test.sh
// explores all states without the detector.
var (
	explored = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 2, Faults: 1}
	least    = 10_000
	twice    = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 1, Faults: 2}
	logged   = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 1, Faults: 1}
)

const eachMutant = 120
