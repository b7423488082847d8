//go:build race

package explore_test

import "github.com/interlude-go/interlude/proof/explore"

// Under the race detector only a part is explored. Each exploration is one goroutine, so that there
// is nothing to detect within it, and the detector makes it ten times as slow. CI explores all of
// it without the detector.
var (
	explored = explore.Bounds{Nodes: 2, Questions: 1, Attempts: 2, Faults: 1}
	least    = 100_000
	twice    = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 2, Faults: 2}
	logged   = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 1, Faults: 1}
	unmet    = []string{`no step ever had the result "refused: key conflict"`} // it needs a second question
)

const eachMutant = 120
