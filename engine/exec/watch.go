package exec

import (
	"errors"
	"fmt"
	"sync"
)

// watcher is told of lost processes until it is stopped.
type watcher struct {
	mu sync.Mutex // held while fn is called, so that a stop waits for it
	fn func(runID string, reason error)
}

// OnLoss has fn called for each resident process that ends by itself between its turns. fn must not
// call the function that is returned.
func (e *Engine) OnLoss(fn func(runID string, reason error)) (stop func()) {
	w := &watcher{fn: fn}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watchers[w] = struct{}{}
	return func() {
		e.mu.Lock()
		delete(e.watchers, w)
		e.mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fn = nil
	}
}

// attend waits for the end of the process, and reports it when nobody else finds out.
func (e *Engine) attend(runID string, p *resident) {
	<-p.Ended()
	p.mu.Lock()
	busy := p.busy
	p.mu.Unlock()
	if !busy {
		e.lose(runID, p)
	}
}

// lose reports, once, that the process ended by itself.
func (e *Engine) lose(runID string, p *resident) {
	p.mu.Lock()
	told := p.told
	p.told = true
	p.mu.Unlock()
	e.drop(runID, p)
	if told {
		return
	}
	e.mu.Lock()
	watchers := make([]*watcher, 0, len(e.watchers))
	for w := range e.watchers {
		watchers = append(watchers, w)
	}
	e.mu.Unlock()
	reason := errors.New("exec: the resident process ended")
	if p.Err() != nil {
		reason = fmt.Errorf("exec: the resident process ended: %w", p.Err())
	}
	for _, w := range watchers {
		w.tell(runID, reason)
	}
}

func (w *watcher) tell(runID string, reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fn != nil {
		w.fn(runID, reason)
	}
}
