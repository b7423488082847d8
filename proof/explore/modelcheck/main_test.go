package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
)

func TestRunPrintsFiguresAndACounterexample(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	var out strings.Builder
	require.NoError(t, run([]string{"-nodes", "1", "-questions", "1", "-attempts", "2", "-faults", "0"}, &out))
	require.Regexp(t, `\d+ states, \d+ transitions, depth \d+`, out.String())
	require.Contains(t, out.String(), "TR-16", "what these bounds do not reach is listed")

	out.Reset()
	require.ErrorIs(t, run([]string{"-nodes", "1", "-questions", "1", "-attempts", "2", "-faults", "0", "-without",
		"version.reply"}, &out), errBroken)
	require.Contains(t, out.String(), "⇒ PI-18: question 1 was answered by ada, and is answered by ben now")

	out.Reset()
	require.NoError(t, run([]string{"-without", "list"}, &out))
	require.Contains(t, out.String(), "fence.epoch\n")
	require.ErrorContains(t, run([]string{"-without", "luck"}, &out), "-without list")
	require.EqualError(t, run([]string{"-nodes", "9"}, &out), "explore: nodes is 9, want 1 to 3")
	require.EqualError(t, run([]string{"three"}, &out), `"three" is no flag; -h shows them`)
}
