//go:build pgbouncer && search

package postgres_test

import (
	"testing"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// The suite passes through a pooler that gives each transaction another session, in each mode of
// the driver that needs no session.
func TestStoreThroughPgBouncer(t *testing.T) {
	p := newPooler(t)
	stateless := []string{"exec", "simple_protocol", "cache_describe"}
	if p.prepares {
		stateless = append(stateless, "cache_statement")
	}
	inTurn(func(_, handle int64) string {
		return pgtest.With(p.dsn, "default_query_exec_mode="+stateless[int(handle)%len(stateless)])
	}).Run(t)
}
