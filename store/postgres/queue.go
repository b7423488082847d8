package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/slots"
)

// queue is the ready runs of one locked pool, for slots.Select. Runs may become ready, or be canceled, between two of its calls; that only
// makes a list longer or shorter.
type queue struct {
	*claim
	ctx  context.Context
	pool slots.Pool
	seen map[string]pick // by id, what Oldest returned
}

var (
	priorityText = sql(`SELECT priority FROM interlude.states WHERE ready AND pool = $1::text AND priority < $2::bigint ORDER BY priority DESC LIMIT 1`)
	// keysText goes from key to key by one seek each: those after the given one, then around up to it.
	keysText = sql(`WITH RECURSIVE keys (key, around) AS (
			SELECT * FROM (
				(SELECT key, false FROM interlude.states WHERE ready AND pool = $1::text AND priority = $2::bigint AND key > $3::bytea ORDER BY key LIMIT 1)
				UNION ALL
				(SELECT key, true FROM interlude.states WHERE ready AND pool = $1::text AND priority = $2::bigint AND key <= $3::bytea ORDER BY key LIMIT 1)
				ORDER BY 2 LIMIT 1
			) AS first
			UNION ALL
			SELECT next.* FROM keys CROSS JOIN LATERAL (
				(SELECT s.key, keys.around FROM interlude.states s
					WHERE NOT keys.around AND s.ready AND s.pool = $1::text AND s.priority = $2::bigint AND s.key > keys.key ORDER BY s.key LIMIT 1)
				UNION ALL
				(SELECT s.key, true FROM interlude.states s
					WHERE NOT keys.around AND s.ready AND s.pool = $1::text AND s.priority = $2::bigint AND s.key <= $3::bytea ORDER BY s.key LIMIT 1)
				UNION ALL
				(SELECT s.key, true FROM interlude.states s
					WHERE keys.around AND s.ready AND s.pool = $1::text AND s.priority = $2::bigint AND s.key > keys.key AND s.key <= $3::bytea ORDER BY s.key LIMIT 1)
				ORDER BY 2 LIMIT 1
			) AS next
		)
		SELECT keys.key, h.held FROM keys CROSS JOIN LATERAL (
			SELECT count(*) AS held FROM interlude.states s WHERE $4::bigint > 0 AND s.slot AND s.pool = $1::text AND s.key = keys.key
		) h
		WHERE $4::bigint = 0 OR keys.key = ''::bytea OR h.held < $4::bigint
		LIMIT $5::bigint`)
	oldestText = sql(`SELECT w.i, s.n, s.id, s.version FROM unnest($3::bytea[], $4::bigint[]) WITH ORDINALITY AS w (key, n, i)
		CROSS JOIN LATERAL (
			SELECT n, id, version, queued_at FROM interlude.states WHERE ready AND pool = $1::text AND priority = $2::bigint AND states.key = w.key
			ORDER BY queued_at, id LIMIT w.n
		) s
		ORDER BY w.i, s.queued_at, s.id`)
)

// Priority implements slots.Queue.
func (q *queue) Priority(below int) (priority int, ok bool, _ error) {
	rows, err := q.conn.Query(q.ctx, q.texts[priorityText], q.pool.Name, int64(below))
	if err != nil {
		return 0, false, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(found) == 0 {
		return 0, false, err
	}
	return found[0], true, nil
}

// Keys implements slots.Queue.
func (q *queue) Keys(priority int, last string, n int) ([]slots.Key, error) {
	rows, err := q.conn.Query(q.ctx, q.texts[keysText], q.pool.Name, int64(priority), []byte(last), int64(q.pool.KeyCapacity), n)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k slots.Key, _ error) {
		var name []byte
		err := row.Scan(&name, &k.Held)
		k.Name = string(name)
		return k, err
	})
}

// Oldest implements slots.Queue.
func (q *queue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	keys, counts := make([][]byte, len(wants)), make([]int64, len(wants))
	for i, w := range wants {
		keys[i], counts[i] = []byte(w.Key), int64(w.N)
	}
	rows, err := q.conn.Query(q.ctx, q.texts[oldestText], q.pool.Name, int64(priority), keys, counts)
	if err != nil {
		return nil, err
	}
	ids := make([][]string, len(wants))
	var i int
	var p pick
	_, err = pgx.ForEachRow(rows, []any{&i, &p.n, &p.id, &p.version}, func() error {
		ids[i-1] = append(ids[i-1], p.id)
		q.seen[p.id] = p
		return nil
	})
	return ids, err
}
