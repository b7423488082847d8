package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle/lifecycletest"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// file is a store that remembers where its file is, for reopening.
type file struct {
	*sqlite.Store
	path string
}

// quiet options: in a test's fake time nobody else's commits need looking for.
var quiet = sqlite.Options{WatchInterval: -1}

func open(tb testing.TB) store.Store {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "runs.db")
	s, err := sqlite.Open(tb.Context(), path, quiet)
	require.NoError(tb, err)
	return &file{s, path}
}

func reopen(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	f, ok := s.(*file)
	require.True(tb, ok)
	require.NoError(tb, f.Close())
	again, err := sqlite.Open(tb.Context(), f.path, quiet)
	require.NoError(tb, err)
	return &file{again, f.path}
}

func TestRequirementsOnSQLite(t *testing.T) {
	lifecycletest.Run(t, lifecycletest.Harness{Open: open, Reopen: reopen})
}
