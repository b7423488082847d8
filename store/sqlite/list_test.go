package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// I13: listings have separate connections. While all of these are busy, other calls are served, and
// one more listing waits until its context ends.
func TestRunsDelaysNoOtherRead(t *testing.T) {
	s, _ := openMade(t, quick)
	put(t, s, newRun("r", 10))
	free := s.HoldListings()
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 2)
	for _, list := range []func(context.Context, store.Query) (store.Page, error){s.Runs, waits(s)} {
		go func() { waiting <- second(list(ctx, store.Query{Labels: map[string]string{"a": "b"}})) }()
	}
	for range 100 {
		for name, err := range map[string]error{
			"run": second(s.Run(t.Context(), "r")), "spec": second(s.Spec(t.Context(), "r")),
			"events": second(s.Events(t.Context(), "r", 0, 1)),
			"survey": second(s.Survey(t.Context(), noon)), "orphans": second(s.Orphans(t.Context(), 0, 1)),
		} {
			require.NoError(t, err, name)
		}
	}
	require.Empty(t, waiting)
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled)
	require.ErrorIs(t, <-waiting, context.Canceled)
	free()
	require.NoError(t, second(s.Runs(t.Context(), store.Query{})))
}

// waits is Waiting of a store, for a listing without other filters.
func waits(s *sqlite.Store) func(context.Context, store.Query) (store.Page, error) {
	return func(ctx context.Context, q store.Query) (store.Page, error) {
		return s.Waiting(ctx, store.WaitingQuery{Query: q})
	}
}

// I10: the index of labels is a hint. A listing leaves out runs whose labels only have the same
// hash, and fills its page with the next ones; a deleted run is never listed.
func TestRunsByLabelChecksHashCollisions(t *testing.T) {
	for name, extra := range map[string]int{"few runs": 0, "many runs": sqlite.FewRuns} {
		t.Run(name, func(t *testing.T) {
			s, path := openMade(t, quick)
			db := plain(t, path)
			var want []string
			for i := range 20 {
				c := newRun(fmt.Sprintf("r%02d", i), 10)
				if c.Run.Labels = map[string]string{"team": "red"}; i%3 == 0 {
					c.Run.Labels, want = map[string]string{"team": "blue", "n": "1"}, append(want, c.Run.ID)
				}
				put(t, s, c)
			}
			blue := sqlite.HashLabel("team", "blue")
			_, err := db.ExecContext(t.Context(), `INSERT OR IGNORE INTO labels SELECT ?, n FROM runs`, blue)
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(),
				`WITH RECURSIVE many(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM many WHERE n < 1000 + ?)
				INSERT INTO labels SELECT ?, n FROM many`, extra, blue)
			require.NoError(t, err)
			var got []string
			for q := (store.Query{Labels: map[string]string{"team": "blue"}, Limit: 2}); ; {
				page, err := s.Runs(t.Context(), q)
				require.NoError(t, err)
				for _, r := range page.Runs {
					got = append(got, r.ID)
				}
				if q.After = page.Next; q.After == "" {
					break
				}
				require.Len(t, page.Runs, 2)
			}
			require.Equal(t, want, got)
		})
	}
}

// Prune deletes the labels of a run from the index.
func TestPruneDeletesLabels(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	c := newRun("r", 10)
	c.Run.Labels = map[string]string{"team": "blue", "n": "1", "": ""}
	put(t, s, c, end(c.Run))
	require.Equal(t, 3, number(t, db, `SELECT count(*) FROM labels`))
	n, err := s.Prune(t.Context(), noon.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, number(t, db, `SELECT count(*) FROM labels`))
}

func second[A any](_ A, err error) error { return err }

// Listings have any number of filters: the prepared statements that a connection keeps are
// bounded, and every listing still works.
func TestPreparedStatementsAreBounded(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"), quiet)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 4}))
	put(t, s, newRun("run", 10))
	for n := range 800 {
		q := store.Query{States: make([]fsm.State, n+1)}
		q.States[n] = fsm.StateQueued
		page, err := s.Runs(t.Context(), q)
		require.NoError(t, err)
		require.Len(t, page.Runs, 1)
	}
	require.Less(t, len(s.Statements()), 600, "of five connections")
}
