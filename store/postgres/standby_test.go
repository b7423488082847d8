//go:build unix

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/storetest"
)

// hasty has the server's answer given up soon: the tests wait for it. Calls that must succeed are
// repeated, or of a store that is quiet.
var hasty = postgres.Options{Timeout: 2 * time.Second, NoListen: true, NoNotify: true}

// replicated starts a primary whose commits wait for a standby.
func replicated(t *testing.T) (primary, standby *pglocal.Server) {
	t.Helper()
	small := pglocal.Options{Settings: map[string]string{"shared_buffers": "16MB"}}
	primary, err := pglocal.Start(t.Context(), small)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, primary.Stop()) })
	standby, err = primary.Standby(t.Context(), small)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop()) })
	conn, err := pgx.Connect(t.Context(), primary.DSN(""))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, sql := range []string{`ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&n)
		return err == nil && n == 1
	}, patience, 10*time.Millisecond)
	return primary, standby
}

func opened(t *testing.T, server *pglocal.Server, o postgres.Options) *postgres.Store {
	t.Helper()
	s := openInTime(t, func() (*postgres.Store, error) { return postgres.Open(t.Context(), server.DSN(""), o) })
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// J8, J9, on a real primary and a real synchronous standby.
func TestAcknowledgedCommitSurvivesFailover(t *testing.T) {
	t.Parallel()
	primary, standby := replicated(t)
	storetest.Replica{
		Store:   opened(t, primary, quiet),
		Hasty:   opened(t, primary, hasty),
		Cut:     func() { require.NoError(t, standby.Halt()) },
		Restore: func() { require.NoError(t, standby.Resume(t.Context())) },
		Promote: func() store.Store {
			require.NoError(t, primary.Kill())
			require.NoError(t, standby.Resume(t.Context()))
			require.NoError(t, standby.Promote(t.Context()))
			return opened(t, standby, quiet)
		},
	}.Run(t)
}

// R5: a commit that fails because no standby answers is visible until a failover undoes it. A reader
// that has read its event gets an error, before and after another event has its number.
func TestR5AReaderNoticesThatAFailoverUndidAnEvent(t *testing.T) {
	t.Parallel()
	primary, standby := replicated(t)
	ctx, s := t.Context(), opened(t, primary, quiet)
	require.NoError(t, s.SetPool(ctx, slots.Pool{Name: "p", Capacity: 1}))
	c, hurried := mustClient(t, s), mustClient(t, opened(t, primary, hasty))
	require.NoError(t, second(c.Submit(ctx, lifecycle.Spec{ID: "r", Pool: "p", Prompt: "go"})))
	require.NoError(t, standby.Halt())
	require.Eventually(t, func() bool { // on a busy machine the first call may end before its commit
		require.Error(t, hurried.Cancel(ctx, "r", ""))
		run, err := c.Get(ctx, "r")
		return err == nil && run.State.Terminal()
	}, patience, time.Millisecond)
	var seen lifecycle.Event
	for e, err := range c.Events(ctx, "r", 0) {
		require.NoError(t, err)
		seen = e
	}
	require.True(t, seen.Terminal(), "the canceled run")

	require.NoError(t, primary.Kill())
	require.NoError(t, standby.Resume(ctx))
	require.NoError(t, standby.Promote(ctx))
	c = mustClient(t, opened(t, standby, quiet))
	undone := func() {
		t.Helper()
		var failed error
		for _, failed = range c.EventsAfter(ctx, "r", seen.Cursor()) {
		}
		require.ErrorIs(t, failed, lifecycle.ErrCursorBeyondEnd)
	}
	undone()
	require.NoError(t, c.Cancel(ctx, "r", ""))
	undone()
	var again lifecycle.Event
	for e, err := range c.EventsAfter(ctx, "r", lifecycle.Cursor{}) {
		require.NoError(t, err)
		again = e
	}
	require.Equal(t, seen.Seq, again.Seq)
	require.NotEqual(t, seen.ID(), again.ID())
}

// J8: an administrator cancels the server's wait for the standby, which the server answers with
// success. Every write then has an unknown outcome. The same calls again, of people and in a
// host's transaction, are not acknowledged either, until the standby is back.
func TestCommitWithCanceledStandbyWaitFails(t *testing.T) {
	primary, standby := replicated(t)
	s := opened(t, primary, postgres.Options{NoListen: true, NoNotify: true})
	w := &world{t, primary.DSN(""), "interlude"}
	w.furnish(s)
	w.waiting(s, "r")
	first := report(w.waiting(s, "chain"))
	next := report(first.Run)
	person, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	require.NoError(t, err)
	defer person.Close()
	yes := interaction.Reply{ID: 1, Text: "yes", Key: "k"}
	admin := w.connect()
	pool, err := pgx.ParseConfig(primary.DSN(""))
	require.NoError(t, err)
	pool.OnNotice = postgres.OnNotice
	host, err := pgx.ConnectConfig(t.Context(), pool)
	require.NoError(t, err)
	defer host.Close(context.Background())

	require.NoError(t, standby.Halt())
	for _, call := range []struct { // in this order: a claim needs a queued reply
		name string
		do   func() error
	}{
		{"reply", func() error { return second(person.Reply(t.Context(), "r", yes)) }},
		{"submit", func() error { return w.try(s, created("new")) }},
		{"two commits of one run", func() error {
			errs := s.Commit(t.Context(), []store.Commit{first, next})
			require.ErrorIs(t, errs[1], postgres.ErrUnreplicated, "it is as unknown as the first one")
			return errs[0]
		}},
		{"claim", func() error {
			return second(s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Hinted: true,
				Start: start}))
		}},
		{"renew", func() error { return second(s.Renew(t.Context(), "n", noon)) }},
		{"setpool", func() error { return s.SetPool(t.Context(), slots.Pool{Name: "p", Capacity: 1000}) }},
		{"confirm", func() error { return s.Confirm(t.Context(), func(store.Reader) error { return nil }) }},
	} {
		w.requireCanceled(admin, call.name, call.do)
	}
	w.requireCanceled(admin, "reply again", func() error { return second(person.Reply(t.Context(), "r", yes)) })

	tx, err := host.Begin(t.Context())
	require.NoError(t, err)
	receipt, err := mustClient(t, s.In(tx)).Reply(t.Context(), "r", yes)
	require.NoError(t, err)
	require.True(t, receipt.Replayed)
	late, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Error(t, tx.Commit(late), "the host's commit waits, though it wrote nothing of its own")

	require.NoError(t, standby.Resume(t.Context()))
	require.Eventually(t, func() bool {
		receipt, err := person.Reply(t.Context(), "r", yes)
		return err == nil && receipt.Replayed
	}, patience, 10*time.Millisecond)
}

func mustClient(tb testing.TB, s store.Store) *lifecycle.Client {
	tb.Helper()
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	return c
}

// requireCanceled cancels whatever waits for the standby until the call has come back, which must
// not be acknowledged.
func (w *world) requireCanceled(admin *pgx.Conn, name string, call func() error) {
	w.Helper()
	back := make(chan error, 1)
	go func() { back <- call() }()
	for late := time.After(patience); ; {
		select {
		case err := <-back:
			require.ErrorIs(w, err, postgres.ErrUnreplicated, name)
			return
		case <-late:
			require.FailNow(w, "it does not come back", name)
		case <-time.After(time.Millisecond):
			_, err := admin.Exec(w.Context(),
				`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
			require.NoError(w, err)
		}
	}
}
