package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/slots"
)

// readyQueue is the ready runs of one locked pool. Runs may become ready, or be canceled, between
// two calls, which only changes a list's length.
type readyQueue struct {
	*claimTx

	ctx   context.Context
	pool  slots.Pool
	found map[string]pick // by id, the runs that Oldest returned
}

// Each statement seeks each engine of the claim separately, in the index states_ready_engine, and
// merges the results: so it visits no run of another engine.
var (
	priorityText = sql(`SELECT s.priority FROM unnest($3::bytea[]) AS e (engine) CROSS JOIN LATERAL (
			SELECT priority FROM interlude.states WHERE ready AND states.engine = e.engine AND pool = $1::text
				AND priority < $2::bigint
			ORDER BY priority DESC LIMIT 1
		) s ORDER BY s.priority DESC LIMIT 1`)
	// keysText steps from key to key by one seek for each engine: from the given one to the last,
	// and then from the first up to the given one.
	keysText = sql(`WITH RECURSIVE keys (key, around) AS (
			SELECT * FROM (
				(SELECT f.key, false FROM unnest($6::bytea[]) AS e (engine)
					CROSS JOIN LATERAL (` + nextKey(`s.key > $3::bytea`) + `) f ORDER BY f.key LIMIT 1)
				UNION ALL
				(SELECT f.key, true FROM unnest($6::bytea[]) AS e (engine)
					CROSS JOIN LATERAL (` + nextKey(`s.key <= $3::bytea`) + `) f ORDER BY f.key LIMIT 1)
				ORDER BY 2 LIMIT 1
			) AS first
			UNION ALL
			SELECT next.* FROM keys CROSS JOIN LATERAL (
				(SELECT f.key, keys.around FROM unnest($6::bytea[]) AS e (engine) CROSS JOIN LATERAL (
					` + nextKey(`NOT keys.around AND s.key > keys.key`) + `) f ORDER BY f.key LIMIT 1)
				UNION ALL
				(SELECT f.key, true FROM unnest($6::bytea[]) AS e (engine) CROSS JOIN LATERAL (
					` + nextKey(`NOT keys.around AND s.key <= $3::bytea`) + `) f ORDER BY f.key LIMIT 1)
				UNION ALL
				(SELECT f.key, true FROM unnest($6::bytea[]) AS e (engine) CROSS JOIN LATERAL (
					` + nextKey(`keys.around AND s.key > keys.key AND s.key <= $3::bytea`) +
		`) f ORDER BY f.key LIMIT 1)
				ORDER BY 2 LIMIT 1
			) AS next
		)
		SELECT keys.key, h.held FROM keys CROSS JOIN LATERAL (
			SELECT count(*) AS held FROM interlude.states s WHERE $4::bigint > 0 AND s.slot AND s.pool = $1::text
				AND s.key = keys.key
		) h
		WHERE $4::bigint = 0 OR keys.key = ''::bytea OR h.held < $4::bigint
		LIMIT $5::bigint`)
	oldestText = sql(`SELECT w.i, s.n, s.id, s.version
		FROM unnest($3::bytea[], $4::bigint[]) WITH ORDINALITY AS w (key, n, i)
		CROSS JOIN LATERAL (
			SELECT f.* FROM unnest($5::bytea[]) AS e (engine) CROSS JOIN LATERAL (
				SELECT n, id, version, queued_at FROM interlude.states
				WHERE ready AND states.engine = e.engine AND pool = $1::text AND priority = $2::bigint
					AND states.key = w.key
				ORDER BY queued_at, id LIMIT w.n
			) f ORDER BY f.queued_at, f.id LIMIT w.n
		) s
		ORDER BY w.i, s.queued_at, s.id`)
)

// nextKey returns a query for the engine e's first key at the priority that meets the condition.
func nextKey(where string) string {
	return `SELECT s.key FROM interlude.states s
		WHERE s.ready AND s.engine = e.engine AND s.pool = $1::text AND s.priority = $2::bigint
			AND ` + where + ` ORDER BY s.key LIMIT 1`
}

func (q *readyQueue) Priority(below int) (priority int, ok bool, _ error) {
	rows, err := q.conn.Query(q.ctx, q.texts[priorityText], q.pool.Name, int64(below), q.engines)
	if err != nil {
		return 0, false, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(found) == 0 {
		return 0, false, err
	}
	return found[0], true, nil
}

func (q *readyQueue) Keys(priority int, last string, n int) ([]slots.Key, error) {
	rows, err := q.conn.Query(q.ctx, q.texts[keysText], q.pool.Name, int64(priority), []byte(last),
		int64(q.pool.KeyCapacity), n, q.engines)
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

func (q *readyQueue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	keys, counts := make([][]byte, len(wants)), make([]int64, len(wants))
	for i, w := range wants {
		keys[i], counts[i] = []byte(w.Key), int64(w.N)
	}
	rows, err := q.conn.Query(q.ctx, q.texts[oldestText], q.pool.Name, int64(priority), keys, counts, q.engines)
	if err != nil {
		return nil, err
	}
	ids := make([][]string, len(wants))
	var i int
	var p pick
	_, err = pgx.ForEachRow(rows, []any{&i, &p.row, &p.id, &p.version}, func() error {
		ids[i-1] = append(ids[i-1], p.id)
		q.found[p.id] = p
		return nil
	})
	return ids, err
}
