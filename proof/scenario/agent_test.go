package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// agents are what the agents of all nodes have in common: scripts, and what becomes of sessions.
type agents struct {
	board *board

	mu       sync.Mutex
	scripts  map[string]*script         // guarded by mu; by run
	prompts  map[string]string          // guarded by mu; the last one, by run
	expired  map[string]bool            // guarded by mu; runs whose session is refused
	immortal map[string]bool            // guarded by mu; runs of which nobody can end what was left
	working  map[string][]chan struct{} // guarded by mu; turns that wait for finish, by run and by node/run
	over     chan struct{}              // closed at the story's end
}

// agent is an engine of one node and one profile.
type agent struct {
	*agents
	enginetest.FakeAgent

	view *view
}

// note tells something of the run, unless the node is dead.
func (a *agent) note(runID, text string) {
	a.view.mu.Lock()
	gone := a.view.gone
	a.view.mu.Unlock()
	if !gone {
		a.board.note(runID, fmt.Sprintf("(%s %s)", a.view.name, text))
	}
}

// RunTurn implements engine.Engine.
func (a *agent) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	a.note(t.RunID, fmt.Sprintf("executes attempt %d: %s", t.Attempt, a.given(t)))
	if err := a.enter(t); err != nil {
		return engine.Outcome{}, err
	}
	line, err := a.line(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	for _, now := range line {
		if err := a.do(ctx, now, t, s); err != nil {
			a.note(t.RunID, fmt.Sprintf("ends attempt %d: %s", t.Attempt, reason(err)))
			return engine.Outcome{}, err
		}
	}
	last := line[len(line)-1]
	o, err := last.outcome()
	if err == nil && last.named["handle"] != "none" {
		o.Handle = a.handle(t)
	}
	return o, err
}

// given is what the agent is told, and how it goes on with what it was told before.
func (a *agent) given(t engine.Turn) string {
	switch {
	case !t.GoesOn() && t.Handle == nil:
		return "the prompt"
	case !t.GoesOn():
		return "the prompt, in its session"
	case a.Kind == fsm.ProfileStickyProcess:
		return fmt.Sprintf("%q, in its process", t.Input())
	}
	return fmt.Sprintf("%q, in its session", t.Input())
}

// enter is the turn's resident process or session, which must be there when the turn goes on.
func (a *agent) enter(t engine.Turn) error {
	a.mu.Lock()
	refused := t.Handle != nil && a.expired[t.RunID]
	a.prompts[t.RunID] = t.Prompt
	a.mu.Unlock()
	if refused {
		return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: "the session has expired"}
	}
	return a.Enter(t)
}

// line is the next one of the run's script.
func (a *agents) line(t engine.Turn) (turnLine, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.scripts[t.RunID]
	if s == nil || s.used == len(s.lines) {
		return nil, errors.New("the script is at its end")
	}
	s.used++
	return s.lines[s.used-1], nil
}

// do is all but the end of a turn.
func (a *agent) do(ctx context.Context, now step, t engine.Turn, s engine.Sink) error {
	switch now.verb {
	case "message":
		return s.Message(ctx, engine.Message{Text: now.word(0), RawRef: now.ref()})
	case "warn":
		return s.Warn(ctx, interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: now.word(0)})
	case "handle":
		return s.Handle(ctx, *a.handle(t))
	case "work":
		return a.work(ctx, t, now.word(0) == "on")
	}
	return nil
}

// work goes on until the story says finish. An agent that works on does not listen when it is told
// to end.
func (a *agent) work(ctx context.Context, t engine.Turn, on bool) error {
	done := ctx.Done()
	if on {
		done = nil
	}
	finish := make(chan struct{}, 1)
	a.mu.Lock()
	for _, name := range []string{t.RunID, a.view.name + "/" + t.RunID} {
		a.working[name] = append(a.working[name], finish)
	}
	a.mu.Unlock()
	select {
	case <-finish:
		return nil
	case <-done:
		a.finished(t.RunID, a.view.name, finish)
		return context.Cause(ctx)
	case <-a.over:
		return engine.ErrCanceled
	}
}

// finished takes a turn off the list of those that work.
func (a *agents) finished(runID, node string, finish chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range []string{runID, node + "/" + runID} {
		var others []chan struct{}
		for _, c := range a.working[name] {
			if c != finish {
				others = append(others, c)
			}
		}
		a.working[name] = others
	}
}

// finish lets the turn of the run go on, on the node if one is named.
func (a *agents) finish(runID string, nodes []string, node string) error {
	name := runID
	if node != "" {
		name = node + "/" + runID
	}
	a.mu.Lock()
	at := a.working[name]
	a.mu.Unlock()
	switch {
	case len(at) == 0:
		return fmt.Errorf("no turn of %s works there", runID)
	case len(at) > 1:
		return fmt.Errorf("%d turns of %s work: name the node", len(at), runID)
	}
	for _, n := range nodes {
		a.finished(runID, n, at[0])
	}
	at[0] <- struct{}{}
	return nil
}

// reason is why the library ended a turn, or refused a report.
func reason(err error) string {
	for cause, text := range map[error]string{
		engine.ErrCanceled: "the run is canceled", engine.ErrStale: "the attempt is no longer the run's",
		engine.ErrShutdown:    "the node shuts down",
		engine.ErrTurnTimeout: "its time is over",
	} {
		if errors.Is(err, cause) {
			return text
		}
	}
	return err.Error()
}

func (a *agent) handle(t engine.Turn) *engine.Handle {
	return &engine.Handle{Engine: "agent", Version: "1", Data: []byte("session of " + t.RunID)}
}

// Check implements engine.Checker.
func (a *agent) Check(_ context.Context, runID string, _ engine.Handle) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.expired[runID] {
		return fmt.Errorf("%w: the session has expired", engine.ErrHandleRefused)
	}
	return nil
}

// Reap implements engine.Reaper.
func (a *agent) Reap(_ context.Context, runID string) error {
	a.mu.Lock()
	immortal := a.immortal[runID]
	a.mu.Unlock()
	if immortal {
		a.note(runID, "cannot end what was left of it")
		return errors.New("it does not end")
	}
	a.note(runID, "ends what was left of it")
	return nil
}

// End implements engine.Resident.
func (a *agent) End(ctx context.Context, runID string) error {
	if a.Lives(runID) {
		a.note(runID, "ends its process")
	}
	return a.FakeAgent.End(ctx, runID)
}

// unread are the scripts that were not played to their end.
func (a *agents) unread() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for id, s := range a.scripts {
		if left := len(s.lines) - s.used; left > 0 {
			all = append(all, fmt.Sprintf("the script of %s has %d lines that nobody executed", id, left))
		}
	}
	return all
}
