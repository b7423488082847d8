package lifecycle

import (
	"sync"

	"github.com/interlude-go/interlude/store"
)

// hub passes the store's hints on to those who follow a run. It shortens waiting and decides nothing: a
// follower that gets no hint looks by itself.
type hub struct {
	stop func()

	mu        sync.Mutex
	followers map[string]map[*follower]struct{} // guarded by mu; by run id, "" for all runs
}

// follower is woken by hints. Hints are coalesced: one is enough to look again.
type follower struct {
	hub   *hub
	runID string
	hints chan struct{}
	seen  func(store.Hint) // called for each hint; must not block
}

func newHub(s store.Store) *hub {
	h := &hub{stop: func() {}, followers: make(map[string]map[*follower]struct{})}
	if w, ok := s.(store.Watcher); ok {
		h.stop = w.Watch(h.publish)
	}
	return h
}

// follow returns a follower of one run, or of all with an empty id. It must be made before looking at the
// store, so that no change falls between the look and the wait.
func (h *hub) follow(runID string) *follower {
	return h.observe(runID, nil)
}

func (h *hub) observe(runID string, seen func(store.Hint)) *follower {
	f := &follower{hub: h, runID: runID, hints: make(chan struct{}, 1), seen: seen}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.followers[runID] == nil {
		h.followers[runID] = make(map[*follower]struct{})
	}
	h.followers[runID][f] = struct{}{}
	return f
}

func (f *follower) close() {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	delete(f.hub.followers[f.runID], f)
	if len(f.hub.followers[f.runID]) == 0 {
		delete(f.hub.followers, f.runID)
	}
}

func (f *follower) wake(hint store.Hint) {
	if f.seen != nil {
		f.seen(hint)
	}
	select {
	case f.hints <- struct{}{}:
	default: // one is waiting already
	}
}

// publish is called by the store after commits.
func (h *hub) publish(hint store.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.followers[""] {
		f.wake(hint)
	}
	if hint.RunID != "" {
		for f := range h.followers[hint.RunID] {
			f.wake(hint)
		}
		return
	}
	for id, all := range h.followers {
		if id == "" {
			continue
		}
		for f := range all {
			f.wake(hint)
		}
	}
}

func (h *hub) close() { h.stop() }
