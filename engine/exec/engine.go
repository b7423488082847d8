package exec

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// Engine runs agents with a command line. Use New. It is safe for concurrent use.
type Engine struct {
	process.Supervisor

	cfg       Config
	processes process.Group[*resident]
	version   process.Probe[string] // of the program
}

var _ process.Engine = (*Engine)(nil)

// New validates the configuration. It does not look for the program: Profile and each turn do.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	return newEngine(cfg, process.NewGroup[*resident]("exec", cfg.StateDir)), nil
}

func newEngine(cfg Config, processes process.Group[*resident]) *Engine {
	return &Engine{Supervisor: processes.Supervisor(), cfg: cfg, processes: processes}
}

// Profile looks for the agent and reports how it continues after a wait.
func (e *Engine) Profile(ctx context.Context) (engine.Profile, error) {
	agent, err := e.installed(ctx)
	switch what := agent.String(); {
	case err != nil:
		return engine.Profile{}, process.NotStarted(err)
	case e.cfg.Resident:
		return engine.Profile{Kind: fsm.ProfileStickyProcess, Reason: what + " is configured to stay resident"}, nil
	case len(e.cfg.ResumeArgs) == 0:
		return engine.Profile{Kind: fsm.ProfileResumable, Reason: what + " is configured without a way to " +
			"resume a session, so a turn that asks fails"}, nil
	default:
		return engine.Profile{Kind: fsm.ProfileResumable, Reason: what + " is configured to resume by its session id"},
			nil
	}
}

// Scope returns an engine for one host, with separate resident processes; see engine.Scoped.
func (e *Engine) Scope(configured engine.Engine) engine.Engine {
	if configured != engine.Engine(e) {
		return configured
	}
	return newEngine(e.cfg, e.processes.Scope())
}

// RunTurn executes one attempt.
func (e *Engine) RunTurn(ctx context.Context, in engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if err := process.CheckFolders(in); err != nil {
		return engine.Outcome{}, err
	}
	if ctx.Err() != nil { // canceled before its start
		return process.InterruptedBeforeStart(), nil
	}
	t := newTurn(ctx, &e.cfg, in, s)
	if err := t.resume(); err != nil {
		return engine.Outcome{}, err
	}
	o, err := e.execute(t)
	return t.redacted(o), redactError(t.secrets, err)
}

// execute finds the agent and executes the turn with it.
func (e *Engine) execute(t *turn) (engine.Outcome, error) {
	if e.cfg.usesHome() {
		if err := process.CheckHome(t.in, t.resumed); err != nil {
			return engine.Outcome{}, err
		}
	}
	agent, err := e.installed(t.ctx)
	if err != nil {
		return engine.Outcome{}, process.NotStarted(err)
	}
	t.version = agent.version
	if warning := e.cfg.untestedVersion(agent.version); warning != "" && !t.resumed {
		t.diagnostics.Add(fsm.WarnEngineDiagnostic, warning)
	}
	if t.transcript, err = transcript.Open(t.in.TranscriptDir, t.in.Attempt, "out", e.cfg.MaxTranscript); err != nil {
		return engine.Outcome{}, err
	}
	defer t.transcript.Close()
	if e.cfg.Resident {
		return e.residentTurn(t)
	}
	return e.singleTurn(t)
}

func (e *Engine) singleTurn(t *turn) (engine.Outcome, error) {
	errs, err := transcript.Open(t.in.TranscriptDir, t.in.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer errs.Close()
	templates := e.cfg.Args
	if t.resumed {
		templates = e.cfg.ResumeArgs
	}
	p, err := e.launch(t, templates, errs)
	if err != nil {
		return engine.Outcome{}, err
	}
	stop := t.startLimits(p)
	out := process.NewLineReader(p.Stdout, t.secrets, e.cfg.MaxLine)
	out.Allow(e.cfg.MaxStream)
	err = t.readOutput(out)
	if err != nil { // the sink refused a report, or the output cannot be read
		p.End()
	}
	<-p.Ended() // an agent that closed its output may still run, and can be canceled
	stop()
	p.End() // also processes that left the group
	p.Release()
	return t.outcome(endingOf(p), err)
}

// launch starts the agent, on record for a later host.
func (e *Engine) launch(t *turn, templates []string, errs *transcript.File) (*process.Process, error) {
	values := t.values()
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		return nil, process.NotStarted(err)
	}
	environment := e.cfg.environment()
	env, secrets, err := environment.Resolve(values)
	if err != nil {
		return nil, err
	}
	t.setSecrets(secrets)
	if err := process.CallPrepare(t.ctx, e.cfg.Prepare, t.in); err != nil {
		return nil, err
	}
	cmd := process.Command{
		RunID: t.in.RunID, Path: program.Path, Args: e.cfg.arguments(templates, values, t.in.Mode),
		Dir: t.in.WorkDir, Env: env, Channel: e.cfg.Resident, Stderr: errs, Redact: secrets, Grace: e.cfg.Grace,
		MaxMemory: e.cfg.MaxMemory, TempIn: environment.TempIn(t.in.HomeDir),
	}
	if !e.cfg.Resident && e.cfg.Stdin != "" {
		cmd.Stdin = strings.NewReader(process.Expand(e.cfg.Stdin, e.cfg.stdinValues(values)))
	}
	if e.cfg.Sandbox != nil {
		cmd.Sandbox = func(c *exec.Cmd) error { return e.cfg.Sandbox(c, t.in) }
	}
	p, err := e.processes.Start(cmd)
	switch {
	case errors.Is(err, syscall.E2BIG):
		return nil, &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "the input is longer than this system " +
			"permits for an argument: configure the agent to read it from standard input", Err: err}
	case err != nil:
		return nil, process.NotStarted(err)
	}
	return p, nil
}
