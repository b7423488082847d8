package scenario_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/sqlite"
)

// More stories are played at one time than there are processors, if -parallel says nothing else.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	pgtest.Main(m)
}

// opener opens one more handle on a story's store, as one more process would. It is called in the
// story's bubble.
type opener func(tb testing.TB) store.Store

// place is a kind of store. Its make prepares a new, empty one, outside of any bubble.
type place struct {
	name string
	make func(tb testing.TB) opener
}

var places = []place{
	{"memory", func(testing.TB) opener {
		var s *memory.Store
		return func(testing.TB) store.Store { // one process: there is one handle
			if s == nil {
				s = memory.New()
			}
			return s
		}
	}},
	// Neither waits for a disk: what survives a crash of the machine is another proof's subject.
	{"sqlite", func(tb testing.TB) opener {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "runs.db")
		return func(tb testing.TB) store.Store {
			tb.Helper()
			s, err := sqlite.Open(tb.Context(), path, sqlite.Options{Synchronous: sqlite.Normal, WatchInterval: -1})
			require.NoError(tb, err)
			return s
		}
	}},
	{"postgres", func(tb testing.TB) opener {
		tb.Helper()
		dsn, schema := pgtest.Schema(tb)
		dsn = pgtest.With(dsn, "synchronous_commit=off")
		return func(tb testing.TB) store.Store {
			tb.Helper()
			s, err := postgres.Open(tb.Context(), dsn, postgres.Options{Schema: schema, NoListen: true, NoNotify: true})
			require.NoError(tb, err)
			return s
		}
	}},
}
