package sqlite_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

func setPools(t *testing.T, s store.Store) error {
	t.Helper()
	return s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 4})
}

// J9, docs/production.md: a drill. Backup copies the file while hosts write to it; the copy is
// self-contained, holds everything acknowledged before, is private, and is restored to an empty
// place. The restored store keeps its identity and accepts writes.
func TestBackupIsRestored(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "runs.db"), quick)
	require.NoError(t, err)
	require.NoError(t, setPools(t, s))
	for i := range 50 {
		require.NoError(t, s.Commit(ctx, []store.Commit{newRun(fmt.Sprint("before-", i), 2000)})[0])
	}
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Commit(ctx, []store.Commit{newRun(fmt.Sprint("beside-", i), 2000)})[0]; err != nil {
				t.Errorf("beside a backup: %v", err)
				return
			}
		}
	})
	backup, path := filepath.Join(dir, "backup.db"), filepath.Join(dir, "restored.db")
	require.NoError(t, s.Backup(ctx, backup))
	close(stop)
	writer.Wait()
	identity, err := s.Identity(ctx)
	require.NoError(t, err)
	require.NoError(t, s.Close())

	info, err := os.Stat(backup)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, []string{"backup.db", "runs.db"}, names(t, dir))

	require.NoError(t, sqlite.Restore(ctx, backup, path))
	require.Equal(t, []string{"backup.db", "restored.db", "runs.db"}, names(t, dir))
	restored, err := sqlite.Open(ctx, path, quick)
	require.NoError(t, err)
	defer restored.Close()
	for i := range 50 {
		_, err := restored.Run(ctx, fmt.Sprint("before-", i))
		require.NoError(t, err)
	}
	is, err := restored.Identity(ctx)
	require.NoError(t, err)
	require.Equal(t, identity, is)
	require.NoError(t, restored.Commit(ctx, []store.Commit{newRun("after", 10)})[0])
}

// J9: neither Backup nor Restore writes over anything, and neither leaves a part of a file.
func TestBackupAndRestoreRefuse(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	s, err := sqlite.Open(ctx, at("runs.db"), quick)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, setPools(t, s))
	require.NoError(t, s.Commit(ctx, []store.Commit{newRun("kept", 100_000)})[0])
	require.NoError(t, s.Backup(ctx, at("backup.db")))
	good, err := os.ReadFile(at("backup.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at("damaged.db"), append(make([]byte, 100), good[100:]...), 0o600))
	require.NoError(t, os.WriteFile(at("short.db"), good[:len(good)/2], 0o600))
	require.NoError(t, os.WriteFile(at("empty.db"), nil, 0o600))
	require.NoError(t, os.WriteFile(at("with-wal.db"), good, 0o600))
	require.NoError(t, os.WriteFile(at("with-wal.db-wal"), good, 0o600))
	require.NoError(t, os.WriteFile(at("stale.db-wal"), good, 0o600))
	before := names(t, dir)

	require.ErrorIs(t, s.Backup(ctx, at("backup.db")), fs.ErrExist)
	require.ErrorIs(t, s.Backup(ctx, at("no/such/backup.db")), fs.ErrNotExist)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, s.Backup(ended, at("ended.db")), context.Canceled)
	for _, c := range []struct {
		backup, path string
		want         error
	}{
		{"backup.db", "runs.db", fs.ErrExist},
		{"backup.db", "stale.db", fs.ErrExist},
		{"with-wal.db", "new.db", fs.ErrExist},
		{"missing.db", "new.db", fs.ErrNotExist},
		{"damaged.db", "new.db", sqlite.ErrNotDatabase},
		{"short.db", "new.db", sqlite.ErrCorrupt},
		{"empty.db", "new.db", sqlite.ErrNotDatabase},
	} {
		require.ErrorIs(t, sqlite.Restore(ctx, at(c.backup), at(c.path)), c.want, "%s to %s", c.backup, c.path)
	}
	require.ErrorIs(t, sqlite.Restore(ended, at("backup.db"), at("new.db")), context.Canceled)
	require.Equal(t, before, names(t, dir), "nothing is left")
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Backup(ctx, at("closed.db")), store.ErrClosed)
}

// names lists the files in a folder, without an open store's companion files.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if n := f.Name(); n != "runs.db-wal" && n != "runs.db-shm" {
			names = append(names, n)
		}
	}
	return names
}
