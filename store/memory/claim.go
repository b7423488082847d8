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
		ids, err := s.pick(name, req.Max-len(claimed))
		if err != nil {
			return nil, hints, err
		}
		take(ids)
	}
	return claimed, hints, errors.Join(failures...)
}

// pick chooses up to want ready runs of a pool.
func (s *Store) pick(name string, want int) ([]string, error) {
	pool, total := s.pools[name], s.index.held[name]
	q := &queue{s, name, pool.KeyCapacity}
	free := min(want, pool.Capacity-total)
	if free <= 0 {
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

// poolsInTurn are the pools by name, each claim beginning with another, so that none is always served last.
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

// queue is the ready runs of one pool, for slots.Select.
type queue struct {
	store       *Store
	pool        string
	keyCapacity int
}

func (q *queue) seek(before func(place) bool) (place, bool) {
	p, ok := q.store.index.ready.first(func(p place) bool { return p.pool < q.pool || p.pool == q.pool && before(p) })
	return p, ok && p.pool == q.pool
}

// all returns the pool's ready runs in order, if they are no more than n.
func (q *queue) all(n int) (ids []string, all bool) {
	all = true
	q.store.index.ready.from(func(p place) bool { return p.pool < q.pool }, func(p place) bool {
		if p.pool != q.pool {
			return false
		}
		all = len(ids) < n
		ids = append(ids, p.id)
		return all
	})
	return ids, all
}

// Priority implements slots.Queue.
func (q *queue) Priority(below int) (int, bool, error) {
	p, ok := q.seek(func(p place) bool { return p.priority >= below })
	return p.priority, ok, nil
}

// Keys implements slots.Queue.
func (q *queue) Keys(priority int, last string, n int) (keys []slots.Key, _ error) {
	for name := range slots.Around(last, func(after string, inclusive bool) (string, bool, error) {
		p, ok := q.seek(func(p place) bool {
			return p.priority > priority || p.priority == priority && (p.key < after || p.key == after && !inclusive)
		})
		return p.key, ok && p.priority == priority, nil
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

// Oldest implements slots.Queue.
func (q *queue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	all := make([][]string, len(wants))
	for i, want := range wants {
		all[i] = q.oldest(priority, want)
	}
	return all, nil
}

func (q *queue) oldest(priority int, want slots.Want) (ids []string) {
	from := place{pool: q.pool, priority: priority, key: want.Key, moment: moment{at: -1 << 62}}
	q.store.index.ready.from(func(p place) bool { return comparePlaces(p, from) < 0 }, func(p place) bool {
		if len(ids) == want.N || p.pool != q.pool || p.priority != priority || p.key != want.Key {
			return false
		}
		ids = append(ids, p.id)
		return true
	})
	return ids
}
