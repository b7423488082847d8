package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program with all mutants finds the same survivors as a program for each of them. A mutant that
// cannot be woven in, of a constant or a text, is tried with a program of its own.
func TestTogetherSeesWhatSingleProgramsSee(t *testing.T) {
	root, mutants := small(t)
	src, err := load(t.Context(), root, "small")
	require.NoError(t, err)
	for i := range mutants {
		m := &mutants[i]
		m.status = runnable
		if src.check(m.file, m.source) != nil {
			m.status = notViable
		}
	}
	c, spent, err := trial{root: root, pkg: "small", patience: 3 * time.Second}.choose(t.Context(), src, t.TempDir(),
		mutants)
	require.NoError(t, err)
	require.Positive(t, spent)
	_, err = c.settle(t.Context(), mutants, 2)
	require.NoError(t, err)
	became, together := map[string]status{}, 0
	for i, m := range mutants {
		became[m.after] = m.status
		if c.in[i+1] {
			together++
		}
	}
	require.Equal(t, map[string]status{
		"var Limit = 1 >> 3":       killed,
		"const Hidden = 5 - 1":     lived,
		"case n <= 0:":             killed,
		"case n >= 0:":             killed,
		"case n >= Limit:":         killed,
		"case n <= Limit:":         killed,
		`return "much of " - "it"`: notViable,
		"for n >= 5 {":             lived,
		"for n <= 5 {":             timedOut,
		"n++":                      timedOut,
		"func Untested(a, b bool) bool { return a || b }": lived,
	}, became)
	require.Equal(t, len(mutants)-2, together, "all but the constant and the text")
	_, err = os.Stat(root + "/small/internal")
	require.ErrorIs(t, err, os.ErrNotExist, "the tree must not be modified")
}
