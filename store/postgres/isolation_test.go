package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// At repeatable read, a host's transaction that finds that a run has changed since it began gets
// ErrSerialization.
func TestInUnderRepeatableRead(t *testing.T) {
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
			first := w.commit(s, created("r"))
			look := func() (pgx.Tx, store.Store) {
				tx := w.beginTx(level)
				in := s.In(tx)
				require.Equal(t, first, w.load(in, "r"))
				return tx, in
			}
			tx, in := look()
			w.commit(in, created("quiet"))
			w.commit(in, report(first))
			require.NoError(t, tx.Rollback(t.Context()))

			_, in = look()
			_, taken := look()
			second := w.commit(s, report(first))
			w.commit(s, created("new"))
			require.Equal(t, first, w.load(in, "r"), "the moment")
			require.ErrorIs(t, w.try(in, cancel(first)), postgres.ErrSerialization)
			require.ErrorIs(t, w.try(taken, created("new")), postgres.ErrSerialization)

			tx = w.beginTx(level)
			w.commit(s.In(tx), cancel(second))
			require.NoError(t, tx.Commit(t.Context()))
		})
	}
}

// Two transactions lock two runs in opposite order: the server ends either.
func TestDeadlockOfHostsTransactionsIsReported(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	x, y := w.commit(s, created("x")), w.commit(s, created("y"))
	one, other := w.beginTx(pgx.ReadCommitted), w.beginTx(pgx.ReadCommitted)
	w.commit(s.In(one), report(x))
	w.commit(s.In(other), report(y))
	late := make(chan error, 1)
	go func() {
		err := w.try(s.In(one), report(y))
		if err != nil {
			_ = one.Rollback(t.Context())
		} else {
			err = one.Commit(t.Context())
		}
		late <- err
	}()
	errs := []error{w.try(s.In(other), report(x))}
	if errs[0] != nil {
		require.NoError(t, other.Rollback(t.Context()))
	} else {
		require.NoError(t, other.Commit(t.Context()))
	}
	errs = append(errs, <-late)
	lost, won := 0, 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		require.ErrorIs(t, err, postgres.ErrSerialization)
		lost++
	}
	require.Equal(t, []int{1, 1}, []int{lost, won})
	require.EqualValues(t, 2, w.load(s, "x").Version)
	require.EqualValues(t, 2, w.load(s, "y").Version)
}

// The host's context, and not Options.Timeout, bounds a call in its transaction.
func TestHostsContextBoundsCallsOfIn(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true, Timeout: 10 * time.Second})
	tx := w.beginTx(pgx.ReadCommitted)
	held := w.holds(s, tx, 1)[0]
	other := w.beginTx(pgx.ReadCommitted)
	_, err := other.Exec(t.Context(), `SET LOCAL lock_timeout = '50ms'`)
	require.NoError(t, err)
	require.ErrorIs(t, w.try(s.In(other), cancel(held)), postgres.ErrTimeout)
}
