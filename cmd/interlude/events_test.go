package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// F1, G4: with -json, standard output is the complete log of the run's events, also after a resume,
// and satisfies the contract.
func TestEventsAsLines(t *testing.T) {
	folder := hello(t)
	first := play(t, "", "-json", folder)
	require.Equal(t, goesOn, first.status, first.side)
	require.Contains(t, first.side, "? How shall it sound?", "the person is asked on the other stream")
	require.Contains(t, first.side, "‖ parked")
	s := play(t, "pirate\nyes\n", "-json", folder)
	require.Equal(t, succeeded, s.status, s.side)
	require.True(t, strings.HasPrefix(s.out, first.out), "the log is continued")
	kept(t, s.out)
}

// kept checks that the lines are the log of a run that has ended, and satisfy the contract.
func kept(t *testing.T, log string) {
	t.Helper()
	report, err := audit.Check(strings.NewReader(log))
	require.NoError(t, err)
	require.Nil(t, report.First())
	require.Equal(t, 1, report.Runs)
	lines := bytes.Split(bytes.TrimSpace([]byte(log)), []byte("\n"))
	for i, line := range lines {
		e, err := fcmp.Verify(line)
		require.NoError(t, err)
		require.Equal(t, i == len(lines)-1, e.Terminal())
	}
}
