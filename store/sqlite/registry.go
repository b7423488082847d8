package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

func (s *Store) Join(ctx context.Context, n store.Node, now time.Time) error {
	if err := n.Validate(); err != nil {
		return err
	}
	engines, err := enginesColumn(n.Engines)
	if err != nil {
		return err
	}
	var refused error
	err = s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		w.cache.nodes = nil
		inserted, err := w.exec(
			`INSERT INTO nodes (id, identity, lease, until, engines) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			n.ID, n.Identity, int64(n.Lease), now.Add(n.Lease).UnixMicro(), engines)
		if err == nil && inserted == 0 {
			refused = refuse.NodeExists(n.ID)
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	return refused
}

// enginesColumn is a node's engines in its row: a JSON array, or NULL for nil.
func enginesColumn(engines []string) (driver.Value, error) {
	if engines == nil {
		return nil, nil //nolint:nilnil // NULL is the value
	}
	text, err := json.Marshal(engines)
	return string(text), err
}

func (r row) engines(i int) (engines []string, _ error) {
	if r[i] == nil {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(r.text(i)), &engines); err != nil {
		return nil, fmt.Errorf("%w: the engines of a node: %w", ErrCorrupt, err)
	}
	return engines, nil
}

func (s *Store) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	var owned []store.OwnedRun
	var refused error
	err := s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		owned, refused = nil, nil
		changed, err := w.exec(`UPDATE nodes SET until = ? + lease / 1000 WHERE id = ?`, now.UnixMicro(), id)
		if err != nil {
			return nil, err
		}
		if changed == 0 {
			refused = refuse.NotRegistered(id)
			return nil, nil
		}
		// INDEXED BY, or the planner scans all runs, not only runs with a slot
		err = w.each(context.Background(), func(r row) error {
			owned = append(owned, store.OwnedRun{RunID: r.text(0), Epoch: uint64(r.int(1)),
				State: fsm.State(r.text(2))})
			return nil
		}, `SELECT id, epoch, state FROM runs INDEXED BY runs_held WHERE slot = 1 AND owner = ?`, id)
		slices.SortFunc(owned, func(a, b store.OwnedRun) int { return strings.Compare(a.RunID, b.RunID) })
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	return owned, refused
}

func (s *Store) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	return s.expire(ctx, now, func(n store.Node) bool { return n.Until.Before(now) || slices.Contains(ids, n.ID) })
}

func (s *Store) ExpireSilent(ctx context.Context, now time.Time, nodes []store.Node) ([]store.Node, error) {
	return s.expire(ctx, now, func(n store.Node) bool { return store.IsSilent(n, nodes) })
}

// expire removes the nodes for which gone is true, and records their departures for as long as
// parked runs name them.
func (s *Store) expire(ctx context.Context, now time.Time, gone func(store.Node) bool) ([]store.Node, error) {
	var expired []store.Node
	err := s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		expired = nil
		w.cache.nodes, w.cache.departed = nil, nil
		all, err := w.loadNodes()
		if err != nil {
			return nil, err
		}
		for _, n := range all {
			if !gone(n) {
				continue
			}
			if _, err := w.exec(`DELETE FROM nodes WHERE id = ?`, n.ID); err != nil {
				return nil, err
			}
			expired = append(expired, n)
		}
		return nil, w.updateDepartures(now)
	})
	if err != nil {
		return nil, err
	}
	return expired, nil
}

// parkers finds the nodes that parked runs name, by one seek per node, since there may be a million
// parked runs.
const parkers = `WITH RECURSIVE parkers(id) AS (
		SELECT min(owner) FROM runs WHERE owner IS NOT NULL AND slot IS NULL
		UNION ALL
		SELECT (SELECT min(runs.owner) FROM runs WHERE runs.owner IS NOT NULL AND slot IS NULL
			AND runs.owner > parkers.id)
		FROM parkers WHERE parkers.id IS NOT NULL
	) `

// updateDepartures creates the missing departures, and removes those without parked runs.
func (w *writer) updateDepartures(now time.Time) error {
	_, err := w.exec(`DELETE FROM departed WHERE NOT EXISTS (SELECT 1 FROM runs WHERE owner = departed.id
		AND owner IS NOT NULL AND slot IS NULL)`)
	if err == nil {
		_, err = w.exec(parkers+`INSERT INTO departed (id, at) SELECT id, ? FROM parkers
			WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM nodes) ON CONFLICT DO NOTHING`,
			store.DepartureTime(now).UnixMicro())
	}
	return err
}

func (s *Store) Departures(ctx context.Context) (all []store.Departure, _ error) {
	err := s.read(ctx, func(c *conn) error {
		return c.each(context.Background(), func(r row) error {
			all = append(all, store.Departure{ID: r.text(0), At: r.time(1)})
			return nil
		}, `SELECT id, at FROM departed ORDER BY id`)
	})
	return all, err
}

func (c *conn) loadNodes() (all []store.Node, _ error) {
	err := c.each(context.Background(), func(r row) error {
		engines, err := r.engines(4)
		all = append(all, store.Node{ID: r.text(0), Identity: r.text(1), Lease: time.Duration(r.int(2)),
			Until: r.time(3), Engines: engines})
		return err
	}, `SELECT id, identity, lease, until, engines FROM nodes ORDER BY id`)
	return all, err
}

func (s *Store) Nodes(ctx context.Context) (all []store.Node, _ error) {
	err := s.read(ctx, func(c *conn) (err error) {
		all, err = c.loadNodes()
		return err
	})
	return all, err
}

func (s *Store) SetPool(ctx context.Context, p slots.Pool) error {
	return s.writePool(ctx, p, `INSERT INTO pools (name, capacity, key_capacity) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET capacity = excluded.capacity, key_capacity = excluded.key_capacity`)
}

func (s *Store) ChangePool(ctx context.Context, was, p slots.Pool) error {
	if was == (slots.Pool{}) {
		return s.writePool(ctx, p, `INSERT INTO pools (name, capacity, key_capacity) VALUES (?, ?, ?)
			ON CONFLICT (name) DO NOTHING`)
	}
	return s.writePool(ctx, p, `UPDATE pools SET capacity = ?2, key_capacity = ?3
		WHERE name = ?1 AND name = ?4 AND capacity = ?5 AND key_capacity = ?6`,
		was.Name, int64(was.Capacity), int64(was.KeyCapacity))
}

// writePool executes a statement that changes the pool's row, or no row if the stored pool conflicts.
func (s *Store) writePool(ctx context.Context, p slots.Pool, text string, more ...driver.Value) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	args := append([]driver.Value{p.Name, int64(p.Capacity), int64(p.KeyCapacity)}, more...)
	var refused error
	err := s.write(ctx, 1, func(w *writer) ([]store.Hint, error) {
		w.cache.pools = nil
		changed, err := w.exec(text, args...)
		if err == nil && changed == 0 {
			refused = store.ErrConflict
		}
		return nil, err
	})
	if err != nil {
		return err
	}
	return refused
}

func (s *Store) Pools(ctx context.Context) (all []store.PoolUse, _ error) {
	err := s.read(ctx, func(c *conn) error {
		return c.each(context.Background(), func(r row) error {
			all = append(all, store.PoolUse{
				Pool: slots.Pool{Name: r.text(0), Capacity: int(r.int(1)), KeyCapacity: int(r.int(2))},
				Held: int(r.int(3)),
			})
			return nil
		}, `SELECT name, capacity, key_capacity, (SELECT count(*) FROM runs WHERE slot = 1 AND runs.pool = pools.name)
			FROM pools ORDER BY name`)
	})
	return all, err
}
