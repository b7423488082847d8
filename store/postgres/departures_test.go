package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// J7, E6, E8: a reply is in progress, in a transaction of the host, when the node that parked its
// run goes. Until that transaction ends, no run of this node is read as recovered, since the reply
// would store its run as never recovered. Then the others are recovered as of the time at which the
// node went, by any node; another node's runs are not delayed.
func TestAReplyUnderWayPostponesTheDeparture(t *testing.T) {
	for name, end := range map[string]func(*world, pgx.Tx, *postgres.Store) store.RecoveryState{
		"it is stored": func(w *world, tx pgx.Tx, s *postgres.Store) store.RecoveryState {
			require.NoError(w, tx.Commit(w.Context()))
			require.EqualValues(w, 4, w.load(s, "replied").Version)
			return store.RecoveryNone
		},
		"it is taken back": func(w *world, tx pgx.Tx, _ *postgres.Store) store.RecoveryState {
			require.NoError(w, tx.Rollback(w.Context()))
			return store.RecoveredWaiting
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
			replied, parked := w.waiting(s, "replied"), w.waiting(s, "parked")
			require.NoError(t, s.Join(t.Context(), store.Node{ID: "other", Lease: time.Hour}, noon))
			tx := w.beginTx(pgx.ReadCommitted)
			w.commit(s.In(tx), answer(replied, "k"))

			at := noon.Add(time.Minute)
			gone, err := s.Expire(t.Context(), at, "n")
			require.NoError(t, err)
			require.Len(t, gone, 1, "its leases are free at once")
			for _, id := range []string{"replied", "parked"} {
				require.Equal(t, store.RecoveryNone, w.load(s, id).Recovery)
			}
			_, err = s.Expire(t.Context(), at.Add(time.Hour))
			require.NoError(t, err)
			departed, err := s.Departures(t.Context())
			require.NoError(t, err)
			require.Empty(t, departed)

			want := end(w, tx, s)
			require.Eventually(t, func() bool { return w.load(s, "parked").Recovery == store.RecoveredWaiting },
				patience, time.Millisecond)
			require.Equal(t, at, w.load(s, "parked").RecoveredAt)
			require.Equal(t, want, w.load(s, "replied").Recovery)
			require.ErrorIs(t, w.try(s, answer(parked, "k")), store.ErrConflict, "decided on what was")
			w.commit(s, answer(w.load(s, "parked"), "k"))
			require.Equal(t, at, w.load(s, "parked").RecoveredAt)
		})
	}
}

// J7, E8: a departure is in progress when a reply comes, in a separate call or in a transaction of
// the host: the reply waits for it, and is decided again on the new state.
func TestAReplyWaitsForADepartureUnderWay(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	replied, hosts := w.waiting(s, "replied"), w.waiting(s, "hosts")
	departure := w.beginTx(pgx.ReadCommitted)
	_, err := departure.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`,
		"interlude parker in "+w.schema+": n")
	require.NoError(t, err)
	at := noon.Add(time.Minute)
	_, err = departure.Exec(t.Context(), w.inSchema(`INSERT INTO interlude.departed (id, at) VALUES ('n', $1)`),
		at.UnixMicro())
	require.NoError(t, err)
	results := make(chan error, 2)
	go func() { results <- w.try(s, answer(replied, "k")) }()
	tx := w.beginTx(pgx.ReadCommitted)
	go func() { results <- w.try(s.In(tx), answer(hosts, "k")) }()
	require.Eventually(t, func() bool {
		return w.sessions(`wait_event = 'advisory' AND query LIKE '%pg_advisory_xact_lock_shared%'`) == 2
	}, patience, time.Millisecond)
	require.NoError(t, departure.Commit(t.Context()))
	for range 2 {
		require.ErrorIs(t, <-results, store.ErrConflict)
	}
	w.commit(s.In(tx), answer(w.load(s, "hosts"), "k"))
	require.NoError(t, tx.Commit(t.Context()))
	w.commit(s, answer(w.load(s, "replied"), "k"))
	for _, id := range []string{"replied", "hosts"} {
		require.Equal(t, at, w.load(s, id).RecoveredAt)
	}
}
