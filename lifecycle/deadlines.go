package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// sweepBatch is how many runs a sweep settles in one batch of commits.
const sweepBatch = store.MaxBatch

// deadlines fires what falls due. It sleeps until the next time that it knows of, at most a poll;
// any node may fire a deadline, the compare-and-set picks one.
func (n *node) deadlines(ctx context.Context) error {
	for {
		n.alarm.clear()
		now := stamp(n.clock)
		due, next, err := n.store.Due(ctx, now, sweepBatch)
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			n.log.Error("deadlines not read; trying again", "err", err)
		}
		if n.fire(ctx, due, now) > 0 && len(due) == sweepBatch {
			continue // there may be more; but a store that refuses all of these is given time
		}
		n.alarm.at(next)
		n.wakeClaims() // a not-before time may have passed
		if n.untilDue(ctx) != nil {
			return nil
		}
	}
}

// untilDue sleeps until something is known to be due, at most a poll, however clocks are set
// meanwhile.
func (n *node) untilDue(ctx context.Context) error {
	poll, stop := n.clock.Timer(n.cfg.Poll)
	defer stop()
	for {
		var due <-chan time.Time
		forget := func() {}
		if next := n.alarm.known(); !next.IsZero() {
			d := next.Sub(n.clock.Now())
			if d <= 0 {
				return ctx.Err()
			}
			due, forget = n.clock.Timer(d)
		}
		select {
		case <-n.alarm.rung: // something falls due earlier than was known
			forget()
			continue
		case <-poll:
		case <-due:
		case <-ctx.Done():
		}
		forget()
		return ctx.Err()
	}
}

// fire settles the questions whose deadline has passed, and returns how many.
func (n *node) fire(ctx context.Context, due []Run, now time.Time) (fired int) {
	batch := make([]store.Commit, 0, len(due))
	for _, run := range due {
		cm, err := decideDeadline(&run, now)
		if err != nil {
			n.log.Error("deadline cannot be fired", "run", run.ID, "err", err)
			continue
		}
		batch = append(batch, cm)
	}
	if len(batch) == 0 {
		return 0
	}
	for i, err := range n.store.Commit(ctx, batch) {
		if err == nil {
			fired++
		} else if !errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			n.log.Error("deadline not fired; trying again", "run", batch[i].Run.ID, "err", err)
		}
	}
	return fired
}

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
