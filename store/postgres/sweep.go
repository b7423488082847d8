package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

var (
	dueText = sql(`(SELECT record, NULL::bigint FROM interlude.states WHERE deadline IS NOT NULL
		AND deadline <= $1::bigint ORDER BY deadline, id LIMIT $2::bigint)
		UNION ALL
		(SELECT NULL, least(
			(SELECT deadline FROM interlude.states WHERE deadline IS NOT NULL AND deadline > $1::bigint
				ORDER BY deadline LIMIT 1),
			(SELECT delayed_until FROM interlude.states WHERE delayed_until IS NOT NULL AND delayed_until > $1::bigint
				ORDER BY delayed_until LIMIT 1)))`)
	// orphansText looks first at what holds a slot, which is at most as much as there are slots.
	// What is parked may be a million runs: their owners are found by one seek an owner.
	orphansText = sql(`WITH RECURSIVE held AS MATERIALIZED (
			SELECT s.record, s.pool, s.key, s.id FROM interlude.states s
			WHERE s.slot AND NOT EXISTS (SELECT FROM interlude.nodes WHERE nodes.id = s.owner)
		), owners (owner) AS (
			(SELECT s.owner FROM interlude.states s WHERE s.owner IS NOT NULL AND NOT s.slot ORDER BY s.owner LIMIT 1)
			UNION ALL
			SELECT next.owner FROM owners CROSS JOIN LATERAL (
				SELECT s.owner FROM interlude.states s WHERE s.owner IS NOT NULL AND NOT s.slot
					AND s.owner > owners.owner ORDER BY s.owner LIMIT 1
			) AS next
		)
		SELECT record FROM (
			(SELECT record FROM held ORDER BY pool, key, id LIMIT $2::bigint OFFSET $1::bigint)
			UNION ALL
			(SELECT p.record FROM owners CROSS JOIN LATERAL (
				SELECT s.record FROM interlude.states s WHERE s.owner = owners.owner AND s.owner IS NOT NULL
					AND NOT s.slot
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
		return nil, fmt.Errorf("%w: skip is %d, want 0 or more, limit is %d, want at least 1", store.ErrInvalid, skip,
			limit)
	}
	return collectRows(ctx, r, r.texts[orphansText], scanRun, int64(skip), int64(limit))
}
