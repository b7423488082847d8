package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle/lifecycletest"
	"github.com/interlude-go/interlude/lifecycle/stories"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
	"github.com/interlude-go/interlude/store/storetest"
)

// file is a store that remembers where its file is, for reopening.
type file struct {
	*sqlite.Store
	path string
}

var (
	// quiet: without polling for other processes' commits.
	quiet = sqlite.Options{WatchInterval: -1}
	// quick is for suites that check stored data, and not whether it survives a power failure;
	// crash_test.go does.
	quick = sqlite.Options{WatchInterval: -1, Synchronous: sqlite.Normal}
)

func open(tb testing.TB) store.Store {
	tb.Helper()
	return at(tb, filepath.Join(tb.TempDir(), "runs.db"))
}

func at(tb testing.TB, path string) store.Store {
	tb.Helper()
	s, err := sqlite.Open(tb.Context(), path, quick)
	require.NoError(tb, err)
	return &file{s, path}
}

func reopen(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	require.NoError(tb, s.Close())
	return also(tb, s)
}

func also(tb testing.TB, s store.Store) store.Store {
	tb.Helper()
	f, ok := s.(*file)
	require.True(tb, ok)
	return at(tb, f.path)
}

func TestStorePassesTheSuite(t *testing.T) {
	storetest.Harness{Open: open, Reopen: reopen, Crash: also, Also: also}.Run(t)
}

func TestRequirements(t *testing.T) {
	lifecycletest.Run(t, open)
}

func TestStories(t *testing.T) {
	stories.Run(t, func(tb testing.TB) stories.Opener {
		path := filepath.Join(tb.TempDir(), "runs.db")
		return func(tb testing.TB) store.Store { return at(tb, path) }
	})
}
