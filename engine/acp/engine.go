package acp

import (
	"context"
	"fmt"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// Engine runs agents that speak the Agent Client Protocol. Use New. It is safe for concurrent use.
type Engine struct {
	cfg       Config
	processes *process.Table

	residents *process.Residents[*agent]

	asking sync.Mutex // held while the program is asked what it is
	known  installed  // guarded by asking
}

var (
	_ engine.Engine         = (*Engine)(nil)
	_ engine.Checker        = (*Engine)(nil)
	_ engine.Resident       = (*Engine)(nil)
	_ engine.Reaper         = (*Engine)(nil)
	_ engine.Scoped         = (*Engine)(nil)
	_ engine.ProcessCleaner = (*Engine)(nil)
)

// New checks the configuration. The agent itself is looked for by Profile and at each turn.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	if !process.Supported {
		return nil, process.ErrUnsupported
	}
	return &Engine{cfg: cfg, processes: process.NewTable(cfg.StateDir),
		residents: process.NewResidents[*agent]("acp")}, nil
}

// Scope returns an engine for one host, whose resident processes are its own; see engine.Scoped.
func (e *Engine) Scope(configured engine.Engine) engine.Engine {
	if configured != engine.Engine(e) {
		return configured
	}
	return &Engine{cfg: e.cfg, processes: e.processes, residents: e.residents.Scope()}
}

// RunTurn executes one attempt.
func (e *Engine) RunTurn(ctx context.Context, in engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	if err := process.CheckFolders(in); err != nil {
		return engine.Outcome{}, err
	}
	if e.cfg.usesHome() {
		if err := process.CheckHome(in, in.Session != nil); err != nil {
			return engine.Outcome{}, err
		}
	}
	if ctx.Err() != nil { // I6: canceled before its start
		return engine.Outcome{Process: engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
			Detail: "the turn was interrupted before it began"}}, nil
	}
	profile, err := e.Profile(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	t := &turn{cfg: &e.cfg, parent: ctx, in: in, sink: sink, sticky: profile.Kind == fsm.ProfileStickyProcess}
	if err := t.loadState(); err != nil {
		return engine.Outcome{}, err
	}
	if t.transcript, err = transcript.Open(in.TranscriptDir, in.Attempt, "out", e.cfg.MaxTranscript); err != nil {
		return engine.Outcome{}, err
	}
	defer t.transcript.Close()
	defer t.startLimits()()
	if t.sticky {
		return e.residentTurn(t)
	}
	return e.singleTurn(t)
}

// start starts the agent for a turn that opens a session in it.
func (e *Engine) start(t *turn) (*agent, error) {
	if err := process.CallPrepare(t.ctx, e.cfg.Prepare, t.in); err != nil {
		return nil, err
	}
	errs, err := transcript.Open(t.in.TranscriptDir, t.in.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return nil, err
	}
	a, err := e.launch(t.in, errs)
	if err != nil {
		return nil, err
	}
	a.attach(t, e.cfg.MaxStream)
	return a, nil
}

// singleTurn runs one process for the turn.
func (e *Engine) singleTurn(t *turn) (engine.Outcome, error) {
	a, err := e.start(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	if err = t.open(); err == nil {
		err = t.giveInput(nil)
	}
	end := t.endSingle(err)
	a.attach(nil, 0)
	a.Release()
	return t.outcome(end)
}

// residentTurn gives the input to the run's process, starting it for the first turn.
func (e *Engine) residentTurn(t *turn) (engine.Outcome, error) {
	kept, err := e.residentOf(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	a := kept.Process
	opened := a.session != ""
	if !opened {
		err = t.open()
		opened = err == nil
	}
	if err == nil {
		err = t.giveInput(a.takeHeld())
	}
	end := ending{why: err}
	if !opened || !isReusable(err) || t.parent.Err() != nil {
		kept.ExpectEnd()
		end = t.endResident(err)
	}
	a.attach(nil, 0)
	if !a.Running() {
		kept.Remove()
	}
	o, err := t.outcome(end)
	kept.TurnOver()
	return o, err
}

// residentOf finds the run's process, or starts it for a run that was not answered yet.
func (e *Engine) residentOf(t *turn) (*process.Resident[*agent], error) {
	id := t.in.RunID
	if kept := e.residents.Acquire(id); kept != nil {
		a := kept.Process
		if !a.isBroken() {
			if t.state.Session != a.session {
				t.state = state{Session: a.session}
			}
			a.attach(t, e.cfg.MaxStream)
			return kept, nil
		}
		a.End()
		kept.TurnOver()
	}
	if t.in.GoesOn() {
		return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "the resident process of the run " +
			"is gone"}
	}
	a, err := e.start(t)
	if err != nil {
		return nil, err
	}
	return e.residents.Add(id, a), nil
}

// Check refuses a handle that is not this engine's or names no session. Whether the agent still has
// the session is known when it is asked to go on.
func (e *Engine) Check(_ context.Context, _ string, h engine.SessionHandle) error {
	if _, err := e.cfg.stateOf(h); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrHandleRefused, err)
	}
	return nil
}

// Reap ends the processes that a dead host left for the run.
func (e *Engine) Reap(ctx context.Context, runID string) error { return e.processes.Reap(ctx, runID) }

// CleanUp ends what dead hosts left of any run.
func (e *Engine) CleanUp(ctx context.Context) error { return e.processes.CleanUp(ctx) }

// End ends the run's resident process, if there is one, and returns when it is gone.
func (e *Engine) End(_ context.Context, runID string) error {
	e.residents.End(runID)
	return nil
}

// OnLoss has fn called for each resident process that ends by itself between its turns. fn must not
// call the function that is returned.
func (e *Engine) OnLoss(fn func(runID string, reason error)) (stop func()) {
	return e.residents.OnLoss(fn)
}

// Close ends all resident processes, together, so that it takes one grace however many there are.
// Serve does so for the runs that it knows.
func (e *Engine) Close() error {
	e.residents.Close()
	return nil
}
