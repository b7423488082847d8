// Package cache keeps the runs that a store wrote or read last, so that the next commit of one of
// them need not read and decode its record again. It decides nothing: a store checks what it finds
// here against the database, or empties the cache as soon as anybody else may have written.
package cache

import "iter"

// Runs is a bounded cache by run id. It has two generations: when the young one is full it becomes
// the old one, and the old one is dropped. So a run that is not used for a while goes, at no cost
// for each use. It is not safe for concurrent use. Use New.
type Runs[V any] struct {
	maxRuns, maxBytes int // of a generation
	young, old        map[string]V
	bytes             int // added to young
}

// New returns an empty cache. Both bounds are of one generation, so the cache keeps at most twice
// as much.
func New[V any](maxRuns, maxBytes int) Runs[V] {
	return Runs[V]{maxRuns: maxRuns, maxBytes: maxBytes}
}

// Get returns what was put last under the id, if it is still there.
func (c *Runs[V]) Get(id string) (V, bool) {
	v, ok := c.young[id]
	if !ok {
		v, ok = c.old[id]
	}
	return v, ok
}

// Put keeps a value of the given size. A run counts as often as it is put, which only ends
// generations sooner.
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

// Delete drops a run.
func (c *Runs[V]) Delete(id string) {
	delete(c.young, id)
	delete(c.old, id)
}

// Clear drops all runs.
func (c *Runs[V]) Clear() { c.young, c.old, c.bytes = nil, nil, 0 }

// All yields what is kept. A run that was put again may be yielded twice, its older value last.
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
