package lifecycle

import (
	"context"
	"fmt"
	"iter"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/store"
)

// Event is one FCMP event of a run.
type Event = contract.Event

// eventPage is how many events a follower reads at a time: enough to make a long replay cheap, few
// enough to keep its memory small.
const eventPage = 256

// doubt is how many looks find nothing before a reader asks again whether the run has ended. Only a
// run that was pruned and made again under its id can have ended without an event beyond the
// cursor, so this need not be often.
const doubt = 16

// Events yields the run's events after the cursor (0: from the first), in order and without a gap,
// and then follows it live until its terminal event. It may start at any time: before the run does,
// while it is parked, or long after its end (F8, F9). An error ends the sequence; go on from the
// last event's Seq. A cursor beyond the last event of a run that has ended is ErrCursorBeyondEnd;
// one beyond the events of a run that goes on is waited for, and judged by the run's end. A
// follower holds nothing that a run needs: a slow one delays nobody (I5).
func (c *Client) Events(ctx context.Context, id string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := c.hub.read(id)
		defer f.close()
		r := reader{client: c, follower: f, pause: c.pause(f), id: id, after: after, look: true}
		defer r.pause.end()
		for {
			page, err := r.next(ctx)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if r.over {
				return
			}
			for _, stored := range page {
				event, err := contract.Decode(stored.Body)
				if err != nil {
					yield(Event{}, fmt.Errorf("lifecycle: event %d of run %s: %w", stored.Seq, id, err))
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

// reader is a follower on its way through a run's events.
type reader struct {
	client   *Client
	follower *follower
	pause    idle
	id       string
	after    uint64
	look     bool // the store may have more; otherwise hints bring what is new
	lasting  bool // the terminal event is still to come, beyond the cursor
	vain     int  // looks that found nothing since something came
	over     bool // the cursor stands at the terminal event
}

// next returns the next events; none when it must be called again. It waits when there is nothing
// new.
func (r *reader) next(ctx context.Context) ([]store.Event, error) {
	if !r.look {
		if err := r.pause.wait(ctx); err != nil {
			return nil, err
		}
		page, all := r.follower.take(r.after)
		r.look = !all || r.pause.tick == nil // a whole poll has passed
		return page, nil
	}
	page, err := r.client.store.Events(ctx, r.id, r.after, eventPage)
	if err != nil {
		return nil, fmt.Errorf("lifecycle: events of run %s: %w", r.id, err)
	}
	// otherwise these were all, and what comes is hinted at
	r.look = len(page) == eventPage || size(page) >= store.MinPage
	if len(page) > 0 {
		r.lasting, r.vain = true, 0 // or the page ends with the terminal event, and the reader with it
	} else if r.vain++; r.vain%doubt == 0 {
		r.lasting = false
	}
	if !r.lasting {
		r.over, r.lasting, err = r.client.ended(ctx, r.id, r.after)
	}
	return page, err
}

func size(page []store.Event) (n int) {
	for _, e := range page {
		n += len(e.Body)
	}
	return n
}

// ended reports that the run has ended and the cursor stands at its last event: a reader that came
// after the terminal event would otherwise wait for ever. lasting says that there is no need to ask
// again.
func (c *Client) ended(ctx context.Context, id string, after uint64) (ended, lasting bool, _ error) {
	r, err := c.store.Run(ctx, id)
	if err != nil {
		return false, false, fmt.Errorf("lifecycle: events of run %s: %w", id, err)
	}
	if r.State.Terminal() && after > r.Seq {
		return false, false, fmt.Errorf("%w: run %s ended with event %d, and the cursor is %d: read from 0",
			ErrCursorBeyondEnd, id, r.Seq, after)
	}
	return r.State.Terminal() && after == r.Seq, after <= r.Seq, nil
}
