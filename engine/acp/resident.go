package acp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// residentTurn gives the input to the run's process, starting it for the first turn.
func (e *Engine) residentTurn(t *turn) (engine.Outcome, error) {
	a, err := e.residentOf(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	opened := a.session != ""
	if !opened {
		err = t.open()
		opened = err == nil
	}
	if err == nil {
		err = t.goOn(a.takeHeld())
	}
	end := ending{why: err}
	if !opened || !mayStay(err) || t.parent.Err() != nil {
		a.expectEnd()
		end = t.end(err)
	}
	a.attach(nil, 0)
	if !a.Running() {
		e.drop(t.in.RunID, a)
	}
	o, err := t.outcome(end)
	a.mu.Lock()
	a.busy = false
	a.mu.Unlock()
	if !a.Running() {
		e.lose(t.in.RunID, a)
	}
	return o, err
}

// residentOf finds the run's process, or starts it for a run that was not answered yet.
func (e *Engine) residentOf(t *turn) (*agent, error) {
	id := t.in.RunID
	e.mu.Lock()
	a := e.residents[id]
	e.mu.Unlock()
	if a != nil {
		a.mu.Lock()
		a.busy = true
		a.mu.Unlock()
		if a.useless() {
			a.End()
		}
		if a.Running() {
			if t.state.Session != a.session {
				t.state = state{Session: a.session}
			}
			a.attach(t, e.cfg.MaxStream)
			return a, nil
		}
		e.lose(id, a) // it ended while the run waited; whoever notices first reports it
	}
	if t.in.GoesOn() {
		return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "the resident process of the run " +
			"is gone"}
	}
	a, err := e.start(t)
	if err != nil {
		return nil, err
	}
	a.busy = true
	e.mu.Lock()
	e.residents[id] = a
	e.mu.Unlock()
	go e.attend(id, a) // ends with the process
	return a, nil
}

// end ends the process in the middle of its run.
func (t *turn) end(why error) ending {
	if errors.Is(why, errGone) {
		return t.part(why)
	}
	t.agent.End()
	return ending{why: why, stderr: t.agent.lastWords()}
}

// drop forgets an ended process.
func (e *Engine) drop(runID string, a *agent) {
	e.mu.Lock()
	mine := e.residents[runID] == a
	if mine {
		delete(e.residents, runID)
	}
	e.mu.Unlock()
	if mine {
		a.release()
	}
}

// expectEnd says that the process's end is wanted.
func (a *agent) expectEnd() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = true
}

// End ends the run's resident process, if there is one, and returns when it is gone.
func (e *Engine) End(_ context.Context, runID string) error {
	e.mu.Lock()
	a := e.residents[runID]
	e.mu.Unlock()
	if a == nil {
		return nil
	}
	a.expectEnd()
	a.End()
	e.drop(runID, a)
	return nil
}

// Close ends all resident processes, together, so that it takes one grace however many there are.
// Serve does so for the runs that it knows.
func (e *Engine) Close() error {
	e.mu.Lock()
	ids, scopes := slices.Collect(maps.Keys(e.residents)), slices.Clone(e.scopes)
	e.mu.Unlock()
	ended := make([]error, len(ids)+len(scopes))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { ended[i] = e.End(context.Background(), id) })
	}
	for i, s := range scopes {
		all.Go(func() { ended[len(ids)+i] = s.Close() })
	}
	all.Wait()
	return errors.Join(ended...)
}
