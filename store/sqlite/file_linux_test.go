package sqlite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// masked sets the process's umask for the test.
func masked(t *testing.T, mask int) {
	t.Helper()
	before := syscall.Umask(mask)
	t.Cleanup(func() { syscall.Umask(before) })
}

// J8: runs hold private text, so only the user may read the files that a store makes, whatever
// the umask, unless the options say otherwise. A file that exists keeps its mode.
func TestOpenMakesPrivateFiles(t *testing.T) {
	modes := func(path string, o sqlite.Options) map[string]fs.FileMode {
		s, err := sqlite.Open(t.Context(), path, o)
		require.NoError(t, err)
		require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 4}))
		_, err = s.Runs(t.Context(), store.Query{})
		require.NoError(t, err)
		found := make(map[string]fs.FileMode)
		files, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		for _, f := range files {
			info, err := f.Info()
			require.NoError(t, err)
			found[f.Name()] = info.Mode().Perm()
		}
		require.NoError(t, s.Close())
		return found
	}
	all := func(mode fs.FileMode) map[string]fs.FileMode {
		return map[string]fs.FileMode{"runs.db": mode, "runs.db-wal": mode, "runs.db-shm": mode}
	}
	shared := quick
	shared.FileMode = 0o660
	masked(t, 0o022)
	path := filepath.Join(t.TempDir(), "runs.db")
	require.Equal(t, all(0o600), modes(path, quick))
	require.Equal(t, all(0o600), modes(path, shared), "it exists")
	require.Equal(t, all(0o660), modes(filepath.Join(t.TempDir(), "runs.db"), shared))
	older := filepath.Join(t.TempDir(), "runs.db")
	require.NoError(t, os.WriteFile(older, nil, 0o644))
	require.Equal(t, all(0o644), modes(older, quick))

	for _, mode := range []fs.FileMode{0o400, 0o060, 0o700, fs.ModeSticky | 0o600} {
		_, err := sqlite.Open(t.Context(), path, sqlite.Options{FileMode: mode})
		require.ErrorIs(t, err, store.ErrInvalid)
		require.ErrorContains(t, err, "FileMode")
	}
}

// J8: an error of Open names the fault of the path, and no file is created.
func TestOpenRefusesBadPath(t *testing.T) {
	refused := func(path string, want error, says string) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, quick)
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, says)
		require.Nil(t, s)
	}
	dir := t.TempDir()
	missing := filepath.Join(dir, "no", "such")
	refused(filepath.Join(missing, "runs.db"), fs.ErrNotExist, "the folder "+missing+" does not exist: make it")
	require.NoDirExists(t, missing)
	refused(dir, sqlite.ErrNotDatabase, "it is a folder")
	t.Chdir(dir)
	for _, name := range []string{"", ":memory:", "file:runs.db?mode=memory"} { // no files with these names
		refused(name, store.ErrInvalid, "want the path of a file")
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("Dear diary"), 0o600))
	refused(file, sqlite.ErrNotDatabase, file)
	refused(filepath.Join(file, "runs.db"), syscall.ENOTDIR, file)
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	refused(pipe, sqlite.ErrNotDatabase, "it is not a regular file")
	require.NoError(t, os.Symlink(filepath.Join(missing, "runs.db"), filepath.Join(dir, "link")))
	refused(filepath.Join(dir, "link"), sqlite.ErrReadOnly, "no such file")
}

// J8: the error names a file or folder that this user may not write.
func TestOpenReportsUnwritableFolder(t *testing.T) {
	existing := closedFile(t)
	folder := filepath.Dir(existing)
	// root ignores permissions: the thread continues as another user, for files
	if os.Getuid() == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for _, path := range []string{existing, folder} {
			require.NoError(t, os.Chown(path, 65534, 65534))
		}
		for up := filepath.Dir(folder); up != filepath.Dir(up); up = filepath.Dir(up) {
			info, err := os.Stat(up)
			require.NoError(t, err)
			if info.Mode()&0o011 != 0o011 {
				require.NoError(t, os.Chmod(up, info.Mode()|0o011))
			}
		}
		require.NoError(t, syscall.Setfsuid(65534))
		defer func() { require.NoError(t, syscall.Setfsuid(0)) }()
	}
	require.NoError(t, os.Chmod(folder, 0o500))
	defer os.Chmod(folder, 0o700)
	_, err := sqlite.Open(t.Context(), filepath.Join(folder, "new.db"), quick)
	require.ErrorIs(t, err, sqlite.ErrReadOnly)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorContains(t, err, "no file can be made in the folder")
	_, err = sqlite.Open(t.Context(), existing, quick)
	require.ErrorIs(t, err, sqlite.ErrReadOnly)
	require.ErrorContains(t, err, "runs.db-wal")
	require.NoError(t, os.Chmod(folder, 0o700))
	require.NoError(t, os.Chmod(existing, 0o400))
	_, err = sqlite.Open(t.Context(), existing, quick)
	require.ErrorIs(t, err, sqlite.ErrReadOnly)
	require.ErrorIs(t, err, fs.ErrPermission)
}

// J8: a companion file that cannot be opened is named, with the system's reason. Only unwritable
// files are ErrReadOnly.
func TestOpenNamesWhatCannotBeOpened(t *testing.T) {
	path := closedFile(t)
	require.NoError(t, os.Mkdir(path+"-wal", 0o700))
	_, err := sqlite.Open(t.Context(), path, quick)
	require.ErrorIs(t, err, syscall.EISDIR)
	require.ErrorContains(t, err, path+"-wal")
	require.NotErrorIs(t, err, sqlite.ErrReadOnly)
	require.NoError(t, os.Remove(path+"-wal"))

	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no probe is left")
}

// J8: SQLite ignores a failed flush of the folder, and so a power failure could lose the name of a
// new WAL. Open refuses instead, unless the folder may not be read or its file system has no flush,
// or a power failure may lose commits anyway.
func TestOpenFlushesItsFolder(t *testing.T) {
	for _, tc := range []struct {
		fault error
		level sqlite.Synchronous
		fails bool
	}{
		{syscall.EIO, sqlite.Full, true}, {syscall.ENOSPC, sqlite.Full, true}, {syscall.EIO, sqlite.Normal, false},
		{syscall.EINVAL, sqlite.Full, false}, {syscall.ENOTSUP, sqlite.Full, false},
		{syscall.EACCES, sqlite.Full, false},
	} {
		path := filepath.Join(t.TempDir(), "runs.db")
		o := sqlite.Options{Synchronous: tc.level, WatchInterval: -1}
		restore := sqlite.FailFolderSync(tc.fault)
		s, err := sqlite.Open(t.Context(), path, o)
		restore()
		if tc.fails {
			require.ErrorIs(t, err, tc.fault)
			require.ErrorContains(t, err, "the names in its folder cannot be made durable")
			s, err = sqlite.Open(t.Context(), path, o)
		}
		require.NoError(t, err, "%v with %s", tc.fault, tc.level)
		require.NoError(t, s.Close())
	}
}
