//go:build !race

package explore_test

import "github.com/interlude-go/interlude/proof/explore"

var (
	explored = explore.Usual() // by the ordinary test, with
	least    = 1_000_000       // states at the least, and
	unmet    []string          // what is never met within its bounds

	twice = explore.Bounds{Nodes: 2, Questions: 1, Attempts: 2, Faults: 2} // where two things happen
)

// eachMutant is how many mutants there are for each one that is tried.
const eachMutant = 1
