package postgres_test

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// A failed Open reports the reason, by a sentinel, and in a text without the password.

// refused opens what cannot be opened, and returns the error.
func refused(tb testing.TB, dsn string, o postgres.Options) error {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), dsn, o)
	require.Error(tb, err)
	require.Nil(tb, s)
	return err
}

func TestOpenRefusesBadConnectionString(t *testing.T) {
	const secret = "s3cr3t"
	for _, dsn := range []string{
		"postgres://ann:" + secret + "@localhost:port/db",
		"postgres://ann:" + secret + "@localhost:5432/db?sslmode=perhaps",
		"postgres://ann:" + secret + "@localhost:5432/%zz",
		"postgres://ann:s3cr3t@%zz@localhost/db?connect_timeout=never",
		"postgres://ann:" + secret + "/x@localhost:54a/db",
		"postgres://localhost/db?sslmode=x&password=" + secret,
		"host=localhost port=x password=" + secret,
		"host=localhost password='s3cr3t and more port=1",
		"host=localhost password=no s3cr3t",
		"host=localhost password=s3cr3t sslmode=require sslrootcert=/no/such/file",
		"ann:" + secret + "@localhost",
		secret,
	} {
		for name, err := range map[string]error{
			"Open":      refused(t, dsn, postgres.Options{}),
			"Migrate":   postgres.Migrate(t.Context(), dsn, ""),
			"ListenDSN": refused(t, "host=localhost", postgres.Options{ListenDSN: dsn}),
		} {
			require.ErrorIs(t, err, postgres.ErrConfig, "%s: %s", name, dsn)
			require.NotContains(t, err.Error(), secret, name)
			var parsing *pgconn.ParseConfigError
			require.NotErrorAs(t, err, &parsing, "it holds the string")
		}
	}
	err := refused(t, "host=localhost sslmode=require sslrootcert=/no/such/file", postgres.Options{})
	require.ErrorContains(t, err, "/no/such/file", "what can be repaired is told")
	require.ErrorContains(t, refused(t, "host=localhost pool_max_conns=many", postgres.Options{}), "pool_max_conns")
}

func TestOpenRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]postgres.Options{
		"a schema of the server's own":   {Schema: "pg_toast"},
		"a schema that no name can hold": {Schema: "a\x00b"},
		"no flush":                       {Flushes: -1},
		"no time":                        {Timeout: time.Nanosecond},
	} {
		require.ErrorIs(t, refused(t, "host=localhost", o), postgres.ErrConfig, name)
	}
	require.ErrorIs(t, postgres.Migrate(t.Context(), "host=localhost", "pg_x"), postgres.ErrConfig)
}

// The test starts a private server: a shared one may accept any password.
func TestOpenReportsRefusedConnection(t *testing.T) {
	server := pgtest.Start(t, pglocal.Options{Settings: map[string]string{"max_connections": "4",
		"superuser_reserved_connections": "3", "max_wal_senders": "0"}})
	at := func(change func(*url.URL)) string {
		u, err := url.Parse(server.DSN(""))
		require.NoError(t, err)
		change(u)
		return u.String()
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, dsn := range map[string]string{
		"host":     at(func(u *url.URL) { u.Host = "no-such-host.invalid:5432" }),
		"port":     at(func(u *url.URL) { u.Host = closed.Addr().String() }),
		"user":     at(func(u *url.URL) { u.User = url.UserPassword("nobody", "s3cr3t") }),
		"password": at(func(u *url.URL) { u.User = url.UserPassword("postgres", "s3cr3t") }),
		"database": server.DSN("no_such_database"),
	} {
		err := refused(t, dsn, postgres.Options{})
		require.ErrorIs(t, err, postgres.ErrUnreachable, name)
		require.NotContains(t, err.Error(), "s3cr3t")
		require.ErrorIs(t, postgres.Migrate(t.Context(), dsn, ""), postgres.ErrUnreachable, name)
	}

	conn, err := pgx.Connect(t.Context(), server.DSN(""))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(),
		`CREATE ROLE ann LOGIN PASSWORD 'pw'; CREATE ROLE bob LOGIN PASSWORD 'pw' CONNECTION LIMIT 0`)
	require.NoError(t, err)
	bob := at(func(u *url.URL) { u.User = url.UserPassword("bob", "pw") })
	require.ErrorIs(t, refused(t, bob, postgres.Options{}), postgres.ErrConnections, "the role's limit")
	ann := at(func(u *url.URL) { u.User = url.UserPassword("ann", "pw") })
	require.ErrorIs(t, refused(t, ann, postgres.Options{}), postgres.ErrConnections,
		"the server's limit: what is left is for superusers")

	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	require.NoError(t, err)
	defer silent.Close()
	began := time.Now()
	err = refused(t, at(func(u *url.URL) {
		u.Host = silent.Addr().String()
	}), postgres.Options{Timeout: 300 * time.Millisecond})
	require.ErrorIs(t, err, postgres.ErrUnreachable)
	require.Less(t, time.Since(began), 10*time.Second)
}

// A server in recovery serves reads; a write there fails and is not repeated.
func TestOpenReportsStandby(t *testing.T) {
	server := pgtest.Start(t, pglocal.Options{})
	w := &world{t, server.DSN(""), "interlude"}
	s := w.open(postgres.Options{})
	w.furnish(s)
	r := w.commit(s, created("r"))
	require.NoError(t, s.Close())
	var data string
	require.NoError(t, w.connect().QueryRow(t.Context(), `SHOW data_directory`).Scan(&data))
	require.NoError(t, server.Halt())
	require.NoError(t, os.WriteFile(filepath.Join(data, "standby.signal"), nil, 0o644))
	require.NoError(t, server.Resume(t.Context()))

	err := refused(t, server.DSN(""), postgres.Options{Schema: "other"})
	require.ErrorIs(t, err, postgres.ErrReadOnly, "it has no schema, and none can be made")
	w.requireReadOnly(w.open(postgres.Options{}), r)
}
