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

// The frame of a transaction that is sent whole, in one exchange. Statistics of a table that grows fast are old, and a plan that was
// made of them stays: so the planner is not asked whether to walk through it.
const (
	beginText  = `BEGIN ISOLATION LEVEL READ COMMITTED`
	commitText = `COMMIT`
	framed     = 2 // statements before the first entry's
)

var (
	// guardText lets no flush wait long for a row that a transaction of somebody's own holds: those of all others wait with it.
	guardText = sql(`SELECT set_config('enable_seqscan', 'off', true), set_config('lock_timeout', '100ms', true)`)
	// patientText is for a flush of one entry.
	patientText = sql(`SELECT set_config('enable_seqscan', 'off', true)`)
)

// maxTries bounds how often an entry is tried that is not refused, and still not stored.
const maxTries = 20

// flush stores entries. Those of one run go one after the other.
func (s *Store) flush(entries []*entry) {
	for len(entries) > 0 {
		var later []*entry
		seen := make(map[string]bool, len(entries))
		round := entries[:0:0]
		for _, e := range entries {
			if seen[e.Run.ID] {
				later = append(later, e)
				continue
			}
			seen[e.Run.ID] = true
			round = append(round, e)
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
		entries = s.known(ctx, entries)
		if len(entries) == 0 {
			return
		}
		failure := s.write(ctx, entries, guardText)
		if failure == nil {
			entries = s.judged(ctx, s.stored(entries), try)
			continue
		}
		entries = s.sorted(entries, failure, try)
	}
}

// failure is why a transaction was not stored, and the place of the entry that it was about, -1 for none.
type failure struct {
	err error
	at  int
}

// sorted takes out of a failed transaction what it failed for, and returns what is to be tried again.
func (s *Store) sorted(entries []*entry, f *failure, try int) []*entry {
	var e *pgconn.PgError
	switch {
	case again(f.err) && try < maxTries:
		return entries
	case f.at < 0 || !errors.As(f.err, &e):
	case e.Code == "55P03": // its row is held; it waits by itself
		s.flushes.Go(func() { s.alone(entries[f.at]) })
		return slices.Concat(entries[:f.at], entries[f.at+1:])
	case strings.HasPrefix(e.Code, "22"), strings.HasPrefix(e.Code, "23"), strings.HasPrefix(e.Code, "54"): // a fault of this entry alone
		entries[f.at].finish(fmt.Errorf("postgres: write: %w", explain(f.err)))
		return slices.Concat(entries[:f.at], entries[f.at+1:])
	}
	for _, e := range entries {
		e.finish(unstored(f.err))
	}
	return nil
}

// unstored is the error of a write that failed. What is not known to be rolled back may have been stored.
func unstored(err error) error {
	if rolledBack(err) {
		return fmt.Errorf("postgres: write: %w", explain(err))
	}
	return fmt.Errorf("postgres: write, outcome unknown: %w", explain(err))
}

// alone stores one entry, as long as it takes for others to let its row go.
func (s *Store) alone(e *entry) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	entries := []*entry{e}
	for try := 0; len(entries) > 0; try++ {
		if entries = s.known(ctx, entries); len(entries) == 0 {
			return
		}
		f := s.write(ctx, entries, patientText)
		switch {
		case f == nil:
			entries = s.judged(ctx, s.stored(entries), try)
		case !again(f.err) || try == maxTries:
			e.finish(unstored(f.err))
			return
		}
	}
}

// write sends one transaction of the entries, in the order in which everybody locks rows, and marks those that were stored.
func (s *Store) write(ctx context.Context, entries []*entry, guard query) *failure {
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.Run.ID, b.Run.ID))
	})
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return &failure{err, -1}
	}
	defer conn.Release()
	b := &pgx.Batch{}
	b.Queue(beginText)
	b.Queue(s.texts[guard])
	for _, e := range entries {
		s.queue(b, e)
	}
	b.Queue(commitText)
	results := conn.SendBatch(ctx, b)
	f := collect(results, entries)
	if err := results.Close(); err != nil && f == nil {
		f = &failure{err, -1}
	}
	if f != nil {
		s.recent.doubt(f.err)
		rollBack(ctx, conn.Conn())
	}
	return f
}

// collect reads the results of a transaction.
func collect(results pgx.BatchResults, entries []*entry) *failure {
	for range framed {
		if _, err := results.Exec(); err != nil {
			return &failure{err, -1}
		}
	}
	for i, e := range entries {
		made, err := e.collect(results)
		if err != nil {
			return &failure{err, i}
		}
		e.made = made
	}
	if _, err := results.Exec(); err != nil {
		return &failure{err, -1}
	}
	return nil
}

// collect reads the result of the entry's statement: whether it was stored.
func (e *entry) collect(results pgx.BatchResults) (bool, error) {
	if e.Expect > 0 {
		tag, err := results.Exec()
		return tag.RowsAffected() == 1, err
	}
	err := results.QueryRow().Scan(&e.n)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
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
