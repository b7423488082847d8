package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
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

	asking sync.Mutex // held while the program is asked what it is
	known  installed  // guarded by asking

	mu        sync.Mutex
	residents map[string]*agent     // guarded by mu; by run id
	watchers  map[*watcher]struct{} // guarded by mu; who wants to know of lost processes
	scopes    []*Engine             // guarded by mu; for hosts of their own
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
	return newEngine(cfg, process.NewTable(cfg.StateDir)), nil
}

func newEngine(cfg Config, processes *process.Table) *Engine {
	return &Engine{
		cfg: cfg, processes: processes, residents: make(map[string]*agent), watchers: make(map[*watcher]struct{}),
	}
}

// Scope returns an engine for one host, whose resident processes are its own; see engine.Scoped.
func (e *Engine) Scope(configured engine.Engine) engine.Engine {
	if configured != engine.Engine(e) {
		return configured
	}
	scope := newEngine(e.cfg, e.processes)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.scopes = append(e.scopes, scope)
	return scope
}

// RunTurn executes one attempt.
func (e *Engine) RunTurn(ctx context.Context, in engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	if err := e.place(in); err != nil {
		return engine.Outcome{}, err
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
	if err := t.recall(); err != nil {
		return engine.Outcome{}, err
	}
	if t.transcript, err = transcript.Open(in.TranscriptDir, in.Attempt, "out", e.cfg.MaxTranscript); err != nil {
		return engine.Outcome{}, err
	}
	defer t.transcript.Close()
	defer t.bound()()
	if t.sticky {
		return e.residentTurn(t)
	}
	return e.singleTurn(t)
}

// place finds what of the run's folders is missing.
func (e *Engine) place(in engine.Turn) error {
	if in.WorkDir == "" || in.TranscriptDir == "" || e.cfg.usesHome() && in.HomeDir == "" {
		return unavailable("an agent that is a child process needs folders: set lifecycle.Config.Dir", nil)
	}
	if err := folder(in.WorkDir); err != nil {
		return &engine.Failure{Code: fsm.CodeWorkspaceMissing, Detail: "the run's folder is missing", Err: err}
	}
	if !e.cfg.usesHome() {
		return nil
	}
	if err := folder(in.HomeDir); err != nil {
		code := fsm.CodeWorkspaceMissing
		if in.Handle != nil {
			code = fsm.CodeSessionResumeFailed
		}
		return &engine.Failure{Code: code, Detail: "the agent's home is missing", Err: err}
	}
	return nil
}

func folder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", path)
	}
	return err
}

// prepare has the host put the agent's settings in place.
func (e *Engine) prepare(ctx context.Context, in engine.Turn) error {
	if e.cfg.Prepare == nil {
		return nil
	}
	err := e.cfg.Prepare(ctx, in)
	var f *engine.Failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return unavailable("the agent could not be prepared", err)
}

// start starts the agent for a turn that opens a session in it.
func (e *Engine) start(t *turn) (*agent, error) {
	if err := e.prepare(t.ctx, t.in); err != nil {
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
		err = t.goOn(nil)
	}
	end := t.part(err)
	a.attach(nil, 0)
	a.release()
	return t.outcome(end)
}

// Check refuses a handle that is not this engine's or names no session. Whether the agent still has
// the session is known when it is asked to go on.
func (e *Engine) Check(_ context.Context, _ string, h engine.Handle) error {
	if _, err := e.cfg.stateOf(h); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrHandleRefused, err)
	}
	return nil
}

// Reap ends the processes that a dead host left for the run.
func (e *Engine) Reap(ctx context.Context, runID string) error { return e.processes.Reap(ctx, runID) }

// CleanUp ends what dead hosts left of any run.
func (e *Engine) CleanUp(ctx context.Context) error { return e.processes.CleanUp(ctx) }
