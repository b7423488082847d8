//go:build unix

package process_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
)

// tempHome is a home whose path leaves room for sockets.
func tempHome(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "h")
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// ended waits for the process's end and returns the environment that it printed, without its token.
func ended(tb testing.TB, p *process.Process) (env []string) {
	tb.Helper()
	env = strings.Split(strings.TrimSpace(output(tb, p)), "\n")
	require.NoError(tb, p.Err(), p.ErrorText())
	p.Release()
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, process.EnvToken+"=") })
}

// J11: a process's temporary folder is removed with it, also unwritable folders, and nothing
// elsewhere. Its other variables are unchanged.
func TestTemporaryFilesGoWithTheirProcess(t *testing.T) {
	home, kept, records := tempHome(t), t.TempDir(), t.TempDir()
	c := shell(t, "env", `mkdir -p "$TMPDIR/cache/locked"`, `echo x > "$TMPDIR/cache/locked/file"`,
		`ln -s "$KEPT" "$TMPDIR/link"`, `chmod 0 "$TMPDIR/cache/locked"`, `chmod 500 "$TMPDIR/cache"`)
	c.Env = append(c.Env, "TMPDIR="+kept, "TMP=a", "TEMP=b", "KEPT="+kept)
	require.NoError(t, os.WriteFile(filepath.Join(kept, "file"), nil, 0o600))
	table := process.NewTable(records)
	c.TempIn = home
	p, err := table.Start(c)
	require.NoError(t, err)
	with := ended(t, p)
	c.TempIn = ""
	c.Args = []string{"-c", "env"}
	p, err = table.Start(c)
	require.NoError(t, err)
	without := ended(t, p)
	at := slices.IndexFunc(with, func(v string) bool { return strings.HasPrefix(v, "TMPDIR="+home+"/t") })
	require.GreaterOrEqual(t, at, 0, "%q", with)
	require.NoDirExists(t, strings.TrimPrefix(with[at], "TMPDIR="))
	with[at] = "TMPDIR=" + kept
	require.ElementsMatch(t, without, with)
	require.FileExists(t, filepath.Join(kept, "file"))
	for _, dir := range []string{home, records} {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// The path leaves room for Unix sockets, whatever the home's path; a home that is missing or a link
// is not used. A sandbox may show only the home.
func TestTemporaryFolderHasAShortPath(t *testing.T) {
	system, home := tempHome(t), tempHome(t)
	t.Setenv("TMPDIR", system)
	deep := filepath.Join(home, strings.Repeat("x", 60))
	require.NoError(t, os.Mkdir(deep, 0o700))
	link := filepath.Join(home, "l")
	require.NoError(t, os.Symlink(deep, link))
	for in, want := range map[string]string{home: home, deep: system, link: system, home + "/no": system} {
		c := shell(t, "env", `echo x > "$TMPDIR/file"`)
		c.TempIn = in
		env := ended(t, started(t, c))
		at := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "TMPDIR="+want+"/") })
		require.GreaterOrEqual(t, at, 0, "%s: %q", in, env)
		require.LessOrEqual(t, len(env[at]), len("TMPDIR=")+64)
		require.NoDirExists(t, strings.TrimPrefix(env[at], "TMPDIR="))
	}
	left, err := os.ReadDir(deep)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A failed start leaves no folder either.
func TestFailedStartLeavesNoTemporaryFolder(t *testing.T) {
	c := shell(t, "true")
	c.Path, c.TempIn = "/no/such/program", tempHome(t)
	_, err := process.NewTable(t.TempDir()).Start(c)
	require.ErrorIs(t, err, os.ErrNotExist)
	left, err := os.ReadDir(c.TempIn)
	require.NoError(t, err)
	require.Empty(t, left)
}
