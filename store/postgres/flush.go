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
)

// The frame of a transaction.
const (
	beginText  = `BEGIN ISOLATION LEVEL READ COMMITTED`
	commitText = `COMMIT`
)

var guardText = sql(`SELECT ` + steady + `, set_config('lock_timeout', $1::text, true)`)

// rowWait is how long a flush waits for a row that a transaction of somebody's own holds: all others wait with it.
const rowWait = "100ms"

// maxTries bounds how often an entry is tried that is not refused, and still not stored.
const maxTries = 20

// flush stores entries. Those of one run go one after the other.
func (s *Store) flush(entries []*entry) {
	for len(entries) > 0 {
		var later []*entry
		seen := make(map[string]bool, len(entries))
		round := entries[:0:0]
		for _, e := range entries {
			switch {
			case seen[e.Run.ID]:
				later = append(later, e)
			case !s.behind(e):
				seen[e.Run.ID] = true
				round = append(round, e)
			}
		}
		s.round(round)
		entries = later
	}
}

// round stores entries of different runs, in one transaction if it can be.
func (s *Store) round(entries []*entry) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	for try := 0; len(entries) > 0; try++ {
		if entries = s.known(ctx, entries); len(entries) == 0 {
			return
		}
		err := s.write(ctx, entries, rowWait)
		if err == nil {
			entries = s.judged(ctx, s.stored(entries), try)
			continue
		}
		entries = s.sorted(ctx, entries, err, try)
	}
}

// sorted takes out of a failed transaction what it failed for, and returns what is to be tried again.
func (s *Store) sorted(ctx context.Context, entries []*entry, err error, try int) []*entry {
	var e *pgconn.PgError
	switch {
	case again(err) && try < maxTries:
		return entries
	case !errors.As(err, &e):
	case e.Code == "55P03":
		return s.unheld(ctx, entries)
	case strings.HasPrefix(e.Code, "22"), strings.HasPrefix(e.Code, "23"), strings.HasPrefix(e.Code, "54"): // a fault of one of them
		if len(entries) > 1 {
			s.round(slices.Clone(entries[:len(entries)/2]))
			return entries[len(entries)/2:]
		}
	}
	for _, e := range entries {
		e.finish(unstored(err))
	}
	return nil
}

var unheldText = sql(`SELECT n FROM interlude.states WHERE n = ANY ($1::bigint[]) FOR NO KEY UPDATE SKIP LOCKED`)

// unheld sets entries apart whose rows somebody else holds: they wait by themselves. When it is no row of a run, it is an id that is
// being created elsewhere: then all that create one wait by themselves.
func (s *Store) unheld(ctx context.Context, entries []*entry) []*entry {
	rows := make([]int64, 0, len(entries))
	for _, e := range entries {
		if e.n != 0 {
			rows = append(rows, e.n)
		}
	}
	found, err := s.pool.Query(ctx, s.texts[unheldText], rows)
	var free []int64
	if err == nil {
		free, err = pgx.CollectRows(found, pgx.RowTo[int64])
	}
	if err != nil {
		for _, e := range entries {
			e.finish(unstored(err))
		}
		return nil
	}
	held := len(free) < len(rows)
	return slices.DeleteFunc(slices.Clone(entries), func(e *entry) bool {
		apart := held && e.n != 0 && !slices.Contains(free, e.n) || !held && e.n == 0
		if apart {
			s.apart(e)
		}
		return apart
	})
}

// unstored is the error of a write that failed. What is not known to be rolled back may have been stored.
func unstored(err error) error {
	if rolledBack(err) {
		return fmt.Errorf("postgres: write: %w", explain(err))
	}
	return fmt.Errorf("postgres: write, outcome unknown: %w", explain(err))
}

// write sends one transaction of the entries, whole and in one exchange, and marks those that were stored. Rows are locked in one order by everybody.
func (s *Store) write(ctx context.Context, entries []*entry, wait string) error {
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.Run.ID, b.Run.ID))
	})
	creating := 0
	for creating < len(entries) && entries[creating].Expect == 0 {
		creating++
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	b := &pgx.Batch{}
	b.Queue(beginText)
	b.Queue(s.texts[guardText], wait)
	s.queue(b, entries, creating)
	b.Queue(commitText)
	results := conn.SendBatch(ctx, b)
	err = func() error {
		for range 2 {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		if err := collect(results, entries, creating); err != nil {
			return err
		}
		_, err := results.Exec()
		return err
	}()
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err != nil {
		s.recent.doubt(err)
		rollBack(ctx, conn.Conn())
	}
	return err
}

// rollBack makes a connection fit for others; one that cannot be is closed when it is given back.
func rollBack(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = conn.Exec(ctx, `ROLLBACK`) // the first error is the one that tells
}

// stored finishes the entries that were stored, tells watchers, and returns the others.
func (s *Store) stored(entries []*entry) (others []*entry) {
	hints := make([]store.Hint, 0, len(entries))
	var done store.Stats
	for _, e := range entries {
		if !e.made {
			others = append(others, e)
			continue
		}
		done.Commits++
		done.Rows += uint64(e.rows())
		done.Bytes += uint64(e.size())
		s.remember(e)
		hints = append(hints, e.hint())
	}
	s.meter.flushed(done)
	for _, e := range entries {
		if e.made {
			e.recycle()
			e.finish(nil)
			e.release()
		}
	}
	s.tell(hints)
	return others
}

// remember keeps the run as it was written.
func (s *Store) remember(e *entry) {
	s.recent.put(stored{n: e.n, run: &e.Run, spec: e.Spec}, len(e.record))
}

// tell passes hints on, here and to others.
func (s *Store) tell(hints []store.Hint) {
	s.watchers.Tell(hints)
	s.notifier.add(hints)
}
