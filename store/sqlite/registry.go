package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Join implements store.Registry.
func (s *Store) Join(ctx context.Context, n store.Node, now time.Time) error {
	if n.ID == "" || n.Lease <= 0 {
		return fmt.Errorf("%w: a node needs an id and a lease", store.ErrInvalid)
	}
	var refused error
	err := s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		made, err := w.change(`INSERT INTO nodes (id, identity, lease, until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			n.ID, n.Identity, int64(n.Lease), now.Add(n.Lease).UnixMicro())
		if err == nil && made == 0 {
			refused = fmt.Errorf("%w: node %s", store.ErrExists, n.ID)
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	return refused
}

// Renew implements store.Registry.
func (s *Store) Renew(ctx context.Context, id string, now time.Time) ([]store.Hold, error) {
	var holds []store.Hold
	var refused error
	err := s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		holds, refused = nil, nil
		changed, err := w.change(`UPDATE nodes SET until = ? + lease / 1000 WHERE id = ?`, now.UnixMicro(), id)
		if err != nil {
			return nil, err
		}
		if changed == 0 {
			refused = fmt.Errorf("%w: node %s is not registered", store.ErrStaleEpoch, id)
			return nil, nil
		}
		return nil, w.rows(`SELECT id, epoch, state FROM runs WHERE owner = ? AND slot = 1 ORDER BY id`, []any{id}, func(rows *sql.Rows) error {
			var h store.Hold
			var state string
			err := rows.Scan(&h.RunID, &h.Epoch, &state)
			h.State = fsm.State(state)
			holds = append(holds, h)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return holds, refused
}

// Expire implements store.Registry.
func (s *Store) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	var gone []store.Node
	err := s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		gone = nil
		var all []store.Node
		err := w.rows(nodesQuery, nil, func(rows *sql.Rows) error {
			n, err := scanNode(rows)
			all = append(all, n)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, n := range all {
			if !n.Until.Before(now) && !slices.Contains(ids, n.ID) {
				continue
			}
			if err := w.exec(`DELETE FROM nodes WHERE id = ?`, n.ID); err != nil {
				return nil, err
			}
			gone = append(gone, n)
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

const nodesQuery = `SELECT id, identity, lease, until FROM nodes ORDER BY id`

func scanNode(rows *sql.Rows) (n store.Node, _ error) {
	var lease int64
	var until sql.NullInt64
	err := rows.Scan(&n.ID, &n.Identity, &lease, &until)
	n.Lease, n.Until = time.Duration(lease), when(until)
	return n, err
}

// Nodes implements store.Registry.
func (s *Store) Nodes(ctx context.Context) (all []store.Node, _ error) {
	err := s.read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, nodesQuery)
		if err != nil {
			return err
		}
		return each(rows, func(rows *sql.Rows) error {
			n, err := scanNode(rows)
			all = append(all, n)
			return err
		})
	})
	return all, err
}

// SetPool implements store.Registry.
func (s *Store) SetPool(ctx context.Context, p slots.Pool) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		return nil, w.exec(`INSERT INTO pools (name, capacity, key_capacity) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET capacity = excluded.capacity, key_capacity = excluded.key_capacity`, p.Name, p.Capacity, p.KeyCapacity)
	})
}

// Pools implements store.Registry.
func (s *Store) Pools(ctx context.Context) (all []store.PoolUse, _ error) {
	err := s.read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT name, capacity, key_capacity,
			(SELECT count(*) FROM runs WHERE slot = 1 AND runs.pool = pools.name) FROM pools ORDER BY name`)
		if err != nil {
			return err
		}
		return each(rows, func(rows *sql.Rows) error {
			var p store.PoolUse
			err := rows.Scan(&p.Name, &p.Capacity, &p.KeyCapacity, &p.Held)
			all = append(all, p)
			return err
		})
	})
	return all, err
}
