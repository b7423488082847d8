package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// dueBatch is how many deadlines are fired in one batch of commits.
const dueBatch = store.MaxBatch

// watchDeadlines fires deadlines when they fall due, and wakes the scheduler when a run's
// not-before time comes. It sleeps until the next of these times that it knows of, but for one poll
// at most. Every node of a store does so; of those that fire the same deadline, one succeeds, by
// compare-and-set.
//
// A commit that lost is no proof that the deadline has fired: the commit that won may have been the
// claim of the question, or the reply to another question of the run. So watchDeadlines reads what
// is due again at once. If it loses again, it waits for the next poll, so that runs which change
// all the time keep no node busy.
func (n *node) watchDeadlines(ctx context.Context) error {
	related := families{node: n, open: make(map[string]string)}
	again := false
	for {
		expected := n.due.reset()
		now := commitTime(n.clock)
		due, next, err := n.store.Due(ctx, now, dueBatch)
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			n.log.Error("deadlines not read; trying again", "err", err)
		}
		others, changed := related.serveDue(ctx, due, now)
		fired, lost := n.fireDeadlines(ctx, others, now)
		again = lost && !again
		if changed || again || fired > 0 && len(due) == dueBatch {
			continue // there may be more
		}
		n.due.note(next)
		if !expected.IsZero() && !expected.After(now) { // it may have been the not-before time of a suspect
			n.scansForSuspects.Store(true)
		}
		n.wakeScheduler() // a not-before time may have passed
		if n.sleepUntilDue(ctx) != nil {
			return nil
		}
	}
}

// sleepUntilDue sleeps until the earliest known time has come, but for one poll at most: a clock
// that is set back meanwhile must not make the sleep longer.
func (n *node) sleepUntilDue(ctx context.Context) error {
	poll, stop := n.clock.Timer(n.cfg.Poll)
	defer stop()
	for {
		var due <-chan time.Time
		stopTimer := func() {}
		if next := n.due.earliest(); !next.IsZero() {
			d := next.Sub(n.clock.Now())
			if d <= 0 {
				return ctx.Err()
			}
			due, stopTimer = n.clock.Timer(d)
		}
		select {
		case <-n.due.changed: // something falls due earlier than was known
			stopTimer()
			continue
		case <-poll:
		case <-due:
		case <-ctx.Done():
		}
		stopTimer()
		return ctx.Err()
	}
}

// fireDeadlines carries out what is due for these runs, and returns for how many it did. Lost says
// that a commit lost: a reply, a cancel, another change or another node was first (C8).
func (n *node) fireDeadlines(ctx context.Context, due []Run, now time.Time) (fired int, lost bool) {
	batch := make([]store.Commit, 0, len(due))
	for _, run := range due {
		cm, err := decide.Deadline(&run, now)
		if err != nil {
			n.log.Error("deadline cannot be fired", "run", run.ID, "err", err)
			continue
		}
		batch = append(batch, *cm)
	}
	if len(batch) == 0 {
		return 0, false
	}
	for i, err := range n.commitBatch(ctx, batch) {
		switch {
		case err == nil:
			fired++
			if batch[i].Run.State != fsm.StateQueued { // its next step, or its family, may be due already
				n.due.noteRun(&batch[i].Run)
			}
		case errors.Is(err, store.ErrConflict):
			lost = true
		case ctx.Err() == nil:
			n.log.Error("deadline not fired; trying again", "run", batch[i].Run.ID, "err", err)
		}
	}
	return fired, lost
}

// dueHint is the earliest time at which something falls due, as far as this process knows. It is a
// hint: Serve also polls the store.
type dueHint struct {
	changed chan struct{} // receives when the earliest time has become earlier

	mu sync.Mutex
	at time.Time // guarded by mu; zero: none known
}

func newDueHint() *dueHint { return &dueHint{changed: make(chan struct{}, 1)} }

// note adds a time. It wakes sleepUntilDue when that is earlier than all that were known.
func (d *dueHint) note(t time.Time) {
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
		case d.changed <- struct{}{}:
		default:
		}
	}
}

// noteRun adds the time at which something falls due for a run that was just stored.
func (d *dueHint) noteRun(r *Run) {
	if r.Family != nil {
		d.note(r.Family.Due)
	}
	if r.State == fsm.StateQueued {
		d.note(r.NotBefore)
		return
	}
	d.note(r.Deadline)
}

// reset forgets the times that are known, and returns the earliest one. It is called before the
// store is asked for them, so that those which are added meanwhile are retained.
func (d *dueHint) reset() (earliest time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	earliest, d.at = d.at, time.Time{}
	return earliest
}

func (d *dueHint) earliest() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}
