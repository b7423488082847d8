//go:build race

package explore_test

import "github.com/interlude-go/interlude/proof/explore"

// An exploration is one goroutine, and the race detector makes it ten times as slow: a part is
// enough to see scenarios side by side. CI runs the whole without it.
var (
	explored = explore.Bounds{Nodes: 2, Questions: 1, Attempts: 2, Faults: 1}
	least    = 100_000
	twice    = explore.Bounds{Nodes: 1, Questions: 1, Attempts: 2, Faults: 2}
	unmet    = []string{`nothing ever came out as "refused: key conflict"`} // it takes a second question
)

const eachMutant = 40
