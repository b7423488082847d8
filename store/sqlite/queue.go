package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/internal/entry"
)

// readyQueue is the ready runs of one pool for the claim's engines. The index of ready runs is by
// engine, so that other engines' runs cost nothing. Each method makes one query per engine and
// merges the results: each is one cheap seek in this process.
type readyQueue struct {
	*claimTx

	pool    slots.Pool
	engines []string // sorted, without duplicates
}

func (c *claimTx) readyQueue(p slots.Pool) (readyQueue, error) {
	if c.req.Engines != nil {
		return readyQueue{c, p, entry.ClaimedEngines(&c.req)}, nil
	}
	engines, err := c.readyEngines(p.Name)
	return readyQueue{c, p, engines}, err
}

// readyEngines are the engines with ready runs in the pool, found by one seek each.
func (c *claimTx) readyEngines(pool string) (engines []string, _ error) {
	query := `SELECT engine FROM runs WHERE ready = 1 AND pool = ? AND engine >= ? ORDER BY engine LIMIT 1`
	for after := ""; ; {
		r, err := c.one(query, pool, after)
		if errors.Is(err, errNoRow) {
			return engines, nil
		}
		if err != nil {
			return nil, err
		}
		after = r.text(0)
		engines = append(engines, after)
		query = `SELECT engine FROM runs WHERE ready = 1 AND pool = ? AND engine > ? ORDER BY engine LIMIT 1`
	}
}

// readyRun has the sort key of a ready run: priority (descending), key, age (oldest first).
type readyRun struct {
	id       string
	priority int64
	key      string
	queuedAt int64
}

func compareReady(a, b readyRun) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.key, b.key), cmp.Compare(a.queuedAt, b.queuedAt),
		cmp.Compare(a.id, b.id))
}

func (c *claimTx) queryReady(query string, args ...driver.Value) (runs []readyRun, _ error) {
	err := c.each(context.Background(), func(r row) error {
		runs = append(runs, readyRun{r.text(0), r.int(1), r.text(2), r.int(3)})
		return nil
	}, query, args...)
	return runs, err
}

// merge sorts the ids of all engines' runs; each engine's are already sorted.
func (q readyQueue) merge(runs []readyRun) (ids []string) {
	if len(q.engines) > 1 {
		slices.SortFunc(runs, compareReady)
	}
	for _, r := range runs {
		ids = append(ids, r.id)
	}
	return ids
}

func (q readyQueue) All(n int) (ids []string, complete bool, _ error) {
	var runs []readyRun
	for _, engine := range q.engines {
		some, err := q.queryReady(`SELECT id, priority, key, queued_at FROM runs WHERE ready = 1 AND pool = ? AND engine = ?
			ORDER BY priority DESC, key, queued_at, id LIMIT ? + 0`, q.pool.Name, engine, int64(n-len(runs)+1))
		if err != nil {
			return nil, false, err
		}
		if runs = append(runs, some...); len(runs) > n {
			return nil, false, nil
		}
	}
	return q.merge(runs), true, nil
}

func (q readyQueue) Priority(below int) (highest int, ok bool, _ error) {
	for _, engine := range q.engines {
		r, err := q.one(`SELECT priority FROM runs WHERE ready = 1 AND pool = ? AND engine = ? AND priority < ?
			ORDER BY priority DESC LIMIT 1`,
			q.pool.Name, engine, int64(below))
		switch {
		case errors.Is(err, errNoRow):
		case err != nil:
			return 0, false, err
		case !ok || int(r.int(0)) > highest:
			highest, ok = int(r.int(0)), true
		}
	}
	return highest, ok, nil
}

func (q readyQueue) Keys(priority int, last string, n int) (keys []slots.Key, _ error) {
	next := func(after string, inclusive bool) (string, bool, error) { return q.nextKey(priority, after, inclusive) }
	for name, err := range slots.Around(last, next) {
		held := 0
		if err == nil && q.pool.KeyCapacity > 0 && name != "" {
			held, err = q.count(`SELECT count(*) FROM runs WHERE slot = 1 AND pool = ? AND key = ?`, q.pool.Name, name)
			if err == nil && held >= q.pool.KeyCapacity {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if keys = append(keys, slots.Key{Name: name, Held: held}); len(keys) == n {
			break
		}
	}
	return keys, nil
}

// nextKey returns the first key with a ready run at the priority after the given one, or from it
// with inclusive.
func (q readyQueue) nextKey(priority int, after string, inclusive bool) (first string, ok bool, _ error) {
	query := `SELECT key FROM runs WHERE ready = 1 AND pool = ? AND engine = ? AND priority = ? AND key > ?
		ORDER BY key LIMIT 1`
	if inclusive {
		query = `SELECT key FROM runs WHERE ready = 1 AND pool = ? AND engine = ? AND priority = ? AND key >= ?
			ORDER BY key LIMIT 1`
	}
	for _, engine := range q.engines {
		r, err := q.one(query, q.pool.Name, engine, int64(priority), after)
		switch {
		case errors.Is(err, errNoRow):
		case err != nil:
			return "", false, err
		case !ok || r.text(0) < first:
			first, ok = r.text(0), true
		}
	}
	return first, ok, nil
}

func (q readyQueue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	all := make([][]string, len(wants))
	for i, want := range wants {
		var runs []readyRun
		for _, engine := range q.engines {
			some, err := q.queryReady(
				`SELECT id, priority, key, queued_at FROM runs WHERE ready = 1 AND pool = ? AND engine = ?
				AND priority = ? AND key = ? ORDER BY queued_at, id LIMIT ? + 0`, q.pool.Name, engine, int64(priority),
				want.Key, int64(want.N))
			if err != nil {
				return nil, err
			}
			runs = append(runs, some...)
		}
		ids := q.merge(runs)
		all[i] = ids[:min(want.N, len(ids))]
	}
	return all, nil
}
