package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// readerCount limits concurrent reads, listerCount concurrent listings.
const (
	readerCount = 4
	listerCount = 2
)

func (s *Store) read(ctx context.Context, do func(c *conn) error) error {
	return s.readOn(ctx, s.readers, do)
}

// readOn calls do with a connection once it is free. do reads with one statement, or in a snapshot,
// for a consistent result.
func (s *Store) readOn(ctx context.Context, conns chan *conn, do func(c *conn) error) error {
	var c *conn
	select { // a connection may be free although the store is closed
	case <-s.closed:
		return store.ErrClosed
	default:
	}
	select {
	case c = <-conns:
	case <-s.closed:
		return store.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { conns <- c }()
	err := cmp.Or(ctx.Err(), s.present.err())
	if err == nil {
		err = do(c)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return explain(err)
}

func (c *conn) snapshot(do func() error) error {
	if _, err := c.exec("BEGIN"); err != nil {
		return err
	}
	err := do()
	_, rolled := c.exec("ROLLBACK") // nothing was written
	return errors.Join(err, rolled)
}

func (c *conn) loadRun(id string, into *store.Run) (n int64, _ error) {
	r, err := c.one(`SELECT n, `+view+` FROM runs WHERE id = ?`, id)
	if errors.Is(err, errNoRow) {
		return 0, refuse.NotFound(id)
	}
	if err != nil {
		return 0, err
	}
	return r.int(0), r.view(1, into)
}

// view is a run's columns for a reader: its record, and the departure time of the node that parked
// it, looked up only for parked runs.
const view = `record, CASE WHEN slot IS NULL AND owner IS NOT NULL
	THEN (SELECT at FROM departed WHERE departed.id = runs.owner) END`

// view decodes these columns, from i on.
func (r row) view(i int, into *store.Run) error {
	err := store.DecodeInto(r.blob(i), into)
	into.ShowDeparture(r.time(i + 1))
	return err
}

func (s *Store) Run(ctx context.Context, id string) (run store.Run, _ error) {
	err := s.read(ctx, func(c *conn) (err error) {
		_, err = c.loadRun(id, &run)
		return err
	})
	return run, err
}

// Recent implements store.RecentReader. It may return writes of the current transaction.
func (s *Store) Recent(id string) (store.Run, bool) {
	stored, ok := s.writer.cache.run(id)
	if !ok {
		return store.Run{}, false
	}
	return stored.run.Clone(), true
}

func (s *Store) Spec(ctx context.Context, id string) (spec []byte, _ error) {
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			r, err := c.one(`SELECT n, spec FROM runs WHERE id = ?`, id)
			if errors.Is(err, errNoRow) {
				return refuse.NotFound(id)
			}
			if err != nil {
				return err
			}
			if spec = r.blob(1); spec == nil {
				spec, err = c.loadSpec(r.int(0))
			}
			return err
		})
	})
	return spec, err
}

func (s *Store) Identity(ctx context.Context) (identity string, _ error) {
	err := s.read(ctx, func(c *conn) error {
		r, err := c.one(`SELECT identity FROM store`)
		if err == nil {
			identity = r.text(0)
		}
		return err
	})
	return identity, err
}

func (s *Store) History(ctx context.Context, id string, q store.HistoryQuery) (run store.Run,
	history []interaction.Record, _ error) {
	if err := q.Validate(); err != nil {
		return run, nil, err
	}
	text := `SELECT record FROM settled WHERE run = ? AND id > ? ORDER BY id LIMIT ? + 0`
	after := int64(q.After)
	if q.Newest {
		text = `SELECT record FROM settled WHERE run = ? AND id < ? ORDER BY id DESC LIMIT ? + 0`
		after = cmp.Or(after, math.MaxInt64)
	}
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() (err error) {
			n, err := c.loadRun(id, &run)
			if err != nil {
				return err
			}
			size := 0
			err = c.each(ctx, func(r row) error {
				record, err := entry.DecodeSettled(r.blob(0))
				history = append(history, record)
				if size += len(r.blob(0)); err == nil && size > store.MinPage {
					err = errPageFull
				}
				return err
			}, text, n, after, int64(q.Limit))
			if errors.Is(err, errPageFull) {
				return nil
			}
			return err
		})
	})
	return run, history, err
}

// Voted implements store.Reader. Where voted lacks votes, which an earlier release wrote, it reads
// the questions that may have the key.
func (s *Store) Voted(ctx context.Context, id, key string) (record interaction.Record, _ error) {
	text, needle := `SELECT record FROM settled WHERE (run, id) = (SELECT run, id FROM voted WHERE run = ?1 AND key = ?2
		ORDER BY id LIMIT 1)`, driver.Value(key)
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			var run store.Run
			n, err := c.loadRun(id, &run)
			if err != nil {
				return err
			}
			r, err := c.one(`SELECT count(*) FROM voted WHERE run = ?`, n)
			if err != nil {
				return err
			}
			if r.int(0) != int64(entry.SettledVotes(&run)) {
				text = `SELECT record FROM settled WHERE run = ?1 AND instr(record, ?2) > 0 ORDER BY id`
				needle = entry.VoteKey(key)
			}
			err = c.each(ctx, func(r row) (err error) {
				if record, err = entry.DecodeSettled(r.blob(0)); err == nil && record.Question.VoteWithKey(key) != nil {
					err = errPageFull
				}
				return err
			}, text, n, needle)
			switch {
			case err == nil:
				return refuse.NoReply(id)
			case errors.Is(err, errPageFull):
				return nil
			}
			return err
		})
	})
	if err != nil {
		return interaction.Record{}, err
	}
	return record, nil
}

func (s *Store) Settled(ctx context.Context, id, key string) (record interaction.Record, _ error) {
	err := s.read(ctx, func(c *conn) error {
		r, err := c.one(`SELECT settled.record FROM runs LEFT JOIN settled ON settled.run = runs.n AND settled.key = ?
			WHERE runs.id = ?`, key, id)
		switch {
		case errors.Is(err, errNoRow):
			return refuse.NotFound(id)
		case err == nil && r[0] == nil:
			return refuse.NoReply(id)
		case err == nil:
			record, err = entry.DecodeSettled(r.blob(0))
		}
		return err
	})
	return record, err
}

func (s *Store) Usage(ctx context.Context, id string) (turns []store.TurnUsage, _ error) {
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			r, err := c.one(`SELECT n FROM runs WHERE id = ?`, id)
			if errors.Is(err, errNoRow) {
				return refuse.NotFound(id)
			}
			if err != nil {
				return err
			}
			return c.each(context.Background(), func(r row) error {
				turns = append(turns, store.TurnUsage{Attempt: int(r.int(0)), Usage: r.usage(1)})
				return nil
			}, `SELECT attempt, input, output, cost, worked FROM usage WHERE run = ? ORDER BY attempt`, r.int(0))
		})
	})
	return turns, err
}

func (s *Store) Journal(ctx context.Context, id string) (entries []interaction.JournalEntry, _ error) {
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() error {
			r, err := c.one(`SELECT n FROM runs WHERE id = ?`, id)
			if errors.Is(err, errNoRow) {
				return refuse.NotFound(id)
			}
			if err != nil {
				return err
			}
			n := r.int(0)
			return c.each(context.Background(), func(r row) error {
				entries = append(entries, interaction.JournalEntry{Path: r.text(0), Name: r.text(1), Type: r.text(2),
					Body: r.blob(3)})
				return nil
			}, `SELECT path, name, type, body FROM journal WHERE k BETWEEN ? AND ? ORDER BY k`, logKey(n, 0),
				logKey(n, maxSeq))
		})
	})
	return entries, err
}

func (r row) usage(i int) store.Usage {
	return store.Usage{InputTokens: r.int(i), OutputTokens: r.int(i + 1), CostMicroUSD: r.int(i + 2),
		Worked: time.Duration(r.int(i+3)) * time.Microsecond}
}

func (s *Store) Interaction(ctx context.Context, id string, number int) (record interaction.Record, _ error) {
	err := s.read(ctx, func(c *conn) error {
		r, err := c.one(`SELECT settled.record FROM runs JOIN settled ON settled.run = runs.n
			WHERE runs.id = ? AND settled.id = ?`, id, int64(number))
		switch {
		case errors.Is(err, errNoRow):
			return refuse.NoInteraction(id, number)
		case err == nil:
			record, err = entry.DecodeSettled(r.blob(0))
		}
		return err
	})
	return record, err
}

func (s *Store) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, _ error) {
	if err := store.ValidateLimit(limit); err != nil {
		return nil, next, err
	}
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() (err error) {
			found := &store.Found{Limit: limit}
			err = c.eachRun(ctx, found.Add,
				`SELECT `+view+` FROM runs WHERE deadline IS NOT NULL AND deadline <= ? ORDER BY deadline, id
					LIMIT ? + 0`,
				now.UnixMicro(), int64(limit))
			if err == nil && !found.Full() {
				err = c.eachRun(ctx, found.Add, heldDueText, entry.Held, entry.HeldFrom+now.UnixMicro(), int64(limit))
			}
			if err != nil {
				return err
			}
			due = found.Runs()
			for _, query := range []string{nextDeadlineText, nextDelayedText} {
				r, err := c.one(query, now.UnixMicro())
				if err != nil {
					return err
				}
				if t := r.time(0); !t.IsZero() && (next.IsZero() || t.Before(next)) {
					next = t
				}
			}
			return nil
		})
	})
	return due, next, err
}

var (
	heldDueText = `SELECT ` + view + ` FROM runs
		WHERE delayed_until IS NOT NULL AND delayed_until > ? AND delayed_until <= ?
		ORDER BY delayed_until LIMIT ? + 0`
	// nextDeadlineText finds the next deadline. Kept children are beyond.
	nextDeadlineText = fmt.Sprintf(`SELECT min(deadline) FROM runs WHERE deadline IS NOT NULL
		AND deadline > ? AND deadline < %d`, entry.Kept)
	// nextDelayedText finds the next not-before time. Held runs are beyond.
	nextDelayedText = fmt.Sprintf(`SELECT min(delayed_until) FROM runs WHERE delayed_until IS NOT NULL
		AND delayed_until > ? AND delayed_until < %d`, entry.Held)
)

// time is a column in microseconds; zero for NULL.
func (r row) time(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	return time.UnixMicro(r.int(i)).UTC()
}

// eachRun calls add with a query's runs (columns of view), and the sizes of their records, until it
// returns false.
func (c *conn) eachRun(ctx context.Context, add func(r store.Run, size int) bool, query string,
	args ...driver.Value) error {
	err := c.each(ctx, func(r row) error {
		var run store.Run
		if err := r.view(0, &run); err != nil {
			return err
		}
		if !add(run, len(r.blob(0))) {
			return errPageFull
		}
		return nil
	}, query, args...)
	if errors.Is(err, errPageFull) {
		return nil
	}
	return err
}

func (s *Store) Orphans(ctx context.Context, skip, limit int) (orphans []store.Run, _ error) {
	if err := store.ValidateSkip(skip, limit); err != nil {
		return nil, err
	}
	found := &store.Found{Limit: limit}
	err := s.read(ctx, func(c *conn) error {
		return c.eachRun(ctx, found.Add, orphansText, int64(limit), int64(skip))
	})
	return found.Runs(), err
}

// orphansText reads at most as many rows as there are slots.
const orphansText = `SELECT ` + view + ` FROM runs WHERE slot = 1 AND owner NOT IN (SELECT id FROM nodes)
	ORDER BY pool, key, owner LIMIT ? + 0 OFFSET ? + 0`

// Confirm implements store.Confirmer. Reads here return only data that is durable to
// Options.Synchronous:
//
//   - A writer makes its commit visible only after the flush.
//   - Uncommitted data that a killed or failed writer left in the WAL is
//     invisible, and the next writer overwrites it.
//   - Data that SQLite recovers from the WAL at the first open is flushed by the write that every
//     Open
//     makes (migrate), before any read.
func (s *Store) Confirm(ctx context.Context, read func(store.Reader) error) error {
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := read(s)
	return cmp.Or(s.present.check(), err) // nothing is confirmed of a file that is gone from its path
}
