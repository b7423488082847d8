package store

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Surveyor counts the runs that a store keeps, for operators. (What this process has written is
// counted by a Meter.)
type Surveyor interface {
	// Survey counts the runs that have not ended, as they stand at one moment. What is delayed and
	// what is due depends on now.
	//
	// Its cost grows at most with the number of those runs: it does not read finished runs, and
	// there may be millions of them. Callers call it every ten seconds or so, not for each request.
	Survey(ctx context.Context, now time.Time) (Survey, error)
}

// Survey is how much a store has to do. Its counts are of all nodes together.
type Survey struct {
	// Queued, Running and Waiting are the runs in these states: all that have not ended. Those that
	// wait include sticky ones, which keep their slot.
	Queued, Running, Waiting int
	// Delayed are those of Queued whose not-before time is after now. Runs that wait for their
	// children are Queued, and neither delayed nor ready.
	Delayed int
	// Ready are those of Queued that could be started now if they were given a slot: neither
	// delayed nor held, nor the next turn of a sticky run, which has its slot already.
	Ready int
	// OldestReady is the earliest QueuedAt of those that are ready; zero when none is. A run that
	// was held back counts from its submission.
	OldestReady time.Time
	// OldestWaiting is when the oldest open question was asked; zero when there is none.
	OldestWaiting time.Time
	// Held are the runs that somebody should look at: those that are held, queued or waiting.
	// OldestHeld is the earliest of their times (Run.HeldSince), zero when there are none.
	Held       int
	OldestHeld time.Time
	// Due are the open questions whose deadline is at or before now, and the runs whose Family.Due
	// is. A node that serves sees to them at once: when the number stays above zero, none does, or
	// none keeps up.
	Due int
	// Nodes are the registered nodes: those whose lease nobody has expired yet.
	Nodes int
	// Usage is the sum of what the turns of the runs that have not ended have used so far. Where
	// any usage is stored, it takes a look-up for each of these runs.
	Usage Usage
	// Pools are the pools by name.
	Pools []PoolSurvey
	// Engines are the engines, by name, of which runs are ready or held back.
	Engines []EngineSurvey
}

// EngineSurvey is how many runs wait to be executed by an engine, and how many nodes could execute
// them.
type EngineSurvey struct {
	// Engine is the engine's name in the runs' records.
	Engine string
	// Queued are its runs that want a slot: ready, or held back by a not-before time.
	Queued int
	// OldestReady is the earliest QueuedAt of those that are ready; zero when none is.
	OldestReady time.Time
	// Nodes are the registered nodes that have the engine. While it is 0, nobody executes these
	// runs: they stay queued.
	Nodes int
}

// PoolSurvey is a pool, the slots that are held in it, and the runs that want one.
type PoolSurvey struct {
	PoolUse
	// Ready and OldestReady are those of the Survey in this pool. Runs that stay ready while fewer
	// slots are held than the capacity wait for room under their key, or for a node with room.
	// Priorities are strict, so OldestReady may be of a run that those of a higher priority pass
	// for ever.
	Ready       int
	OldestReady time.Time
}

// AddReady counts ready runs, the oldest of which was queued at that time.
func (p *PoolSurvey) AddReady(runs int, oldest time.Time) {
	p.Ready += runs
	p.OldestReady = earlier(p.OldestReady, oldest)
}

// AddReady counts ready runs, the oldest of which was queued at that time.
func (e *EngineSurvey) AddReady(runs int, oldest time.Time) {
	e.Queued += runs
	e.OldestReady = earlier(e.OldestReady, oldest)
}

// earlier is the earlier one of two times that are not zero, or the one that is not.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Add adds a pool with its figures, and what is ready in it to the sums. Stores call it for each
// pool, by name.
func (s *Survey) Add(p PoolSurvey) {
	s.Pools = append(s.Pools, p)
	s.Ready += p.Ready
	s.OldestReady = earlier(s.OldestReady, p.OldestReady)
}

// AddHeld counts held runs, the oldest of which has been held since that time.
func (s *Survey) AddHeld(runs int, oldest time.Time) {
	s.Held += runs
	s.OldestHeld = earlier(s.OldestHeld, oldest)
}

// AddEngines adds the engines with their figures, by name, and counts for each the nodes that have
// it.
func (s *Survey) AddEngines(engines map[string]EngineSurvey, nodes []Node) {
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		e := engines[name]
		e.Engine = name
		for _, n := range nodes {
			if n.Has(name) {
				e.Nodes++
			}
		}
		s.Engines = append(s.Engines, e)
	}
}
