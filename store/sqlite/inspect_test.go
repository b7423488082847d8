package sqlite_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/sqlite"
)

// J8: with NoMigrate, a file stays as it is: none is made, and none of an older version is brought
// to this one. Inspect says the same, and how far the file is.
func TestJ8NoMigrateLeavesTheFileAsItIs(t *testing.T) {
	fixed := quick
	fixed.NoMigrate = true
	newest := len(sqlite.Migrations())

	missing := filepath.Join(t.TempDir(), "runs.db")
	_, err := sqlite.Open(t.Context(), missing, fixed)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = sqlite.Inspect(t.Context(), missing)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, missing)

	empty := filepath.Join(t.TempDir(), "empty.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	old := dumped(t, earliest)
	for path, version := range map[string]int{empty: 0, old: 1} {
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = sqlite.Open(t.Context(), path, fixed)
		require.ErrorIs(t, err, sqlite.ErrOlder)
		have, err := sqlite.Inspect(t.Context(), path)
		require.ErrorIs(t, err, sqlite.ErrOlder)
		require.Equal(t, sqlite.Status{Version: version, Newest: newest}, have)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)

		s, err := sqlite.Open(t.Context(), path, quick)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		s, err = sqlite.Open(t.Context(), path, fixed)
		require.NoError(t, err)
		have, err = sqlite.Inspect(t.Context(), path)
		require.NoError(t, err, "while it is open")
		require.Equal(t, sqlite.Status{Version: newest, Newest: newest}, have)
		require.NoError(t, s.Close())
	}
}

// J8: Inspect finds what Open does not look for: a page that is damaged.
func TestJ8InspectReadsEachPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(t.Context(), path, quick)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = sqlite.Inspect(t.Context(), path)
	require.NoError(t, err)
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := len(body) - 4096; i < len(body); i++ { // the last page, an index of an empty table
		body[i] = 0xff
	}
	require.NoError(t, os.WriteFile(path, body, 0o600))
	_, err = sqlite.Inspect(t.Context(), path)
	require.ErrorIs(t, err, sqlite.ErrCorrupt)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sqlite.Inspect(ended, path)
	require.ErrorIs(t, err, context.Canceled)
}

// J8: paths may be relative to the working folder, as for Open.
func TestJ8PathsMayBeRelative(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := sqlite.Open(t.Context(), "runs.db", quick)
	require.NoError(t, err)
	require.NoError(t, s.Backup(t.Context(), "copy.db"))
	require.NoError(t, s.Close())
	require.NoError(t, sqlite.Restore(t.Context(), "copy.db", "again.db"))
	_, err = sqlite.Inspect(t.Context(), "again.db")
	require.NoError(t, err)
}
