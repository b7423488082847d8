package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/claim"
	"github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	once := func(req store.ClaimRequest) ([]store.Claimed, error, error) { return s.claimOnce(ctx, req) }
	if !s.writer.grouped {
		return claim.OneByOne(req, once)
	}
	claimed, failed, err := once(req)
	return claimed, errors.Join(failed, err)
}

// claimOnce serves the request in one transaction, which it may share. failed are the errors of
// single runs; the last result is the error of the whole claim.
func (s *Store) claimOnce(ctx context.Context, req store.ClaimRequest) (claimed []store.Claimed, failed, _ error) {
	c := &claimTx{req: req}
	err := s.write(ctx, req.Max, func(w *writer) ([]store.Hint, error) {
		c.writer = w
		return c.claimRuns()
	})
	switch {
	case err != nil:
		return nil, nil, err
	case c.refused != nil:
		return nil, nil, c.refused
	}
	return c.claimed, errors.Join(c.failures...), nil
}

type claimTx struct {
	*writer

	req      store.ClaimRequest
	claimed  []store.Claimed
	hints    []store.Hint
	failures []error // of single runs
	refused  error
}

// claimRuns claims the node's own sticky runs first, and then runs of one pool after the other.
// Sticky runs that recently failed to start come last.
func (c *claimTx) claimRuns() ([]store.Hint, error) {
	registered, err := c.registered(c.req.Node)
	if err != nil {
		return nil, err
	}
	if !registered {
		c.refused = refuse.NotRegistered(c.req.Node)
		return nil, nil
	}
	if err := c.releaseDelayed(); err != nil {
		return nil, err
	}
	sticky, err := c.stickyRuns(c.rotation.StartClaim(c.req.Max))
	if err != nil {
		return nil, err
	}
	first, last := claim.Defer(&c.rotation, sticky, func(id string) string { return id })
	if err := c.startRuns(first); err != nil {
		return nil, err
	}
	drained, err := c.claimReady()
	if err == nil {
		err = c.startRuns(last)
	}
	if err != nil {
		return nil, err
	}
	claim.SetDrained(&c.req, drained && len(last) == 0 && len(c.failures) == 0)
	return c.hints, nil
}

func (c *claimTx) claimReady() (all bool, _ error) {
	pools, err := c.pools()
	if err != nil {
		return false, err
	}
	all = true
	for _, p := range claim.Rotate(&c.rotation, pools, func(p slots.Pool) string { return p.Name }) {
		if len(c.claimed) >= c.req.Max {
			return false, nil
		}
		allOfPool, err := c.claimFrom(p)
		if err != nil {
			return false, err
		}
		all = all && allOfPool
	}
	return all, nil
}

// releaseDelayed makes runs ready whose not-before time has come. Held runs have a time beyond
// every other.
func (c *claimTx) releaseDelayed() error {
	due, err := c.exists(`SELECT 1 FROM runs WHERE delayed_until IS NOT NULL AND delayed_until <= ? LIMIT 1`,
		c.req.Now.UnixMicro())
	if err != nil || !due {
		return err
	}
	_, err = c.exec(`UPDATE runs SET ready = 1, delayed_until = NULL WHERE delayed_until IS NOT NULL
		AND delayed_until <= ?`, c.req.Now.UnixMicro())
	return err
}

// stickyRuns are up to limit queued runs whose slot and process the node holds, oldest first.
func (c *claimTx) stickyRuns(limit int) (ids []string, _ error) {
	if c.req.Suspects {
		return nil, nil
	}
	err := c.each(context.Background(), func(r row) error {
		ids = append(ids, r.text(0))
		return nil
	}, `SELECT id FROM runs WHERE owner = ? AND slot = 1 AND state = 'queued' ORDER BY queued_at, id
		LIMIT ? + 0`, c.req.Node, int64(limit))
	return ids, err
}

// claimFrom claims runs of one pool, and reports whether these were all of its ready runs. pick
// chooses them from the pool's readyQueue, by the policy of package slots.
func (c *claimTx) claimFrom(p slots.Pool) (all bool, _ error) {
	slotsInUse, err := c.count(`SELECT count(*) FROM runs WHERE slot = 1 AND pool = ?`, p.Name)
	if err != nil {
		return false, err
	}
	q, err := c.readyQueue(p)
	if err != nil {
		return false, err
	}
	ids, all, err := c.rotation.Pick(p, slotsInUse, q, c.req.Max-len(c.claimed))
	if err != nil {
		return false, err
	}
	return all, c.startRuns(ids)
}

// startRuns starts the picked runs until the claim is full. A failed one is unchanged.
func (c *claimTx) startRuns(ids []string) error {
	c.claimed, c.hints = slices.Grow(c.claimed, len(ids)), slices.Grow(c.hints, len(ids))
	for _, id := range ids {
		if len(c.claimed) == c.req.Max {
			break
		}
		prev, err := c.loadForUpdate(id)
		if err == nil && prev.spec == nil {
			prev.spec, err = c.loadSpec(prev.row)
		}
		if errors.Is(err, store.ErrCorrupt) { // concerns only this run
			c.failures = append(c.failures, c.rotation.Failed(id, err))
			continue
		}
		if err != nil {
			return err
		}
		commit, err := claim.Start(&c.req, prev.run, prev.spec)
		e := new(entry.Entry)
		if err == nil {
			err = e.Encode(&commit)
		}
		if err != nil {
			c.failures = append(c.failures, c.rotation.Failed(id, err))
			continue
		}
		if err := c.update(prev, e); err != nil {
			return err
		}
		c.claimed = append(c.claimed, store.Claimed{Run: e.Run.Clone(), Spec: slices.Clone(prev.spec)})
		c.hints = append(c.hints, e.Hint())
		e.Release()
	}
	return nil
}

func (c *conn) loadSpec(row int64) ([]byte, error) {
	r, err := c.one(`SELECT spec FROM specs WHERE run = ?`, row)
	if errors.Is(err, errNoRow) {
		return nil, fmt.Errorf("%w: the spec is missing", ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return r.blob(0), nil
}

func (c *claimTx) count(query string, args ...driver.Value) (int, error) {
	r, err := c.one(query, args...)
	if err != nil {
		return 0, err
	}
	return int(r.int(0)), nil
}

func (w *writer) pools() ([]slots.Pool, error) {
	if w.cache.pools != nil {
		return w.cache.pools, nil
	}
	all := []slots.Pool{}
	err := w.each(context.Background(), func(r row) error {
		all = append(all, slots.Pool{Name: r.text(0), Capacity: int(r.int(1)), KeyCapacity: int(r.int(2))})
		return nil
	}, `SELECT name, capacity, key_capacity FROM pools ORDER BY name`)
	if err != nil {
		return nil, err
	}
	w.cache.pools = all
	return all, nil
}
