//go:build unix

package pglocal

import (
	"context"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestStartGivesOwnServer(t *testing.T) {
	var log tail
	log.to = &strings.Builder{}
	s, err := Start(t.Context(), Options{Log: &log, Settings: map[string]string{"max_connections": "17",
		"application_name": `it's a \ name`}})
	require.NoError(t, err)
	defer s.Stop()

	conn := connect(t, s.DSN(""))
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", // defaults: measurements
		// include durability
		"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "server_encoding": "UTF8", "lc_collate": "C",
		"TimeZone":        "UTC",
		"max_connections": "17", "application_name": `it's a \ name`,
	} {
		require.Equal(t, want, one[string](t, conn, "SELECT current_setting('"+setting+"')"), setting)
	}
	execute(t, conn, "CREATE DATABASE other")
	require.Equal(t, "other", one[string](t, connect(t, s.DSN("other")), "SELECT current_database()"))

	require.Regexp(t, `^SCRAM-SHA-256\$1:`, one[string](t, conn, "SELECT rolpassword FROM pg_authid WHERE rolcanlogin"))
	stranger, err := url.Parse(s.DSN(""))
	require.NoError(t, err)
	stranger.User = url.UserPassword(superuser, "guess")
	_, err = pgx.Connect(t.Context(), stranger.String())
	require.ErrorContains(t, err, "password authentication failed")

	pids := family(t, s)
	require.NoError(t, s.Stop())
	require.Empty(t, living(t, pids), "a process is left")
	require.NoDirExists(t, s.home.dir)
	closed(t, s)
	require.True(t, log.says("database system is shut down"), "%s", &log)

	require.NoError(t, s.Stop(), "again")
	for _, f := range []func() error{s.Halt, s.Kill, func() error {
		return s.Resume(t.Context())
	}, func() error { return s.Restart(t.Context()) }} {
		require.ErrorIs(t, f(), ErrStopped)
	}
}

func TestRestartKeepsPortAndData(t *testing.T) {
	s := start(t, Options{})
	conn := connect(t, s.DSN(""))
	execute(t, conn, "CREATE TABLE kept AS SELECT 7 AS n")
	execute(t, conn, "ALTER SYSTEM SET work_mem = '5MB'")
	before := family(t, s)

	require.NoError(t, s.Restart(t.Context()))
	require.Empty(t, living(t, before))
	require.Error(t, conn.Ping(t.Context()), "the session ended")
	conn = connect(t, s.DSN(""))
	require.Equal(t, 7, one[int](t, conn, "SELECT n FROM kept"))
	require.Equal(t, "5MB", one[string](t, conn, "SHOW work_mem"))

	require.NoError(t, s.Resume(t.Context()), "it runs")
	require.NoError(t, conn.Ping(t.Context()), "and was left as it was")

	require.NoError(t, s.Halt())
	closed(t, s)
	require.NoError(t, s.Halt(), "again")
	require.NoError(t, s.Kill(), "it does not run")
	require.NoError(t, s.Restart(t.Context()), "from a halt")
	require.Equal(t, 7, one[int](t, connect(t, s.DSN("")), "SELECT n FROM kept"))
}

// The server is killed during commits: each commit that a client saw acknowledged is there
// afterwards.
func TestKilledServerKeepsCommits(t *testing.T) {
	s := start(t, Options{})
	execute(t, connect(t, s.DSN("")), "CREATE TABLE counted (client int, n int)")
	open := connect(t, s.DSN(""))
	execute(t, open, "BEGIN; INSERT INTO counted VALUES (99, 1)")

	for range 3 {
		var told [4]atomic.Int64
		var clients sync.WaitGroup
		enough := make(chan struct{}, len(told))
		for client := range told {
			conn := connect(t, s.DSN(""))
			execute(t, conn, "DELETE FROM counted WHERE client = $1", client)
			clients.Go(func() {
				for n := int64(1); ; n++ {
					if _, err := conn.Exec(context.Background(), "INSERT INTO counted VALUES ($1, $2)", client,
						n); err != nil {
						return
					}
					told[client].Store(n)
					if n == 20 {
						enough <- struct{}{}
					}
				}
			})
		}
		for range told {
			<-enough
		}
		pids := family(t, s)
		require.NoError(t, s.Kill())
		require.Empty(t, living(t, pids), "a child lives on")
		closed(t, s)
		require.NoError(t, s.Kill(), "again")
		clients.Wait()

		require.NoError(t, s.Resume(t.Context()))
		conn := connect(t, s.DSN(""))
		for client := range told {
			execute(t, conn, "SELECT set_config('test.client', $1::int::text, false)", client)
			got := one[int64](t, conn,
				"SELECT count(*) FROM counted WHERE client = current_setting('test.client')::int")
			require.GreaterOrEqual(t, got, told[client].Load())
			require.LessOrEqual(t, got, told[client].Load()+1, "one commit may not have been told")
		}
		require.Zero(t, one[int](t, conn, "SELECT count(*) FROM counted WHERE client = 99"), "never committed")
	}
}

// Another process kills only the server: its children end a moment later.
func TestRestartAfterServerWasKilled(t *testing.T) {
	s := start(t, Options{})
	conn := connect(t, s.DSN(""))
	execute(t, conn, "CREATE TABLE kept ()")
	require.NoError(t, syscall.Kill(s.process.cmd.Process.Pid, syscall.SIGKILL))
	<-s.process.done
	require.NoError(t, s.Resume(t.Context()))
	require.Zero(t, one[int](t, connect(t, s.DSN("")), "SELECT count(*) FROM kept"))
}

func TestStartNamesTakenPort(t *testing.T) {
	s := start(t, Options{})
	require.NoError(t, s.Halt())
	l, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	err = s.Resume(t.Context())
	require.ErrorIs(t, err, errTaken)
	require.ErrorContains(t, err, "Address already in use")
	require.NoError(t, l.Close())
	require.NoError(t, s.Resume(t.Context()))
}

// Clients may use all connections before Start checks the server: it counts as ready all the same.
func TestStartIsReadyWhileConnectionsAreUsedUp(t *testing.T) {
	s := start(t, Options{Settings: map[string]string{"max_connections": "4", "max_wal_senders": "0"}})
	for range 4 {
		connect(t, s.DSN(""))
	}
	_, err := pgx.Connect(t.Context(), s.DSN(""))
	require.ErrorContains(t, err, "too many clients")
	require.NoError(t, s.ready(t.Context(), s.process))
}

func TestStartOfSeveralServers(t *testing.T) {
	var all sync.WaitGroup
	var servers [3]*Server
	var errs [3]error
	for i := range servers {
		all.Go(func() { servers[i], errs[i] = Start(t.Context(), Options{}) })
	}
	all.Wait()
	ports := map[string]bool{}
	for i, s := range servers {
		require.NoError(t, errs[i])
		defer s.Stop()
		connect(t, s.DSN(""))
		ports[s.Addr()] = true
	}
	require.Len(t, ports, len(servers))
}

// A failed start leaves no process and no folder.
func TestFailedStartLeavesNothing(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		o    Options
		want string
	}{
		"unknown setting": {t.Context(), Options{Settings: map[string]string{"no_such_setting": "1"}},
			`unrecognized configuration parameter "no_such_setting"`},
		"bad value": {t.Context(), Options{Settings: map[string]string{"max_connections": "many"}},
			`invalid value for parameter "max_connections"`},
		"our setting": {t.Context(), Options{Settings: map[string]string{"Port": "5432"}},
			"chosen by this package"},
		"no name": {t.Context(), Options{Settings: map[string]string{"a = 1 #": "1"}}, "not the name of a setting"},
		"two lines": {t.Context(), Options{Settings: map[string]string{"work_mem": "1MB\nfsync = off"}},
			"has a line's end"},
		"context ended": {gone, Options{}, context.Canceled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", open(t))
			_, err := Start(c.ctx, c.o)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, leftovers(t))
		})
	}
}

// When the context ends during initdb, initdb ends and leaves nothing.
func TestCanceledStartLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", open(t))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := writer(func(p []byte) {
		if strings.Contains(string(p), "running bootstrap script") {
			cancel()
		}
	})
	_, err := Start(ctx, Options{Log: began})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, leftovers(t))
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

// A server that root starts runs as another user; for other users the option has no effect.
func TestServerRunsAsOrdinaryUser(t *testing.T) {
	s := start(t, Options{User: "nobody"})
	info, err := os.Stat(s.home.data())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if os.Geteuid() != 0 {
		require.Equal(t, os.Geteuid(), owner)
		return
	}
	require.NotZero(t, owner)
	require.Equal(t, int(s.home.account.credential.Uid), owner)

	_, err = Start(t.Context(), Options{User: "no-such-user"})
	require.ErrorContains(t, err, "Options.User")
	_, err = Start(t.Context(), Options{User: "root"})
	require.ErrorContains(t, err, "cannot run PostgreSQL")
}
