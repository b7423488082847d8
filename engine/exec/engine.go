package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

// Engine runs agents that are command lines. Use New. It is safe for concurrent use.
type Engine struct {
	cfg       Config
	processes *process.Table

	asking sync.Mutex // held while the program is asked for its version, so that it is asked once
	known  installed  // guarded by asking; the program that was asked last

	mu        sync.Mutex
	residents map[string]*resident  // guarded by mu; by run id
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
	if cfg.MaxMemory > 0 && !process.MeasuresMemory {
		return nil, fmt.Errorf("exec: Config.MaxMemory: %w", process.ErrNoMemoryLimit)
	}
	return newEngine(cfg, process.NewTable(cfg.StateDir)), nil
}

func newEngine(cfg Config, processes *process.Table) *Engine {
	return &Engine{
		cfg: cfg, processes: processes, residents: make(map[string]*resident), watchers: make(map[*watcher]struct{}),
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

// Profile looks for the agent and says how it goes on after a wait.
func (e *Engine) Profile(ctx context.Context) (engine.Profile, error) {
	agent, err := e.installed(ctx)
	switch what := agent.String(); {
	case err != nil:
		return engine.Profile{}, unavailable(err)
	case e.cfg.Resident:
		return engine.Profile{Kind: fsm.ProfileStickyProcess, Reason: what + " is configured to stay resident"}, nil
	case len(e.cfg.ResumeArgs) == 0:
		return engine.Profile{Kind: fsm.ProfileResumable, Reason: what + " is configured for single turns: it has no " +
			"ResumeArgs, so a turn that asks fails"}, nil
	default:
		return engine.Profile{Kind: fsm.ProfileResumable, Reason: what + " is configured to resume by its session id"},
			nil
	}
}

// program is the agent's file. It is looked for each time: a few calls of the system, and an agent
// that was installed or removed meanwhile is noticed. Absolute, since the agent starts in another
// folder.
func (e *Engine) program() (string, error) {
	path, err := exec.LookPath(e.cfg.Command)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func unavailable(err error) error {
	return &engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: "the agent's program cannot be started", Err: err}
}

// RunTurn executes one attempt.
func (e *Engine) RunTurn(ctx context.Context, t engine.Turn, s engine.Sink) (engine.Outcome, error) {
	if t.WorkDir == "" || t.TranscriptDir == "" {
		return engine.Outcome{}, &engine.Failure{
			Code: fsm.CodeEngineUnavailable, Detail: "an agent that is a child process needs folders: set " +
				"lifecycle.Config.Dir",
		}
	}
	if info, err := os.Stat(t.WorkDir); err != nil || !info.IsDir() {
		return engine.Outcome{}, &engine.Failure{Code: fsm.CodeWorkspaceMissing, Detail: "the run's folder is missing",
			Err: err}
	}
	if ctx.Err() != nil { // I6: canceled before its start
		return engine.Outcome{Process: engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
			Detail: "the turn was interrupted before it began"}}, nil
	}
	r := &reading{cfg: &e.cfg, ctx: ctx, turn: t, sink: s}
	if err := r.resume(); err != nil {
		return engine.Outcome{}, err
	}
	o, err := e.turn(ctx, r)
	return r.redacted(o), redactError(r.secrets, err)
}

// turn executes what can be executed.
func (e *Engine) turn(ctx context.Context, r *reading) (engine.Outcome, error) {
	if err := e.checkHome(r); err != nil {
		return engine.Outcome{}, err
	}
	agent, err := e.installed(ctx)
	if err != nil {
		return engine.Outcome{}, unavailable(err)
	}
	r.version = agent.version
	if odd := e.cfg.untried(agent.version); odd != "" && !r.resumed {
		r.diagnose(fsm.WarnEngineDiagnostic, odd)
	}
	if r.transcript, err = transcript.Open(r.turn.TranscriptDir, r.turn.Attempt, "out",
		e.cfg.MaxTranscript); err != nil {
		return engine.Outcome{}, err
	}
	defer r.transcript.Close()
	if e.cfg.Resident {
		return e.residentTurn(ctx, r)
	}
	return e.singleTurn(ctx, r)
}

// singleTurn runs one process for the turn.
func (e *Engine) singleTurn(ctx context.Context, r *reading) (engine.Outcome, error) {
	errs, err := transcript.Open(r.turn.TranscriptDir, r.turn.Attempt, "err", e.cfg.MaxTranscript)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer errs.Close()
	templates := e.cfg.Args
	if r.resumed {
		templates = e.cfg.ResumeArgs
	}
	p, err := e.launch(r, templates, errs, false)
	if err != nil {
		return engine.Outcome{}, err
	}
	stop := r.bound(ctx, p)
	out := newLines(p.Stdout, r.secrets, e.cfg.MaxLine)
	out.allow(e.cfg.MaxStream)
	err = r.read(out)
	if err != nil { // the sink refused, or the output cannot be read: nothing more is wanted of it
		p.End()
	}
	<-p.Ended() // an agent that closed its output may still run, and can be canceled
	stop()
	p.End() // also what left the group
	p.Release()
	return r.outcome(ctx, endingOf(p), err)
}

// launch starts the agent with what is remembered for a later host.
func (e *Engine) launch(r *reading, templates []string, errs *transcript.File, channel bool) (*process.Process, error) {
	values := r.values()
	program, err := e.program()
	if err != nil {
		return nil, unavailable(err)
	}
	if r.surroundings, err = e.surroundings(values); err != nil {
		return nil, err
	}
	if err := e.prepare(r); err != nil {
		return nil, err
	}
	cmd := process.Command{
		RunID: r.turn.RunID, Path: program, Args: e.cfg.arguments(templates, values, r.turn.Mode),
		Dir: r.turn.WorkDir, Env: r.env, Channel: channel, Stderr: errs, Redact: r.secrets, Grace: e.cfg.Grace,
		MaxMemory: e.cfg.MaxMemory,
	}
	if !channel && e.cfg.Stdin != "" {
		cmd.Stdin = strings.NewReader(expand(e.cfg.Stdin, e.quoted(values)))
	}
	if e.cfg.Sandbox != nil {
		cmd.Sandbox = func(c *exec.Cmd) error { return e.cfg.Sandbox(c, r.turn) }
	}
	p, err := e.processes.Start(cmd)
	switch {
	case errors.Is(err, syscall.E2BIG):
		return nil, &engine.Failure{Code: fsm.CodeEngineFailed, Detail: "the input is longer than this system takes " +
			"as an argument: use Config.Stdin", Err: err}
	case err != nil:
		return nil, unavailable(err)
	}
	return p, nil
}

// quoted are the values as they are put into Stdin: as JSON, when it is JSON.
func (e *Engine) quoted(values map[string]string) map[string]string {
	if !e.cfg.StdinJSON {
		return values
	}
	quoted := make(map[string]string, len(values))
	for name, v := range values {
		if name == "{attempt}" || name == "{interaction}" {
			quoted[name] = v
			continue
		}
		body, _ := json.Marshal(v) // a string can be encoded
		quoted[name] = string(body)
	}
	return quoted
}
