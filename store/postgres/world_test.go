package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// patience is how long a test waits for a server before it gives up.
const patience = 2 * time.Minute

// world is a schema of a test's own, and stores in it: nodes, as it were.
type world struct {
	testing.TB

	dsn, schema string
}

// newWorld makes the schema, with the pool "p" of many slots and the node "n", and opens a first
// store.
func newWorld(tb testing.TB, o postgres.Options) (*world, *postgres.Store) {
	tb.Helper()
	dsn, schema := pgtest.Schema(tb)
	w := &world{tb, dsn, schema}
	s := w.open(o)
	w.furnish(s)
	return w, s
}

// open opens another store.
func (w *world) open(o postgres.Options, settings ...string) *postgres.Store {
	w.Helper()
	o.Schema = w.schema
	s := openInTime(w, func() (*postgres.Store, error) {
		return postgres.Open(w.Context(), pgtest.With(w.dsn, settings...), o)
	})
	w.Cleanup(func() { require.NoError(w, s.Close()) })
	return s
}

// openInTime opens a store whose Options.Timeout is short for the test's sake: a busy machine may
// need longer than that, and more than one attempt.
func openInTime(tb testing.TB, open func() (*postgres.Store, error)) *postgres.Store {
	tb.Helper()
	for deadline := time.Now().Add(patience); ; {
		s, err := open()
		if errors.Is(err, postgres.ErrTimeout) && time.Now().Before(deadline) {
			continue
		}
		require.NoError(tb, err)
		return s
	}
}

// furnish makes the pool and the node.
func (w *world) furnish(s store.Store) {
	w.Helper()
	require.NoError(w, s.SetPool(w.Context(), slots.Pool{Name: "p", Capacity: 1000}))
	require.NoError(w, s.Join(w.Context(), store.Node{ID: "n", Lease: time.Hour}, noon))
}

// connect gives a connection of the host's own.
func (w *world) connect() *pgx.Conn {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.dsn)
	require.NoError(w, err)
	w.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// beginTx begins a transaction of the host's own; it is rolled back with the test unless it ended
// before.
func (w *world) beginTx(level pgx.TxIsoLevel) pgx.Tx {
	w.Helper()
	tx, err := w.connect().BeginTx(w.Context(), pgx.TxOptions{IsoLevel: level})
	require.NoError(w, err)
	w.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// exec executes a statement, in which interlude. is the schema.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	conn := w.connect()
	_, err := conn.Exec(w.Context(), w.inSchema(sql), args...)
	require.NoError(w, err)
	require.NoError(w, conn.Close(w.Context()))
}

func (w *world) inSchema(sql string) string {
	return strings.ReplaceAll(sql, "interlude.", w.quoted()+".")
}

// try stores one commit and returns its error.
func (w *world) try(s store.Store, c store.Commit) error {
	w.Helper()
	errs := s.Commit(w.Context(), []store.Commit{c})
	require.Len(w, errs, 1)
	return errs[0]
}

// commit stores one commit and returns the current record.
func (w *world) commit(s store.Store, c store.Commit) store.Run {
	w.Helper()
	require.NoError(w, w.try(s, c))
	return c.Run
}

// commitInTime stores a commit with a store whose Options.Timeout is short for the test's sake: a
// busy machine may need more than one attempt. direct is a store with a longer one.
func (w *world) commitInTime(s, direct store.Store, id string) {
	w.Helper()
	require.Eventually(w, func() bool {
		return w.try(s, report(w.load(direct, id))) == nil
	}, patience, time.Millisecond)
}

// running submits a run and starts it on node "n". No other is ready.
func (w *world) running(s store.Store, id string) store.Run {
	w.Helper()
	w.commit(s, created(id))
	claimed, err := s.Claim(w.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Start: start})
	require.NoError(w, err)
	require.Len(w, claimed, 1)
	require.Equal(w, id, claimed[0].Run.ID)
	return claimed[0].Run
}

// waiting is a run that waits for an answer.
func (w *world) waiting(s store.Store, id string) store.Run {
	w.Helper()
	return w.commit(s, ask(w.running(s, id)))
}

// load reads a run.
func (w *world) load(s store.Store, id string) store.Run {
	w.Helper()
	r, err := s.Run(w.Context(), id)
	require.NoError(w, err)
	return r
}

// hints collects a store's hints.
func hints(tb testing.TB, s store.Watcher) <-chan store.Hint {
	tb.Helper()
	heard := make(chan store.Hint, 1000)
	tb.Cleanup(s.Watch(func(h store.Hint) { heard <- h }))
	return heard
}

// until yields hints until the time is late.
func until(heard <-chan store.Hint, late <-chan time.Time) iter.Seq[store.Hint] {
	return func(yield func(store.Hint) bool) {
		for {
			select {
			case h := <-heard:
				if !yield(h) {
					return
				}
			case <-late:
				return
			}
		}
	}
}

// hear waits for a hint of the run. A listener that had to reconnect has lost the hints in between,
// and its store gives the zero hint instead: anything may have changed, including this run. On a
// busy machine that can happen at any time, so the zero hint is accepted too.
func (w *world) hear(heard <-chan store.Hint, id string) store.Hint {
	w.Helper()
	for h := range until(heard, time.After(patience)) {
		if h.RunID == id || h.RunID == "" {
			return h
		}
	}
	require.FailNow(w, "no hint came of "+id)
	return store.Hint{}
}

// mark commits a run that nobody knows, and returns its id.
func (w *world) mark(s store.Store) string {
	w.Helper()
	return w.commit(s, created("mark-"+rand.Text())).ID
}

// hearsOf waits until a commit of s is announced there, after all earlier hints.
func (w *world) hearsOf(s store.Store, there <-chan store.Hint) {
	w.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); {
		marker := w.mark(s)
		for h := range until(there, time.After(time.Second)) { // a hint from before the listener started
			// is lost
			if h.RunID == marker {
				return
			}
		}
	}
	require.FailNow(w, "nobody listens")
}

// quoted is the schema's name in SQL.
func (w *world) quoted() string { return pgx.Identifier{w.schema}.Sanitize() }

// newRole makes a role without rights.
func (w *world) newRole(attributes string) (name, dsn string) {
	w.Helper()
	name = "role_" + strings.ToLower(rand.Text())
	admin := w.dsn
	w.exec(`CREATE ROLE ` + name + ` LOGIN PASSWORD 'pw' ` + attributes)
	w.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), admin)
		require.NoError(w, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), `DROP OWNED BY `+name+`; DROP ROLE `+name)
		require.NoError(w, err)
	})
	u, err := url.Parse(w.dsn)
	if err != nil || u.Scheme == "" {
		return name, pgtest.With(w.dsn, "user="+name, "password=pw")
	}
	u.User = url.UserPassword(name, "pw")
	return name, u.String()
}
