package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

func (s *Store) Join(ctx context.Context, n store.Node, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if err := n.Validate(); err != nil {
		return err
	}
	if s.nodes[n.ID] != nil {
		return refuse.NodeExists(n.ID)
	}
	n.Until = now.Add(n.Lease)
	n.Engines = slices.Clone(n.Engines)
	s.nodes[n.ID] = &n
	return nil
}

func (s *Store) Renew(ctx context.Context, id string, now time.Time) ([]store.OwnedRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	n := s.nodes[id]
	if n == nil {
		return nil, refuse.NotRegistered(id)
	}
	n.Until = now.Add(n.Lease)
	var owned []store.OwnedRun
	s.index.owned.from(func(b ownedRun) bool { return b.owner < id }, func(b ownedRun) bool {
		if b.owner != id || b.parked {
			return false
		}
		r := &s.runs[b.id].run
		owned = append(owned, store.OwnedRun{RunID: r.ID, Epoch: r.Epoch, State: r.State})
		return true
	})
	return owned, nil
}

func (s *Store) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	return s.expire(ctx, now, func(n *store.Node) bool { return n.Until.Before(now) || slices.Contains(ids, n.ID) })
}

func (s *Store) ExpireSilent(ctx context.Context, now time.Time, nodes []store.Node) ([]store.Node, error) {
	return s.expire(ctx, now, func(n *store.Node) bool { return store.IsSilent(*n, nodes) })
}

// expire removes the nodes for which gone is true, and records their departures for as long as
// parked runs name them.
func (s *Store) expire(ctx context.Context, now time.Time, gone func(*store.Node) bool) ([]store.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	var expired []store.Node
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[id]; gone(n) {
			expired = append(expired, *n)
			delete(s.nodes, id)
		}
	}
	parkers := s.parkers()
	maps.DeleteFunc(s.departed, func(id string, _ time.Time) bool { return !parkers[id] })
	for id := range parkers {
		if _, known := s.departed[id]; !known && s.nodes[id] == nil {
			s.departed[id] = store.DepartureTime(now)
		}
	}
	return expired, nil
}

// parkers are the nodes that parked runs name; it seeks from node to node. The caller holds the
// lock.
func (s *Store) parkers() map[string]bool {
	all := make(map[string]bool)
	for owner := ""; ; {
		b, ok := s.index.owned.first(func(b ownedRun) bool { return b.owner <= owner })
		if !ok {
			return all
		}
		owner = b.owner
		b, ok = s.index.owned.first(func(b ownedRun) bool {
			return b.owner < owner || b.owner == owner && !b.parked
		})
		if ok && b.owner == owner {
			all[owner] = true
		}
	}
}

func (s *Store) Departures(ctx context.Context) ([]store.Departure, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	all := make([]store.Departure, 0, len(s.departed))
	for _, id := range slices.Sorted(maps.Keys(s.departed)) {
		all = append(all, store.Departure{ID: id, At: s.departed[id]})
	}
	return all, nil
}

func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	return s.listNodes(), nil
}

func (s *Store) listNodes() []store.Node {
	all := make([]store.Node, 0, len(s.nodes))
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		n := *s.nodes[id]
		n.Engines = slices.Clone(n.Engines)
		all = append(all, n)
	}
	return all
}

func (s *Store) SetPool(ctx context.Context, p slots.Pool) error {
	return s.setPool(ctx, p, func(slots.Pool) bool { return true })
}

func (s *Store) ChangePool(ctx context.Context, was, p slots.Pool) error {
	return s.setPool(ctx, p, func(stored slots.Pool) bool { return stored == was })
}

func (s *Store) setPool(ctx context.Context, p slots.Pool, expected func(slots.Pool) bool) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if !expected(s.pools[p.Name]) {
		return store.ErrConflict
	}
	s.pools[p.Name] = p
	return nil
}

func (s *Store) Pools(ctx context.Context) ([]store.PoolUse, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	all := make([]store.PoolUse, 0, len(s.pools))
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		all = append(all, store.PoolUse{Pool: s.pools[name], Held: s.index.slots[name]})
	}
	return all, nil
}

func (s *Store) Watch(fn func(store.Hint)) (stop func()) { return s.watchers.Watch(fn) }
