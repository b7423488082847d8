package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// orphaned starts n runs on a node that then dies, and returns their ids.
func orphaned(tb testing.TB, s store.Store, n int, adjust ...func(*Spec)) []string {
	tb.Helper()
	ctx, now := tb.Context(), node.CommitTime(SystemClock{})
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
		cm, err := decide.Submission(&run, body)
		require.NoError(tb, err)
		batch = append(batch, *cm)
	}
	for _, err := range s.Commit(ctx, batch) {
		require.NoError(tb, err)
	}
	require.NoError(tb, s.Join(ctx, store.Node{ID: "dead", Lease: time.Minute}, now))
	started := 0
	for started < n {
		claimed, err := s.Claim(ctx, store.ClaimRequest{Node: "dead", Now: now, Max: store.MaxBatch,
			Start: (&decide.Starts{Now: now}).Start})
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

// TestRecoverFailsIfOrphansCannotBeSettled: E6, a recovery settles the possible ones, retries none
// without end, and is repeated later with the same result as without failures.
func TestRecoverFailsIfOrphansCannotBeSettled(t *testing.T) {
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

// TestRecoverCountsOnlyWhatItSettled: E6, each run is settled by one call, and counted only there.
func TestRecoverCountsOnlyWhatItSettled(t *testing.T) {
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

// TestRecoverReadsAStaleListAgain: E6, a list read while others settle orphans may be outdated.
func TestRecoverReadsAStaleListAgain(t *testing.T) {
	const late = 40
	below := newStore(t)
	pool := slots.Pool{Name: slots.DefaultPool, Capacity: node.OrphanPage + late}
	require.NoError(t, below.SetPool(t.Context(), pool))
	ids := orphaned(t, below, node.OrphanPage+late)
	person := clientOf(t, below)
	s := &faulty{Store: &readEarly{Store: below}, fail: func(int64, *store.Commit) error { return nil }, first: func() {
		for _, id := range ids[:node.OrphanPage] {
			require.NoError(t, person.Cancel(t.Context(), id, "not needed"))
		}
	}}
	done, err := clientOf(t, s).Recover(t.Context())
	require.NoError(t, err)
	require.Equal(t, Recovery{Failed: late}, done)
}

// TestRecoverByTwoAtOnceSettlesEachOrphanOnce: E6, with more orphans than are read at one time.
func TestRecoverByTwoAtOnceSettlesEachOrphanOnce(t *testing.T) {
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

// watched is a store that counts the writes of recovery, and fails reads of orphans on request.
type watched struct {
	store.Store
	expires atomic.Int64
	away    atomic.Bool
	hang    atomic.Bool
}

func (s *watched) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	s.expires.Add(1)
	return s.Store.Expire(ctx, now, ids...)
}

func (s *watched) Orphans(ctx context.Context, skip, limit int) ([]Run, error) {
	if s.hang.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.away.Load() {
		return nil, errors.New("connection refused")
	}
	return s.Store.Orphans(ctx, skip, limit)
}

// TestRecoveryRepeatsWhileANodeServes: E6, a pass in each third of a lease, without writes if no
// node is silent; results are logged, failures are logged and retried, and the end of Serve is no
// fault.
func TestRecoveryRepeatsWhileANodeServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := &watched{Store: newStore(t)}, &journal{}
		_, stop := serve(t, Config{Store: s, Engine: agent{}, Logger: slog.New(log), Lease: 12 * time.Second})
		require.NoError(t, s.Join(t.Context(), store.Node{ID: "other", Lease: time.Hour}, time.Now()))
		pass(time.Minute)
		require.EqualValues(t, 1, s.expires.Load(), "at the start, for what an older release has left")
		require.Empty(t, log.logged())

		s.away.Store(true)
		pass(8 * time.Second)
		require.Equal(t, []string{
			"ERROR recovery not finished; trying again: lifecycle: recover: connection refused",
		}, log.logged())
		s.away.Store(false)

		orphaned(t, s, 1)
		waitsAt(t, s, "r", "dying")
		_, err := s.Store.Expire(t.Context(), time.Time{}, "dying")
		require.NoError(t, err)
		pass(4 * time.Second)
		require.Equal(t, "INFO recovered", log.logged()[1])
		pass(time.Minute)
		require.Len(t, log.logged(), 2, "once")

		s.hang.Store(true)
		pass(10 * time.Second)
		stop()
		require.Len(t, log.logged(), 2)
	})
}

// senseless is a store with inconsistent orphans before valid ones.
type senseless struct {
	store.Store
	before []Run
}

func (s senseless) Orphans(ctx context.Context, skip, limit int) ([]Run, error) {
	rest, err := s.Store.Orphans(ctx, max(0, skip-len(s.before)), limit)
	if skip > 0 {
		return rest, err
	}
	return append(append([]Run(nil), s.before...), rest...), err
}

// TestRecoverSkipsAnOrphanThatCannotBeDecided: E6, and reports it.
func TestRecoverSkipsAnOrphanThatCannotBeDecided(t *testing.T) {
	below := newStore(t)
	ids := orphaned(t, below, 3)
	ended := parked(t, "ended")
	ended.State = fsm.StateSucceeded
	log := &journal{}
	c := clientOf(t, senseless{below, []Run{ended}})
	c.proc.Log = slog.New(log)
	done, err := c.Recover(t.Context())
	require.ErrorContains(t, err, "run ended: fsm: ")
	require.Equal(t, Recovery{Failed: 3}, done)
	settledOnce(t, below, ids)
	require.Len(t, log.logged(), 1, "while others could be settled")
	require.Contains(t, log.logged()[0], "ERROR run not recovered; trying again: run ended: fsm: ")
}

// TestRecoverChecksSessions: E2 J7, a client that recovers asks about the sessions of parked runs
// after the orphans are settled, and says so if these could not be.
func TestRecoverChecksSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		parksMany(t, below, 2)
		s := &watched{Store: below}
		lc, err := New(Config{Store: s, Logger: slog.New(slog.DiscardHandler), Engine: faultyEngine{
			check: func(_ context.Context, id string) error { return expiredSession(id) },
		}})
		require.NoError(t, err)
		defer lc.Close()
		s.away.Store(true)
		done, err := lc.Recover(t.Context())
		require.ErrorContains(t, err, "connection refused")
		require.Zero(t, done)
		in(t, lc.Client, "r0000", fsm.StateWaitingUser)

		s.away.Store(false)
		done, err = lc.Recover(t.Context())
		require.NoError(t, err)
		require.Equal(t, Recovery{Failed: 2}, done)
	})
}

// TestRecoverReportsWhatFailsLate: E6 J10, Recover waits for engines that answer late, and returns
// why their runs could not be settled.
func TestRecoverReportsWhatFailsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below := newStore(t)
		orphaned(t, below, 1)
		s := &faulty{Store: below, fail: func(int64, *store.Commit) error { return errors.New("disk full") }}
		lc, err := New(Config{Store: s, Engine: faultyEngine{
			reap: func(context.Context, string) error { time.Sleep(node.EngineWait + time.Second); return nil },
		}})
		require.NoError(t, err)
		defer lc.Close()
		done, err := lc.Recover(t.Context())
		require.ErrorContains(t, err, "lifecycle: recover: run r0000: disk full")
		require.Zero(t, done)
	})
}

// TestRecoverCountsEachRun: E4 J1.
func TestRecoverCountsEachRun(t *testing.T) {
	for name, c := range map[string]struct {
		adjust func(*Spec)
		done   Recovery
	}{
		"requeued": {func(s *Spec) { s.OnInterrupt = Repeat }, Recovery{Requeued: 3}},
		"held":     {func(s *Spec) { s.OnInterrupt = Ask }, Recovery{Held: 3}},
		"failed":   {func(*Spec) {}, Recovery{Failed: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			orphaned(t, s, 3, c.adjust)
			done, err := clientOf(t, s).Recover(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.done, done)
		})
	}
}

// TestRecoveryPassesWholePagesOfAwaitedOrphans: E6 J10, recovery settles an orphan even if the
// engines of all orphans on the pages before it hang.
func TestRecoveryPassesWholePagesOfAwaitedOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const awaited = 2 * node.OrphanPage
		below := newStore(t)
		require.NoError(t, below.SetPool(t.Context(), slots.Pool{Name: slots.DefaultPool, Capacity: awaited + 1}))
		ids := orphaned(t, below, awaited+1)
		last := ids[awaited]
		full := errors.New("disk full")
		answer := make(chan struct{})
		lc, err := New(Config{Store: &faulty{Store: below, fail: func(int64, *store.Commit) error { return full }},
			Engine: faultyEngine{reap: func(_ context.Context, id string) error {
				if id != last {
					<-answer
				}
				return nil
			}}})
		require.NoError(t, err)
		defer lc.Close()
		s := lc.proc.NewRecoverer(t.Context(), "", nil)
		require.ErrorContains(t, s.Pass(t.Context()), "run "+last+": disk full")
		full = nil
		require.NoError(t, s.Pass(t.Context()))
		done, _ := s.TakeResults()
		require.Equal(t, node.Recovery{Failed: 1}, done)
		in(t, lc.Client, last, fsm.StateFailed)

		close(answer)
		s.Wait()
		done, late := s.TakeResults()
		require.NoError(t, late)
		require.Equal(t, node.Recovery{Failed: awaited}, done)
	})
}

// TestRecoverySettlesNoRunOfItsOwnNode: I5, a node with a lost lease leaves its runs to the nodes
// that took over.
func TestRecoverySettlesNoRunOfItsOwnNode(t *testing.T) {
	s := newStore(t)
	orphaned(t, s, 3)
	own := clientOf(t, s).proc.NewRecoverer(t.Context(), "dead", nil)
	require.ErrorIs(t, own.Pass(t.Context()), store.ErrStaleEpoch)
	done, _ := own.TakeResults()
	require.Zero(t, done)

	other := clientOf(t, s).proc.NewRecoverer(t.Context(), "alive", nil)
	require.NoError(t, other.Pass(t.Context()))
	done, _ = other.TakeResults()
	require.Equal(t, node.Recovery{Failed: 3}, done)
}

// TestRecoveryWritesOnceForAnExpiredLease: E6 J7, the pass after the expiry of a node finds nothing
// to write.
func TestRecoveryWritesOnceForAnExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: newStore(t)}
		require.NoError(t, s.Join(t.Context(), store.Node{ID: "silent", Lease: time.Second}, time.Now()))
		require.NoError(t, s.Join(t.Context(), store.Node{ID: "alive", Lease: time.Hour}, time.Now()))
		settler := clientOf(t, s).proc.NewRecoverer(t.Context(), "", nil)
		for _, expires := range []int64{1, 2, 2, 2} {
			require.NoError(t, settler.Pass(t.Context()))
			require.Equal(t, expires, s.expires.Load())
			pass(2 * time.Second)
		}
		done, _ := settler.TakeResults()
		require.Equal(t, node.Recovery{Nodes: 1}, done)
	})
}
