package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// envAlone makes this program take the file for itself.
const envAlone = "INTERLUDE_TEST_ALONE"

// useAlone reads a file as its only user, which fails while another process has locks on it.
func useAlone(path string) error {
	db, err := sql.Open("sqlite", path+"?_pragma=locking_mode(EXCLUSIVE)")
	if err != nil {
		return err
	}
	var runs int
	err = db.QueryRowContext(context.Background(), "SELECT count(*) FROM runs").Scan(&runs)
	return errors.Join(err, db.Close())
}

// J9: a store keeps its locks on the file, whatever else this process does with the file. Without them,
// another process would take itself for the only user, and delete the WAL.
func TestAStoreKeepsItsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(t.Context(), path, quick)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, setPools(t, s))
	for name, use := range map[string]func() error{
		"inspect": func() error {
			_, err := sqlite.Inspect(t.Context(), path)
			return err
		},
		"another store": func() error {
			other, err := sqlite.Open(t.Context(), path, quick)
			require.NoError(t, err)
			return other.Close()
		},
		"by a link": func() error {
			require.NoError(t, os.Symlink(path, path+".link"))
			_, err := sqlite.Inspect(t.Context(), path+".link")
			return err
		},
		"refuse earlier releases": func() error { return sqlite.RefuseEarlier(t.Context(), path) },
		"back up":                 func() error { return s.Backup(t.Context(), path+".backup") },
	} {
		require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun(name, 10)})[0], name)
		require.NoError(t, use(), name)
		other := exec.CommandContext(t.Context(), os.Args[0])
		other.Env = append(os.Environ(), envAlone+"="+path)
		out, err := other.CombinedOutput()
		require.Error(t, err, name)
		require.Contains(t, string(out), "database is locked", name)
		require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun("after "+name, 10)})[0], name)
	}
}
