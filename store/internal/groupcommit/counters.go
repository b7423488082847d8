package groupcommit

import (
	"sync/atomic"

	"github.com/interlude-go/interlude/store"
)

// Counters count what the flushes of a store made durable. The zero value is ready, and safe for
// concurrent use.
type Counters struct{ commits, flushes, rows, bytes atomic.Uint64 }

// Add counts one flush and what it wrote. A flush that wrote nothing is not counted: it costs the
// disk nothing.
func (c *Counters) Add(written store.Counters) {
	if written.Rows == 0 {
		return
	}
	c.flushes.Add(1)
	c.commits.Add(written.Commits)
	c.rows.Add(written.Rows)
	c.bytes.Add(written.Bytes)
}

// Load returns the counts so far.
func (c *Counters) Load() store.Counters {
	return store.Counters{
		Commits: c.commits.Load(), Flushes: c.flushes.Load(), Rows: c.rows.Load(), Bytes: c.bytes.Load(),
	}
}
