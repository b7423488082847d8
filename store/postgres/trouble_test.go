package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// A failed call reports its cause, and whether anything was written; stored data stays, and the
// store works again as soon as the server does.

// sentinels are the answers that promise that nothing was written.
var sentinels = []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrStaleEpoch,
	store.ErrUnknownPool, store.ErrInvalid, store.ErrClosed}

// requireFails: each writing call fails so, and none pretends to be refused.
func (w *world) requireFails(s store.Store, r store.Run, want error) {
	w.Helper()
	_, claiming := s.Claim(w.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})
	for name, err := range map[string]error{
		"submit":  w.try(s, created("new")),
		"report":  w.try(s, report(r)),
		"claim":   claiming,
		"prune":   second(s.Prune(w.Context(), noon, 10)),
		"join":    s.Join(w.Context(), store.Node{ID: "m", Lease: time.Hour}, noon),
		"renew":   second(s.Renew(w.Context(), "n", noon)),
		"expire":  second(s.Expire(w.Context(), noon, "nobody")),
		"setpool": s.SetPool(w.Context(), slots.Pool{Name: "p", Capacity: 2}),
	} {
		require.ErrorIs(w, err, want, name)
		for _, refusal := range sentinels {
			require.NotErrorIs(w, err, refusal, name)
		}
	}
}

func (w *world) requireReadOnly(s store.Store, r store.Run) {
	w.Helper()
	w.requireFails(s, r, postgres.ErrReadOnly)
	require.Equal(w, r, w.load(s, r.ID))
	_, err := s.Run(w.Context(), "new")
	require.ErrorIs(w, err, store.ErrNotFound)
}

// An operator sets the database to read-only, as before a switch to another one.
func TestCommitReportsReadOnlyDatabase(t *testing.T) {
	w := &world{t, pgtest.DSN(t), "interlude"}
	s := w.open(postgres.Options{})
	w.furnish(s)
	r := w.commit(s, created("r"))
	w.exec(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	w.requireReadOnly(w.open(postgres.Options{}), r)
	w.commit(s, report(r)) // its sessions began before
}

// A trigger raises the server's own error for a full disk.
func TestCommitReportsFullServer(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	r := w.commit(s, created("r"))
	w.exec(`CREATE FUNCTION interlude.full() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`)
	w.exec(`CREATE TRIGGER full_ BEFORE INSERT ON interlude.events EXECUTE FUNCTION interlude.full()`)
	errs := s.Commit(t.Context(), []store.Commit{report(r), created("new")})
	for _, err := range errs {
		require.ErrorIs(t, err, postgres.ErrFull)
		require.NotContains(t, err.Error(), "unknown")
	}
	_, err := s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})
	require.ErrorIs(t, err, postgres.ErrFull)
	require.Equal(t, r, w.load(s, "r"))
	w.exec(`DROP TRIGGER full_ ON interlude.events`)
	w.commit(s, created("new"))
	w.commit(s, report(r))
}

// A table is locked for longer than the role's statement timeout, which is shorter than
// Options.Timeout.
func TestReadReportsStatementTimeout(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	r := w.commit(s, created("r"))
	hurried := w.open(postgres.Options{NoListen: true, NoNotify: true}, "statement_timeout=50")
	tx, err := w.connect().Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(),
		w.inSchema(`LOCK TABLE interlude.states, interlude.nodes, interlude.pools IN ACCESS EXCLUSIVE MODE`))
	require.NoError(t, err)
	w.requireFails(hurried, r, postgres.ErrTimeout)
	require.ErrorIs(t, second(hurried.Run(t.Context(), "r")), postgres.ErrTimeout)
	require.NoError(t, tx.Rollback(t.Context()))
	w.commitInTime(hurried, s, "r")
}

// The host uses all connections of its pool: a call fails after Options.Timeout with an error
// that says that nothing was written.
func TestCallReportsExhaustedPool(t *testing.T) {
	w, other := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	r := w.commit(other, created("r"))
	pool, err := pgxpool.New(t.Context(), pgtest.With(w.dsn, "pool_max_conns=3"))
	require.NoError(t, err)
	defer pool.Close()
	s := openInTime(t, func() (*postgres.Store, error) {
		return postgres.New(t.Context(), pool, postgres.Options{Schema: w.schema, NoListen: true, NoNotify: true,
			Timeout: 300 * time.Millisecond})
	})
	defer s.Close()
	var taken []*pgxpool.Conn
	for range 3 {
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		defer conn.Release()
		taken = append(taken, conn)
	}
	w.requireFails(s, r, postgres.ErrTimeout)
	err = w.try(s, report(r))
	require.ErrorContains(t, err, "no connection of the pool came free")
	require.NotContains(t, err.Error(), "unknown")
	for _, conn := range taken {
		conn.Release()
	}
	w.commitInTime(s, other, "r")
}

// Other processes use all connections that the role may have.
func TestOpenReportsTooManyConnections(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	r := w.commit(s, created("r"))
	name, dsn := w.newRole("CONNECTION LIMIT 3")
	w.grant("interlude_node", name)
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	defer pool.Close()
	limited, err := postgres.New(t.Context(), pool, postgres.Options{Schema: w.schema, NoMigrate: true, NoListen: true,
		NoNotify: true})
	require.NoError(t, err)
	defer limited.Close()
	w.commit(limited, report(r))
	r = w.load(limited, "r")
	pool.Reset()
	var others []*pgx.Conn
	require.Eventually(t, func() bool { // the pool's sessions may take a moment to end
		conn, err := pgx.Connect(t.Context(), dsn)
		if err == nil {
			others = append(others, conn)
		}
		return len(others) == 3
	}, patience, time.Millisecond)
	w.requireFails(limited, r, postgres.ErrConnections)
	err = w.try(limited, report(r))
	require.NotContains(t, err.Error(), "unknown")
	for _, conn := range others {
		require.NoError(t, conn.Close(t.Context()))
	}
	require.Eventually(t, func() bool { return w.try(limited, report(r)) == nil }, patience, time.Millisecond)
}
