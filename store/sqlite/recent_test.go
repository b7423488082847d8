package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// two opens one file twice, as two processes have it. The run "kept" is in it, and a pool for 4
// runs.
func two(t *testing.T) (a, b *sqlite.Store) {
	t.Helper()
	a, path := openMade(t, quick)
	b, err := sqlite.Open(t.Context(), path, quick)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return a, b
}

// byEither plays a story in which another process changes the file, and again with all changes by
// one.
func byEither(t *testing.T, story func(t *testing.T, a, b *sqlite.Store)) {
	t.Helper()
	t.Run("another process", func(t *testing.T) {
		a, b := two(t)
		story(t, a, b)
	})
	t.Run("one process", func(t *testing.T) {
		a, _ := openMade(t, quick)
		story(t, a, a)
	})
}

func join(t *testing.T, s *sqlite.Store, node string) {
	t.Helper()
	require.NoError(t, s.Join(t.Context(), store.Node{ID: node, Lease: time.Hour}, noon))
}

// commit stores one entry, or returns why not.
func commit(s *sqlite.Store, c store.Commit) error {
	return s.Commit(context.Background(), []store.Commit{c})[0]
}

// F8: two processes change the same runs in turn, each from the record that it read last. A commit
// on a record that the other process has changed is refused, no accepted commit is lost, and the
// events have no gap.
func TestCacheSeesCommitsOfOtherProcess(t *testing.T) {
	a, b := two(t)
	stores := []*sqlite.Store{a, b}
	random := rand.New(rand.NewPCG(1, 2))
	now := map[string]store.Run{} // the current records
	told := map[string][]store.Event{}
	saw := []map[string]store.Run{{}, {}}
	for _, id := range []string{"r0", "r1", "r2"} {
		c := newRun(id, 10)
		put(t, stores[random.IntN(2)], c)
		now[id], told[id], saw[0][id], saw[1][id] = c.Run, c.Events, c.Run, c.Run
	}
	accepted, refused := 0, 0
	for range 400 {
		one, id := random.IntN(2), fmt.Sprint("r", random.IntN(3))
		c := withEvents(saw[one][id], 1+random.IntN(900))
		err := commit(stores[one], c)
		if saw[one][id].Version != now[id].Version {
			require.ErrorIs(t, err, store.ErrConflict)
			saw[one][id], err = stores[one].Run(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, now[id], saw[one][id])
			refused++
			continue
		}
		require.NoError(t, err)
		now[id], told[id], saw[one][id] = c.Run, append(told[id], c.Events...), c.Run
		accepted++
	}
	require.Greater(t, accepted, 100)
	require.Greater(t, refused, 100)
	for id := range now {
		for _, s := range stores {
			requireEvents(t, s, id, told[id], 0, 1000)
		}
	}
}

// A node that another process expired can write nothing, though its own process has just cached
// that it is registered. A node that another process registered may claim, though its process
// has just cached that it is not.
func TestCacheSeesNodesOfOtherProcess(t *testing.T) {
	byEither(t, nodesAreThoseOfTheFile)
}

func nodesAreThoseOfTheFile(t *testing.T, a, b *sqlite.Store) {
	t.Helper()
	join(t, a, "n")
	claimed := start(t, a, 1)
	require.Len(t, claimed, 1)
	fenced := func(prev store.Run) store.Commit {
		c := report(prev)
		c.Fence = &store.Fence{Node: "n", Epoch: prev.Epoch}
		return c
	}
	first := fenced(claimed[0].Run)
	put(t, a, first)

	gone, err := b.Expire(t.Context(), noon, "n")
	require.NoError(t, err)
	require.Len(t, gone, 1)
	require.ErrorIs(t, commit(a, fenced(first.Run)), store.ErrStaleEpoch)
	_, err = a.Claim(t.Context(), claim("n"))
	require.ErrorIs(t, err, store.ErrStaleEpoch)
	_, err = a.Renew(t.Context(), "n", noon)
	require.ErrorIs(t, err, store.ErrStaleEpoch)
	r, err := a.Run(t.Context(), "kept")
	require.NoError(t, err)
	require.Equal(t, first.Run, r, "what was refused left nothing")

	put(t, a, newRun("next", 10))
	_, err = a.Claim(t.Context(), claim("m"))
	require.ErrorIs(t, err, store.ErrStaleEpoch)
	join(t, b, "m")
	claimed, err = a.Claim(t.Context(), claim("m"))
	require.NoError(t, err)
	require.Len(t, claimed, 1)
}

// The next commit and claim use a pool that another process made or changed.
func TestCacheSeesPoolsOfOtherProcess(t *testing.T) {
	byEither(t, poolsAreThoseOfTheFile)
}

func poolsAreThoseOfTheFile(t *testing.T, a, b *sqlite.Store) {
	t.Helper()
	join(t, a, "n")
	capacity := func(name string, n int) {
		t.Helper()
		require.NoError(t, b.SetPool(t.Context(), slots.Pool{Name: name, Capacity: n}))
	}
	capacity(slots.DefaultPool, 1)
	put(t, a, newRun("r1", 10), newRun("r2", 10), newRun("r3", 10))
	require.Len(t, start(t, a, 10), 1)
	require.Empty(t, start(t, a, 10))
	capacity(slots.DefaultPool, 3)
	require.Len(t, start(t, a, 10), 2)
	capacity(slots.DefaultPool, 2)
	require.Empty(t, start(t, a, 10), "lowered below what is held")

	other := newRun("elsewhere", 10)
	other.Run.Pool = "other"
	require.ErrorIs(t, commit(a, other), store.ErrUnknownPool)
	capacity("other", 1)
	put(t, a, other)
	require.Len(t, start(t, a, 10), 1)
}

// poison has the database refuse each write of a run with a poisoned event, in the middle of the
// transaction, in SQLite's way how.
func poison(t *testing.T, path, how string) {
	t.Helper()
	_, err := plain(t, path).ExecContext(t.Context(),
		`CREATE TRIGGER poison BEFORE UPDATE ON runs WHEN instr(NEW.tail, CAST('poison' AS BLOB)) BEGIN SELECT RAISE(`+
			how+`, 'poisoned'); END`)
	require.NoError(t, err)
}

func poisoned(prev store.Run) store.Commit {
	c := report(prev)
	c.Events[0].Body = []byte(`"poison"`)
	return c
}

// F8: when a transaction fails in its middle, nothing of it is stored or cached: no run, event,
// node or pool. The same commits succeed afterwards.
func TestFailedTransactionEmptiesCache(t *testing.T) {
	for _, how := range []string{"ABORT", "FAIL", "ROLLBACK"} { // the last ends the transaction by itself
		t.Run(how, func(t *testing.T) {
			s, path := openMade(t, quick)
			poison(t, path, how)
			join(t, s, "n")
			a, b := newRun("a", 10), newRun("b", 10)
			put(t, s, a, b)
			ctx := t.Context()
			stats := s.Counters()

			free := s.Hold()
			batch := []store.Commit{report(a.Run), newRun("c", 10)}
			batch = append(batch, report(batch[0].Run), report(batch[1].Run))
			calls := []<-chan []error{enqueue(ctx, t, s, 1, batch...)}
			joined, changed := make(chan error, 1), make(chan error, 1)
			go func() { joined <- s.Join(ctx, store.Node{ID: "m", Lease: time.Hour}, noon) }()
			waiting(t, s, 2)
			go func() { changed <- s.SetPool(ctx, slots.Pool{Name: "other", Capacity: 9}) }()
			waiting(t, s, 3)
			elsewhere := newRun("d", 10)
			elsewhere.Run.Pool = "other"
			calls = append(calls, enqueue(ctx, t, s, 4, elsewhere), enqueue(ctx, t, s, 5, poisoned(b.Run)))
			free()
			for _, call := range calls {
				for _, err := range <-call {
					require.ErrorContains(t, err, "poisoned")
				}
			}
			require.ErrorContains(t, <-joined, "poisoned")
			require.ErrorContains(t, <-changed, "poisoned")
			require.Equal(t, stats, s.Counters(), "nothing was made durable")

			require.ErrorIs(t, commit(s, elsewhere), store.ErrUnknownPool)
			_, err := s.Claim(ctx, claim("m"))
			require.ErrorIs(t, err, store.ErrStaleEpoch)
			require.ErrorIs(t, commit(s, batch[3]), store.ErrNotFound)
			require.ErrorIs(t, commit(s, batch[2]), store.ErrConflict)
			put(t, s, batch...)
			put(t, s, report(b.Run))
			requireEvents(t, s, "a", append(a.Events, batch[0].Events[0], batch[2].Events[0]), 0, 10)
			requireEvents(t, s, "b", append(b.Events, report(b.Run).Events...), 0, 10)
			require.Len(t, start(t, s, 10), 4)
		})
	}
}

// waiting returns when n calls wait for the writer.
func waiting(t *testing.T, s *sqlite.Store, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Queued() == n }, time.Minute, 100*time.Microsecond)
}

// F8: a claim whose transaction fails gives no slot, and a later claim starts the same runs.
func TestFailedClaimChangesNothing(t *testing.T) {
	s, path := openMade(t, quick)
	poison(t, path, "ABORT")
	join(t, s, "n")
	put(t, s, newRun("a", 10), newRun("b", 10))
	req := claim("n")
	plainly := req.Start
	started := 0
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		c, err := plainly(r, spec)
		if started++; started == 3 {
			c.Events[0].Body = []byte(`"poison"`)
		}
		return c, err
	}
	claimed, err := s.Claim(t.Context(), req)
	require.ErrorContains(t, err, "poisoned")
	require.Empty(t, claimed)
	pools, err := s.Pools(t.Context())
	require.NoError(t, err)
	require.Zero(t, pools[0].Held)
	claimed, err = s.Claim(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, claimed, 3)
	for _, c := range claimed {
		put(t, s, report(c.Run))
	}
}

// F8: a commit that failed on a full disk succeeds unchanged when there is room; earlier writes of
// the same transaction are not kept.
func TestCommitOnFullDiskChangesNothing(t *testing.T) {
	full := quick
	full.MaxPages = 100
	s, _ := openMade(t, full)
	a, b := newRun("a", 10), newRun("b", 10)
	put(t, s, a, b)
	old := newRun("old", sqlite.MaxTail*25)
	put(t, s, old)
	put(t, s, end(old.Run))
	batch := []store.Commit{report(a.Run), withEvents(b.Run, sqlite.MaxTail*20)}
	var err error
	for i := 0; err == nil; i++ {
		err = commit(s, newRun(fmt.Sprint("filler", i), 4000))
	}
	require.ErrorIs(t, err, sqlite.ErrFull)
	for _, err := range s.Commit(t.Context(), batch) {
		require.ErrorIs(t, err, sqlite.ErrFull)
	}
	for _, id := range []string{"a", "b"} {
		r, err := s.Run(t.Context(), id)
		require.NoError(t, err)
		require.EqualValues(t, 1, r.Version)
	}
	require.ErrorIs(t, commit(s, report(batch[0].Run)), store.ErrConflict)
	n, err := s.Prune(t.Context(), noon.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	put(t, s, batch...)
	requireEvents(t, s, "a", append(a.Events, batch[0].Events...), 0, 10)
	requireEvents(t, s, "b", append(b.Events, batch[1].Events...), 0, 10)
}

// However many runs are written, and however large their specifications are, the cache is
// bounded, and runs that it dropped are changed as before.
func TestCacheIsBounded(t *testing.T) {
	s, _ := openMade(t, quick)
	join(t, s, "n")
	const many = 9 * sqlite.CachedRuns / 4
	for i := 0; i < many; {
		batch := make([]store.Commit, 0, 64)
		for ; i < many && len(batch) < cap(batch); i++ {
			batch = append(batch, newRun(fmt.Sprint("small", i), 10))
		}
		put(t, s, batch...)
		runs, _ := s.Cached()
		require.LessOrEqual(t, runs, 2*sqlite.CachedRuns)
	}
	runs, _ := s.Cached()
	require.Greater(t, runs, sqlite.CachedRuns/2, "it does remember")

	const large = 1 << 20
	spec := bytes.Repeat([]byte("s"), large)
	for i := range 11 {
		c := newRun(fmt.Sprint("large", i), 10)
		c.Spec = spec
		put(t, s, c)
		_, size := s.Cached()
		require.LessOrEqual(t, size, 2*(sqlite.CachedBytes+large))
	}
	for _, id := range []string{"small0", "large0"} {
		put(t, s, report(newRun(id, 10).Run))
		requireEvents(t, s, id, append(newRun(id, 10).Events, report(newRun(id, 10).Run).Events...), 0, 10)
	}
	got, err := s.Spec(t.Context(), "large0")
	require.NoError(t, err)
	require.True(t, bytes.Equal(spec, got))
}

// A finished run is not written again, and leaves the cache.
func TestCacheDropsFinishedRuns(t *testing.T) {
	s, _ := openMade(t, quick)
	before, _ := s.Cached()
	for i := range 20 {
		c := newRun(fmt.Sprint("r", i, strings.Repeat("x", i)), 10)
		put(t, s, c, end(c.Run))
	}
	after, _ := s.Cached()
	require.Equal(t, before, after)
}
