// Package pgtest gives tests an empty PostgreSQL database or schema.
//
// The server is the one in INTERLUDE_POSTGRES (a DSN as pgx reads it, of a user who may create
// databases), else a private one from package pglocal, shared by all tests of the process. Without
// a server, tests fail and name the packages to install.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		pool, err := pgxpool.New(t.Context(), pgtest.DSN(t))
//
// Tests that restart or kill their server start a separate one, with Start.
package pgtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// patience limits a shared server's start and single statements.
const patience = 2 * time.Minute

var shared source

// Main runs a package's tests and stops the server that they shared. Without it, the server ends
// with the process.
func Main(m *testing.M) {
	m.Run()
	shared.stop()
}

// DSN returns the DSN of a new, empty database (encoding UTF8, locale C), for its owner, which is
// dropped with its open connections when the test ends. It takes some 100 ms; Schema takes a tenth.
func DSN(tb testing.TB) string {
	tb.Helper()
	name := newName()
	quoted := pgx.Identifier{name}.Sanitize()
	dsn := shared.do(tb, "CREATE DATABASE "+quoted+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")
	tb.Cleanup(func() { shared.do(tb, "DROP DATABASE IF EXISTS "+quoted+" WITH (FORCE)") })
	return inDatabase(dsn, name)
}

// Schema returns the DSN of a database that tests share, and a unique name for a schema. If the
// schema exists when the test ends, it is dropped with its content. No transaction that used it may
// be open then.
func Schema(tb testing.TB) (dsn, schema string) {
	tb.Helper()
	schema = newName()
	quoted := pgx.Identifier{schema}.Sanitize()
	dsn = shared.do(tb, "")
	tb.Cleanup(func() { shared.do(tb, "SET lock_timeout = '30s'; DROP SCHEMA IF EXISTS "+quoted+" CASCADE") })
	return dsn, schema
}

// With adds settings, each as name=value without spaces, to a DSN of either form.
func With(dsn string, settings ...string) string {
	for _, s := range settings {
		switch key, value, _ := strings.Cut(s, "="); {
		case !strings.Contains(dsn, "://"):
			dsn += " " + s
		case strings.Contains(dsn, "?"):
			dsn += "&" + key + "=" + url.QueryEscape(value)
		default:
			dsn += "?" + key + "=" + url.QueryEscape(value)
		}
	}
	return dsn
}

// Start starts a private server for this test, to be restarted and killed.
func Start(tb testing.TB, o pglocal.Options) *pglocal.Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	s, err := pglocal.Start(ctx, o)
	if err != nil {
		tb.Fatalf("pgtest: no server: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.Errorf("pgtest: %v", err)
		}
	})
	return s
}

func newName() string {
	return "interlude_" + strings.ToLower(rand.Text())
}
