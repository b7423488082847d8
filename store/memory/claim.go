package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Claim implements store.Writer.
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	claimed, hints, err := s.claim(ctx, req)
	s.watchers.Tell(hints)
	return claimed, err
}

func (s *Store) claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, []store.Hint, error) {
	s.mu.Lock()
	defer s.mu.Unlock() // also when Start panics
	if err := s.open(ctx); err != nil {
		return nil, nil, err
	}
	if err := req.Check(); err != nil {
		return nil, nil, err
	}
	if s.nodes[req.Node] == nil {
		return nil, nil, fmt.Errorf("%w: node %s is not registered", store.ErrStaleEpoch, req.Node)
	}
	s.release(req.Now)
	var claimed []store.Claimed
	var hints []store.Hint
	var failures []error
	take := func(ids []string) {
		claimed, hints = slices.Grow(claimed, len(ids)), slices.Grow(hints, len(ids))
		for _, id := range ids {
			c, hint, err := s.take(id, req)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			claimed, hints = append(claimed, c), append(hints, hint)
		}
	}
	take(s.stickyOf(req.Node, req.Max))
	for _, name := range s.poolsInTurn() {
		if len(claimed) >= req.Max {
			break
		}
		ids, err := s.pick(name, req.Engines, req.Max-len(claimed))
		if err != nil {
			return nil, hints, err
		}
		take(ids)
	}
	return claimed, hints, errors.Join(failures...)
}

// pick chooses up to want ready runs of a pool, of the given engines; nil: of any.
func (s *Store) pick(name string, engines []string, want int) ([]string, error) {
	pool, total := s.pools[name], s.index.held[name]
	free := min(want, pool.Capacity-total)
	if free <= 0 {
		return nil, nil
	}
	q := &queue{s, name, s.readyEngines(name, engines), pool.KeyCapacity}
	if len(q.engines) == 0 {
		return nil, nil
	}
	if pool.KeyCapacity == 0 {
		if ids, all := q.all(free); all { // there is room for all, and nothing to choose
			return ids, nil
		}
	}
	ids, served, err := slots.Select(pool, total, q, want, s.served[name])
	if err == nil {
		s.served[name] = served
	}
	return ids, err
}

// take starts one picked run.
func (s *Store) take(id string, req store.ClaimRequest) (store.Claimed, store.Hint, error) {
	e := s.runs[id]
	given := e.run.Clone().Claim(req.Node)
	c, err := req.Start(given, slices.Clone(e.spec))
	if err == nil {
		err = c.CheckClaim(&given, &e.run)
	}
	if err != nil {
		return store.Claimed{}, store.Hint{}, fmt.Errorf("store: claim run %s: %w", id, err)
	}
	own := copyOf(&c)
	s.write(e, &e.run, &c, &own)
	return store.Claimed{Run: e.run.Clone(), Spec: slices.Clone(e.spec)}, s.hint(&c), nil
}

// release puts runs whose not-before time has come among the ready ones.
func (s *Store) release(now time.Time) {
	var due []moment
	s.index.delayed.from(start, func(m moment) bool {
		if m.at <= now.UnixMicro() {
			due = append(due, m)
			return true
		}
		return false
	})
	for _, m := range due {
		s.index.delayed.remove(m)
		delete(s.index.isDelayed, m.id)
		s.index.ready.add(placeOf(&s.runs[m.id].run))
	}
}

// stickyOf are queued runs whose slot and process the node holds, oldest first.
func (s *Store) stickyOf(node string, n int) []string {
	var ids []string
	s.index.sticky.from(func(b belonging) bool { return b.owner < node }, func(b belonging) bool {
		if b.owner != node || len(ids) == n {
			return false
		}
		ids = append(ids, b.id)
		return true
	})
	return ids
}

// poolsInTurn are the pools by name, each claim beginning with another, so that none is always
// served last.
func (s *Store) poolsInTurn() []string {
	if len(s.pools) == 1 {
		for name := range s.pools {
			return []string{name}
		}
	}
	names := slices.Sorted(maps.Keys(s.pools))
	if len(names) == 0 {
		return nil
	}
	i, found := slices.BinarySearch(names, s.first)
	if found {
		i++
	}
	i %= len(names)
	s.first = names[i]
	return append(slices.Clone(names[i:]), names[:i]...)
}

// queue is the ready runs of one pool whose engines the node has, for slots.Select. Each engine's
// runs are an ordered range of their own, which no run of another engine stands in; the queue
// merges these ranges.
type queue struct {
	store       *Store
	pool        string
	engines     []string // ascending; those that have a ready run in the pool
	keyCapacity int
}

// readyEngines are the engines that have a ready run in the pool, of those that are wanted; nil
// wants all. It skips from engine to engine and never looks at a second run of one.
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

// seek returns the first ready run of one of the queue's engines that is not before the place.
func (q *queue) seek(engine string, before func(place) bool) (place, bool) {
	p, ok := q.store.index.ready.first(func(p place) bool {
		return p.pool < q.pool || p.pool == q.pool && (p.engine < engine || p.engine == engine && before(p))
	})
	return p, ok && p.pool == q.pool && p.engine == engine
}

// all returns the ready runs in order, if they are no more than n.
func (q *queue) all(n int) (ids []string, all bool) {
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
		return nil, false
	}
	if len(q.engines) > 1 {
		slices.SortFunc(places, compareInQueue)
	}
	return idsOf(places), true
}

func idsOf(places []place) []string {
	ids := make([]string, len(places))
	for i := range places {
		ids[i] = places[i].id
	}
	return ids
}

// Priority implements slots.Queue.
func (q *queue) Priority(below int) (priority int, ok bool, _ error) {
	for _, engine := range q.engines {
		p, found := q.seek(engine, func(p place) bool { return p.priority >= below })
		if found && (!ok || p.priority > priority) {
			priority, ok = p.priority, true
		}
	}
	return priority, ok, nil
}

// Keys implements slots.Queue.
func (q *queue) Keys(priority int, last string, n int) (keys []slots.Key, _ error) {
	for name := range slots.Around(last, func(after string, inclusive bool) (string, bool, error) {
		key, ok := q.key(priority, after, inclusive)
		return key, ok, nil
	}) {
		held := 0
		if q.keyCapacity > 0 && name != "" {
			if held = q.store.index.heldByKey[tenancy{q.pool, name}]; held >= q.keyCapacity {
				continue
			}
		}
		if keys = append(keys, slots.Key{Name: name, Held: held}); len(keys) == n {
			break
		}
	}
	return keys, nil
}

// key is the first key after the given one that has a ready run at the priority; with inclusive,
// the given one itself counts.
func (q *queue) key(priority int, after string, inclusive bool) (key string, ok bool) {
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

// Oldest implements slots.Queue.
func (q *queue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	all := make([][]string, len(wants))
	for i, want := range wants {
		all[i] = q.oldest(priority, want)
	}
	return all, nil
}

// oldest merges up to N runs of the key from each engine.
func (q *queue) oldest(priority int, want slots.Want) []string {
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
