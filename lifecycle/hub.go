package lifecycle

import (
	"cmp"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/store"
)

// hub passes the store's hints on to those who follow a run. It shortens waiting and decides
// nothing: a follower that gets no hint looks by itself.
type hub struct {
	stop func()

	mu        sync.Mutex
	followers map[string][]*follower // guarded by mu; by run id, "" for all runs
}

// follower is woken by hints. Hints are coalesced: one is enough to look again.
type follower struct {
	hub   *hub
	runID string
	hints chan struct{}
	seen  func(store.Hint) // called for each hint instead; must not block
	ends  bool             // only a hint of the run's end counts

	mu     sync.Mutex
	seq    uint64        // guarded by mu; the last event that a hint told of; hints may come out of order
	any    bool          // guarded by mu; a hint told that anything may have changed, and nobody has looked since
	events []store.Event // guarded by mu; what hints brought since they were taken
	bytes  int           // guarded by mu; of events
	last   *store.Run    // guarded by mu; the run as it ended, shared by all who watch
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

// await returns a follower for the run's end. Like every follower, it must be made before looking
// at the store, so that no change falls between the look and the wait.
func (h *hub) await(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID, ends: true})
}

// read returns a follower for the run's events.
func (h *hub) read(runID string) *follower {
	return h.add(&follower{hub: h, runID: runID})
}

// observe has seen called for each hint.
func (h *hub) observe(seen func(store.Hint)) *follower {
	return h.add(&follower{hub: h, seen: seen})
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

func (f *follower) wake(hint store.Hint) {
	if f.seen != nil {
		f.seen(hint)
		return
	}
	if f.ends {
		if hint.State.Terminal() {
			f.mu.Lock()
			f.last = cmp.Or(hint.Run, f.last)
			f.mu.Unlock()
		}
		if hint.RunID == "" || hint.State.Terminal() {
			f.rouse()
		}
		return
	}
	f.mu.Lock()
	f.seq = max(f.seq, hint.Seq)
	f.any = f.any || hint.RunID == ""
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
	f.rouse()
}

// end returns the run as it ended, when a hint has brought it: what has ended does not change, so a
// hint of it is never too late.
func (f *follower) end() (Run, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		return Run{}, false
	}
	return f.last.Clone(), true
}

func (f *follower) rouse() {
	select {
	case f.hints <- struct{}{}:
	default: // one is waiting already
	}
}

// take returns the events after the cursor that hints have brought, and whether there is nothing
// beyond them to be looked for in the store. Hints may be lost, doubled or late: only what follows
// the cursor without a gap is taken.
func (f *follower) take(after uint64) (events []store.Event, all bool) {
	f.mu.Lock()
	events, last, anything := f.events, f.seq, f.any
	f.events, f.bytes, f.any = nil, 0, false
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
		f.wake(hint)
	}
	if hint.RunID != "" {
		for _, f := range h.followers[hint.RunID] {
			f.wake(hint)
		}
		return
	}
	for id, all := range h.followers {
		if id == "" {
			continue
		}
		for _, f := range all {
			f.wake(store.Hint{}) // whatever else it carries is of nobody knows which run
		}
	}
}

func (h *hub) close() { h.stop() }
