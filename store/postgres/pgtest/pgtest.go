// Package pgtest gives tests an empty PostgreSQL database, or an empty corner of one.
//
// The server is the one that the environment's INTERLUDE_POSTGRES names (a DSN as pgx reads it, of
// a user who may create databases), else a private one of package pglocal, which all tests of the
// process share and the first to ask for it starts, in a second or two. A test is never skipped:
// when there is no server to be had, it fails with one line that says what to install.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		pool, err := pgxpool.New(t.Context(), pgtest.DSN(t))
//
// Tests that restart or kill their server start one of their own, with Start.
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

// patience is how long a shared server may take for one statement, or to start.
const patience = 2 * time.Minute

// shared is this process's server.
var shared source

// Main runs a package's tests and stops the server that they shared. A package without it leaves
// that to the end of the process, which the server does not outlive either.
func Main(m *testing.M) {
	m.Run()
	shared.stop()
}

// DSN is that of a new, empty database (encoding UTF8, locale C), for its owner. It is dropped when
// the test ends, with whoever is still connected. It takes some 100 ms; Schema takes a tenth.
func DSN(tb testing.TB) string {
	tb.Helper()
	name := newName()
	quoted := pgx.Identifier{name}.Sanitize()
	dsn := shared.do(tb, "CREATE DATABASE "+quoted+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")
	tb.Cleanup(func() { shared.do(tb, "DROP DATABASE IF EXISTS "+quoted+" WITH (FORCE)") })
	return inDatabase(dsn, name)
}

// Schema is the DSN of a database that the tests share, and the name of a schema that nobody else
// uses in it. The schema does not exist; if it does when the test ends, it is dropped with all that
// is in it. Then no transaction may be open that used it.
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

// Start starts a server for this test alone, to be restarted and killed, and stops it when the test
// ends.
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

// newName is one that no other test, of any process, has.
func newName() string {
	return "interlude_" + strings.ToLower(rand.Text())
}
