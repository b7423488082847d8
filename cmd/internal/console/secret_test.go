package console

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store/sqlite"
)

// A database is named without its password, anywhere in the connection string.
func TestADatabaseIsNamedWithoutItsPassword(t *testing.T) {
	for name, want := range map[string]string{
		"runs.db":                   "runs.db",
		"postgres://u:hunter2@h/db": "postgres://u:xxxxx@h/db",
		"postgres://h/db?user=u&password=hunter2":  "postgres://h/db?user=u&password=xxxxx",
		"postgres://h/db?pass%77ord=hunter2&x=1":   "postgres://h/db?pass%77ord=xxxxx&x=1",
		"postgres://h/db?sslPassword=hunter2":      "postgres://h/db?sslPassword=xxxxx",
		"postgres://u:hun#ter2@h/db":               "postgres://…",
		"postgres://u:12#hunter2@h/db":             "postgres://…",
		"postgres://u:12/hunter2@h/db":             "postgres://…",
		"postgres://u:12?hunter2@h/db":             "postgres://…",
		"mysql://u:hunter2@h/db":                   "mysql://u:xxxxx@h/db",
		"host=h user=u password=hunter2 dbname=x":  "host=h user=u password=xxxxx dbname=x",
		"host=h password = 'hunter2 and' dbname=x": "host=h password = xxxxx dbname=x",
		`password='a\'hunter2' host=h`:             "password=xxxxx host=h",
		`password=a\ hunter2 host=h`:               "password=xxxxx host=h",
	} {
		d := &Database{name: name}
		require.Equal(t, want, d.String())
		if err := d.resolve(); err != nil {
			require.NotContains(t, err.Error(), "hunter2")
		}
		if !strings.Contains(name, "://") && strings.Contains(name, "password") {
			require.Error(t, d.resolve(), "a file's name would contain the password")
		}
	}
}

// The error for a database that this user cannot write says how to proceed.
func TestAnUnwritableDatabaseSaysWhatToDo(t *testing.T) {
	d := &Database{name: "runs.db"}
	for _, cause := range []error{sqlite.ErrReadOnly, fs.ErrPermission} {
		err := d.explain(fmt.Errorf("open: %w", cause))
		require.ErrorIs(t, err, cause)
		require.ErrorContains(t, err, "let this user write runs.db and its folder")
	}
}

// Runs contain texts of people and agents, so only their owner can read the folder.
func TestTheFolderOfRunsIsItsOwnersOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".interlude", "runs.db")
	st, fresh, err := (&Database{}).OpenHost(t.Context(), file)
	require.NoError(t, err)
	require.True(t, fresh)
	require.NoError(t, st.Close())
	info, err := os.Stat(filepath.Dir(file))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}
