package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// lockedRuns holds commits whose rows another transaction has locked, such as a host's long one.
// They wait per run in order of arrival, without delaying the flushes.
type lockedRuns struct {
	// permits limits concurrent retries, and so their connections.
	permits chan struct{}

	mu      sync.Mutex
	waiting map[string][]lockedCommit // guarded by mu; by run, the first is being retried
}

type lockedCommit struct {
	*pendingCommit

	deadline time.Time
}

// retryLockTimeout limits one retry's wait for the row lock, which also delays each commit that
// waits for its permit.
const retryLockTimeout = 200 * time.Millisecond

// newLockedRuns takes the size of the connection pool; a quarter is for retries.
func newLockedRuns(connections int32) lockedRuns {
	return lockedRuns{
		permits: make(chan struct{}, max(1, connections/4)), waiting: make(map[string][]lockedCommit),
	}
}

func (s *Store) queueBehindLocked(c *pendingCommit) bool {
	s.locked.mu.Lock()
	defer s.locked.mu.Unlock()
	waits := len(s.locked.waiting[c.Run.ID]) > 0
	if waits {
		s.locked.enqueue(c, s.o.Timeout)
	}
	return waits
}

// retryAside retries a commit outside the flushes, until its row is free. Only a flush may call it:
// Close waits for the flushes first.
func (s *Store) retryAside(c *pendingCommit) {
	s.locked.mu.Lock()
	defer s.locked.mu.Unlock()
	s.locked.enqueue(c, s.o.Timeout)
	if len(s.locked.waiting[c.Run.ID]) == 1 {
		s.flushes.Go(func() { s.retryRun(c.Run.ID) })
	}
}

// enqueue is called with mu held.
func (l *lockedRuns) enqueue(c *pendingCommit, timeout time.Duration) {
	l.waiting[c.Run.ID] = append(l.waiting[c.Run.ID], lockedCommit{c, time.Now().Add(timeout)})
}

var freeRowsText = sql(
	`SELECT n FROM interlude.states WHERE n = ANY ($1::bigint[]) FOR NO KEY UPDATE SKIP LOCKED`)

// setLockedAside moves the commits that hit a lock timeout to separate retries, and returns the
// rest. If no run's row is locked, another transaction is creating a run with the same id, so all
// commits that create runs are moved.
func (s *Store) setLockedAside(ctx context.Context, commits []*pendingCommit) []*pendingCommit {
	rows := make([]int64, 0, len(commits))
	for _, c := range commits {
		if c.row != 0 {
			rows = append(rows, c.row)
		}
	}
	free, err := queryAfter(ctx, s.pool, s.settings(), s.texts[freeRowsText], pgx.RowTo[int64], rows)
	if err != nil {
		for _, c := range commits {
			c.finish(writeError(err))
		}
		return nil
	}
	rowLocked := len(free) < len(rows)
	return slices.DeleteFunc(slices.Clone(commits), func(c *pendingCommit) bool {
		aside := rowLocked && c.row != 0 && !slices.Contains(free, c.row) || !rowLocked && c.row == 0
		if aside {
			s.retryAside(c)
		}
		return aside
	})
}

func (s *Store) retryRun(id string) {
	for {
		s.locked.mu.Lock()
		first := s.locked.waiting[id][0]
		s.locked.mu.Unlock()
		if !s.retry(first) {
			continue
		}
		s.locked.mu.Lock()
		rest := s.locked.waiting[id][1:]
		if s.locked.waiting[id] = rest; len(rest) == 0 {
			delete(s.locked.waiting, id)
		}
		s.locked.mu.Unlock()
		if len(rest) == 0 {
			return
		}
	}
}

// retry waits for a permit, tries to store the commit, and reports whether it is finished.
func (s *Store) retry(c lockedCommit) bool {
	late := time.NewTimer(time.Until(c.deadline))
	defer late.Stop()
	select {
	case s.locked.permits <- struct{}{}:
		defer func() { <-s.locked.permits }()
	case <-late.C:
	}
	wait := min(retryLockTimeout, time.Until(c.deadline)).Milliseconds()
	if wait < 1 {
		c.finish(fmt.Errorf("postgres: write: %w: run %.128s is held by another transaction", ErrTimeout, c.Run.ID))
		return true
	}
	// The server's lock timeout ends the exchange long before this context, so that the outcome is
	// known: nothing was written.
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	return s.storeAlone(ctx, c.pendingCommit, strconv.FormatInt(wait, 10)+"ms")
}

// storeAlone stores one commit in a separate transaction, and reports whether it is finished;
// otherwise its row is still locked.
func (s *Store) storeAlone(ctx context.Context, c *pendingCommit, lockTimeout string) bool {
	commits := []*pendingCommit{c}
	for try := 0; ; try++ {
		if commits = s.verify(ctx, commits); len(commits) == 0 {
			return true
		}
		err := s.write(ctx, lockTimeout, commits)
		var e *pgconn.PgError
		switch {
		case err == nil:
			if commits = s.verifyUnwritten(ctx, s.finishWritten(commits), try); len(commits) == 0 {
				return true
			}
		case errors.As(err, &e) && e.Code == lockNotAvailable:
			return false
		case !lostRace(err) || try == maxTries:
			c.finish(writeError(err))
			return true
		}
	}
}
