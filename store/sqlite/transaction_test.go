package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// hosts is a store, and a handle of the host for its file, with a table.
func hosts(t *testing.T) (*sqlite.Store, *sql.DB) {
	t.Helper()
	s, path := openMade(t, quick)
	db := handle(t, path)
	_, err := db.ExecContext(t.Context(), `CREATE TABLE own (word TEXT)`)
	require.NoError(t, err)
	return s, db
}

func handle(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// insert leaves a row of the host's.
func insert(t *testing.T, tx *sql.Tx) {
	t.Helper()
	_, err := tx.ExecContext(t.Context(), `INSERT INTO own VALUES ('x')`)
	require.NoError(t, err)
}

func rowsOf(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM own`).Scan(&n))
	return n
}

// in commits in a view.
func in(ctx context.Context, view any, c store.Commit) error {
	return view.(store.TransactionView).Commit(ctx, []store.Commit{c})[0]
}

var errUndo = errors.New("undone by the host")

// M1: the writes of host and store in one transaction are stored together, or not at all.
// Uncommitted writes leave nothing in the store's cache either, and give no hint.
func TestM1TheHostsTransactionIsStoredWholeOrNotAtAll(t *testing.T) {
	s, db := hosts(t)
	hints := make(chan store.Hint, 10)
	defer s.Watch(func(h store.Hint) { hints <- h })()
	transact := s.Transactions(db)
	made := newRun("r", 1)
	put(t, s, made)
	require.NotNil(t, (<-hints).Run)
	first, second := report(made.Run), report(report(made.Run).Run)

	require.ErrorIs(t, transact(t.Context(), func(tx *sql.Tx, view any) error {
		insert(t, tx)
		require.NoError(t, in(t.Context(), view, first))
		require.NoError(t, in(t.Context(), view, second), "a later one follows up on it")
		return errUndo
	}), errUndo)
	require.Zero(t, rowsOf(t, db))
	stored, err := s.Run(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, made.Run.Version, stored.Version)

	require.NoError(t, transact(t.Context(), func(tx *sql.Tx, view any) error {
		insert(t, tx)
		require.NoError(t, in(t.Context(), view, first))
		require.ErrorIs(t, in(t.Context(), view, first), store.ErrConflict, "a refusal leaves the rest as it is")
		return nil
	}))
	require.Equal(t, 1, rowsOf(t, db))
	require.Equal(t, store.Hint{RunID: "r", State: first.Run.State, Seq: first.Run.Seq}, <-hints)
	require.ErrorIs(t, commit(s, first), store.ErrConflict, "the cache does not hide it")
	put(t, s, second)
	require.Equal(t, second.Run.Version, (<-hints).Run.Version, "there was one hint")
}

// M1: a transaction in which the store cannot write is refused, and nothing of it stays.
func TestM1TransactionsOfTheHostThatAreRefused(t *testing.T) {
	s, db := hosts(t)
	made := newRun("r", 1)
	put(t, s, made)
	next := report(made.Run)
	other := handle(t, filepath.Join(t.TempDir(), "other.db"))
	_, err := other.ExecContext(t.Context(), `CREATE TABLE own (word TEXT)`)
	require.NoError(t, err)
	foreign := next
	foreign.Run.ID = "unknown"
	canceled, cancel := context.WithCancel(t.Context())
	ended, end := context.WithCancel(t.Context())
	end()
	for name, test := range map[string]struct {
		ctx  context.Context
		db   *sql.DB
		do   func(tx *sql.Tx, view any) error
		want string
	}{
		"one that the host has ended": {t.Context(), db, func(tx *sql.Tx, view any) error {
			require.NoError(t, tx.Rollback())
			return in(t.Context(), view, next) // which would be stored without the host's row
		}, "the transaction has ended before the store wrote in it"},
		"one of another file": {t.Context(), other, func(_ *sql.Tx, view any) error {
			return in(t.Context(), view, next)
		}, "no such table: runs"},
		"one of a run that is not there": {t.Context(), db, func(_ *sql.Tx, view any) error {
			return in(t.Context(), view, foreign)
		}, store.ErrNotFound.Error()},
		"one that is canceled before its commit": {canceled, db, func(_ *sql.Tx, view any) error {
			err := in(canceled, view, next)
			cancel()
			return err
		}, context.Canceled.Error()},
		"one whose context has ended before": {ended, db, func(*sql.Tx, any) error {
			return errors.New("it was begun")
		}, context.Canceled.Error()},
		"a commit that contradicts itself": {t.Context(), db, func(_ *sql.Tx, view any) error {
			return in(t.Context(), view, store.Commit{})
		}, store.ErrInvalid.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Transactions(test.db)(test.ctx, func(tx *sql.Tx, view any) error {
				insert(t, tx)
				return test.do(tx, view)
			})
			require.ErrorContains(t, err, test.want)
			require.Zero(t, rowsOf(t, test.db))
		})
	}
	require.Panics(t, func() {
		_ = s.Transactions(db)(t.Context(), func(tx *sql.Tx, _ any) error {
			insert(t, tx)
			panic("of the host")
		})
	})
	require.Zero(t, rowsOf(t, db), "and its connection is free")
	put(t, s, next)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Transactions(db)(t.Context(), func(_ *sql.Tx, view any) error {
		return in(t.Context(), view, report(next.Run))
	}), store.ErrClosed)
}
