package postgres_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// serverTime asks the server itself.
func (w *world) serverTime() (now time.Time) {
	w.Helper()
	require.NoError(w, w.connect().QueryRow(w.Context(), `SELECT clock_timestamp()`).Scan(&now))
	return now
}

// The server's clock judges leases: a node whose own clock is wrong by years neither lives
// longer nor ends others.
func TestServerClockDecidesLeases(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	const lease = time.Minute
	past, future := noon.AddDate(-20, 0, 0), noon.AddDate(20, 0, 0)
	require.NoError(t, s.Join(t.Context(), store.Node{ID: "behind", Lease: lease}, past))
	require.NoError(t, s.Join(t.Context(), store.Node{ID: "ahead", Lease: lease}, future))
	require.NoError(t, second(s.Renew(t.Context(), "behind", past)))
	gone, err := s.Expire(t.Context(), future)
	require.NoError(t, err)
	require.Empty(t, gone)
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 3)
	for _, n := range nodes {
		require.WithinDuration(t, w.serverTime().Add(n.Lease), n.Until, 10*time.Second, n.ID)
	}

	require.NoError(t, s.Join(t.Context(), store.Node{ID: "brief", Lease: time.Millisecond}, future))
	require.Eventually(t, func() bool {
		gone, err = s.Expire(t.Context(), past)
		return err == nil && len(gone) > 0
	}, patience, time.Millisecond)
	require.Equal(t, "brief", gone[0].ID)
	require.False(t, w.serverTime().Before(gone[0].Until))
	require.ErrorIs(t, second(s.Renew(t.Context(), "brief", future)), store.ErrStaleEpoch)
}

// All nodes take the time from the server.
func TestNowIsServersTimeOnEveryNode(t *testing.T) {
	w, a := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	b := w.open(postgres.Options{NoListen: true, NoNotify: true})
	before := w.serverTime()
	x, y := a.Now(), b.Now()
	after := w.serverTime()
	const doubt = 200 * time.Millisecond // of a look, on a busy machine
	for _, now := range []time.Time{x, y} {
		require.True(t, now.After(before.Add(-doubt)) && now.Before(after.Add(doubt)), "%s, %s, %s", before, now, after)
	}
}

// Every write of an expired node is refused (E4). Expire waits for the writes that are under
// way, so that none is stored afterwards.
func TestExpiredNodeCannotWrite(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	expire := func() error { // in vain
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- second(s.Expire(ctx, noon, "n")) }()
		require.Eventually(t, func() bool {
			return len(done) > 0 || w.sessions("wait_event_type = 'Lock'") > 0
		}, time.Minute, 5*time.Millisecond)
		cancel()
		err := <-done
		// The server hears of it a moment later; until then it would still be done, once the row is
		// free.
		require.Eventually(t, func() bool {
			return w.sessions("wait_event_type = 'Lock'") == 0
		}, time.Minute, 5*time.Millisecond)
		return err
	}
	w.commit(s, created("r"))
	var claimed []store.Claimed
	var canceled error
	require.NoError(t, inTime(func() (err error) {
		claimed, err = s.Claim(t.Context(), store.ClaimRequest{Node: "n", Now: noon, Max: 1, Hinted: true,
			Start: func(r store.Run, spec []byte) (store.Commit, error) {
				canceled = expire()
				return start(r, spec)
			}})
		if canceled == nil { // the server had ended the claim
			_ = s.Join(t.Context(), store.Node{ID: "n", Lease: time.Hour}, noon)
		}
		return err
	}))
	require.Len(t, claimed, 1)
	require.ErrorIs(t, canceled, context.Canceled, "while a claim of the node goes on")

	tx := w.beginTx(pgx.ReadCommitted)
	w.commit(s.In(tx), fenced(report(claimed[0].Run), "n"))
	require.ErrorIs(t, expire(), context.Canceled, "while a write of the node goes on")
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, second(s.Expire(t.Context(), noon, "n")))
	require.ErrorIs(t, w.try(s, fenced(report(w.load(s, "r")), "n")), store.ErrStaleEpoch)
}

// inTime repeats a claim or Confirm if the server has ended its transaction. The server does so after two
// idle seconds, which may pass on a busy machine.
func inTime(call func() error) (err error) {
	for begun := time.Now(); time.Since(begun) < patience; {
		if err = call(); !errors.Is(err, postgres.ErrTimeout) {
			break
		}
	}
	return err
}

// D5, A7: only one claim at a time counts the slots of a pool. Another claim waits, even for runs
// that are free, and counts the first one's starts.
func TestConcurrentClaimsKeepCapacity(t *testing.T) {
	w, a := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	b := w.open(postgres.Options{NoListen: true, NoNotify: true})
	require.NoError(t, a.SetPool(t.Context(), slots.Pool{Name: "p", Capacity: 1}))
	w.commit(a, created("first"))
	w.commit(a, created("second"))
	take := func(ctx context.Context, s *postgres.Store, starting func()) ([]store.Claimed, error) {
		return s.Claim(ctx, store.ClaimRequest{Node: "n", Now: noon, Max: 1, Hinted: true, Start: func(r store.Run,
			spec []byte) (store.Commit, error) {
			starting()
			return start(r, spec)
		}})
	}
	var claimed []store.Claimed
	var waited error
	require.NoError(t, inTime(func() (err error) {
		claimed, err = take(t.Context(), a, func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, waited = take(ctx, b, cancel) // which keeps it from starting the run
			require.Eventually(t, func() bool {
				return w.sessions("wait_event_type = 'Lock'") == 0
			}, time.Minute, 5*time.Millisecond)
		})
		return err
	}))
	require.Len(t, claimed, 1)
	require.ErrorIs(t, waited, context.DeadlineExceeded, "no slot is given twice")
	claimed, err := take(t.Context(), b, func() { t.Error("the slot is held") })
	require.NoError(t, err)
	require.Empty(t, claimed)
}

// R5: after the server was started or promoted, takeovers wait for another third of a lease: a new
// primary may lack the last renewals. Nodes that are known to be dead are removed at once, and so are
// nodes whose lease had ended long before.
func TestR5TakeoverWaitsAfterStartOrPromotion(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	for id, lease := range map[string]time.Duration{"started": 240 * time.Hour, "dead": 240 * time.Hour,
		"gone before": 240 * time.Hour, "promoted": 30 * time.Second, "brief": time.Microsecond} {
		require.NoError(t, s.Join(t.Context(), store.Node{ID: id, Lease: lease}, noon))
	}
	conn := w.connect()
	require.Eventually(t, func() bool { // for a server that this test has just started
		var long bool
		require.NoError(t, conn.QueryRow(t.Context(),
			`SELECT clock_timestamp() > pg_postmaster_start_time() + '10100ms'`).Scan(&long))
		return long
	}, patience, 10*time.Millisecond)
	expired := func(named ...string) (ids []string) {
		w.exec(`UPDATE interlude.nodes SET until = CASE WHEN id = 'gone before' THEN 0
			ELSE (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END WHERE id <> 'n'`)
		gone, err := s.Expire(t.Context(), noon, named...)
		require.NoError(t, err)
		for _, n := range gone {
			ids = append(ids, n.ID)
		}
		slices.Sort(ids)
		return ids
	}
	s.SeePromotion(-time.Second) // the server's clock is not known to the microsecond
	require.Equal(t, []string{"brief", "dead", "gone before"}, expired("dead"))
	s.SeePromotion(-11 * time.Second)
	require.Equal(t, []string{"promoted"}, expired())
	require.Empty(t, expired(), "a third of ten days has not passed since the server was started")
}
