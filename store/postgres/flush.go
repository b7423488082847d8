package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/groupcommit"
)

// The frame of a transaction.
const (
	beginText  = `BEGIN ISOLATION LEVEL READ COMMITTED`
	commitText = `COMMIT`
)

var (
	guardText = sql(`SELECT ` + guard + `, ` + setLockTimeout)
	// updateGuardText does the work of guardText and nestedLoopsText in one statement, for a
	// transaction that begins with changes of runs. parkedGuardText also takes the shared lock
	// of the node that parked the runs, like shareParkersText. It is for the usual transaction,
	// with runs parked by one node.
	updateGuardText = sql(`SELECT ` + guard + `, ` + nestedLoops + `, ` + setLockTimeout)
	parkedGuardText = sql(`SELECT ` + guard + `, ` + nestedLoops + `, CASE WHEN ` + setLockTimeout + ` <> ''
		THEN ` + shareParker + ` END`)
)

const (
	guard          = indexPlans + `, ` + idleTimeout + `, ` + showWarnings
	setLockTimeout = `set_config('lock_timeout', $1::text, true)`
	shareParker    = `pg_advisory_xact_lock_shared(hashtextextended($2::text, 0))`
)

// flushLockTimeout limits a flush's wait for a locked row: all other commits of the flush wait too.
const flushLockTimeout = "100ms"

// maxTries bounds the tries of a commit that is neither stored nor refused.
const maxTries = 20

func (s *Store) flush(jobs []*groupcommit.Job[*commitBatch]) {
	var commits []*pendingCommit
	for _, j := range jobs {
		if j.Start() {
			commits = append(commits, j.Work.commits...)
		}
	}
	s.store(commits)
}

// store writes commits until each is stored or refused. Several commits of one run are executed in
// order: in one transaction if each is based on the previous one, so that no other writer comes
// between them, else in consecutive transactions.
func (s *Store) store(commits []*pendingCommit) {
	for len(commits) > 0 {
		commits = slices.DeleteFunc(commits, s.queueBehindLocked)
		heads, followers, later := chains(commits)
		commits = append(s.storeRound(heads, followers), later...)
	}
}

// chains divides commits into the first of each run, its successors by distance from the first, and
// later ones.
func chains(commits []*pendingCommit) (heads []*pendingCommit, followers [][]*pendingCommit, later []*pendingCommit) {
	last := make(map[string]*pendingCommit, len(commits))
	broken := make(map[string]bool) // runs with a commit in later, whose order is kept
	for _, c := range commits {
		id := c.Run.ID
		c.prev, c.depth = last[id], 0
		switch prev := c.prev; {
		case prev == nil:
			heads = append(heads, c)
		case !broken[id] && c.Expect == prev.Run.Version && c.ValidateNext(&prev.Run, false) == nil:
			c.depth = prev.depth + 1
			if c.depth > len(followers) {
				followers = append(followers, nil)
			}
			followers[c.depth-1] = append(followers[c.depth-1], c)
		default:
			broken[id] = true
			later = append(later, c)
			continue
		}
		last[id] = c
	}
	return heads, followers, later
}

// storeRound stores the heads, of different runs, in one transaction if possible, and the followers
// with them. It returns followers that were not stored: they may be refused, or their heads were.
func (s *Store) storeRound(heads []*pendingCommit, followers [][]*pendingCommit) (left []*pendingCommit) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	for try := 0; len(heads) > 0; try++ {
		if heads = s.verify(ctx, heads); len(heads) == 0 {
			break
		}
		err := s.write(ctx, flushLockTimeout, append([][]*pendingCommit{heads}, followers...)...)
		switch {
		case err != nil && !rolledBack(err):
			// Their outcome is as unknown as the heads': a retry would refuse a stored commit.
			finishAll(slices.Concat(append([][]*pendingCommit{heads}, followers...)...), writeError(err))
			heads = nil
		case err != nil:
			heads = s.handleFailure(ctx, heads, err, try)
			left = slices.Concat(append([][]*pendingCommit{left}, followers...)...)
		default:
			var unwritten []*pendingCommit
			// one transaction, counted once
			for _, c := range s.finishWritten(slices.Concat(append([][]*pendingCommit{heads}, followers...)...)) {
				if c.depth == 0 {
					unwritten = append(unwritten, c)
				} else {
					left = append(left, c)
				}
			}
			heads = s.verifyUnwritten(ctx, unwritten, try)
		}
		followers = nil // the next tries are only for the heads
	}
	return slices.Concat(append([][]*pendingCommit{left}, followers...)...)
}

// handleFailure removes the commits for which a transaction failed, and returns those to retry.
func (s *Store) handleFailure(ctx context.Context, commits []*pendingCommit, err error, try int) []*pendingCommit {
	var e *pgconn.PgError
	switch {
	case lostRace(err) && try < maxTries:
		return commits
	case !errors.As(err, &e):
	case e.Code == lockNotAvailable:
		return s.setLockedAside(ctx, commits)
	case strings.HasPrefix(e.Code, "22"), strings.HasPrefix(e.Code, "23"), strings.HasPrefix(e.Code, "54"):
		// find the commit at fault by bisection
		if len(commits) > 1 {
			s.storeRound(slices.Clone(commits[:len(commits)/2]), nil)
			return commits[len(commits)/2:]
		}
	}
	finishAll(commits, writeError(err))
	return nil
}

func finishAll(commits []*pendingCommit, err error) {
	for _, c := range commits {
		c.finish(err)
	}
}

// writeError is the error of a failed write. Unless the server is known to have rolled it back, it
// may have been stored.
func writeError(err error) error {
	if rolledBack(err) {
		return fmt.Errorf("postgres: write: %w", explain(err))
	}
	return fmt.Errorf("postgres: write, outcome unknown: %w", explain(err))
}

// write sends one transaction, in one exchange per round of commits, and marks the written ones. A
// round has at most one commit per run. All transactions lock rows in the same order.
func (s *Store) write(ctx context.Context, lockTimeout string, rounds ...[]*pendingCommit) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for i, commits := range rounds {
		err = s.exchange(ctx, conn.Conn(), lockTimeout, commits, i == 0, i == len(rounds)-1)
		if err != nil {
			s.cache.clearIfDisconnected(err)
			rollBack(ctx, conn.Conn())
			return err
		}
	}
	return nil
}

func (s *Store) exchange(ctx context.Context, conn *pgx.Conn, lockTimeout string, commits []*pendingCommit,
	first, last bool,
) error {
	for _, c := range commits {
		if c.prev != nil {
			c.row = c.prev.row // the round before may have created it
		}
	}
	slices.SortFunc(commits, func(a, b *pendingCommit) int {
		return cmp.Or(cmp.Compare(min(a.Expect, 1), min(b.Expect, 1)), cmp.Compare(a.row, b.row),
			cmp.Compare(a.Run.ID, b.Run.ID))
	})
	creating := 0
	for creating < len(commits) && commits[creating].Expect == 0 {
		creating++
	}
	b := newBatch(6)
	guarded := false // by a statement that includes everything that queueWrites requires
	if first {
		b.Queue(beginText)
		guarded = s.queueGuard(b, lockTimeout, commits, creating)
	}
	s.queueWrites(b, commits, creating, guarded)
	if last {
		b.Queue(commitText)
	}
	clearReplicationWarning(conn.PgConn())
	results := sendBatch(ctx, conn, b, argumentsSize(commits))
	err := func() error {
		for i := 0; first && i < 2; i++ {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		err := readWritten(results, commits, creating, guarded)
		if err == nil && last {
			_, err = results.Exec()
		}
		return err
	}()
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil && last {
		err = acknowledgmentError(conn.PgConn())
	}
	return err
}

// queueGuard adds the guard of a transaction's first round, and reports whether it includes
// everything that must precede changes of runs.
func (s *Store) queueGuard(b *pgx.Batch, lockTimeout string, commits []*pendingCommit, creating int) (whole bool) {
	var parkers []string
	if creating == 0 {
		parkers = parkersOf(commits)
	}
	switch {
	case creating > 0 || len(parkers) > 1:
		b.Queue(s.texts[guardText], lockTimeout)
		return false
	case len(parkers) == 1:
		b.Queue(s.texts[parkedGuardText], lockTimeout, s.parkerLock()+parkers[0])
	default:
		b.Queue(s.texts[updateGuardText], lockTimeout)
	}
	return true
}

// rollBack makes a connection reusable. If that fails, the connection is closed on release.
func rollBack(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = conn.Exec(ctx, `ROLLBACK`) // the caller returns the first error
}

// finishWritten caches, counts, publishes and finishes the stored commits, and returns the others.
func (s *Store) finishWritten(commits []*pendingCommit) (others []*pendingCommit) {
	hints := make([]store.Hint, 0, len(commits))
	var written store.Counters
	for _, c := range commits {
		if !c.written {
			others = append(others, c)
			continue
		}
		written.Commits++
		written.Rows += uint64(c.rows())
		written.Bytes += uint64(c.size())
		s.cache.put(storedRun{row: c.row, run: &c.Run, spec: c.Spec}, len(c.Record))
		s.cache.keepEvents(c)
		hints = append(hints, c.Hint())
	}
	s.counters.Add(written)
	for _, c := range commits {
		if c.written {
			c.Written()
			c.finish(nil)
			c.Release()
			c.batch, c.prev = nil, nil // the run stays in the cache, and nothing else with it
		}
	}
	s.watchers.Notify(hints)
	s.notifier.enqueue(hints)
	return others
}
