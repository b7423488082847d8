package memory

import (
	"slices"

	"github.com/interlude-go/interlude/slots"
)

// readyQueue is the ready runs of a pool for the node's engines. It merges the index's ranges, one
// for each engine.
type readyQueue struct {
	store       *Store
	pool        string
	engines     []string // ascending; only engines with a ready run in the pool
	keyCapacity int
}

// readyEngines returns the wanted engines (nil: all) with a ready run in the pool. It seeks from
// engine to engine.
func (s *Store) readyEngines(pool string, wanted []string) (ready []string) {
	next := func(engine string, inclusive bool) (string, bool) {
		p, ok := s.index.ready.first(func(p place) bool {
			return p.pool < pool || p.pool == pool && (p.engine < engine || p.engine == engine && !inclusive)
		})
		return p.engine, ok && p.pool == pool
	}
	if wanted == nil {
		for engine, ok := next("", true); ok; engine, ok = next(engine, false) {
			ready = append(ready, engine)
		}
		return ready
	}
	for len(wanted) > 0 {
		engine, ok := next(wanted[0], true)
		if !ok {
			break
		}
		i, found := slices.BinarySearch(wanted, engine)
		if found {
			ready = append(ready, engine)
			i++
		}
		wanted = wanted[i:]
	}
	return ready
}

func (q *readyQueue) seek(engine string, before func(place) bool) (place, bool) {
	p, ok := q.store.index.ready.first(func(p place) bool {
		return p.pool < q.pool || p.pool == q.pool && (p.engine < engine || p.engine == engine && before(p))
	})
	return p, ok && p.pool == q.pool && p.engine == engine
}

func (q *readyQueue) All(n int) (ids []string, complete bool, _ error) {
	var places []place
	for _, engine := range q.engines {
		q.store.index.ready.from(func(p place) bool {
			return p.pool < q.pool || p.pool == q.pool && p.engine < engine
		}, func(p place) bool {
			if p.pool != q.pool || p.engine != engine || len(places) > n {
				return false
			}
			places = append(places, p)
			return true
		})
	}
	if len(places) > n {
		return nil, false, nil
	}
	if len(q.engines) > 1 {
		slices.SortFunc(places, compareInQueue)
	}
	return idsOf(places), true, nil
}

func idsOf(places []place) []string {
	ids := make([]string, len(places))
	for i := range places {
		ids[i] = places[i].id
	}
	return ids
}

func (q *readyQueue) Priority(below int) (priority int, ok bool, _ error) {
	for _, engine := range q.engines {
		p, found := q.seek(engine, func(p place) bool { return p.priority >= below })
		if found && (!ok || p.priority > priority) {
			priority, ok = p.priority, true
		}
	}
	return priority, ok, nil
}

func (q *readyQueue) Keys(priority int, last string, n int) (keys []slots.Key, _ error) {
	for name := range slots.Around(last, func(after string, inclusive bool) (string, bool, error) {
		key, ok := q.nextKey(priority, after, inclusive)
		return key, ok, nil
	}) {
		used := 0
		if q.keyCapacity > 0 && name != "" {
			if used = q.store.index.keySlots[poolKey{q.pool, name}]; used >= q.keyCapacity {
				continue
			}
		}
		if keys = append(keys, slots.Key{Name: name, Held: used}); len(keys) == n {
			break
		}
	}
	return keys, nil
}

// nextKey returns the first key after the given one, or from it if inclusive, with a ready run at
// the priority.
func (q *readyQueue) nextKey(priority int, after string, inclusive bool) (key string, ok bool) {
	for _, engine := range q.engines {
		p, found := q.seek(engine, func(p place) bool {
			return p.priority > priority || p.priority == priority && (p.key < after || p.key == after && !inclusive)
		})
		if found && p.priority == priority && (!ok || p.key < key) {
			key, ok = p.key, true
		}
	}
	return key, ok
}

func (q *readyQueue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	all := make([][]string, len(wants))
	for i, want := range wants {
		all[i] = q.oldest(priority, want)
	}
	return all, nil
}

// oldest merges up to N runs of the key from each engine.
func (q *readyQueue) oldest(priority int, want slots.Want) []string {
	var places []place
	for _, engine := range q.engines {
		n := 0
		from := place{pool: q.pool, engine: engine, priority: priority, key: want.Key, moment: moment{at: -1 << 62}}
		q.store.index.ready.from(func(p place) bool { return comparePlaces(p, from) < 0 }, func(p place) bool {
			if n == want.N || p.pool != q.pool || p.engine != engine || p.priority != priority || p.key != want.Key {
				return false
			}
			places = append(places, p)
			n++
			return true
		})
	}
	if len(q.engines) > 1 {
		slices.SortFunc(places, compareInQueue)
	}
	return idsOf(places[:min(want.N, len(places))])
}
