package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// TestFeedPassesNothingOver: K8, writers of three nodes commit in flushes and in transactions of
// the host, which stay open for random times, at every isolation, and are rolled back at random;
// connections are killed, including the reader's. Readers come one after the other, some without
// acknowledging. Everything stored in the end was in the feed, and the events of each run in order.
func TestFeedPassesNothingOver(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	name := "application_name=" + w.schema
	stores := []*postgres.Store{s}
	for range 2 {
		stores = append(stores, w.open(postgres.Options{NoListen: true, NoNotify: true}, name))
	}
	config, err := pgxpool.ParseConfig(pgtest.With(w.dsn, name))
	require.NoError(t, err)
	host, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer host.Close()
	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))

	const writers, commits = 8, 40
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			n := &feedWriter{TB: t, host: host, random: rand.New(rand.NewPCG(uint64(i), 1))}
			for k := range commits {
				n.node = stores[n.random.IntN(len(stores))]
				n.write(t.Context(), fmt.Sprintf("r%d-%d", i/4, k/8)) // four write to one run
			}
		})
	}
	var done atomic.Bool
	killer := w.connect()
	var others sync.WaitGroup
	others.Go(func() {
		group.Wait()
		done.Store(true)
	})
	others.Go(func() {
		for !done.Load() {
			pause(40 * time.Millisecond)
			_, _ = killer.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = $1 ORDER BY random() LIMIT 1`, w.schema)
		}
	})

	seen := make(map[string]uint64) // the last event of each run, of all readers
	random := rand.New(rand.NewPCG(writers, 1))
	for end := false; !end; {
		end = done.Load() // a reader that began after the last commit reads to the end
		readFeedOnce(t, stores[random.IntN(len(stores))], random, end, seen)
	}
	others.Wait()
	page, err := s.Runs(t.Context(), store.Query{Limit: 1000})
	require.NoError(t, err)
	require.NotEmpty(t, page.Runs)
	for _, r := range page.Runs {
		require.Equal(t, r.Seq, seen[r.ID], "of run %s", r.ID)
		delete(seen, r.ID)
	}
	require.Empty(t, seen, "what was rolled back is in no feed")
	feeds, err := s.Feeds(t.Context())
	require.NoError(t, err)
	require.Zero(t, feeds[0].Unacked)
	var left int
	require.NoError(t, w.connect().QueryRow(t.Context(), w.inSchema(`SELECT count(*) FROM interlude.feed`)).Scan(&left))
	require.Zero(t, left, "what is acknowledged is deleted")
}

// feedWriter commits to runs, in ways that it chooses at random.
type feedWriter struct {
	testing.TB

	node   *postgres.Store
	host   *pgxpool.Pool
	random *rand.Rand
}

// write creates the run, or adds an event to it. Its failures and unknown outcomes are the subject
// of the test.
func (n *feedWriter) write(ctx context.Context, id string) {
	if n.random.IntN(3) > 0 {
		n.commit(ctx, n.node, id)
		return
	}
	levels := []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable}
	tx, err := n.host.BeginTx(ctx, pgx.TxOptions{IsoLevel: levels[n.random.IntN(len(levels))]})
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if n.random.IntN(2) == 0 { // as a transaction that has written rows of the host's before
		_, _ = tx.Exec(ctx, `SELECT pg_current_xact_id()`)
	}
	n.pause()
	in := n.node.In(tx)
	if n.commit(ctx, in, id) {
		n.commit(ctx, in, id)
		n.pause()
		if n.random.IntN(4) > 0 {
			_ = tx.Commit(ctx)
		}
	}
}

func (n *feedWriter) pause() { pause(time.Duration(n.random.IntN(30)) * time.Millisecond) }

// pause lets transactions stay open, and polls, on a real server. No outcome depends on its length.
func pause(d time.Duration) { <-time.After(d) }

// commit reports whether it was stored.
func (n *feedWriter) commit(ctx context.Context, in store.Store, id string) bool {
	r, err := in.Run(ctx, id)
	c := report(r)
	if errors.Is(err, store.ErrNotFound) {
		c, err = created(id), nil
	}
	return err == nil && in.Commit(ctx, []store.Commit{c})[0] == nil
}

// readFeedOnce reads as one reader does: for some pages, or to the end if toEnd is set. It may be
// killed at any moment, and may end without acknowledging.
func readFeedOnce(tb testing.TB, s *postgres.Store, random *rand.Rand, toEnd bool, seen map[string]uint64) {
	tb.Helper()
	ctx := tb.Context()
	l, free, err := s.LeaseFeed(ctx, "all", time.Millisecond, time.Time{})
	for ; toEnd && (err != nil || !free); pause(time.Millisecond) {
		l, free, err = s.LeaseFeed(ctx, "all", time.Millisecond, time.Time{})
	}
	if err != nil || !free {
		return
	}
	at := l.Cursor
	own := make(map[string]uint64)
	for n := random.IntN(20); toEnd || n > 0; n-- {
		page, err := s.ReadFeed(ctx, l, at, 1+random.IntN(9))
		if err != nil && toEnd {
			continue
		}
		if err != nil {
			return
		}
		for _, c := range page.Commits {
			for _, e := range c.Events {
				if last, again := own[c.RunID]; again {
					require.Equal(tb, last+1, e.Seq, "of run %s, to one reader", c.RunID)
				}
				require.LessOrEqual(tb, e.Seq, seen[c.RunID]+1, "an event of run %s was passed over", c.RunID)
				own[c.RunID], seen[c.RunID] = e.Seq, max(seen[c.RunID], e.Seq)
			}
			at = c.Position
		}
		if toEnd && len(page.Commits) == 0 && !page.Held {
			for s.AckFeed(ctx, l, at, time.Time{}) != nil {
				pause(time.Millisecond)
			}
			return
		}
		if random.IntN(3) == 0 && s.AckFeed(ctx, l, at, time.Time{}) != nil && !toEnd {
			return
		}
	}
}

// K8: a reader takes the events of its process's commits from memory, and others' from the
// database, in the order of the feed; after a change of the server, all from the database.
func TestFeedIsReadByTheProcessThatWrites(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	other := w.open(postgres.Options{NoListen: true, NoNotify: true})
	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "all", MaxLag: time.Hour}))
	l, free, err := s.LeaseFeed(t.Context(), "all", time.Hour, time.Time{})
	require.NoError(t, err)
	require.True(t, free)
	_, err = s.ReadFeed(t.Context(), l, l.Cursor, 100) // from now on it caches its commits
	require.NoError(t, err)
	var want []string
	for i := range 12 {
		id := fmt.Sprintf("r%d", i)
		r := w.commit([]*postgres.Store{s, other}[i%2], created(id))
		r = w.commit([]*postgres.Store{s, other, other}[i%3], report(r))
		want = append(want, fmt.Sprint(id, r.Seq-1), fmt.Sprint(id, r.Seq))
	}
	kept := 0
	read := func(limit int) (got []string, bodies [][]byte) {
		kept = 0
		for at, more := l.Cursor, true; more; {
			page, err := s.ReadFeed(t.Context(), l, at, limit)
			require.NoError(t, err)
			for _, c := range page.Commits {
				for _, e := range c.Events {
					got, bodies = append(got, fmt.Sprint(c.RunID, e.Seq)), append(bodies, e.Body)
				}
				if at = c.Position; s.Keeps(at) {
					kept++
				}
			}
			more = page.More
		}
		return got, bodies
	}
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got, _ := read(100)
		assert.Equal(t, want, got)
	}, patience, time.Millisecond, "no other transaction of the server is under way")
	_, fromMemory := read(5)
	require.Equal(t, 10, kept, "each commit of its own")
	s.LoseConnection()
	got, fromDatabase := read(5)
	require.Zero(t, kept)
	require.Equal(t, want, got)
	require.Equal(t, fromDatabase, fromMemory)
}

// feedRows counts a schema's feed data.
type feedRows struct {
	noted int
	notes bool // the trigger that notes commits is enabled
}

func (w *world) feedRows() (have feedRows) {
	w.Helper()
	err := w.connect().QueryRow(w.Context(), w.inSchema(`SELECT (SELECT count(*) FROM interlude.feed), tgenabled <> 'D'
		FROM pg_trigger WHERE tgname = 'events_noted' AND tgrelid = 'interlude.events'::regclass`)).
		Scan(&have.noted, &have.notes)
	require.NoError(w, err)
	return have
}

// K8: a node of an earlier version may have made feeds lost while commits are still recorded. The
// next Prune ends that and deletes the records, in parts. A transaction of the host that has
// written events, and stays open, fails no Prune: the next Prune after its end does the rest.
func TestLostFeedsGrowNoMore(t *testing.T) {
	w, s := newWorld(t, postgres.Options{NoListen: true, NoNotify: true})
	prune := func() {
		n, err := s.Prune(t.Context(), noon, 10)
		require.NoError(t, err)
		require.Zero(t, n)
	}
	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "one", MaxLag: time.Hour}))
	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "two", MaxLag: time.Hour}))
	w.exec(`INSERT INTO interlude.feed SELECT 1, n, 1 FROM generate_series(1, $1::bigint) AS n`,
		2*postgres.UnneededPart+1)
	w.exec(`UPDATE interlude.feeds SET lost = true WHERE name = 'one'`)
	r := w.commit(s, created("a"))
	prune()
	require.Equal(t, feedRows{1, true}, w.feedRows(), "two needs a, and nothing before")

	w.exec(`UPDATE interlude.feeds SET lost = true`)
	tx := w.beginTx("")
	in := s.In(tx)
	w.commit(in, created("open"))
	prune()
	require.True(t, w.feedRows().notes)
	require.NoError(t, tx.Commit(t.Context()))
	prune()
	require.Equal(t, feedRows{}, w.feedRows())
	r = w.commit(s, report(r))
	w.commit(s, created("b"))
	prune()
	require.Equal(t, feedRows{}, w.feedRows())

	require.NoError(t, s.CreateFeed(t.Context(), store.Feed{Name: "three", MaxLag: time.Hour}))
	w.commit(s, report(r))
	w.commit(s, created("c"))
	require.Equal(t, feedRows{2, true}, w.feedRows())
	require.NoError(t, s.DeleteFeed(t.Context(), "three"))
	require.Equal(t, feedRows{}, w.feedRows(), "the others are lost")
}
