package sqlite

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/interlude-go/interlude/store"
)

// seqBits is how much of a key of the log is the number of an event.
const seqBits = 28

const maxSeq = store.MaxSeq

const _ = uint(1<<seqBits - 1 - maxSeq) // every number fits

// place is the log's key for events of a run that end with the number.
func place(n int64, seq uint64) int64 { return n<<seqBits | int64(seq) }

// entry is a checked commit with its rows, ready to be written. It shares nothing with the
// caller's, who may be gone before it is written.
type entry struct {
	store.Commit
	record, bodies, settled []byte
	buf                     *[]byte // from records, for record
	// Run, once it is written; not changed from then on, and all that stays of the entry
	stored *store.Run
}

// maxKept bounds the buffers that are kept for later records: a rare long text must not stay in
// memory.
const maxKept = 64 << 10

// records are buffers for one record after the other: a driver copies what is bound.
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
	e := &entry{Commit: *c}
	var err error
	buf := records.Get().(*[]byte) //nolint:forcetypeassert // there is nothing else in it
	if e.record, err = store.AppendRun((*buf)[:0], &c.Run); err != nil {
		return nil, err
	}
	e.buf = buf
	e.Run, e.Spec = c.Run.Clone(), bytes.Clone(c.Spec)
	if c.Fence != nil {
		fence := *c.Fence
		e.Fence = &fence
	}
	e.bodies, e.Events = store.JoinEvents(c.Events)
	if c.Settled != nil {
		if e.settled, err = store.AppendRecord(nil, c.Settled); err != nil {
			return nil, fmt.Errorf("run %s: %w", c.Run.ID, err)
		}
		settled := *c.Settled // of which only the numbers and texts are looked at from now on
		e.Settled = &settled
	}
	return e, nil
}

// first is the number of the first event.
func (e *entry) first() uint64 { return e.Run.Seq - uint64(len(e.Events)) + 1 }

// recycle gives back what is of no use after the write.
func (e *entry) recycle() {
	if cap(e.record) <= maxKept {
		*e.buf = e.record
		records.Put(e.buf)
	}
	e.record, e.settled, e.buf = nil, nil, nil
}

// hint is what watchers are told. The entry keeps nothing but its record.
func (e *entry) hint() store.Hint {
	h := store.Hint{RunID: e.Run.ID, State: e.Run.State, Seq: e.Run.Seq, Events: e.Events, Run: e.stored}
	e.Events, e.bodies, e.Spec, e.Fence, e.Settled = nil, nil, nil, nil, nil
	return h
}
