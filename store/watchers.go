package store

import "sync"

// Watchers implements Watcher for a store. The zero value is ready, and safe for concurrent use.
type Watchers struct {
	mu  sync.RWMutex
	fns map[*func(Hint)]struct{} // guarded by mu
}

func (w *Watchers) Watch(fn func(Hint)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fns == nil {
		w.fns = make(map[*func(Hint)]struct{})
	}
	w.fns[&fn] = struct{}{}
	return func() { // Lock waits until a call of fn under way has returned
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.fns, &fn)
	}
}

// Notify passes hints on, after their commits are stored. The caller must not hold a lock that a
// watcher may need.
func (w *Watchers) Notify(hints []Hint) {
	if len(hints) == 0 {
		return
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	for fn := range w.fns {
		for _, h := range hints {
			(*fn)(h)
		}
	}
}

func (w *Watchers) Any() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.fns) > 0
}
