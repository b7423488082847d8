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

var guardText = sql(`SELECT ` + steady + `, ` + attended + `, ` + heard +
	`, set_config('lock_timeout', $1::text, true)`)

// rowWait is how long a flush waits for a row that a transaction of somebody's own holds: all
// others wait with it.
const rowWait = "100ms"

// maxTries bounds how often an entry is tried that is not refused, and still not stored.
const maxTries = 20

// flush stores entries. What several entries do to one run happens one after the other: in the same
// transaction where each follows up on the one before, so that nobody comes between, and else in
// one transaction after the other.
func (s *Store) flush(entries []*entry) {
	for len(entries) > 0 {
		firsts, chains, later := arranged(slices.DeleteFunc(entries, s.behind))
		entries = append(s.round(firsts, chains), later...)
	}
}

// arranged divides entries into the first of each run, those that follow up on them, by their place
// in the chain, and those that come later.
func arranged(entries []*entry) (firsts []*entry, chains [][]*entry, later []*entry) {
	last := make(map[string]*entry, len(entries))
	broken := make(map[string]bool) // runs of later, whose order is kept
	for _, e := range entries {
		e.pred, e.depth = last[e.Run.ID], 0
		switch p := e.pred; {
		case p == nil:
			firsts = append(firsts, e)
		case !broken[e.Run.ID] && e.Expect == p.Run.Version && e.CheckNext(&p.Run, false) == nil:
			e.depth = p.depth + 1
			if e.depth > len(chains) {
				chains = append(chains, nil)
			}
			chains[e.depth-1] = append(chains[e.depth-1], e)
		default:
			broken[e.Run.ID] = true
			later = append(later, e)
			continue
		}
		last[e.Run.ID] = e
	}
	return firsts, chains, later
}

// round stores entries of different runs, in one transaction if it can be, and with them those that
// follow up on them. Of these it returns the ones that were not stored: they may be refused, or the
// ones before them were.
func (s *Store) round(entries []*entry, chains [][]*entry) (left []*entry) {
	ctx, cancel := context.WithTimeout(s.live, s.o.Timeout)
	defer cancel()
	for try := 0; len(entries) > 0; try++ {
		if entries = s.known(ctx, entries); len(entries) == 0 {
			break
		}
		err := s.write(ctx, rowWait, append([][]*entry{entries}, chains...)...)
		if err == nil {
			var unmade []*entry
			// one transaction, counted once
			for _, e := range s.stored(slices.Concat(append([][]*entry{entries}, chains...)...)) {
				if e.depth == 0 {
					unmade = append(unmade, e)
				} else {
					left = append(left, e)
				}
			}
			entries = s.judged(ctx, unmade, try)
		} else {
			entries = s.sorted(ctx, entries, err, try)
			left = slices.Concat(append([][]*entry{left}, chains...)...)
		}
		chains = nil
	}
	return slices.Concat(append([][]*entry{left}, chains...)...)
}

// sorted takes out of a failed transaction what it failed for, and returns what is to be tried
// again.
func (s *Store) sorted(ctx context.Context, entries []*entry, err error, try int) []*entry {
	var e *pgconn.PgError
	switch {
	case again(err) && try < maxTries:
		return entries
	case !errors.As(err, &e):
	case e.Code == "55P03":
		return s.unheld(ctx, entries)
	case strings.HasPrefix(e.Code, "22"), strings.HasPrefix(e.Code, "23"), strings.HasPrefix(e.Code, "54"):
		// a fault of one of them
		if len(entries) > 1 {
			s.round(slices.Clone(entries[:len(entries)/2]), nil)
			return entries[len(entries)/2:]
		}
	}
	for _, e := range entries {
		e.finish(unstored(err))
	}
	return nil
}

var unheldText = sql(`SELECT n FROM interlude.states WHERE n = ANY ($1::bigint[]) FOR NO KEY UPDATE SKIP LOCKED`)

// unheld sets entries apart whose rows somebody else holds: they wait by themselves. When it is no
// row of a run, it is an id that is being created elsewhere: then all that create one wait by
// themselves.
func (s *Store) unheld(ctx context.Context, entries []*entry) []*entry {
	rows := make([]int64, 0, len(entries))
	for _, e := range entries {
		if e.n != 0 {
			rows = append(rows, e.n)
		}
	}
	free, err := ask(ctx, s.pool, s.steadied(), s.texts[unheldText], pgx.RowTo[int64], rows)
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

// unstored is the error of a write that failed. What is not known to be rolled back may have been
// stored.
func unstored(err error) error {
	if rolledBack(err) {
		return fmt.Errorf("postgres: write: %w", explain(err))
	}
	return fmt.Errorf("postgres: write, outcome unknown: %w", explain(err))
}

// write sends one transaction of the entries, in one exchange for each round, and marks those that
// were stored. Rows are locked in one order by everybody.
func (s *Store) write(ctx context.Context, wait string, rounds ...[]*entry) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	for i, entries := range rounds {
		if err = s.exchange(ctx, conn.Conn(), wait, entries, i == 0, i == len(rounds)-1); err != nil {
			s.recent.doubt(err)
			rollBack(ctx, conn.Conn())
			return err
		}
	}
	return nil
}

// exchange sends one round of a transaction.
func (s *Store) exchange(ctx context.Context, conn *pgx.Conn, wait string, entries []*entry, first, last bool) error {
	for _, e := range entries {
		if e.pred != nil {
			e.n = e.pred.n // of a row that the round before has made
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(min(a.Expect, 1), min(b.Expect, 1)), cmp.Compare(a.n, b.n), cmp.Compare(a.Run.ID,
			b.Run.ID))
	})
	creating := 0
	for creating < len(entries) && entries[creating].Expect == 0 {
		creating++
	}
	b := &pgx.Batch{}
	if first {
		b.Queue(beginText)
		b.Queue(s.texts[guardText], wait)
	}
	s.queue(b, entries, creating)
	if last {
		b.Queue(commitText)
	}
	clearUnwaited(conn.PgConn())
	results := conn.SendBatch(ctx, b)
	err := func() error {
		for i := 0; first && i < 2; i++ {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		err := collect(results, entries, creating)
		if err == nil && last {
			_, err = results.Exec()
		}
		return err
	}()
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil && last {
		err = unwaited(conn.PgConn())
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
	var done store.Counters
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
