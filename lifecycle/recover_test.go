package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// orphaned starts n runs on a node that then dies, and returns their ids.
func orphaned(tb testing.TB, s store.Store, n int, adjust ...func(*Spec)) []string {
	tb.Helper()
	ctx, now := tb.Context(), stamp(SystemClock{})
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("r%04d", i)
	}
	batch := make([]store.Commit, 0, n)
	for _, id := range ids {
		spec := Spec{ID: id, Prompt: "x"}
		for _, c := range adjust {
			c(&spec)
		}
		run, body, err := spec.record(now)
		require.NoError(tb, err)
		cm, err := submission(run, body)
		require.NoError(tb, err)
		batch = append(batch, cm)
	}
	for _, err := range s.Commit(ctx, batch) {
		require.NoError(tb, err)
	}
	require.NoError(tb, s.Join(ctx, store.Node{ID: "dead", Lease: time.Minute}, now))
	started := 0
	for started < n {
		claimed, err := s.Claim(ctx, store.ClaimRequest{Node: "dead", Now: now, Max: store.MaxBatch,
			Start: func(r store.Run, _ []byte) (store.Commit, error) {
				return transition(&r, &change{event: fsm.EventTurnStarted, now: now, node: "dead"})
			}})
		require.NoError(tb, err)
		require.NotEmpty(tb, claimed)
		started += len(claimed)
	}
	_, err := s.Expire(ctx, time.Time{}, "dead")
	require.NoError(tb, err)
	return ids
}

// faulty is a store that fails some commits.
type faulty struct {
	store.Store
	calls atomic.Int64
	fail  func(call int64, c *store.Commit) error // nil: the entry is stored
	first func()                                  // before the first commit
	once  sync.Once
}

func (s *faulty) Commit(ctx context.Context, batch []store.Commit) []error {
	if s.first != nil {
		s.once.Do(s.first)
	}
	call := s.calls.Add(1)
	errs := make([]error, len(batch))
	for i := range batch {
		if errs[i] = s.fail(call, &batch[i]); errs[i] == nil {
			errs[i] = s.Store.Commit(ctx, batch[i:i+1])[0]
		}
	}
	return errs
}

// TestOrphansThatCannotBeSettled end a recovery with an error; it settles those that can be, tries
// none without end, and is repeated later with the same result as if nothing had failed (E6).
func TestOrphansThatCannotBeSettled(t *testing.T) {
	errDisk := errors.New("disk full")
	const orphans = 350
	one := func(c *store.Commit) bool { return c.Run.ID == "r0007" }
	few := func(c *store.Commit) bool { return c.Run.ID[4] == '3' }
	when := func(which func(*store.Commit) bool, err error) func(int64, *store.Commit) error {
		return func(_ int64, c *store.Commit) error {
			if which(c) {
				return err
			}
			return nil
		}
	}
	every := func(*store.Commit) bool { return true }
	for _, c := range []struct {
		name    string
		fail    func(call int64, c *store.Commit) error
		settled int // at least
		says    string
	}{
		{"every commit fails", when(every, errDisk), 0, "disk full"},
		{"one run's does", when(one, errDisk), orphans - 1, "run r0007: disk full"},
		{"one run's is refused", when(one, store.ErrInvalid), orphans - 1, "run r0007"},
		{"some runs' do", when(few, errDisk), orphans * 9 / 10, "disk full"},
		{"every other call does", func(call int64, _ *store.Commit) error {
			if call%2 == 1 {
				return errDisk
			}
			return nil
		}, 0, "disk full"},
		{"one run is always said to be settled by others", when(one, store.ErrConflict), orphans - 1,
			"run r0007 is still an orphan"},
		{"some are", when(few, store.ErrConflict), orphans * 9 / 10, "is still an orphan"},
		{"all are", when(every, store.ErrConflict), 0, "is still an orphan"},
		{"all are said to be gone", when(every, store.ErrNotFound), 0, "is still an orphan"},
		{"one is said to be settled, and another fails", func(_ int64, c *store.Commit) error {
			switch c.Run.ID {
			case "r0007":
				return store.ErrConflict
			case "r0008":
				return errDisk
			}
			return nil
		}, orphans - 2, "is still an orphan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			below := newStore(t)
			ids := orphaned(t, below, orphans)
			s := &faulty{Store: below, fail: c.fail}
			done, err := clientOf(t, s).Recover(t.Context())
			require.ErrorContains(t, err, c.says)
			require.GreaterOrEqual(t, done.Failed, c.settled)
			require.Less(t, done.Failed, orphans)
			require.LessOrEqual(t, s.calls.Load(), int64(20), "nothing is tried without end")

			rest, err := clientOf(t, below).Recover(t.Context())
			require.NoError(t, err)
			settledOnce(t, below, ids)
			require.Equal(t, Recovery{Failed: orphans - done.Failed}, rest)
		})
	}
}

// settledOnce requires that each run has failed, by one event that says so.
func settledOnce(tb testing.TB, s store.Store, ids []string) {
	tb.Helper()
	for _, id := range ids {
		run, err := s.Run(tb.Context(), id)
		require.NoError(tb, err)
		require.Equal(tb, fsm.StateFailed, run.State)
		require.Equal(tb, store.FailedReconciled, run.Recovery)
		require.EqualValues(tb, 3, run.Seq, "submitted, started and failed")
	}
}

// TestWhatOthersSettleMeanwhileIsNotCounted: E6, each run is settled by one, and counted by that
// one alone.
func TestWhatOthersSettleMeanwhileIsNotCounted(t *testing.T) {
	const orphans, canceled = 300, 120
	below := newStore(t)
	ids := orphaned(t, below, orphans)
	person := clientOf(t, below)
	s := &faulty{Store: below, fail: func(int64, *store.Commit) error { return nil }, first: func() {
		for _, id := range ids[:canceled] { // after recovery has read them
			require.NoError(t, person.Cancel(t.Context(), id, "not needed"))
		}
	}}
	done, err := clientOf(t, s).Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, Recovery{Failed: orphans - canceled}, done)
	settledOnce(t, below, ids[canceled:])
	run, err := below.Run(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, fsm.StateCanceled, run.State)
}

// readEarly is a store whose every list but the first was read as early as the first.
type readEarly struct {
	store.Store
	mu   sync.Mutex
	list []Run // guarded by mu
}

func (s *readEarly) Orphans(ctx context.Context, skip, limit int) ([]Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if skip > 0 {
		return s.list, nil
	}
	var err error
	s.list, err = s.Store.Orphans(ctx, skip, limit)
	return s.list, err
}

// TestAListThatIsOlderThanWhatOthersDidIsReadAgain: E6, what is read while others settle orphans
// may show what is none any more.
func TestAListThatIsOlderThanWhatOthersDidIsReadAgain(t *testing.T) {
	below := newStore(t)
	ids := orphaned(t, below, 300)
	person := clientOf(t, below)
	s := &faulty{Store: &readEarly{Store: below}, fail: func(int64, *store.Commit) error { return nil }, first: func() {
		for _, id := range ids {
			require.NoError(t, person.Cancel(t.Context(), id, "not needed"))
		}
	}}
	done, err := clientOf(t, s).Recover(t.Context())
	require.NoError(t, err)
	require.Zero(t, done)
}

// TestTwoRecoverALargeCrashAtOneTime: E6, with more orphans than are read at one time.
func TestTwoRecoverALargeCrashAtOneTime(t *testing.T) {
	const orphans = 2500
	s := newStore(t)
	require.NoError(t, s.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: orphans}))
	ids := orphaned(t, s, orphans)
	var both sync.WaitGroup
	var done [2]Recovery
	for i := range done {
		c := clientOf(t, s)
		both.Go(func() {
			var err error
			if done[i], err = c.Recover(t.Context()); err != nil {
				t.Errorf("recovery %d: %v", i, err)
			}
		})
	}
	both.Wait()
	require.Equal(t, orphans, done[0].Failed+done[1].Failed)
	settledOnce(t, s, ids)
	again, err := clientOf(t, s).Recover(t.Context())
	require.NoError(t, err)
	require.Zero(t, again)
}

// TestANodeThatWasTakenOverEndsItsRecovery: what it preserves in its own name is an orphan again at
// once, without end.
func TestANodeThatWasTakenOverEndsItsRecovery(t *testing.T) {
	below := newStore(t)
	ids := orphaned(t, below, 3, func(s *Spec) { s.Repeatable = true })
	run, err := below.Run(t.Context(), ids[0])
	require.NoError(t, err)
	question := interaction.Baseline("Go on?")
	cm, err := transition(&run, &change{
		event: fsm.EventTurnNeedsInput, now: stamp(SystemClock{}), node: "dead", profile: fsm.ProfileResumable,
		session: &store.Session{Engine: "agent", Data: []byte("s")}, question: &question,
	})
	require.NoError(t, err)
	require.NoError(t, below.Commit(t.Context(), []store.Commit{cm})[0])

	s := &faulty{Store: below, fail: func(int64, *store.Commit) error { return nil }}
	c := clientOf(t, s)
	done, err := c.recover(t.Context(), "late") // which is not registered any more
	require.ErrorIs(t, err, store.ErrStaleEpoch)
	require.Equal(t, Recovery{Preserved: 1, Requeued: 2}, done)
	require.EqualValues(t, 1, s.calls.Load())

	require.NoError(t, below.Join(t.Context(), store.Node{ID: "new", Lease: time.Minute}, stamp(SystemClock{})))
	done, err = c.recover(t.Context(), "new")
	require.NoError(t, err)
	require.Equal(t, Recovery{Preserved: 1}, done)
	run, err = below.Run(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, "new", run.Owner)
}
