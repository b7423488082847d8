package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// read calls do in one read transaction: what it sees is of one moment (I.10).
func (s *Store) read(ctx context.Context, do func(tx *sql.Tx) error) error {
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
	}
	tx, err := s.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return s.readError(ctx, err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	return s.readError(ctx, do(tx))
}

func (s *Store) readError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
		return explain(err)
	}
}

// look finds a run.
func look(ctx context.Context, tx *sql.Tx, id string) (n int64, run store.Run, _ error) {
	var record []byte
	err := tx.QueryRowContext(ctx, `SELECT n, record FROM runs WHERE id = ?`, id).Scan(&n, &record)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, store.Run{}, fmt.Errorf("%w: run %.128s", store.ErrNotFound, id)
	}
	if err == nil {
		run, err = store.Decode(record)
	}
	return n, run, err
}

// Run implements store.Reader.
func (s *Store) Run(ctx context.Context, id string) (run store.Run, _ error) {
	err := s.read(ctx, func(tx *sql.Tx) (err error) {
		_, run, err = look(ctx, tx, id)
		return err
	})
	return run, err
}

// Spec implements store.Reader.
func (s *Store) Spec(ctx context.Context, id string) (spec []byte, _ error) {
	err := s.read(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `SELECT spec FROM specs WHERE run = (SELECT n FROM runs WHERE id = ?)`, id).Scan(&spec)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: run %.128s", store.ErrNotFound, id)
		}
		return err
	})
	return spec, err
}

// Runs implements store.Reader.
func (s *Store) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	return s.list(ctx, q, "created_at", func(r *store.Run) time.Time { return r.CreatedAt })
}

// Inbox implements store.Reader.
func (s *Store) Inbox(ctx context.Context, q store.Query) (store.Page, error) {
	return s.list(ctx, q, "asked_at", func(r *store.Run) time.Time { return r.Pending.AskedAt })
}

// list pages through the runs in the order of a time column. What has a column is filtered by the database.
func (s *Store) list(ctx context.Context, q store.Query, column string, key func(*store.Run) time.Time) (page store.Page, _ error) {
	q, err := q.Normal()
	if err != nil {
		return page, err
	}
	where, args := []string{column + " IS NOT NULL"}, []any{}
	filter := func(clause string, values ...any) {
		where, args = append(where, clause), append(args, values...)
	}
	order := ""
	if q.Newest {
		order = " DESC"
	}
	if q.After != "" {
		c, err := store.ReadCursor(q.After)
		if err != nil {
			return page, err
		}
		compare := ">"
		if q.Newest {
			compare = "<"
		}
		filter("("+column+", id) "+compare+" (?, ?)", c.At.UnixMicro(), c.ID)
	}
	if q.Pool != "" {
		filter("pool = ?", q.Pool)
	}
	if q.Key != "" {
		filter("key = ?", q.Key)
	}
	if len(q.States) > 0 {
		states := make([]any, len(q.States))
		for i, state := range q.States {
			states[i] = string(state)
		}
		filter("state IN (?"+strings.Repeat(", ?", len(states)-1)+")", states...)
	}
	for k, v := range q.Labels {
		filter("EXISTS (SELECT 1 FROM json_each(CAST(record AS TEXT), '$.labels') AS l WHERE l.key = ? AND l.value = ?)", k, v)
	}
	query := "SELECT record FROM runs WHERE " + strings.Join(where, " AND ") + " ORDER BY " + column + order + ", id" + order + " LIMIT ?"
	err = s.read(ctx, func(tx *sql.Tx) error {
		runs, err := records(ctx, tx, query, append(args, q.Limit+1)...)
		if len(runs) > q.Limit {
			last := &runs[q.Limit-1]
			page.Next = store.Cursor{At: key(last), ID: last.ID}.String()
			runs = runs[:q.Limit]
		}
		page.Runs = runs
		return err
	})
	return page, err
}

func records(ctx context.Context, tx *sql.Tx, query string, args ...any) (runs []store.Run, _ error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows *sql.Rows) error {
		var record sql.RawBytes
		if err := rows.Scan(&record); err != nil {
			return err
		}
		r, err := store.Decode(record)
		runs = append(runs, r)
		return err
	})
	return runs, err
}

// Events implements store.Reader.
func (s *Store) Events(ctx context.Context, id string, after uint64, limit int) (events []store.Event, _ error) {
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	if after > 1<<62 {
		after = 1 << 62 // beyond every event
	}
	err := s.read(ctx, func(tx *sql.Tx) error {
		var n int64
		err := tx.QueryRowContext(ctx, `SELECT n FROM runs WHERE id = ?`, id).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: run %.128s", store.ErrNotFound, id)
		}
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT first, bodies FROM events WHERE run = ? AND last > ? ORDER BY last LIMIT ?`, n, int64(after), limit)
		if err != nil {
			return err
		}
		return each(rows, func(rows *sql.Rows) error {
			var first uint64
			var bodies []byte
			if err := rows.Scan(&first, &bodies); err != nil {
				return err
			}
			for i, body := range bytes.Split(bodies, []byte{'\n'}) {
				if seq := first + uint64(i); seq > after && len(events) < limit {
					events = append(events, store.Event{Seq: seq, Body: body})
				}
			}
			return nil
		})
	})
	return events, err
}

// History implements store.Reader.
func (s *Store) History(ctx context.Context, id string) (run store.Run, history []interaction.Record, _ error) {
	err := s.read(ctx, func(tx *sql.Tx) error {
		n, r, err := look(ctx, tx, id)
		if err != nil {
			return err
		}
		run = r
		rows, err := tx.QueryContext(ctx, `SELECT record FROM settled WHERE run = ? ORDER BY id`, n)
		if err != nil {
			return err
		}
		return each(rows, func(rows *sql.Rows) error {
			var record sql.RawBytes
			if err := rows.Scan(&record); err != nil {
				return err
			}
			r, err := readRecord(record)
			history = append(history, r)
			return err
		})
	})
	return run, history, err
}

func readRecord(body []byte) (r interaction.Record, _ error) {
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%w: settled interaction: %w", ErrCorrupt, err)
	}
	return r, nil
}

// Settled implements store.Reader.
func (s *Store) Settled(ctx context.Context, id, key string) (r interaction.Record, _ error) {
	err := s.read(ctx, func(tx *sql.Tx) error {
		n, _, err := look(ctx, tx, id)
		if err != nil {
			return err
		}
		var record []byte
		err = tx.QueryRowContext(ctx, `SELECT record FROM settled WHERE run = ? AND key = ?`, n, key).Scan(&record)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: no reply of run %s has the key", store.ErrNotFound, id)
		}
		if err == nil {
			r, err = readRecord(record)
		}
		return err
	})
	return r, err
}

// Due implements store.Reader.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, _ error) {
	if limit < 1 {
		return nil, next, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	err := s.read(ctx, func(tx *sql.Tx) (err error) {
		due, err = records(ctx, tx, `SELECT record FROM runs WHERE deadline IS NOT NULL AND deadline <= ? ORDER BY deadline, id LIMIT ?`, now.UnixMicro(), limit)
		if err != nil {
			return err
		}
		for _, query := range []string{
			`SELECT min(deadline) FROM runs WHERE deadline IS NOT NULL AND deadline > ?`,
			`SELECT min(delayed_until) FROM runs WHERE delayed_until IS NOT NULL AND delayed_until > ?`,
		} {
			var at sql.NullInt64
			if err := tx.QueryRowContext(ctx, query, now.UnixMicro()).Scan(&at); err != nil {
				return err
			}
			if t := when(at); at.Valid && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
		return nil
	})
	return due, next, err
}

// Orphans implements store.Reader.
func (s *Store) Orphans(ctx context.Context, limit int) (orphans []store.Run, _ error) {
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	err := s.read(ctx, func(tx *sql.Tx) error {
		dead, err := deadOwners(ctx, tx)
		if err != nil {
			return err
		}
		for _, slot := range []string{"slot = 1", "slot IS NULL"} { // those that hold a slot come first
			for _, owner := range dead {
				if len(orphans) == limit {
					return nil
				}
				runs, err := records(ctx, tx, `SELECT record FROM runs WHERE owner = ? AND `+slot+` LIMIT ?`, owner, limit-len(orphans))
				if err != nil {
					return err
				}
				orphans = append(orphans, runs...)
			}
		}
		return nil
	})
	return orphans, err
}

// deadOwners are the owners of runs that are not registered, found by one seek an owner.
func deadOwners(ctx context.Context, tx *sql.Tx) (dead []string, _ error) {
	for owner := ""; ; {
		var registered bool
		err := tx.QueryRowContext(ctx, `SELECT owner, EXISTS (SELECT 1 FROM nodes WHERE nodes.id = runs.owner) FROM runs
			WHERE owner IS NOT NULL AND owner > ? ORDER BY owner LIMIT 1`, owner).Scan(&owner, &registered)
		if errors.Is(err, sql.ErrNoRows) {
			return dead, nil
		}
		if err != nil {
			return nil, err
		}
		if !registered {
			dead = append(dead, owner)
		}
	}
}
