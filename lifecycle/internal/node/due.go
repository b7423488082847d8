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
	// Guarded by mu: when a claim last looked for the earliest time in the store, by MonotonicNow, and
	// whether that time was over.
	looked  time.Time
	overdue bool
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

// NoteLook adds the earliest time in the store, found by a look at now; zero: none. looked is the same
// moment by MonotonicNow. A time that is over is not added: the node reads the work once, but what it
// cannot do is no reason for another look.
func (d *DueHint) NoteLook(looked, now, earliest time.Time) {
	overdue := !earliest.IsZero() && !earliest.After(now)
	d.mu.Lock()
	d.looked, d.overdue = looked, d.overdue || overdue
	d.mu.Unlock()
	if !overdue {
		d.Note(earliest)
		return
	}
	select {
	case d.Changed <- struct{}{}:
	default:
	}
}

func (d *DueHint) lastLook() (at time.Time, overdue bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.looked, d.overdue
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
	earliest, d.at, d.overdue = d.at, time.Time{}, false
	return earliest
}

// Earliest returns the earliest known time, or zero.
func (d *DueHint) Earliest() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}
