//go:build unix

package cast

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host that ends when asked is awaited.
func TestStopReturnsHowTheHostEnded(t *testing.T) {
	h, err := StartHost(t.Context(), nil, HostOptions{Program: "sleep", Args: []string{"600"}})
	require.NoError(t, err)
	require.EqualError(t, h.Stop(), "signal: terminated")
}

// A host that hangs is asked for its goroutines and killed, and the error says so.
func TestStopEndsAHostThatHangs(t *testing.T) {
	h, err := StartHost(t.Context(), nil, HostOptions{Program: "sh", Args: []string{"-c", "trap '' TERM QUIT; echo; " +
		"while :; do sleep 0.1; done"}, Says: func(string) {}})
	require.NoError(t, err)
	err = h.stop(time.Millisecond)
	require.ErrorContains(t, err, "has not ended within 1ms")
	require.ErrorContains(t, err, "killed")
}

// A host that writes no first line is killed, and the error reports the missing line.
func TestStartEndsAHostThatWritesNothing(t *testing.T) {
	h := &Host{cmd: exec.CommandContext(t.Context(), "sleep", "600"), done: make(chan struct{})}
	err := h.start(func(string) {}, time.Millisecond)
	require.ErrorContains(t, err, "it has written no line within 1ms")
	require.ErrorContains(t, err, "signal: ")
}

// The entry that a killed process was about to write is left out.
func TestAJournalIsReadAgain(t *testing.T) {
	path := t.TempDir() + "/journal"
	j, err := OpenJournal[int](path)
	require.NoError(t, err)
	require.NoError(t, j.Add(1))
	require.NoError(t, j.Add(2))
	_, err = j.file.WriteString("3")
	require.NoError(t, err)
	require.NoError(t, j.Close())
	all, err := ReadJournal[int](path)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, all)
}
