package linear_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// place returns a function that opens handles on one new store, as several processes do that share
// it.
type place func(tb testing.TB) (open func() store.Store)

// share opens n handles.
func share(open func() store.Store, n int) (handles []store.Store) {
	for range n {
		handles = append(handles, open())
	}
	return handles
}

var places = map[string]place{"memory": inMemory, "sqlite": inFile, "postgres": onServer}

func inMemory(testing.TB) func() store.Store {
	s := memory.New() // one process: there is one handle
	return func() store.Store { return s }
}

// Neither store waits for a disk, because surviving a crash is the subject of another proof.
func inFile(tb testing.TB) func() store.Store {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "runs.db")
	return func() store.Store {
		tb.Helper()
		s, err := sqlite.Open(tb.Context(), path, sqlite.Options{Synchronous: sqlite.Normal})
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, s.Close()) })
		return s
	}
}

func onServer(tb testing.TB) func() store.Store {
	tb.Helper()
	dsn, _ := pgtest.Schema(tb)
	dsn = pgtest.With(dsn, "synchronous_commit=off")
	schema := "linear_" + rand.Text()
	return func() store.Store {
		tb.Helper()
		s, err := postgres.Open(tb.Context(), dsn, postgres.Options{Schema: schema})
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, s.Close()) })
		return s
	}
}
