package postgres_test

import (
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
	"github.com/interlude-go/interlude/store/storetest"
)

// modes are the ways in which pgx sends statements.
var modes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

// isolations are what a database may have as its default.
var isolations = []string{"read committed", "repeatable read", "serializable"}

// isolated is a new database with a default isolation.
func isolated(tb testing.TB, isolation string) string {
	tb.Helper()
	dsn := pgtest.DSN(tb)
	conn, err := pgx.Connect(tb.Context(), dsn)
	require.NoError(tb, err)
	_, err = conn.Exec(tb.Context(), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = %L', current_database(), '`+isolation+`'); END $$`)
	require.NoError(tb, err)
	require.NoError(tb, conn.Close(tb.Context()))
	return pgtest.With(dsn, "synchronous_commit=off")
}

// The suite passes in every mode of the driver and at every default isolation: each case takes the
// next combination, and each of its handles another mode.
func TestStoreWithEveryOption(t *testing.T) {
	var opened atomic.Int64
	inTurn := func(dsn string) string {
		return pgtest.With(dsn, "default_query_exec_mode="+modes[int(opened.Add(1))%len(modes)])
	}
	suites := make([]suite, len(isolations))
	for i, isolation := range isolations {
		suites[i] = suite{dsn: isolated(t, isolation), o: postgres.Options{NoListen: true, NoNotify: true}}
	}
	also := func(tb testing.TB, s store.Store) store.Store {
		tb.Helper()
		p := s.(*place)
		return at(tb, inTurn(p.dsn), p.o)
	}
	storetest.Harness{
		Open: func(tb testing.TB) store.Store {
			tb.Helper()
			s := suites[int(opened.Load())%len(suites)]
			s.dsn = inTurn(s.dsn)
			return s.open(tb)
		},
		Reopen: func(tb testing.TB, s store.Store) store.Store {
			tb.Helper()
			require.NoError(tb, s.Close())
			return also(tb, s)
		},
		Crash: also, Also: also,
	}.Run(t)
}
