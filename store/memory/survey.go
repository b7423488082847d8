package memory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	columns "github.com/interlude-go/interlude/store/internal/entry"
)

// Survey implements store.Surveyor. It visits the runs that are ready, delayed, due or held, or
// hold a slot; the index has the other counts.
func (s *Store) Survey(ctx context.Context, now time.Time) (store.Survey, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.checkOpen(ctx); err != nil {
		return store.Survey{}, err
	}
	x, heldInQueue := &s.index, 0
	survey := store.Survey{
		Queued: x.ready.size + x.delayed.size + x.sticky.size, Running: s.running(),
		Waiting: x.anyone.size + x.addressed.size,
		Nodes:   len(s.nodes), Usage: s.usage,
	}
	for _, by := range x.ranges(store.WaitingQuery{}) {
		if m, ok := by.first(start); ok && (survey.OldestWaiting.IsZero() || m.time().Before(survey.OldestWaiting)) {
			survey.OldestWaiting = m.time()
		}
	}
	x.held.from(start, func(m moment) bool {
		r := &s.runs[m.id].run
		survey.AddHeld(1, r.HeldSince())
		if r.State == fsm.StateQueued {
			heldInQueue++
		}
		return true
	})
	survey.Queued += heldInQueue
	upTo(x.deadlines, now, func(string) { survey.Due++ })
	pools, engines := s.queued(now)
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		p := pools[name]
		p.PoolUse = store.PoolUse{Pool: s.pools[name], Held: x.slots[name]}
		survey.Add(p)
	}
	survey.AddEngines(engines, s.listNodes())
	survey.Delayed = survey.Queued - survey.Ready - x.sticky.size - heldInQueue
	survey.Queued += x.awaiting
	return survey, nil
}

// queued counts the queued runs without a slot, by pool and by engine. A run whose not-before time
// has passed is ready, although the index lists it as delayed until the next claim.
func (s *Store) queued(now time.Time) (map[string]store.PoolSurvey, map[string]store.EngineSurvey) {
	pools, engines := make(map[string]store.PoolSurvey, len(s.pools)), make(map[string]store.EngineSurvey)
	count := func(pool, engine string, queued moment) {
		at := queued.time()
		p, e := pools[pool], engines[engine]
		p.AddReady(1, at)
		e.AddReady(1, at)
		pools[pool], engines[engine] = p, e
	}
	s.index.ready.from(func(place) bool { return false }, func(p place) bool {
		count(p.pool, columns.EngineOf(p.engine), p.moment)
		return true
	})
	s.index.delayed.from(start, func(m moment) bool {
		r := &s.runs[m.id].run
		if m.at <= now.UnixMicro() {
			count(r.Pool, r.Engine, at(r.QueuedAt, m.id))
		} else {
			e := engines[r.Engine]
			e.Queued++
			engines[r.Engine] = e
		}
		return true
	})
	return pools, engines
}

// running counts the running runs, all of which hold a slot. It goes from owner to owner and skips
// their parked runs.
func (s *Store) running() (n int) {
	for owner := ""; ; {
		next, ok := s.index.owned.first(func(b ownedRun) bool { return b.owner <= owner })
		if !ok {
			return n
		}
		owner = next.owner
		s.index.owned.from(func(b ownedRun) bool { return b.owner < owner }, func(b ownedRun) bool {
			if b.owner != owner || b.parked {
				return false
			}
			if s.runs[b.id].run.State == fsm.StateRunning {
				n++
			}
			return true
		})
	}
}

func upTo(x *ordered[moment], now time.Time, visit func(id string)) {
	x.from(start, func(m moment) bool {
		if m.at > now.UnixMicro() {
			return false
		}
		visit(m.id)
		return true
	})
}

func (m moment) time() time.Time { return time.UnixMicro(m.at).UTC() }
