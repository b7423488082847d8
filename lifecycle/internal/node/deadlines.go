package node

import (
	"context"
	"errors"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

const DueBatch = store.MaxBatch

// Deadlines fires deadlines and serves due families, on every node: of several that fire one
// deadline, one succeeds by compare-and-set.
type Deadlines struct {
	*Process

	Poll time.Duration
	// Wake wakes the scheduler: the not-before time of a run may have passed. expected reports whether
	// this process knew of the time.
	Wake func(expected bool)
}

// Serve fires deadlines when due, and wakes the scheduler at not-before times. It sleeps until the
// next known time, at most one poll, or one and a quarter since the scheduler's last look, which notes
// that time: the scheduler looks once per poll, unless the node has no room.
//
// A lost commit does not prove that the deadline was fired: a claim or a reply to another question
// may have won. So Serve immediately reads the due runs again, but only once, so that constantly
// changing runs keep no node busy.
func (d *Deadlines) Serve(ctx context.Context) error {
	related := families{Process: d.Process, open: make(map[string]string)}
	again := false // this pass follows a lost commit
	for {
		expected := d.Due.Reset()
		now := d.Now()
		due, next, err := d.Store.Due(ctx, now, DueBatch)
		if errors.Is(err, store.ErrClosed) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			d.Log.Error("deadlines not read; trying again", "err", err)
		}
		others, changed := related.serveDue(ctx, due, now)
		fired, lost := d.fire(ctx, others, now)
		again = lost && !again
		if changed || again || fired > 0 && store.Fills(due, DueBatch) {
			continue // there may be more
		}
		d.Due.Note(next)
		d.Wake(!expected.IsZero() && !expected.After(now))
		if d.sleepUntilDue(ctx) != nil {
			return nil
		}
	}
}

// sleepUntilDue sleeps until the earliest known time or the poll, even if the clock is set back.
func (d *Deadlines) sleepUntilDue(ctx context.Context) error {
	poll, stop := d.Clock.Timer(d.Poll)
	defer func() { stop() }()
	for {
		if _, overdue := d.Due.lastLook(); overdue {
			return ctx.Err()
		}
		var due <-chan time.Time
		stopTimer := func() {}
		if next := d.Due.Earliest(); !next.IsZero() {
			left := next.Sub(d.Clock.Now())
			if left <= 0 {
				return ctx.Err()
			}
			due, stopTimer = d.Clock.Timer(left)
		}
		select {
		case <-d.Due.Changed: // something falls due earlier than known
			stopTimer()
			continue
		case <-poll:
			looked, _ := d.Due.lastLook()
			if left := looked.Add(d.Poll + d.Poll/4).Sub(MonotonicNow(d.Clock)); left > 0 {
				stopTimer()
				stop()
				poll, stop = d.Clock.Timer(left)
				continue
			}
		case <-due:
		case <-ctx.Done():
		}
		stopTimer()
		return ctx.Err()
	}
}

// fire executes the due actions of these runs, and returns their number, and whether a commit lost
// against another change.
func (d *Deadlines) fire(ctx context.Context, due []store.Run, now time.Time) (fired int, lost bool) {
	batch := make([]store.Commit, 0, len(due))
	for _, run := range due {
		cm, err := decide.Deadline(&run, now)
		if err != nil {
			d.Log.Error("deadline cannot be fired", "run", run.ID, "err", err)
			continue
		}
		batch = append(batch, decide.Detach(cm))
	}
	if len(batch) == 0 {
		return 0, false
	}
	for i, err := range d.CommitBatch(ctx, batch) {
		switch {
		case err == nil:
			fired++
			if batch[i].Run.State != fsm.StateQueued { // its next step, or its family, may be due already
				d.Due.NoteRun(&batch[i].Run)
			}
		case errors.Is(err, store.ErrConflict):
			lost = true
		case ctx.Err() == nil:
			d.Log.Error("deadline not fired; trying again", "run", batch[i].Run.ID, "err", err)
		}
	}
	return fired, lost
}
