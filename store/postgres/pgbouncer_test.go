//go:build pgbouncer

package postgres_test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// pooler is a PgBouncer in transaction mode, before the database of a test's own.
type pooler struct {
	direct, dsn string
	prepares    bool // it keeps prepared statements: 1.21 or later
}

// findPgBouncer is where it is installed.
func findPgBouncer(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer",
		"/opt/homebrew/bin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	tb.Fatal("PgBouncer is missing: install it (Debian, Ubuntu: apt-get install -y pgbouncer; macOS: brew install " +
		"pgbouncer)")
	return ""
}

func newPooler(tb testing.TB) *pooler {
	tb.Helper()
	program := findPgBouncer(tb)
	version, err := exec.CommandContext(tb.Context(), program, "--version").Output()
	require.NoError(tb, err)
	numbers := regexp.MustCompile(`PgBouncer (\d+)\.(\d+)`).FindSubmatch(version)
	require.NotNil(tb, numbers, "%s", version)
	major, _ := strconv.Atoi(string(numbers[1]))
	minor, _ := strconv.Atoi(string(numbers[2]))
	p := &pooler{direct: pgtest.DSN(tb), prepares: major > 1 || minor >= 21}
	for n := os.Getpid(); !p.launch(tb, program, n); n++ {
	}
	return p
}

// launch starts the pooler on a port derived from n. It returns false if the port is in use.
func (p *pooler) launch(tb testing.TB, program string, n int) bool {
	tb.Helper()
	port := strconv.Itoa(15000 + n%17000) // below the ephemeral range, in which other processes take ports all the time
	free, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return false
	}
	require.NoError(tb, free.Close())
	server, err := pgx.ParseConfig(p.direct)
	require.NoError(tb, err)
	ini := fmt.Sprintf("[databases]\n* = host=%s port=%d user=%s password='%s' dbname=%s\n"+
		"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\npool_mode = "+
		"transaction\ndefault_pool_size = 20\nmax_client_conn = 500\n",
		server.Host, server.Port, server.User, server.Password, server.Database, port)
	if p.prepares {
		ini += "max_prepared_statements = 100\n"
	}
	folder, err := os.MkdirTemp("", "interlude-pooler-")
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	require.NoError(tb, os.Chmod(folder, 0o755))
	file := filepath.Join(folder, "pgbouncer.ini")
	require.NoError(tb, os.WriteFile(file, []byte(ini), 0o644))
	args := []string{file}
	if os.Getuid() == 0 { // it refuses to be root
		args = []string{"-u", "nobody", file}
	}
	var log bytes.Buffer
	process := exec.Command(program, args...)
	process.Stdout, process.Stderr = &log, &log
	require.NoError(tb, process.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = process.Wait()
	}()
	tb.Cleanup(func() {
		_ = process.Process.Kill()
		<-ended
		if tb.Failed() {
			tb.Logf("the pooler's log:\n%s", log.String())
		}
	})
	u := url.URL{Scheme: "postgres", User: url.User(server.User), Host: net.JoinHostPort("127.0.0.1", port),
		Path: "/" + server.Database, RawQuery: "sslmode=disable"}
	p.dsn = u.String()
	taken := false
	require.Eventually(tb, func() bool {
		select {
		case <-ended:
			taken = strings.Contains(log.String(), "Address already in use")
			return taken
		default:
		}
		conn, err := pgx.Connect(tb.Context(), pgtest.With(p.dsn, "default_query_exec_mode=exec"))
		return err == nil && conn.Close(tb.Context()) == nil
	}, patience, 10*time.Millisecond)
	return !taken
}

// With a direct connection for listening, hints arrive through a pooler too.
func TestHintsThroughPgBouncer(t *testing.T) {
	p := newPooler(t)
	w := &world{t, pgtest.With(p.dsn, "default_query_exec_mode=exec"), "interlude"}
	a, b := w.open(postgres.Options{ListenDSN: p.direct}), w.open(postgres.Options{ListenDSN: p.direct})
	w.furnish(a)
	life(w, a)
	w.hearsOf(a, hints(t, b))
	w.hearsOf(b, hints(t, a))
}

// The driver's default mode needs sessions. An older pooler gives each transaction another one,
// and the error says what to do. No commit is lost.
func TestPreparedStatementsThroughPgBouncer(t *testing.T) {
	p := newPooler(t)
	if p.prepares {
		w := &world{t, p.dsn, "interlude"}
		s := w.open(postgres.Options{NoListen: true})
		w.furnish(s)
		life(w, s)
		return
	}
	var err error
	for i := 0; err == nil && i < 100; i++ {
		var s *postgres.Store
		if s, err = postgres.Open(t.Context(), p.dsn, postgres.Options{NoListen: true, NoNotify: true}); err != nil {
			break
		}
		err = s.SetPool(t.Context(), slots.Pool{Name: "p", Capacity: 1})
		w := &world{t, p.dsn, "interlude"}
		for j := 0; err == nil && j < 100; j++ {
			err = w.try(s, created(fmt.Sprintf("%d-%d", i, j)))
		}
		require.NoError(t, s.Close())
	}
	require.ErrorIs(t, err, postgres.ErrPooler)
	require.ErrorContains(t, err, "default_query_exec_mode")
}
