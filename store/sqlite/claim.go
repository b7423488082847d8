package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Claim implements store.Writer.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if err := req.Check(); err != nil {
		return nil, err
	}
	if s.writer.alone {
		return s.claimOneByOne(ctx, req)
	}
	claimed, failed, err := s.claim(ctx, req)
	return claimed, errors.Join(failed, err)
}

// claimOneByOne gives each run a transaction of its own. One that Start fails for would be the next
// again: what is left then goes together, so that it holds up no other.
func (s *Store) claimOneByOne(ctx context.Context, req store.ClaimRequest) (claimed []store.Claimed, _ error) {
	for left := req.Max; left > 0; left-- {
		req.Max = 1
		some, failed, err := s.claim(ctx, req)
		if failed != nil {
			req.Max = left - len(some) // some of another pool, perhaps
			claimed = append(claimed, some...)
			if req.Max == 0 {
				return claimed, failed
			}
			some, failed, err = s.claim(ctx, req)
			return append(claimed, some...), errors.Join(failed, err)
		}
		if err != nil || len(some) == 0 {
			return claimed, err
		}
		claimed = append(claimed, some...)
	}
	return claimed, nil
}

// claim makes one transaction, or a part of one. Failed are the errors of single runs.
func (s *Store) claim(ctx context.Context, req store.ClaimRequest) (claimed []store.Claimed, failed, _ error) {
	var c *claim
	err := s.write(ctx, req.Max, func(w *writer) ([]store.Hint, error) {
		c = &claim{writer: w, req: req}
		return c.run()
	})
	switch {
	case err != nil:
		return nil, nil, err
	case c.refused != nil:
		return nil, nil, c.refused
	}
	return c.claimed, errors.Join(c.failures...), nil
}

// claim is one Claim inside its transaction.
type claim struct {
	*writer
	req      store.ClaimRequest
	claimed  []store.Claimed
	hints    []store.Hint
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
	ids, err := c.ids(`SELECT id FROM runs WHERE owner = ? AND slot = 1 AND state = 'queued' ORDER BY queued_at, id
		LIMIT ? + 0`, c.req.Node, int64(c.req.Max))
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
	return c.hints, nil
}

// release puts runs whose not-before time has come among the ready ones.
func (c *claim) release() error {
	due, err := c.exists(`SELECT 1 FROM runs WHERE delayed_until IS NOT NULL AND delayed_until <= ? LIMIT 1`,
		c.req.Now.UnixMicro())
	if err != nil || !due {
		return err
	}
	_, err = c.exec(`UPDATE runs SET ready = 1, delayed_until = NULL WHERE delayed_until IS NOT NULL
		AND delayed_until <= ?`, c.req.Now.UnixMicro())
	return err
}

// pool claims from one pool.
func (c *claim) pool(p slots.Pool) error {
	total, err := c.count(`SELECT count(*) FROM runs WHERE slot = 1 AND pool = ?`, p.Name)
	if err != nil {
		return err
	}
	want := c.req.Max - len(c.claimed)
	free := min(want, p.Capacity-total)
	if free <= 0 {
		return nil
	}
	q, err := c.queue(p)
	if err != nil {
		return err
	}
	if p.KeyCapacity == 0 {
		ids, all, err := q.upTo(free)
		if err != nil {
			return err
		}
		if all { // there is room for all, and nothing to choose
			return c.take(ids)
		}
	}
	ids, served, err := slots.Select(p, total, q, want, c.served[p.Name])
	if err != nil {
		return err
	}
	c.served[p.Name] = served
	return c.take(ids)
}

// take starts the picked runs. One that Start fails for is left as it was.
func (c *claim) take(ids []string) error {
	c.claimed, c.hints = slices.Grow(c.claimed, len(ids)), slices.Grow(c.hints, len(ids))
	for _, id := range ids {
		prev, err := c.previous(id)
		if err == nil && prev.spec == nil {
			prev.spec, err = c.spec(prev.n)
		}
		if errors.Is(err, store.ErrCorrupt) { // a fault of this run alone
			c.failures = append(c.failures, fmt.Errorf("store: claim run %s: %w", id, err))
			continue
		}
		if err != nil {
			return err
		}
		e, err := c.start(prev)
		if err != nil {
			c.failures = append(c.failures, fmt.Errorf("store: claim run %s: %w", id, err))
			continue
		}
		if err := c.update(prev, e); err != nil {
			return err
		}
		c.claimed = append(c.claimed, store.Claimed{Run: e.Run.Clone(), Spec: slices.Clone(prev.spec)})
		c.hints = append(c.hints, e.hint())
	}
	return nil
}

// start has the caller make the commit, and checks it. A panic of the caller's is an error of this
// run alone.
func (c *claim) start(prev stored) (_ *entry, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: Start panicked: %v", store.ErrInvalid, p)
		}
	}()
	given := prev.run.Clone().Claim(c.req.Node)
	cm, err := c.req.Start(given, slices.Clone(prev.spec))
	if err != nil {
		return nil, err
	}
	if err := cm.CheckClaim(&given, prev.run); err != nil {
		return nil, err
	}
	return encoded(&cm)
}

// spec is a specification that stands apart from its run.
func (c *conn) spec(n int64) ([]byte, error) {
	r, err := c.one(`SELECT spec FROM specs WHERE run = ?`, n)
	if errors.Is(err, errNoRow) {
		return nil, fmt.Errorf("%w: the spec is missing", ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return r.blob(0), nil
}

func (c *claim) count(query string, args ...driver.Value) (int, error) {
	r, err := c.one(query, args...)
	if err != nil {
		return 0, err
	}
	return int(r.int(0)), nil
}

func (c *claim) ids(query string, args ...driver.Value) (ids []string, _ error) {
	err := c.each(context.Background(), func(r row) error {
		ids = append(ids, r.text(0))
		return nil
	}, query, args...)
	return ids, err
}

// pools are all pools, by name.
func (w *writer) pools() ([]slots.Pool, error) {
	if w.recent.pools != nil {
		return w.recent.pools, nil
	}
	all := []slots.Pool{}
	err := w.each(context.Background(), func(r row) error {
		all = append(all, slots.Pool{Name: r.text(0), Capacity: int(r.int(1)), KeyCapacity: int(r.int(2))})
		return nil
	}, `SELECT name, capacity, key_capacity FROM pools ORDER BY name`)
	if err != nil {
		return nil, err
	}
	w.recent.pools = all
	return all, nil
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
