package sqlite_test

import (
	"database/sql"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// spoiled is a store in which the records of some runs were spoiled from outside.
func spoiled(t *testing.T, runs ...string) *sqlite.Store {
	t.Helper()
	s, _ := spoiledBy(t, "{", runs...)
	return s
}

// spoiledBy also returns the path of the file.
func spoiledBy(t *testing.T, record string, runs ...string) (_ *sqlite.Store, path string) {
	t.Helper()
	path = closedFile(t)
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Join(t.Context(), store.Node{ID: "n", Lease: 1e9}, noon))
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	for _, id := range runs {
		put(t, s, newRun(id, 10))
		_, err = db.ExecContext(t.Context(), `UPDATE runs SET record = ? WHERE id = ?`, []byte(record), id)
		require.NoError(t, err)
	}
	return s, path
}

// I10: a corrupt record fails its own commit, and no others of its transaction.
func TestCorruptRecordFailsOnlyItsCommit(t *testing.T) {
	s := spoiled(t, "bad")
	errs := s.Commit(t.Context(), []store.Commit{newRun("before", 10), report(newRun("bad", 10).Run),
		report(newRun("kept", 10).Run)})
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], store.ErrCorrupt)
	require.NoError(t, errs[2])
}

// I10: a claim reports a corrupt record and starts the other runs.
func TestClaimSkipsCorruptRecord(t *testing.T) {
	s := spoiled(t, "bad")
	put(t, s, newRun("good", 10))
	req := claim("n")
	claimed, err := s.Claim(t.Context(), req)
	require.ErrorIs(t, err, store.ErrCorrupt)
	require.ErrorContains(t, err, "bad")
	require.Len(t, claimed, 2)
}

// J14: a record with a feature that this release does not know stays as it is, and stops no other run.
func TestRecordOfALaterReleaseIsLeftAlone(t *testing.T) {
	const later = `[{"needs":["zebra"]},{"id":"bad"}]`
	s, path := spoiledBy(t, later, "bad")
	put(t, s, newRun("good", 10))
	claimed, err := s.Claim(t.Context(), claim("n"))
	require.ErrorIs(t, err, store.ErrNewer)
	require.Len(t, claimed, 2)
	errs := s.Commit(t.Context(), []store.Commit{report(newRun("bad", 10).Run), newRun("after", 10)})
	require.ErrorIs(t, errs[0], store.ErrNewer)
	require.ErrorContains(t, errs[0], "it needs zebra, which this release does not know: upgrade")
	require.NoError(t, errs[1])
	_, err = s.Run(t.Context(), "bad")
	require.ErrorIs(t, err, store.ErrNewer)
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	var record string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT record FROM runs WHERE id = 'bad'`).Scan(&record))
	require.Equal(t, later, record)
}

// F8: a commit that cannot be encoded is refused before anything is written, and fails no other.
func TestUnencodableCommitFailsAlone(t *testing.T) {
	s := spoiled(t)
	parked := ask(start(t, s, 1)[0].Run)
	put(t, s, parked)
	bad := answer(parked.Run, "k")
	bad.Settled[0].Question.UIHints = map[string]any{"size": math.NaN()}
	errs := s.Commit(t.Context(), []store.Commit{newRun("before", 10), bad, newRun("after", 10)})
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], store.ErrInvalid)
	require.NoError(t, errs[2])
	r, err := s.Run(t.Context(), "kept")
	require.NoError(t, err)
	require.Equal(t, parked.Run, r)
}
