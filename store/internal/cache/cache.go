// Package cache keeps the runs that a store recently wrote or read, so that the next commit of one
// need not read and decode its record. A store checks cached runs against the database, or empties
// the cache as soon as another writer is possible.
package cache

import "iter"

// Runs is a bounded cache by run id, with two generations: when the young one is full, it replaces
// the old one. Unused runs thus expire without cost per use. It is not safe for concurrent use. Use
// New.
type Runs[V any] struct {
	maxRuns, maxBytes int // of a generation
	young, old        map[string]V
	bytes             int // added to young
}

// New returns an empty cache. The bounds are of one generation, so the cache keeps at most twice as
// much.
func New[V any](maxRuns, maxBytes int) Runs[V] {
	return Runs[V]{maxRuns: maxRuns, maxBytes: maxBytes}
}

func (c *Runs[V]) Get(id string) (V, bool) {
	v, ok := c.young[id]
	if !ok {
		v, ok = c.old[id]
	}
	return v, ok
}

// Put caches a value of the given size. Repeated puts of a run count each time, so a generation
// ends sooner.
func (c *Runs[V]) Put(id string, v V, size int) {
	if len(c.young) >= c.maxRuns || c.bytes >= c.maxBytes {
		c.old, c.young, c.bytes = c.young, nil, 0
	}
	if c.young == nil {
		c.young = make(map[string]V)
	}
	c.young[id] = v
	c.bytes += size
}

func (c *Runs[V]) Delete(id string) {
	delete(c.young, id)
	delete(c.old, id)
}

func (c *Runs[V]) Clear() { c.young, c.old, c.bytes = nil, nil, 0 }

// All yields the cached values. A run that was put repeatedly may come twice, its older value last.
func (c *Runs[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, generation := range []map[string]V{c.young, c.old} {
			for id, v := range generation {
				if !yield(id, v) {
					return
				}
			}
		}
	}
}
