package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// modes are the ways in which pgx sends statements.
var modes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

// isolations are a database's possible defaults.
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
