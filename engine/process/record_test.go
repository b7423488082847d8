//go:build unix

package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
)

// A process has a record from before its start until its release.
func TestProcessIsOnRecordUntilItIsReleased(t *testing.T) {
	dir := t.TempDir()
	records := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		return files
	}
	c := shell(t, `cat "$RECORDS"/*.json* | grep -c "$INTERLUDE_TOKEN"`)
	c.Env = append(c.Env, "RECORDS="+dir)
	p, err := process.NewTable(dir).Start(c)
	require.NoError(t, err)
	require.NotEqual(t, "0\n", output(t, p), "it finds its own record")
	p.End()
	require.Len(t, records(), 1)
	p.Release()
	require.Empty(t, records())
}

// A run id that could lead out of the folder is refused before the start.
func TestStartRefusesARunIDThatIsNoFileName(t *testing.T) {
	for _, id := range []string{"", "../r1", "a/b", ".hidden", "a@b", strings.Repeat("x", 129)} {
		c := shell(t, "touch begun")
		c.RunID = id
		_, err := process.NewTable(t.TempDir()).Start(c)
		require.ErrorContains(t, err, "process record")
		require.NoFileExists(t, filepath.Join(c.Dir, "begun"))
	}
}

// E7: records in the system's temporary folder are trusted only in a folder private to this user:
// they say which processes are ended.
func TestRecordsInAFolderOfOthersAreNotTrusted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	table := process.NewTable("")
	run := func() error {
		p, err := table.Start(shell(t, "true"))
		if err == nil {
			p.Release()
		}
		return err
	}
	require.NoError(t, run())
	made, err := filepath.Glob(filepath.Join(os.TempDir(), "interlude-*"))
	require.NoError(t, err)
	require.Len(t, made, 1)

	require.NoError(t, os.Chmod(made[0], 0o777))
	require.ErrorContains(t, run(), "choose another folder")
	require.ErrorContains(t, table.Reap(t.Context(), "r1"), "choose another folder")

	require.NoError(t, os.Remove(made[0]))
	require.NoError(t, os.Symlink(t.TempDir(), made[0]))
	require.ErrorContains(t, run(), "choose another folder")

	require.NoError(t, os.Remove(made[0]))
	require.NoError(t, run())
}
