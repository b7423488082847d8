package node

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// DueHint is the earliest time at which this process knows something to be due.
type DueHint struct {
	Changed chan struct{} // receives when the earliest time moves forward

	mu sync.Mutex
	at time.Time // guarded by mu; zero: none known
}

func NewDueHint() *DueHint { return &DueHint{Changed: make(chan struct{}, 1)} }

// Note adds a time. It sends on Changed if that is the earliest.
func (d *DueHint) Note(t time.Time) {
	if t.IsZero() {
		return
	}
	d.mu.Lock()
	earlier := d.at.IsZero() || t.Before(d.at)
	if earlier {
		d.at = t
	}
	d.mu.Unlock()
	if earlier {
		select {
		case d.Changed <- struct{}{}:
		default:
		}
	}
}

// NoteRun adds the due time of a run that was just stored.
func (d *DueHint) NoteRun(r *store.Run) {
	if r.Family != nil {
		d.Note(r.Family.Due)
	}
	if r.State == fsm.StateQueued {
		d.Note(r.NotBefore)
		return
	}
	d.Note(r.Deadline)
}

// Reset clears the known times, and returns the earliest. Call it before reading the store, so that
// times added concurrently are kept.
func (d *DueHint) Reset() (earliest time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	earliest, d.at = d.at, time.Time{}
	return earliest
}

// Earliest returns the earliest known time, or zero.
func (d *DueHint) Earliest() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}
