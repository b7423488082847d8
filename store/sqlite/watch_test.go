package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// Section F, F8: a watcher gets hints of the commits of other processes, also of those before
// its first poll.
func TestWatchReportsCommitsOfOtherProcess(t *testing.T) {
	path := closedFile(t)
	watching, err := sqlite.Open(t.Context(), path, sqlite.Options{WatchInterval: time.Millisecond})
	require.NoError(t, err)
	defer watching.Close()
	other, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer other.Close()
	hints := make(chan store.Hint, 1)
	stop := watching.Watch(func(h store.Hint) {
		select {
		case hints <- h:
		default:
		}
	})
	defer stop()
	next := newRun("r", 10)
	for range 5 {
		put(t, other, next)
		for heard := false; !heard; {
			select {
			case h := <-hints:
				require.Contains(t, []string{"", "r"}, h.RunID)
				r, err := watching.Run(t.Context(), "r")
				require.NoError(t, err)
				heard = r.Version == next.Run.Version
			case <-time.After(time.Minute):
				require.FailNow(t, "no hint came")
			}
		}
		next = report(next.Run)
	}
	stop()
	put(t, other, next)
}

// F8: a hint of another process's commit names the run that changed, so that followers of other
// runs do not read. A transaction that changes no run gives no hint. A poll that missed too much
// reports that anything may have changed.
func TestWatchNamesRunsOfOtherProcess(t *testing.T) {
	path := closedFile(t)
	watching, err := sqlite.Open(t.Context(), path, sqlite.Options{WatchInterval: time.Millisecond})
	require.NoError(t, err)
	defer watching.Close()
	other, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer other.Close()
	db := plain(t, path)
	hints := make(chan store.Hint, 100)
	defer watching.Watch(func(h store.Hint) { hints <- h })()
	next := func() store.Hint {
		t.Helper()
		select {
		case h := <-hints:
			return h
		case <-time.After(time.Minute):
			require.FailNow(t, "no hint came")
			return store.Hint{}
		}
	}
	require.Equal(t, store.Hint{}, next(), "what came before the first look cannot be known")

	require.NoError(t, other.Join(t.Context(), store.Node{ID: "n", Lease: time.Hour}, noon))
	_, err = other.Renew(t.Context(), "n", noon)
	require.NoError(t, err)
	first, second := newRun("first", 10), newRun("second\nline", 10)
	put(t, other, first, second)
	for _, c := range []store.Commit{first, second} {
		require.Equal(t, store.Hint{RunID: c.Run.ID, State: c.Run.State, Seq: c.Run.Seq}, next())
	}
	own := newRun("own", 10)
	put(t, watching, own)
	require.NotNil(t, next().Run, "one's own commits bring their record, once")
	told := report(first.Run)
	put(t, other, told)
	require.Equal(t, store.Hint{RunID: "first", State: told.Run.State, Seq: told.Run.Seq}, next())

	_, err = db.ExecContext(t.Context(), `UPDATE changes SET n = n + 5000`)
	require.NoError(t, err)
	require.Equal(t, store.Hint{}, next(), "some are gone")
	told = report(told.Run)
	put(t, other, told)
	require.Equal(t, "first", next().RunID)
	_, err = db.ExecContext(t.Context(), `INSERT INTO changes (writer, hints) VALUES ('x', 'damaged')`)
	require.NoError(t, err)
	require.Equal(t, store.Hint{}, next(), "what cannot be read is not passed over")
}

// The table of changes stays short, however many transactions there are.
func TestChangesTableIsBounded(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	watchFromOutside(t, db, time.Now().Add(time.Hour))
	next := newRun("r", 1)
	for range sqlite.KeptChanges + 3*sqlite.ChangesBetween {
		put(t, s, next)
		next = report(next.Run)
	}
	kept := number(t, db, `SELECT count(*) FROM changes`)
	require.GreaterOrEqual(t, kept, sqlite.KeptChanges)
	require.LessOrEqual(t, kept, sqlite.KeptChanges+sqlite.ChangesBetween)
}

// watchFromOutside registers a watcher until a time.
func watchFromOutside(t *testing.T, db *sql.DB, until time.Time) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `INSERT INTO watchers VALUES ('another', ?)`, until.UnixMicro())
	require.NoError(t, err)
}

// F8: changes are recorded for as long as another open store watches, and only then.
func TestChangesAreWrittenWhileAnotherStoreWatches(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	next := newRun("r", 1)
	changes := func() int {
		put(t, s, next)
		next = report(next.Run)
		return number(t, db, `SELECT count(*) FROM changes`)
	}
	watchers := func(n int) func() bool {
		return func() bool { return number(t, db, `SELECT count(*) FROM watchers`) == n }
	}
	require.Zero(t, changes())

	watching, err := sqlite.Open(t.Context(), path, sqlite.Options{WatchInterval: time.Millisecond})
	require.NoError(t, err)
	defer watching.Close()
	require.Zero(t, changes(), "it is open, and watches nothing")
	stop := watching.Watch(func(store.Hint) {})
	require.Eventually(t, watchers(1), time.Minute, time.Millisecond)
	require.Equal(t, 1, changes())
	put(t, watching, newRun("own", 1))
	require.Equal(t, 2, changes(), "its own are for nobody")
	stop()
	require.Eventually(t, watchers(0), time.Minute, time.Millisecond)
	require.Equal(t, 2, changes())

	defer watching.Watch(func(store.Hint) {})()
	require.Eventually(t, watchers(1), time.Minute, time.Millisecond)
	require.Equal(t, 3, changes(), "it watches again")
	require.NoError(t, watching.Close())
	require.True(t, watchers(0)(), "closed")
	require.Equal(t, 3, changes())
}

// F8: a killed watcher's row does not count after its time, and is removed by the next one. A
// watcher whose row is gone still detects changes.
func TestWatcherReplacesTheRowsOfDeadOnes(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	watchFromOutside(t, db, time.Now().Add(-time.Second))
	put(t, s, newRun("before", 1))
	require.Zero(t, number(t, db, `SELECT count(*) FROM changes`))

	watching, err := sqlite.Open(t.Context(), path, sqlite.Options{WatchInterval: time.Millisecond})
	require.NoError(t, err)
	defer watching.Close()
	hints := make(chan store.Hint, 100)
	defer watching.Watch(func(h store.Hint) { hints <- h })()
	next := func() store.Hint {
		select {
		case h := <-hints:
			return h
		case <-time.After(time.Minute):
			require.FailNow(t, "no hint came")
			return store.Hint{}
		}
	}
	require.Equal(t, store.Hint{}, next())
	require.Zero(t, number(t, db, `SELECT count(*) FROM watchers WHERE writer = 'another'`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM watchers`))

	_, err = db.ExecContext(t.Context(), `DELETE FROM watchers`)
	require.NoError(t, err)
	put(t, s, newRun("r", 1))
	require.Equal(t, store.Hint{}, next(), "nobody wrote down what changed")
	require.Eventually(t, func() bool { return number(t, db, `SELECT count(*) FROM watchers`) == 1 }, time.Minute,
		time.Millisecond)
}
