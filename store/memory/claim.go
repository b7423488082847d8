package memory

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/claim"
	columns "github.com/interlude-go/interlude/store/internal/entry"
	"github.com/interlude-go/interlude/store/internal/refuse"
)

func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	claimed, hints, err := s.claim(ctx, req)
	s.watchers.Notify(hints)
	return claimed, err
}

func (s *Store) claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, []store.Hint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkOpen(ctx); err != nil {
		return nil, nil, err
	}
	if err := req.Validate(); err != nil {
		return nil, nil, err
	}
	if s.nodes[req.Node] == nil {
		return nil, nil, refuse.NotRegistered(req.Node)
	}
	s.releaseDelayed(req.Now)
	var claimed []store.Claimed
	var hints []store.Hint
	var failures []error
	start := func(ids []string) { // until the claim is full
		claimed, hints = slices.Grow(claimed, len(ids)), slices.Grow(hints, len(ids))
		for _, id := range ids {
			if len(claimed) == req.Max {
				break
			}
			c, hint, err := s.startRun(id, &req)
			if err != nil {
				failures = append(failures, s.rotation.Failed(id, err))
				continue
			}
			claimed, hints = append(claimed, c), append(hints, hint)
		}
	}
	sticky := s.stickyRuns(&req, s.rotation.StartClaim(req.Max))
	first, last := claim.Defer(&s.rotation, sticky, func(id string) string { return id })
	start(first)
	names := slices.Sorted(maps.Keys(s.pools))
	drained := true
	for _, name := range claim.Rotate(&s.rotation, names, func(name string) string { return name }) {
		if len(claimed) >= req.Max {
			drained = false
			break
		}
		pool, used := s.pools[name], s.index.slots[name]
		q := &readyQueue{s, name, s.readyEngines(name, columns.ClaimedEngines(&req)), pool.KeyCapacity}
		if len(q.engines) == 0 {
			continue
		}
		ids, all, err := s.rotation.Pick(pool, used, q, req.Max-len(claimed))
		if err != nil {
			return nil, hints, err
		}
		drained = drained && all
		start(ids)
	}
	start(last)
	claim.SetDrained(&req, drained && len(last) == 0 && len(failures) == 0)
	return claimed, hints, errors.Join(failures...)
}

func (s *Store) startRun(id string, req *store.ClaimRequest) (store.Claimed, store.Hint, error) {
	e := s.runs[id]
	c, err := claim.Start(req, &e.run, e.spec)
	if err != nil {
		return store.Claimed{}, store.Hint{}, err
	}
	own := copyOf(&c)
	s.write(e, &e.run, &c, &own)
	c.Run.Session = c.Run.Session.Clone() // the only part that the store may share
	return store.Claimed{Run: c.Run, Spec: slices.Clone(e.spec)}, s.hintOf(&c), nil
}

func (s *Store) releaseDelayed(now time.Time) {
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

func (s *Store) stickyRuns(req *store.ClaimRequest, n int) (ids []string) {
	node := req.Node
	if req.Suspects {
		return nil
	}
	s.index.sticky.from(func(b ownedRun) bool { return b.owner < node }, func(b ownedRun) bool {
		if b.owner != node || len(ids) == n {
			return false
		}
		ids = append(ids, b.id)
		return true
	})
	return ids
}
