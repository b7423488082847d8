package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// model is an obviously correct store: without indexes or order, it examines all runs.
type model struct {
	runs  map[string]*saved
	nodes map[string]bool
	gone  map[string]time.Time // when nodes went, according to the store
	has   map[string][]string  // the engines of each node; nil if it named none
	pools map[string]slots.Pool
}

type saved struct {
	run     store.Run
	spec    string
	events  []store.Event
	history []interaction.Record
	usage   []store.TurnUsage
	journal []interaction.JournalEntry
}

func newModel() *model {
	return &model{runs: map[string]*saved{}, nodes: map[string]bool{}, gone: map[string]time.Time{},
		has:   map[string][]string{},
		pools: map[string]slots.Pool{}}
}

func (m *model) commit(c store.Commit) error {
	s := m.runs[c.Run.ID]
	if c.Expect == 0 {
		switch _, known := m.pools[c.Run.Pool]; {
		case s != nil:
			return store.ErrExists
		case !known:
			return store.ErrUnknownPool
		}
		m.runs[c.Run.ID] = &saved{run: c.Run.Clone(), spec: string(c.Spec), events: slices.Clone(c.Events)}
		return nil
	}
	switch {
	case s == nil:
		return store.ErrNotFound
	case c.Fence != nil && (s.run.Owner != c.Fence.Node || s.run.Epoch != c.Fence.Epoch || !m.nodes[c.Fence.Node]):
		return store.ErrStaleEpoch
	case s.run.Version != c.Expect:
		return store.ErrConflict
	case c.Run.MissesDeparture(&s.run, m.gone[s.run.Owner]):
		return store.ErrConflict
	case c.Keyed() != nil && m.settled(c.Run.ID, c.Keyed().Key) != nil:
		return store.ErrInvalid
	}
	if c.Usage != nil {
		s.usage = append(s.usage, store.TurnUsage{Attempt: s.run.Attempt, Usage: *c.Usage})
	}
	s.journal = append(s.journal, c.Journal...)
	s.run = c.Run.Clone()
	s.events = append(s.events, c.Events...)
	for _, settled := range c.Settled {
		s.history = append(s.history, store.CloneRecord(settled))
	}
	slices.SortFunc(s.history, func(a, b interaction.Record) int { return a.Question.ID - b.Question.ID })
	return nil
}

func (m *model) view(s *saved) store.Run {
	seen := s.run
	if seen.State == fsm.StateWaitingUser && !seen.Slot {
		seen.ShowDeparture(m.gone[seen.Owner])
	}
	return seen
}

func (m *model) snapshot(tb require.TestingT, id string) runSnapshot {
	s := m.runs[id]
	if s == nil {
		return runSnapshot{Missing: true}
	}
	return runSnapshot{Run: text(tb, m.view(s)), Spec: s.spec, Events: s.events, History: s.history,
		Usage: s.usage, Journal: s.journal}
}

func (m *model) settled(id, key string) *interaction.Record {
	if s := m.runs[id]; s != nil && key != "" {
		for i := range s.history {
			if s.history[i].Key == key {
				return &s.history[i]
			}
		}
	}
	return nil
}

func (m *model) where(test func(store.Run) bool) []store.Run {
	var all []store.Run
	for _, s := range m.runs {
		if r := m.view(s); test(r) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b store.Run) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// by sorts runs by a time. Runs with equal times keep their order by id.
func by(runs []store.Run, at func(store.Run) time.Time) []store.Run {
	slices.SortStableFunc(runs, func(a, b store.Run) int { return at(a).Compare(at(b)) })
	return runs
}

func (m *model) orphans() []store.Run {
	return m.where(func(r store.Run) bool { return r.Slot && !m.nodes[r.Owner] })
}

// due are the runs with a deadline that has passed, or whose relatives are due.
func (m *model) due(now time.Time) []store.Run {
	due := m.where(func(r store.Run) bool { return !r.DueAt().IsZero() && !r.DueAt().After(now) })
	return by(due, func(r store.Run) time.Time { return r.DueAt() })
}

func (m *model) holdsDue(now time.Time) []store.Run {
	due := m.where(func(r store.Run) bool {
		return r.State == fsm.StateQueued && r.Held() && !r.Block.Until.IsZero() && !r.Block.Until.After(now)
	})
	return by(due, func(r store.Run) time.Time { return r.Block.Until })
}

// wantsSlot reports whether the run is queued for a slot, now or after its not-before time.
func wantsSlot(r store.Run) bool {
	return r.State == fsm.StateQueued && !r.Slot && !r.Held() && !r.AwaitsChildren()
}

func isReady(r store.Run, now time.Time) bool { return wantsSlot(r) && !r.NotBefore.After(now) }

// next returns the first time after now at which something falls due.
func (m *model) next(now time.Time) (next time.Time) {
	for _, s := range m.runs {
		at := s.run.DueAt()
		if wantsSlot(s.run) {
			at = s.run.NotBefore
		}
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

func (m *model) holds(node string) []store.OwnedRun {
	var all []store.OwnedRun
	for _, r := range m.where(func(r store.Run) bool { return r.Owner == node && r.Slot }) {
		all = append(all, store.OwnedRun{RunID: r.ID, Epoch: r.Epoch, State: r.State})
	}
	return all
}

func (m *model) use() []store.PoolUse {
	var all []store.PoolUse
	for _, p := range m.pools {
		held := m.where(func(r store.Run) bool { return r.Slot && r.Pool == p.Name })
		all = append(all, store.PoolUse{Pool: p, Held: len(held)})
	}
	slices.SortFunc(all, func(a, b store.PoolUse) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (m *model) survey(now time.Time) store.Survey {
	isReady := func(r store.Run) bool { return isReady(r, now) }
	isHeld := func(r store.Run) bool { return r.Held() }
	held := by(m.where(isHeld), func(r store.Run) time.Time { return r.HeldSince() })
	waiting := by(m.where(func(r store.Run) bool {
		return len(r.Open) > 0
	}), func(r store.Run) time.Time { return r.Open[0].AskedAt })
	s := store.Survey{
		Queued:  len(m.where(func(r store.Run) bool { return r.State == fsm.StateQueued })),
		Running: len(m.where(func(r store.Run) bool { return r.State == fsm.StateRunning })),
		Delayed: len(m.where(func(r store.Run) bool { return wantsSlot(r) && !isReady(r) })),
		Held:    len(held), Waiting: len(waiting), Due: len(m.due(now)), Nodes: len(m.nodes),
	}
	for _, r := range m.runs {
		for _, turn := range r.usage {
			if !r.run.State.Terminal() {
				s.Usage.Add(turn.Usage)
			}
		}
	}
	if len(held) > 0 {
		s.OldestHeld = held[0].HeldSince()
	}
	if len(waiting) > 0 {
		s.OldestWaiting = waiting[0].Open[0].AskedAt
	}
	for _, use := range m.use() {
		ready := by(m.where(func(r store.Run) bool {
			return r.Pool == use.Name && isReady(r)
		}), func(r store.Run) time.Time { return r.QueuedAt })
		p := store.PoolSurvey{PoolUse: use, Ready: len(ready)}
		if len(ready) > 0 {
			p.OldestReady = ready[0].QueuedAt
		}
		s.Add(p)
	}
	s.Engines = m.engines(isReady)
	return s
}

func (m *model) engines(isReady func(store.Run) bool) (all []store.EngineSurvey) {
	byEngine := map[string][]store.Run{}
	for _, r := range by(m.where(wantsSlot), queuedAt) {
		byEngine[r.Engine] = append(byEngine[r.Engine], r)
	}
	for _, name := range slices.Sorted(maps.Keys(byEngine)) {
		e := store.EngineSurvey{Engine: name, Queued: len(byEngine[name])}
		if i := slices.IndexFunc(byEngine[name], isReady); i >= 0 {
			e.OldestReady = byEngine[name][i].QueuedAt
		}
		for node := range m.nodes {
			if m.has[node] == nil || slices.Contains(m.has[node], name) {
				e.Nodes++
			}
		}
		all = append(all, e)
	}
	return all
}

// prunable returns the runs that may be deleted, in the order in which they finished.
func (m *model) prunable(before time.Time) []store.Run {
	old := m.where(func(r store.Run) bool {
		return r.Prunable() && r.FinishedAt.Before(before)
	})
	return by(old, func(r store.Run) time.Time { return r.FinishedAt })
}
