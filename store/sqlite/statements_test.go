package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

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
