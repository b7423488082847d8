package sqlite

import (
	"errors"

	"github.com/interlude-go/interlude/slots"
)

// queue is the ready runs of one pool, for slots.Select. A seek here is a step down an index in this process: it makes its answers of
// many small seeks, and needs no statement that does it all.
type queue struct {
	*claim
	pool slots.Pool
}

// Priority implements slots.Queue.
func (q queue) Priority(below int) (int, bool, error) {
	r, err := q.one(`SELECT priority FROM runs WHERE ready = 1 AND pool = ? AND priority < ? ORDER BY priority DESC LIMIT 1`, q.pool.Name, int64(below))
	if err != nil {
		return 0, false, found(err)
	}
	return int(r.int(0)), true, nil
}

// Keys implements slots.Queue.
func (q queue) Keys(priority int, last string, n int) (keys []slots.Key, _ error) {
	next := func(after string, inclusive bool) (string, bool, error) { return q.key(priority, after, inclusive) }
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

// key is the first key with a ready run at the priority after the given one; with inclusive, that one counts too.
func (q queue) key(priority int, after string, inclusive bool) (string, bool, error) {
	query := `SELECT key FROM runs WHERE ready = 1 AND pool = ? AND priority = ? AND key > ? ORDER BY key LIMIT 1`
	if inclusive {
		query = `SELECT key FROM runs WHERE ready = 1 AND pool = ? AND priority = ? AND key >= ? ORDER BY key LIMIT 1`
	}
	r, err := q.one(query, q.pool.Name, int64(priority), after)
	if err != nil {
		return "", false, found(err)
	}
	return r.text(0), true, nil
}

// Oldest implements slots.Queue.
func (q queue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	all := make([][]string, len(wants))
	for i, want := range wants {
		ids, err := q.ids(`SELECT id FROM runs WHERE ready = 1 AND pool = ? AND priority = ? AND key = ? ORDER BY queued_at, id LIMIT ? + 0`,
			q.pool.Name, int64(priority), want.Key, int64(want.N))
		if err != nil {
			return nil, err
		}
		all[i] = ids
	}
	return all, nil
}

// found makes no row no error.
func found(err error) error {
	if errors.Is(err, errNoRow) {
		return nil
	}
	return err
}
