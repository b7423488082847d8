package lifecycle

import (
	"context"
	"errors"
	"log/slog"
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

// journal is a logger's handler that keeps what it is told.
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

// told are the lines so far.
func (j *journal) told() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}

func TestAClientNeedsOnlyItsStore(t *testing.T) {
	_, err := NewClient(ClientConfig{})
	require.EqualError(t, err, "lifecycle: ClientConfig.Store is nil: give the store that the executing processes use")

	c, err := NewClient(ClientConfig{Store: newStore(t)})
	require.NoError(t, err)
	defer c.Close()
	require.Same(t, slog.Default(), c.log)
	require.Equal(t, SystemClock{}, c.clock)
	require.Equal(t, time.Second, c.poll)

	log, clock := slog.New(&journal{}), wrongBy(time.Hour)
	c, err = NewClient(ClientConfig{Store: newStore(t), Logger: log, Clock: clock, Poll: time.Minute})
	require.NoError(t, err)
	defer c.Close()
	require.Same(t, log, c.log)
	require.Same(t, clock, c.clock)
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

// TestPruneGoesOnAsLongAsABatchIsFull, and counts all that is gone, even when it comes to no end.
func TestPruneGoesOnAsLongAsABatchIsFull(t *testing.T) {
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

// TestHistoryEndsWithTheOpenQuestion: C7, which has no resolution yet.
func TestHistoryEndsWithTheOpenQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: asksThrice()})
		submit(t, lc, "r")
		synctest.Wait()
		for id := 1; id <= 3; id++ {
			question, err := lc.Pending(t.Context(), "r")
			require.NoError(t, err)
			require.Equal(t, id, question.ID)
			records, err := lc.History(t.Context(), "r")
			require.NoError(t, err)
			require.Len(t, records, id)
			for i, r := range records {
				require.Equal(t, i+1, r.Question.ID)
				require.Equal(t, r.Question.ID == id, r.Resolution == "", "only the last one is open")
			}
			require.Equal(t, *question, records[id-1].Question)
			_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: id, Text: "yes"})
			require.NoError(t, err)
			synctest.Wait()
		}
		in(t, lc.Client, "r", fsm.StateSucceeded)
		records, err := lc.History(t.Context(), "r")
		require.NoError(t, err)
		require.Len(t, records, 3)
		question, err := lc.Pending(t.Context(), "r")
		require.NoError(t, err)
		require.Nil(t, question)
		_, err = lc.History(t.Context(), "unknown")
		require.ErrorIs(t, err, ErrNotFound)
		stop()
	})
}

// TestAWaiterWithoutHintsLooksOncePerPoll: I5, and its context ends its wait.
func TestAWaiterWithoutHintsLooksOncePerPoll(t *testing.T) {
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
