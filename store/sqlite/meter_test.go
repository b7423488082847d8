package sqlite_test

import (
	"bytes"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// written is the content of a run's row.
func written(t *testing.T, db *sql.DB, id string) uint64 {
	t.Helper()
	return uint64(number(t, db,
		`SELECT length(record) + length(tail) + coalesce(length(spec), 0) FROM runs WHERE id = ?`, id))
}

// The counts equal the writes, to the row and the byte, in the order of a run's life. Refused
// commits count nothing, nor does a transaction that writes no run.
func TestCountersCountWhatWasWritten(t *testing.T) {
	s, path := openMade(t, quick)
	db := plain(t, path)
	require.Equal(t, store.Counters{}, s.Counters(), "what an earlier process wrote is not counted")
	const full = sqlite.MaxTail
	join(t, s, "n")
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: 1}))
	large := newRun("large", 0)
	large.Spec = bytes.Repeat([]byte("s"), 2*sqlite.MaxInline)
	loud := withEvents(store.Run{ID: "loud"}, full, 1)
	var run store.Run // the current "small"
	var claimed []store.Claimed
	for _, c := range []struct {
		name          string
		do            func(t *testing.T)
		commits, rows uint64
		bytes         func() uint64
	}{
		{"joining, renewing and pools", func(t *testing.T) {
			t.Helper()
			join(t, s, "m")
			_, err := s.Renew(t.Context(), "m", noon)
			require.NoError(t, err)
			_, err = s.Expire(t.Context(), noon, "m")
			require.NoError(t, err)
		}, 0, 0, func() uint64 { return 0 }},
		{"the end of an older run", func(t *testing.T) {
			t.Helper()
			put(t, s, end(newRun("kept", 10).Run))
		}, 1, 1, func() uint64 { return written(t, db, "kept") }},
		{"a creation", func(t *testing.T) {
			t.Helper()
			c := newRun("small", 10)
			put(t, s, c)
			run = c.Run
		}, 1, 1, func() uint64 { return written(t, db, "small") }},
		{"a creation with a large spec", func(t *testing.T) {
			t.Helper()
			put(t, s, large)
		}, 1, 2, func() uint64 { return written(t, db, "large") + 2*sqlite.MaxInline }},
		{"a report of that run", func(t *testing.T) {
			t.Helper()
			put(t, s, report(large.Run))
		}, 1, 1, func() uint64 { return written(t, db, "large") }},
		{"a creation with large events", func(t *testing.T) {
			t.Helper()
			put(t, s, loud)
		}, 1, 2, func() uint64 { return written(t, db, "loud") + full + 2 }},
		{"a report that goes beside the others", func(t *testing.T) {
			t.Helper()
			c := withEvents(run, 100, 200)
			put(t, s, c)
			run = c.Run
		}, 1, 1, func() uint64 { return written(t, db, "small") }},
		{"a report for which the others make room", func(t *testing.T) {
			t.Helper()
			c := withEvents(run, full-50)
			put(t, s, c)
			run = c.Run
		}, 1, 2, func() uint64 { return written(t, db, "small") + 12 + 1 + 100 + 1 + 200 }},
		{"a report that goes to the log with them", func(t *testing.T) {
			t.Helper()
			c := withEvents(run, 2*full)
			put(t, s, c)
			run = c.Run
		}, 1, 3, func() uint64 { return written(t, db, "small") + full - 50 + 2*full }},
		{"a change without events", func(t *testing.T) {
			t.Helper()
			c := withEvents(run)
			put(t, s, c)
			run = c.Run
		}, 1, 1, func() uint64 {
			return uint64(number(t, db, `SELECT length(record) + length(spec) FROM runs WHERE id = 'small'`))
		}},
		{"refusals", func(t *testing.T) {
			t.Helper()
			behind := report(run)
			behind.Run.Version--
			behind.Expect--
			fenced := report(run)
			fenced.Fence = &store.Fence{Node: "n", Epoch: 9}
			gap := report(run)
			gap.Run.Seq++
			for i, err := range s.Commit(t.Context(), []store.Commit{newRun("small", 10), behind, fenced, gap,
				report(newRun("nobody", 1).Run)}) {
				require.Error(t, err, i)
			}
		}, 0, 0, func() uint64 { return 0 }},
		{"three in one call, one refused amid them", func(t *testing.T) {
			t.Helper()
			one := report(run)
			errs := s.Commit(t.Context(), []store.Commit{one, newRun("small", 10), report(one.Run),
				newRun("other", 10)})
			require.ErrorIs(t, errs[1], store.ErrExists)
			run = report(one.Run).Run
		}, 3, 3, func() uint64 {
			events := uint64(number(t, db, `SELECT length(tail) FROM runs WHERE id = 'small'`) - 1)
			// the first wrote one event, the second both
			return 2*written(t, db, "small") - events/2 - 1 + written(t, db, "other")
		}},
		{"a claim that fails for its run", func(t *testing.T) {
			t.Helper()
			req := claim("n")
			req.Start = func(store.Run, []byte) (store.Commit, error) { return store.Commit{}, errStart }
			_, err := s.Claim(t.Context(), req)
			require.ErrorIs(t, err, errStart)
		}, 0, 0, func() uint64 { return 0 }},
		{"a claim", func(t *testing.T) {
			t.Helper()
			claimed = start(t, s, 3)
			require.Len(t, claimed, 1, "the pool has room for one")
		}, 1, 1, func() uint64 { return written(t, db, claimed[0].Run.ID) }},
		{"a claim that finds no room", func(t *testing.T) {
			t.Helper()
			require.Empty(t, start(t, s, 3))
		}, 0, 0, func() uint64 { return 0 }},
		{"a question", func(t *testing.T) {
			t.Helper()
			parked := ask(claimed[0].Run)
			put(t, s, parked)
			claimed[0].Run = parked.Run
		}, 1, 1, func() uint64 { return written(t, db, claimed[0].Run.ID) }},
		{"its answer", func(t *testing.T) {
			t.Helper()
			put(t, s, answer(claimed[0].Run, "k"))
		}, 1, 2, func() uint64 {
			return written(t, db, claimed[0].Run.ID) + uint64(number(t, db, `SELECT sum(length(record)) FROM settled`))
		}},
		{"deleting", func(t *testing.T) {
			t.Helper()
			n, err := s.Prune(t.Context(), noon.Add(time.Hour), 10)
			require.NoError(t, err)
			require.Equal(t, 1, n)
		}, 0, 0, func() uint64 { return 0 }},
	} {
		before := s.Counters()
		c.do(t)
		after := s.Counters()
		want := store.Counters{Commits: c.commits, Rows: c.rows, Bytes: c.bytes(), Flushes: min(1, c.commits)}
		require.Equal(t, want, store.Counters{
			Commits: after.Commits - before.Commits, Rows: after.Rows - before.Rows, Bytes: after.Bytes - before.Bytes,
			Flushes: after.Flushes - before.Flushes,
		}, c.name)
	}
}

// Counters exclude a failed transaction's writes, also later, and another process's.
func TestCountersLeaveOutFailedTransaction(t *testing.T) {
	a, path := openMade(t, quick)
	b, err := sqlite.Open(t.Context(), path, quick)
	require.NoError(t, err)
	defer b.Close()
	poison(t, path, "ABORT")
	c := newRun("r", 10)
	put(t, a, c)
	before := a.Counters()
	for _, err := range a.Commit(t.Context(), []store.Commit{report(c.Run), newRun("next", 10),
		poisoned(newRun("kept", 10).Run)}) {
		require.ErrorContains(t, err, "poisoned")
	}
	require.Equal(t, before, a.Counters())
	put(t, b, newRun("elsewhere", 10))
	require.Equal(t, before, a.Counters())
	put(t, a, report(c.Run))
	after := a.Counters()
	require.Equal(t, before.Commits+1, after.Commits)
	require.Equal(t, before.Rows+1, after.Rows)
	require.Equal(t, before.Flushes+1, after.Flushes)
	require.Equal(t, before.Bytes+written(t, plain(t, path), "r"), after.Bytes)
}
