package sqlite

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// J9: both ways to identify a file agree, distinguish two files, and report a missing file.
func TestBothWaysIdentifyAFile(t *testing.T) {
	dir := t.TempDir()
	ways := map[string]func(string, *fileID) error{"statx": identify, "stat": identifyByStat}
	one, other := filepath.Join(dir, "one"), filepath.Join(dir, "other")
	for _, path := range []string{one, other} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	for name, first := range ways {
		for _, second := range ways {
			var a, b fileID
			require.NoError(t, first(one, &a), name)
			require.NoError(t, second(one, &b), name)
			require.True(t, a.same(&b), name)
			require.NoError(t, second(other, &b), name)
			require.False(t, a.same(&b), name)
		}
		require.ErrorIs(t, first(filepath.Join(dir, "none"), new(fileID)), fs.ErrNotExist, name)
	}
}
