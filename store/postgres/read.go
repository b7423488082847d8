package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// reader is store.Reader. Each call is one statement, and so of one moment (I.10).
type reader struct {
	texts []string
	// on begins a call: where to ask, and within what bounds. Done ends it.
	on func(ctx context.Context) (q querier, within context.Context, done func(), _ error)
	// found is told of each record that was read, with its row.
	found  func(n int64, run *store.Run, size int)
	schema string
	// steady says that the planner is told what steady tells it, for each question.
	steady bool
}

// collect asks one question.
func collectRows[T any](ctx context.Context, r *reader, text string, scan func(pgx.CollectableRow) (T, error), args ...any) ([]T, error) {
	q, within, done, err := r.on(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := ask(within, q, r.steadied(), text, scan, args...)
	switch {
	case err == nil:
		return all, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, store.ErrCorrupt):
		return nil, err
	}
	return nil, fmt.Errorf("postgres: read: %w", explain(err))
}

// steadyText goes before a question, in the transaction that the two are.
var steadyText = sql(`SELECT ` + steady + `, ` + nested)

func (r *reader) steadied() string {
	if r.steady {
		return r.texts[steadyText]
	}
	return ""
}

// ask sends a question, and before it, in the same exchange, another statement if there is one.
func ask[T any](ctx context.Context, q querier, before, text string, scan func(pgx.CollectableRow) (T, error), args ...any) ([]T, error) {
	if before == "" {
		rows, err := q.Query(ctx, text, args...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, scan)
	}
	b := &pgx.Batch{}
	b.Queue(before)
	b.Queue(text, args...)
	results := q.SendBatch(ctx, b)
	_, err := results.Exec()
	var all []T
	if err == nil {
		rows, _ := results.Query() // CollectRows tells its error too
		all, err = pgx.CollectRows(rows, scan)
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	return all, err
}

// one asks for one row of a run.
func one[T any](ctx context.Context, r *reader, id, text string, scan func(pgx.CollectableRow) (T, error), args ...any) (T, error) {
	all, err := collectRows(ctx, r, text, scan, args...)
	if err == nil && len(all) == 0 {
		err = unknown(id)
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

func scanRun(row pgx.CollectableRow) (store.Run, error) {
	var record []byte
	if err := row.Scan(&record); err != nil {
		return store.Run{}, err
	}
	return store.Decode(record)
}

func readRecord(body []byte) (r interaction.Record, _ error) {
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%w: settled interaction: %w", store.ErrCorrupt, err)
	}
	return r, nil
}

var (
	runText     = sql(`SELECT s.record FROM interlude.runs r JOIN interlude.states s ON s.n = r.n WHERE r.id = $1::text`)
	specText    = sql(`SELECT spec FROM interlude.runs WHERE id = $1::text`)
	settledText = sql(`SELECT t.record FROM interlude.runs r LEFT JOIN interlude.settled t ON t.run = r.n AND t.key = $2::bytea WHERE r.id = $1::text`)
	historyText = sql(`SELECT s.record, ARRAY (SELECT t.record FROM interlude.settled t WHERE t.run = r.n ORDER BY t.id)
		FROM interlude.runs r JOIN interlude.states s ON s.n = r.n WHERE r.id = $1::text`)
	// eventsText leaves out, unread, what is beyond a page.
	eventsText = sql(`SELECT r.n, e.first, e.bodies FROM interlude.runs r LEFT JOIN LATERAL (
			SELECT first, last, bodies, sum(octet_length(bodies)) OVER (ORDER BY last) - octet_length(bodies) AS before FROM (
				SELECT first, last, bodies FROM interlude.events WHERE run = r.n AND last > $2::bigint ORDER BY last LIMIT $3::bigint
			) AS part
		) e ON e.before <= $4::bigint WHERE r.id = $1::text ORDER BY e.last`)
)

// Run implements store.Reader.
func (r *reader) Run(ctx context.Context, id string) (store.Run, error) {
	if !storable(id) {
		return store.Run{}, unknown(id)
	}
	return one(ctx, r, id, r.texts[runText], func(row pgx.CollectableRow) (store.Run, error) {
		var record []byte
		if err := row.Scan(&record); err != nil {
			return store.Run{}, err
		}
		return store.Decode(record)
	}, id)
}

// Spec implements store.Reader.
func (r *reader) Spec(ctx context.Context, id string) ([]byte, error) {
	if !storable(id) {
		return nil, unknown(id)
	}
	return one(ctx, r, id, r.texts[specText], pgx.RowTo[[]byte], id)
}

// Settled implements store.Reader.
func (r *reader) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	if !storable(id) {
		return interaction.Record{}, unknown(id)
	}
	return one(ctx, r, id, r.texts[settledText], func(row pgx.CollectableRow) (record interaction.Record, _ error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return record, err
		}
		if body == nil {
			return record, fmt.Errorf("%w: no reply of run %s has the key", store.ErrNotFound, id)
		}
		return readRecord(body)
	}, id, []byte(key))
}

// History implements store.Reader.
func (r *reader) History(ctx context.Context, id string) (store.Run, []interaction.Record, error) {
	type life struct {
		run     store.Run
		history []interaction.Record
	}
	if !storable(id) {
		return store.Run{}, nil, unknown(id)
	}
	l, err := one(ctx, r, id, r.texts[historyText], func(row pgx.CollectableRow) (l life, _ error) {
		var record []byte
		var settled [][]byte
		if err := row.Scan(&record, &settled); err != nil {
			return l, err
		}
		for _, body := range settled {
			one, err := readRecord(body)
			if err != nil {
				return l, err
			}
			l.history = append(l.history, one)
		}
		var err error
		l.run, err = store.Decode(record)
		return l, err
	}, id)
	return l.run, l.history, err
}

// Events implements store.Reader.
func (r *reader) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	if !storable(id) {
		return nil, unknown(id)
	}
	p := page{after: min(after, maxSeq), limit: limit}
	_, err := one(ctx, r, id, r.texts[eventsText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var n int64
		var first *uint64
		var bodies []byte
		err := row.Scan(&n, &first, &bodies)
		if err == nil && first != nil {
			p.add(*first, bodies)
		}
		return none, err
	}, id, int64(p.after), limit, store.MinPage)
	return p.events, err
}

// maxSeq is beyond every event.
const maxSeq = 1<<63 - 1

// page collects events for a reader.
type page struct {
	after  uint64
	limit  int
	size   int
	events []store.Event
}

// full reports whether the reader gets no more this time.
func (p *page) full() bool { return len(p.events) == p.limit || p.size > store.MinPage }

// add takes those of some events that the reader wants.
func (p *page) add(first uint64, bodies []byte) {
	for len(bodies) > 0 && !p.full() {
		body, rest, _ := bytes.Cut(bodies, []byte{'\n'})
		if first > p.after {
			p.size += len(body)
			p.events = append(p.events, store.Event{Seq: first, Body: slices.Clip(body)}) // what a reader appends is its own
		}
		first, bodies = first+1, rest
	}
}

var (
	dueText = sql(`(SELECT record, NULL::bigint FROM interlude.states WHERE deadline IS NOT NULL AND deadline <= $1::bigint ORDER BY deadline, id LIMIT $2::bigint)
		UNION ALL
		(SELECT NULL, least(
			(SELECT deadline FROM interlude.states WHERE deadline IS NOT NULL AND deadline > $1::bigint ORDER BY deadline LIMIT 1),
			(SELECT delayed_until FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until > $1::bigint ORDER BY delayed_until LIMIT 1)))`)
	// orphansText looks first at what holds a slot, which is at most as much as there are slots. What is parked may be a million runs: their
	// owners are found by one seek an owner.
	orphansText = sql(`WITH RECURSIVE held AS MATERIALIZED (
			SELECT s.record, s.pool, s.key, s.id FROM interlude.states s
			WHERE s.slot AND NOT EXISTS (SELECT FROM interlude.nodes WHERE nodes.id = s.owner)
		), owners (owner) AS (
			(SELECT s.owner FROM interlude.states s WHERE s.owner IS NOT NULL AND NOT s.slot ORDER BY s.owner LIMIT 1)
			UNION ALL
			SELECT next.owner FROM owners CROSS JOIN LATERAL (
				SELECT s.owner FROM interlude.states s WHERE s.owner IS NOT NULL AND NOT s.slot AND s.owner > owners.owner ORDER BY s.owner LIMIT 1
			) AS next
		)
		SELECT record FROM (
			(SELECT record FROM held ORDER BY pool, key, id LIMIT $2::bigint OFFSET $1::bigint)
			UNION ALL
			(SELECT p.record FROM owners CROSS JOIN LATERAL (
				SELECT s.record FROM interlude.states s WHERE s.owner = owners.owner AND s.owner IS NOT NULL AND NOT s.slot
			) p WHERE NOT EXISTS (SELECT FROM interlude.nodes WHERE nodes.id = owners.owner)
			LIMIT $2::bigint OFFSET greatest(0, $1::bigint - (SELECT count(*) FROM held)))
		) AS orphans LIMIT $2::bigint`)
)

// Due implements store.Reader.
func (r *reader) Due(ctx context.Context, now time.Time, limit int) (due []store.Run, next time.Time, _ error) {
	if limit < 1 {
		return nil, next, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	_, err := collectRows(ctx, r, r.texts[dueText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var record []byte
		var at *int64
		if err := row.Scan(&record, &at); err != nil {
			return none, err
		}
		if record == nil {
			if at != nil {
				next = timeOf(*at)
			}
			return none, nil
		}
		run, err := store.Decode(record)
		due = append(due, run)
		return none, err
	}, now.UnixMicro(), int64(limit))
	if err != nil {
		return nil, time.Time{}, err
	}
	return due, next, nil
}

// Orphans implements store.Reader.
func (r *reader) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	if limit < 1 || skip < 0 {
		return nil, fmt.Errorf("%w: skip is %d, want 0 or more, limit is %d, want at least 1", store.ErrInvalid, skip, limit)
	}
	return collectRows(ctx, r, r.texts[orphansText], scanRun, int64(skip), int64(limit))
}
