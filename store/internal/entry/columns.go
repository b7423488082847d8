package entry

import (
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// Columns repeat for a database's indexes what a run's record says. A zero value stands for NULL,
// and a run whose column is NULL is not in that column's partial index: so a parked run is not in
// the queue, and a finished one is nearly nowhere.
type Columns struct {
	QueuedAt     time.Time // queued
	Ready        bool      // queued, wants a slot, and its not-before time has come
	DelayedUntil time.Time // queued, wants a slot, and is held back by its not-before time
	Slot         bool
	Owner        string
	AskedAt      time.Time // waiting for an answer
	Deadline     time.Time
	FinishedAt   time.Time
}

// ColumnsOf returns the columns of a record.
func ColumnsOf(r *store.Run) Columns {
	c := Columns{Slot: r.Slot, Owner: r.Owner, Deadline: r.Deadline, FinishedAt: r.FinishedAt}
	if r.State == fsm.StateQueued {
		c.QueuedAt = r.QueuedAt
		switch {
		case r.Slot: // the next turn of a sticky run, which its owner alone claims
		case r.NotBefore.After(r.UpdatedAt):
			c.DelayedUntil = r.NotBefore
		default:
			c.Ready = true
		}
	}
	if r.Pending != nil {
		c.AskedAt = r.Pending.AskedAt
	}
	return c
}
