package agents

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// residentSuffix marks the engine's name in the handles of runs with a resident process.
const residentSuffix = "-resident"

// Engine runs one agent. Use a constructor, for example Codex. It is safe for concurrent use.
type Engine struct {
	name     string
	command  string
	help     []string
	resumes  *regexp.Regexp
	only     bool         // the host wants resident processes
	turns    *exec.Engine // a process for each turn
	resident *exec.Engine // a process for all turns of a run; nil if the agent cannot

	resumable process.Probe[bool] // according to the program's help
}

var _ process.Engine = (*Engine)(nil)

// Profile looks for the agent and reads its help: an agent that can resume sessions is resumable,
// any other is resident.
func (e *Engine) Profile(ctx context.Context) (engine.Profile, error) {
	form, why, err := e.form(ctx)
	if err != nil {
		return engine.Profile{}, err
	}
	p, err := form.Profile(ctx)
	p.Signed = true
	if why != "" {
		p.Reason += "; " + why
	}
	return p, err
}

// form returns the engine that executes new runs, and why.
func (e *Engine) form(ctx context.Context) (*exec.Engine, string, error) {
	if e.only {
		return e.resident, "", nil
	}
	can, err := e.canResume(ctx)
	list := strings.Join(e.help, " ")
	switch {
	case err != nil:
		return nil, "", &engine.Failure{Code: fsm.CodeEngineUnavailable,
			Detail: "the agent's help cannot be read", Err: err}
	case can:
		return e.turns, "it can, according to its " + list, nil
	case e.resident != nil:
		return e.resident, "it cannot resume a session, according to its " + list, nil
	default:
		return nil, "", &engine.Failure{
			Code: fsm.CodeEngineUnavailable, Detail: "this version of " + e.name + " cannot resume a session, " +
				"according to its " +
				list + ": install a different version",
		}
	}
}

// canResume probes the program, once per installed program.
func (e *Engine) canResume(ctx context.Context) (bool, error) {
	program, err := process.FindProgram(e.command)
	if err != nil {
		return false, err
	}
	return e.resumable.Answer(program, func() (bool, time.Duration, error) {
		list, err := e.turns.Query(ctx, e.help...)
		return e.resumes.MatchString(list), 0, err
	})
}

// formOf returns the engine that executes the run with the handle; nil if the handle belongs to
// another engine.
func (e *Engine) formOf(h engine.SessionHandle) *exec.Engine {
	switch {
	case h.Engine == e.name:
		return e.turns
	case h.Engine == e.name+residentSuffix && e.resident != nil:
		return e.resident
	default:
		return nil
	}
}

// RunTurn executes one attempt, in the form in which the run began.
func (e *Engine) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if t.Session == nil {
		form, _, err := e.form(ctx)
		if err != nil {
			return engine.Outcome{}, err
		}
		return form.RunTurn(ctx, t, s)
	}
	form := e.formOf(*t.Session)
	if form == nil {
		return engine.Outcome{}, &engine.Failure{Code: fsm.CodeSessionResumeFailed,
			Detail: e.foreign(*t.Session).Error()}
	}
	o, err := form.RunTurn(ctx, t, s)
	if err != nil || t.GoesOn() || o.Process.Code != fsm.CodeSessionResumeFailed {
		return o, err
	}
	// This is a first turn repeated after a crash. The agent had reported its session and died
	// before it stored it: the session contains nothing that could be lost.
	t.Session = nil
	o, err = form.RunTurn(ctx, t, s)
	o.Diagnostics = append(o.Diagnostics, interaction.Diagnostic{
		Code: fsm.WarnEngineDiagnostic, Detail: "the agent did not store the session that the interrupted turn " +
			"began: the turn has started over",
	})
	return o, err
}

func (e *Engine) foreign(h engine.SessionHandle) error {
	return fmt.Errorf("the handle belongs to the engine %.40q, this is %q", h.Engine, e.name)
}

// Check refuses a handle of another engine, or without a session id. Whether the agent still has
// the session is only known after a resume, because its storage changes between versions.
func (e *Engine) Check(ctx context.Context, runID string, h engine.SessionHandle) error {
	form := e.formOf(h)
	if form == nil {
		return fmt.Errorf("%w: %w", engine.ErrHandleRefused, e.foreign(h))
	}
	return form.Check(ctx, runID, h)
}

// End ends the run's resident process, if there is one, and waits for its end.
func (e *Engine) End(ctx context.Context, runID string) error {
	if e.resident == nil {
		return nil
	}
	return e.resident.End(ctx, runID)
}

// OnLoss registers fn for resident processes that end by themselves between turns. fn must not call
// the returned function.
func (e *Engine) OnLoss(fn func(runID string, reason error)) (stop func()) {
	if e.resident == nil {
		return func() {}
	}
	return e.resident.OnLoss(fn)
}

// Reap ends the processes that a dead host left for the run. Both forms store their records in one
// place.
func (e *Engine) Reap(ctx context.Context, runID string) error { return e.turns.Reap(ctx, runID) }

// Scope returns an engine for one host, with separate resident processes; see engine.Scoped.
func (e *Engine) Scope(configured engine.Engine) engine.Engine {
	if configured != engine.Engine(e) {
		return configured
	}
	scope := &Engine{name: e.name, command: e.command, help: e.help, resumes: e.resumes, only: e.only}
	scope.turns, _ = e.turns.Scope(e.turns).(*exec.Engine) // its only type
	if e.resident != nil {
		scope.resident, _ = e.resident.Scope(e.resident).(*exec.Engine)
	}
	return scope
}

// CleanUp ends the processes that dead hosts left for any run.
func (e *Engine) CleanUp(ctx context.Context) error { return e.turns.CleanUp(ctx) }

// Close ends all resident processes.
func (e *Engine) Close() error {
	if e.resident == nil {
		return e.turns.Close()
	}
	return errors.Join(e.turns.Close(), e.resident.Close())
}
