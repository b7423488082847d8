//go:build search

package flow_test

import (
	"path/filepath"
	"testing"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// M3 J9: three hosts serve a tree of three levels, and are killed one after the other.
func TestM3TreeSurvivesKillsOnSQLite(t *testing.T) {
	killNodes(t, filepath.Join(t.TempDir(), "runs.db"))
}

func TestM3TreeSurvivesKillsOnPostgreSQL(t *testing.T) {
	killNodes(t, pgtest.DSN(t))
}
