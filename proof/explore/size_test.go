//go:build !race

package explore_test

import "github.com/interlude-go/interlude/proof/explore"

var (
	explored = explore.Usual() // the bounds of the ordinary test,
	least    = 1_000_000       // how many states it visits at least,
	unmet    []string          // and the rules that it does not reach

	twice = explore.Bounds{Nodes: 2, Questions: 1, Attempts: 2, Faults: 2} // the test with two faults

	// logged bounds the exploration that is made once with logs and once without them.
	logged = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 2, Faults: 1}
)

// eachMutant is how many mutants there are for each one that is tried.
const eachMutant = 1
