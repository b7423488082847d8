package sqlite

import (
	"sync/atomic"

	"github.com/interlude-go/interlude/store"
)

// meter counts what the writer wrote. Pending is the writer's own: what belongs to the transaction
// under way.
type meter struct {
	pending                       store.Counters
	commits, flushes, rows, bytes atomic.Uint64
}

// row counts a row that was written.
func (m *meter) row(bytes int) {
	m.pending.Rows++
	m.pending.Bytes += uint64(bytes)
}

// flushed counts a transaction that was made durable. One that wrote nothing costs no flush.
func (m *meter) flushed() {
	p := m.pending
	m.pending = store.Counters{}
	if p.Rows == 0 {
		return
	}
	m.flushes.Add(1)
	m.commits.Add(p.Commits)
	m.rows.Add(p.Rows)
	m.bytes.Add(p.Bytes)
}

// Counters implements store.Meter. Rows are those of runs, log, settled and labels; bytes are the
// records, events, specs and settled interactions in them.
func (s *Store) Counters() store.Counters {
	m := &s.writer.meter
	return store.Counters{Commits: m.commits.Load(), Flushes: m.flushes.Load(), Rows: m.rows.Load(), Bytes: m.bytes.Load()}
}
