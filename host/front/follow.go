package front

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// FromNow is the cursor of a follower that needs no earlier events.
const FromNow = math.MaxUint64

// Step is one element of Follow: exactly one field is set.
type Step struct {
	View  *View
	Event *lifecycle.Event
}

// Follow yields the current view of the run, and then the events after the cursor. It yields another
// view after each change of an open question (asked, answered in part, claimed, released, reassigned,
// revealed or closed) and after the run's end.
//
// It stops when the last view is Settled and all events before that view were yielded. If the run
// already waits for the caller or has ended, and no events are to be replayed, it stops after the
// first view. To continue, pass the Seq of the last event as the cursor.
//
// An error ends the sequence. The end of ctx, which is the closing of a protocol's stream or call,
// has no effect on the run.
func (c *Caller) Follow(ctx context.Context, run string, cursor uint64) iter.Seq2[Step, error] {
	return c.FollowUntil(ctx, run, cursor, (*View).Settled)
}

// FollowUntil is Follow with another condition than Settled. A run that has ended always ends the
// sequence.
func (c *Caller) FollowUntil(ctx context.Context, run string, cursor uint64, enough func(*View) bool,
) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		f := follower{Caller: c, run: run, cursor: cursor, enough: enough, yield: yield}
		if !f.reload(ctx) {
			return
		}
		if cursor == FromNow {
			f.cursor = f.view.Run.Seq
		}
		for !f.done() {
			if !f.read(ctx) {
				return
			}
		}
	}
}

// follower is one call of Follow.
type follower struct {
	*Caller

	run    string
	cursor uint64
	last   lifecycle.Cursor // of the last event that was read
	enough func(*View) bool
	view   View
	yield  func(Step, error) bool
}

// settled reports whether the view needs no successor.
func (f *follower) settled() bool { return f.view.Ended() || f.enough(&f.view) }

func (f *follower) done() bool { return f.settled() && f.cursor >= f.view.Run.Seq }

// reload yields the run as it is now. It reports whether to continue.
func (f *follower) reload(ctx context.Context) bool {
	v, err := f.Load(ctx, f.run)
	if err != nil {
		f.yield(Step{}, err)
		return false
	}
	f.view = v
	return f.yield(Step{View: &v}, nil)
}

// read yields events until the sequence is done, or the view must be read again. It reports whether
// to continue.
func (f *follower) read(ctx context.Context) bool {
	until, stop := ctx, context.CancelFunc(func() {})
	recheck := f.view.Recheck
	if !recheck.IsZero() && !f.settled() {
		until, stop = context.WithTimeout(ctx, max(recheck.Sub(f.client.Now()), 0)+time.Millisecond)
	}
	defer stop()
	events := f.client.Events(until, f.run, f.cursor)
	if f.last.Seq == f.cursor {
		events = f.client.EventsAfter(until, f.run, f.last)
	}
	for event, err := range events {
		switch {
		case err == nil:
		case until.Err() != nil && ctx.Err() == nil: // a claim has ended, or a question is visible
			return f.reload(ctx)
		case errors.Is(err, lifecycle.ErrCursorBeyondEnd) && f.view.Ended():
			f.cursor = f.view.Run.Seq
			return true
		default:
			f.yield(Step{}, err)
			return false
		}
		f.cursor, f.last = event.Seq, event.Cursor()
		if !f.yield(Step{Event: &event}, nil) {
			return false
		}
		if !f.settled() && event.Seq > f.view.Run.Seq && mayChangeView(event.Type) && !f.reload(ctx) {
			return false
		}
		if f.done() || !f.view.Recheck.Equal(recheck) {
			return true
		}
	}
	return f.reload(ctx) // the run has ended
}

// mayChangeView reports whether an event of this type may change which questions are open, who may
// answer them, or the status of the run.
func mayChangeView(eventType string) bool {
	switch eventType {
	case lifecycle.TypeMessageIntermediate, lifecycle.TypeMessageFinal, lifecycle.TypeWarning,
		lifecycle.TypeReminder, lifecycle.TypeStarted:
		return false
	}
	return true
}
