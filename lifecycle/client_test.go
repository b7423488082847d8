package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// journal is a logger's handler that keeps its records.
type journal struct {
	mu    sync.Mutex
	lines []string // guarded by mu; level, message and error of each record
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" && a.Value.Any() != nil {
			line += ": " + a.Value.String()
		}
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	return nil
}

func (j *journal) WithAttrs([]slog.Attr) slog.Handler { return j }

func (j *journal) WithGroup(string) slog.Handler { return j }

// logged are the lines so far.
func (j *journal) logged() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}

func TestNewClientNeedsOnlyAStore(t *testing.T) {
	_, err := NewClient(ClientConfig{})
	require.EqualError(t, err, "lifecycle: ClientConfig.Store is nil, want the store that the executing processes use")

	c, err := NewClient(ClientConfig{Store: newStore(t)})
	require.NoError(t, err)
	defer c.Close()
	require.NotNil(t, c.proc.Log)
	require.Equal(t, SystemClock{}, c.proc.Clock)
	require.Equal(t, time.Second, c.poll)

	kept := &journal{}
	log, clock := slog.New(kept), wrongBy(time.Hour)
	c, err = NewClient(ClientConfig{Store: newStore(t), Logger: log, Clock: clock, Poll: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	c.proc.Log.Info("here")
	require.Equal(t, []string{"INFO here"}, kept.logged())
	require.Same(t, clock, c.proc.Clock)
	require.Equal(t, time.Minute, c.poll)

	c, err = NewClient(ClientConfig{Store: newStore(t), Poll: -time.Minute})
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, time.Second, c.poll)
}

// pruning is a store that says how many runs each prune deleted, and what went wrong.
type pruning struct {
	store.Store
	deleted []int
	err     error
	limits  []int
}

func (s *pruning) Prune(_ context.Context, _ time.Time, limit int) (int, error) {
	s.limits = append(s.limits, limit)
	n := s.deleted[len(s.limits)-1]
	if len(s.limits) == len(s.deleted) {
		return n, s.err
	}
	return n, nil
}

// TestPruneRepeatsWhileBatchesAreFull, and counts all that is gone, even when it comes to no end.
func TestPruneRepeatsWhileBatchesAreFull(t *testing.T) {
	away := errors.New("connection refused")
	for _, c := range []struct {
		deleted []int
		err     error
		total   int
	}{
		{[]int{0}, nil, 0},
		{[]int{499}, nil, 499},
		{[]int{500, 0}, nil, 500},
		{[]int{500, 500, 7}, nil, 1007},
		{[]int{500, 500, 500}, away, 1500},
		{[]int{500, 3}, away, 503},
	} {
		s := &pruning{Store: newStore(t), deleted: c.deleted, err: c.err}
		n, err := clientOf(t, s).Prune(t.Context(), noon)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.total, n)
		require.Len(t, s.limits, len(c.deleted))
	}
}

// asksThrice is an engine that is done in its fourth turn.
func asksThrice() sinking {
	return func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if t.Attempt <= 3 {
			return asking("Go on?"), nil
		}
		return finished(), nil
	}
}

// TestWaitWithoutHintsReadsOncePerPoll: I5, and its context ends its wait.
func TestWaitWithoutHintsReadsOncePerPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Store: newStore(t)}
		c, err := NewClient(ClientConfig{Store: hintless{s}, Poll: 3 * time.Second})
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second+1)
		defer cancel()
		_, err = c.Wait(ctx, "r")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualValues(t, 11, s.looks.Load())
	})
}

// TestStatsUsesTheClientsClock: delays are judged by the client's clock.
func TestStatsUsesTheClientsClock(t *testing.T) {
	s := newStore(t)
	clock := wrongBy(0)
	c, err := NewClient(ClientConfig{Store: s, Clock: clock})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Submit(t.Context(), Spec{Prompt: "x", NotBefore: clock.Now().Add(time.Hour)})
	require.NoError(t, err)
	for _, at := range []struct {
		off            time.Duration
		delayed, ready int
	}{{0, 1, 0}, {time.Hour, 0, 1}} {
		clock.off.Store(int64(at.off))
		stats, err := c.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int{1, at.delayed, at.ready}, []int{stats.Queued, stats.Delayed, stats.Ready})
	}
}

// view is a store in the caller's transaction: its writes are stored at the caller's commit.
type view struct {
	store.Store
	tb testing.TB

	mu      sync.Mutex
	written []store.Commit // guarded by mu
}

func viewOf(tb testing.TB, s store.Store) *view { return &view{Store: s, tb: tb} }

// Commit implements store.Writer.
func (v *view) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := make([]error, len(batch))
	for i := range batch {
		switch before, err := v.Run(ctx, batch[i].Run.ID); {
		case batch[i].Expect == 0 && err == nil:
			errs[i] = store.ErrExists
		case batch[i].Expect != before.Version:
			errs[i] = store.ErrConflict
		default:
			v.mu.Lock()
			v.written = append(v.written, batch[i])
			v.mu.Unlock()
		}
	}
	return errs
}

// Run implements store.Reader.
func (v *view) Run(ctx context.Context, id string) (Run, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range slices.Backward(v.written) {
		if c.Run.ID == id {
			return c.Run.Clone(), nil
		}
	}
	return v.Store.Run(ctx, id)
}

// Confirm implements store.Confirmer, with this view's data.
func (v *view) Confirm(ctx context.Context, read func(store.Reader) error) error {
	return v.Store.Confirm(ctx, func(store.Reader) error { return read(v) })
}

// Events implements store.Reader.
func (v *view) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	stored, err := v.Store.Events(ctx, id, after, limit)
	if errors.Is(err, store.ErrNotFound) {
		_, err = v.Run(ctx, id)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.written {
		for _, e := range c.Events {
			if c.Run.ID == id && e.Seq > after+uint64(len(stored)) { // end has not stored it
				stored = append(stored, e)
			}
		}
	}
	return stored, err
}

// Watch implements store.Watcher, without hints.
func (v *view) Watch(func(store.Hint)) func() {
	v.tb.Error("a view that ends with its transaction is watched")
	return func() {}
}

// end commits the transaction.
func (v *view) end() {
	v.tb.Helper()
	for i, err := range v.Store.Commit(v.tb.Context(), v.written) {
		require.NoError(v.tb, err, v.written[i].Run.ID)
	}
}

// TestOnCommitsWithTheCallersTransaction: C8, a client's calls on a view become visible when the
// view's owner commits, and have no effect otherwise.
func TestOnCommitsWithTheCallersTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: asksOnce()})
		reply := interaction.Reply{ID: 1, Text: "yes", Key: "k"}
		var receipt interaction.Receipt
		for _, committed := range []bool{false, true} {
			end := func(v *view) {
				if committed {
					v.end()
				}
				synctest.Wait()
			}
			tx := viewOf(t, s)
			run, err := lc.On(tx).Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
			require.NoError(t, err)
			again, err := lc.On(tx).Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
			require.NoError(t, err)
			require.Equal(t, run, again, "the transaction sees it")
			synctest.Wait()
			_, err = lc.Get(t.Context(), "r")
			require.ErrorIs(t, err, ErrNotFound, "nobody else does")
			if end(tx); !committed {
				_, err = lc.Get(t.Context(), "r")
				require.ErrorIs(t, err, ErrNotFound)
			}
		}
		for _, committed := range []bool{false, true} {
			in(t, lc.Client, "r", fsm.StateWaitingUser)
			tx := viewOf(t, s)
			var err error
			receipt, err = lc.On(tx).Reply(t.Context(), "r", reply)
			require.NoError(t, err)
			in(t, lc.On(tx), "r", fsm.StateQueued)
			synctest.Wait()
			in(t, lc.Client, "r", fsm.StateWaitingUser)
			if committed {
				tx.end()
			}
			synctest.Wait()
		}
		in(t, lc.Client, "r", fsm.StateSucceeded)
		replayed, err := lc.On(viewOf(t, s)).Reply(t.Context(), "r", reply)
		require.NoError(t, err)
		receipt.Replayed = true
		require.Equal(t, receipt, replayed)

		submit(t, lc, "canceled")
		synctest.Wait()
		tx := viewOf(t, s)
		require.NoError(t, lc.On(tx).Cancel(t.Context(), "canceled", "not needed"))
		in(t, lc.Client, "canceled", fsm.StateWaitingUser)
		tx.end()
		in(t, lc.Client, "canceled", fsm.StateCanceled)
		stop()
	})
}

// TestOnSharesTheClient: it has the clock, and the engines that a spec may name.
func TestOnSharesTheClient(t *testing.T) {
	s := newStore(t)
	clock := wrongBy(-24 * time.Hour)
	lc, err := New(Config{Store: s, Engine: agent{}, Clock: clock})
	require.NoError(t, err)
	defer lc.Close()
	on := lc.On(viewOf(t, s))
	_, err = on.Submit(t.Context(), Spec{Prompt: "x", Engine: "unknown"})
	require.ErrorIs(t, err, ErrInvalidSpec)
	run, err := on.Submit(t.Context(), Spec{Prompt: "x"})
	require.NoError(t, err)
	require.True(t, run.CreatedAt.Before(time.Now().Add(-23*time.Hour)))
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { lc.On(s) }), 6.0)
}

// TestEventsOfAViewPolls: without hints, and sees the view.
func TestEventsOfAViewPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		c := clientOf(t, s)
		tx := viewOf(t, s)
		on := c.On(tx)
		_, err := on.Submit(t.Context(), Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		var both sync.WaitGroup
		both.Go(func() {
			run, err := on.Wait(t.Context(), "r")
			if err != nil || run.State != fsm.StateCanceled {
				t.Errorf("%v: %v", run.State, err)
			}
		})
		both.Go(func() {
			last := errors.New("no event")
			for event, err := range on.Events(t.Context(), "r", 0) {
				if last = err; err == nil && !event.Terminal() {
					last = fmt.Errorf("%s is the last event", event.Type)
				}
			}
			if last != nil {
				t.Error(last)
			}
		})
		pass(10 * time.Second)
		require.NoError(t, on.Cancel(t.Context(), "r", "not needed"))
		canceled := time.Now()
		both.Wait()
		require.LessOrEqual(t, time.Since(canceled), time.Second, "a poll")
		on.Close()
		_, err = c.Get(t.Context(), "r")
		require.ErrorIs(t, err, ErrNotFound)
	})
}

// N7: a pool is changed from the size that the caller saw, or created; a repeated call has no
// further effect; the second operator's error has the stored size.
func TestN7SetPoolOverwritesNoOtherChange(t *testing.T) {
	s := newStore(t)
	c := clientOf(t, s)
	was, now := Pool{Name: "gpu", Capacity: 4}, Pool{Name: "gpu", Capacity: 8, KeyCapacity: 2}
	require.ErrorIs(t, c.SetPool(t.Context(), was, now), ErrPoolChanged)
	require.NoError(t, c.SetPool(t.Context(), Pool{}, was))
	for range 2 {
		require.NoError(t, c.SetPool(t.Context(), was, now))
	}
	err := c.SetPool(t.Context(), was, Pool{Name: "gpu", Capacity: 5})
	require.ErrorIs(t, err, ErrPoolChanged)
	require.ErrorContains(t, err, "gpu has 8 slots now, and 2 per key")
	require.ErrorIs(t, c.SetPool(t.Context(), now, Pool{Name: "gpu"}), ErrInvalidArgument)
	require.NoError(t, s.Close())
	require.ErrorIs(t, c.SetPool(t.Context(), now, was), ErrUnavailable)
}
