package acp

import (
	"context"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// Engine runs agents that speak the Agent Client Protocol. Use New. It is safe for concurrent use.
type Engine struct {
	process.Supervisor

	cfg         Config
	processes   process.Group[*agent]
	profile     process.Probe[engine.Profile] // of the program
	provisional time.Duration
}

var _ process.Engine = (*Engine)(nil)

// New validates the configuration. It does not look for the agent's program: Profile and each
// turn do.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	return newEngine(cfg, process.NewGroup[*agent]("acp", cfg.StateDir)), nil
}

func newEngine(cfg Config, processes process.Group[*agent]) *Engine {
	return &Engine{Supervisor: processes.Supervisor(), cfg: cfg, processes: processes, provisional: provisional}
}

func (e *Engine) RunTurn(ctx context.Context, in engine.Turn, sink engine.Sink) (engine.Outcome, error) {
	if err := process.CheckFolders(in); err != nil {
		return engine.Outcome{}, err
	}
	if e.cfg.usesHome() {
		if err := process.CheckHome(in, in.Session != nil); err != nil {
			return engine.Outcome{}, err
		}
	}
	if ctx.Err() != nil { // canceled before its start
		return process.InterruptedBeforeStart(), nil
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

func (e *Engine) start(t *turn) (*agent, error) {
	if err := process.CallPrepare(t.ctx, e.cfg.Prepare, t.in); err != nil {
		return nil, err
	}
	stderr, err := transcript.Open(t.in.TranscriptDir, t.in.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return nil, err
	}
	a, err := e.launch(t.in, stderr)
	if err != nil {
		return nil, err
	}
	a.attach(t, e.cfg.MaxStream)
	return a, nil
}

func (e *Engine) singleTurn(t *turn) (engine.Outcome, error) {
	a, err := e.start(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	if err = t.openSession(); err == nil {
		err = t.sendInput(nil)
	}
	end := t.endSingle(err)
	a.attach(nil, 0)
	a.Release()
	return t.outcome(end)
}

func (e *Engine) residentTurn(t *turn) (engine.Outcome, error) {
	entry, err := e.residentOf(t)
	if err != nil {
		return engine.Outcome{}, err
	}
	a := entry.Process
	opened := a.session != ""
	if !opened {
		err = t.openSession()
		opened = err == nil
	}
	if err == nil {
		err = t.sendInput(a.detachWaiting())
	}
	end := ending{why: err}
	if !opened || !isReusable(err) || t.parent.Err() != nil {
		entry.ExpectEnd()
		end = t.endResident(err)
	}
	a.attach(nil, 0)
	if !a.Running() {
		entry.Remove()
	}
	o, err := t.outcome(end)
	entry.TurnOver()
	return o, err
}

// residentOf returns the run's process, and starts it for the first turn.
func (e *Engine) residentOf(t *turn) (*process.Resident[*agent], error) {
	id := t.in.RunID
	if entry := e.processes.Residents.Acquire(id); entry != nil {
		a := entry.Process
		if !a.isBroken() {
			if t.state.Session != a.session {
				t.state = state{Session: a.session}
			}
			a.attach(t, e.cfg.MaxStream)
			return entry, nil
		}
		a.End()
		entry.TurnOver()
	}
	if t.in.GoesOn() {
		return nil, &engine.Failure{Code: fsm.CodeInteractionProcessLost, Detail: "the resident process of the run " +
			"is gone"}
	}
	a, err := e.start(t)
	if err != nil {
		return nil, err
	}
	return e.processes.Residents.Add(id, a), nil
}

// Check refuses a handle of another engine or without a session. Whether the agent still has the
// session is known only after a resume.
func (e *Engine) Check(_ context.Context, _ string, h engine.SessionHandle) error {
	if _, err := e.cfg.stateOf(h); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrHandleRefused, err)
	}
	return nil
}

// Scope returns an engine for one host, with separate resident processes; see engine.Scoped.
func (e *Engine) Scope(configured engine.Engine) engine.Engine {
	if configured != engine.Engine(e) {
		return configured
	}
	return newEngine(e.cfg, e.processes.Scope())
}
