package lifecycle

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// hub delivers the store's hints to the followers of runs. A follower without a hint polls.
type hub struct {
	stop func()

	mu        sync.Mutex
	followers map[string][]*follower // guarded by mu; by run id, "" for all runs
}

// follower is woken by hints of one run, or of all runs, and then reads everything new.
type follower struct {
	hub   *hub
	runID string // empty: all runs
	hints chan struct{}
	// onHint, if set, is called for each hint and must not block. If endOnly, only a hint of the
	// run's end wakes the follower; otherwise any hint does, and its events are buffered.
	onHint  func(store.Hint)
	endOnly bool

	mu            sync.Mutex    // guards the fields below
	seq           uint64        // the highest event number in a hint
	unknownChange bool          // any run may have changed: read from the store
	events        []store.Event // from hints, since drainEvents
	bytes         int           // of events
	ended         *store.Run    // the ended run, shared by all followers: read-only
}

// Bounds of a follower's buffered events. A slower reader reads from the store.
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

// publish passes on a hint of the store. Without a run id, any run may have changed.
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
	if hint.State != "" && !hint.State.Terminal() {
		return // it only concerns claims
	}
	for id, all := range h.followers {
		if id == "" {
			continue
		}
		for _, f := range all {
			f.notify(store.Hint{}) // without events: their run is unknown
		}
	}
}

// followEnd returns a follower for the run's end. Create followers before reading the store, so
// that no change is missed.
func (h *hub) followEnd(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID, endOnly: true})
}

func (h *hub) followEvents(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID})
}

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

func (f *follower) noteEnd(hint store.Hint) {
	if !hint.State.Terminal() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = cmp.Or(hint.Run, f.ended)
}

// buffer keeps a hint's events for the reader while there is room.
func (f *follower) buffer(hint store.Hint) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq = max(f.seq, hint.Seq)
	f.unknownChange = f.unknownChange || hint.RunID == ""
	if len(f.events) >= maxPushed || f.bytes >= maxPushedBytes {
		return
	}
	if f.events == nil {
		f.events = slices.Clip(hint.Events) // the store's slice, not changed: an append copies it
	} else {
		f.events = append(f.events, hint.Events...)
	}
	for _, e := range hint.Events {
		f.bytes += len(e.Body)
	}
}

// endedRun returns the ended run, if a hint had it. An ended run does not change, so even a late hint
// has its final record.
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
// are all, so that the store need not be read. Hints may be lost, repeated or out of order.
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

func follows(events []store.Event, after uint64) bool {
	for _, e := range events {
		if after++; e.Seq != after {
			return false
		}
	}
	return true
}

// following returns the events that follow the cursor without a gap, in a new slice.
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

// feedPause is the shortest time between two reads, unless the first one left commits unread. It
// limits reads and cursor writes under load, when every commit gives a hint.
const feedPause = 25 * time.Millisecond
