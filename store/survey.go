package store

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Surveyor counts the store's runs for operators. (A Meter counts this process's writes.)
type Surveyor interface {
	// Survey counts the unfinished runs, in one consistent snapshot; delayed and due counts depend
	// on now.
	//
	// Its cost grows at most with their number: finished runs, of which there may be millions, are
	// not read. Call it every ten seconds or so, not for each request.
	Survey(ctx context.Context, now time.Time) (Survey, error)
}

// Survey describes a store's workload, for all nodes together.
type Survey struct {
	// Queued, Running and Waiting count the unfinished runs by state. Waiting includes sticky runs,
	// which keep their slot.
	Queued, Running, Waiting int
	// Delayed is the part of Queued with a not-before time after now. Runs that wait for children
	// are neither delayed nor ready.
	Delayed int
	// Ready is the part of Queued that only needs a slot: neither delayed nor held, nor a sticky
	// run, which has its slot.
	Ready int
	// OldestReady is the earliest QueuedAt of the ready runs; zero without any. A previously held
	// run counts from its submission.
	OldestReady time.Time
	// OldestWaiting is the AskedAt of the oldest open question; zero without any.
	OldestWaiting time.Time
	// Held counts the held runs, queued or waiting, which need an operator. OldestHeld is the
	// earliest Run.HeldSince, zero without any.
	Held       int
	OldestHeld time.Time
	// Due counts the open questions with a deadline at or before now, and the runs with a due
	// Family.Due. Serving nodes process them at once: if it stays above zero, none serves, or none
	// keeps up.
	Due int
	// Nodes counts the registered nodes, including expired nodes not removed yet.
	Nodes int
	// Usage is the total usage of the unfinished runs. If any usage is stored, it takes a look-up
	// per run.
	Usage Usage
	Pools []PoolSurvey
	// Engines are the engines with ready or delayed runs, by name.
	Engines []EngineSurvey
}

type EngineSurvey struct {
	// Engine is the engine's name in the runs' records.
	Engine string
	// Queued are its runs that need a slot: ready, or delayed by a not-before time.
	Queued int
	// OldestReady is the earliest QueuedAt of the ready runs; zero without any.
	OldestReady time.Time
	// Nodes counts the registered nodes with the engine. While it is 0, these runs stay queued.
	Nodes int
}

// PoolSurvey is a pool with its used slots and ready runs.
type PoolSurvey struct {
	PoolUse
	// Ready and OldestReady are the Survey's figures for this pool. If runs stay ready while slots
	// are free, they wait for capacity of their key, or for a node. A low-priority run can starve,
	// so OldestReady may grow without bound.
	Ready       int
	OldestReady time.Time
}

// AddReady counts ready runs; oldest is their earliest QueuedAt.
func (p *PoolSurvey) AddReady(runs int, oldest time.Time) {
	p.Ready += runs
	p.OldestReady = earlier(p.OldestReady, oldest)
}

// AddReady counts ready runs; oldest is their earliest QueuedAt.
func (e *EngineSurvey) AddReady(runs int, oldest time.Time) {
	e.Queued += runs
	e.OldestReady = earlier(e.OldestReady, oldest)
}

// earlier ignores zero times.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Add adds a pool, and its ready runs to the totals. Stores call it for each pool, by name.
func (s *Survey) Add(p PoolSurvey) {
	s.Pools = append(s.Pools, p)
	s.Ready += p.Ready
	s.OldestReady = earlier(s.OldestReady, p.OldestReady)
}

// AddHeld counts held runs; oldest is the beginning of the longest hold.
func (s *Survey) AddHeld(runs int, oldest time.Time) {
	s.Held += runs
	s.OldestHeld = earlier(s.OldestHeld, oldest)
}

// AddEngines adds the engines by name, and counts each one's nodes.
func (s *Survey) AddEngines(engines map[string]EngineSurvey, nodes []Node) {
	for _, name := range slices.Sorted(maps.Keys(engines)) {
		e := engines[name]
		e.Engine = name
		for _, n := range nodes {
			if n.has(name) {
				e.Nodes++
			}
		}
		s.Engines = append(s.Engines, e)
	}
}
