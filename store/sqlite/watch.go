package sqlite

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Watch implements store.Watcher: hints of this process's commits come with their run, those of other
// processes as "anything may have changed".
func (s *Store) Watch(fn func(store.Hint)) (stop func()) { return s.watchers.add(fn) }

// watchers are those who wait for hints.
type watchers struct {
	mu  sync.RWMutex
	fns map[*func(store.Hint)]struct{} // guarded by mu
}

func (w *watchers) add(fn func(store.Hint)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fns == nil {
		w.fns = make(map[*func(store.Hint)]struct{})
	}
	w.fns[&fn] = struct{}{}
	return func() { // the lock waits for a call under way
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.fns, &fn)
	}
}

func (w *watchers) tell(hints []store.Hint) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for fn := range w.fns {
		for _, h := range hints {
			(*fn)(h)
		}
	}
}

func (w *watchers) any() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.fns) > 0
}

// watch looks for commits of other processes while somebody watches. On the writing connection data_version
// changes by the commits of others only. The first look always tells: what came before it cannot be known.
func (s *Store) watch(interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last int64
	for {
		select {
		case <-tick.C:
		case <-s.closed:
			return
		}
		if !s.watchers.any() {
			continue
		}
		var version int64
		err := s.look(func(w *writer) error {
			r, err := w.one("PRAGMA data_version")
			if err == nil {
				version = r.int(0)
			}
			return err
		})
		if err == nil && version != last {
			last = version
			s.watchers.tell([]store.Hint{{}})
		}
	}
}
