package postgres

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/interlude-go/interlude/store"
)

// entry is a checked commit with its rows, ready to be written. It shares nothing with the
// caller's, who may be gone before it is written.
type entry struct {
	store.Commit
	record, bodies, settled []byte
	buf                     *[]byte // from records, for record
	job                     *job
	n                       int64  // of the run's rows; 0 until it is created
	at                      int    // place in the job
	pred                    *entry // the one of the same flush that it follows up on
	depth                   int    // how many it follows up on
	known                   bool   // the previous record was looked at, and n is its row
	made                    bool   // the transaction under way has stored it
}

// maxKept bounds the buffers that are kept for later records: a rare long text must not stay in
// memory.
const maxKept = 64 << 10

// records are buffers for one record after the other.
var records = sync.Pool{New: func() any { return new([]byte) }}

// newEntry refuses what is wrong by itself.
func newEntry(c *store.Commit) (*entry, error) {
	if err := c.CheckSelf(); err != nil {
		return nil, err
	}
	return encoded(c)
}

// encoded copies a commit that CheckSelf has passed, and encodes its rows.
func encoded(c *store.Commit) (*entry, error) {
	r := &c.Run
	e := &entry{Commit: *c}
	var err error
	buf := records.Get().(*[]byte) //nolint:forcetypeassert // there is nothing else in it
	if e.record, err = store.AppendRun((*buf)[:0], r); err != nil {
		return nil, err
	}
	e.buf = buf
	e.Run, e.Spec = c.Run.Clone(), bytes.Clone(c.Spec)
	if c.Fence != nil {
		fence := *c.Fence
		if !storable(fence.Node) { // no node has that id, nor this one
			fence.Node = ""
		}
		e.Fence = &fence
	}
	e.bodies, e.Events = store.JoinEvents(c.Events)
	if c.Settled != nil {
		if e.settled, err = store.AppendRecord(nil, c.Settled); err != nil {
			return nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		settled := *c.Settled // of which only the numbers and texts are looked at from now on
		e.Settled = &settled
	}
	return e, nil
}

// storable reports whether PostgreSQL's text can hold it.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// first is the number of the first event.
func (e *entry) first() uint64 { return e.Run.Seq - uint64(len(e.Events)) + 1 }

// recycle gives back what is of no use after the write.
func (e *entry) recycle() {
	if e.buf != nil && cap(e.record) <= maxKept {
		*e.buf = e.record
		records.Put(e.buf)
	}
	e.record, e.settled, e.buf = nil, nil, nil
}

// release leaves nothing of a written entry but its record, which others remember.
func (e *entry) release() {
	e.Events, e.bodies, e.Spec, e.Fence, e.Settled, e.job, e.pred = nil, nil, nil, nil, nil, nil, nil
}

// hint is what watchers are told. The run is shared with those who remember it, and not changed.
func (e *entry) hint() store.Hint {
	return store.Hint{RunID: e.Run.ID, State: e.Run.State, Seq: e.Run.Seq, Events: e.Events, Run: &e.Run}
}

// size is how many bytes are written.
func (e *entry) size() int { return len(e.record) + len(e.bodies) + len(e.Spec) + len(e.settled) }

// rows is how many rows are written.
func (e *entry) rows() (n int) {
	n = 1
	if e.Expect == 0 {
		n++
	}
	if len(e.Events) > 0 {
		n++
	}
	if e.Settled != nil {
		n++
	}
	return n
}
