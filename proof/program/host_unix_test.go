//go:build unix

package program_test

import (
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/program"
)

// started starts a process, and returns the channel with the result of its Wait.
func started(t *testing.T, name string, args ...string) (*exec.Cmd, <-chan error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return cmd, done
}

// A process that ends when asked is awaited.
func TestAwaitReturnsHowTheProcessEnded(t *testing.T) {
	cmd, done := started(t, "sleep", "600")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.EqualError(t, program.Await("sleep", cmd.Process, done, program.Patience), "signal: terminated")
}

// A process that hangs is asked for its goroutines and killed, and the error says so.
func TestAwaitEndsAProcessThatHangs(t *testing.T) {
	cmd, done := started(t, "sleep", "600")
	err := program.Await("sleep", cmd.Process, done, time.Millisecond)
	require.ErrorContains(t, err, "sleep ")
	require.ErrorContains(t, err, "ended")
	require.NotNil(t, cmd.ProcessState)
}
