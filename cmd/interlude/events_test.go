package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// F1, G4: with -json, standard output is the log of the run's events, all of them also when it is
// resumed, and keeps the contract.
func TestEventsAsLines(t *testing.T) {
	folder := hello(t)
	first := play(t, "", "-json", folder)
	require.Equal(t, goesOn, first.status, first.side)
	require.Contains(t, first.side, "? How shall it sound?", "a person is asked beside the events")
	require.Contains(t, first.side, "‖ parked")
	s := play(t, "pirate\nyes\n", "-json", folder)
	require.Equal(t, succeeded, s.status, s.side)
	require.True(t, strings.HasPrefix(s.out, first.out), "the log goes on")
	kept(t, s.out)
}

// kept proves that the lines are the log of a run that has ended, and keep the contract.
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
