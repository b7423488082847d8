package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

// The server's clock judges leases; callers' times do not count.
var (
	joinText = sql(`INSERT INTO interlude.nodes (id, identity, lease, until, engines)
		VALUES ($1::text, $2::text, $3::bigint,
			` + serverMicros + ` + $3::bigint / 1000, $4::bytea[]) ON CONFLICT (id) DO NOTHING`)
	// renewText returns a row without a run for a node that holds no slot.
	renewText = sql(`WITH renewed AS (
			UPDATE interlude.nodes SET until = ` + serverMicros + ` + lease / 1000 WHERE id = $1::text RETURNING id
		)
		SELECT s.id, s.epoch, s.state FROM renewed LEFT JOIN LATERAL (
			SELECT id, epoch, state FROM interlude.states WHERE slot AND owner = renewed.id
		) s ON true ORDER BY s.id`)
	// expireText gives nodes more time after the server was started, or promoted at $2 as far as
	// this process knows: a node keeps another third of its lease from then on, unless its lease
	// had ended a third of its length before. A new primary may lack the last renewals, and nodes
	// need time to reach it.
	expireText = sql(`WITH booted AS (
			SELECT greatest($2::bigint,
				(extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint) AS at
		), gone AS (
			DELETE FROM interlude.nodes USING booted WHERE until < ` + serverMicros + `
				AND (until + lease / 3000 < booted.at OR booted.at + lease / 3000 < ` + serverMicros + `)
				OR id = ANY ($1::text[])
			RETURNING id, identity, lease, until, engines
		), forgotten AS (
			DELETE FROM interlude.departed d WHERE NOT EXISTS (SELECT FROM interlude.states s WHERE s.owner = d.id
				AND s.owner IS NOT NULL AND NOT s.slot)
		)
		SELECT id, identity, lease, until, engines FROM gone`)
	departedText = sql(`SELECT id, at FROM interlude.departed ORDER BY id`)
	nodesText    = sql(`SELECT id, identity, lease, until, engines FROM interlude.nodes ORDER BY id`)
	poolText     = sql(`INSERT INTO interlude.pools (name, capacity, key_capacity)
		VALUES ($1::text, $2::bigint, $3::bigint)
		ON CONFLICT (name) DO UPDATE SET capacity = excluded.capacity, key_capacity = excluded.key_capacity`)
	newPoolText = sql(`INSERT INTO interlude.pools (name, capacity, key_capacity)
		VALUES ($1::text, $2::bigint, $3::bigint) ON CONFLICT (name) DO NOTHING`)
	changePoolText = sql(`UPDATE interlude.pools SET capacity = $2::bigint, key_capacity = $3::bigint
		WHERE name = $1::text AND name = $4::text AND capacity = $5::bigint AND key_capacity = $6::bigint`)
	poolsText = sql(`SELECT name, capacity, key_capacity, (SELECT count(*) FROM interlude.states
		WHERE slot AND states.pool = pools.name)
		FROM interlude.pools ORDER BY name`)
)

// change executes one repeatable statement, and returns the number of changed rows.
func (s *Store) change(ctx context.Context, text statement, args ...any) (int64, error) {
	within, done, err := s.beginCall(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	for try := 0; ; try++ {
		changed, err := s.changeOnce(within, text, args...)
		switch {
		case err == nil:
			return changed, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case !lostRace(err) || try == maxTries:
			return 0, writeError(err)
		}
	}
}

func (s *Store) changeOnce(ctx context.Context, text statement, args ...any) (int64, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	clearReplicationWarning(conn.Conn().PgConn())
	b := newBatch(2)
	b.Queue(s.settings())
	b.Queue(s.texts[text], args...)
	results := conn.SendBatch(ctx, b)
	_, err = results.Exec()
	var changed int64
	if err == nil {
		tag, failed := results.Exec()
		changed, err = tag.RowsAffected(), failed
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = acknowledgmentError(conn.Conn().PgConn())
	}
	return changed, err
}

func (s *Store) Join(ctx context.Context, n store.Node, _ time.Time) error {
	if err := n.Validate(); err != nil {
		return err
	}
	inserted, err := s.change(ctx, joinText, n.ID, n.Identity, int64(n.Lease), bytesArray(n.Engines))
	if err == nil && inserted == 0 {
		err = refuse.NodeExists(n.ID)
	}
	return err
}

func (s *Store) Renew(ctx context.Context, id string, _ time.Time) ([]store.OwnedRun, error) {
	registered := false
	var owned []store.OwnedRun
	if storable(id) {
		_, err := readRows(ctx, &s.reader, s.texts[renewText], func(row pgx.CollectableRow) (none struct{},
			_ error) {
			registered = true
			var run, state *string
			var epoch *uint64
			err := row.Scan(&run, &epoch, &state)
			if err == nil && run != nil {
				owned = append(owned, store.OwnedRun{RunID: *run, Epoch: *epoch, State: fsm.State(*state)})
			}
			return none, err
		}, id)
		if err != nil {
			return nil, err
		}
	}
	if !registered {
		return nil, refuse.NotRegistered(id)
	}
	return owned, nil
}

func (s *Store) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	named := make([]string, 0, len(ids)) // an id that cannot be stored cannot belong to a node
	for _, id := range ids {
		if storable(id) {
			named = append(named, id)
		}
	}
	expired, err := readRows(ctx, &s.reader, s.texts[expireText], scanNode, named, s.promotedAt.Load())
	if err == nil {
		err = s.addDepartures(ctx, now)
	}
	return expired, err
}

func (r *reader) Departures(ctx context.Context) ([]store.Departure, error) {
	return readRows(ctx, r, r.texts[departedText], func(row pgx.CollectableRow) (d store.Departure, _ error) {
		var at int64
		err := row.Scan(&d.ID, &at)
		d.At = timeOf(at)
		return d, err
	})
}

func scanNode(row pgx.CollectableRow) (n store.Node, _ error) {
	var until int64
	var engines [][]byte
	err := row.Scan(&n.ID, &n.Identity, (*int64)(&n.Lease), &until, &engines)
	n.Until = timeOf(until)
	if engines != nil {
		n.Engines = make([]string, len(engines))
		for i, e := range engines {
			n.Engines[i] = string(e)
		}
	}
	return n, err
}

func (r *reader) Nodes(ctx context.Context) ([]store.Node, error) {
	return readRows(ctx, r, r.texts[nodesText], scanNode)
}

func (s *Store) SetPool(ctx context.Context, p slots.Pool) error {
	return s.writePool(ctx, p, poolText)
}

func (s *Store) ChangePool(ctx context.Context, was, p slots.Pool) error {
	if was == (slots.Pool{}) {
		return s.writePool(ctx, p, newPoolText)
	}
	return s.writePool(ctx, p, changePoolText, was.Name, was.Capacity, was.KeyCapacity)
}

// writePool executes a statement that changes the pool's row, or no row if the stored pool conflicts.
func (s *Store) writePool(ctx context.Context, p slots.Pool, text statement, more ...any) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	changed, err := s.change(ctx, text, append([]any{p.Name, p.Capacity, p.KeyCapacity}, more...)...)
	if err == nil && changed == 0 {
		err = store.ErrConflict
	}
	return err
}

func (r *reader) Pools(ctx context.Context) ([]store.PoolUse, error) {
	return readRows(ctx, r, r.texts[poolsText], func(row pgx.CollectableRow) (p store.PoolUse, _ error) {
		err := row.Scan(&p.Name, &p.Capacity, &p.KeyCapacity, &p.Held)
		return p, err
	})
}
