package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// Survey implements store.Surveyor. Each figure is counted in an index of only the counted rows.
// Rows are read only for runs that hold a slot, are no longer delayed, or are held.
func (s *Store) Survey(ctx context.Context, now time.Time) (survey store.Survey, _ error) {
	err := s.read(ctx, func(c *conn) error {
		return c.snapshot(func() (err error) {
			survey, err = c.survey(ctx, now.UnixMicro())
			return err
		})
	})
	return survey, err
}

func (c *conn) survey(ctx context.Context, now int64) (s store.Survey, err error) {
	scan := func(found func(r row), query string, args ...driver.Value) {
		if err != nil {
			return
		}
		if err = ctx.Err(); err == nil {
			err = c.each(ctx, func(r row) error {
				found(r)
				return nil
			}, query, args...)
		}
	}
	nodes, err := c.loadNodes()
	s.Nodes = len(nodes)
	scan(func(r row) { s.Waiting, s.OldestWaiting = int(r.int(0)), r.time(1) },
		`SELECT count(*), min(CASE WHEN asked_at >= ? THEN asked_at - ? ELSE asked_at END) FROM runs
			WHERE asked_at IS NOT NULL`, entry.Addressed, entry.Addressed)
	scan(func(r row) {
		s.Due = int(r.int(0))
	}, `SELECT count(*) FROM runs WHERE deadline IS NOT NULL AND deadline <= ?`, now)
	engines := make(map[string]store.EngineSurvey)
	scan(func(r row) {
		name, count := entry.EngineOf(r.text(0)), int(r.int(1))
		e := engines[name]
		e.Queued += count
		engines[name] = e
		s.Delayed += count
	}, `SELECT engine, count(*) FROM runs WHERE delayed_until IS NOT NULL AND delayed_until > ?
		AND delayed_until < ? GROUP BY engine`, now, entry.Held)
	scan(func(r row) {
		s.AddHeld(int(r.int(0)), r.time(2))
		s.Queued += int(r.int(1))
	}, `SELECT count(*), count(*) FILTER (WHERE asked_at IS NULL), min(CASE WHEN asked_at IS NULL THEN queued_at
		ELSE delayed_until - ? END) FROM runs WHERE delayed_until IS NOT NULL AND delayed_until > ?`, entry.HeldWaiting,
		entry.Held)
	scan(func(r row) { s.Queued += int(r.int(0)) }, `SELECT count(*) FROM runs WHERE delayed_until = ?`, entry.Awaiting)

	pools := make(map[string]store.PoolSurvey)
	scan(func(r row) {
		pools[r.text(0)] = store.PoolSurvey{PoolUse: store.PoolUse{Held: int(r.int(1))}}
		s.Running += int(r.int(2))
		s.Queued += int(r.int(3))
	}, `SELECT pool, count(*), sum(state = 'running'), sum(state = 'queued') FROM runs WHERE slot = 1 GROUP BY pool`)
	ready := func(r row) {
		name := entry.EngineOf(r.text(1))
		p, e, count, oldest := pools[r.text(0)], engines[name], int(r.int(2)), r.time(3)
		p.AddReady(count, oldest)
		e.AddReady(count, oldest)
		pools[r.text(0)], engines[name] = p, e
	}
	scan(ready, `SELECT pool, engine, count(*), min(queued_at) FROM runs WHERE ready = 1 GROUP BY pool, engine`)
	scan(ready, `SELECT pool, engine, count(*), min(queued_at) FROM runs WHERE delayed_until IS NOT NULL
		AND delayed_until <= ? GROUP BY pool, engine`, now)
	s.AddEngines(engines, nodes)
	used := false
	scan(func(row) { used = true }, `SELECT 1 FROM usage LIMIT 1`)
	if used {
		for _, open := range []string{`asked_at IS NOT NULL`, `slot = 1 AND asked_at IS NULL`, `ready = 1`,
			`delayed_until IS NOT NULL AND asked_at IS NULL`} {
			scan(func(r row) { s.Usage.Add(r.usage(0)) }, `SELECT sum(u.input), sum(u.output), sum(u.cost), sum(u.worked)
				FROM runs CROSS JOIN usage AS u ON u.run = runs.n WHERE `+open)
		}
	}
	scan(func(r row) {
		p := pools[r.text(0)]
		p.Pool = slots.Pool{Name: r.text(0), Capacity: int(r.int(1)), KeyCapacity: int(r.int(2))}
		s.Add(p)
	}, `SELECT name, capacity, key_capacity FROM pools ORDER BY name`)
	s.Queued += s.Ready + s.Delayed
	return s, err
}
