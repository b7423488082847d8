package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// overdue is a store with batches of due questions, one per query, and the answers to their
// commits.
type overdue struct {
	store.Store

	mu      sync.Mutex
	batches [][]Run        // guarded by mu
	looked  []time.Time    // guarded by mu; the times of queries for due runs
	settled map[string]int // guarded by mu; by run id
	answer  func(c *store.Commit) error
}

func (s *overdue) Due(context.Context, time.Time, int) ([]Run, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = append(s.looked, time.Now())
	if len(s.batches) == 0 {
		return nil, time.Time{}, nil
	}
	due := s.batches[0]
	s.batches = s.batches[1:]
	return due, time.Time{}, nil
}

// so returns the queries so far, the number of batches left, and the settled questions.
func (s *overdue) so() (looked []time.Time, left int, settled map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.looked), len(s.batches), maps.Clone(s.settled)
}

func (s *overdue) Commit(_ context.Context, batch []store.Commit) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := make([]error, len(batch))
	for i := range batch {
		if errs[i] = s.answer(&batch[i]); errs[i] == nil {
			s.settled[batch[i].Run.ID]++
		}
	}
	return errs
}

// dueRuns are so many runs whose deadline has passed.
func dueRuns(tb testing.TB, name string, n int) []Run {
	tb.Helper()
	all := make([]Run, n)
	for i := range all {
		all[i] = parked(tb, fmt.Sprint(name, i))
	}
	return all
}

// TestFireDeadlinesBatchesThoseDueTogether: D2, as many as there are, and not so many in
// each poll; even where some of them are settled by others in the same moment. A batch that is not
// full was the last.
func TestFireDeadlinesBatchesThoseDueTogether(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int
		looks int // at once
	}{
		"two full batches and the rest":     {[]int{node.DueBatch, node.DueBatch, 1}, 3},
		"one that is full":                  {[]int{node.DueBatch}, 2},
		"one that is not":                   {[]int{node.DueBatch - 1, 1}, 1},
		"none":                              {[]int{0, 1}, 1},
		"a full one, and others were first": {[]int{node.DueBatch, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &overdue{Store: newStore(t), settled: make(map[string]int), answer: func(c *store.Commit) error {
					if name == "a full one, and others were first" && c.Run.ID != "a0" && c.Run.ID != "b0" {
						return store.ErrConflict
					}
					return nil
				}}
				for i, n := range c.sizes {
					s.batches = append(s.batches, dueRuns(t, string(rune('a'+i)), n))
				}
				log := &journal{}
				_, stop := serve(t, Config{Store: s, Engine: agent{}, Logger: slog.New(log)})
				looked, _, _ := s.so()
				require.Len(t, looked, c.looks)
				for _, at := range looked {
					require.Equal(t, looked[0], at)
				}
				pass(time.Second)
				_, left, _ := s.so()
				require.Zero(t, left)
				require.Empty(t, log.logged(), "who was not first has nothing to tell")
				stop()
			})
		})
	}
}

// TestFireDeadlinesSkipsOneThatFails: an inconsistent record is reported to the operator, and the
// rest is settled.
func TestFireDeadlinesSkipsOneThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &overdue{Store: newStore(t), settled: make(map[string]int), answer: func(c *store.Commit) error {
			if c.Run.ID == "a3" {
				return errors.New("disk full")
			}
			return nil
		}}
		due := dueRuns(t, "a", 5)
		due[1].Open = nil
		due[2].State = fsm.StateQueued
		s.batches = [][]Run{due}
		log := &journal{}
		_, stop := serve(t, Config{Store: s, Engine: agent{}, Logger: slog.New(log)})
		_, _, settled := s.so()
		require.Equal(t, map[string]int{"a0": 1, "a4": 1}, settled)
		told := log.logged()
		require.Len(t, told, 3)
		require.Equal(t, "ERROR deadline cannot be fired: lifecycle: run has a deadline and no question", told[0])
		require.Contains(t, told[1], "ERROR deadline cannot be fired: fsm: ")
		require.Equal(t, "ERROR deadline not fired; trying again: disk full", told[2])
		stop()
	})
}

// unread is a store whose deadlines cannot be read while it is away, and which hears of the end of
// Serve in the middle of a look.
type unread struct {
	store.Store
	away atomic.Bool
	hang atomic.Bool
}

func (s *unread) Due(ctx context.Context, now time.Time, limit int) ([]Run, time.Time, error) {
	if s.hang.Load() {
		<-ctx.Done()
		return nil, time.Time{}, ctx.Err()
	}
	if s.away.Load() {
		return nil, time.Time{}, errors.New("connection refused")
	}
	return s.Store.Due(ctx, now, limit)
}

// TestWatchDeadlinesLogsReadErrorsOncePerPoll, and does not report the end of Serve.
func TestWatchDeadlinesLogsReadErrorsOncePerPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := &unread{Store: newStore(t)}, &journal{}
		_, stop := serve(t, Config{Store: s, Engine: agent{}, Logger: slog.New(log), Poll: 2 * time.Second})
		pass(time.Minute)
		require.Empty(t, log.logged())
		s.away.Store(true)
		pass(10 * time.Second)
		require.Len(t, log.logged(), 1, "R5: one a minute")
		require.Equal(t, "ERROR deadlines not read; trying again: connection refused", log.logged()[0])
		s.away.Store(false)
		s.hang.Store(true)
		pass(10 * time.Second)
		stop()
		require.Len(t, log.logged(), 1)
	})
}
