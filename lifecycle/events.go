package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/store"
)

// Event is one FCMP event of a run.
type Event = fcmp.Event

// eventPage is how many events a follower reads at a time: enough to make a long replay cheap, few
// enough to keep its memory small.
const eventPage = 256

// recheckAfter is how many looks find nothing before a reader asks again whether the run has ended.
// Only a run that was pruned and made again under its id can have ended without an event beyond the
// cursor, so this need not be often.
const recheckAfter = 16

// Events yields the run's events after the cursor (0: from the first), in order and without a gap,
// and then follows it live until its terminal event. It may start at any time: before the run does,
// while it is parked, or long after its end (F8, F9). An error ends the sequence; go on from the
// last event's Seq. A cursor beyond the last event of a run that has ended is ErrCursorBeyondEnd;
// one beyond the events of a run that goes on is waited for, and judged by the run's end. A
// follower holds nothing that a run needs: a slow one delays nobody (I5).
func (c *Client) Events(ctx context.Context, id string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := c.hub.followEvents(id)
		defer f.close()
		r := reader{client: c, follower: f, poller: c.newPoller(f), id: id, after: after, fromStore: true}
		defer r.poller.stop()
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
	client     *Client
	follower   *follower
	poller     poller
	id         string
	after      uint64
	fromStore  bool // the store may have more; otherwise hints bring what is new
	endAhead   bool // the terminal event is still to come, beyond the cursor
	emptyReads int  // looks that found nothing since something came
	ended      bool // the cursor stands at the terminal event
}

// next returns the next events; none when it must be called again. It waits when there is nothing
// new.
func (r *reader) next(ctx context.Context) ([]store.Event, error) {
	if !r.fromStore {
		if err := r.poller.wait(ctx); err != nil {
			return nil, err
		}
		page, all := r.follower.drainEvents(r.after)
		r.fromStore = !all || r.poller.tick == nil // a whole poll has passed
		return page, nil
	}
	page, err := r.client.store.Events(ctx, r.id, r.after, eventPage)
	if err != nil {
		return nil, fmt.Errorf("lifecycle: events of run %s: %w", r.id, err)
	}
	// otherwise these were all, and what comes is hinted at
	r.fromStore = len(page) == eventPage || size(page) >= store.MinPage
	if len(page) > 0 {
		r.endAhead, r.emptyReads = true, 0 // or the page ends with the terminal event, and the reader with it
	} else if r.emptyReads++; r.emptyReads%recheckAfter == 0 {
		r.endAhead = false
	}
	if !r.endAhead {
		r.ended, r.endAhead, err = r.client.ended(ctx, r.id, r.after)
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

// hub passes the store's hints on to those who follow a run. It shortens waiting and decides
// nothing: a follower that gets no hint looks by itself.
type hub struct {
	stop func()

	mu        sync.Mutex
	followers map[string][]*follower // guarded by mu; by run id, "" for all runs
}

// follower is woken by hints. Hints are coalesced: one is enough to look again.
type follower struct {
	hub    *hub
	runID  string
	hints  chan struct{}
	onHint func(store.Hint) // called for each hint instead; must not block
	ends   bool             // only a hint of the run's end counts

	mu         sync.Mutex
	seq        uint64        // guarded by mu; the last event that a hint told of; hints may come out of order
	anyChanged bool          // guarded by mu; a hint told that anything may have changed, and nobody has looked since
	events     []store.Event // guarded by mu; what hints brought since they were taken
	bytes      int           // guarded by mu; of events
	ended      *store.Run    // guarded by mu; the run as it ended, shared by all who watch
}

// Bounds of what a follower keeps for a slow reader, who then reads from the store.
const (
	maxPushed      = 64
	maxPushedBytes = 64 << 10
)

func newHub(s store.Store) *hub {
	h := &hub{stop: func() {}, followers: make(map[string][]*follower)}
	if w, ok := s.(store.Watcher); ok {
		h.stop = w.Watch(h.publish)
	}
	return h
}

// followEnd returns a follower for the run's end. Like every follower, it must be made before
// looking at the store, so that no change falls between the look and the wait.
func (h *hub) followEnd(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID, ends: true})
}

// followEvents returns a follower for the run's events.
func (h *hub) followEvents(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID})
}

// subscribe has seen called for each hint.
func (h *hub) subscribe(seen func(store.Hint)) *follower {
	return h.add(&follower{hub: h, onHint: seen})
}

func (h *hub) add(f *follower) *follower {
	f.hints = make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followers[f.runID] = append(h.followers[f.runID], f)
	return f
}

func (f *follower) close() {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	others := slices.DeleteFunc(f.hub.followers[f.runID], func(o *follower) bool { return o == f })
	if len(others) == 0 {
		delete(f.hub.followers, f.runID)
	} else {
		f.hub.followers[f.runID] = others
	}
}

func (f *follower) notify(hint store.Hint) {
	if f.onHint != nil {
		f.onHint(hint)
		return
	}
	if f.ends {
		if hint.State.Terminal() {
			f.mu.Lock()
			f.ended = cmp.Or(hint.Run, f.ended)
			f.mu.Unlock()
		}
		if hint.RunID == "" || hint.State.Terminal() {
			f.signal()
		}
		return
	}
	f.mu.Lock()
	f.seq = max(f.seq, hint.Seq)
	f.anyChanged = f.anyChanged || hint.RunID == ""
	if len(f.events) < maxPushed && f.bytes < maxPushedBytes {
		if f.events == nil {
			f.events = slices.Clip(hint.Events) // shared, and not changed
		} else {
			f.events = append(f.events, hint.Events...)
		}
		for _, e := range hint.Events {
			f.bytes += len(e.Body)
		}
	}
	f.mu.Unlock()
	f.signal()
}

// endedRun returns the run as it ended, when a hint has brought it: what has ended does not change,
// so a hint of it is never too late.
func (f *follower) endedRun() (Run, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		return Run{}, false
	}
	return f.ended.Clone(), true
}

func (f *follower) signal() {
	select {
	case f.hints <- struct{}{}:
	default: // one is waiting already
	}
}

// drainEvents returns the events after the cursor that hints have brought, and whether there is
// nothing beyond them to be looked for in the store. Hints may be lost, doubled or late: only what
// follows the cursor without a gap is taken.
func (f *follower) drainEvents(after uint64) (events []store.Event, all bool) {
	f.mu.Lock()
	events, last, anything := f.events, f.seq, f.anyChanged
	f.events, f.bytes, f.anyChanged = nil, 0, false
	f.mu.Unlock()
	if !follow(events, after) {
		events = slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool {
			if e.Seq != after+1 {
				return true
			}
			after++
			return false
		})
	} else {
		after += uint64(len(events))
	}
	return events, !anything && after >= last
}

// follow reports whether the events follow the cursor without a gap.
func follow(events []store.Event, after uint64) bool {
	for _, e := range events {
		if after++; e.Seq != after {
			return false
		}
	}
	return true
}

// publish is called by the store after commits.
func (h *hub) publish(hint store.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.followers[""] {
		f.notify(hint)
	}
	if hint.RunID != "" {
		for _, f := range h.followers[hint.RunID] {
			f.notify(hint)
		}
		return
	}
	for id, all := range h.followers {
		if id == "" {
			continue
		}
		for _, f := range all {
			f.notify(store.Hint{}) // whatever else it carries is of nobody knows which run
		}
	}
}

func (h *hub) close() { h.stop() }
