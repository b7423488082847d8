package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/interlude-go/interlude/store"
)

// start has the caller make the commits of the picked runs. One that Start fails for is left as it
// was.
func (c *claim) start(ctx context.Context) error {
	found, err := c.load(ctx)
	if err != nil {
		return err
	}
	for _, p := range c.picks {
		prev, ok := found[p.n]
		if !ok { // somebody else is changing it
			continue
		}
		e, err := c.begin(prev)
		if err != nil {
			c.failures = append(c.failures, fmt.Errorf("store: claim run %s: %w", p.id, err))
			continue
		}
		c.entries = append(c.entries, e)
		c.specs = append(c.specs, prev.spec)
	}
	return nil
}

// load finds the records and specs of the picked runs: among the recent ones those whose row is
// locked and that have the version of the row, and the others in the database.
func (c *claim) load(ctx context.Context) (map[int64]stored, error) {
	found := make(map[int64]stored, len(c.picks))
	var missing []int64
	for _, p := range c.picks {
		prev, ok := c.recent.get(p.id)
		if ok && p.locked && prev.n == p.n && prev.run.Version == p.version && prev.spec != nil {
			found[p.n] = prev
		} else {
			missing = append(missing, p.n)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	rows, err := c.conn.Query(ctx, c.texts[loadText], missing)
	if err != nil {
		return nil, err
	}
	var n int64
	var id string
	var version uint64
	var record, spec []byte
	_, err = pgx.ForEachRow(rows, []any{&n, &id, &version, &record, &spec}, func() error {
		run, err := store.Decode(record)
		if err != nil { // a fault of this run alone
			c.failures = append(c.failures, fmt.Errorf("store: claim run %s: %w", id, err))
			return nil
		}
		found[n] = stored{n: n, run: &run, spec: spec}
		return nil
	})
	return found, err
}

// begin has the caller make the commit, and checks it. A panic of the caller's is an error of this
// run alone.
func (c *claim) begin(prev stored) (e *entry, err error) {
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
	if e, err = encoded(&cm); err == nil {
		e.n, e.known = prev.n, true
	}
	return e, err
}

// store writes the commits and ends the transaction.
func (c *claim) store(ctx context.Context) error {
	b := &pgx.Batch{}
	c.queue(b, c.entries, 0)
	b.Queue(commitText)
	clearUnwaited(c.conn.PgConn())
	results := c.conn.SendBatch(ctx, b)
	err := collect(results, c.entries, 0)
	if err == nil {
		_, err = results.Exec()
	}
	if closing := results.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = unwaited(c.conn.PgConn())
	}
	if err != nil {
		return err
	}
	c.claimed = c.claimed[:0]
	for i, e := range c.entries {
		if e.made { // its row is locked, so it is
			c.claimed = append(c.claimed, store.Claimed{Run: e.Run.Clone(), Spec: slices.Clone(c.specs[i])})
		}
	}
	c.stored(c.entries)
	return nil
}
