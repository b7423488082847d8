//go:build search

package main

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// E3 E4 I2 I9 C5 F8: nodes are killed, stopped, cut off and restarted, and the server is killed;
// nothing is lost, and nothing happens twice. The test also makes sure that the checks would find a
// late takeover.
func TestNothingIsLostInChaos(t *testing.T) {
	c := bring(t, "-nodes", "3", "-runs", "150", "-chaos", "-kills", "7", "-restarts", "1")
	a, err := c.run(t.Context(), io.Discard, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.Empty(t, a.violations, "%s", left(t, a))
	v := a.verdict()
	require.True(t, v.Correct)
	require.Equal(t, 150, v.Runs)
	done := 0
	for _, n := range v.Disturbances {
		done += n
	}
	require.GreaterOrEqual(t, done, 8)
	require.Equal(t, 1, v.Disturbances[crashing])
	require.Positive(t, v.Disturbances[killing])
	require.Positive(t, v.Samples)
	require.Positive(t, v.Takeovers)
	if canPause {
		require.Positive(t, v.LeasesLost)
		require.Positive(t, v.StaleRefused)
	}

	_, err = ageTakeover(t.Context(), c)
	require.NoError(t, err)
	a, err = c.check(t.Context())
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(a.violations, func(v violation) bool { return v.Check == checkTakeover }))
}

// J9 J8 R5: the primary is lost while its standbys are behind, hangs, comes back after a standby was
// promoted, and lives on next to it. If commits wait for standbys, no acknowledged data is lost, and nodes and people
// continue without help.
func TestNothingIsLostInFailovers(t *testing.T) {
	c := bring(t, "-nodes", "2", "-runs", "60", "-chaos", "-kills", "0", "-standbys", "2", "-failovers", "4")
	a, err := c.run(t.Context(), io.Discard, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.Empty(t, a.violations, "%s", left(t, a))
	v := a.verdict()
	for _, h := range []harm{lagging, hanging, returning, surviving} {
		require.Equal(t, 1, v.Disturbances[h], h)
	}
	require.Positive(t, v.FailoverMS)
	require.Positive(t, v.Replies)
}

// J9: if commits do not wait for the standbys, acknowledged data are lost, and the checks find
// that.
func TestLossOfAsynchronousStandbysIsFound(t *testing.T) {
	c := bring(t, "-nodes", "2", "-runs", "60", "-chaos", "-kills", "0", "-standbys", "2", "-failovers", "1",
		"-asynchronous")
	a, err := c.run(t.Context(), io.Discard, func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(a.violations, func(v violation) bool { return v.Check == checkReplies }),
		"%s", left(t, a))
}
