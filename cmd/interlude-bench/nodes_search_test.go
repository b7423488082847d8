//go:build search

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// R4: a turn takes the lock of its pool about once, with few and with many nodes, and with a standby
// that answers late.
func TestAHundredNodesHardlyCompete(t *testing.T) {
	for _, standby := range []string{"0s", "5ms"} {
		for _, nodes := range []int{1, 8, 16, 100} {
			t.Run(fmt.Sprint(nodes, " nodes, a standby after ", standby), func(t *testing.T) {
				r, _ := run(t, "-store", "postgres", "-nodes", fmt.Sprint(nodes), "-runs", "300", "-concurrency", "1",
					"-standby", standby)
				most := 1.5
				if nodes == 100 { // they overload a small machine, and claims that take long meet others
					most = 2
				}
				require.LessOrEqual(t, r.ClaimsPerTurn, most)
				if standby != "0s" {
					require.GreaterOrEqual(t, r.ReplyP50, 10.0, "the reply and the claim wait for the standby")
				}
				require.InDelta(t, 6, r.CommitsPerRun, 0.001)
			})
		}
	}
}
