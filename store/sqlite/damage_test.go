package sqlite_test

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// newRun is a commit that creates a run, with an event of this size.
func newRun(id string, size int) store.Commit {
	r := store.Run{
		ID: id, Version: 1, Contract: "1", Engine: "e", Mode: fsm.ModeInteractive, SessionTimeout: time.Second,
		Pool:      slots.DefaultPool,
		CreatedAt: noon, UpdatedAt: noon, QueuedAt: noon, State: fsm.StateQueued, Recovery: store.RecoveryNone, Seq: 1,
		LocalSeq: 1,
	}
	return store.Commit{Run: r, Spec: []byte("{}"),
		Events: []store.Event{{Seq: 1, Body: []byte(`"` + strings.Repeat("x", size) + `"`)}}}
}

// closedFile is a closed file with one run in it.
func closedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.db")
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 4}))
	require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun("kept", 10)})[0])
	require.NoError(t, s.Close())
	return path
}

// F8 I9: a file that is not this package's, is newer or damaged is refused with a clear error, and
// left as it is.
func TestOpenLeavesRefusedFileAsItIs(t *testing.T) {
	other := func(t *testing.T, statements ...string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "other.db")
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		for _, s := range statements {
			_, err := db.ExecContext(t.Context(), s)
			require.NoError(t, err)
		}
		require.NoError(t, db.Close())
		return path
	}
	change := func(t *testing.T, do func([]byte) []byte) string {
		t.Helper()
		path := closedFile(t)
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, do(body), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		make func(t *testing.T) string
		want error
	}{
		"a text": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "notes.txt")
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("Dear diary. ", 100)), 0o600))
			return path
		}, sqlite.ErrNotDatabase},
		"a short file": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "x")
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
			return path
		}, sqlite.ErrNotDatabase},
		"a folder": {func(t *testing.T) string { return t.TempDir() }, sqlite.ErrNotDatabase},
		"another program's": {func(t *testing.T) string {
			return other(t, "PRAGMA application_id = 42", "CREATE TABLE x (y)")
		}, sqlite.ErrForeign},
		"an unmarked one's": {func(t *testing.T) string { return other(t, "CREATE TABLE x (y)") }, sqlite.ErrForeign},
		"a newer version's": {func(t *testing.T) string {
			return change(t, func(b []byte) []byte { binary.BigEndian.PutUint32(b[60:], 99); return b })
		}, sqlite.ErrNewer},
		"cut in half": {func(t *testing.T) string {
			return change(t, func(b []byte) []byte { return b[:len(b)/2] })
		}, sqlite.ErrCorrupt},
		"with a spoiled schema": {func(t *testing.T) string {
			return change(t, func(b []byte) []byte { copy(b[100:], strings.Repeat("\xff", 300)); return b })
		}, sqlite.ErrCorrupt},
		"with a spoiled first page": {func(t *testing.T) string {
			return change(t, func(b []byte) []byte { copy(b, "not a database at all"); return b })
		}, sqlite.ErrNotDatabase},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.make(t)
			before, _ := os.ReadFile(path)
			s, err := sqlite.Open(t.Context(), path, quiet)
			require.Error(t, err)
			require.Nil(t, s)
			require.Contains(t, err.Error(), path)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			after, _ := os.ReadFile(path)
			require.Equal(t, before, after, "never overwritten")
		})
	}
	_, err := sqlite.Open(t.Context(), "x.db", sqlite.Options{Synchronous: "OFF"})
	require.ErrorIs(t, err, store.ErrInvalid)
}

// J8: power failed while the file was created. The journal of that write remains, and Open reverts
// the write; it does not call the file read-only.
func TestOpenTakesBackWhatMadeTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	page := make([]byte, 4096) // half of it is there
	copy(page, "SQLite format 3\x00")
	require.NoError(t, os.WriteFile(path, page, 0o600))
	journal := make([]byte, 512)
	copy(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
	binary.BigEndian.PutUint32(journal[20:], 512)  // sectors
	binary.BigEndian.PutUint32(journal[24:], 4096) // pages, of which there were none before
	require.NoError(t, os.WriteFile(path+"-journal", journal, 0o600))
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 4}))
	require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun("first", 10)})[0])
}

// I10: a read reports a corrupt record as ErrCorrupt and does not return it.
func TestCorruptRecordIsReported(t *testing.T) {
	path := closedFile(t)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `UPDATE runs SET record = '{"id":"kept"'`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Run(t.Context(), "kept")
	require.ErrorIs(t, err, sqlite.ErrCorrupt)
}

// F8: on a full disk commits fail with an error that says so, stored data stays readable, and
// commits work again when there is room.
func TestCommitReportsFullDisk(t *testing.T) {
	path := closedFile(t)
	info, err := os.Stat(path)
	require.NoError(t, err)
	full := quiet
	full.MaxPages = int(info.Size()/4096) + 8
	s, err := sqlite.Open(t.Context(), path, full)
	require.NoError(t, err)
	stored := 0
	for i := range 100 {
		err = s.Commit(t.Context(), []store.Commit{newRun(fmt.Sprintf("r%d", i), 3000)})[0]
		if err != nil {
			break
		}
		stored++
	}
	require.ErrorIs(t, err, sqlite.ErrFull)
	_, lost := s.Run(t.Context(), fmt.Sprintf("r%d", stored))
	require.ErrorIs(t, lost, store.ErrNotFound, "nothing of the failed commit is stored")
	kept, err := s.Run(t.Context(), "kept")
	require.NoError(t, err)
	require.Equal(t, newRun("kept", 10).Run, kept)
	n, err := s.Events(t.Context(), "kept", 0, 10)
	require.NoError(t, err)
	require.Len(t, n, 1)
	require.NoError(t, s.Close())

	s, err = sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun("again", 3000)})[0])
	page, err := s.Runs(t.Context(), store.Query{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, page.Runs, stored+2)
}

// F8: Open refuses a file that may only be read with an error that says so, and leaves it as it
// is.
func TestOpenRefusesReadOnlyFile(t *testing.T) {
	path := closedFile(t)
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	body[18] = 3 // the file format that SQLite may read and not write; permissions do not bind a superuser
	require.NoError(t, os.WriteFile(path, body, 0o600))
	_, err = sqlite.Open(t.Context(), path, quiet)
	require.ErrorIs(t, err, sqlite.ErrReadOnly)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, body, after)
}

// F8: while another process locks the file, Open and commits wait, and then return ErrBusy; reads
// continue.
func TestCommitReportsLockedFile(t *testing.T) {
	path := closedFile(t)
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer s.Close()
	db, err := sql.Open("sqlite", path) // another process takes the file for itself
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	impatient := quiet
	impatient.BusyTimeout = time.Millisecond
	other, err := sqlite.Open(t.Context(), path, impatient)
	require.ErrorIs(t, err, sqlite.ErrBusy, "opening must look whether there is something to migrate")
	require.Nil(t, other)
	_, err = s.Run(t.Context(), "kept")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, s.Commit(t.Context(), []store.Commit{newRun("after", 1)})[0])
}

// E6 I13: two stores on one file, as in two processes: no commit is lost, and capacity is never
// exceeded.
func TestTwoProcessesShareFile(t *testing.T) {
	path := closedFile(t)
	var two [2]*sqlite.Store
	for i := range two {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{WatchInterval: 5 * time.Millisecond})
		require.NoError(t, err)
		defer s.Close()
		two[i] = s
		require.NoError(t, s.Join(t.Context(), store.Node{ID: fmt.Sprint("node", i), Lease: time.Hour}, noon))
	}
	hints := make(chan store.Hint, 1000)
	defer two[1].Watch(func(h store.Hint) {
		select {
		case hints <- h:
		default:
		}
	})()
	done := make(chan error, 2)
	for i, s := range two {
		go func() {
			for n := range 100 {
				if err := s.Commit(t.Context(), []store.Commit{newRun(fmt.Sprintf("n%d-%d", i, n),
					10)})[0]; err != nil {
					done <- err
					return
				}
				if _, err := s.Claim(t.Context(), claim(fmt.Sprint("node", i))); err != nil {
					done <- err
					return
				}
				pools, err := s.Pools(t.Context())
				if err != nil || pools[0].Held > 4 {
					done <- fmt.Errorf("%d slots of 4 are held: %w", pools[0].Held, err)
					return
				}
			}
			done <- nil
		}()
	}
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	page, err := two[0].Runs(t.Context(), store.Query{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, page.Runs, 201)
	for h := range hints { // the other's commits are noticed
		if h.RunID == "" || strings.HasPrefix(h.RunID, "n0-") {
			return
		}
	}
}

// claim starts runs by the shortest commit there is.
func claim(node string) store.ClaimRequest {
	return store.ClaimRequest{Node: node, Now: noon, Max: 3, Start: func(r store.Run, _ []byte) (store.Commit, error) {
		expect := r.Version
		r.Version++
		r.State, r.Attempt, r.LocalSeq = fsm.StateRunning, r.Attempt+1, 1
		r.Seq++
		return store.Commit{Run: r, Expect: expect, Events: []store.Event{{Seq: r.Seq, Body: []byte(`"started"`)}}}, nil
	}}
}

// C5: the look-up of a vote's key reads no settled question that lacks a vote with the key, however
// many the run has.
func TestVoteIsFoundWithoutReadingTheHistory(t *testing.T) {
	path := closedFile(t)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(),
		`INSERT INTO settled (run, id, record) SELECT n, 1, CAST('"key":"k"' AS BLOB) FROM runs`)
	require.NoError(t, err)
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Voted(t.Context(), "kept", "k")
	require.ErrorIs(t, err, store.ErrNotFound, "the damaged question was not read")
}
