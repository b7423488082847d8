//go:build unix

package pglocal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// install makes a folder that has the programs, as far as one can see.
func install(tb testing.TB, dir string) string {
	tb.Helper()
	require.NoError(tb, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), nil, 0o755))
	}
	return dir
}

func TestProgramsAreFound(t *testing.T) {
	root := t.TempDir()
	named, env, path := install(t, root+"/named"), install(t, root+"/env"), install(t, root+"/path")
	for _, version := range []string{"9.6", "14", "15", "9.5"} {
		install(t, root+"/lib/"+version+"/bin")
	}
	require.NoError(t, os.MkdirAll(root+"/lib/99/bin", 0o755)) // a client's folder, without a server
	t.Setenv("PATH", path)
	t.Setenv("INTERLUDE_PG_BIN", env)

	for _, step := range []struct{ given, want string }{{named, named}, {"", env}} {
		got, err := findPrograms(step.given)
		require.NoError(t, err)
		require.Equal(t, step.want, got)
	}
	t.Setenv("INTERLUDE_PG_BIN", "")
	got, err := findPrograms("")
	require.NoError(t, err)
	require.Equal(t, path, got)

	got, err = newest([]string{root + "/nowhere/*", root + "/lib/*/bin"})
	require.NoError(t, err)
	require.Equal(t, root+"/lib/15/bin", got)
}

func TestMissingProgramsAreNamed(t *testing.T) {
	empty := t.TempDir()
	_, err := newest([]string{empty + "/*/bin"})
	require.ErrorIs(t, err, ErrMissing)

	_, err = Start(t.Context(), Options{Bin: empty})
	require.ErrorIs(t, err, ErrMissing)
	require.ErrorContains(t, err, "Options.Bin is "+empty)

	t.Setenv("INTERLUDE_PG_BIN", empty)
	_, err = Start(t.Context(), Options{})
	require.ErrorIs(t, err, ErrMissing, "a folder that is named is not replaced by another")
	require.ErrorContains(t, err, "apt-get install -y postgresql")
	require.NotContains(t, err.Error(), "\n")
}
