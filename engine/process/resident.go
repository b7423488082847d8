package process

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// ResidentProcess is a process that an engine keeps between the turns of a run. A type that embeds
// *Process implements it.
type ResidentProcess interface {
	Running() bool
	Ended() <-chan struct{}
	Err() error
	// End ends the process and waits for its end.
	End()
	// Release frees the resources of the ended process.
	Release()
}

// Residents are an engine's resident processes, one per run, and the functions to call when one
// ends by itself. It implements the work of engine.Resident. It is safe for concurrent use.
type Residents[P ResidentProcess] struct {
	owner string // the engine's package, which begins the reason of a loss

	mu       sync.Mutex // guards the fields below
	byRun    map[string]*Resident[P]
	watchers map[*lossWatcher]struct{}
	scopes   []*Residents[P]
}

// NewResidents returns an empty registry. owner is the engine's package.
func NewResidents[P ResidentProcess](owner string) *Residents[P] {
	return &Residents[P]{
		owner: owner, byRun: make(map[string]*Resident[P]), watchers: make(map[*lossWatcher]struct{}),
	}
}

// Resident is the entry of one process. Its methods are for the turn that uses the process.
type Resident[P ResidentProcess] struct {
	Process P

	registry *Residents[P]
	runID    string
	release  sync.Once // Process.Release

	mu sync.Mutex // guards the fields below
	// busy means that a turn uses the process, and detects its end.
	busy bool
	// noLoss means that the end is intended, or was reported.
	noLoss bool
}

type lossWatcher struct {
	mu sync.Mutex // held while fn is called, so that stop waits for the call
	fn func(runID string, reason error)
}

// Scope returns an empty registry for one host; see engine.Scoped. Close of r also ends the
// processes of its scopes.
func (r *Residents[P]) Scope() *Residents[P] {
	scope := NewResidents[P](r.owner)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scopes = append(r.scopes, scope)
	return scope
}

// Add registers a run's process for the turn that started it.
func (r *Residents[P]) Add(runID string, p P) *Resident[P] {
	e := &Resident[P]{Process: p, registry: r, runID: runID, busy: true}
	r.mu.Lock()
	r.byRun[runID] = e
	r.mu.Unlock()
	go e.awaitEnd() // ends with the process
	return e
}

// Acquire returns the run's process for a turn. It returns nil if the run has none, or if its
// process has ended; the loss is then reported, unless it was before.
func (r *Residents[P]) Acquire(runID string) *Resident[P] {
	e := r.find(runID)
	if e == nil {
		return nil
	}
	e.mu.Lock()
	e.busy = true
	e.mu.Unlock()
	if !e.Process.Running() {
		e.reportLoss()
		return nil
	}
	return e
}

func (r *Residents[P]) find(runID string) *Resident[P] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byRun[runID]
}

// End ends the run's process, if there is one, and waits for its end; see engine.Resident.
func (r *Residents[P]) End(runID string) {
	if e := r.find(runID); e != nil {
		e.End()
	}
}

// Close ends all processes, also of the scopes, concurrently within one grace period.
func (r *Residents[P]) Close() {
	r.mu.Lock()
	runs, scopes := slices.Collect(maps.Keys(r.byRun)), slices.Clone(r.scopes)
	r.mu.Unlock()
	var all sync.WaitGroup
	for _, id := range runs {
		all.Go(func() { r.End(id) })
	}
	for _, s := range scopes {
		all.Go(s.Close)
	}
	all.Wait()
}

// OnLoss registers fn for each process that ends by itself while no turn uses it; see
// engine.Resident. fn must not call stop.
func (r *Residents[P]) OnLoss(fn func(runID string, reason error)) (stop func()) {
	w := &lossWatcher{fn: fn}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[w] = struct{}{}
	return func() {
		r.mu.Lock()
		delete(r.watchers, w)
		r.mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fn = nil
	}
}

// ExpectEnd says that the process is about to be ended on purpose: its end is not a loss.
func (e *Resident[P]) ExpectEnd() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noLoss = true
}

// End ends the process, which is not a loss, and waits for its end.
func (e *Resident[P]) End() {
	e.ExpectEnd()
	e.Process.End()
	e.Remove()
}

// TurnOver says that the turn no longer uses the process, and reports the loss of a process that
// has ended by itself.
func (e *Resident[P]) TurnOver() {
	e.mu.Lock()
	e.busy = false
	e.mu.Unlock()
	if !e.Process.Running() {
		e.reportLoss()
	}
}

// Remove releases an ended process and removes it from the registry. It returns when this is done
// by any caller. The process stays in the registry until it is released, so that Close waits for
// it.
func (e *Resident[P]) Remove() {
	e.release.Do(e.Process.Release)
	r := e.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byRun[e.runID] == e {
		delete(r.byRun, e.runID)
	}
}

// awaitEnd reports the loss of a process that ends while no turn uses it.
func (e *Resident[P]) awaitEnd() {
	<-e.Process.Ended()
	e.mu.Lock()
	busy := e.busy
	e.mu.Unlock()
	if !busy {
		e.reportLoss()
	}
}

// reportLoss removes the ended process, and notifies the watchers once that it ended by itself.
func (e *Resident[P]) reportLoss() {
	e.mu.Lock()
	reported := e.noLoss
	e.noLoss = true
	e.mu.Unlock()
	e.Remove()
	if reported {
		return
	}
	reason := errors.New(e.registry.owner + ": the resident process ended")
	if err := e.Process.Err(); err != nil {
		reason = fmt.Errorf("%w: %w", reason, err)
	}
	r := e.registry
	r.mu.Lock()
	watchers := slices.Collect(maps.Keys(r.watchers))
	r.mu.Unlock()
	for _, w := range watchers {
		w.call(e.runID, reason)
	}
}

// call calls the function unless it has been removed.
func (w *lossWatcher) call(runID string, reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fn != nil {
		w.fn(runID, reason)
	}
}
