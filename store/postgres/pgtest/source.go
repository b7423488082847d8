package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// source is a shared server, with one connection that creates and drops databases and schemas. The
// zero value is ready.
type source struct {
	mu     sync.Mutex // guards all below, and is held while a statement runs
	dsn    string
	server *pglocal.Server // nil for an external server
	conn   *pgx.Conn
	err    error // of the start, which later tests do not retry
}

func (s *source) do(tb testing.TB, sql string) string {
	tb.Helper()
	// a test's context ends before its clean-up
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
	defer cancel()
	dsn, err := s.try(ctx, sql)
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	return dsn
}

func (s *source) try(ctx context.Context, sql string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dsn == "" && s.err == nil {
		s.err = s.start(ctx)
	}
	if s.err != nil {
		return "", s.err
	}
	if err := s.connect(ctx); err != nil {
		return "", fmt.Errorf("%s cannot be reached: %w", s, err)
	}
	if _, err := s.conn.Exec(ctx, sql); err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	return s.dsn, nil
}

func (s *source) String() string {
	if s.server == nil {
		return "the server of INTERLUDE_POSTGRES"
	}
	return "the tests' own server"
}

func (s *source) start(ctx context.Context) error {
	if dsn := os.Getenv("INTERLUDE_POSTGRES"); dsn != "" {
		s.dsn = dsn
		return nil
	}
	server, err := pglocal.Start(ctx, pglocal.Options{Settings: map[string]string{
		"max_connections": "300",  // each test has separate pools, and several may run at once
		"shared_buffers":  "16MB", // each backend maps them, and the tests have thousands of backends
		// No test cuts this server's power, and dropping a database would wait for the disk.
		"fsync": "off", "full_page_writes": "off",
	}})
	if errors.Is(err, pglocal.ErrMissing) {
		return fmt.Errorf("no server: %w, or give the DSN of a server in INTERLUDE_POSTGRES", err)
	}
	if err != nil {
		return fmt.Errorf("no server: %w", err)
	}
	s.server, s.dsn = server, server.DSN("")
	return nil
}

// connect ensures a working connection: a shared server may have been restarted.
func (s *source) connect(ctx context.Context) error {
	if s.conn != nil && s.conn.Ping(ctx) == nil {
		return nil
	}
	if s.conn != nil {
		_ = s.conn.Close(ctx) // it is broken
	}
	var err error
	s.conn, err = pgx.Connect(ctx, s.dsn)
	return err
}

// stop ends the connection, and the tests' own server. The next test may start another.
func (s *source) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close(context.Background()) // nothing depends on it
	}
	if s.server != nil {
		if err := s.server.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "pgtest: %v\n", err)
		}
	}
	s.dsn, s.server, s.conn, s.err = "", nil, nil, nil
}

// inDatabase is the DSN with another database: a URL, or keywords and values, of which the last
// wins.
func inDatabase(dsn, name string) string {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name
	}
	u, err := url.Parse(dsn)
	if err != nil { // pgx has connected with it
		return dsn
	}
	u.Path = "/" + name
	query := u.Query()
	query.Del("dbname")
	u.RawQuery = query.Encode()
	return u.String()
}
