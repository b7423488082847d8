package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// orders makes a table of the host's own.
func (w *world) orders() {
	w.Helper()
	w.exec(`CREATE TABLE interlude.orders (run text PRIMARY KEY)`)
}

// order writes a row of the host's own.
func (w *world) order(tx pgx.Tx, run string) {
	w.Helper()
	_, err := tx.Exec(w.Context(), w.inSchema(`INSERT INTO interlude.orders VALUES ($1)`), run)
	require.NoError(w, err)
}

// ordered reports whether the host's row is there.
func (w *world) ordered(run string) (is bool) {
	w.Helper()
	conn := w.connect()
	require.NoError(w, conn.QueryRow(w.Context(),
		w.inSchema(`SELECT EXISTS (SELECT FROM interlude.orders WHERE run = $1)`), run).Scan(&is))
	return is
}

// requireSilence requires that a transaction which has written a run has given no hint. The nodes
// get the hint of another run's later commit first. That hint may be lost while a listener
// reconnects, as the zero hint says: then another commit follows.
func (w *world) requireSilence(a *postgres.Store, silent string, heard ...<-chan store.Hint) {
	w.Helper()
	for _, hints := range heard {
		marker, found := w.mark(a), false
		for h := range until(hints, time.After(patience)) {
			require.NotEqual(w, silent, h.RunID, "told before its commit: %+v", h)
			if h.RunID == "" {
				marker = w.mark(a)
			}
			if found = h.RunID == marker; found {
				break
			}
		}
		require.True(w, found, "nobody listens")
	}
}

// C8: commits in a host's transaction are stored with the host's row when the host commits, and
// all nodes get hints. When the host rolls back, neither is stored, no node gets a hint, and the
// cache is unchanged.
func TestInCommitsWithHostsTransaction(t *testing.T) {
	for name, c := range map[string]struct {
		// the run when the transaction begins; Version 0: absent
		before func(w *world, s *postgres.Store) store.Run
		change func(prev store.Run) store.Commit
	}{
		"submit": {func(*world, *postgres.Store) store.Run {
			return store.Run{}
		}, func(store.Run) store.Commit { return created("r") }},
		"reply": {func(w *world, s *postgres.Store) store.Run { return w.waiting(s, "r") },
			func(prev store.Run) store.Commit { return answer(prev, "key") }},
		"cancel": {func(w *world, s *postgres.Store) store.Run { return w.commit(s, created("r")) }, cancel},
	} {
		t.Run(name, func(t *testing.T) {
			w, a := newWorld(t, postgres.Options{})
			b := w.open(postgres.Options{})
			w.orders()
			prev := c.before(w, a)
			next := c.change(prev)
			onA, onB := hints(t, a), hints(t, b)
			w.hearsOf(a, onA)
			w.hearsOf(a, onB)

			rolledBack := w.beginTx(pgx.ReadCommitted)
			w.order(rolledBack, "r")
			in := a.In(rolledBack)
			w.commit(in, next)
			require.Equal(t, next.Run, w.load(in, "r"), "the transaction sees it")
			w.requireStands(a, prev)
			w.requireStands(b, prev)
			require.NoError(t, rolledBack.Rollback(t.Context()))
			w.requireSilence(a, "r", onA, onB)
			w.requireStands(a, prev)
			require.False(t, w.ordered("r"))

			pool, refused := w.hostPool(), errors.New("no")
			require.ErrorIs(t, a.Transact(t.Context(), pool, func(tx pgx.Tx, in store.Store) error {
				w.order(tx, "r")
				w.commit(in, next)
				return refused
			}), refused)
			w.requireSilence(a, "r", onA, onB)
			require.False(t, w.ordered("r"))
			require.NoError(t, a.Transact(t.Context(), pool, func(tx pgx.Tx, in store.Store) error {
				w.order(tx, "r")
				w.commit(in, next)
				w.requireSilence(a, "r", onA, onB)
				w.requireStands(b, prev)
				return nil
			}))
			for _, heard := range []<-chan store.Hint{onA, onB} {
				if h := w.hear(heard, "r"); h.RunID != "" {
					h.Events, h.Run = nil, nil
					require.Equal(t, store.Hint{RunID: "r", State: next.Run.State, Seq: next.Run.Seq}, h)
				}
			}
			require.True(t, w.ordered("r"))
			w.requireStands(a, next.Run)
			w.requireStands(b, next.Run)
			if next.Settled != nil {
				settled, err := b.Settled(t.Context(), "r", "key")
				require.NoError(t, err)
				require.Equal(t, "yes", settled.Response)
			}
			if !next.Run.State.Terminal() {
				w.commit(b, cancel(next.Run))
			}
		})
	}
}

// hostPool is a pool of the host's own.
func (w *world) hostPool() *pgxpool.Pool {
	w.Helper()
	pool, err := pgxpool.New(w.Context(), w.dsn)
	require.NoError(w, err)
	w.Cleanup(pool.Close)
	return pool
}

// R4: a transaction of the host's that is not Transact has no statement that notifies, which would
// lock the server until its commit is durable; its commits are noticed at the next poll.
func TestHostsTransactionSendsNoHints(t *testing.T) {
	w, a := newWorld(t, postgres.Options{})
	heard := hints(t, w.open(postgres.Options{}))
	w.hearsOf(a, heard)
	tx := w.beginTx(pgx.ReadCommitted)
	w.commit(a.In(tx), created("r"))
	require.NoError(t, tx.Commit(t.Context()))
	w.requireSilence(a, "r", heard)
	require.Equal(t, uint64(1), w.load(a, "r").Version)
}

// requireStands: this is the run's current record, on which the next commit is based.
func (w *world) requireStands(s store.Store, want store.Run) {
	w.Helper()
	got, err := s.Run(w.Context(), "r")
	if want.Version == 0 {
		require.ErrorIs(w, err, store.ErrNotFound)
		return
	}
	require.NoError(w, err)
	require.Equal(w, want, got)
	events, err := s.Events(w.Context(), "r", 0, 100)
	require.NoError(w, err)
	require.Len(w, events, int(want.Seq))
}

// A version that was rolled back may be written again with other content: the cache has nothing
// that the transaction read or wrote.
func TestRollbackLeavesNothingInCache(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	first := w.commit(s, created("r"))
	tx := w.beginTx(pgx.ReadCommitted)
	in := s.In(tx)
	w.commit(in, cancel(first))
	w.load(in, "r")
	_, _, err := store.ReadHistory(t.Context(), in, "r")
	require.NoError(t, err)
	w.commit(in, created("new"))
	require.NoError(t, tx.Rollback(t.Context()))

	second := w.commit(s, step(first, func(r *store.Run) { r.CancelReason = "another one" }))
	w.commit(s, report(second))
	other := created("new")
	other.Run.Labels = map[string]string{"made": "later"}
	made := w.commit(s, other)
	w.commit(s, report(made))
	require.Equal(t, map[string]string{"made": "later"}, w.load(s, "new").Labels)
}

// A cached run does not hide the commit of a host's transaction.
func TestHostsCommitReplacesCachedRun(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	first := w.commit(s, created("r"))
	tx := w.beginTx(pgx.ReadCommitted)
	second := w.commit(s.In(tx), report(first))
	require.NoError(t, tx.Commit(t.Context()))
	require.ErrorIs(t, w.try(s, cancel(first)), store.ErrConflict)
	w.commit(s, report(second))
}

// A refused commit leaves the transaction usable, with everything that was written before.
func TestRefusedCommitLeavesTransactionUsable(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	w.orders()
	run := w.running(s, "run")
	was := run
	run = w.commit(s, report(run))
	taken := w.commit(s, answer(w.commit(s, ask(w.running(s, "taken"))), "key"))
	claimed, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})
	require.NoError(t, err)
	asked := w.commit(s, ask(claimed[0].Run))
	require.Equal(t, taken.ID, asked.ID)

	tx := w.beginTx(pgx.ReadCommitted)
	in := s.In(tx)
	w.order(tx, "first")
	w.commit(in, created("own"))
	elsewhere, invalid, other := created("elsewhere"), report(run), report(run)
	elsewhere.Run.Pool = "unknown"
	invalid.Run.Pool = "other"
	other.Run.ID = "no such run"
	stale := fenced(report(run), "n")
	stale.Fence.Epoch++
	strange := fenced(report(run), "node \x00")
	for name, c := range map[string]struct {
		commit store.Commit
		want   error
	}{
		"of an earlier version":             {report(was), store.ErrConflict},
		"an id that is there":               {created("run"), store.ErrExists},
		"an id of the same transaction":     {created("own"), store.ErrExists},
		"a worker that lost its lease":      {stale, store.ErrStaleEpoch},
		"a worker whose node cannot be one": {strange, store.ErrStaleEpoch},
		"a pool that nobody configured":     {elsewhere, store.ErrUnknownPool},
		"a run that is not there":           {other, store.ErrNotFound},
		"a change of what is fixed":         {invalid, store.ErrInvalid},
		"an idempotency key that is taken":  {answer(asked, "key"), store.ErrInvalid},
		"an id that no text can hold":       {created("a\x00b"), store.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, w.try(in, c.commit), c.want)
			w.load(in, "own")
		})
	}
	for name, err := range map[string]error{
		"Run":    second(in.Run(t.Context(), "nobody")),
		"Spec":   second(in.Spec(t.Context(), "nobody")),
		"Events": second(in.Events(t.Context(), "no\x00body", 0, 1)),
	} {
		require.ErrorIs(t, err, store.ErrNotFound, name)
	}
	errs := in.Commit(t.Context(), []store.Commit{report(run), created("own"), created("batch"),
		report(created("batch").Run)})
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], store.ErrExists)
	require.NoError(t, errs[2])
	require.NoError(t, errs[3], "it follows up on an earlier one")
	w.order(tx, "last")
	require.NoError(t, tx.Commit(t.Context()))
	require.True(t, w.ordered("first") && w.ordered("last"))
	require.EqualValues(t, 2, w.load(s, "batch").Version)
	require.Equal(t, run.Version+1, w.load(s, "run").Version)
}

func second[T any](_ T, err error) error { return err }

// The store that In returns refuses the calls that need a separate transaction: claims, leases,
// pruning and pools.
func TestInRefusesCallsOutsideTransactions(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	tx := w.beginTx(pgx.ReadCommitted)
	in := s.In(tx)
	for name, err := range map[string]error{
		"Claim":      second(in.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})),
		"Prune":      second(in.Prune(t.Context(), noon, 1)),
		"Join":       in.Join(t.Context(), store.Node{ID: "x", Lease: time.Hour}, noon),
		"Renew":      second(in.Renew(t.Context(), "n", noon)),
		"Expire":     second(in.Expire(t.Context(), noon)),
		"SetPool":    in.SetPool(t.Context(), slots.Pool{Name: "q", Capacity: 1}),
		"ChangePool": in.ChangePool(t.Context(), slots.Pool{}, slots.Pool{Name: "q", Capacity: 1}),
	} {
		require.ErrorIs(t, err, postgres.ErrInTransaction, name)
	}
	require.NoError(t, in.Close())
	w.commit(in, created("r"))
	require.NoError(t, tx.Commit(t.Context()))
	w.load(s, "r")
}

// A closed store answers ErrClosed inside a transaction too. The transaction stays the host's.
func TestInAnswersErrClosedAfterClose(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	w.orders()
	tx := w.beginTx(pgx.ReadCommitted)
	in := s.In(tx)
	require.NoError(t, s.Close())
	require.ErrorIs(t, w.try(in, created("r")), store.ErrClosed)
	require.ErrorIs(t, second(in.Run(t.Context(), "r")), store.ErrClosed)
	w.order(tx, "r")
	require.NoError(t, tx.Commit(t.Context()))
}

// F8: a run of many events, with all kinds of text, is the same in whichever transaction it was
// written.
func TestInWritesWholeRuns(t *testing.T) {
	w, s := newWorld(t, postgres.Options{})
	c := created("r")
	c.Run.Key = "key \x00"
	c.Run.Labels = map[string]string{"a \x00": `"\'`}
	for i := range 1000 {
		c.Run.Seq++
		c.Events = append(c.Events, store.Event{Seq: c.Run.Seq, Body: fmt.Appendf(nil, `{"n":%d,"text":%q}`, i,
			strings.Repeat("é", 300))})
	}
	tx := w.beginTx(pgx.ReadCommitted)
	w.commit(s.In(tx), c)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, c.Run, w.load(s, "r"))
	var events []store.Event
	for len(events) < len(c.Events) {
		some, err := s.Events(t.Context(), "r", uint64(len(events)), 1000)
		require.NoError(t, err)
		require.NotEmpty(t, some)
		events = append(events, some...)
	}
	require.Equal(t, c.Events, events)
}
