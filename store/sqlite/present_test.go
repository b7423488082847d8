package sqlite_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// J9: changes to the files of an open store that make its data disappear with the process.
var disappearances = map[string]func(t *testing.T, path string){
	"file removed": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
	"file moved":   func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+".old")) },
	"file replaced by a copy": func(t *testing.T, path string) {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+".new", body, 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	},
	"folder moved": func(t *testing.T, path string) {
		require.NoError(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".old"))
	},
	"WAL removed": func(t *testing.T, path string) { require.NoError(t, os.Remove(path+"-wal")) },
}

// J9: a store whose file was removed or replaced acknowledges nothing, and every later call says
// so; earlier acknowledged data is in the opened file.
func TestCommitIsRefusedOnceTheFileIsReplaced(t *testing.T) {
	for name, disappear := range disappearances {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs", "runs.db")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			s, err := sqlite.Open(t.Context(), path, quick)
			require.NoError(t, err)
			defer s.Close()
			require.NoError(t, setPools(t, s))
			require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun("before", 10)})[0])

			disappear(t, path)
			require.ErrorIs(t, s.Commit(t.Context(), []store.Commit{newRun("after", 10)})[0], sqlite.ErrReplaced)
			_, err = s.Run(t.Context(), "before")
			require.ErrorIs(t, err, sqlite.ErrReplaced)
			require.ErrorIs(t, s.Commit(t.Context(), []store.Commit{newRun("later", 10)})[0], sqlite.ErrReplaced)
			require.ErrorContains(t, err, "is no longer the file that was opened")
		})
	}
}

// J8, J9: nothing is confirmed from a file that is gone, though nothing was written since; nor
// while other processes would not share this one's memory of the WAL.
func TestConfirmIsRefusedOnceTheFileIsReplaced(t *testing.T) {
	cases := maps.Clone(disappearances)
	cases["shared memory removed"] = func(t *testing.T, path string) { require.NoError(t, os.Remove(path+"-shm")) }
	for name, disappear := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs", "runs.db")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			s, err := sqlite.Open(t.Context(), path, quick)
			require.NoError(t, err)
			defer s.Close()
			nothing := func(store.Reader) error { return nil }
			require.NoError(t, s.Confirm(t.Context(), nothing))
			disappear(t, path)
			require.ErrorIs(t, s.Confirm(t.Context(), nothing), sqlite.ErrReplaced)
		})
	}
}

// J9: while the file is replaced under load, every run that was acknowledged is in the file that
// was opened.
func TestNothingAcknowledgedIsInNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(t.Context(), path, quick)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, setPools(t, s))

	var acknowledged sync.Map
	var writers sync.WaitGroup
	half := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := range 200 {
				if w == 0 && i == 100 {
					close(half)
				}
				id := fmt.Sprintf("run-%d-%d", w, i)
				err := s.Commit(t.Context(), []store.Commit{newRun(id, 10)})[0]
				if err == nil {
					acknowledged.Store(id, true)
				} else if !errors.Is(err, sqlite.ErrReplaced) {
					t.Errorf("run %s: %v", id, err)
				}
			}
		})
	}
	<-half
	backup := filepath.Join(filepath.Dir(path), "moved.db")
	for _, suffix := range []string{"-wal", "-shm", ""} { // the last rename is what puts the rest out of reach
		require.NoError(t, os.Rename(path+suffix, backup+suffix))
	}
	writers.Wait()
	require.ErrorIs(t, s.Commit(t.Context(), []store.Commit{newRun("last", 10)})[0], sqlite.ErrReplaced)
	require.NoError(t, s.Close())

	moved, err := sqlite.Open(t.Context(), backup, quick)
	require.NoError(t, err)
	defer moved.Close()
	acknowledged.Range(func(id, _ any) bool {
		_, err := moved.Run(t.Context(), id.(string))
		require.NoError(t, err, id)
		return true
	})
}

// J9: a path that is a link is followed; that its target was replaced is seen.
func TestAStoreBehindALinkIsWatchedOver(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.db"), filepath.Join(dir, "runs.db")
	require.NoError(t, os.WriteFile(target, nil, 0o600))
	require.NoError(t, os.Symlink(target, link))
	s, err := sqlite.Open(t.Context(), link, quick)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, setPools(t, s))
	require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun("before", 10)})[0])
	require.NoError(t, os.Rename(target, target+".old"))
	require.ErrorIs(t, s.Commit(t.Context(), []store.Commit{newRun("after", 10)})[0], sqlite.ErrReplaced)
}
