package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// eventPage is how many events a follower reads at a time: enough to make a long replay cheap, few
// enough to keep its memory small.
const eventPage = 256

// recheckAfter is the number of reads without an event after which a reader checks again whether
// the run has ended. It may be large: a run ends with an event, which the reader gets. The
// exception is a run that was pruned and submitted again under its id: the new run may end before
// the cursor.
const recheckAfter = 16

// Events yields the run's events after the cursor (0: from the first), in order and without a gap,
// and then follows the run live until its terminal event. You may call it at any time: before the
// run starts, while it is parked, or long after its end. An error ends the sequence; call
// Events again with the Seq of the last event. If the run has ended and the cursor is beyond its
// last event, the error is ErrCursorBeyondEnd. If the run has not ended, Events waits for events
// after the cursor, and returns this error when the run ends before the cursor. A slow follower
// delays neither the run nor other followers.
func (c *Client) Events(ctx context.Context, id string, after uint64) iter.Seq2[Event, error] {
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
		r := eventReader{client: c, follower: f, poller: c.newPoller(f), id: id, after: after, fromStore: true,
			checkEnd: true}
		defer r.poller.Stop()
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

// eventReader reads a run's events for one follower: from the store until it has read all that
// there are, and then from the hints. Once in a poll it reads from the store in any case, since
// hints may be lost.
type eventReader struct {
	client    *Client
	follower  *follower
	poller    node.Poller
	id        string
	after     uint64
	fromStore bool // the next read is from the store; otherwise it waits for a hint
	ended     bool // the run has ended, and the cursor stands at its last event
	// checkEnd: the next read from the store also finds out whether the run has ended. It is false
	// once the reader knows that the run's last event comes after the cursor: it will read that
	// one.
	checkEnd   bool
	emptyReads int // reads from the store in a row that found no event
}

// next returns the next events, if there are any by now. It waits for a hint when the reader has
// read all events.
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
	if err := store.CheckEvents(r.id, r.after, page); err != nil {
		return nil, err
	}
	// A page that is not full has all events up to now, and hints bring those that follow.
	r.fromStore = len(page) == eventPage || bodySize(page) >= store.MinPage
	if len(page) > 0 {
		// If the run has ended, its last event is in this page or after it, and Events stops there.
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
	// The record counts later events, which were stored after the page was read, or are lost.
	if page, err = r.client.proc.Store.Events(ctx, r.id, r.after, eventPage); err == nil && len(page) == 0 {
		err = fmt.Errorf("%w: run %s has no event after %d, and its record counts %d", store.ErrCorrupt, r.id,
			r.after, last)
	}
	if err == nil {
		err = store.CheckEvents(r.id, r.after, page)
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

// findEnd finds out whether the run has ended at the cursor: a reader that starts there would
// otherwise wait for ever.
//
// It returns the number of the run's last event.
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
	return run.Seq, nil
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
	hub   *hub
	runID string // empty: all runs
	hints chan struct{}
	// What a hint does: onHint is called if it is set, and must not block; a hint of the run's end
	// wakes the follower if endOnly is set; otherwise any hint does, and its events are buffered.
	onHint  func(store.Hint)
	endOnly bool

	mu            sync.Mutex
	seq           uint64        // guarded by mu; the highest number of an event that a hint named
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

// publish passes on a hint of the store. One without a run id says that any run may have changed.
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
			f.notify(store.Hint{}) // without events: nobody knows whose they are
		}
	}
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
	switch {
	case f.onHint != nil:
		f.onHint(hint)
	case f.endOnly:
		if hint.RunID == "" || hint.State.Terminal() {
			f.noteEnd(hint)
			f.signal()
		}
	default:
		f.buffer(hint)
		f.signal()
	}
}

// noteEnd keeps the run as it ended, if the hint brings it.
func (f *follower) noteEnd(hint store.Hint) {
	if !hint.State.Terminal() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = cmp.Or(hint.Run, f.ended)
}

// buffer keeps the events of a hint for the reader, as long as there is room.
func (f *follower) buffer(hint store.Hint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq = max(f.seq, hint.Seq)
	f.unknownChange = f.unknownChange || hint.RunID == ""
	if len(f.events) >= maxPushed || f.bytes >= maxPushedBytes {
		return
	}
	if f.events == nil {
		f.events = slices.Clip(hint.Events) // the store's slice, which is not changed: an append copies it
	} else {
		f.events = append(f.events, hint.Events...)
	}
	for _, e := range hint.Events {
		f.bytes += len(e.Body)
	}
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
		events = following(events, after)
	}
	return events, !unknown && after+uint64(len(events)) >= last
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

// following returns those of the events that follow the cursor without a gap, in a slice of their
// own.
func following(events []store.Event, after uint64) (found []store.Event) {
	for _, e := range events {
		if e.Seq == after+1 {
			found = append(found, e)
			after++
		}
	}
	return found
}

func (h *hub) stopWatching() { h.stop() }
