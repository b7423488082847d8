//go:build unix

package plainfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/plainfile"
)

// J11: a file planted in a folder can neither block a process that opens it, nor redirect its reads
// and writes to another place.
func TestOpenRefusesPlantedFiles(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(elsewhere, []byte("theirs"), 0o600))
	for name, plant := range map[string]struct {
		make func(path string) error
		says string
	}{
		"a named pipe":    {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "is a named pipe"},
		"a link":          {func(p string) error { return os.Symlink(elsewhere, p) }, "is a symbolic link"},
		"a link inside":   {func(p string) error { return os.Symlink("beside", p) }, "is a symbolic link"},
		"a hard link":     {func(p string) error { return os.Link(elsewhere, p) }, "has other names"},
		"a folder":        {func(p string) error { return os.Mkdir(p, 0o700) }, "is a folder"},
		"a device":        {func(p string) error { return os.Symlink("/dev/zero", p) }, "is a symbolic link"},
		"a piped link":    {plantBoth, "is a symbolic link"},
		"a link to proc":  {func(p string) error { return os.Symlink("/proc/self/fd/1", p) }, "is a symbolic link"},
		"a link to a tty": {func(p string) error { return os.Symlink("/dev/ptmx", p) }, "is a symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "beside"), []byte("theirs"), 0o600))
			require.NoError(t, plant.make(filepath.Join(dir, "it")))
			_, err := plainfile.Append(dir, "it")
			require.ErrorIs(t, err, plainfile.ErrRefused)
			require.ErrorContains(t, err, plant.says)
			if name != "a hard link" { // reading it is allowed, and does not block
				_, err = plainfile.Read(dir, "it", 100)
				require.ErrorIs(t, err, plainfile.ErrRefused)
			}
			for _, file := range []string{elsewhere, filepath.Join(dir, "beside")} {
				body, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, "theirs", string(body))
			}
		})
	}
}

// plantBoth makes a pipe, and a link to it.
func plantBoth(path string) error {
	if err := syscall.Mkfifo(path+".pipe", 0o600); err != nil {
		return err
	}
	return os.Symlink(filepath.Base(path)+".pipe", path)
}

// J11: a folder that is a link or a pipe is refused as well.
func TestOpenRefusesALinkedFolder(t *testing.T) {
	dir, target := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(target, filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for _, name := range []string{"link", "pipe"} {
		_, err := plainfile.Append(filepath.Join(dir, name), "it")
		require.ErrorIs(t, err, plainfile.ErrRefused)
	}
	left, err := os.ReadDir(target)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A plain file is created for this user only, can be appended to, and is read up to a limit.
func TestAppendAndRead(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		f, err := plainfile.Append(dir, "it")
		require.NoError(t, err)
		_, err = f.WriteString("four")
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	info, err := os.Stat(filepath.Join(dir, "it"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	body, err := plainfile.Read(dir, "it", 8)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("four", 2), string(body))
	_, err = plainfile.Read(dir, "it", 7)
	require.ErrorContains(t, err, "want at most 7 bytes")
	_, err = plainfile.Read(dir, "none", 7)
	require.ErrorIs(t, err, os.ErrNotExist)
}
