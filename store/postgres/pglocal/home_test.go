//go:build unix

package pglocal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGivenFolderIsKept(t *testing.T) {
	parent := open(t)
	for name, dir := range map[string]string{"new": filepath.Join(parent, "a", "b"), "empty": open(t)} {
		t.Run(name, func(t *testing.T) {
			first, err := Start(t.Context(), Options{Dir: dir, Settings: map[string]string{"work_mem": "5MB"}})
			require.NoError(t, err)
			execute(t, connect(t, first.DSN("")), "CREATE TABLE kept AS SELECT 7 AS n")

			_, err = Start(t.Context(), Options{Dir: dir})
			require.ErrorContains(t, err, "postmaster.pid", "one server a folder")

			require.NoError(t, first.Kill(), "a crash is recovered by the next")
			require.NoError(t, first.Stop())
			second := start(t, Options{Dir: dir, Settings: map[string]string{"work_mem": "6MB"}})
			conn := connect(t, second.DSN(""))
			require.Equal(t, 7, one[int](t, conn, "SELECT n FROM kept"))
			require.Equal(t, "6MB", one[string](t, conn, "SHOW work_mem"))
			require.NoError(t, second.Stop())
			require.FileExists(t, filepath.Join(dir, "data", "PG_VERSION"))
		})
	}
}

func TestForeignFolderIsRefused(t *testing.T) {
	dir := open(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600))
	_, err := Start(t.Context(), Options{Dir: dir})
	require.ErrorContains(t, err, "thesis.txt")
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, 1)

	_, err = Start(t.Context(), Options{Dir: filepath.Join(dir, "thesis.txt")})
	require.ErrorContains(t, err, "not a directory")
}

// An initdb that fails leaves the folder as empty as it was.
func TestFailedInitdbLeavesFolderEmpty(t *testing.T) {
	bin, dir := open(t), open(t)
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho no luck today >&2\nexit 3\n"),
			0o755))
	}
	_, err := Start(t.Context(), Options{Dir: dir, Bin: bin})
	require.ErrorContains(t, err, "no luck today")
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, found)
}

// The user who runs the server cannot reach a private folder of root's: the error says so, and what
// to do. A temporary server of root's therefore does not use root's temporary folder.
func TestUnreachableFolderIsRefused(t *testing.T) {
	closed := open(t)
	require.NoError(t, os.Chmod(closed, 0o700))
	t.Setenv("TMPDIR", closed)
	s := start(t, Options{})
	connect(t, s.DSN(""))

	_, err := Start(t.Context(), Options{Dir: filepath.Join(closed, "mine")})
	if os.Geteuid() == 0 {
		require.ErrorContains(t, err, "chmod o+x")
		require.NotEqual(t, closed, filepath.Dir(s.home.dir))
		require.Empty(t, leftovers(t))
		return
	}
	require.NoError(t, err, "others run the server themselves")
}
