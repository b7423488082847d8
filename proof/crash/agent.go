package crash

import (
	"context"
	"errors"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// Turn is what a plan's agent does in one round. It follows from the turn alone, so that it is the
// same in every host.
type Turn func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error)

// agent is an engine of one profile. It writes down what it is given before it does it.
type agent struct {
	kind    fsm.Profile
	journal *Journal
	store   *Store
	turns   map[string]Turn // by the run's name

	mu     sync.Mutex
	alive  map[string]bool // guarded by mu; resident processes, by run id
	onLoss func(string, error)
}

func (a *agent) Profile(context.Context) (engine.Profile, error) {
	return engine.Profile{Kind: a.kind, Reason: "the scenario says so"}, nil
}

func (a *agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if a.store.Gone() {
		return engine.Outcome{}, ErrGone
	}
	input := t.Input()
	if !t.GoesOn() {
		input = "prompt"
	}
	if err := a.journal.Add(Entry{Run: t.RunID, Attempt: t.Attempt, Input: input}); err != nil {
		return engine.Outcome{}, err
	}
	if a.kind == fsm.ProfileStickyProcess && !a.enter(t) {
		return engine.Outcome{}, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "no resident process"}
	}
	o, err := a.turns[nameOf(t.RunID)](ctx, t, s)
	if err == nil && a.kind == fsm.ProfileResumable {
		o.Handle = &engine.Handle{Engine: "agent", Version: "1", Data: []byte("session of " + nameOf(t.RunID))}
	}
	return o, err
}

// enter is the turn's resident process, which must live already when the turn goes on.
func (a *agent) enter(t engine.Turn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.GoesOn() && !a.alive[t.RunID] {
		return false
	}
	a.alive[t.RunID] = true
	return true
}

// End implements engine.Resident.
func (a *agent) End(_ context.Context, runID string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.alive, runID)
	return nil
}

// OnLoss implements engine.Resident.
func (a *agent) OnLoss(fn func(string, error)) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onLoss = fn
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.onLoss = nil
	}
}

// kill has the run's resident process die, if there is one.
func (a *agent) kill(runID string) {
	a.mu.Lock()
	fn, alive := a.onLoss, a.alive[runID]
	delete(a.alive, runID)
	a.mu.Unlock()
	if alive && fn != nil {
		fn(runID, errors.New("killed"))
	}
}
