//go:build unix

package pglocal

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestMain is also the process of a caller who is killed while a server runs.
func TestMain(m *testing.M) {
	if os.Getenv("PGLOCAL_CALLER") != "" {
		if err := beACaller(os.Getenv("PGLOCAL_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// beACaller starts a server, says where it is, and waits for its end.
func beACaller(dir string) error {
	s, err := Start(context.Background(), Options{Dir: dir, Log: os.Stderr})
	if err != nil {
		return err
	}
	fmt.Printf("%d %s %s\n", s.process.cmd.Process.Pid, s.home.dir, s.DSN(""))
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt)
	<-end
	return s.Stop()
}

// start gives a server that ends with the test.
func start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s, err := Start(tb.Context(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Stop()) })
	return s
}

// open returns a folder open to everybody, like /tmp; testing's folders are private to the caller.
func open(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pglocal-test-")
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, os.RemoveAll(dir)) })
	require.NoError(tb, os.Chmod(dir, 0o777|os.ModeSticky))
	return dir
}

func connect(tb testing.TB, dsn string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func execute(tb testing.TB, conn *pgx.Conn, sql string, args ...any) {
	tb.Helper()
	_, err := conn.Exec(tb.Context(), sql, args...)
	require.NoError(tb, err)
}

// one is the only value of a query's only row.
func one[T any](tb testing.TB, conn *pgx.Conn, sql string) T {
	tb.Helper()
	var v T
	require.NoError(tb, conn.QueryRow(tb.Context(), sql).Scan(&v))
	return v
}

// family is the server's processes.
func family(tb testing.TB, s *Server) []int {
	tb.Helper()
	all, err := processes()
	require.NoError(tb, err)
	pid := s.process.cmd.Process.Pid
	found := append(descendants(all, pid), pid)
	require.Greater(tb, len(found), 3, "a server has a checkpointer, two writers and more")
	return found
}

// living returns the live processes.
func living(tb testing.TB, pids []int) []int {
	tb.Helper()
	all, err := processes()
	require.NoError(tb, err)
	var found []int
	for _, pid := range pids {
		if r, there := all[pid]; there && r.state != 'Z' {
			found = append(found, pid)
		}
	}
	return found
}

// closed requires a closed port.
func closed(tb testing.TB, s *Server) {
	tb.Helper()
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err == nil {
		conn.Close()
	}
	require.ErrorIs(tb, err, syscall.ECONNREFUSED)
}

// leftovers are the temporary folders of servers.
func leftovers(tb testing.TB) []string {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "interlude-pg-*"))
	require.NoError(tb, err)
	return found
}
