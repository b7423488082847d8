package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// J10: a stuck call outside of turns keeps no turn of its run from beginning.
func TestStuckCallOutsideOfTurnsIsNoTurn(t *testing.T) {
	var s StuckCalls
	for _, c := range []EngineCall{{RunID: "reaped"}, {RunID: "executed", Attempt: 1}} {
		s.Add(&StuckCall{EngineCall: c})
	}
	require.True(t, s.HasTurnOf("executed"))
	require.False(t, s.HasTurnOf("reaped"))
	require.False(t, s.HasTurnOf("other"))
}
