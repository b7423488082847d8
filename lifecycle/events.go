package lifecycle

import (
	"context"
	"fmt"
	"iter"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
)

// Event is one FCMP event of a run.
type Event = contract.Event

// eventPage is how many events a follower reads at a time: enough to make a long replay cheap, few enough to
// keep its memory small.
const eventPage = 256

// Events yields the run's events after the cursor (0: from the first), in order and without a gap, and then follows it live
// until its terminal event. It may start at any time: before the run does, while it is parked, or long after its end (F8, F9). An error ends
// the sequence; go on from the last event's Seq. A follower holds nothing that a run needs: a slow one delays nobody (I.5).
func (c *Client) Events(ctx context.Context, id string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := c.hub.follow(id)
		defer f.close()
		lasting := false // the terminal event is still to come, beyond the cursor
		for {
			page, err := c.store.Events(ctx, id, after, eventPage)
			if err != nil {
				yield(Event{}, fmt.Errorf("lifecycle: events of run %s: %w", id, err))
				return
			}
			for _, stored := range page {
				event, err := contract.Decode(stored.Body)
				if err != nil {
					yield(Event{}, fmt.Errorf("lifecycle: event %d of run %s: %w", stored.Seq, id, err))
					return
				}
				if !yield(event, nil) || terminal(event) {
					return
				}
				after = stored.Seq
			}
			if len(page) == eventPage {
				continue
			}
			if len(page) == 0 && !lasting {
				var ended bool
				if ended, lasting, err = c.ended(ctx, id, after); err != nil {
					yield(Event{}, err)
					return
				} else if ended {
					return
				}
			}
			if err := c.pause(ctx, f); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// ended reports that the run has ended and the cursor stands at or beyond its last event: a reader that came
// after the terminal event would otherwise wait for ever. lasting says that there is no need to ask again.
func (c *Client) ended(ctx context.Context, id string, after uint64) (ended, lasting bool, _ error) {
	r, err := c.store.Run(ctx, id)
	if err != nil {
		return false, false, fmt.Errorf("lifecycle: events of run %s: %w", id, err)
	}
	return r.State.Terminal() && after >= r.Seq, after <= r.Seq, nil
}

// terminal reports whether the event tells of the run's end.
func terminal(e Event) bool {
	if e.Type != contract.TypeStateChanged {
		return false
	}
	var change contract.StateChanged
	return e.Decode(&change) == nil && fsm.State(change.To).Terminal()
}
