package lifecycle

import (
	"context"
	"fmt"
	"iter"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// eventPage is how many events a follower reads at a time.
const eventPage = 256

// recheckAfter is the number of reads without an event after which a reader checks whether the run
// has ended. It may be large, since a run ends with an event, unless it was pruned and submitted
// again under its id: then it may end before the cursor.
const recheckAfter = 16

// Events yields the run's events after the cursor (0: all), in order and without a gap, and then
// follows the run live until its terminal event. Call it at any time, also long after the run's end.
// An error ends the sequence; call Events again with the Seq of the last event. The error is
// ErrCursorBeyondEnd if the run has ended, or ends later, before the cursor. A slow follower delays
// neither the run nor other followers.
//
// A restore, or a failover while no synchronous standby answered, may remove events that the
// sequence has yielded. The sequence then ends with ErrCursorBeyondEnd as soon as the run has other
// events instead. A number does not say whether its event was removed before the call: keep
// Event.Cursor and use EventsAfter.
func (c *Client) Events(ctx context.Context, id string, after uint64) iter.Seq2[Event, error] {
	return c.events(ctx, id, Cursor{Seq: after}, false)
}

// EventsAfter is Events from the cursor of an event. It yields ErrCursorBeyondEnd if the run does not
// have that event: a restore or a failover removed it. Read from the zero Cursor then.
func (c *Client) EventsAfter(ctx context.Context, id string, after Cursor) iter.Seq2[Event, error] {
	return c.events(ctx, id, after, after.Seq > 0)
}

// CheckCursor returns ErrCursorBeyondEnd if the run does not have the event of the cursor.
func (c *Client) CheckCursor(ctx context.Context, id string, after Cursor) error {
	if _, err := c.Get(ctx, id); err != nil {
		return err
	}
	r := eventReader{client: c, id: id, after: after.Seq, incarnation: after.Incarnation}
	return r.checkCursor(ctx)
}

func (c *Client) events(ctx context.Context, id string, after Cursor, exact bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := c.checkRun(ctx, id); err != nil {
			yield(Event{}, err)
			return
		}
		if err := c.allowView(ctx, id); err != nil {
			yield(Event{}, err)
			return
		}
		f := c.hub.followEvents(id)
		defer f.close()
		r := eventReader{client: c, follower: f, poller: c.newPoller(f), id: id, after: after.Seq,
			incarnation: after.Incarnation, exact: exact, fromStore: true, checkEnd: true}
		defer r.poller.Stop()
		if exact {
			if err := r.checkCursor(ctx); err != nil {
				yield(Event{}, err)
				return
			}
		}
		for {
			page, err := r.next(ctx)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if r.ended {
				return
			}
			for _, stored := range page {
				event, err := fcmp.Decode(stored.Body)
				if err != nil {
					yield(Event{}, fmt.Errorf("lifecycle: event %d of run %s: %w", stored.Seq, id, err))
					return
				}
				if err := r.checkFollows(ctx, &event); err != nil {
					yield(Event{}, err)
					return
				}
				if !yield(event, nil) || event.Terminal() {
					return
				}
				r.after = stored.Seq
			}
		}
	}
}

// eventReader reads a run's events for one follower: from the store until it has all, then from
// hints, and from the store at least once per poll, since hints may be lost.
type eventReader struct {
	client   *Client
	follower *follower
	poller   node.Poller
	id       string
	after    uint64
	// incarnation belongs to the event at the cursor, if exact.
	incarnation uint64
	exact       bool
	fromStore   bool // the next read is from the store, without waiting for a hint
	ended       bool // the run has ended, and the cursor is at its last event
	// checkEnd: the next read from the store also checks whether the run has ended; false once the
	// run's last event is known to come after the cursor.
	checkEnd   bool
	emptyReads int // consecutive reads from the store without an event
}

// next returns the next events, if any. It waits for a hint after all events are read.
func (r *eventReader) next(ctx context.Context) ([]store.Event, error) {
	if !r.fromStore {
		if err := r.poller.Wait(ctx); err != nil {
			return nil, err
		}
		page, all := r.follower.drainEvents(r.after)
		r.fromStore = !all || r.poller.IntervalOver()
		return page, nil
	}
	page, err := r.client.proc.Store.Events(ctx, r.id, r.after, eventPage)
	if err != nil {
		return nil, fmt.Errorf("lifecycle: events of run %s: %w", r.id, err)
	}
	if err := store.CheckEvents(r.id, r.after, page, 0); err != nil {
		return nil, err
	}
	// A page that is not full has all events so far, and hints bring later ones.
	r.fromStore = len(page) == eventPage || bodySize(page) >= store.MinPage
	if len(page) > 0 {
		// If the run has ended, its last event is in this page or later, and Events stops there.
		r.checkEnd, r.emptyReads = false, 0
	} else if r.emptyReads++; r.emptyReads%recheckAfter == 0 {
		r.checkEnd = true
	}
	if !r.checkEnd {
		return page, nil
	}
	last, err := r.findEnd(ctx)
	if err != nil || last <= r.after || len(page) > 0 {
		return page, err
	}
	// The record counts later events, stored after the page was read, or lost.
	if page, err = r.client.proc.Store.Events(ctx, r.id, r.after, eventPage); err == nil {
		err = store.CheckEvents(r.id, r.after, page, last)
	}
	r.fromStore = true
	return page, err
}

func bodySize(page []store.Event) (n int) {
	for _, e := range page {
		n += len(e.Body)
	}
	return n
}

// findEnd returns the number of the run's last event, and notes whether the run has ended at the
// cursor: a reader that starts there would otherwise wait without end.
func (r *eventReader) findEnd(ctx context.Context) (last uint64, _ error) {
	run, err := r.client.proc.Store.Run(ctx, r.id)
	if err != nil {
		return 0, fmt.Errorf("lifecycle: events of run %s: %w", r.id, err)
	}
	if run.State.Terminal() && r.after > run.Seq {
		return 0, fmt.Errorf("%w: run %s ended with event %d, and the cursor is %d: read from 0", ErrCursorBeyondEnd,
			r.id, run.Seq, r.after)
	}
	r.ended = run.State.Terminal() && r.after == run.Seq
	r.checkEnd = r.after > run.Seq
	if r.ended && r.exact {
		return run.Seq, r.checkCursor(ctx)
	}
	return run.Seq, nil
}

// checkFollows checks the cursor before an event of another incarnation: the event at the cursor may
// have been removed by the restore between them.
func (r *eventReader) checkFollows(ctx context.Context, next *Event) error {
	if r.exact && next.Meta.Incarnation != r.incarnation {
		if err := r.checkCursor(ctx); err != nil {
			return err
		}
	}
	r.exact, r.incarnation = true, next.Meta.Incarnation
	return nil
}

// checkCursor checks that the run has the event at the cursor.
func (r *eventReader) checkCursor(ctx context.Context) error {
	if r.after == 0 {
		return nil
	}
	page, err := r.client.proc.Store.Events(ctx, r.id, r.after-1, 1)
	if err != nil {
		return fmt.Errorf("lifecycle: events of run %s: %w", r.id, err)
	}
	var event Event
	if len(page) > 0 {
		if event, err = fcmp.Decode(page[0].Body); err != nil {
			return fmt.Errorf("lifecycle: event %d of run %s: %w", r.after, r.id, err)
		}
	}
	if want := (Cursor{Seq: r.after, Incarnation: r.incarnation}); event.Cursor() != want {
		return fmt.Errorf("%w: run %s has no event %s, which a restore or failover may have removed: read from 0",
			ErrCursorBeyondEnd, r.id, want)
	}
	return nil
}
