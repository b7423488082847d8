package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

func TestMain(m *testing.M) { Main(m) }

func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// count is the number that the query counts in the shared database.
func count(tb testing.TB, query string, args ...any) int {
	tb.Helper()
	dsn, _ := Schema(tb)
	var n int
	require.NoError(tb, connect(tb, dsn).QueryRow(tb.Context(), query, args...).Scan(&n))
	return n
}

const (
	databases = "SELECT count(*) FROM pg_database WHERE datname = $1"
	schemas   = "SELECT count(*) FROM pg_namespace WHERE nspname = $1"
)

func TestDSNGivesNewDatabase(t *testing.T) {
	var names []string
	for range 2 {
		t.Run("test", func(t *testing.T) {
			var name, encoding, collation string
			conn := connect(t, DSN(t))
			err := conn.QueryRow(t.Context(), "SELECT datname, pg_encoding_to_char(encoding), datcollate FROM "+
				"pg_database WHERE datname = current_database()").
				Scan(&name, &encoding, &collation)
			require.NoError(t, err)
			require.Equal(t, []string{"UTF8", "C"}, []string{encoding, collation})
			_, err = conn.Exec(t.Context(), "CREATE TABLE mine (); BEGIN; SELECT * FROM mine") // and the session stays
			require.NoError(t, err)
			require.Equal(t, 1, count(t, databases, name))
			names = append(names, name)
		})
	}
	require.NotEqual(t, names[0], names[1])
	for _, name := range names {
		require.Zero(t, count(t, databases, name), "dropped with the test")
	}
}

func TestWithAddsSettingsToURLAndKeywords(t *testing.T) {
	require.Equal(t, "host=/tmp a=1 b=x", With("host=/tmp", "a=1", "b=x"))
	require.Equal(t, "postgres://h/d?a=1&b=x%3D%26", With("postgres://h/d", "a=1", "b=x=&"))
}

func TestSchemaGivesNewSchema(t *testing.T) {
	var names []string
	for range 2 {
		t.Run("test", func(t *testing.T) {
			dsn, name := Schema(t)
			_, err := connect(t, dsn).Exec(t.Context(), "CREATE SCHEMA "+name+"; CREATE TABLE "+name+".mine ()")
			require.NoError(t, err)
			require.Equal(t, 1, count(t, schemas, name))
			names = append(names, name)
		})
	}
	require.NotEqual(t, names[0], names[1])
	for _, name := range names {
		require.Zero(t, count(t, schemas, name), "dropped with the test")
	}
}

// A given server is used unchanged, and outlives the tests; a restarted one is as good.
func TestServerOfEnvironmentIsUsed(t *testing.T) {
	server := Start(t, pglocal.Options{})
	u, err := url.Parse(server.DSN(""))
	require.NoError(t, err)
	password, _ := u.User.Password()
	for form, dsn := range map[string]string{
		"url": server.DSN("") + "&dbname=postgres",
		"keywords": fmt.Sprintf("host=127.0.0.1 port=%s user=postgres password=%s dbname=postgres sslmode=disable",
			u.Port(), password),
	} {
		t.Run(form, func(t *testing.T) {
			t.Setenv("INTERLUDE_POSTGRES", dsn)
			var given source
			got := given.do(t, "CREATE DATABASE given_"+form)
			require.Equal(t, dsn, got)
			require.NoError(t, server.Restart(t.Context()))
			var name string
			conn := connect(t, inDatabase(given.do(t, ""), "given_"+form))
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
			require.Equal(t, "given_"+form, name)
			given.stop()
			require.NoError(t, conn.Ping(t.Context()), "it is not ours to stop")
		})
	}
}

// reporter takes down how a test fails.
type reporter struct {
	testing.TB

	failure string
}

func (r *reporter) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func failureOf(tb testing.TB, f func(tb testing.TB)) string {
	tb.Helper()
	r := &reporter{TB: tb}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.failure
}

// A test without a server fails, and says in one line what to do.
func TestMissingServerFailsInOneLine(t *testing.T) {
	t.Setenv("INTERLUDE_POSTGRES", "")
	t.Setenv("INTERLUDE_PG_BIN", t.TempDir())
	var missing source
	for range 2 {
		failure := failureOf(t, func(tb testing.TB) { missing.do(tb, "") })
		require.Contains(t, failure, "apt-get install -y postgresql")
		require.Contains(t, failure, "INTERLUDE_POSTGRES")
		require.NotContains(t, failure, "\n")
	}
	require.Contains(t, failureOf(t, func(tb testing.TB) {
		Start(tb, pglocal.Options{})
	}), "apt-get install -y postgresql")

	t.Setenv("INTERLUDE_POSTGRES", "host=127.0.0.1 port=1 user=nobody sslmode=disable")
	var unreachable source
	require.Contains(t, failureOf(t, func(tb testing.TB) {
		unreachable.do(tb, "")
	}), "the server of INTERLUDE_POSTGRES cannot be reached")
}

// What stops is gone, with its connection.
func TestMainStopsSharedServer(t *testing.T) {
	t.Setenv("INTERLUDE_POSTGRES", "")
	var s source
	dsn := s.do(t, "CREATE DATABASE mine")
	var dir string
	require.NoError(t, connect(t, dsn).QueryRow(t.Context(), "SHOW data_directory").Scan(&dir))
	require.True(t, strings.HasSuffix(dir, "/data"))
	s.stop()
	_, err := os.Stat(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	s.stop()
}
