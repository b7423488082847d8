//go:build search

package flow_test

import (
	"path/filepath"
	"testing"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// M1 J9: hosts are killed while they execute functions, on SQLite and PostgreSQL.
func TestM1HostsAreKilledOnSQLite(t *testing.T) {
	killHosts(t, filepath.Join(t.TempDir(), "runs.db"))
}

func TestM1HostsAreKilledOnPostgreSQL(t *testing.T) {
	killHosts(t, pgtest.DSN(t))
}
