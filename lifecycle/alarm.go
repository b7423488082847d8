package lifecycle

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// alarm holds the earliest time at which this process knows that something falls due, so that Serve
// can sleep until then. It is a hint: Serve also looks at every poll.
type alarm struct {
	rung chan struct{}

	mu   sync.Mutex
	next time.Time // guarded by mu; zero: none known
}

func newAlarm() *alarm { return &alarm{rung: make(chan struct{}, 1)} }

// at tells of a time; it wakes the sleeper when that is earlier than what it knows.
func (a *alarm) at(t time.Time) {
	if t.IsZero() {
		return
	}
	a.mu.Lock()
	earlier := a.next.IsZero() || t.Before(a.next)
	if earlier {
		a.next = t
	}
	a.mu.Unlock()
	if earlier {
		select {
		case a.rung <- struct{}{}:
		default:
		}
	}
}

// run tells of the time at which something is due for a run as it was just stored.
func (a *alarm) run(r *Run) {
	if r.State == fsm.StateQueued {
		a.at(r.NotBefore)
		return
	}
	a.at(r.Deadline)
}

// clear forgets what is known, before the store is asked: what is told from then on is kept.
func (a *alarm) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = time.Time{}
}

func (a *alarm) known() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next
}
