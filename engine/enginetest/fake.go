package enginetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// FakeAgent is an engine without a process: the function Turn executes its turns. To replace
// RunTurn, embed FakeAgent and call Enter at the beginning of each turn. With the profile
// sticky_process it records which runs have a resident process. The zero value has no profile.
type FakeAgent struct {
	Kind   fsm.Profile
	Reason string // of the profile
	Turn   engine.Func

	mu       sync.Mutex      // guards the fields below
	resident map[string]bool // by run
	onLoss   func(runID string, why error)
}

var _ engine.Resident = (*FakeAgent)(nil)

var errKilled = errors.New("killed")

func (a *FakeAgent) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: a.Kind, Reason: a.Reason}, nil
}

// RunTurn implements engine.Engine: it enters the turn, and calls Turn.
func (a *FakeAgent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if err := a.Enter(t); err != nil {
		return engine.Outcome{}, err
	}
	return a.Turn(ctx, t, s)
}

// Enter starts the run's resident process on its first turn, and fails on later turns if the
// process is lost. A resumable agent has no process.
func (a *FakeAgent) Enter(t engine.Turn) error {
	if a.Kind != fsm.ProfileStickyProcess {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.GoesOn() && !a.resident[t.RunID] {
		return &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "no resident process"}
	}
	if a.resident == nil {
		a.resident = make(map[string]bool)
	}
	a.resident[t.RunID] = true
	return nil
}

// Lives reports whether the run has a resident process.
func (a *FakeAgent) Lives(runID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.resident[runID]
}

// living returns the runs with a resident process, sorted.
func (a *FakeAgent) living() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.resident))
}

func (a *FakeAgent) End(_ context.Context, runID string) error {
	a.remove(runID)
	return nil
}

// Vanish ends all resident processes without a report, as the death of their host does.
func (a *FakeAgent) Vanish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.resident)
}

// Kill ends the run's resident process and reports the loss before it returns. It returns false if
// the run had none.
func (a *FakeAgent) Kill(runID string) bool {
	report, lived := a.remove(runID)
	if lived && report != nil {
		report(runID, errKilled)
	}
	return lived
}

// KillAny kills one resident process without waiting until the loss is reported.
func (a *FakeAgent) KillAny() {
	for _, runID := range a.living() {
		if report, lived := a.remove(runID); lived {
			if report != nil {
				go report(runID, errKilled) // it may wait for a host
			}
			return
		}
	}
}

// remove removes the run's process and returns the function that reports its loss.
func (a *FakeAgent) remove(runID string) (report func(string, error), lived bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lived = a.resident[runID]
	delete(a.resident, runID)
	return a.onLoss, lived
}

// OnLoss implements engine.Resident. Only the last fn is kept.
func (a *FakeAgent) OnLoss(fn func(runID string, reason error)) (stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onLoss = fn
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.onLoss = nil
	}
}
