package checkpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/checkpoint"
)

func files(tb testing.TB, dir string) []string {
	tb.Helper()
	var all []string
	require.NoError(tb, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(path))
		}
		return err
	}))
	return all
}

func TestSetWritesAFileAtomically(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "when", "needed")
	f := checkpoint.Files{Dir: dir}
	_, found, err := f.Get(t.Context(), "r1/1")
	require.NoError(t, err)
	require.False(t, found)

	require.NoError(t, f.Set(t.Context(), "r1/1", []byte("one")))
	body, found, err := f.Get(t.Context(), "r1/1")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "one", string(body))
	require.Equal(t, []string{"r1/1"}, files(t, dir), "what it was written as is gone")

	// A crash during a write leaves a part under another name, which no key refers to.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r1", ".new-123"), []byte("ha"), 0o600))
	for _, key := range []string{"r1/.new-123", "r1/new-123"} {
		_, found, err = f.Get(t.Context(), key)
		require.NoError(t, err)
		require.False(t, found)
	}

	require.NoError(t, f.Delete(t.Context(), "r1/1"))
	require.NoError(t, f.Delete(t.Context(), "r1/1"), "it is gone already")
	_, found, err = f.Get(t.Context(), "r1/1")
	require.NoError(t, err)
	require.False(t, found)
}

func TestKeyCannotLeaveTheFolder(t *testing.T) {
	dir := t.TempDir()
	f := checkpoint.Files{Dir: filepath.Join(dir, "in")}
	for i, key := range []string{"../out", "..", ".", "a/../../out", `..\out`, "C:out", "a b/ü\x00"} {
		f := checkpoint.Files{Dir: filepath.Join(dir, "in", strconv.Itoa(i))}
		require.NoError(t, f.Set(t.Context(), key, []byte(key)), key)
		body, _, err := f.Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, key, string(body))
	}
	for _, name := range files(t, dir) {
		require.Regexp(t, "^in/[0-9]+/", name)
	}
	for _, key := range []string{"", "/", "a/", "/a", "a//b", strings.Repeat("a", 201)} {
		require.ErrorContains(t, f.Set(t.Context(), key, nil), "want parts", key)
	}
	require.ErrorContains(t, checkpoint.Files{}.Set(t.Context(), "r1/1", nil), "Dir is empty")
}

func TestFailedSetLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f := checkpoint.Files{Dir: dir}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "r1", "taken"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r1", "taken", "x"), nil, 0o600))
	require.Error(t, f.Set(t.Context(), "r1/taken", []byte("one")), "a folder stands in its place")
	require.Equal(t, []string{"r1/taken/x"}, files(t, dir))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.Set(ctx, "r1/2", []byte("two")), context.Canceled)
	require.Equal(t, []string{"r1/taken/x"}, files(t, dir))
}

func TestGetRefusesATooLargeFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(dir, "large"), checkpoint.MaxBody+1))
	_, _, err := checkpoint.Files{Dir: dir}.Get(t.Context(), "large")
	require.ErrorContains(t, err, "want at most")
}
