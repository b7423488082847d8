// Package entry is a commit as SQL stores write it: checked, copied from the caller, and encoded.
package entry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// Entry is a commit with its encoded columns. It shares nothing with the caller, who may give up
// before it is written.
type Entry struct {
	store.Commit

	// Record is the run, EventLines the bodies of the events separated by line breaks; both as
	// stored.
	Record, EventLines []byte
	// SettledRecords are the stored forms of Settled.
	SettledRecords [][]byte

	incarnation uint64 // of the events

	buffer *[]byte   // of Record, from buffers
	one    [1][]byte // of SettledRecords, which are seldom more
}

// buffers are reused between records: database drivers copy bound values.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxReused bounds the reused buffers, so that a rare long text does not stay in memory.
const maxReused = 64 << 10

// Encode copies a commit that passed Validate or ValidateClaim into the entry, and encodes its
// columns.
func (e *Entry) Encode(c *store.Commit) (err error) {
	buffer := buffers.Get().(*[]byte) //nolint:forcetypeassert // the pool has only these
	if e.Record, err = store.AppendRun((*buffer)[:0], &c.Run); err != nil {
		return err
	}
	e.Commit, e.buffer = *c, buffer
	e.Run, e.Spec = c.Run.Clone(), bytes.Clone(c.Spec)
	if c.Fence != nil {
		fence := *c.Fence
		e.Fence = &fence
	}
	e.EventLines, e.Events = store.JoinEvents(c.Events)
	e.SettledRecords = e.one[:0]
	for i := range c.Settled {
		record, err := store.AppendRecord(nil, &c.Settled[i])
		if err != nil {
			return fmt.Errorf("run %s: %w", c.Run.ID, err)
		}
		e.SettledRecords = append(e.SettledRecords, record)
	}
	e.Settled = slices.Clone(c.Settled) // shallow: only numbers and texts are read from now on
	if c.Usage != nil {
		usage := *c.Usage
		e.Usage = &usage
	}
	e.Journal = store.CloneJournal(c.Journal)
	return nil
}

// Mark marks the events with the store's incarnation.
func (e *Entry) Mark(incarnation uint64) {
	if incarnation == e.incarnation {
		return
	}
	e.incarnation = incarnation
	if e.Marker == nil {
		return
	}
	for i := range e.Events {
		e.Events[i].Body = e.Marker.Mark(e.Events[i].Body, incarnation)
	}
	e.EventLines, e.Events = store.JoinEvents(e.Events)
}

func (e *Entry) FirstSeq() uint64 { return e.Run.Seq - uint64(len(e.Events)) + 1 }

// FirstOfJournal is the number of the entry's first journal entry, from 1.
func (e *Entry) FirstOfJournal() int { return e.Run.Journal.Entries - len(e.Journal) + 1 }

// Hint returns the watchers' hint once the entry is stored. Caches share the run, which no longer
// changes.
func (e *Entry) Hint() store.Hint {
	return store.Hint{RunID: e.Run.ID, State: e.Run.State, Seq: e.Run.Seq, Events: e.Events, Run: &e.Run}
}

// Written releases the encoded record, which is not needed after the write.
func (e *Entry) Written() {
	if e.buffer != nil && cap(e.Record) <= maxReused {
		*e.buffer = e.Record
		buffers.Put(e.buffer)
	}
	e.Record, e.SettledRecords, e.one, e.buffer = nil, nil, [1][]byte{}, nil
}

// Release drops everything but the run, which may stay in a cache.
func (e *Entry) Release() {
	e.EventLines, e.Events, e.Spec, e.Fence, e.Settled, e.Usage = nil, nil, nil, nil, nil, nil
	e.Journal = nil
}

func DecodeSettled(body []byte) (r interaction.Record, _ error) {
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%w: settled interaction: %w", store.ErrCorrupt, err)
	}
	return r, nil
}

// SettledVotes returns the number of votes on the run's settled questions. An index that has fewer
// rows lacks votes of an earlier release, which wrote none.
func SettledVotes(r *store.Run) int {
	votes := r.Votes
	for i := range r.Open {
		votes -= len(r.Open[i].Votes)
	}
	return votes
}

// VoteKey returns bytes that an encoded interaction contains if one of its votes has the key.
// Other interactions may contain them too, so the decoded votes decide.
func VoteKey(key string) []byte {
	text, _ := json.Marshal(key) // as store.AppendRecord writes it; a text always encodes
	return append([]byte(`"key":`), text...)
}
