package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Claim implements store.Writer.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	var c *claim
	err := s.write(ctx, req.Max, func(w *writer) ([]store.Hint, error) {
		c = &claim{writer: w, req: req}
		return c.run()
	})
	switch {
	case err != nil:
		return nil, err
	case c.refused != nil:
		return nil, c.refused
	}
	return c.claimed, errors.Join(c.failures...)
}

// claim is one Claim inside its transaction.
type claim struct {
	*writer
	req      store.ClaimRequest
	claimed  []store.Claimed
	failures []error // of Start
	refused  error
}

func (c *claim) run() ([]store.Hint, error) {
	registered, err := c.registered(c.req.Node)
	if err != nil {
		return nil, err
	}
	if !registered {
		c.refused = fmt.Errorf("%w: node %s is not registered", store.ErrStaleEpoch, c.req.Node)
		return nil, nil
	}
	if err := c.release(); err != nil {
		return nil, err
	}
	ids, err := c.ids(`SELECT id FROM runs WHERE owner = ? AND slot = 1 AND state = 'queued' ORDER BY queued_at, id LIMIT ?`, c.req.Node, c.req.Max)
	if err == nil {
		err = c.take(ids)
	}
	if err != nil {
		return nil, err
	}
	pools, err := c.pools()
	if err != nil {
		return nil, err
	}
	for _, p := range c.inTurn(pools) {
		if len(c.claimed) >= c.req.Max {
			break
		}
		if err := c.pool(p); err != nil {
			return nil, err
		}
	}
	hints := make([]store.Hint, 0, len(c.claimed))
	for i := range c.claimed {
		hints = append(hints, hint(&c.claimed[i].Run))
	}
	return hints, nil
}

// release puts runs whose not-before time has come among the ready ones.
func (c *claim) release() error {
	return c.exec(`UPDATE runs SET ready = 1, delayed_until = NULL WHERE delayed_until IS NOT NULL AND delayed_until <= ?`, c.req.Now.UnixMicro())
}

// pool claims from one pool.
func (c *claim) pool(p slots.Pool) error {
	var one int
	err := c.row(`SELECT 1 FROM runs WHERE ready = 1 AND pool = ? LIMIT 1`, []any{p.Name}, &one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	use := slots.Use{Key: func(key string) (held int, err error) {
		err = c.row(`SELECT count(*) FROM runs WHERE slot = 1 AND pool = ? AND key = ?`, []any{p.Name, key}, &held)
		return held, err
	}}
	if err := c.row(`SELECT count(*) FROM runs WHERE slot = 1 AND pool = ?`, []any{p.Name}, &use.Total); err != nil {
		return err
	}
	ids, served, err := slots.Select(p, use, queue{c, p.Name}, c.req.Max-len(c.claimed), c.served[p.Name])
	if err != nil {
		return err
	}
	c.served[p.Name] = served
	return c.take(ids)
}

// take starts the picked runs. One that Start fails for is left as it was.
func (c *claim) take(ids []string) error {
	for _, id := range ids {
		n, prev, err := c.previous(id)
		if errors.Is(err, store.ErrCorrupt) { // a fault of this run alone
			c.failures = append(c.failures, fmt.Errorf("store: claim run %s: %w", id, err))
			continue
		}
		if err != nil {
			return err
		}
		var spec []byte
		if err := c.row(`SELECT spec FROM specs WHERE run = ?`, []any{n}, &spec); err != nil {
			return err
		}
		given := prev.Clone().Claim(c.req.Node)
		cm, err := c.req.Start(given, slices.Clone(spec))
		var row encoded
		if err == nil {
			err = cm.CheckClaim(&given, &prev)
		}
		if err == nil {
			row, err = encode(&cm)
		}
		if err != nil {
			c.failures = append(c.failures, fmt.Errorf("store: claim run %s: %w", id, err))
			continue
		}
		if err := c.update(n, &cm, row); err != nil {
			return err
		}
		c.claimed = append(c.claimed, store.Claimed{Run: cm.Run.Clone(), Spec: spec})
	}
	return nil
}

func (c *claim) ids(query string, args ...any) (ids []string, _ error) {
	err := c.rows(query, args, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

func (c *claim) pools() (all []slots.Pool, _ error) {
	err := c.rows(`SELECT name, capacity, key_capacity FROM pools ORDER BY name`, nil, func(rows *sql.Rows) error {
		var p slots.Pool
		err := rows.Scan(&p.Name, &p.Capacity, &p.KeyCapacity)
		all = append(all, p)
		return err
	})
	return all, err
}

// inTurn has each claim begin with another pool, so that none is always served last.
func (c *claim) inTurn(pools []slots.Pool) []slots.Pool {
	if len(pools) == 0 {
		return nil
	}
	i := slices.IndexFunc(pools, func(p slots.Pool) bool { return p.Name > c.first })
	i = max(i, 0)
	c.first = pools[i].Name
	return append(slices.Clone(pools[i:]), pools[:i]...)
}

// queue is the ready runs of one pool, for slots.Select.
type queue struct {
	*claim
	pool string
}

// Priority implements slots.Queue.
func (q queue) Priority(below int) (priority int, ok bool, _ error) {
	err := q.row(`SELECT priority FROM runs WHERE ready = 1 AND pool = ? AND priority < ? ORDER BY priority DESC LIMIT 1`, []any{q.pool, below}, &priority)
	return priority, err == nil, found(err)
}

// Key implements slots.Queue.
func (q queue) Key(priority int, after string, inclusive bool) (key string, ok bool, _ error) {
	query := `SELECT key FROM runs WHERE ready = 1 AND pool = ? AND priority = ? AND key > ? ORDER BY key LIMIT 1`
	if inclusive {
		query = `SELECT key FROM runs WHERE ready = 1 AND pool = ? AND priority = ? AND key >= ? ORDER BY key LIMIT 1`
	}
	err := q.row(query, []any{q.pool, priority, after}, &key)
	return key, err == nil, found(err)
}

// Oldest implements slots.Queue.
func (q queue) Oldest(priority int, key string, n int) ([]string, error) {
	return q.ids(`SELECT id FROM runs WHERE ready = 1 AND pool = ? AND priority = ? AND key = ? ORDER BY queued_at, id LIMIT ?`, q.pool, priority, key, n)
}

// found makes no rows no error.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func when(micros sql.NullInt64) time.Time {
	if !micros.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micros.Int64).UTC()
}
