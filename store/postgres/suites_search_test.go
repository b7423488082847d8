//go:build search

package postgres_test

import (
	"crypto/rand"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/storetest"
)

// The suite passes in every mode of the driver and at every default isolation: each case takes the
// next combination, and each of its handles another mode.
func TestStoreWithEveryOption(t *testing.T) {
	databases := make([]string, len(isolations))
	for i, isolation := range isolations {
		databases[i] = isolated(t, isolation)
	}
	inTurn(func(number, handle int64) string {
		mode := modes[int(handle)%len(modes)]
		return pgtest.With(databases[int(number)%len(databases)], "default_query_exec_mode="+mode)
	}).Run(t)
}

// inTurn is a harness that spreads its stores over several routes to the database: dsn returns the
// route for a handle. The first handle of case n gets number n, and each later handle of that case
// the number after it.
func inTurn(dsn func(number, handle int64) string) storetest.Harness {
	var cases atomic.Int64
	open := func(tb testing.TB, o postgres.Options, number int64, handles *atomic.Int64) store.Store {
		tb.Helper()
		p := at(tb, dsn(number, handles.Add(1)), o)
		p.number, p.handles = number, handles
		return p
	}
	also := func(tb testing.TB, s store.Store) store.Store {
		tb.Helper()
		p := s.(*place)
		return open(tb, p.o, p.number, p.handles)
	}
	return storetest.Harness{
		Open: func(tb testing.TB) store.Store {
			tb.Helper()
			number, handles := cases.Add(1), new(atomic.Int64)
			handles.Store(number)
			o := postgres.Options{Schema: "t_" + rand.Text(), NoListen: true, NoNotify: true}
			return open(tb, o, number, handles)
		},
		Reopen: func(tb testing.TB, s store.Store) store.Store {
			tb.Helper()
			require.NoError(tb, s.Close())
			return also(tb, s)
		},
		Crash: also, Also: also, Raise: raise, Parallel: true,
	}
}
