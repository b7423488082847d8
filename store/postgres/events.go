package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// eventsText leaves out, unread, what is beyond a page.
var eventsText = sql(`SELECT r.n, e.first, e.bodies FROM interlude.runs r LEFT JOIN LATERAL (
		SELECT first, last, bodies, sum(octet_length(bodies)) OVER (ORDER BY last) - octet_length(bodies) AS before FROM (
			SELECT first, last, bodies FROM interlude.events WHERE run = r.n AND last > $2::bigint ORDER BY last LIMIT $3::bigint
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
