package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// recoveryBatch is how many runs a sweep settles in one batch of commits.
const recoveryBatch = store.MaxBatch

// watchDeadlines fires what falls due. It sleeps until the next time that it knows of, at most a
// poll; any node may fire a deadline, the compare-and-set picks one.
func (n *node) watchDeadlines(ctx context.Context) error {
	for {
		n.due.reset()
		now := commitTime(n.clock)
		due, next, err := n.store.Due(ctx, now, recoveryBatch)
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			n.log.Error("deadlines not read; trying again", "err", err)
		}
		if n.fireDeadlines(ctx, due, now) > 0 && len(due) == recoveryBatch {
			continue // there may be more; but a store that refuses all of these is given time
		}
		n.due.note(next)
		n.wakeScheduler() // a not-before time may have passed
		if n.sleepUntilDue(ctx) != nil {
			return nil
		}
	}
}

// sleepUntilDue sleeps until something is known to be due, at most a poll, however clocks are set
// meanwhile.
func (n *node) sleepUntilDue(ctx context.Context) error {
	poll, stop := n.clock.Timer(n.cfg.Poll)
	defer stop()
	for {
		var due <-chan time.Time
		forget := func() {}
		if next := n.due.earliest(); !next.IsZero() {
			d := next.Sub(n.clock.Now())
			if d <= 0 {
				return ctx.Err()
			}
			due, forget = n.clock.Timer(d)
		}
		select {
		case <-n.due.earlier: // something falls due earlier than was known
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

// fireDeadlines settles the questions whose deadline has passed, and returns how many.
func (n *node) fireDeadlines(ctx context.Context, due []Run, now time.Time) (fired int) {
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

// dueHint holds the earliest time at which this process knows that something falls due, so that
// Serve can sleep until then. It is a hint: Serve also looks at every poll.
type dueHint struct {
	earlier chan struct{}

	mu sync.Mutex
	at time.Time // guarded by mu; zero: none known
}

func newDueHint() *dueHint { return &dueHint{earlier: make(chan struct{}, 1)} }

// note tells of a time; it wakes the sleeper when that is earlier than what it knows.
func (a *dueHint) note(t time.Time) {
	if t.IsZero() {
		return
	}
	a.mu.Lock()
	earlier := a.at.IsZero() || t.Before(a.at)
	if earlier {
		a.at = t
	}
	a.mu.Unlock()
	if earlier {
		select {
		case a.earlier <- struct{}{}:
		default:
		}
	}
}

// noteRun tells of the time at which something is due for a run as it was just stored.
func (a *dueHint) noteRun(r *Run) {
	if r.State == fsm.StateQueued {
		a.note(r.NotBefore)
		return
	}
	a.note(r.Deadline)
}

// reset forgets what is known, before the store is asked: what is told from then on is kept.
func (a *dueHint) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = time.Time{}
}

func (a *dueHint) earliest() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}
