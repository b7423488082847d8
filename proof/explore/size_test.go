//go:build !race && !search

package explore_test

import "github.com/interlude-go/interlude/proof/explore"

var (
	explored = explore.Usual() // the bounds of the ordinary test
	least    = 1_000_000       // the least number of states that it visits

	twice = explore.Bounds{Nodes: 2, Questions: 1, Attempts: 2, Faults: 2} // the test with two faults

	// logged has the bounds of the exploration that is made once with logs and once without.
	logged = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 2, Faults: 1}
)

// eachMutant tries each n-th mutant. .ci/search tries all.
const eachMutant = 15
