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

// recheckAfter is after how many reads without an event a reader checks again whether the run has
// ended. It need not be often: a run ends with an event, which the reader gets, unless the run was
// pruned and submitted again under its id.
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

// reader reads a run's events for one follower: from the store until it has caught up, and then
// from the hints. Once in a poll it reads from the store in any case, since hints may be lost.
type reader struct {
	client     *Client
	follower   *follower
	poller     poller
	id         string
	after      uint64
	fromStore  bool // the next read is from the store; otherwise from the hints
	endAhead   bool // the terminal event is beyond the cursor: no need to check whether the run has ended
	emptyReads int  // reads without an event, since the last one with one
	ended      bool // the cursor stands at the terminal event
}

// next returns the next events, if there are any by now. It waits for hints when the reader has
// caught up.
func (r *reader) next(ctx context.Context) ([]store.Event, error) {
	if !r.fromStore {
		if err := r.poller.wait(ctx); err != nil {
			return nil, err
		}
		page, all := r.follower.drainEvents(r.after)
		r.fromStore = !all || r.poller.tick == nil // the poll interval is over
		return page, nil
	}
	page, err := r.client.store.Events(ctx, r.id, r.after, eventPage)
	if err != nil {
		return nil, fmt.Errorf("lifecycle: events of run %s: %w", r.id, err)
	}
	// a page that is not full has all events up to now, and hints bring those that follow
	r.fromStore = len(page) == eventPage || bodySize(page) >= store.MinPage
	if len(page) > 0 {
		r.endAhead, r.emptyReads = true, 0 // or the page ends with the terminal event, and so does Events
	} else if r.emptyReads++; r.emptyReads%recheckAfter == 0 {
		r.endAhead = false
	}
	if !r.endAhead {
		r.ended, r.endAhead, err = r.client.endedAt(ctx, r.id, r.after)
	}
	return page, err
}

func bodySize(page []store.Event) (n int) {
	for _, e := range page {
		n += len(e.Body)
	}
	return n
}

// endedAt reports whether the run has ended and the cursor stands at its last event: a reader that
// begins there would otherwise wait for ever. endAhead says that the terminal event is beyond the
// cursor, so that a reader gets it.
func (c *Client) endedAt(ctx context.Context, id string, after uint64) (ended, endAhead bool, _ error) {
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

// hub delivers the store's hints to the followers of runs. It only shortens waiting: a follower
// that gets no hint polls.
type hub struct {
	stop func()

	mu        sync.Mutex
	followers map[string][]*follower // guarded by mu; by run id, "" for all runs
}

// follower is woken by hints of one run, or of all runs. Hints are coalesced: the follower reads
// everything that is new once it is woken.
type follower struct {
	hub     *hub
	runID   string // empty: all runs
	hints   chan struct{}
	onHint  func(store.Hint) // called for each hint instead; must not block
	endOnly bool             // only a hint of the run's end wakes it

	mu            sync.Mutex
	seq           uint64        // guarded by mu; the highest number of an event that was hinted at
	unknownChange bool          // guarded by mu; a hint said that any run may have changed: read from the store
	events        []store.Event // guarded by mu; from hints, since drainEvents
	bytes         int           // guarded by mu; of events
	ended         *store.Run    // guarded by mu; the run as it ended, shared by all followers: not changed
}

// Bounds of the events that a follower buffers. A reader that is slower reads from the store.
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

// followEnd returns a follower for the run's end. Like every follower, it must be created before
// the store is read, so that no change falls between the read and the wait.
func (h *hub) followEnd(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID, endOnly: true})
}

// followEvents returns a follower for the run's events.
func (h *hub) followEvents(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID})
}

// subscribe has onHint called for each hint.
func (h *hub) subscribe(onHint func(store.Hint)) *follower {
	return h.add(&follower{hub: h, onHint: onHint})
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
	if f.endOnly {
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
	f.unknownChange = f.unknownChange || hint.RunID == ""
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

// endedRun returns the run as it ended, if a hint has brought it. An ended run does not change, so
// even a late hint has its final record.
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
	default: // the follower is about to wake
	}
}

// drainEvents returns the buffered events that follow the cursor without a gap, and whether these
// are all, so that the store need not be read. Hints may be lost, repeated, late or out of order.
func (f *follower) drainEvents(after uint64) (events []store.Event, all bool) {
	f.mu.Lock()
	events, last, unknown := f.events, f.seq, f.unknownChange
	f.events, f.bytes, f.unknownChange = nil, 0, false
	f.mu.Unlock()
	if !follows(events, after) {
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
	return events, !unknown && after >= last
}

// follows reports whether the events follow the cursor without a gap.
func follows(events []store.Event, after uint64) bool {
	for _, e := range events {
		if after++; e.Seq != after {
			return false
		}
	}
	return true
}

// publish is called by the store after commits. A hint without a run id says that any run may have
// changed.
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
			f.notify(store.Hint{}) // its events may belong to any run
		}
	}
}

func (h *hub) stopWatching() { h.stop() }
