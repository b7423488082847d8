package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOpenFlushesRecoveredCommits: J8. A writer that was killed between its write and its flush has left
// frames that a recovery takes for stored, and that no disk may have yet. Open commits something of
// its own behind them, which flushes the whole log, so that whatever this store shows is durable.
func TestOpenFlushesRecoveredCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	defer s.Close()
	left := filepath.Join(t.TempDir(), "runs.db")
	for _, suffix := range []string{"", "-wal"} { // as the killed process leaves them; its shared memory is nobody's
		body, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(left+suffix, body, 0o600))
	}
	before, err := os.Stat(left + "-wal")
	require.NoError(t, err)
	again, err := Open(t.Context(), left, Options{})
	require.NoError(t, err)
	defer again.Close()
	after, err := os.Stat(left + "-wal")
	require.NoError(t, err)
	require.Greater(t, after.Size(), before.Size(), "a frame of its own, after those that were found")
}
