package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
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
	storetest.Harness{Open: open, Reopen: reopen, Crash: also, Also: also, Lose: lose, Raise: raise}.Run(t)
}

func raise(tb testing.TB, s store.Store) {
	tb.Helper()
	require.NoError(tb, sqlite.Restored(tb.Context(), s.(*file).path))
}

// lose deletes a row as another program does.
func lose(tb testing.TB, s store.Store, table storetest.Table, id string, last bool) {
	tb.Helper()
	db, err := sql.Open("sqlite", s.(*file).path)
	require.NoError(tb, err)
	defer db.Close()
	which := map[bool]string{false: "min", true: "max"}[last]
	ofRun := fmt.Sprintf(`SELECT n << %[1]d AS low, (n + 1) << %[1]d AS high FROM runs WHERE id = ?`, sqlite.SeqBits)
	text := map[storetest.Table]string{
		storetest.Journal: `WITH r AS (` + ofRun + `) DELETE FROM journal WHERE k = (SELECT ` + which +
			`(k) FROM journal, r WHERE k > low AND k < high)`,
		storetest.Events: `WITH r AS (` + ofRun + `) DELETE FROM log WHERE k = (SELECT ` + which +
			`(k) FROM log, r WHERE k > low AND k < high)`,
		storetest.Settled: `DELETE FROM settled WHERE (run, id) = (SELECT run, ` + which +
			`(settled.id) FROM settled JOIN runs ON n = run WHERE runs.id = ?)`,
		storetest.Votes: `DELETE FROM voted WHERE (run, id, part) = (SELECT run, ` + which +
			`(voted.id), 0 FROM voted JOIN runs ON n = run WHERE runs.id = ?)`,
	}[table]
	result, err := db.ExecContext(tb.Context(), text, id)
	require.NoError(tb, err)
	deleted, err := result.RowsAffected()
	require.NoError(tb, err)
	require.EqualValues(tb, 1, deleted)
}

func TestRequirements(t *testing.T) {
	sample.Sequential(t) // with the race detector, on memory
	lifecycletest.Run(t, open)
}

func TestStories(t *testing.T) {
	stories.Run(t, func(tb testing.TB) stories.Opener {
		path := filepath.Join(tb.TempDir(), "runs.db")
		return func(tb testing.TB) store.Store { return at(tb, path) }
	})
}
