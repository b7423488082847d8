package postgres

import (
	"sync/atomic"

	"github.com/interlude-go/interlude/store"
)

// meter counts what this process made durable.
type meter struct{ commits, flushes, rows, bytes atomic.Uint64 }

// flushed counts a transaction. One that wrote nothing costs no flush.
func (m *meter) flushed(done store.Counters) {
	if done.Rows == 0 {
		return
	}
	m.flushes.Add(1)
	m.commits.Add(done.Commits)
	m.rows.Add(done.Rows)
	m.bytes.Add(done.Bytes)
}

// Counters implements store.Meter. Rows are those of runs, states, events and settled; bytes are the
// records, events, specs and settled interactions in them.
func (s *Store) Counters() store.Counters {
	m := &s.meter
	return store.Counters{Commits: m.commits.Load(), Flushes: m.flushes.Load(), Rows: m.rows.Load(), Bytes: m.bytes.Load()}
}
