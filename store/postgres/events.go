package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// eventsText leaves out, unread, what is beyond a page.
var eventsText = sql(`SELECT e.first, e.bodies FROM interlude.runs r LEFT JOIN LATERAL (
		SELECT first, last, bodies, sum(octet_length(bodies)) OVER (ORDER BY last) - octet_length(bodies) AS before
			FROM (
			SELECT first, last, bodies FROM interlude.events WHERE run = r.n AND last > $2::bigint
				ORDER BY last LIMIT $3::bigint
		) AS part
	) e ON e.before <= $4::bigint WHERE r.id = $1::text ORDER BY e.last`)

// Events implements store.Reader.
func (r *reader) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	if limit < 1 {
		return nil, fmt.Errorf("%w: limit is %d, want at least 1", store.ErrInvalid, limit)
	}
	if !storable(id) {
		return nil, unknown(id)
	}
	x := store.EventPage{After: min(after, maxSeq), Limit: limit}
	_, err := one(ctx, r, id, r.texts[eventsText], func(row pgx.CollectableRow) (none struct{}, _ error) {
		var first *uint64
		var bodies []byte
		err := row.Scan(&first, &bodies)
		if err == nil && first != nil {
			x.Add(*first, bodies)
		}
		return none, err
	}, id, int64(x.After), limit, store.MinPage)
	return x.Events, err
}

// maxSeq is beyond every event.
const maxSeq = 1<<63 - 1
