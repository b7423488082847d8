//go:build search

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/checkout"

	"github.com/interlude-go/interlude/internal/sample"
)

// The check of each bug passes without the bug and fails with it.
func TestEveryBugIsSeen(t *testing.T) {
	root, err := checkout.Root()
	require.NoError(t, err)
	bugs, err := readBugs("bugs", "")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(bugs), 15)
	var chosen []bug
	for i, b := range bugs {
		if sample.Has(i, sample.BugParts) {
			chosen = append(chosen, b)
		}
	}
	t.Logf("%d of %d bugs", len(chosen), len(bugs))
	findings, err := show(t.Context(), root, chosen)
	require.NoError(t, err)
	for _, f := range findings {
		t.Run(f.bug.name, func(t *testing.T) {
			require.NoError(t, f.err, "%s", f.bug.story)
			require.NotEmpty(t, f.said)
			t.Logf("%s: %s: %s", f.took.Round(1e8), f.bug.check, f.said)
		})
	}
}
