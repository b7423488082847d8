package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// J8: a writer that was killed between its write and its flush leaves frames that a recovery treats
// as stored, though the disk may not have them yet. Open commits a change behind them, which
// flushes the whole log, so that everything that this store reads is durable.
func TestOpenFlushesRecoveredCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	defer s.Close()
	left := filepath.Join(t.TempDir(), "runs.db")
	for _, suffix := range []string{"", "-wal"} { // as the killed process leaves them; its shared
		// memory is gone
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
