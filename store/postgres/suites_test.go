package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
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
	sample.Require(t, 0, sample.SuiteParts)
	databases := make([]string, len(isolations))
	for i, isolation := range isolations {
		databases[i] = isolated(t, isolation)
	}
	inTurn(0, func(number, handle int64) string {
		mode := modes[int(handle)%len(modes)]
		return pgtest.With(databases[int(number)%len(databases)], "default_query_exec_mode="+mode)
	}).Run(t)
}
