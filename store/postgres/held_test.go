package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// holds submits runs and has a transaction of the host's own hold them.
func (w *world) holds(s *postgres.Store, tx pgx.Tx, n int) []store.Run {
	w.Helper()
	runs := make([]store.Run, n)
	for i := range runs {
		runs[i] = w.commit(s, created(fmt.Sprintf("held-%d", i)))
		w.commit(s.In(tx), report(runs[i]))
	}
	return runs
}

// A long transaction locks runs, and more commits wait for them than there are connections. The
// commits, reads and claims of other runs continue.
func TestLockedRunDelaysNoOtherCommit(t *testing.T) {
	for name, end := range map[string]func(pgx.Tx, context.Context) error{"commits": pgx.Tx.Commit,
		"rolls back": pgx.Tx.Rollback} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
			s := w.open(postgres.Options{NoListen: true, NoNotify: true, Timeout: 2 * patience}, "pool_max_conns=6")
			tx := w.beginTx(pgx.ReadCommitted)
			const runs, waiting = 8, 5
			held := w.holds(s, tx, runs)
			var waiters sync.WaitGroup
			results := make(chan error, runs*waiting)
			for _, r := range held {
				for range waiting {
					waiters.Go(func() { results <- w.try(s, cancel(r)) })
				}
			}
			began := time.Now()
			for i := range 20 {
				id := fmt.Sprintf("free-%d", i)
				r := w.commit(s, report(w.commit(s, created(id))))
				require.Equal(t, r, w.load(s, id))
			}
			claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: store.MaxBatch,
				Start: start})
			require.NoError(t, err)
			require.Len(t, claimed, 20, "those that are held are passed over")
			require.Less(t, time.Since(began), patience)
			require.Empty(t, results, "those who want a held run wait")

			require.NoError(t, end(tx, t.Context()))
			waiters.Wait()
			close(results)
			stored := 0
			for err := range results {
				if err == nil {
					stored++
				} else {
					require.ErrorIs(t, err, store.ErrConflict)
				}
			}
			if name == "commits" {
				require.Zero(t, stored)
			} else {
				require.Equal(t, runs, stored, "one for each run")
			}
		})
	}
}

// A commit that waits for a locked run longer than Options.Timeout returns an error that says
// that nothing was written; nothing is written later.
func TestCommitOfLockedRunTimesOut(t *testing.T) {
	w, direct := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	s := w.open(postgres.Options{NoListen: true, NoNotify: true, Timeout: time.Second})
	tx := w.beginTx(pgx.ReadCommitted)
	held := w.holds(direct, tx, 1)[0]
	require.Eventually(t, func() bool { // on a busy machine the outcome of the first calls may be unknown
		err := w.try(s, cancel(held))
		require.ErrorIs(t, err, postgres.ErrTimeout)
		return !strings.Contains(err.Error(), "unknown")
	}, patience, time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	w.commitInTime(s, direct, held.ID)
	require.Eventually(t, func() bool {
		return w.sessions("state <> 'idle' AND pid <> pg_backend_pid() AND query NOT LIKE '%pg_stat_activity%'") == 0
	}, patience, time.Millisecond, "nobody waits any more")
}

// sessions counts the database's sessions that match the condition on pg_stat_activity.
func (w *world) sessions(condition string) (n int) {
	w.Helper()
	err := w.connect().QueryRow(w.Context(),
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
			AND `+condition).Scan(&n)
	require.NoError(w, err)
	return n
}

// Entries of one batch follow up on each other, whether or not a transaction locks the run.
func TestCommitsOfLockedRunKeepOrder(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	tx := w.beginTx(pgx.ReadCommitted)
	held := w.holds(s, tx, 1)[0]
	first := report(held)
	second := report(first.Run)
	third := cancel(second.Run)
	done := make(chan []error, 1)
	go func() { done <- s.Commit(t.Context(), []store.Commit{first, created("other"), second, third}) }()
	require.Eventually(t, func() bool {
		_, err := s.Run(t.Context(), "other")
		return err == nil
	}, patience, time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, errors.Join(<-done...))
	require.Equal(t, third.Run, w.load(s, held.ID))
}

// C8: of two concurrent submissions of one id, including one inside an open transaction, exactly
// one is stored.
func TestConcurrentCreateOfOneIDStoresOne(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(pgx.Tx, context.Context) error
		want error
	}{"the transaction commits": {pgx.Tx.Commit, store.ErrExists}, "the transaction rolls back": {pgx.Tx.Rollback,
		nil}} {
		t.Run(name, func(t *testing.T) {
			w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
			other := w.open(postgres.Options{NoListen: true, NoNotify: true})
			tx := w.beginTx(pgx.ReadCommitted)
			inside := created("same")
			inside.Spec = []byte(`"inside"`)
			w.commit(s.In(tx), inside)
			outside := make(chan error, 3)
			for _, place := range []*postgres.Store{s, other} {
				go func() { outside <- w.try(place, created("same")) }()
			}
			for i := range 5 {
				w.commit(s, created(fmt.Sprintf("free-%d", i)))
			}
			require.Empty(t, outside)
			require.NoError(t, c.end(tx, t.Context()))
			errs := []error{<-outside, <-outside}
			spec, err := s.Spec(t.Context(), "same")
			require.NoError(t, err)
			if c.want != nil {
				require.ErrorIs(t, errs[0], c.want)
				require.ErrorIs(t, errs[1], c.want)
				require.Equal(t, inside.Spec, spec)
				return
			}
			if errs[0] != nil {
				errs[0], errs[1] = errs[1], errs[0]
			}
			require.NoError(t, errs[0])
			require.ErrorIs(t, errs[1], store.ErrExists)
			require.Equal(t, created("same").Spec, spec)
		})
	}
}
