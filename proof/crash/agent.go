package crash

import (
	"context"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
)

// Turn is the behaviour of a plan's agent in one round. It depends only on the turn, so that it is
// the same in every host.
type Turn func(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error)

// agent is an engine of one profile. It writes each turn that it is given to the journal before it
// acts.
type agent struct {
	enginetest.FakeAgent

	journal *Journal
	store   *Store
	turns   map[string]Turn // by the name of the run
	unready bool            // it does not say its profile
}

// CanBranch implements engine.Brancher.
func (a *agent) CanBranch(context.Context, engine.BranchPoint) error { return nil }

// Branch implements engine.Brancher: a session of this agent is a name.
func (a *agent) Branch(_ context.Context, p engine.BranchPoint, _ engine.Turn) (engine.SessionHandle, error) {
	if a.store.Gone() {
		return engine.SessionHandle{}, ErrGone
	}
	return p.Session, nil
}

// checker is an agent that can check the validity of a session.
type checker struct {
	*agent

	refuses bool
}

// Check implements engine.Checker.
func (c checker) Check(context.Context, string, engine.SessionHandle) error {
	if c.refuses {
		return engine.ErrHandleRefused
	}
	return nil
}

func (a *agent) Profile(ctx context.Context) (engine.Profile, error) {
	if a.unready {
		<-ctx.Done()
		return engine.Profile{}, context.Cause(ctx)
	}
	return a.FakeAgent.Profile(ctx)
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
	if err := a.Enter(t); err != nil {
		return engine.Outcome{}, err
	}
	o, err := a.turns[nameOf(t.RunID)](ctx, t, s)
	if err == nil && a.Kind == fsm.ProfileResumable {
		o.Session = &engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte("session of " + nameOf(t.RunID))}
	}
	return o, err
}
