package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// snapshot copies a file and its WAL, as a crash at this moment would leave them.
func snapshot(t *testing.T, path string) (db, wal []byte) {
	t.Helper()
	db, err := os.ReadFile(path)
	require.NoError(t, err)
	wal, err = os.ReadFile(path + "-wal")
	require.NoError(t, err)
	return db, wal
}

// pairOf creates a file and its WAL.
func pairOf(t *testing.T, db, wal []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	require.NoError(t, os.WriteFile(path, db, 0o600))
	require.NoError(t, os.WriteFile(path+"-wal", wal, 0o600))
	return path
}

// opened is an open store with some runs.
func opened(t *testing.T, runs ...string) (path string, s *sqlite.Store) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	require.NoError(t, setPools(t, s))
	commitRuns(t, s, runs...)
	return path, s
}

func commitRuns(t *testing.T, s *sqlite.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun(id, 3000)})[0])
	}
}

// execute executes statements on a file as another program does.
func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
}

func backupOf(t *testing.T, s *sqlite.Store) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, s.Backup(context.WithoutCancel(t.Context()), path))
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	return body
}

// J8, J9: a file with the WAL of another one is refused, and both are unchanged. So is an earlier
// copy of the same file.
func TestOpenRefusesTheWALOfAnotherFile(t *testing.T) {
	path, s := opened(t, "a", "b")
	earlier, err := os.ReadFile(path)
	require.NoError(t, err)
	backup := backupOf(t, s)
	for i := range 3 { // the WAL is restarted, and its content is in the file
		execute(t, path, "PRAGMA wal_checkpoint(RESTART)")
		commitRuns(t, s, fmt.Sprint("later-", i))
	}
	db, wal := snapshot(t, path)
	otherPath, _ := opened(t, "x")
	otherDB, otherWAL := snapshot(t, otherPath)
	for name, c := range map[string]struct{ db, wal []byte }{
		"a new store's file":                          {otherDB, wal},
		"a new store's WAL":                           {db, otherWAL},
		"a backup of the store":                       {backup, wal},
		"a backup of the store, as it is now":         {backupOf(t, s), wal},
		"a copy of the file from some WALs before":    {earlier, wal},
		"a copy of the file, and a new store's WAL":   {earlier, otherWAL},
		"a backup of the store beside another's WAL ": {backup, otherWAL},
	} {
		t.Run(name, func(t *testing.T) {
			pair := pairOf(t, c.db, c.wal)
			_, err := sqlite.Open(t.Context(), pair, quiet)
			require.ErrorIs(t, err, sqlite.ErrForeignWAL)
			require.ErrorContains(t, err, "runs.db-wal")
			db, wal := snapshot(t, pair)
			require.Equal(t, c.db, db)
			require.Equal(t, c.wal, wal)
			require.NoError(t, os.Remove(pair+"-wal"))
			s, err := sqlite.Open(t.Context(), pair, quiet)
			require.NoError(t, err, "the file alone is sound")
			require.NoError(t, s.Close())
		})
	}
}

// J8: after a crash the file is opened again, with all acknowledged data, whatever checkpoints were
// made and WALs restarted, by one store or another.
func TestOpenAcceptsWhatACrashLeaves(t *testing.T) {
	path, s := opened(t)
	other, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer other.Close()
	stores := []*sqlite.Store{s, other}
	checkpoints := []string{"PASSIVE", "RESTART", "FULL", "TRUNCATE"}
	var ids []string
	for i := range 40 {
		id := fmt.Sprint("run-", i)
		commitRuns(t, stores[i/3%2], id)
		ids = append(ids, id)
		if i%5 == 4 {
			execute(t, path, "PRAGMA wal_checkpoint("+checkpoints[i/5%len(checkpoints)]+")")
		}
		if i%11 == 10 {
			require.NoError(t, other.Close())
			other, err = sqlite.Open(t.Context(), path, quiet)
			require.NoError(t, err)
			stores[1] = other
		}
		db, wal := snapshot(t, path)
		left, err := sqlite.Open(t.Context(), pairOf(t, db, wal), quiet)
		require.NoError(t, err, i)
		for _, id := range ids {
			_, err := left.Run(t.Context(), id)
			require.NoError(t, err, id)
		}
		require.NoError(t, left.Close())
	}
}

// J8: VACUUM by an operator may move the row that names the WAL, here since the table was recreated
// behind others that have grown.
func TestOpenAcceptsWhatACrashAfterVacuumLeaves(t *testing.T) {
	path, s := opened(t)
	for i := range 20 {
		commitRuns(t, s, fmt.Sprint("before-", i))
	}
	execute(t, path, "DROP TABLE wal")
	require.NoError(t, s.Close())
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer s.Close()
	commitRuns(t, s, "between")
	execute(t, path, "PRAGMA wal_checkpoint(RESTART)", "VACUUM")
	commitRuns(t, s, "after")
	db, wal := snapshot(t, path)
	left, err := sqlite.Open(t.Context(), pairOf(t, db, wal), quiet)
	require.NoError(t, err)
	require.NoError(t, left.Close())
}

// J8: a file with an earlier release's WAL, which names none, is opened; so is a file without the
// table.
func TestOpenAcceptsTheWALOfAnEarlierRelease(t *testing.T) {
	path, s := opened(t, "a")
	require.NoError(t, s.Close())
	execute(t, path, "DROP TABLE wal")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "PRAGMA wal_autocheckpoint = 0; UPDATE pools SET capacity = 77")
	require.NoError(t, err)
	file, wal := snapshot(t, path)
	s, err = sqlite.Open(t.Context(), pairOf(t, file, wal), quiet)
	require.NoError(t, err)
	defer s.Close()
	pools, err := s.Pools(t.Context())
	require.NoError(t, err)
	require.Equal(t, 77, pools[0].Capacity)
	commitRuns(t, s, "b")
}

// J8, J11: what people and agents say cannot pass for the name of a WAL.
func TestTextsDoNotNameAWAL(t *testing.T) {
	path, s := opened(t, "a")
	execute(t, path, "PRAGMA wal_checkpoint(RESTART)")
	cm := newRun("b", 10)
	cm.Spec = []byte(`"` + strings.Repeat("\x0d\x00\x00\x00\x01\x00\x0a\x5e\x01\x04III", 1) +
		strings.Repeat("interlude-wal:0123456789abcdef", 1000) + `"`)
	require.NoError(t, s.Commit(t.Context(), []store.Commit{cm})[0])
	db, wal := snapshot(t, path)
	left, err := sqlite.Open(t.Context(), pairOf(t, db, wal), quiet)
	require.NoError(t, err)
	require.NoError(t, left.Close())
}

// J9: nothing is acknowledged once another store's WAL has overwritten the WAL.
func TestCommitIsRefusedOnceTheWALIsWrittenOver(t *testing.T) {
	for name, others := range map[string]int{"a short one": 1, "a long one": 60} {
		t.Run(name, func(t *testing.T) {
			path, s := opened(t, "a", "b", "c", "d", "e", "f")
			otherPath, other := opened(t, "x")
			for i := range others {
				commitRuns(t, other, fmt.Sprint("x", i))
			}
			_, wal := snapshot(t, otherPath)
			require.NoError(t, os.WriteFile(path+"-wal", wal, 0o600))
			require.ErrorIs(t, s.Commit(t.Context(), []store.Commit{newRun("g", 10)})[0], sqlite.ErrReplaced)
			_, err := s.Run(t.Context(), "a")
			require.ErrorIs(t, err, sqlite.ErrReplaced)
			_ = s.Close()
		})
	}
}

const envHeld = "INTERLUDE_SQLITE_HELD"

// holdOpen commits runs to a store, and keeps it open until the process is killed.
func holdOpen(path string) error {
	s, err := sqlite.Open(context.Background(), path, quiet)
	for i := 0; err == nil && i < 5; i++ {
		err = s.Commit(context.Background(), []store.Commit{newRun(fmt.Sprint("held-", i), 3000)})[0]
	}
	if err == nil {
		fmt.Println("ready")
		select {}
	}
	return err
}

// J8, J9: a process has a file open, or had it open when it was killed. A copy that replaces the
// file is refused next to the file's WAL, however the copy was made: it names the same WALs. With
// the original file, all data is there. A copy of file and WAL together is sound.
func TestOpenRefusesACopyInThePlaceOfTheFile(t *testing.T) {
	vacuum := func(t *testing.T, path, copied string) {
		t.Helper()
		execute(t, path, "VACUUM INTO '"+copied+"'")
	}
	duplicate := func(t *testing.T, path, copied string) {
		t.Helper()
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(copied, body, 0o600))
	}
	rename := func(t *testing.T, path, copied string) {
		t.Helper()
		require.NoError(t, os.Rename(copied, path))
	}
	for name, c := range map[string]struct {
		copy, place func(t *testing.T, path, copied string)
	}{
		"VACUUM INTO": {vacuum, rename},
		"cp":          {duplicate, rename},
		"a link to the copy": {vacuum, func(t *testing.T, path, copied string) {
			t.Helper()
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Link(copied, path))
		}},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", killed ", killed), func(t *testing.T) {
				path, s := opened(t, "a")
				require.NoError(t, s.Close())
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), envHeld+"="+path)
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				end := sync.OnceFunc(func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				})
				defer end()
				line, err := bufio.NewReader(out).ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, "ready\n", line)
				c.copy(t, path, path+".copy")
				require.NoError(t, os.Link(path, path+".kept"))
				if killed {
					end()
				}
				c.place(t, path, path+".copy")
				_, wal := snapshot(t, path)
				_, err = sqlite.Open(t.Context(), path, quiet)
				require.ErrorIs(t, err, sqlite.ErrForeignWAL)
				_, after := snapshot(t, path)
				require.Equal(t, wal, after)
				end()
				require.NoError(t, os.Rename(path+".kept", path))
				original, err := os.ReadFile(path)
				require.NoError(t, err)
				left, err := sqlite.Open(t.Context(), pairOf(t, original, wal), quiet)
				require.NoError(t, err, "a copy of both")
				require.NoError(t, left.Close())
				s, err = sqlite.Open(t.Context(), path, quiet)
				require.NoError(t, err)
				_, err = s.Run(t.Context(), "held-4")
				require.NoError(t, err)
				require.NoError(t, s.Close())
			})
		}
	}
}

// J8: the WAL of two busy stores grows in large steps, up to its full size, and a crash leaves a
// file that opens with all commits.
func TestTheWALGrowsInLargeSteps(t *testing.T) {
	path, s := opened(t)
	other, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer other.Close()
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		return info.Size()
	}
	const commits = 150
	begun := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		c := newRun("other", 3000)
		err := other.Commit(t.Context(), []store.Commit{c})[0]
		for close(begun); err == nil && c.Run.Version < commits; {
			c = report(c.Run)
			err = other.Commit(t.Context(), []store.Commit{c})[0]
		}
		done <- err
	}()
	<-begun
	grown, last := 0, size()
	c := newRun("busy", 3000)
	for put(t, s, c); c.Run.Version < commits; put(t, s, c) {
		c = report(c.Run)
		if now := size(); now != last {
			grown, last = grown+1, now
		}
	}
	require.NoError(t, <-done)
	require.Less(t, grown, commits/3)
	db, wal := snapshot(t, path)
	left, err := sqlite.Open(t.Context(), pairOf(t, db, wal), quiet)
	require.NoError(t, err)
	defer left.Close()
	for _, id := range []string{"busy", "other"} {
		run, err := left.Run(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, c.Run.Version, run.Version)
	}

	full := make([]store.Commit, store.MaxBatch)
	for i := range full {
		full[i] = newRun(fmt.Sprint("large-", i), 0)
		full[i].Spec = []byte(`"` + strings.Repeat("x", 20<<10) + `"`)
	}
	put(t, s, full...)
	last = size()
	require.Greater(t, last, int64(16<<20))
	for range 20 {
		c = report(c.Run)
		put(t, s, c)
	}
	require.Equal(t, last, size(), "it has its full size")
}
